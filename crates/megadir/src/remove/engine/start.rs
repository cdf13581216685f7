//! Begin and end of a removal: the entry named by the caller.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::entry::announce;
use super::leave::{KEEPS_MATCHING, PASSES_MAX};
use super::node::{FAILED, Node};
use super::pool::Pool;
use super::system::{self, Directory, Errno, Identity, Reader};
use super::turn::{Turn, rate};
use super::worker::{Frame, Worker};
use super::{Shared, is_counted, note_counted};
use crate::conditions::Place;
use crate::decode::Records;
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::file_system::FileSystem;
use crate::file_type::FileType;
use crate::names;
use crate::remove::progress::Call;
use crate::remove::{Counts, Progress, RemoveOptions, Removed, WORKERS_MAX, policy};
use crate::threads::lock;

const DESCRIPTORS_SHARE: usize = 2;
const DESCRIPTORS_MIN: usize = 8;
const LOOK_BYTES: usize = 32 << 10;

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
    let path = parent.path().join(names::to_os(name)?);
    check(options, &path)?;
    let name = component(name, &path)?;
    let call = &Call::new(progress);
    if !options.opens(&Place::default(), name.to_bytes()) {
        return Ok(finish(call));
    }
    if is_counted(options, call, parent, &name) {
        return Ok(finish(call));
    }
    match system::open_below(parent, &name, false) {
        Ok(root) => {
            let identity = (!system::GOES_WHILE_OPEN).then(|| system::identity(&root)).transpose();
            let identity = identity.at("open", &path)?;
            let root = Root { parent, name: &name, path: &path, descriptor: Arc::new(root), identity };
            root.remove(options, call);
        }
        Err(Errno::NOTDIR | Errno::LOOP) => {
            let descriptor = system::duplicate(parent).at("open", &path)?;
            remove_file(descriptor, parent.path(), &name, options, call);
        }
        Err(Errno::XDEV) => {
            let reason = "a mount point, which cannot be removed (only its contents)";
            return Err(Error::new("remove", &path, ErrorKind::MountPoint, reason));
        }
        Err(error) => {
            let may =
                !options.dry_run && options.removes_all() && options.keep.is_none() && error != Errno::NOENT;
            if may && !Turn::new(options, progress).take_place() {
                return Ok(finish(call));
            }
            if may && !announced(options, progress, &path) {
                return Ok(finish(call));
            }
            if !may || system::remove_directory(parent, &name, None).is_err() {
                return Err(Error::io("open", &path, error.into()));
            }
            call.add(&Counts { directories: 1, ..Counts::default() });
        }
    }
    Ok(finish(call))
}

/// Removes everything in a directory and keeps the directory itself, which may be a mount point. Reads it
/// again until it is empty, at most ten times.
/// Errors: the directory cannot be reopened, or an option is out of range. Other failures are reported to
/// [`RemoveOptions::on_failure`].
pub fn remove_contents(directory: &Dir, options: &RemoveOptions<'_>, progress: &Progress) -> Result<Removed> {
    check(options, directory.path())?;
    let call = &Call::new(progress);
    let root = Arc::new(directory.reopen_for_reader()?);
    empty_all(&root, directory.path(), options, call);
    Ok(finish(call))
}

fn announced(options: &RemoveOptions<'_>, progress: &Progress, path: &Path) -> bool {
    announce(options, progress, || path.to_owned(), FileType::Directory)
}

/// Directory that is removed with its contents. It is opened once and emptied by that descriptor; `identity` is set
/// where a directory must be closed before its removal, and then proves that the name still belongs to it.
struct Root<'a> {
    parent: &'a Dir,
    name: &'a CStr,
    path: &'a Path,
    descriptor: Arc<Directory>,
    identity: Option<Identity>,
}

