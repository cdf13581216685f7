//! Packs: tar files with an index in Parquet. One file needs a few groups of the index, a list needs its rows, and many files need all places in
//! memory. Contents are compared with their SHA-256.

use std::io;
use std::path::Path;

use megadir::FileType;
use megadir_inventory::PackIndex;
use megadir_pack::{Members, Pack, index_path};
use megadir_record::ReadOperation;

use super::{EachContents, EachSize, OpenContainer};

pub(super) enum OpenPack {
    /// Its index is searched for each file.
    Searched(Box<Pack>),
    /// Its index was read.
    Loaded(Members),
    /// Its index is read row by row.
    Rows(Box<PackIndex>),
}

impl OpenPack {
    pub(super) fn open(path: &Path, operation: ReadOperation) -> io::Result<Self> {
        Ok(match operation {
            ReadOperation::First => Self::Searched(Box::new(Pack::open(path)?)),
            ReadOperation::Random | ReadOperation::All => Self::Loaded(Members::open(path)?),
            ReadOperation::List => Self::Rows(Box::new(PackIndex::open(&index_path(path))?)),
        })
    }
}

fn opened_otherwise() -> io::Error {
    io::Error::other("it was opened for another operation")
}

impl OpenContainer for OpenPack {
    fn read(&mut self, path: &[u8], contents: &mut Vec<u8>) -> io::Result<bool> {
        match self {
            Self::Loaded(members) => Ok(members.read(path, contents)?),
            Self::Searched(pack) => {
                contents.clear();
                let Some(entry) = pack.find(path)? else { return Ok(false) };
                pack.write_to(&entry, contents)?;
                Ok(true)
            }
            Self::Rows(_) => Err(opened_otherwise()),
        }
    }

    fn list(&mut self, each: &mut EachSize<'_>) -> io::Result<()> {
        let Self::Rows(rows) = self else { return Err(opened_otherwise()) };
        let mut path = Vec::new();
        while let Some((row, _)) = rows.next_row()? {
            if row.facts.kind == FileType::File {
                row.key.path_into(&mut path);
                each(&path, row.facts.size_bytes.unwrap_or(0))?;
            }
        }
        Ok(())
    }

    /// In the order of the shards.
    fn read_all(&mut self, each: &mut EachContents<'_>) -> io::Result<()> {
        let Self::Loaded(members) = self else { return Err(opened_otherwise()) };
        let (mut path, mut contents) = (Vec::new(), Vec::new());
        for position in members.in_order_of_shards() {
            if members.read_at(position, &mut path, &mut contents)? {
                each(&path, &contents)?;
            }
        }
        Ok(())
    }
}
