//! Removes directories, by the library's removal: what it promises holds in a task too.
//!
//! A directory whose removal the budget ended returns the subdirectories that it still has. The root comes again when they are
//! done: it removes the directories that stayed because something was in them, and meets all that cannot be removed.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use megadir::remove::{Failures, Progress, RemoveOptions, Removed, remove_contents};
use megadir::{Dir, Error, ErrorKind, FileType, Listing, StatMask, attribute_policy, policy};

use crate::job::{Bytes, Item, Job, MESSAGES_MAX, Outcome, Removal, Task, TaskError};
use crate::scan::UNVISITED_MAX;
use crate::visit::{Reached, Spending, reach, visit_items};

const LOOK: Duration = Duration::from_millis(5);

/// Steps for one item; each may have been done before, by a task whose outcome was lost:
///
/// ```text
/// reach -> empty --all removed--------------------------> remove_emptied: the directory itself
///   |         `--budget spent--> subdirectories left: unvisited; this directory again: unvisited, or later for a root
///   `-- gone, or another mount: nothing to do
/// ```
///
/// Failures count only in the pass over a root, which comes last and meets everything that stayed. If they
/// counted in each directory too, a file that cannot be removed would be counted once for each task that has
/// met it. A directory below the root comes again only if it has no subdirectories left of its own, because
/// otherwise the root's pass removes it.
pub(crate) fn remove(task: &Task, stop: &AtomicBool) -> Result<Outcome, TaskError> {
    let mut removal = Removal::default();
    let mut outcome = visit_items(task, stop, |item, root, spending, outcome| {
        let root = match root {
            // The task ran before, and its outcome was lost.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened?,
        };
        let is_root = item.path.0.is_empty();
        let directory = match reach(root, item) {
            Ok(Reached::Directory(directory)) => directory,
            Ok(Reached::Vanished | Reached::OtherMount) => return Ok(Vec::new()),
            // The pass over the root reports it.
            Err(_) if !is_root => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let (removed, messages) = empty(&directory, spending)?;
        let counts = removed.counts;
        removal.entries += counts.entries;
        removal.directories += counts.directories;
        if removed.cancelled {
            outcome.unvisited.extend(left(&directory, item)?);
            let again = if is_root { &mut outcome.later } else { &mut outcome.unvisited };
            if is_root || again.iter().all(|left| !is_below(left, item)) {
                again.push(item.clone());
            }
            return Ok(Vec::new());
        }
        if is_root {
            removal.failures += counts.failures;
            removal.mounts += counts.mounts;
            outcome.messages.extend(messages);
        }
        if removed.complete && !(is_root && task.job.contents) {
            match remove_emptied(&task.job, root, item, &directory) {
                Ok(is_removed) => removal.directories += u64::from(is_removed),
                Err(error) if is_root => {
                    removal.failures += 1;
                    outcome.messages.push(error.to_string());
                }
                Err(_) => {}
            }
        }
        Ok(Vec::new())
    })?;
    outcome.entries = removal.entries + removal.directories;
    outcome.removal = Some(removal);
    Ok(outcome)
}

fn is_below(left: &Item, item: &Item) -> bool {
    left.root == item.root && left.path.0.len() > item.path.0.len() && left.path.0.starts_with(&item.path.0)
}

/// Returns the first failures too. The budget ends a removal that has removed something: what cannot be removed must not be
/// tried for ever.
fn empty(directory: &Dir, spending: &mut Spending<'_>) -> Result<(Removed, Vec<String>), TaskError> {
    let (failures, progress) = (Failures::new(MESSAGES_MAX), Progress::new());
    let on_failure = |failure: Error| failures.add(failure);
    let options = RemoveOptions::new(1, &on_failure);
    let (time, entries) = (spending.time_left(), spending.entries_left());
    let removed = std::thread::scope(|scope| {
        let (ended, end) = channel::<()>();
        let (progress, watched) = (&progress, &*spending);
        // If the system refuses the thread, the removal is not cut by its budget.
        let _ = std::thread::Builder::new().spawn_scoped(scope, move || {
            let started = std::time::Instant::now();
            while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                let counts = progress.counts();
                let removed = counts.entries + counts.directories;
                let is_spent = started.elapsed() >= time || removed >= entries;
                if watched.is_stopped() || (is_spent && removed > 0) {
                    progress.cancel();
                }
            }
        });
        let removed = remove_contents(directory, &options, progress);
        drop(ended);
        removed
    })?;
    if spending.is_stopped() {
        return Err(TaskError::Stopped);
    }
    spending.entries += removed.counts.entries + removed.counts.directories;
    Ok((removed, failures.take().iter().map(ToString::to_string).collect()))
}

