//! Moves the files of a directory to the places of another layout, relative to descriptors.
//!
//! ```text
//! tree (old layout's directories) -> judge: name, new path -> window -> by target directories and inode
//!   -> another thread: renameat2, or offline: linkat -> unlinkat in a third thread
//! ```
//!
//! Guarantees:
//!
//! * Each file is moved by one `renameat2(RENAME_NOREPLACE)` between open directories, so it is always at its
//!   old or its new path, and no file is ever replaced. Directories are opened by one name below an open
//!   directory, without following links or entering mounts.
//! * Directories of the new layout are made, with the owner, mode, ACLs and project of the directory, and
//!   emptied directories of the old layout are removed. Nothing else changes. A run that moved nothing removes what it made.
//! * A file that has the path of such a directory is moved first. Files that are in their own way, or in each other's, stay.
//! * A run may be cancelled or killed at any moment. The same call finishes the work, because a file's path
//!   shows if it was moved; pairs of layouts without this property are refused: both put files on the same level,
//!   and one of them shortens names.
//! * Memory is bounded by twice [`ReshardOptions::window_bytes`], 8 bytes a file of a window and one buffer per level.
//!
//! With [`ReshardOptions::offline`] files are linked and unlinked instead: a file has both paths for a moment, and after a kill
//! until the next such run. If a program replaces a file in between, its new file is unlinked. Without this option, a file system that
//! cannot rename without replacing is refused before anything is made.
//!
//! Files wait in a window of 16 MiB and are moved in groups of 256 target directories, by inode in each group. Missing
//! directories are made before: under a hidden name until owner, mode, ACLs and project are the same as the top's, or by
//! `mkdir` alone if the first one shows that nothing differs. Emptied directories of the old layout, unless the new one
//! has their paths, are removed once the window with their files was moved. A file whose path a directory of the new
//! layout may have never waits in the window: it is moved when it is read, or earlier when its directory is needed
//! (`Mover::give_way`), because otherwise the directory would be renamed in its place.
//!
//! One thread renames, because the kernel has one lock for renames between the directories of a file system; the
//! caller's reads, sorts and opens directories meanwhile.
//!
//! | file | subject |
//! |---|---|
//! | `route.rs`, `judge.rs` | new path of a file from its present path; the reason why a file stays |
//! | `tree.rs`, `window.rs`, `mover.rs` | reads the old layout into bounded windows |
//! | `targets.rs`, `carrier.rs`, `relink.rs` | opens and makes directories; moves groups of files |
//! | `trial.rs`, `survey.rs`, `foresee.rs` | before a run: can files be moved here, how many, and which would be refused; a system call a file where the target directory exists, else one look a directory |
//! | `detect.rs` | the layout of a tree from a sample, and the files that do not fit it |
//! | `renew.rs` | replaces a large directory by a small one while every path works |

mod carrier;
mod detect;
mod foresee;
mod judge;
mod mover;
mod relink;
mod renew;
mod route;
mod survey;
mod targets;
mod tree;
mod trial;
mod window;

use std::cell::RefCell;
use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use self::mover::Mover;
use self::route::Route;
use self::targets::Targets;
use crate::conditions::Globs;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::Layout;
use crate::names;

pub use self::detect::{Detected, Ending, Fit, Renamed, detect, renamed, verify};
pub use self::judge::Counts;
pub use self::renew::{complete as complete_renewal, renew};
pub use self::survey::{Survey, count_up_to, survey};

/// About 200 000 files with names of 32 bytes.
pub const WINDOW_BYTES: usize = 16 << 20;

/// Options of [`reshard`].
///
/// Two calls with the same layouts may differ in all other fields: an interrupted run may be finished more
/// slowly or with more memory.
#[derive(Clone, Copy)]
pub struct ReshardOptions<'a> {
    /// Layout that the files have.
    pub from: Layout,
    /// Layout that the files get. If its depth grows, all files are counted first.
    pub to: Layout,
    /// Directory that receives the files, on the same mount; `None` for the directory itself, which is all that layouts whose
    /// depth grows allow ([`ErrorKind::BadOption`]).
    pub into: Option<&'a Dir>,
    /// Files with these names stay, such as temporary ones.
    pub exclude: Option<&'a Globs>,
    /// Most files moved per second.
    pub files_per_second_max: Option<NonZeroU32>,
    /// Memory for files read before they are moved, bytes. Files that are being moved meanwhile take as much again.
    pub window_bytes: usize,
    /// Remove the old layout's directories once they are empty.
    pub remove_emptied: bool,
    /// Link and unlink in two threads instead of renaming. Only if no other program changes the directory
    /// meanwhile: a file that replaces another one may be lost. Files that cannot be linked are renamed.
    pub offline: bool,
    /// Called with each failure, also for files that stay because a name is taken.
    pub on_failure: &'a dyn Fn(Error),
}

impl<'a> ReshardOptions<'a> {
    /// Moves all files within the directory.
    pub fn new(from: Layout, to: Layout, on_failure: &'a dyn Fn(Error)) -> Self {
        Self {
            from,
            to,
            into: None,
            exclude: None,
            files_per_second_max: None,
            window_bytes: WINDOW_BYTES,
            remove_emptied: true,
            offline: false,
            on_failure,
        }
    }
}

