//! The table `sqlar` of a SQLite database, with contents that are stored: one query by name for each file.

use std::ffi::CStr;
use std::io;
use std::path::Path;

use megadir_sys::sqlite::{Database, Library, Row};

use super::{EachContents, EachSize, OpenContainer};

const BY_NAME: &CStr = c"SELECT data FROM sqlar WHERE name = ?1";

/// Its statement is the query by name, but during a pass.
pub(super) struct OpenSqlite(Database);

impl OpenSqlite {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut database = Database::open(Library::load()?, path)?;
        database.prepare(BY_NAME)?;
        Ok(Self(database))
    }

    fn pass(&mut self, sql: &CStr, each: &mut dyn FnMut(&Row<'_>) -> io::Result<()>) -> io::Result<()> {
        self.0.prepare(sql)?;
        self.0.run(None, &mut |row| each(row).map(|()| true))?;
        self.0.prepare(BY_NAME)
    }
}

impl OpenContainer for OpenSqlite {
    fn read(&mut self, path: &[u8], contents: &mut Vec<u8>) -> io::Result<bool> {
        contents.clear();
        let mut is_found = false;
        self.0.run(Some(path), &mut |row| {
            contents.extend_from_slice(row.bytes(0)?);
            is_found = true;
            Ok(false)
        })?;
        Ok(is_found)
    }

    fn list(&mut self, each: &mut EachSize<'_>) -> io::Result<()> {
        self.pass(c"SELECT name, sz FROM sqlar", &mut |row| {
            each(row.bytes(0)?, row.number(1).cast_unsigned())
        })
    }

    fn read_all(&mut self, each: &mut EachContents<'_>) -> io::Result<()> {
        self.pass(c"SELECT name, data FROM sqlar", &mut |row| each(row.bytes(0)?, row.bytes(1)?))
    }
}
