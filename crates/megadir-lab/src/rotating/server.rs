//! Server of a modelled disk: a FUSE file system with the file `disk`, whose requests are answered when [`Drive`] is done with
//! them, and the file `counts`. It reads and writes the image at once, so its data are there whatever becomes of the server.
//!
//! The server ends with the last descriptor on its files, and restores the loop device. Once the run that started it has ended, it answers without delay, so
//! that nothing waits for a disk that no run measures.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyWrite, Request, Session, SessionACL, TimeOrNow, WriteFlags,
};
use rustix::fs::{FallocateFlags, FileType as FileKind, Mode, OFlags};

use super::SCHEDULER;
use super::model::{self, Counts, Drive};
use crate::DiskSpec;

pub(super) const DISK: &str = "disk";
pub(super) const COUNTS: &str = "counts";

const ROOT: INodeNo = INodeNo(1);
const DISK_NUMBER: INodeNo = INodeNo(2);
const COUNTS_NUMBER: INodeNo = INodeNo(3);
const BLOCK_BYTES: u32 = 4096;
/// Names and attributes never change.
const FOREVER: Duration = Duration::from_secs(1 << 30);
/// Requests that the kernel hands over at a time; the drive's queue is shorter.
const BACKGROUND: u16 = 256;
const COUNTS_BYTES: usize = 256;

enum Answer {
    Data(ReplyData, Vec<u8>),
    Written(ReplyWrite, u32),
    Flushed(ReplyEmpty),
}

impl Answer {
    fn send(self) {
        match self {
            Self::Data(reply, data) => reply.data(&data),
            Self::Written(reply, bytes) => reply.written(bytes),
            Self::Flushed(reply) => reply.ok(),
        }
    }
}

struct Shared {
    drive: Mutex<Option<Drive<Answer>>>,
    changed: Condvar,
    began: Instant,
    /// Counts of the drive that was given up.
    last: Mutex<Counts>,
}

struct Server {
    image: File,
    bytes: u64,
    shared: Arc<Shared>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Hands an answer to the drive, or sends it if there is none anymore.
    fn hand_over(&self, answer: Answer, submit: impl FnOnce(&mut Drive<Answer>, Answer)) {
        match &mut *lock(&self.drive) {
            Some(drive) => submit(drive, answer),
            None => return answer.send(),
        }
        self.changed.notify_one();
    }

    /// Sends answers when they are due, until the drive is given up.
    fn turn(&self) {
        let mut guard = lock(&self.drive);
        while let Some(drive) = &mut *guard {
            let now_ns = self.now_ns();
            let (done, next_ns) = drive.advance(now_ns);
            if done.is_empty() {
                guard = match next_ns {
                    Some(next_ns) => {
                        let rest = Duration::from_nanos(next_ns.saturating_sub(now_ns));
                        self.changed.wait_timeout(guard, rest).unwrap_or_else(PoisonError::into_inner).0
                    }
                    None => self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner),
                };
                continue;
            }
            drop(guard);
            done.into_iter().for_each(Answer::send);
            guard = lock(&self.drive);
        }
    }

    /// From now on nothing waits.
    fn give_up(&self) {
        if let Some(drive) = lock(&self.drive).take() {
            *lock(&self.last) = drive.counts();
            drive.into_waiting().into_iter().for_each(Answer::send);
        }
        self.changed.notify_all();
    }

    fn counts(&self) -> Counts {
        match &*lock(&self.drive) {
            Some(drive) => drive.counts(),
            None => *lock(&self.last),
        }
    }
}

impl Server {
    fn attributes(&self, number: INodeNo) -> Option<FileAttr> {
        let (kind, size) = match number {
            ROOT => (FileType::Directory, 0),
            DISK_NUMBER => (FileType::RegularFile, self.bytes),
            COUNTS_NUMBER => (FileType::RegularFile, COUNTS_BYTES as u64),
            _ => return None,
        };
        let time = SystemTime::UNIX_EPOCH;
        Some(FileAttr {
            ino: number,
            size,
            blocks: size / 512,
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm: 0o600,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: BLOCK_BYTES,
            flags: 0,
        })
    }

    /// `true` if the range lies within the disk.
    fn has(&self, offset: u64, bytes: u64) -> bool {
        offset.checked_add(bytes).is_some_and(|end| end <= self.bytes)
    }

    fn read(&self, offset: u64, bytes: u32) -> io::Result<Vec<u8>> {
        let bytes = u64::from(bytes).min(self.bytes.saturating_sub(offset));
        let mut data = vec![0; usize::try_from(bytes).unwrap_or_default()];
        self.image.read_exact_at(&mut data, offset)?;
        Ok(data)
    }
}

fn failed(error: &io::Error) -> Errno {
    Errno::from_i32(error.raw_os_error().unwrap_or(5))
}

