//! A mounted file system: made, identified by its driver, remounted, and removed on drop.
//!
//! ```text
//!            format          attach
//! unmounted -------> made ----------> mounted --- discard, detach, wait until free, drop the cache --+
//!                     ^                  ^                                                           |
//!                     |                  +------------------------ remount: attach ------------------+
//!                     +------------------------------------------- reformat: format -----------------+
//! ```
//!
//! A cold state is proven, not assumed: the device can be claimed exclusively (so no namespace has it
//! mounted), and hardly a page of it is cached. If either fails, the remount is an error and the run leaves
//! the state out.

use std::ffi::OsStr;
use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use megadir_record::{DiskCounts, FsId, LabDisk, LabFileSystem, Place};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::control::{RunControl, WRITING_BACK, marked, words};
use crate::disk::{Cold, Disk};
use crate::mount::{self, is_mounted};
use crate::program::{self, Running};
use crate::{Backing, LabError, Spec};

/// Longest time that others may hold a file system or its device: scans of all mounts and devices, and
/// forked children before exec, which take seconds on a busy machine. A run of hours must not end because
/// of one.
const BUSY_MAX: Duration = Duration::from_secs(5);

/// Unmounted, and its image freed, on drop. Close all descriptors on it before.
///
/// `options` are for mount(2), with the size of a file system in memory. `disk` is `None` for such a file
/// system, which therefore cannot be remounted without losing its content; `server` exists only for FUSE. `parent`
/// and `name` reach the mount point by a descriptor, `path` is for the kernel's calls that need one.
#[derive(Debug)]
pub struct Mounted {
    spec: Spec,
    tool: Option<String>,
    options: Vec<String>,
    place: Place,
    /// As recorded, if it is not the default.
    below: Option<LabDisk>,
    disk: Option<Disk>,
    server: Option<Server>,
    parent: OwnedFd,
    name: String,
    path: PathBuf,
    mounted: bool,
}

