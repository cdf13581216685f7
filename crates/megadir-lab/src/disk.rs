//! Block device below a file system: an image on a loop device, a device in memory, a modelled disk, or a user's device.
//!
//! ```text
//! file system      ext4, xfs ...                                              (mounted.rs)
//! Disk             /dev/loopN    /dev/zramN      /dev/loopN          /dev/sdX of the user
//! below            image file    memory          file of the model,  nothing that is ours
//!                                                above an image
//! ```
//!
//! Direct I/O between the loop device and its image matters for the numbers: without it each block is also
//! in the page cache of the image, which takes memory and hides the time of the disk below. If it is
//! impossible, the record states so.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use megadir_record::DiskCounts;
use megadir_sys::loop_device::{LoopDevice, attach};
use megadir_sys::page_cache::resident;
use rustix::fs::{Advice, Mode, OFlags};

use crate::control::RunControl;
use crate::memory::{self, Zram};
use crate::patience::repeat;
use crate::rotating::{Program, Rotating};
use crate::{DiskSpec, LabError, Spec};

/// For direct I/O, which needs at least the sector size of the disk below.
const LARGE_SECTOR_BYTES: u32 = 4096;
/// Fields are dropped in their order: the device is closed before the layer below it is removed.
///
/// Only an image and a disk in memory are removed with it. A user's device is left alone, and has no `direct_io`.
#[derive(Debug)]
pub struct Disk {
    pub path: PathBuf,
    /// Keeps a loop device attached while nothing is mounted.
    device: File,
    below: Below,
    pub direct_io: Option<bool>,
    /// Reason why a disk in memory is a file.
    pub no_zram: Option<String>,
    /// Most memory of a file, bytes: the kernel does not keep it.
    file_used_max: AtomicU64,
}

#[derive(Debug)]
enum Below {
    Image(Arc<File>),
    Memory(Zram),
    /// The server is dropped last, since it ends with the file of the model. The image is kept for its size.
    Rotating {
        _file: File,
        server: Rotating,
        _image: Arc<File>,
    },
    /// It is the user's.
    Nothing,
}

impl Disk {
    /// With direct I/O if possible, with 4 KiB sectors if that needs them.
    pub fn attach(image: Arc<File>, takes_large_sectors: bool) -> io::Result<Self> {
        let sectors = if takes_large_sectors { &[0, LARGE_SECTOR_BYTES][..] } else { &[0] };
        for sector_bytes in sectors {
            // A buffered attachment is dropped here, which detaches it.
            if let Ok(attached) = attach(image.as_fd(), *sector_bytes, true)
                && attached.direct_io
            {
                return Ok(Self::of_loop(attached, image));
            }
        }
        Self::attach_buffered(image)
    }

    pub fn attach_buffered(image: Arc<File>) -> io::Result<Self> {
        Ok(Self::of_loop(attach(image.as_fd(), 0, false)?, image))
    }

    fn of_loop(attached: LoopDevice, image: Arc<File>) -> Self {
        let LoopDevice { device, path, direct_io } = attached;
        Self { direct_io: Some(direct_io), ..Self::new(path, device, Below::Image(image)) }
    }

    fn new(path: PathBuf, device: File, below: Below) -> Self {
        Self { path, device, below, direct_io: None, no_zram: None, file_used_max: AtomicU64::new(0) }
    }

    /// In memory, for `bytes`, with at most `limit_bytes` taken; below `directory`, whose path is `path`, if it must be a
    /// file: because of `no_zram`, or because this machine or the file system takes no zram.
    pub fn in_memory(
        (directory, path): (impl AsFd, &Path),
        (bytes, limit_bytes): (u64, u64),
        (spec, no_zram): (&Spec, Option<&String>),
        control: RunControl<'_>,
    ) -> Result<Self, LabError> {
        if let Some(reason) = no_zram.cloned().or_else(|| memory::no_zram_for(std::slice::from_ref(spec))) {
            let image = memory::image(directory, path, (bytes, limit_bytes))?;
            let attached = Self::attach(Arc::new(image), spec.takes_large_sectors());
            let attached = attached.map_err(LabError::failed("attach an image to a loop device"))?;
            return Ok(Self { no_zram: Some(reason), ..attached });
        }
        let zram = Zram::add(bytes, limit_bytes, control)?;
        let path = zram.path();
        let doing = format!("open {}", path.display());
        let device = File::options().read(true).write(true).open(&path).map_err(LabError::failed(doing))?;
        Ok(Self { direct_io: Some(true), ..Self::new(path, device, Below::Memory(zram)) })
    }

