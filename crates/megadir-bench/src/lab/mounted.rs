//! A file system that is mounted: made, named by its driver, unmounted and mounted again, gone when dropped.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use megadir_record::{FsId, LabFileSystem, Place};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use super::disk::Disk;
use super::server::{Server, is_mounted};
use super::{Backing, LabError, Spec, options, program};
use crate::control::{RunControl, WRITING_BACK, marked, words};
use crate::workspace::Workspace;

/// A file system that is still busy is tried again so often before it is an error.
const BUSY_TRIES_MAX: u32 = 100;
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// A file system of the lab; unmounted, and its image gone, when dropped.
///
/// Whatever is open on it keeps it from being unmounted: close it before.
#[derive(Debug)]
pub struct Mounted {
    spec: Spec,
    driver: String,
    tool: Option<String>,
    options: Vec<String>,
    place: Place,
    disk: Option<Disk>,
    server: Option<Server>,
    /// The directory of mount points.
    parent: OwnedFd,
    /// The mount point in it.
    name: String,
    path: PathBuf,
    mounted: bool,
}

/// What a file system in another state of the cache proves: it was gone in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cold {
    /// Pages of the block device that were still cached once it was unmounted.
    pub device_pages: u64,
    /// Pages of the image that the cache of this machine still held; 0 for devices.
    pub image_pages: u64,
}

/// Makes the file system on its disk and mounts it on the directory `name` of the workspace.
pub(super) fn make(
    spec: &Spec,
    backing: &Backing,
    disk: Option<Disk>,
    workspace: &Workspace,
    name: &str,
    control: RunControl<'_>,
) -> Result<Mounted, LabError> {
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
    let parent = workspace.as_fd().try_clone_to_owned().map_err(LabError::failed("keep a directory"))?;
    let mut mounted = Mounted {
        spec: spec.clone(),
        driver: spec.entry.name.to_owned(),
        tool: super::availability::tool(spec, control)?,
        options,
        place,
        disk,
        server: None,
        parent,
        name: name.to_owned(),
        path: workspace.path().join(name),
        mounted: false,
    };
    mounted.format(control)?;
    mounted.attach(control)?;
    mounted.driver = mounted.find_driver();
    Ok(mounted)
}

impl Mounted {
    /// Returns its root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what was asked for.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Describes it for a record, under a number of the record's.
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

    /// Returns the reason why it cannot be unmounted and mounted again, if it cannot.
    pub(crate) fn keeps_content(&self) -> Result<(), String> {
        match self.disk {
            Some(_) => Ok(()),
            None => Err("unmounting it would lose its content".into()),
        }
    }

    /// Unmounts it, proves that nothing of it is left in memory, and mounts it again.
    ///
    /// Its superblock is gone when its device can be claimed by another; the pages of device and image that the page cache
    /// held are dropped and counted.
    ///
    /// # Errors
    ///
    /// [`LabError::Failed`] with `EBUSY` while anything is open on it; [`LabError::NotCold`] where something stayed. After an
    /// error it may not be mounted any more.
    pub fn remount(&mut self, control: RunControl<'_>) -> Result<Cold, LabError> {
        self.keeps_content().map_err(|left| LabError::NotCold { name: self.spec.to_string(), left })?;
        self.detach(control)?;
        let cold = self.prove_gone(control)?;
        self.attach(control)?;
        Ok(cold)
    }

    /// Unmounts it, makes another in its place by the same command, and mounts that; a device of the user's is looked at again before.
    ///
    /// # Errors
    ///
    /// As [`Mounted::remount`], and [`LabError::Device`] for a device that must not be erased any more.
    pub fn reformat(&mut self, control: RunControl<'_>) -> Result<(), LabError> {
        self.keeps_content().map_err(|left| LabError::NotCold { name: self.spec.to_string(), left })?;
        self.detach(control)?;
        self.prove_gone(control)?;
        self.format(control)?;
        self.attach(control)
    }

    /// Unmounts it; its image goes with it.
    ///
    /// # Errors
    ///
    /// [`LabError::Failed`] with `EBUSY` while anything is open on it.
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
            super::device::check_again(disk, control)?;
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
        let (flags, data) = options::split(&self.options);
        let source = self.disk.as_ref().map_or(Path::new(self.spec.entry.name), |disk| disk.path.as_path());
        let mount = || rustix::mount::mount(source, &self.path, self.spec.entry.kind, flags, data.as_c_str());
        match marked(control.heartbeat, WRITING_BACK, mount) {
            Ok(()) => {
                self.mounted = true;
                Ok(())
            }
            Err(Errno::NODEV) => Err(self.unavailable(super::availability::no_driver(self.spec.entry))),
            Err(error) => Err(self.unavailable(format!("mounting it fails: {}", words(&error.into())))),
        }
    }

    fn detach(&mut self, control: RunControl<'_>) -> Result<(), LabError> {
        if !self.mounted {
            return Ok(());
        }
        let unmount = || rustix::mount::unmount(&self.path, UnmountFlags::NOFOLLOW);
        let mut tried = 0;
        loop {
            match marked(control.heartbeat, WRITING_BACK, unmount) {
                Ok(()) => break,
                // Whoever looks at all mounts keeps this one busy for a moment.
                Err(Errno::BUSY) if tried < BUSY_TRIES_MAX => tried += 1,
                Err(error) => return Err(LabError::failed(format!("unmount {}", self.spec))(error)),
            }
            std::thread::sleep(BUSY_PAUSE);
        }
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
            return Err(not_cold("something is still mounted there".into()));
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

    /// Returns the driver that serves it: ext4's serves ext2 and ext3 too on most kernels, and shows itself by a directory.
    fn find_driver(&self) -> String {
        let entry = self.spec.entry;
        if entry.server.is_some() {
            return "FUSE".into();
        }
        let Some(disk) = &self.disk else { return entry.name.into() };
        let by_ext4 = Path::new("/sys/fs/ext4").join(disk.name()).is_dir();
        if by_ext4 { "ext4".into() } else { entry.name.into() }
    }

    /// Opens its root, relative to the directory of mount points.
    ///
    /// # Errors
    ///
    /// Where it is not mounted.
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
        // What is busy goes when the last who holds it does, and nobody can reach it any more. A server that was ended while
        // it mounted may have done so.
        while rustix::mount::unmount(&self.path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW).is_ok() {}
        // Where it is not empty something is mounted; the next run removes it.
        let _ = rustix::fs::unlinkat(&self.parent, self.name.as_str(), AtFlags::REMOVEDIR);
    }
}
