//! Hashes that a scan has made, in a file next to its output, so that a scan that was killed does not make them again.
//!
//! ```text
//! head, then records: length (4, little-endian), record, XXH64 of the record (8)
//! first record: paths of the trees, each with its length (4)
//! other records: length of the key (4), key: root (4, big-endian), path of the directory, 0, name
//!                identity: known numbers (1), numbers (8 each), hash (32)
//! ```
//!
//! Records are written as files are read, in no order; a later scan sorts them and joins them with its rows. A record at the end
//! that a crash has cut is left out. Hashes of files that changed right before are not kept here: only their contents would show
//! whether they changed again.

use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use megadir::{Error, ErrorKind, Result};
use twox_hash::XxHash64;

use crate::recognize::FileKind;
use crate::replacement::{excluded, open_besides};
use crate::row::{ContentHash, Facts, Key, Row};
use crate::scan::Excluded;
use crate::sorter::{Sorted, Sorter};

const HEAD: &[u8] = b"megadir hashes 1\n";
const KIND: FileKind = FileKind::Text { name: "a file of hashes of megadir", head: HEAD };
/// Longest path that is taken from a file, several times as long as any system accepts.
const RECORD_BYTES_MAX: usize = 1 << 20;
const IDENTITY_NUMBERS: usize = 6;
const IDENTITY_BYTES: usize = 1 + 8 * IDENTITY_NUMBERS;
const HASH_BYTES: usize = 32;

/// Open journal of a scan. Dropping it leaves the file for the next scan; [`Journal::remove`] ends it.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

/// Hashes of an earlier run, in the order of keys.
pub(crate) struct Kept {
    sorted: Sorted,
    path: PathBuf,
}

/// File in which a scan to `output` keeps its hashes until it is complete.
fn journal_path(output: &Path) -> PathBuf {
    let output = std::fs::canonicalize(output).unwrap_or_else(|_| output.to_owned());
    let mut name = std::ffi::OsString::from(".");
    name.push(output.file_name().unwrap_or_default());
    name.push(".megadir-hashes");
    output.with_file_name(name)
}

impl Journal {
    /// Opens the journal of a scan of `roots` to `output`, and returns the hashes that an earlier run has left there, with their
    /// number. They are sorted in `memory_bytes`. Call it while the output is locked by its writer. Errors: another program's file
    /// or a journal of other trees has its name.
    pub(crate) fn open(output: &Path, roots: &[Vec<u8>], memory_bytes: usize) -> Result<(Self, Kept, u64)> {
        let path = journal_path(output);
        let failed = |error| Error::io("keep hashes in", &path, error);
        let mut file = open_besides(output, &path, KIND)?;
        let mut sorter = Sorter::new(memory_bytes, path.parent().unwrap_or(Path::new(".")).to_owned());
        let (mut records, mut end) = (0, 0);
        let mut reader = BufReader::new(&mut file);
        let mut head = vec![0; HEAD.len()];
        let mut record = Vec::new();
        if reader.read_exact(&mut head).is_ok() && head == HEAD {
            if next_record(&mut reader, &mut record).is_some() {
                if record != of_roots(roots) {
                    let reason = "it has the hashes of an interrupted scan of other trees: repeat that scan, or remove this file";
                    return Err(Error::new("keep hashes in", &path, ErrorKind::BadOption, reason));
                }
                end = HEAD.len() + record_bytes(&record);
            }
            while end > 0 && next_record(&mut reader, &mut record).is_some() {
                end += record_bytes(&record);
                if let Some((key, item)) = parts(&record) {
                    sorter.add(key, item).map_err(failed)?;
                    records += 1;
                }
            }
        }
        drop(reader);
        file.set_len(end as u64).map_err(failed)?;
        file.seek(std::io::SeekFrom::End(0)).map_err(failed)?;
        if end == 0 {
            file.write_all(&[HEAD, &whole(&of_roots(roots))].concat()).map_err(failed)?;
        }
        let kept = Kept { sorted: sorter.into_sorted().map_err(failed)?, path: path.clone() };
        Ok((Self { path, file: Mutex::new(file) }, kept, records))
    }

    /// Keeps the hash of a row. Nothing is synced: after a crash of the machine, some hashes are made again.
    pub(crate) fn add(&self, row: &Row<'_>, hash: &[u8; HASH_BYTES]) -> Result<()> {
        let mut key = Vec::new();
        key_into(&row.key, &mut key);
        let mut record = (key.len() as u32).to_le_bytes().to_vec();
        record.extend_from_slice(&key);
        record.extend_from_slice(&identity(&row.facts));
        record.extend_from_slice(hash);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&whole(&record)).map_err(|error| Error::io("keep hashes in", &self.path, error))
    }

    pub(crate) fn excluded(&self) -> Option<Excluded> {
        excluded(&self.path)
    }

    /// Removes the file: its hashes are in a complete inventory. Errors: unlink(2).
    pub(crate) fn remove(self) -> Result<()> {
        std::fs::remove_file(&self.path).map_err(|error| Error::io("remove", &self.path, error))
    }
}