impl Filesystem for Server {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // Without it a request waits for the one before.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_background(BACKGROUND);
        let _ = config.set_congestion_threshold(BACKGROUND);
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let number = match name.to_str() {
            Some(DISK) => DISK_NUMBER,
            Some(COUNTS) => COUNTS_NUMBER,
            _ => INodeNo(0),
        };
        match self.attributes(number) {
            Some(attributes) => reply.entry(&FOREVER, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number) {
            Some(attributes) => reply.attr(&FOREVER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        match self.attributes(number) {
            Some(attributes) => reply.attr(&FOREVER, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // Nothing is cached above the disk, and writes need not wait for each other.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if number == COUNTS_NUMBER {
            let text = self.shared.counts().to_string();
            return reply.data(if offset == 0 { text.as_bytes() } else { &[] });
        }
        // The image's own device works within the time of the model.
        let arrived_ns = self.shared.now_ns();
        match self.read(offset, bytes) {
            Ok(data) => {
                let request = model::Request { offset, bytes: data.len() as u64, is_write: false };
                let answer = Answer::Data(reply, data);
                self.shared.hand_over(answer, |drive, answer| drive.submit(arrived_ns, request, answer));
            }
            Err(error) => reply.error(failed(&error)),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if number != DISK_NUMBER {
            return reply.error(Errno::EBADF);
        }
        if !self.has(offset, data.len() as u64) {
            return reply.error(Errno::ENOSPC);
        }
        let arrived_ns = self.shared.now_ns();
        match self.image.write_all_at(data, offset) {
            Ok(()) => {
                let request = model::Request { offset, bytes: data.len() as u64, is_write: true };
                let answer = Answer::Written(reply, u32::try_from(data.len()).unwrap_or_default());
                self.shared.hand_over(answer, |drive, answer| drive.submit(arrived_ns, request, answer));
            }
            Err(error) => reply.error(failed(&error)),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        // The image is not synced: the disk is gone with the run, and its time is the model's.
        self.shared.hand_over(Answer::Flushed(reply), Drive::flush);
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        if !self.has(offset, bytes) {
            return reply.error(Errno::ENOSPC);
        }
        // Discarding and zeroing cost no time.
        let mode = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        match rustix::fs::fallocate(self.image.as_fd(), mode, offset, bytes) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(Errno::from_i32(error.raw_os_error())),
        }
    }
}

/// The image of the run, which the server opens by its number in /proc. If /proc is of other processes, as in a container that has the
/// host's, that number may be any file of any process: only the file with the same identity is opened for writing.
pub(super) struct Image;

impl Image {
    /// Path of an open image and its identity, for [`open`](Self::open).
    pub(super) fn words(image: &File) -> io::Result<[String; 2]> {
        // The number of this process in that /proc.
        let own = std::fs::read_link("/proc/self")?;
        let status = rustix::fs::fstat(image)?;
        let path = format!("/proc/{}/fd/{}", own.display(), image.as_raw_fd());
        Ok([path, format!("{}:{}", status.st_dev, status.st_ino)])
    }

    fn open(path: &OsStr, identity: &OsStr) -> io::Result<File> {
        let found = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let status = rustix::fs::fstat(&found)?;
        let is_file = FileKind::from_raw_mode(status.st_mode) == FileKind::RegularFile;
        if !is_file || identity != OsStr::new(&format!("{}:{}", status.st_dev, status.st_ino)) {
            let why = format!("{} is not the image: /proc is of other processes", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        File::options().read(true).write(true).open(format!("/proc/self/fd/{}", found.as_raw_fd()))
    }
}

/// Serves a disk on the FUSE connection `connection` until it ends. The words are the disk, its size in bytes, and path and identity of
/// the image. When `run` ends, nothing waits any longer.
pub fn serve(words: &[OsString], connection: File, mut run: impl Read + Send + 'static) -> io::Result<()> {
    let unusable = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
    let [disk, bytes, image, identity] = words else {
        return Err(unusable("four words are expected".into()));
    };
    let disk = DiskSpec::parse(&disk.to_string_lossy()).map_err(unusable)?;
    let parameters =
        super::parameters(&disk).ok_or_else(|| unusable(format!("{disk} is no rotating disk")))?;
    let bytes = bytes.to_str().and_then(|bytes| bytes.parse().ok());
    let bytes = bytes.ok_or_else(|| unusable("a size in bytes is expected".into()))?;
    let image = Image::open(image, identity)?;
    // The kernel must not let this process wait for pages that it is to write itself. Without the capability it may be slowed down.
    let _ = rustix::process::configure_io_flusher_behavior(true);
    let _ = std::fs::write("/proc/self/oom_score_adj", "-1000");
    let shared = Arc::new(Shared {
        drive: Mutex::new(Some(Drive::new(parameters))),
        changed: Condvar::new(),
        began: Instant::now(),
        last: Mutex::default(),
    });
    let server = Server { image, bytes, shared: Arc::clone(&shared) };
    let session = Session::from_fd(server, connection.into(), SessionACL::All, Config::default())?;
    let of_drive = Arc::clone(&shared);
    std::thread::Builder::new().name("drive".into()).spawn(move || of_drive.turn())?;
    let of_run = Arc::clone(&shared);
    let device = std::thread::Builder::new().name("run".into()).spawn(move || {
        let mut device = String::new();
        // The run writes a line, and closes it when it ends.
        let _ = run.read_to_string(&mut device);
        of_run.give_up();
        device
    })?;
    let ended = session.run();
    shared.give_up();
    restore(&device.join().unwrap_or_default());
    ended
}

/// Gives a loop device its scheduler back, which it keeps when it is detached, for the next program that attaches it. The line has the name of
/// the device and the scheduler that it had.
pub(super) fn restore(line: &str) {
    let Some((device, scheduler)) = line.trim().split_once(' ') else { return };
    let path = Path::new("/sys/block").join(device).join("queue/scheduler");
    let is_ours = std::fs::read_to_string(&path).is_ok_and(|now| now.contains(&format!("[{SCHEDULER}]")));
    if is_ours {
        let _ = std::fs::write(path, scheduler);
    }
}