impl Mounted {
    /// Mounts on the directory `name` of `parent`, whose path is `path`.
    ///
    /// The size of a file system in memory is a mount option, because there is no device that limits it; it gets an
    /// inode for each 4 KiB. The value is built before mkfs runs: if mkfs or the mount fails, its drop detaches the
    /// disk and removes the mount point.
    pub fn make(
        spec: &Spec,
        backing: &Backing,
        disk: Option<Disk>,
        (parent, path): (impl AsFd, &Path),
        name: &str,
        control: RunControl<'_>,
    ) -> Result<Self, LabError> {
        let mut options = spec.mount_options();
        let place = match (backing, &disk) {
            (Backing::Image { bytes, .. }, Some(disk)) => {
                Place::Image { bytes: *bytes, direct_io: disk.direct_io }
            }
            (Backing::Image { bytes, .. }, None) => {
                options.push(format!("size={bytes}"));
                options.push(format!("nr_inodes={}", bytes / 4096));
                Place::Memory { bytes: *bytes }
            }
            (Backing::Device { path, .. }, _) => Place::Device { path: path.display().to_string() },
        };
        let below = match (backing, &disk) {
            (Backing::Image { disk: kind, written_bytes, .. }, Some(disk)) if !kind.is_default() => {
                Some(LabDisk {
                    memory_bytes: kind.is_in_memory().then_some(*written_bytes),
                    compression: disk.compression(),
                    no_zram: disk.no_zram.clone(),
                    ..kind.recorded()
                })
            }
            _ => None,
        };
        let parent = parent.as_fd().try_clone_to_owned().map_err(LabError::failed("keep a directory"))?;
        let mut mounted = Self {
            spec: spec.clone(),
            tool: program::tool(spec, control)?,
            options,
            place,
            below,
            disk,
            server: None,
            parent,
            name: name.to_owned(),
            path: path.join(name),
            mounted: false,
        };
        mounted.format(control)?;
        mounted.attach(control)?;
        Ok(mounted)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    pub fn describe(&self, id: FsId) -> LabFileSystem {
        let driver = self.driver();
        LabFileSystem {
            id,
            name: self.spec.to_string(),
            label: self.spec.label(driver),
            kind: self.spec.entry.kind.to_owned(),
            driver: driver.to_owned(),
            make: self.spec.make(),
            tool: self.tool.clone(),
            mount_options: self.options.join(","),
            place: self.place.clone(),
            disk: self.below.clone(),
            reformatted: false,
        }
    }

    /// Fails if the file system cannot be remounted without losing its content.
    pub fn keeps_content(&self) -> Result<(), String> {
        match self.disk {
            Some(_) => Ok(()),
            None => Err("unmounting it would lose its content".into()),
        }
    }

    /// Unmounts, verifies that nothing is left in memory, and mounts again. The superblock is gone once the
    /// device can be claimed exclusively. Errors: `EBUSY` while a descriptor is open on it,
    /// [`LabError::NotCold`] if anything stayed; it may stay unmounted.
    pub fn remount(&mut self, control: RunControl<'_>) -> Result<Cold, LabError> {
        let cold = self.take_away(control)?;
        self.attach(control)?;
        Ok(cold)
    }

    /// Unmounts, runs the same mkfs again, and mounts. A user's device is checked first ([`LabError::Device`]).
    pub fn reformat(&mut self, control: RunControl<'_>) -> Result<(), LabError> {
        self.take_away(control)?;
        self.format(control)?;
        self.attach(control)
    }

    /// Frees the image. Errors: `EBUSY` while a descriptor is open on it.
    pub fn unmount(mut self, control: RunControl<'_>) -> Result<(), LabError> {
        self.detach(control)
    }

    fn unavailable(&self, reason: String) -> LabError {
        let reason = match self.spec.needs() {
            Some(needs) => format!("{reason}; {needs}"),
            None => reason,
        };
        LabError::Unavailable { name: self.spec.to_string(), reason }
    }

    fn format(&self, control: RunControl<'_>) -> Result<(), LabError> {
        let words = self.spec.make();
        let (Some((name, arguments)), Some(disk)) = (words.split_first(), &self.disk) else { return Ok(()) };
        let mut arguments: Vec<&OsStr> = arguments.iter().map(AsRef::as_ref).collect();
        arguments.push(disk.path.as_os_str());
        if disk.is_of_user() {
            crate::device::check_again(disk, control)?;
        }
        match program::run(name, &arguments, control)?.complaint() {
            None => Ok(()),
            Some(complaint) => Err(self.unavailable(format!("{name}: {complaint}"))),
        }
    }

    fn attach(&mut self, control: RunControl<'_>) -> Result<(), LabError> {
        if let (Some(words), Some(disk)) = (self.spec.entry.server, &self.disk) {
            let there = || is_mounted(&self.parent, &self.name);
            let server = Server::start(words, &self.options, &disk.path, &self.path, there, control)?;
            self.server = Some(server.map_err(|reason| self.unavailable(reason))?);
        } else {
            let entry = self.spec.entry;
            let source = self.disk.as_ref().map_or(Path::new(entry.name), |disk| disk.path.as_path());
            let mount = || mount::mount(source, &self.path, entry.kind, &self.options);
            marked(control.heartbeat, WRITING_BACK, mount).map_err(|error| match error {
                Errno::NODEV => self.unavailable(program::no_driver(entry)),
                error => self.unavailable(format!("mounting it fails: {}", words(&error.into()))),
            })?;
        }
        self.mounted = true;
        Ok(())
    }

    fn detach(&mut self, control: RunControl<'_>) -> Result<(), LabError> {
        if !self.mounted {
            return Ok(());
        }
        let unmount = || mount::unmount(&self.path, BUSY_MAX);
        marked(control.heartbeat, WRITING_BACK, unmount)
            .map_err(LabError::failed(format!("unmount {}", self.spec)))?;
        self.mounted = false;
        match self.server.take() {
            Some(server) => server.end(control),
            None => Ok(()),
        }
    }

    /// Most memory that its disk has taken so far, bytes; `None` if the disk is not in memory.
    pub fn memory_used_max(&self) -> Option<u64> {
        self.disk_in_memory().and_then(Disk::memory_used_max)
    }

    /// The most memory that its disk may take, bytes, if the disk is in memory and has refused writes because of that.
    pub fn exceeded_memory(&self) -> Option<u64> {
        let limit_bytes = self.below.as_ref()?.memory_bytes?;
        self.disk_in_memory()?.is_full(limit_bytes).then_some(limit_bytes)
    }

    /// `true` if the server of its modelled disk has ended, so that nothing is read or written any more.
    pub fn has_lost_disk(&self) -> bool {
        self.below.as_ref().is_some_and(|below| below.is_model) && self.disk_counts().is_none()
    }

    /// Counts of its modelled disk since it was made; `None` on another disk.
    pub fn disk_counts(&self) -> Option<DiskCounts> {
        self.disk.as_ref()?.counts()
    }

    fn disk_in_memory(&self) -> Option<&Disk> {
        let below = self.below.as_ref().filter(|below| below.memory_bytes.is_some());
        below.and(self.disk.as_ref())
    }

    /// Gives the memory of removed files back: a disk in memory keeps written blocks until they are discarded. Best effort.
    fn discard(&self, control: RunControl<'_>) -> Result<(), LabError> {
        if !self.mounted || self.disk_in_memory().is_none() || program::find("fstrim").is_none() {
            return Ok(());
        }
        // Blocks are free, and may be discarded, once their removal is on the disk.
        let written = self.open().map(|root| rustix::fs::syncfs(&root));
        // Afterwards a file would not show it any more.
        let _ = self.memory_used_max();
        match written {
            Ok(Ok(())) => program::run("fstrim", &[self.path.as_os_str()], control).map(drop),
            _ => Ok(()),
        }
    }

    /// Unmounts it if its content is kept, and verifies that it is gone from memory.
    ///
    /// The order matters. Discarding needs the mount; the claim of the device proves that the superblock
    /// has left memory, with every dentry and inode; only then do dropped pages stay dropped.
    fn take_away(&mut self, control: RunControl<'_>) -> Result<Cold, LabError> {
        let name = self.spec.to_string();
        let not_cold = |left: String| LabError::NotCold { name, left };
        if let Err(left) = self.keeps_content() {
            return Err(not_cold(left));
        }
        self.discard(control)?;
        self.detach(control)?;
        let Some(disk) = &self.disk else { return Err(not_cold("it has no device".into())) };
        if is_mounted(&self.parent, &self.name) {
            return Err(not_cold("another file system is still mounted there".into()));
        }
        if !disk.wait_until_free(BUSY_MAX) {
            return Err(not_cold(format!("its device {} is still in use", disk.path.display())));
        }
        let cool =
            || disk.cool(BUSY_MAX).map_err(LabError::failed(format!("drop the cache of {}", self.spec)));
        marked(control.heartbeat, WRITING_BACK, cool)
    }

    /// On most kernels ext4 serves ext2 and ext3 too, visible as a directory in /sys. Only while it is mounted.
    fn driver(&self) -> &'static str {
        let by_ext4 = |disk: &Disk| Path::new("/sys/fs/ext4").join(disk.name()).is_dir();
        match self.spec.entry.server {
            Some(_) => "FUSE",
            None if self.disk.as_ref().is_some_and(by_ext4) => "ext4",
            None => self.spec.entry.name,
        }
    }