    /// A modelled disk of `bytes` over an image, with direct I/O: the page cache of a buffered loop device would hide the disk. For
    /// `directory` and `path` see [`in_memory`](Self::in_memory).
    pub fn rotating(
        program: &Program,
        disk: &DiskSpec,
        (image, bytes): (Arc<File>, u64),
        (directory, path): (impl AsFd, &Path),
        control: RunControl<'_>,
    ) -> Result<Self, LabError> {
        let (mut server, file) = Rotating::start(program, disk, (&image, bytes), (directory, path), control)?;
        let attached = attach(file.as_fd(), 0, true);
        let LoopDevice { device, path, direct_io } =
            attached.map_err(LabError::failed("attach a modelled disk to a loop device"))?;
        if !direct_io {
            let reason =
                "the loop device takes no direct I/O to the model, and the page cache would hide the disk";
            return Err(LabError::Unavailable { name: disk.to_string(), reason: reason.to_owned() });
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        server.set_queue(&name, disk)?;
        let below = Below::Rotating { _file: file, server, _image: image };
        Ok(Self { direct_io: Some(direct_io), ..Self::new(path, device, below) })
    }

    /// Counts of a modelled disk since it was made; `None` for another disk.
    pub fn counts(&self) -> Option<DiskCounts> {
        match &self.below {
            Below::Rotating { server, .. } => server.counts(),
            Below::Image(_) | Below::Memory(_) | Below::Nothing => None,
        }
    }

    pub fn of_device(path: &Path, device: File) -> Self {
        Self::new(path.to_owned(), device, Below::Nothing)
    }

    /// Algorithm that a disk in memory compresses with.
    pub fn compression(&self) -> Option<String> {
        match &self.below {
            Below::Memory(zram) => zram.algorithm(),
            Below::Image(_) | Below::Rotating { .. } | Below::Nothing => None,
        }
    }

    /// Most memory of a disk in memory so far, bytes.
    pub fn memory_used_max(&self) -> Option<u64> {
        match &self.below {
            Below::Memory(zram) => zram.memory_used_max(),
            Below::Image(image) => {
                let used = image.metadata().ok()?.blocks() * 512;
                Some(self.file_used_max.fetch_max(used, Ordering::Relaxed).max(used))
            }
            Below::Rotating { .. } | Below::Nothing => None,
        }
    }

    /// `true` if a disk in memory has refused writes because of its limit, or a file is so full that it does.
    pub fn is_full(&self, limit_bytes: u64) -> bool {
        const NEARLY_BYTES: u64 = 1 << 20;
        match &self.below {
            Below::Memory(zram) => zram.has_failed_writes(),
            Below::Image(image) => image
                .metadata()
                .is_ok_and(|status| (status.blocks() * 512).saturating_add(NEARLY_BYTES) > limit_bytes),
            Below::Rotating { .. } | Below::Nothing => false,
        }
    }

    /// Compares device numbers, not paths: a link below `/dev/disk` may lead elsewhere by now.
    pub fn is_same(&self, other: &File) -> bool {
        let number = |file: &File| rustix::fs::fstat(file).map(|status| status.st_rdev).ok();
        number(&self.device).is_some_and(|own| number(other) == Some(own))
    }

    pub fn is_of_user(&self) -> bool {
        matches!(self.below, Below::Nothing)
    }

    pub fn name(&self) -> String {
        let path = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Waits until neither a mount in any namespace nor another exclusive opener holds the device; `false` after `patience`.
    pub fn wait_until_free(&self, patience: Duration) -> bool {
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
        repeat(patience, || rustix::fs::open(&self.path, flags, Mode::empty()).is_ok(), |is_free| *is_free)
    }

    /// Drops cached pages of the unmounted disk, again for at most `patience` while others have some of it
    /// read: programs that look for file systems on all devices (blkid, mkfs.btrfs) do.
    pub fn cool(&self, patience: Duration) -> io::Result<Cold> {
        repeat(patience, || self.drop_cached(), |dropped| dropped.as_ref().map_or(true, Cold::is_cold))
    }

    /// Writes back, drops and counts, in this order: `POSIX_FADV_DONTNEED` skips dirty pages. The device
    /// comes before the image, because writing the device back makes pages of the image dirty.
    fn drop_cached(&self) -> io::Result<Cold> {
        let mut cold = Cold::default();
        rustix::fs::fsync(&self.device)?;
        rustix::fs::fadvise(&self.device, 0, None, Advice::DontNeed)?;
        cold.device_pages = resident(self.device.as_fd())?.cached;
        if let Below::Image(image) = &self.below {
            rustix::fs::fdatasync(&**image)?;
            rustix::fs::fadvise(&**image, 0, None, Advice::DontNeed)?;
            // Of an image in memory nothing can be dropped, and the pages are the disk.
            cold.image_pages = resident(image.as_fd())?.cached;
        }
        Ok(cold)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cold {
    /// Still cached after unmounting.
    pub device_pages: u64,
    /// Still in this machine's page cache; 0 for devices.
    pub image_pages: u64,
}

/// Device pages that a mounted file system holds. More mean that the unmounted device's pages were not dropped.
const DEVICE_PAGES_MAX: u64 = 16;

impl Cold {
    pub fn is_cold(&self) -> bool {
        self.device_pages <= DEVICE_PAGES_MAX
    }
}
