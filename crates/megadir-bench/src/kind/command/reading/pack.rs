//! Packs: tar files with an index in Parquet. One file needs a few of the index's groups; many files need all of it in memory.

use std::io;
use std::path::{Path, PathBuf};

use megadir::FileType;
use megadir_inventory::PackIndex;
use megadir_pack::{Members, Pack, PackedEntry, index_path};

use super::OpenContainer;

enum Index {
    /// Searched for each file.
    Searched(Box<Pack>),
    /// Read once.
    Loaded(Members),
}

pub(super) struct OpenPack {
    index: Index,
    path: PathBuf,
}

impl OpenPack {
    pub(super) fn open(path: &Path, is_for_one: bool) -> io::Result<Self> {
        let index = match is_for_one {
            true => Index::Searched(Box::new(Pack::open(path)?)),
            false => Index::Loaded(Members::open(path)?),
        };
        Ok(Self { index, path: path.to_owned() })
    }

    fn each_row(&self, each: &mut dyn FnMut(PackedEntry)) -> io::Result<()> {
        let mut rows = PackIndex::open(&index_path(&self.path))?;
        while let Some((row, stored)) = rows.next_row()? {
            if row.facts.kind != FileType::File {
                continue;
            }
            let path = match row.key.parent {
                b"" => row.key.name.to_vec(),
                parent => [parent, b"/", row.key.name].concat(),
            };
            each(PackedEntry { path, facts: row.facts, stored });
        }
        Ok(())
    }
}

impl OpenContainer for OpenPack {
    fn read(&mut self, path: &[u8], contents: &mut Vec<u8>) -> io::Result<bool> {
        match &mut self.index {
            Index::Loaded(members) => Ok(members.read(path, contents)?),
            Index::Searched(pack) => {
                contents.clear();
                let Some(entry) = pack.find(path)? else { return Ok(false) };
                pack.write_to(&entry, contents)?;
                Ok(true)
            }
        }
    }

    fn list(&mut self, each: &mut dyn FnMut(&[u8], u64)) -> io::Result<()> {
        self.each_row(&mut |entry| each(&entry.path, entry.facts.size_bytes.unwrap_or(0)))
    }

    /// In the order of the shards.
    fn read_all(&mut self, each: &mut dyn FnMut(&[u8], &[u8])) -> io::Result<()> {
        let mut entries = Vec::new();
        self.each_row(&mut |entry| entries.push(entry))?;
        entries.sort_unstable_by_key(|entry| entry.stored.map(|stored| (stored.shard, stored.data_offset)));
        let mut pack = Pack::open(&self.path)?;
        let mut contents = Vec::new();
        for entry in &entries {
            contents.clear();
            pack.write_to(entry, &mut contents)?;
            each(&entry.path, &contents);
        }
        Ok(())
    }
}
