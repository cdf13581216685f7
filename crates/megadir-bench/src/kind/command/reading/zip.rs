//! ZIP archives by the crate `zip`, as its documentation uses it. Opening one reads the directory at its end.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use ::zip::ZipArchive;
use ::zip::result::ZipError;

use super::{EachContents, EachSize, OpenContainer};

pub(super) struct OpenZip(ZipArchive<BufReader<File>>);

impl OpenZip {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(ZipArchive::new(BufReader::new(File::open(path)?))?))
    }
}

impl OpenContainer for OpenZip {
    fn read(&mut self, path: &[u8], contents: &mut Vec<u8>) -> io::Result<bool> {
        contents.clear();
        let name = std::str::from_utf8(path).map_err(|_| io::ErrorKind::InvalidFilename)?;
        match self.0.by_name(name) {
            Err(ZipError::FileNotFound) => Ok(false),
            found => found?.read_to_end(contents).map(|_| true),
        }
    }

    /// From the directory at the end alone.
    fn list(&mut self, each: &mut EachSize<'_>) -> io::Result<()> {
        for index in 0..self.0.len() {
            let member = self.0.by_index_data(index)?;
            if !member.name_raw().ends_with(b"/") {
                each(member.name_raw(), member.size())?;
            }
        }
        Ok(())
    }

    fn read_all(&mut self, each: &mut EachContents<'_>) -> io::Result<()> {
        let mut contents = Vec::new();
        for index in 0..self.0.len() {
            let mut member = self.0.by_index(index)?;
            if member.is_file() {
                contents.clear();
                member.read_to_end(&mut contents)?;
                each(member.name_raw(), &contents)?;
            }
        }
        Ok(())
    }
}
