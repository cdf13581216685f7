//! A modelled rotating disk below an image. A loop device with direct I/O lies on a file of a FUSE file system, whose server (`server.rs`)
//! answers as late as a disk would (`model.rs`).
//!
//! ```text
//! ext4, XFS ...  (mounted in the run's namespace)
//!      |
//! loop device    (mq-deadline, rotational)
//!      |
//! FUSE file `disk`  <-- requests and answers -->  server process: model of the head, answers when it is due
//!                                                      |
//!                                                 image, read and written at once
//! ```
//!
//! The server is a process of its own, outside of the run's mount namespace: the last process in a namespace unmounts what is
//! in it, and would wait for its own answers. Its file system loses its name at once; it ends with its last open file, also after
//! `kill -9` of the run.

pub mod model;
mod server;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeWriter, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use megadir_record::DiskCounts;
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

use crate::control::RunControl;
use crate::disk_spec::FUSE;
use crate::program::Running;
use crate::{DiskSpec, LabError, mount};

pub use server::serve;

const NAME: &str = "rotating";
/// The scheduler that distributions choose for such disks. Loop devices have none otherwise.
const SCHEDULER: &str = "mq-deadline";
const END_MAX: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(5);

/// Program whose process calls [`serve`], with its first arguments.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub arguments: Vec<OsString>,
}

/// `None` for another kind of disk.
fn parameters(disk: &DiskSpec) -> Option<model::Parameters> {
    let value = |name: &str| disk.value(name).filter(|_| disk.is_model());
    Some(model::Parameters {
        rpm: value("rpm")?,
        seek_us: value("seek_ms")?,
        settle_us: value("settle_ms")?,
        size_bytes: value("size")?,
        queue: value("queue")?,
        rate: value("rate")?,
        cache_bytes: value("cache")?,
    })
}

/// Server of a disk. Close the device and the file of the disk before it is dropped: the server ends with them.
#[derive(Debug)]
pub(crate) struct Rotating {
    /// Closed first: from then on nothing waits for the model.
    run: Option<PipeWriter>,
    counts: Option<File>,
    server: Running,
    /// Line for [`server::restore`], which the server calls at its end, and this value if the server was killed.
    before: String,
}

impl Rotating {
    /// Starts the server of a disk of `bytes` over an image, and returns the file that a loop device takes as well. The
    /// directory `NAME` below `directory`, whose path is `path`, exists and is a mount point for as long as this takes.
    ///
    /// The connection is mounted before the server starts, so that the server needs no mount of its own; the requests of the
    /// two opens below wait for it. Once both files are open, the mount is detached: what keeps the file system then are
    /// descriptors, which the kernel closes whenever their processes end.
    pub(crate) fn start(
        program: &Program,
        disk: &DiskSpec,
        (image, bytes): (&File, u64),
        (directory, path): (impl AsFd, &Path),
        control: RunControl<'_>,
    ) -> Result<(Self, File), LabError> {
        const DOING: &str = "start the model of a rotating disk";
        let failed = |error: io::Error| LabError::failed(DOING)(error);
        let by_kernel = |error: Errno| LabError::failed(DOING)(error);
        let connection = File::options().read(true).write(true).open(FUSE);
        let connection = connection.map_err(LabError::failed(format!("open {FUSE}")))?;
        let (waits, run) = io::pipe().map_err(failed)?;
        rustix::fs::mkdirat(directory.as_fd(), NAME, Mode::RWXU).map_err(by_kernel)?;
        let point = path.join(NAME);
        // Only this user may open the file; the kernel refuses another effective user or group, root included.
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let fd = connection.as_raw_fd();
        let options = format!("fd={fd},rootmode=40000,user_id={user},group_id={group}");
        let mounted = mount::mount(Path::new("megadir"), &point, "fuse", &[options]).map_err(by_kernel);
        let words = server::Image::words(image).map_err(failed)?;
        let own = [disk.to_string(), bytes.to_string()].into_iter().chain(words).map(OsString::from);
        let own: Vec<OsString> = own.collect();
        let arguments: Vec<&OsStr> = program.arguments.iter().chain(&own).map(OsString::as_os_str).collect();
        let started = mounted.and_then(|()| {
            // Only the server has the connection from here on, so that its end ends the waiting below.
            let mut server =
                Running::start_outside(&program.path, &arguments, waits, connection).map_err(failed)?;
            let opened = File::options().read(true).write(true).open(point.join(server::DISK));
            let opened = opened.and_then(|disk| Ok((disk, File::open(point.join(server::COUNTS))?)));
            let (disk, counts) = opened.map_err(|error| {
                let last = server.output().pop().unwrap_or_else(|| error.to_string());
                failed(io::Error::other(last))
            })?;
            Ok((Self { run: Some(run), counts: Some(counts), server, before: String::new() }, disk))
        });
        while mount::detach(&point).is_ok() {}
        let removed = rustix::fs::unlinkat(directory.as_fd(), NAME, AtFlags::REMOVEDIR).map_err(by_kernel);
        control.heartbeat.fetch_add(1, Ordering::Relaxed);
        let started = started?;
        removed.map(|()| started)
    }

    /// Sets what the kernel assumes of the loop device, until the server ends: it writes the scheduler back, because a loop device
    /// keeps its own for the next file.
    pub(crate) fn set_queue(&mut self, device: &str, disk: &DiskSpec) -> Result<(), LabError> {
        let queue = Path::new("/sys/block").join(device).join("queue");
        let failed = |error: io::Error| LabError::failed(format!("set {}", queue.display()))(error);
        let schedulers = std::fs::read_to_string(queue.join("scheduler")).map_err(failed)?;
        let before = schedulers.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
        if let (Some(run), Some(before)) = (&mut self.run, before) {
            self.before = format!("{device} {before}");
            writeln!(run, "{}", self.before).map_err(failed)?;
        }
        if schedulers.contains(SCHEDULER) {
            std::fs::write(queue.join("scheduler"), SCHEDULER).map_err(failed)?;
        }
        let rotational = disk.value("rotational").unwrap_or(1);
        std::fs::write(queue.join("rotational"), rotational.to_string()).map_err(failed)
    }

    pub(crate) fn counts(&self) -> Option<DiskCounts> {
        let mut line = [0; 256];
        let read = self.counts.as_ref()?.read_at(&mut line, 0).ok()?;
        let counts = model::Counts::parse(std::str::from_utf8(&line[..read]).ok()?)?;
        let model::Counts { requests, seeks, read_bytes, written_bytes, busy_ns } = counts;
        Some(DiskCounts { requests, seeks, read_bytes, written_bytes, busy_ns })
    }
}

impl Drop for Rotating {
    fn drop(&mut self) {
        (self.run, self.counts) = (None, None);
        let deadline = Instant::now() + END_MAX;
        while matches!(self.server.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(PAUSE);
        }
        server::restore(&self.before);
    }
}
