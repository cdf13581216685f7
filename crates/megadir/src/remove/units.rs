//! The two calls, and what a budget adds to them: it excludes other options, and belongs to one directory. With a selection of whole
//! directories, threads remove one after the other.
//!
//! Before its removal each directory is looked at again. A file of it that is used after that stays, and with it the directories above.

#[cfg(target_os = "linux")]
use std::sync::Mutex;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(target_os = "linux")]
use super::Counts;
#[cfg(target_os = "linux")]
use super::budget::Selection;
use super::engine;
#[cfg(target_os = "linux")]
use super::engine::{PASSES_MAX, fail};
#[cfg(target_os = "linux")]
use super::progress::Call;
use super::{Progress, RemoveOptions, Removed};
use crate::dir::Dir;
use crate::error::Result;
#[cfg(target_os = "linux")]
use crate::error::{At, Error, ErrorKind};
#[cfg(target_os = "linux")]
use crate::file_type::FileType;
#[cfg(target_os = "linux")]
use crate::listing::Listing;
#[cfg(target_os = "linux")]
use crate::policy;
#[cfg(target_os = "linux")]
use crate::threads::{REFUSAL, lock};

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
    if options.budget.is_some() {
        let reason = "a budget keeps the directory: use remove_contents";
        return Err(Error::new("remove", &parent.entry_path(name), ErrorKind::BadOption, reason));
    }
    engine::remove_tree(parent, name, options, progress)
}

/// Removes everything in a directory and keeps the directory itself, which may be a mount point. Reads it
/// again until it is empty, at most ten times.
/// Errors: the directory cannot be reopened, or an option is out of range; with a budget also
/// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the directory is another one than was read, and
/// [`ErrorKind::BadOption`](crate::ErrorKind::BadOption) beside options that it excludes. Other failures are reported to
/// [`RemoveOptions::on_failure`].
pub fn remove_contents(directory: &Dir, options: &RemoveOptions<'_>, progress: &Progress) -> Result<Removed> {
    #[cfg(target_os = "linux")]
    if let Some(selection) = options.budget {
        return keep_within(directory, selection, options, progress);
    }
    engine::remove_contents(directory, options, progress)
}

/// Removes what a selection takes.
#[cfg(target_os = "linux")]
fn keep_within(
    directory: &Dir,
    selection: &Selection,
    options: &RemoveOptions<'_>,
    progress: &Progress,
) -> Result<Removed> {
    check_budget(directory, selection, options)?;
    selection.check(directory)?;
    let options = RemoveOptions { conditions: Some(selection.conditions()), ..*options };
    let removed = match selection.is_of_units() {
        true => remove_units(directory, selection, &options, progress)?,
        false => engine::remove_contents(directory, &options, progress)?,
    };
    if !options.dry_run && !removed.cancelled {
        selection.count_again();
    }
    Ok(removed)
}

#[cfg(target_os = "linux")]
fn check_budget(directory: &Dir, selection: &Selection, options: &RemoveOptions<'_>) -> Result<()> {
    let refused = [
        (options.cross_mounts, "cross_mounts"),
        (options.keep_newest.is_some(), "keep_newest"),
        (options.name.is_some(), "name"),
        (options.keep.is_some(), "keep"),
        (
            options.conditions.is_some_and(|conditions| conditions != selection.conditions()),
            "conditions other than those of its selection",
        ),
    ];
    match refused.into_iter().find(|(is_given, _)| *is_given) {
        None => Ok(()),
        Some((_, what)) => {
            let reason = format!("budget: excludes {what}");
            Err(Error::new("remove", directory.path(), ErrorKind::BadOption, reason))
        }
    }
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
    // Counts go to the progress once: from here or from the engine.
    let removing = Removing {
        directory,
        selection,
        inside: &selection.inside(),
        options,
        call: &Call::new(progress),
        counts: Mutex::default(),
    };
    for _ in 0..=PASSES_MAX {
        let before = removing.gone();
        removing.pass()?;
        // What a thread had reserved may be free for others.
        if selection.is_freed() || options.dry_run || removing.gone() == before {
            break;
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
    counts: Mutex<Counts>,
}

#[cfg(target_os = "linux")]
impl Removing<'_> {
    fn pass(&self) -> Result<()> {
        let mut choice = policy::choose(self.directory, 1)?;
        choice.options.resolve_types = true;
        let mut listing = Listing::with_choice(self.directory, choice)?;
        let (mut names, mut is_last) = (Vec::new(), false);
        while !is_last && !self.is_done() {
            let mut bytes = 0;
            while bytes < NAMES_BYTES {
                let Some(batch) = listing.next_batch()? else {
                    is_last = true;
                    break;
                };
                let directories = batch.entries().filter(|entry| entry.kind == FileType::Directory);
                for entry in directories.filter(|entry| self.selection.may_take_unit(entry.name)) {
                    bytes += entry.name.len() + size_of::<Vec<u8>>();
                    names.push(entry.name.to_vec());
                }
            }
            self.several(&names);
            names.clear();
        }
        Ok(())
    }

    /// Threads take one unit after the other. If there are fewer units than threads, several threads share each.
    fn several(&self, names: &[Vec<u8>]) {
        let workers = engine::workers(self.directory, self.options);
        let threads = workers.min(names.len()).max(1);
        let options = RemoveOptions { workers: Some(workers / threads), ..*self.options };
        let next = AtomicUsize::new(0);
        let work = || {
            while !self.is_done()
                && let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed))
            {
                self.unit(name, &options);
            }
        };
        std::thread::scope(|scope| {
            for number in 1..threads {
                let thread = std::thread::Builder::new().name(format!("megadir-units-{number}"));
                if REFUSAL.spawn(|| thread.spawn_scoped(scope, work)).is_err() {
                    break;
                }
            }
            work();
        });
    }

    fn is_done(&self) -> bool {
        self.call.progress.is_cancelled() || self.selection.is_enough()
    }

    fn unit(&self, name: &[u8], options: &RemoveOptions<'_>) {
        let Self { directory, selection, inside, call, .. } = *self;
        let mut failed = |error| fail(error, options, call);
        let opened = directory.open_below_on_this_mount(name);
        let removed = opened.and_then(|unit| {
            // A file system is mounted there.
            let Some(unit) = unit else { return Ok(()) };
            let id = engine::system::identity(&unit).at("stat", unit.path())?;
            if !selection.takes_unit(&unit, name, options.dry_run, &mut failed)? {
                return Ok(());
            }
            let options =
                RemoveOptions { budget: Some(inside), conditions: Some(inside.conditions()), ..*options };
            let removed = engine::remove_unit(directory, name, id, &options, call.progress)?;
            lock(&self.counts).add(&removed.counts);
            Ok(())
        });
        match removed {
            // Another process has removed or replaced it.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
            Err(error) => fail(error, options, call),
            Ok(()) => {}
        }
    }

    fn gone(&self) -> u64 {
        let counts = lock(&self.counts);
        counts.entries.saturating_add(counts.directories)
    }

    fn end(self) -> Removed {
        let mut counts = *lock(&self.counts);
        counts.add(&self.call.counts());
        let cancelled = self.call.progress.is_cancelled();
        Removed { counts, complete: !cancelled && counts.failures == 0, cancelled }
    }
}
