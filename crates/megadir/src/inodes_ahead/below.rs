//! The directories below one, their entries and the inodes of those, level by level.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, OnceLock};

use rustix::fs::{ResolveFlags, fstat};
use rustix::io::Errno;

use super::InodesAhead;
use super::names::{Wanted, in_parallel};
use crate::decode::{Record, Records};
use crate::file_type::FileType;
use crate::mounts::{are_on_one_mount, open_below};
use crate::threads::lock;

/// Directories that are open at a time, and as many that hold the directories of the next level.
const OPEN_MAX: usize = 128;
/// Part of the descriptors of the process that is used: the operation and the rest of the program need theirs.
const DESCRIPTORS_ONE_IN: usize = 8;
/// Names of one directory that are read ahead; larger ones are read ahead by themselves.
const LISTED_BYTES: usize = 64 << 10;
/// Entries that are read ahead: their inodes take some 100 MB of the kernel's memory, and must stay until they are used.
const ENTRIES_MAX: usize = 100_000;

/// Extent of reading ahead below a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Below {
    /// The inodes of the entries too, not only their names.
    pub(crate) inodes: bool,
    /// All levels, not only the directories named.
    pub(crate) all_levels: bool,
}

/// A directory that is to be read ahead.
struct Waiting {
    inode: u64,
    parent: Arc<OwnedFd>,
    name: CString,
}

struct Listed {
    inode: u64,
    directory: OwnedFd,
    records: Vec<u8>,
    is_whole: bool,
}

impl InodesAhead {
    /// Reads ahead the entries of some directories below `parent`, given by the inode numbers of their entries (0 if unknown) and their names, in their order. Other mounts are not
    /// entered. Returns the number of directories that were read ahead, from the first on: fewer than given if many entries were read, or if
    /// it `stops`.
    pub(crate) fn read_below(
        &self,
        parent: BorrowedFd<'_>,
        directories: Vec<(u64, CString)>,
        scope: Below,
        stops: &(dyn Fn() -> bool + Sync),
    ) -> usize {
        let Ok(parent) = parent.try_clone_to_owned().map(Arc::new) else { return directories.len() };
        let waiting = |(inode, name)| Waiting { inode, parent: Arc::clone(&parent), name };
        let mut level: Vec<Waiting> = directories.into_iter().map(waiting).collect();
        let _turn = lock(&self.turn);
        let open_max = open_max();
        if open_max == 0 {
            return level.len();
        }
        let (mut entries, mut first_level) = (0, None);
        let mut above: Vec<u64> = Vec::new();
        while !level.is_empty() {
            let (mut next, mut listed, mut parents) = (Vec::new(), Vec::new(), 0);
            let mut read = 0;
            for few in level.chunks(open_max) {
                if stops() || entries >= ENTRIES_MAX {
                    break;
                }
                let found = list(few, stops);
                entries += self.read_listed(&found, scope, stops);
                read += few.len();
                for Listed { inode, directory, records, is_whole } in found {
                    let mut below = subdirectories(&records).peekable();
                    // One without subdirectories is finished here.
                    let has_any = below.peek().is_some();
                    if !is_whole || (has_any && (!scope.all_levels || parents >= open_max)) {
                        continue;
                    }
                    listed.push(inode);
                    parents += usize::from(has_any);
                    let parent = Arc::new(directory);
                    let waiting = |record: Record<'_>| Waiting {
                        inode: record.inode,
                        parent: Arc::clone(&parent),
                        name: record.c_name().to_owned(),
                    };
                    next.extend(below.map(waiting));
                }
            }
            first_level.get_or_insert(read);
            if read < level.len() {
                break;
            }
            self.note_done(above.drain(..));
            above = listed;
            next.sort_unstable_by_key(|waiting| waiting.inode);
            level = next;
        }
        if level.is_empty() {
            self.note_done(above.drain(..));
        }
        first_level.unwrap_or(0)
    }

    /// Returns the number of entries.
    fn read_listed(&self, listed: &[Listed], scope: Below, stops: &(dyn Fn() -> bool + Sync)) -> usize {
        let is_wanted = |record: &Record<'_>| {
            !record.is_dot() && (scope.inodes || FileType::from_d_type(record.kind) == FileType::Directory)
        };
        let mut wanted = Vec::new();
        for parent in listed {
            let directory = parent.directory.as_fd();
            let entries = Records::new(&parent.records).filter(is_wanted);
            wanted.extend(entries.map(|record| Wanted {
                inode: record.inode,
                directory,
                name: record.c_name(),
            }));
        }
        let entries = wanted.len();
        self.read_wanted(&mut wanted, stops);
        entries
    }
}

fn open_max() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    (limit / DESCRIPTORS_ONE_IN).min(OPEN_MAX)
}

fn subdirectories(records: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let is_directory =
        |record: &Record<'_>| FileType::from_d_type(record.kind) == FileType::Directory && !record.is_dot();
    Records::new(records).filter(is_directory)
}