/// Subdirectories of a directory, at most [`UNVISITED_MAX`].
fn left(directory: &Dir, item: &Item) -> megadir::Result<Vec<Item>> {
    let mut choice = policy::choose(directory, 1)?;
    choice.options.resolve_types = true;
    let mut examine = attribute_policy::choose(directory, StatMask::INODE, 1)?
        .stat_backend
        .start(directory, StatMask::INODE | StatMask::TYPE)?;
    let mut listing = Listing::with_choice(directory, choice)?;
    let (mut left, mut rows) = (Vec::new(), Vec::new());
    while let Some(batch) = listing.next_batch()? {
        if batch.entries().all(|entry| entry.kind != FileType::Directory) {
            continue;
        }
        examine.examine(directory, batch, &mut rows)?;
        let below = batch.entries().zip(&rows);
        let below = below.filter(|(_, row)| row.kind == FileType::Directory && row.error == 0);
        left.extend(below.map(|(entry, row)| {
            let path = Bytes(item.tree_path().join(entry.name).to_vec());
            Item { root: item.root, path, inode: Some(row.inode), range: None }
        }));
        if left.len() >= UNVISITED_MAX {
            break;
        }
    }
    Ok(left)
}

/// Removes an empty directory by its name; `false` if another process did, or put something in it.
///
/// The name is resolved again from the root of the tree, and the directory behind it compared with the one
/// that was emptied. Between the comparison and `unlinkat` another process may still exchange the name, and
/// then at most an empty directory is lost: the kernel refuses to remove any other.
#[cfg(target_os = "linux")]
fn remove_emptied(job: &Job, root: &Dir, item: &Item, directory: &Dir) -> megadir::Result<bool> {
    use megadir::names;
    use rustix::fs::{AtFlags, unlinkat};
    use rustix::io::Errno;
    let (parent, name) = match item.tree_path().split() {
        (parent, name) if !name.is_empty() => {
            let above = Item { path: Bytes(parent.to_vec()), inode: None, ..item.clone() };
            let Reached::Directory(parent) = reach(root, &above)? else { return Ok(false) };
            (parent, name)
        }
        _ => {
            let path = job.roots[item.root as usize].path.to_path()?;
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(false) };
            (Dir::open(parent)?, names::from_os(name).to_vec())
        }
    };
    // Another directory that has taken the name stays, even if it is empty.
    let is_same = match parent.open_below_on_this_mount(&name) {
        Ok(Some(named)) => named.id()? == directory.id()?,
        Ok(None) => {
            let reason = "a mount point, which cannot be removed (only its contents)";
            return Err(Error::new("remove", directory.path(), ErrorKind::MountPoint, reason));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    if !is_same {
        return Ok(false);
    }
    match unlinkat(&parent, &*names::to_os(&name)?, AtFlags::REMOVEDIR) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        Err(error) => Err(Error::io("remove", directory.path(), error.into())),
    }
}

#[cfg(not(target_os = "linux"))]
fn remove_emptied(_job: &Job, _root: &Dir, _item: &Item, directory: &Dir) -> megadir::Result<bool> {
    let reason = "removing in tasks needs Linux";
    Err(Error::new("remove", directory.path(), ErrorKind::Unavailable, reason))
}
