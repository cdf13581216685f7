//! Whether a block that makes or removes files has changed the data set by as many as it says, counted by the directories
//! themselves: listed before and after the block, in no block's time, and without asking for a file's attributes.

use megadir::FileType;
use megadir_record::{Cell, Counted};

use super::survey::too_deep;
use crate::at::{At, Borrowed, each_entry, open_on_this_mount};
use crate::control::{RunControl, WorkError};
use crate::dataset::LEVELS_MAX;

/// The files that there were before a block, where it is to change them.
pub(super) struct Tally {
    before: u64,
    change: i64,
}

impl Tally {
    /// Counts the files of a data set, if the arm changes them.
    pub(super) fn before(
        cell: &Cell,
        directory: Borrowed<'_>,
        control: RunControl<'_>,
    ) -> Result<Option<Self>, WorkError> {
        let Some(change) = cell.work.change() else { return Ok(None) };
        Ok(Some(Self { before: files_below(directory, control, 0)?, change }))
    }

    /// Counts them again; files that are missing or too many make the block's work unequal to what it should be.
    pub(super) fn after(
        &self,
        counted: Counted,
        directory: Borrowed<'_>,
        control: RunControl<'_>,
    ) -> Result<Counted, WorkError> {
        let should = self.before.saturating_add_signed(self.change);
        let off = files_below(directory, control, 0)?.abs_diff(should);
        Ok(Counted { hash: counted.hash.saturating_add(off), ..counted })
    }

    /// Returns by how many files a block has changed the data set, however it ended.
    pub(super) fn change(&self, directory: Borrowed<'_>, control: RunControl<'_>) -> Result<u64, WorkError> {
        Ok(files_below(directory, control, 0)?.abs_diff(self.before))
    }
}

/// Returns how many entries other than directories there are below a directory.
fn files_below(directory: Borrowed<'_>, control: RunControl<'_>, depth: usize) -> Result<u64, WorkError> {
    let failed = |source| WorkError::Stage { stage: "counting files", source };
    if depth > LEVELS_MAX {
        return Err(failed(too_deep()));
    }
    let (mut files, mut directories, mut seen, mut stopped) = (0, Vec::new(), 0_u32, None);
    let listed = each_entry(directory, &mut |name, kind| {
        seen = seen.wrapping_add(1);
        if seen % 256 == 1
            && let Err(error) = control.check()
        {
            stopped = Some(error);
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        match kind {
            FileType::Directory => directories.push(name.to_vec()),
            _ => files += 1,
        }
        Ok(())
    });
    match stopped {
        Some(error) => return Err(error),
        None => listed.map_err(failed)?,
    }
    for name in directories {
        let below = open_on_this_mount(directory, name.as_slice()).map_err(failed)?;
        files += files_below(below.at(), control, depth + 1)?;
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    #[test]
    fn files_that_are_missing_or_too_many_show() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        let make = |names: &[&str]| names.iter().for_each(|name| std::fs::write(at(name), "").unwrap());
        make(&["1", "a/2", "a/b/3"]);
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        let directory = crate::at::open_directory(parent.path()).unwrap();
        let before = files_below(directory.at(), control, 0).unwrap();
        assert_eq!(before, 3);
        let said = Counted { entries: 2, hash: 0, calls: None, written_bytes: 0 };
        let off = |change| {
            let tally = Tally { before, change };
            tally.after(said, directory.at(), control).unwrap().hash
        };
        assert_eq!((off(0), off(2)), (0, 2));
        make(&["4", "a/b/5"]);
        assert_eq!((off(2), off(3), off(0)), (0, 1, 2));
        std::fs::remove_file(at("1")).unwrap();
        assert_eq!((off(1), off(2), off(-1)), (0, 1, 2));
    }
}
