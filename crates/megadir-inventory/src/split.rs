//! Lists of the entries of a tree, of about equal work, for programs that copy in parallel.
//!
//! `files-000001` and so on have the paths of everything but directories, in the order of inodes;
//! `directories` has the directories, parents first. Paths are relative to the tree, as [`list_prefix`] begins them, and end with NUL.
//!
//! The lists are written into a directory that is renamed into place when it is complete.

mod new_dir;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use megadir::{Error, FileType, Result};

use self::new_dir::NewDir;
use crate::path::list_prefix;
use crate::row::Row;
use crate::rows::Sink;
use crate::scan::spill_error;
use crate::sorter::Sorter;

const IDENTITY_BYTES: usize = 24;
const DIRECTORIES: &str = "directories";

/// Maximum work of a list, which the other names of its last file may exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLimits {
    /// Number of entries.
    pub entries: Option<u64>,
    /// Sum of sizes, bytes.
    pub bytes: Option<u64>,
}

impl ListLimits {
    /// In units; a list takes [`ListLimits::of_list`] of them.
    fn of_entry(self, size_bytes: u64) -> u128 {
        match (self.entries, self.bytes) {
            (_, None) => 1,
            (None, Some(_)) => size_bytes.into(),
            (Some(entries), Some(bytes)) => {
                u128::from(bytes).saturating_add(u128::from(entries).saturating_mul(size_bytes.into()))
            }
        }
    }

    fn of_list(self) -> u128 {
        match (self.entries, self.bytes) {
            (Some(entries), None) => entries.into(),
            (None, Some(bytes)) => bytes.into(),
            (Some(entries), Some(bytes)) => u128::from(entries).saturating_mul(bytes.into()),
            (None, None) => u128::MAX,
        }
    }
}

/// Numbers of a finished split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Number of lists, without the list of directories.
    pub lists: u64,
    /// Number of entries in the lists.
    pub entries: u64,
    /// Number of directories.
    pub directories: u64,
}

/// Sink that writes the lists of one tree into a new directory, which appears complete or not at all. Dropping it leaves nothing behind.
pub struct Lists {
    path: PathBuf,
    limits: ListLimits,
    directory: NewDir,
    directories: BufWriter<File>,
    sorter: Sorter,
    work: u128,
    done: Split,
    key: Vec<u8>,
    row_path: Vec<u8>,
}

impl Lists {
    /// Begins lists in `path`. Beyond `memory_bytes`, sorts in unlinked files in `spill_directory`. Errors:
    /// `BadOption` if `path` exists and is not an empty directory; `Unavailable` if another process is writing it.
    pub fn create(
        path: &Path,
        limits: ListLimits,
        memory_bytes: usize,
        spill_directory: PathBuf,
    ) -> Result<Self> {
        let directory = NewDir::create(path)?;
        let failed = |error| Error::io("write", path, error);
        let directories = BufWriter::new(directory.file(DIRECTORIES).map_err(failed)?);
        Ok(Self {
            path: path.to_owned(),
            limits,
            directory,
            directories,
            sorter: Sorter::new(memory_bytes, spill_directory),
            work: 0,
            done: Split::default(),
            key: Vec::new(),
            row_path: Vec::new(),
        })
    }

    /// Writes the lists, syncs them and moves the directory into place. On an error nothing is left at the path.
    pub fn finish(self) -> Result<Split> {
        let Self { path, limits, directory, directories, sorter, work, mut done, .. } = self;
        let spill_directory = sorter.directory.clone();
        let failed = |error| Error::io("write", &path, error);
        sync(directories).map_err(failed)?;
        let lists = work.div_ceil(limits.of_list().max(1)).max(1);
        let list_work = work.div_ceil(lists).max(1);
        let (mut place, mut current, mut identity) = (0u128, None, [0; IDENTITY_BYTES]);
        sorter.finish(
            |error| spill_error(&spill_directory, error),
            |key, size| {
                let (this, name) = key.split_at(IDENTITY_BYTES);
                let index = place / list_work;
                let is_next = match &current {
                    Some((_, last)) => *last != index && identity != this,
                    None => true,
                };
                if is_next {
                    if let Some((file, _)) = current.take() {
                        sync(file).map_err(failed)?;
                    }
                    done.lists += 1;
                    let file = directory.file(&format!("files-{:06}", done.lists)).map_err(failed)?;
                    current = Some((BufWriter::new(file), index));
                }
                identity.copy_from_slice(this);
                if let Some((file, _)) = &mut current {
                    let written = file.write_all(list_prefix(name)).and_then(|()| file.write_all(name));
                    written.and_then(|()| file.write_all(b"\0")).map_err(failed)?;
                }
                let size = size.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
                place = place.saturating_add(limits.of_entry(size));
                Ok(true)
            },
        )?;
        if let Some((file, _)) = current {
            sync(file).map_err(failed)?;
        }
        directory.finish().map_err(failed)?;
        Ok(done)
    }
}

