//! Block device below a file system: an image on a loop device, a device in memory, or a user's device.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use megadir_record::DiskCounts;
use megadir_sys::loop_device::{LoopDevice, attach};
use megadir_sys::page_cache::resident;
use rustix::fs::{Advice, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::control::RunControl;
use crate::memory::{self, Zram, no_zram};
use crate::rotating::Rotating;
use crate::{DiskSpec, LabError};

/// For direct I/O, which needs at least the sector size of the disk below.
const LARGE_SECTOR_BYTES: u32 = 4096;
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub struct Disk {
    pub path: PathBuf,
    /// Keeps a loop device attached while nothing is mounted. Before `below`, so that it is closed first.
    device: File,
    below: Below,
    pub direct_io: Option<bool>,
}

#[derive(Debug)]
enum Below {
    Image(Arc<File>),
    Memory(Zram),
    /// Its file, before the server, so that it is closed first.
    Rotating(Arc<File>, Rotating),
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
        Self { path, device, below: Below::Image(image), direct_io: Some(direct_io) }
    }

    /// In memory, for `bytes`, of which at most `limit_bytes` are taken; below `directory`, whose path is `path`, if it must be a file.
    pub fn in_memory(
        (directory, path): (impl AsFd, &Path),
        (bytes, limit_bytes): (u64, u64),
        takes_large_sectors: bool,
        control: RunControl<'_>,
    ) -> Result<Self, LabError> {
        if no_zram().is_some() || !takes_large_sectors {
            let image = memory::image(directory, path, (bytes, limit_bytes))?;
            let attached = Self::attach(Arc::new(image), takes_large_sectors);
            return attached.map_err(LabError::failed("attach an image to a loop device"));
        }
        let zram = Zram::add(bytes, limit_bytes, control)?;
        let path = zram.path();
        let doing = format!("open {}", path.display());
        let device = File::options().read(true).write(true).open(&path).map_err(LabError::failed(doing))?;
        Ok(Self { path, device, below: Below::Memory(zram), direct_io: Some(true) })
    }

    /// On the model of a rotating disk of `bytes` over an image, whose server the program `words` is; for `directory` see
    /// [`in_memory`](Self::in_memory).
    pub fn rotating(
        words: &[OsString],
        disk: &DiskSpec,
        (image, bytes): (&File, u64),
        place: (impl AsFd, &Path),
        control: RunControl<'_>,
    ) -> Result<Self, LabError> {
        let (mut server, file) = Rotating::start(words, disk, (image, bytes), place, control)?;
        let file = Arc::new(file);
        // Not buffered: the page cache would hide the disk.
        let attached =
            attach(file.as_fd(), 0, true).map_err(LabError::failed("attach a disk to a loop device"))?;
        let LoopDevice { device, path, direct_io } = attached;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        server.set_queue(&name, disk)?;
        Ok(Self { path, device, below: Below::Rotating(file, server), direct_io: Some(direct_io) })
    }

    /// Of a modelled disk, since it began.
    pub fn counts(&self) -> Option<DiskCounts> {
        match &self.below {
            Below::Rotating(_, server) => server.counts(),
            _ => None,
        }
    }

    pub fn of_device(path: &Path, device: File) -> Self {
        Self { path: path.to_owned(), device, below: Below::Nothing, direct_io: None }
    }

    /// Algorithm that a disk in memory compresses with.
    pub fn compression(&self) -> Option<String> {
        match &self.below {
            Below::Memory(zram) => zram.algorithm(),
            Below::Image(_) | Below::Rotating(..) | Below::Nothing => None,
        }
    }

    /// Of a disk in memory, bytes, the most so far.
    pub fn memory_used_max(&self) -> Option<u64> {
        match &self.below {
            Below::Memory(zram) => zram.memory_used_max(),
            // A file never shrinks unless blocks are discarded.
            Below::Image(image) => image.metadata().ok().map(|status| status.blocks() * 512),
            Below::Rotating(..) | Below::Nothing => None,
        }
    }

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
        let deadline = Instant::now() + patience;
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
        while rustix::fs::open(&self.path, flags, Mode::empty()).is_err() {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        true
    }

    pub fn cool(&self) -> io::Result<Cold> {
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

/// Makes an image: an unnamed sparse file, freed with its last descriptor.
pub fn make_image(directory: impl AsFd, bytes: u64) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let opened = rustix::fs::openat(directory.as_fd(), ".", flags | OFlags::TMPFILE, mode);
    let file = match opened {
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => named(directory, mode)?,
        opened => opened?,
    };
    let file = File::from(file);
    file.set_len(bytes)?;
    Ok(file)
}

/// If the process is killed before it unlinks the file, the marker of the directory identifies it.
fn named(directory: impl AsFd, mode: Mode) -> Result<OwnedFd, Errno> {
    const NAME: &str = "image";
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory.as_fd(), NAME, flags, mode)?;
    rustix::fs::unlinkat(directory.as_fd(), NAME, AtFlags::empty())?;
    Ok(file)
}
