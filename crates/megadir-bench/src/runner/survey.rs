//! What a data set holds and uses, found by going through all of it relative to descriptors; links are not followed,
//! mounts not entered.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd};

use megadir_record::{Counted, Used};
use rustix::fs::{AtFlags, FileType, RawDir, Stat};
use rustix::io::Errno;

use crate::dataset::LEVELS_MAX;
use crate::remove::open_on_this_mount;
use crate::workload::{ListError, Signals, name_hash};

const BUFFER_BYTES: usize = 64 << 10;
/// A block of `st_blocks`, bytes, whatever the file system's blocks are.
const STAT_BLOCK_BYTES: u64 = 512;

/// What was found below a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Survey {
    pub(crate) used: Used,
    /// Sum of the hashes of the files' own names.
    pub(crate) hash: u64,
}

impl Survey {
    /// Returns what a listing of all files would have counted.
    pub(crate) fn counted(&self) -> Counted {
        Counted { entries: self.used.files, hash: self.hash, calls: None, written_bytes: 0 }
    }
}

/// Goes through everything in `directory` and below.
pub(crate) fn survey(directory: BorrowedFd<'_>, signals: Signals<'_>) -> Result<Survey, ListError> {
    let used = Used { files: 0, directories: 0, inodes: 0, content_bytes: 0, bytes: 0 };
    let mut surveyor = Surveyor { survey: Survey { used, hash: 0 }, linked: HashSet::new(), signals };
    let status = rustix::fs::fstat(directory).map_err(failed)?;
    surveyor.count(&status);
    // Opened again: btrfs tells of a directory what was in it when it was opened, and what others have read stays read.
    let own = open_on_this_mount(directory, c".").map_err(failed)?;
    surveyor.below(own.as_fd(), 0)?;
    Ok(surveyor.survey)
}

struct Surveyor<'a> {
    survey: Survey,
    /// Numbers of files with several names that were counted already.
    linked: HashSet<u64>,
    signals: Signals<'a>,
}

impl Surveyor<'_> {
    fn count(&mut self, status: &Stat) {
        let used = &mut self.survey.used;
        let directory = FileType::from_raw_mode(status.st_mode) == FileType::Directory;
        match directory {
            true => used.directories += 1,
            false => used.files += 1,
        }
        if directory || status.st_nlink == 1 || self.linked.insert(status.st_ino) {
            used.inodes += 1;
            used.bytes += u64::try_from(status.st_blocks).unwrap_or(0) * STAT_BLOCK_BYTES;
            if !directory {
                used.content_bytes += u64::try_from(status.st_size).unwrap_or(0);
            }
        }
    }

    fn below(&mut self, directory: BorrowedFd<'_>, depth: usize) -> Result<(), ListError> {
        if depth > LEVELS_MAX {
            return Err(failed(Errno::LOOP));
        }
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
        let mut seen = 0_u32;
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if [&b"."[..], b".."].contains(&name.to_bytes()) {
                continue;
            }
            seen += 1;
            if seen % 256 == 1 {
                self.signals.check()?;
            }
            let status = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
            self.count(&status);
            if FileType::from_raw_mode(status.st_mode) == FileType::Directory {
                let below = open_on_this_mount(directory, name).map_err(failed)?;
                self.below(below.as_fd(), depth + 1)?;
            } else {
                self.survey.hash = self.survey.hash.wrapping_add(name_hash(name.to_bytes()));
            }
        }
        Ok(())
    }
}

fn failed(error: Errno) -> ListError {
    ListError::Stage { stage: "going through a data set", source: error.into() }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use megadir_testkit::mount::{BTRFS, Mount};
    use megadir_testkit::require;

    use super::*;

    #[test]
    fn what_was_made_after_a_directory_was_opened_is_found_every_time() {
        let mount = require!(Mount::make(&BTRFS));
        let path = mount.path().join("data");
        std::fs::create_dir(&path).unwrap();
        let opened = std::fs::File::open(&path).unwrap();
        for name in 0..5 {
            std::fs::write(path.join(name.to_string()), "x").unwrap();
        }
        let (stop, beat) = (AtomicBool::new(false), AtomicU64::new(0));
        let signals = Signals { stop: &stop, beat: &beat };
        for _ in 0..2 {
            assert_eq!(survey(opened.as_fd(), signals).unwrap().used.files, 5);
        }
    }
}