impl Root<'_> {
    /// The root is not left to the workers, because it has no parent node and its announcement and removal come last.
    /// If only some entries go, or one is kept, the directory itself stays. Otherwise it is emptied and removed in
    /// passes: another process may create entries between the two, so `NOTEMPTY` starts another pass, at most
    /// `PASSES_MAX` after the first. The slot of a rate is taken after the announcement, and after a cancellation
    /// nothing more is removed.
    fn remove(&self, options: &RemoveOptions<'_>, call: &Call<'_>) {
        let progress = call.progress;
        if !options.removes_all() || options.keep.is_some() {
            return empty_all(&self.descriptor, self.path, options, call);
        }
        let fail = |failure| fail(failure, options, call);
        let mut hidden = 0;
        for pass in 0..=PASSES_MAX {
            let stays = empty(&self.descriptor, self.path, options, call, (pass > 0, &mut hidden));
            if progress.is_cancelled() {
                return;
            }
            if stays != 0 {
                return call.add(&Counts { directories_kept: 1, ..Counts::default() });
            }
            if !announced(options, progress, self.path) {
                return;
            }
            let (removed, bytes) = if options.dry_run {
                (self.would_remove(), system::space(&self.descriptor))
            } else {
                if !Turn::new(options, progress).take_place() {
                    return;
                }
                (system::remove_directory(self.parent, self.name, self.identity), 0)
            };
            match removed {
                Ok(()) => {
                    note_counted(options, call, self.parent, self.name);
                    return call.add(&Counts { directories: 1, bytes, ..Counts::default() });
                }
                // Another process has removed it.
                Err(Errno::NOENT) => return,
                // Another process created something in it.
                Err(Errno::NOTEMPTY | Errno::EXIST) => system::wait_for_others(pass),
                Err(error) => return fail(Error::io("remove", self.path, error.into())),
            }
        }
        fail(Error::new("remove", self.path, ErrorKind::NotEmpty, system::KEEPS_FILLING));
    }
}

impl Root<'_> {
    /// Fails as the removal of the emptied directory would.
    fn would_remove(&self) -> std::result::Result<(), Errno> {
        let facts = system::facts(self.parent, self.name)?;
        let permit = system::Permit::of(self.parent, system::is_read_only(&self.descriptor));
        permit.refusal(&facts).map_or(Ok(()), Err)
    }
}

fn empty_all(root: &Arc<Directory>, path: &Path, options: &RemoveOptions<'_>, call: &Call<'_>) {
    let removed = || {
        let counts = call.counts();
        counts.entries + counts.directories
    };
    let mut hidden = 0;
    for pass in 0..=PASSES_MAX {
        let before = removed();
        let stays = empty(root, path, options, call, (pass > 0, &mut hidden));
        if call.progress.is_cancelled() || options.dry_run || stays & FAILED != 0 {
            return;
        }
        let left = match options.removes_all() {
            true => holds_any(root, options.keep),
            // Only kept entries may remain.
            false => Ok(removed() > before),
        };
        match left {
            Ok(false) => return,
            Ok(true) => {}
            Err(error) => return fail(Error::io("read", path, error), options, call),
        }
    }
    let reason = if options.removes_all() { system::KEEPS_FILLING } else { KEEPS_MATCHING };
    fail(Error::new("remove", path, ErrorKind::NotEmpty, reason), options, call);
}