fn sync(file: BufWriter<File>) -> io::Result<()> {
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

impl Sink for Lists {
    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        // Directories are written at once, as rows come with parents first. Other entries are sorted by
        // device and inode, which is the order in which a disk reads them; the division into lists of equal
        // work comes after sorting.
        if row.key.is_root() {
            return Ok(());
        }
        row.key.path_into(&mut self.row_path);
        if row.facts.kind == FileType::Directory {
            self.done.directories += 1;
            self.row_path.push(0);
            let begun = self.directories.write_all(list_prefix(&self.row_path));
            let written = begun.and_then(|()| self.directories.write_all(&self.row_path));
            return written.map_err(|error| Error::io("write", &self.path, error));
        }
        self.key.clear();
        for number in [row.facts.device, row.facts.inode_high, row.facts.inode] {
            self.key.extend_from_slice(&number.unwrap_or(0).to_be_bytes());
        }
        self.key.extend_from_slice(&self.row_path);
        let size_bytes = row.facts.size_bytes.unwrap_or(0);
        self.work = self.work.saturating_add(self.limits.of_entry(size_bytes));
        self.done.entries += 1;
        let added = self.sorter.add(&self.key, &size_bytes.to_ne_bytes());
        added.map_err(|error| spill_error(&self.sorter.directory, error))
    }
}

#[cfg(test)]
mod tests {
    use super::{ListLimits, Lists};
    use crate::row::{Facts, Key, Row};
    use crate::rows::Sink;
    use megadir::FileType;

    /// Names of each list, for entries of these inodes and sizes.
    fn split(limits: ListLimits, entries: &[(u64, u64)]) -> Vec<Vec<String>> {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("lists");
        let mut lists = Lists::create(&path, limits, 1 << 20, scratch.path().to_owned()).unwrap();
        for (index, (inode, size)) in entries.iter().enumerate() {
            let name = format!("{index:04}");
            let key = Key { root: 0, parent: b"", name: name.as_bytes() };
            let (inode, size_bytes) = (Some(*inode), Some(*size));
            let facts = Facts { kind: FileType::File, inode, size_bytes, ..Facts::NOTHING };
            lists.add(&Row { key, facts, error: None }).unwrap();
        }
        let done = lists.finish().unwrap();
        assert_eq!(done.entries, entries.len() as u64);
        let read = |list: u64| {
            let text = std::fs::read_to_string(path.join(format!("files-{list:06}"))).unwrap();
            text.split_terminator('\0').map(str::to_owned).collect()
        };
        assert!(!path.join(format!("files-{:06}", done.lists + 1)).exists());
        (1..=done.lists).map(read).collect()
    }

    #[test]
    fn lists_have_about_equal_work_and_keep_names_of_a_file_together() {
        let lengths = |entries, bytes, of: &[(u64, u64)]| -> Vec<usize> {
            split(ListLimits { entries, bytes }, of).iter().map(Vec::len).collect()
        };
        let small: Vec<(u64, u64)> = (0..10).map(|inode| (inode, 1)).collect();
        assert_eq!(lengths(Some(100), None, &small), [10]);
        assert_eq!(lengths(Some(4), None, &small), [4, 4, 2]);
        assert_eq!(lengths(None, Some(2), &small), [2; 5]);
        assert_eq!(lengths(Some(5), Some(1000), &small), [4, 3, 3], "entries and bytes are work");
        assert_eq!(lengths(Some(5), None, &[]), [0; 0]);
        assert_eq!(lengths(None, Some(1), &[(1, 0), (2, 0)]), [2], "empty files are no bytes");
        // A large file, and a file with four names.
        assert_eq!(lengths(Some(100), Some(10), &[(1, 500), (2, 1), (3, 1)]), [1, 2]);
        assert_eq!(lengths(Some(2), None, &[(1, 0), (7, 0), (7, 0), (7, 0), (7, 0), (8, 0)]), [5, 1]);
        let by_inode = split(ListLimits { entries: Some(2), bytes: None }, &[(3, 0), (1, 0), (2, 0)]);
        assert_eq!(by_inode, [vec!["0001", "0002"], vec!["0000"]]);
    }
}
