//! What a data set holds and uses, found by going through all of it relative to descriptors; links are not followed,
//! mounts not entered.

use std::collections::HashSet;

use megadir::FileType;
use megadir_record::{Counted, Used};

use crate::at::{self, At, Borrowed, Status};
use crate::control::{RunControl, WorkError};
use crate::dataset::LEVELS_MAX;
use crate::workload::name_hash;

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
pub(crate) fn survey(directory: Borrowed<'_>, control: RunControl<'_>) -> Result<Survey, WorkError> {
    let used = Used { files: 0, directories: 0, inodes: 0, content_bytes: 0, bytes: 0 };
    let mut surveyor = Surveyor { survey: Survey { used, hash: 0 }, linked: HashSet::new(), control };
    surveyor.count(at::use_of(&directory).map_err(failed)?);
    surveyor.below(directory, 0)?;
    Ok(surveyor.survey)
}

struct Surveyor<'a> {
    survey: Survey,
    /// Numbers of files with several names that were counted already.
    linked: HashSet<u64>,
    control: RunControl<'a>,
}

impl Surveyor<'_> {
    fn count(&mut self, (status, allocated_bytes): (Status, u64)) {
        let used = &mut self.survey.used;
        let directory = status.kind == FileType::Directory;
        match directory {
            true => used.directories += 1,
            false => used.files += 1,
        }
        if directory || status.links == 1 || self.linked.insert(status.identity.1) {
            used.inodes += 1;
            used.bytes += allocated_bytes;
            if !directory {
                used.content_bytes += status.size_bytes;
            }
        }
    }

    fn below(&mut self, directory: Borrowed<'_>, depth: usize) -> Result<(), WorkError> {
        if depth > LEVELS_MAX {
            return Err(failed(too_deep()));
        }
        let (mut directories, mut seen, mut stopped) = (Vec::new(), 0_u32, None);
        // That opens it again: btrfs tells of a directory what was in it when it was opened, and what others have read stays read.
        let listed = at::each_entry(directory, &mut |name, _| {
            seen = seen.wrapping_add(1);
            if seen % 256 == 1
                && let Err(error) = self.control.check()
            {
                stopped = Some(error);
                return Err(std::io::ErrorKind::Interrupted.into());
            }
            let used = at::use_of_entry(directory, name)?;
            self.count(used);
            match used.0.kind {
                FileType::Directory => directories.push(name.to_vec()),
                _ => self.survey.hash = self.survey.hash.wrapping_add(name_hash(name)),
            }
            Ok(())
        });
        match stopped {
            Some(error) => return Err(error),
            None => listed.map_err(failed)?,
        }
        for name in directories {
            let below = at::open_on_this_mount(directory, name.as_slice()).map_err(failed)?;
            self.below(below.at(), depth + 1)?;
        }
        Ok(())
    }
}

/// Returns the error of a tree that is deeper than any that this program makes.
pub(super) fn too_deep() -> std::io::Error {
    std::io::Error::other("directories are nested deeper than this program makes them")
}

fn failed(source: std::io::Error) -> WorkError {
    WorkError::Stage { stage: "going through a data set", source }
}

#[cfg(all(test, target_os = "linux"))]
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
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        for _ in 0..2 {
            assert_eq!(survey(opened.at(), control).unwrap().used.files, 5);
        }
    }
}
