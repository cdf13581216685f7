//! Journal of a shard: its members in their order, so that an interrupted pack can keep the shard. It counts only if its checksum fits, and it
//! is on the disk before its shard has its name.
//!
//! ```text
//! length of the key (4), key, length of the item (4), item        for each member
//! END (4), length of the shard (8), SHA-256 of all before (32)
//! ```

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use sha2::{Digest, Sha256};

use crate::entry::Entry;

const END: u32 = u32::MAX;
/// Paths and errors are far shorter.
const PART_BYTES_MAX: u32 = 16 << 20;

pub(crate) struct Journal {
    file: BufWriter<File>,
    hash: Sha256,
}

impl Journal {
    pub(crate) fn new(file: File) -> Self {
        Self { file: BufWriter::new(file), hash: Sha256::new() }
    }

    pub(crate) fn add(&mut self, key: &[u8], item: &[u8]) -> io::Result<()> {
        for part in [key, item] {
            self.put(&(part.len() as u32).to_le_bytes())?;
            self.put(part)?;
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.file.write_all(bytes)
    }

    /// Syncs the journal of a shard of this length.
    pub(crate) fn finish(mut self, shard_bytes: u64) -> io::Result<()> {
        self.put(&END.to_le_bytes())?;
        self.put(&shard_bytes.to_le_bytes())?;
        let hash = self.hash.finalize();
        self.file.write_all(&hash)?;
        self.file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }
}

/// Passes the members of a journal to `each` until it returns `false`. Returns the length of the shard, or `None` if the journal is not whole
/// or `each` ended it; members of a journal that is not whole may have been passed before.
pub(crate) fn read(
    file: &mut File,
    mut each: impl FnMut(&[u8], &[u8], Entry) -> io::Result<bool>,
) -> io::Result<Option<u64>> {
    file.rewind()?;
    let (mut reader, mut hash) = (BufReader::new(file), Sha256::new());
    let (mut key, mut item) = (Vec::new(), Vec::new());
    loop {
        let Some(length) = number(&mut reader, &mut hash)? else { return Ok(None) };
        if length == END {
            let mut rest = [0; 40];
            if !fill(&mut reader, &mut rest)? || reader.read(&mut [0])? != 0 {
                return Ok(None);
            }
            hash.update(&rest[..8]);
            let is_whole = rest[8..] == hash.finalize()[..];
            return Ok(is_whole.then(|| u64::from_le_bytes(std::array::from_fn(|at| rest[at]))));
        }
        if !part(&mut reader, &mut hash, length, &mut key)? {
            return Ok(None);
        }
        let Some(length) = number(&mut reader, &mut hash)? else { return Ok(None) };
        if !part(&mut reader, &mut hash, length, &mut item)? {
            return Ok(None);
        }
        let Some(entry) = Entry::from_order(&key, &item) else { return Ok(None) };
        if !each(&key, &item, entry)? {
            return Ok(None);
        }
    }
}

fn number(reader: &mut impl Read, hash: &mut Sha256) -> io::Result<Option<u32>> {
    let mut bytes = [0; 4];
    if !fill(reader, &mut bytes)? {
        return Ok(None);
    }
    hash.update(bytes);
    Ok(Some(u32::from_le_bytes(bytes)))
}

fn part(reader: &mut impl Read, hash: &mut Sha256, length: u32, bytes: &mut Vec<u8>) -> io::Result<bool> {
    if length > PART_BYTES_MAX {
        return Ok(false);
    }
    bytes.resize(length as usize, 0);
    let is_there = fill(reader, bytes)?;
    hash.update(&bytes);
    Ok(is_there)
}

fn fill(reader: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        done => done.map(|()| true),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use megadir_inventory::Facts;

    use super::{Journal, read};
    use crate::entry::{Bytes, Entry, Origin};

    #[test]
    fn only_a_whole_journal_counts() {
        let entry = |name: &[u8]| Entry {
            parent: b"d".to_vec(),
            name: name.to_vec(),
            facts: Facts::NOTHING,
            stored: None,
            error: None,
        };
        let entries = [entry(b"a"), entry(b"b\xff")];
        let file = tempfile::tempfile().unwrap();
        let mut journal = Journal::new(file.try_clone().unwrap());
        for entry in &entries {
            let mut bytes = Bytes::default();
            let (key, item) = bytes.in_order(entry, Origin::Shard);
            journal.add(key, item).unwrap();
        }
        journal.finish(4096).unwrap();
        let mut file = file;
        file.rewind().unwrap();
        let whole = std::io::read_to_string(&mut file).is_ok();
        assert!(!whole, "a journal is no text");
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
        let check = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            let mut found = Vec::new();
            let read = read(&mut file, |_, _, entry| {
                found.push(entry);
                Ok(true)
            });
            (read.unwrap(), found)
        };
        assert_eq!(check(&bytes), (Some(4096), entries.to_vec()));
        for at in 0..bytes.len() {
            assert_eq!(check(&bytes[..at]).0, None, "cut at {at}");
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(check(&damaged).0, None, "damaged at {at}");
        }
        assert_eq!(check(&[&bytes[..], b"x"].concat()).0, None);
    }
}
