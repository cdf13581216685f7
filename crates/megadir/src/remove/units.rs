//! The two calls: a tree, or with a selection of whole directories, one directory after the other.
//!
//! Before its removal each directory is looked at again. A file of it that is used after that stays, and with it the directories above.

#[cfg(target_os = "linux")]
use super::Counts;
#[cfg(target_os = "linux")]
use super::budget::Selection;
use super::engine;
#[cfg(target_os = "linux")]
use super::engine::fail;
#[cfg(target_os = "linux")]
use super::progress::Call;
use super::{Progress, RemoveOptions, Removed};
use crate::dir::Dir;
use crate::error::Result;
#[cfg(target_os = "linux")]
use crate::error::{Error, ErrorKind};
#[cfg(target_os = "linux")]
use crate::file_type::FileType;
#[cfg(target_os = "linux")]
use crate::listing::Listing;
#[cfg(target_os = "linux")]
use crate::policy;

/// Removes an entry of a directory, with everything in it. A symbolic link is removed, not followed.
/// Errors: the entry itself does not exist, cannot be opened, is a mount point ([`ErrorKind::MountPoint`],
/// even if mounts are crossed) or is not a single name, or if an option is out of range. Other failures, also
/// to remove the emptied directory itself, are reported to [`RemoveOptions::on_failure`].
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// use megadir::Dir;
/// use megadir::remove::{Failures, Progress, RemoveOptions, remove_tree};
/// std::fs::create_dir_all(scratch.path().join("old/a/b")).unwrap();
/// let failures = Failures::new(100);
/// let on_failure = |failure| failures.add(failure);
/// let options = RemoveOptions::new(2, &on_failure);
/// let parent = Dir::open(scratch.path())?;
/// let removed = remove_tree(&parent, b"old", &options, &Progress::new())?;
/// assert!(removed.complete && failures.take().is_empty());
/// assert_eq!(removed.counts.directories, 3);
/// # Ok::<(), megadir::Error>(())
/// ```
pub fn remove_tree(
    parent: &Dir,
    name: &[u8],
    options: &RemoveOptions<'_>,
    progress: &Progress,
) -> Result<Removed> {
    #[cfg(target_os = "linux")]
    if let Some(selection) = options.budget.filter(|selection| selection.is_of_units()) {
        let Some(directory) = parent.open_below_on_this_mount(name)? else {
            let path = parent.entry_path(name);
            return Err(Error::new(
                "remove",
                &path,
                ErrorKind::MountPoint,
                "another file system is mounted there",
            ));
        };
        return remove_units(&directory, selection, options, progress);
    }
    engine::remove_tree(parent, name, options, progress)
}

/// Removes everything in a directory and keeps the directory itself, which may be a mount point. Reads it
/// again until it is empty, at most ten times.
/// Errors: the directory cannot be reopened, or an option is out of range. Other failures are reported to
/// [`RemoveOptions::on_failure`].
pub fn remove_contents(directory: &Dir, options: &RemoveOptions<'_>, progress: &Progress) -> Result<Removed> {
    #[cfg(target_os = "linux")]
    if let Some(selection) = options.budget.filter(|selection| selection.is_of_units()) {
        return remove_units(directory, selection, options, progress);
    }
    engine::remove_contents(directory, options, progress)
}

/// Names of units that are read before any of them is removed, bytes: positions in a listing may shift.
#[cfg(target_os = "linux")]
const NAMES_BYTES: usize = 4 << 20;

/// Removes the units that the selection takes.
#[cfg(target_os = "linux")]
fn remove_units(
    directory: &Dir,
    selection: &Selection,
    options: &RemoveOptions<'_>,
    progress: &Progress,
) -> Result<Removed> {
    // Counts go to the progress once: from here or from `remove_tree`.
    let mut removing = Removing {
        directory,
        selection,
        inside: &selection.inside(),
        options,
        call: &Call::new(progress),
        counts: Counts::default(),
    };
    let mut choice = policy::choose(directory, 1)?;
    choice.options.resolve_types = true;
    let mut listing = Listing::with_choice(directory, choice)?;
    let (mut names, mut is_last) = (Vec::new(), false);
    while !is_last {
        let mut bytes = 0;
        while bytes < NAMES_BYTES {
            let Some(batch) = listing.next_batch()? else {
                is_last = true;
                break;
            };
            let directories = batch.entries().filter(|entry| entry.kind == FileType::Directory);
            for entry in directories {
                bytes += entry.name.len() + size_of::<Vec<u8>>();
                names.push(entry.name.to_vec());
            }
        }
        for name in names.drain(..) {
            if progress.is_cancelled() {
                return Ok(removing.end());
            }
            removing.unit(&name);
        }
    }
    Ok(removing.end())
}

#[cfg(target_os = "linux")]
struct Removing<'r> {
    directory: &'r Dir,
    selection: &'r Selection,
    inside: &'r Selection,
    options: &'r RemoveOptions<'r>,
    call: &'r Call<'r>,
    counts: Counts,
}

#[cfg(target_os = "linux")]
impl Removing<'_> {
    fn unit(&mut self, name: &[u8]) {
        let Self { directory, selection, inside, options, call, .. } = *self;
        if !selection.accepts_name(name) {
            return;
        }
        let time = match directory.open_below_on_this_mount(name) {
            Ok(Some(unit)) => selection.last_use(&unit, &mut |error| fail(error, options, call)),
            // A file system is mounted there.
            Ok(None) => return,
            Err(error) => Err(error),
        };
        let options =
            RemoveOptions { budget: Some(inside), conditions: Some(inside.conditions()), ..*options };
        let removed = match time {
            Ok(Some(time)) if selection.takes_unit(time, name) => {
                engine::remove_tree(directory, name, &options, call.progress)
            }
            Ok(_) => return,
            Err(error) => Err(error),
        };
        match removed {
            Ok(removed) => self.counts.add(&removed.counts),
            // Another process has removed or replaced it.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(error) => fail(error, &options, call),
        }
    }

    fn end(self) -> Removed {
        let mut counts = self.counts;
        counts.add(&self.call.counts());
        let cancelled = self.call.progress.is_cancelled();
        Removed { counts, complete: !cancelled && counts.failures == 0, cancelled }
    }
}
