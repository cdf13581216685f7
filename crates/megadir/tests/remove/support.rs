//! What the tests of removing share.

use std::path::Path;

use megadir::Dir;
use megadir::remove::{Conditions, Counts, Progress, RemoveOptions, Removed, remove_contents, remove_tree};

/// Options that remove everything with so many workers, and take no failure.
pub(crate) fn options(workers: usize) -> RemoveOptions<'static> {
    RemoveOptions {
        workers,
        cross_mounts: false,
        conditions: Conditions::NONE,
        dry_run: false,
        keep: None,
        entries_per_second_max: None,
        order: None,
        on_failure: &|failure| panic!("{failure}"),
    }
}

/// Removes what a path names.
pub(crate) fn remove(path: &Path, options: &RemoveOptions<'_>) -> megadir::Result<Removed> {
    let parent = Dir::open(path.parent().unwrap())?;
    let name = megadir::names::from_os(path.file_name().unwrap());
    remove_tree(&parent, name, options, &Progress::new())
}

/// Empties a directory.
pub(crate) fn empty(path: &Path, options: &RemoveOptions<'_>) -> megadir::Result<Removed> {
    remove_contents(&Dir::open(path)?, options, &Progress::new())
}

/// So many entries and directories, and nothing else.
pub(crate) fn only(entries: u64, directories: u64) -> Counts {
    Counts { entries, directories, ..Counts::default() }
}