fn list(few: &[Waiting], stops: &(dyn Fn() -> bool + Sync)) -> Vec<Listed> {
    let all: Vec<_> = few.iter().map(|waiting| (waiting, OnceLock::new(), OnceLock::new())).collect();
    // What fails here, the operation itself meets.
    in_parallel(&all, stops, |(waiting, directory, _)| {
        if let Ok(opened) = open(waiting.parent.as_fd(), &waiting.name) {
            let _ = directory.set(opened);
        }
    });
    // The inodes of directories and their names are in two places of the disk.
    in_parallel(&all, stops, |(_, directory, listed)| {
        if let Some(records) = directory.get().and_then(|directory| records(directory.as_fd())) {
            let _ = listed.set(records);
        }
    });
    let listed = |(waiting, directory, listed): (&Waiting, OnceLock<_>, OnceLock<_>)| {
        let (records, is_whole) = listed.into_inner()?;
        let directory: OwnedFd = directory.into_inner()?;
        // The caller may not know it.
        let inode = fstat(&directory).map_or(waiting.inode, |status| status.st_ino);
        Some(Listed { inode, directory, records, is_whole })
    };
    all.into_iter().filter_map(listed).collect()
}

fn open(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::BENEATH
        | ResolveFlags::NO_XDEV;
    open_below(parent, name, resolve, are_on_one_mount)
}

fn records(directory: BorrowedFd<'_>) -> Option<(Vec<u8>, bool)> {
    let (mut records, mut filled) = (vec![0; LISTED_BYTES], 0);
    let is_whole = loop {
        // A call needs space for the longest record.
        if records.len() - filled < crate::options::RECORD_BYTES_MAX {
            break false;
        }
        match megadir_sys::readdir::getdents64(directory.as_fd(), &mut records[filled..]) {
            Ok(0) => break true,
            Ok(bytes) => filled += bytes,
            Err(_) => break false,
        }
    };
    records.truncate(filled);
    records.shrink_to_fit();
    crate::decode::check(&records).ok()?;
    Some((records, is_whole))
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use super::{Below, InodesAhead};
    use crate::{Dir, FileSystem};

    const ALL: Below = Below { inodes: true, all_levels: true };

    /// `a` with `b` and `c`, `c` with `d`; files in each.
    fn tree() -> tempfile::TempDir {
        let scratch = tempfile::tempdir().unwrap();
        for below in ["a", "a/b", "a/c", "a/c/d"] {
            std::fs::create_dir(scratch.path().join(below)).unwrap();
            for index in 0..40 {
                std::fs::write(scratch.path().join(below).join(index.to_string()), "").unwrap();
            }
        }
        std::os::unix::fs::symlink("/", scratch.path().join("link")).unwrap();
        scratch
    }

    fn read(at: &Path, names: &[&str], scope: Below, stops: bool) -> (usize, Vec<bool>) {
        let ahead = InodesAhead::with_slow_device(FileSystem::Ext4);
        let names = names.iter().map(|name| (0, CString::new(*name).unwrap())).collect();
        let read = ahead.read_below(Dir::open(at).unwrap().as_fd(), names, scope, &|| stops);
        let inode = |below: &str| std::fs::symlink_metadata(at.join(below)).unwrap().ino();
        let done = ["a", "a/b", "a/c", "a/c/d"].map(|below| ahead.are_done_below(inode(below)));
        (read, done.to_vec())
    }

    #[test]
    fn entries_below_directories_are_read_at_all_levels() {
        let tree = tree();
        assert_eq!(read(tree.path(), &["a"], ALL, false), (1, vec![true; 4]));
        let names_only = Below { inodes: false, ..ALL };
        assert_eq!(read(tree.path(), &["a"], names_only, false), (1, vec![true; 4]));
    }

    #[test]
    fn one_level_leaves_directories_below_to_later() {
        let tree = tree();
        let one_level = Below { all_levels: false, ..ALL };
        assert_eq!(read(tree.path(), &["a"], one_level, false), (1, vec![false; 4]));
        let a = tree.path().join("a");
        let ahead = InodesAhead::with_slow_device(FileSystem::Ext4);
        let names = ["b", "c"].map(|name| (0, CString::new(name).unwrap())).to_vec();
        assert_eq!(ahead.read_below(Dir::open(&a).unwrap().as_fd(), names, one_level, &|| false), 2);
        let is_done = |below: &str| ahead.are_done_below(std::fs::metadata(a.join(below)).unwrap().ino());
        assert_eq!(["b", "c"].map(is_done), [true, false], "c has a directory that was not read");
    }

    #[test]
    fn links_files_and_vanished_directories_are_left_to_the_operation() {
        let tree = tree();
        assert_eq!(read(tree.path(), &["link", "gone", "a"], ALL, false), (3, vec![true; 4]));
        let ahead = InodesAhead::with_slow_device(FileSystem::Ext4);
        let root = std::fs::metadata("/").unwrap().ino();
        let names = vec![(0, CString::new("link").unwrap())];
        ahead.read_below(Dir::open(tree.path()).unwrap().as_fd(), names, ALL, &|| false);
        assert!(!ahead.are_done_below(root));
    }

    #[test]
    fn nothing_is_read_once_the_operation_is_to_end() {
        assert_eq!(read(tree().path(), &["a"], ALL, true), (0, vec![false; 4]));
    }

    /// In a process of its own, whose limit concerns no other test.
    #[test]
    fn few_descriptors_are_enough_to_read_ahead() {
        let (tree, program) = (tree(), std::env::current_exe().unwrap());
        // Most are for the operation.
        for limit in [256, 64, 16] {
            let walks = "walk::ahead::tests::on_a_slow_device_a_walk_returns_each_entry_once";
            let mut command = std::process::Command::new("prlimit");
            command.arg(format!("--nofile={limit}:{limit}")).arg(&program).args(["--exact", walks]);
            let limited = command.env("TMPDIR", tree.path()).output().unwrap();
            let printed = String::from_utf8_lossy(&limited.stdout);
            assert!(limited.status.success() && printed.contains("1 passed"), "{limit}: {printed}");
        }
    }
}