impl Kept {
    /// Hash of the row, if it was made from an entry that is the same by all its numbers. Call it with ascending keys; `key` is a buffer.
    pub(crate) fn find(&mut self, row: &Row<'_>, key: &mut Vec<u8>) -> Result<Option<ContentHash>> {
        key_into(&row.key, key);
        let mut found = None;
        while let Some((there, item)) = self.sorted.head() {
            if there > &key[..] {
                break;
            }
            if there == &key[..]
                && item.len() == IDENTITY_BYTES + HASH_BYTES
                && item[..IDENTITY_BYTES] == identity(&row.facts)
            {
                found = item[IDENTITY_BYTES..].try_into().ok().map(ContentHash::Blake3);
            }
            self.sorted.advance().map_err(|error| Error::io("read the hashes of", &self.path, error))?;
        }
        Ok(found)
    }
}

/// Numbers that differ if the contents may differ.
pub(crate) fn identity(facts: &Facts) -> [u8; IDENTITY_BYTES] {
    let Facts { size_bytes, modified_ns, changed_ns, born_ns, inode, inode_high, .. } = *facts;
    let unsigned = |number: Option<u64>| number.map(|number| number as i64);
    let numbers: [Option<i64>; IDENTITY_NUMBERS] =
        [unsigned(size_bytes), modified_ns, changed_ns, born_ns, unsigned(inode), unsigned(inode_high)];
    let mut bytes = [0; IDENTITY_BYTES];
    for (at, number) in numbers.iter().enumerate() {
        bytes[0] |= u8::from(number.is_some()) << at;
        bytes[1 + 8 * at..][..8].copy_from_slice(&number.unwrap_or(0).to_le_bytes());
    }
    bytes
}

/// Sorts as [`Key`] does, because paths hold no NUL.
fn key_into(key: &Key<'_>, bytes: &mut Vec<u8>) {
    bytes.clear();
    bytes.extend_from_slice(&key.root.to_be_bytes());
    bytes.extend_from_slice(key.parent);
    bytes.push(0);
    bytes.extend_from_slice(key.name);
}

fn of_roots(roots: &[Vec<u8>]) -> Vec<u8> {
    roots
        .iter()
        .flat_map(|root| (root.len() as u32).to_le_bytes().into_iter().chain(root.iter().copied()))
        .collect()
}

fn whole(record: &[u8]) -> Vec<u8> {
    let checksum = XxHash64::oneshot(0, record);
    [&(record.len() as u32).to_le_bytes(), record, &checksum.to_le_bytes()].concat()
}

fn record_bytes(record: &[u8]) -> usize {
    4 + record.len() + 8
}

/// `None` at the end, and at a record that is not whole.
fn next_record(reader: &mut impl Read, record: &mut Vec<u8>) -> Option<()> {
    let mut length = [0; 4];
    reader.read_exact(&mut length).ok()?;
    let length = u32::from_le_bytes(length) as usize;
    if length > RECORD_BYTES_MAX {
        return None;
    }
    record.resize(length, 0);
    reader.read_exact(record).ok()?;
    let mut checksum = [0; 8];
    reader.read_exact(&mut checksum).ok()?;
    (XxHash64::oneshot(0, record) == u64::from_le_bytes(checksum)).then_some(())
}

fn parts(record: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = record.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use megadir::FileType;

    use super::{Journal, journal_path};
    use crate::row::{ContentHash, Facts, Key, Row};

    fn row(name: &str, size: u64) -> Row<'_> {
        let facts = Facts { kind: FileType::File, size_bytes: Some(size), inode: Some(7), ..Facts::NOTHING };
        Row { key: Key { root: 0, parent: b"d", name: name.as_bytes() }, facts, error: None }
    }

    #[test]
    fn hashes_are_found_after_a_cut_and_only_for_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.parquet");
        let roots = [b"/tree".to_vec()];
        let open = || Journal::open(&output, &roots, 1 << 20).unwrap();
        let (journal, _, before) = open();
        assert_eq!(before, 0);
        for (name, number) in [("b", 2), ("a", 1), ("c", 3)] {
            journal.add(&row(name, 10), &[number; 32]).unwrap();
        }
        drop(journal);
        let path = journal_path(&output);
        let length = std::fs::metadata(&path).unwrap().len();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length - 1).unwrap();
        let (journal, mut kept, before) = open();
        assert_eq!(before, 2, "the last record was cut");
        let mut find = |name, size| kept.find(&row(name, size), &mut Vec::new()).unwrap();
        assert_eq!(find("a", 10), Some(ContentHash::Blake3([1; 32])));
        assert_eq!(find("b", 11), None, "another size");
        assert_eq!(find("c", 10), None);
        journal.add(&row("c", 10), &[4; 32]).unwrap();
        drop(journal);
        let (journal, mut kept, before) = open();
        assert_eq!(before, 3, "later records follow the last whole one");
        assert_eq!(kept.find(&row("c", 10), &mut Vec::new()).unwrap(), Some(ContentHash::Blake3([4; 32])));
        assert!(Journal::open(&output, &[b"/other".to_vec()], 1 << 20).is_err());
        journal.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_file_of_another_program_is_never_taken() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.parquet");
        let mut other = std::fs::File::create(journal_path(&output)).unwrap();
        other.write_all(b"something of value").unwrap();
        assert!(Journal::open(&output, &[], 1 << 20).is_err());
        assert_eq!(std::fs::read(journal_path(&output)).unwrap(), b"something of value");
    }
}
