//! A mounted file system: made, identified by its driver, remounted, and removed on drop.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use megadir_record::{FsId, LabFileSystem, Place};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::control::{RunControl, WRITING_BACK, marked, words};
use crate::disk::Disk;
use crate::mount::{self, is_mounted};
use crate::server::Server;
use crate::{Backing, LabError, Spec, program};

/// Attempts to claim a device before its use is an error.
const BUSY_TRIES_MAX: u32 = 100;
const BUSY_PAUSE: Duration = Duration::from_millis(10);
/// Patience with a busy file system before it is an error.
const BUSY_MAX: Duration = Duration::from_secs(1);

/// A file system of the lab; unmounted and its image freed on drop. An open descriptor on it prevents
/// unmounting: close all of them first.
#[derive(Debug)]
pub struct Mounted {
    spec: Spec,
    driver: String,
    tool: Option<String>,
    options: Vec<String>,
    place: Place,
    disk: Option<Disk>,
    server: Option<Server>,
    parent: OwnedFd,
    /// Name of the mount point in `parent`.
    name: String,
    path: PathBuf,
    mounted: bool,
}

/// Evidence that a remounted file system was completely gone in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cold {
    /// Pages of the block device still cached after unmounting.
    pub device_pages: u64,
    /// Pages of the image still in this machine's page cache; 0 for devices.
    pub image_pages: u64,
}

impl Mounted {
    /// Makes the file system on its disk and mounts it on the directory `name` of `parent`, whose path is `path`.
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
        let parent = parent.as_fd().try_clone_to_owned().map_err(LabError::failed("keep a directory"))?;
        let mut mounted = Self {
            spec: spec.clone(),
            driver: spec.entry.name.to_owned(),
            tool: crate::availability::tool(spec, control)?,
            options,
            place,
            disk,
            server: None,
            parent,
            name: name.to_owned(),
            path: path.join(name),
            mounted: false,
        };
        mounted.format(control)?;
        mounted.attach(control)?;
        mounted.driver = mounted.find_driver();
        Ok(mounted)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    pub fn describe(&self, id: FsId) -> LabFileSystem {
        LabFileSystem {
            id,
            name: self.spec.to_string(),
            label: self.spec.label(&self.driver),
            kind: self.spec.entry.kind.to_owned(),
            driver: self.driver.clone(),
            make: self.spec.make(),
            tool: self.tool.clone(),
            mount_options: self.options.join(","),
            place: self.place.clone(),
            made_anew: false,
        }
    }

    /// Returns the reason if it cannot be remounted without losing its content.
    pub fn keeps_content(&self) -> Result<(), String> {
        match self.disk {
            Some(_) => Ok(()),
            None => Err("unmounting it would lose its content".into()),
        }
    }

    /// Unmounts, verifies that nothing is left in memory, and mounts again. The superblock is gone once the
    /// device can be claimed exclusively. Fails with `EBUSY` while a descriptor is open on it,
    /// [`LabError::NotCold`] if anything stayed; it may stay unmounted.
    pub fn remount(&mut self, control: RunControl<'_>) -> Result<Cold, LabError> {
        self.keeps_content().map_err(|left| LabError::NotCold { name: self.spec.to_string(), left })?;
        self.detach(control)?;
        let cold = self.prove_gone(control)?;
        self.attach(control)?;
        Ok(cold)
    }

    /// Unmounts, runs the same mkfs again, and mounts. A user's device is checked again first
    /// ([`LabError::Device`]).
    pub fn reformat(&mut self, control: RunControl<'_>) -> Result<(), LabError> {
        self.keeps_content().map_err(|left| LabError::NotCold { name: self.spec.to_string(), left })?;
        self.detach(control)?;
        self.prove_gone(control)?;
        self.format(control)?;
        self.attach(control)
    }

    /// Unmounts it and frees its image. Errors: [`LabError::Failed`] with `EBUSY` while a descriptor is open on
    /// it.
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
        let mut arguments: Vec<&std::ffi::OsStr> = arguments.iter().map(AsRef::as_ref).collect();
        arguments.push(disk.path.as_os_str());
        if disk.is_of_user() {
            crate::device::check_again(disk, control)?;
        }
        let ended = program::run(name, &arguments, control)?;
        match ended.complaint() {
            None => Ok(()),
            Some(complaint) => Err(self.unavailable(format!("{name}: {complaint}"))),
        }
    }

    fn attach(&mut self, control: RunControl<'_>) -> Result<(), LabError> {
        if let (Some(words), Some(disk)) = (self.spec.entry.server, &self.disk) {
            let there = || is_mounted(&self.parent, &self.name);
            let server = Server::start(words, &self.options, &disk.path, &self.path, there, control)?;
            self.server = Some(server.map_err(|reason| self.unavailable(reason))?);
            self.mounted = true;
            return Ok(());
        }
        let source = self.disk.as_ref().map_or(Path::new(self.spec.entry.name), |disk| disk.path.as_path());
        let mount = || mount::mount(source, &self.path, self.spec.entry.kind, &self.options);
        match marked(control.heartbeat, WRITING_BACK, mount) {
            Ok(()) => {
                self.mounted = true;
                Ok(())
            }
            Err(Errno::NODEV) => Err(self.unavailable(crate::availability::no_driver(self.spec.entry))),
            Err(error) => Err(self.unavailable(format!("mounting it fails: {}", words(&error.into())))),
        }
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

    fn prove_gone(&self, control: RunControl<'_>) -> Result<Cold, LabError> {
        let not_cold = |left: String| LabError::NotCold { name: self.spec.to_string(), left };
        let Some(disk) = &self.disk else { return Err(not_cold("it has no device".into())) };
        if is_mounted(&self.parent, &self.name) {
            return Err(not_cold("another file system is still mounted there".into()));
        }
        let mut tried = 0;
        while disk.is_held() {
            if tried == BUSY_TRIES_MAX {
                return Err(not_cold(format!("its device {} is still in use", disk.path.display())));
            }
            tried += 1;
            std::thread::sleep(BUSY_PAUSE);
        }
        let cool = || disk.cool().map_err(LabError::failed(format!("drop the cache of {}", self.spec)));
        let left = marked(control.heartbeat, WRITING_BACK, cool)?;
        Ok(Cold { device_pages: left.device_pages, image_pages: left.image_pages })
    }

    /// Returns the driver that serves it: on most kernels ext4 serves ext2 and ext3 too, visible as a directory
    /// in /sys.
    fn find_driver(&self) -> String {
        let entry = self.spec.entry;
        if entry.server.is_some() {
            return "FUSE".into();
        }
        let Some(disk) = &self.disk else { return entry.name.into() };
        let by_ext4 = Path::new("/sys/fs/ext4").join(disk.name()).is_dir();
        if by_ext4 { "ext4".into() } else { entry.name.into() }
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
        // A lazily detached mount disappears with its last opener, and is unreachable meanwhile. Loop: a server
        // killed while mounting may have mounted too.
        while mount::detach(&self.path).is_ok() {}
        // Fails if something is still mounted; the next run removes it.
        let _ = rustix::fs::unlinkat(&self.parent, self.name.as_str(), AtFlags::REMOVEDIR);
    }
}