fn holds_any(root: &Directory, keep: Option<&[u8]>) -> std::io::Result<bool> {
    let mut reader = Reader::new();
    // Not every handle can be rewound.
    let again = system::OPEN_AGAIN.map(|open_again| open_again(root)).transpose();
    let again = match again {
        Err(Errno::NOENT) => return Ok(false),
        again => again?,
    };
    let mut from = again.is_none().then_some(0);
    let root = again.as_ref().unwrap_or(root);
    let mut buffer = vec![0; LOOK_BYTES];
    loop {
        match reader.read(root, from.take(), &mut buffer) {
            Ok(0) => return Ok(false),
            Ok(filled) => {
                let mut records = Records::new(&buffer[..filled]);
                if records.any(|record| !record.is_dot() && keep != Some(record.name)) {
                    return Ok(true);
                }
            }
            Err(error) if error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

fn fail(failure: Error, options: &RemoveOptions<'_>, call: &Call<'_>) {
    call.add(&Counts { failures: 1, ..Counts::default() });
    (options.on_failure)(failure);
}

fn empty(
    root: &Arc<Directory>,
    path: &Path,
    options: &RemoveOptions<'_>,
    call: &Call<'_>,
    (is_repeated, hidden): (bool, &mut u64),
) -> u8 {
    let node = Arc::new(Node::new(None, CString::default(), 0, 0));
    lock(&node.still_open).hidden = *hidden;
    let shared = Shared { is_repeated, ..shared(Arc::clone(root), path.to_owned(), options, call) };
    std::thread::scope(|scope| {
        let mut worker = Worker::new(&shared, scope);
        worker.push(Frame::new(Arc::clone(&node), Some(Arc::clone(root)), true));
        worker.run();
    });
    *hidden = lock(&node.still_open).hidden;
    node.stays()
}

fn remove_file(directory: Directory, path: &Path, name: &CStr, options: &RemoveOptions<'_>, call: &Call<'_>) {
    let directory = Arc::new(directory);
    let shared = shared(Arc::clone(&directory), path.to_owned(), options, call);
    let node = Node::new(None, CString::default(), 0, 0);
    std::thread::scope(|scope| {
        let mut worker = Worker::new(&shared, scope);
        if worker.remove_entry(&node, &directory, name, FileType::Unknown).is_directory() {
            worker.fail(&node, name.to_bytes(), "remove", Errno::ISDIR.into());
        }
        worker.report_still_open(&node);
        worker.report_counts();
    });
}

/// Derives the settings of one pass from the file system and the limits of the process. Half of the descriptors that
/// the process may have are divided among the workers, which become fewer if each would get less than
/// `DESCRIPTORS_MIN`; at least one descriptor stays for the top of each stack. The memory for windows and names is
/// divided by the number of workers, so the total does not grow with them.
fn shared<'a>(
    root: Arc<Directory>,
    path: PathBuf,
    options: &'a RemoveOptions<'a>,
    call: &'a Call<'a>,
) -> Shared<'a> {
    let file_system = system::file_system(&root);
    let row = policy::row(file_system);
    let room = system::handles_max() / DESCRIPTORS_SHARE;
    let workers = options.workers.unwrap_or_else(|| policy::workers(row, options.dry_run));
    let workers = workers.min(room / DESCRIPTORS_MIN).max(1);
    let is_read_only = options.dry_run && system::is_read_only(&root);
    Shared {
        options,
        call,
        progress: call.progress,
        path,
        root,
        unconditional: options.removes_all(),
        is_read_only,
        is_repeated: false,
        pool: Pool::new(workers),
        order: options.order.unwrap_or(row.order),
        // A removal that spares the device for others sends no requests ahead.
        ahead: match options.back_off || rate(options).is_some() {
            true => system::Ahead::new(FileSystem::Other(0)),
            false => system::Ahead::new(file_system),
        },
        window_bytes: policy::window_bytes(row.window_bytes, workers),
        window_bytes_max: policy::window_bytes(policy::WINDOW_BYTES, workers),
        waiting_bytes: policy::WAITING_BYTES_ALL / workers,
        open_max: (room / workers).saturating_sub(DESCRIPTORS_MIN / 2).clamp(1, system::OPEN_MAX),
        threads: AtomicUsize::new(1),
    }
}

fn check(options: &RemoveOptions<'_>, path: &Path) -> Result<()> {
    if options.cross_mounts && !system::CROSSES_MOUNTS {
        let reason = "mounted volumes are junctions, which are removed and never followed";
        return Err(Error::new("remove", path, ErrorKind::BadOption, reason));
    }
    if options.keep_newest.is_some() && system::OPEN_AGAIN.is_none() {
        let reason = "keep_newest: unavailable on this system";
        return Err(Error::new("remove", path, ErrorKind::BadOption, reason));
    }
    if let Some(workers) = options.workers.filter(|workers| !(1..=WORKERS_MAX).contains(workers)) {
        let reason = format!("{workers} workers: expected 1 to {WORKERS_MAX}");
        return Err(Error::new("remove", path, ErrorKind::BadOption, reason));
    }
    Ok(())
}

pub(in crate::remove) fn component(name: &[u8], path: &Path) -> Result<CString> {
    let refuse = |reason| Err(Error::new("remove", path, ErrorKind::BadOption, reason));
    if name.is_empty()
        || name == b"."
        || name == b".."
        || name.iter().any(|byte| system::NOT_IN_NAMES.contains(byte))
    {
        return refuse("not a valid entry name");
    }
    match CString::new(name) {
        Ok(name) => Ok(name),
        Err(_) => refuse("a name with a NUL"),
    }
}

fn finish(call: &Call<'_>) -> Removed {
    let counts = call.counts();
    let cancelled = call.progress.is_cancelled();
    Removed { counts, complete: !cancelled && counts.failures == 0, cancelled }
}