/// Moves the files of a directory to the places of another layout.
///
/// Files that appear meanwhile may or may not be moved. Symbolic links, devices and other entries stay, because a relative link
/// would lead elsewhere. Errors: [`ErrorKind::BadOption`] for layouts between which a path is ambiguous;
/// [`ErrorKind::Unavailable`] if another process holds the directory's lock (flock), or the file system cannot rename without
/// replacing; if the directory cannot be read. They have the counts of the files that were moved before. Other failures are
/// reported to [`ReshardOptions::on_failure`].
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// use megadir::reshard::{Progress, ReshardOptions, reshard};
/// std::fs::write(scratch.path().join("abcdef"), "").unwrap();
/// let on_failure = |failure| eprintln!("{failure}");
/// let options = ReshardOptions::new("flat".parse()?, "digest:2".parse()?, &on_failure);
/// let counts = reshard(&megadir::Dir::open(scratch.path())?, &options, &Progress::new())?;
/// assert_eq!((counts.moved, counts.failures), (1, 0));
/// assert!(scratch.path().join("be/abcdef").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn reshard(
    directory: &Dir,
    options: &ReshardOptions<'_>,
    progress: &Progress,
) -> std::result::Result<Counts, Stopped> {
    // A walk that counts, for the depth, fails where the moving walk does, and in directories that only the new layout has.
    let failed = RefCell::new(HashSet::new());
    let on_failure = |failure: Error| {
        if failed.borrow_mut().insert(failure.path().to_owned()) {
            (options.on_failure)(failure);
        }
    };
    let counting = ReshardOptions { on_failure: &on_failure, ..*options };
    let files = survey::depth_files(directory, &counting, u64::MAX, progress)?;
    let on_failure = |failure: Error| {
        if !failed.borrow_mut().remove(failure.path()) {
            (options.on_failure)(failure);
        }
    };
    let options = &ReshardOptions { on_failure: &on_failure, ..*options };
    let top = Arc::new(directory.again()?);
    lock(&top)?;
    let to = match options.into {
        Some(into) => {
            let into = Arc::new(into.again()?);
            check_into(&top, &into, &options.to)?;
            lock(&into)?;
            into
        }
        None => Arc::clone(&top),
    };
    let route = Route::of(directory, options, files)?;
    let (targets, except) = (Targets::new(Arc::clone(&to))?, options.into.map(Dir::id).transpose()?);
    trial::check(&to, options.offline)?;
    let mut done = std::thread::scope(|scope| {
        let mut mover = Mover::new(scope, route, targets, options, progress);
        let read = tree::visit(&top, except, &mut mover);
        mover.finish(read)
    });
    let counts = done.as_mut().unwrap_or_else(|stopped| &mut stopped.counts);
    // Directories that only the new layout has.
    let others = failed.borrow().len() as u64;
    counts.failures += others;
    counts.unread += others;
    done
}

/// Error that ended a run, and the counts of the work before it.
#[derive(Debug)]
pub struct Stopped {
    /// The error.
    pub error: Box<Error>,
    /// Counts of this call; all 0 if nothing was begun.
    pub counts: Counts,
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self { error: Box::new(error), counts: Counts::default() }
    }
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Stopped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

fn check_into(directory: &Dir, into: &Dir, layout: &Layout) -> Result<()> {
    let (from, to) = (directory.id()?, into.id()?);
    let reason = if from == to {
        "it is the directory itself; omit --into".to_owned()
    } else if (from.device, from.mount) != (to.device, to.mount) {
        "on another file system or mount, where files cannot be renamed to; name a directory on the same one"
            .to_owned()
    } else if receives_files(directory, into, layout) {
        let shown = directory.path().display();
        format!(
            "'{shown}' has the path of a directory of {layout} in it, and would receive files; name another directory"
        )
    } else {
        return Ok(());
    };
    Err(Error::new("reshard into", into.path(), ErrorKind::BadOption, reason))
}

/// `true` if the new layout has a directory where the old directory is: its files would be met again. Directories without a path
/// are not found.
fn receives_files(directory: &Dir, into: &Dir, layout: &Layout) -> bool {
    let path = |directory: &Dir| std::fs::canonicalize(directory.readable_path().ok()?).ok();
    let (Some(from), Some(to)) = (path(directory), path(into)) else { return false };
    from.strip_prefix(to).is_ok_and(|below| {
        layout.has_directory_path(names::from_os(below.as_os_str()), *layout.depths().end())
    })
}

/// Two runs would remove each other's new directory.
fn lock(directory: &Dir) -> Result<()> {
    let reason = "another process holds a lock on it (flock); it may be moving its files";
    crate::remove::aside::lock(directory)
        .map_err(|_| Error::new("reshard", directory.path(), ErrorKind::Unavailable, reason))
}

/// Number of files moved so far, and the flag that cancels the work.
#[derive(Debug, Default)]
pub struct Progress {
    moved: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// Starts with 0 files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of files moved so far; in a survey or a check, the number of entries looked at.
    pub fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    /// Cancels the work before the next file. Only sets a flag, so a signal handler may call it.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// `true` if the work was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    fn more(&self, files: u64) {
        self.moved.fetch_add(files, Ordering::Relaxed);
    }
}