    pub fn open(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if !is_mounted(&self.parent, &self.name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(rustix::fs::openat(&self.parent, self.name.as_str(), flags, Mode::empty())?)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let (stop, heartbeat) = Default::default();
        let _ = self.detach(RunControl { stop: &stop, heartbeat: &heartbeat });
        // A lazily detached mount disappears with its last opener. Loop: a server killed while mounting may have mounted too.
        while mount::detach(&self.path).is_ok() {}
        // Fails if something is still mounted; the next run removes it.
        let _ = rustix::fs::unlinkat(&self.parent, self.name.as_str(), AtFlags::REMOVEDIR);
    }
}

// FUSE servers that end with the run. A server must not be the last process in the mount namespace: on exit it
// would unmount, and wait forever for its own answer (`fuse_send_destroy` in `do_exit`). So a keeper, a shell
// that waits until the run closes a pipe, kills the server and is the last process.

const START_MAX: Duration = Duration::from_secs(20);

/// `$@` is the server with its arguments, standard input the pipe.
const KEEPER: &str = include_str!("keeper.sh");

#[derive(Debug)]
pub(crate) struct Server {
    // First field, so that the pipe is closed before the keeper is waited for.
    lives: Option<PipeWriter>,
    keeper: Running,
}

impl Server {
    /// Starts the keeper with the server, and returns when the file system is mounted. `no_detach` keeps the server a
    /// child of the keeper, which could not wait for a daemon. The outer error ends the run; the inner one is the
    /// reason why this server does not mount the device: the last line of its output, if it ended or took longer than
    /// `START_MAX`. The value holds the pipe before anything is awaited, so each early return closes the pipe, and
    /// the keeper kills the server.
    pub(crate) fn start(
        words: &[&str],
        options: &[String],
        device: &Path,
        point: &Path,
        is_mounted: impl Fn() -> bool,
        control: RunControl<'_>,
    ) -> Result<Result<Self, String>, LabError> {
        // Whether the mount has happened is looked up, not reported: the server does not print when it is
        // ready.
        let Some((name, own)) = words.split_first() else { return Ok(Err("it has no server".into())) };
        let options = format!("{},no_detach", options.join(","));
        let mut arguments: Vec<&OsStr> = ["-c", KEEPER, "keeper", *name].map(AsRef::as_ref).to_vec();
        arguments.extend(own.iter().map(|word| OsStr::new(*word)));
        arguments.extend([OsStr::new("-o"), options.as_ref(), device.as_os_str(), point.as_os_str()]);
        let started = Instant::now();
        let (waits, lives) = io::pipe().map_err(LabError::failed("create a pipe"))?;
        let keeper = Running::start("sh", &arguments, Some(waits));
        let keeper = keeper.map_err(LabError::failed(format!("start {name}")))?;
        let mut server = Self { lives: Some(lives), keeper };
        let mounted = server.keeper.watch(control, |keeper| {
            if is_mounted() {
                return Ok(Some(Ok(())));
            }
            let ended = keeper.child.try_wait().map_err(LabError::failed(format!("wait for {name}")))?;
            if ended.is_none() && started.elapsed() <= START_MAX {
                return Ok(None);
            }
            let last = keeper.output().pop().unwrap_or_else(|| "no reason given".to_owned());
            Ok(Some(Err(format!("{name}: {last}"))))
        })?;
        Ok(mounted.map(|()| server))
    }

    /// Waits until the server has written everything and exited, even if the run is being stopped. The file system must be
    /// unmounted.
    pub(crate) fn end(mut self, control: RunControl<'_>) -> Result<(), LabError> {
        // An interrupted run must wait as well: the server still writes back, and the next step frees its
        // device.
        let never = AtomicBool::new(false);
        self.keeper.wait(RunControl { stop: &never, heartbeat: control.heartbeat }).map(drop)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.lives = None;
        // Killing the keeper would make the server the last process.
        let _ = self.keeper.child.wait();
    }
}
