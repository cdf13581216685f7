//! An open lab: its namespace, its directory, and the creation of file systems.
//!
//! ```text
//!  Lab::open   namespace -> leftovers removed -> workspace (marker)
//!  Lab::make   missing? -> room? -> disk -> mount point fsN -> mkfs, mount
//!  Lab::check  the same questions, nothing written
//!  Lab::close  workspace removed; its file systems must be unmounted before
//! ```
//!
//! Room is counted for images that may still grow, not only for written blocks: three sparse images that
//! fit now would fill the disk together later, and all of them would fail in the middle of the run.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use megadir_lab::rotating::Program;
use megadir_lab::{
    Backing, Disk, DiskSpec, LabError, Mounted, Spec, device, make_image, missing, mount, tool,
};
use megadir_record::{FsId, LabFileSystem};

use super::{Fact, SERVES_DISK, Survey, clean};
use crate::control::RunControl;
use crate::os;
use crate::workspace::{Leftovers, Workspace};

/// Use it only on the thread that opened it, and close it after its file systems.
///
/// The mount namespace is one of the calling thread: threads that ran before see none of the file systems that are
/// mounted in it. `workspace` is `None` once the directory was removed, so that a drop after `close` does nothing.
/// `made` only grows and numbers the mount points.
#[derive(Debug)]
pub struct Lab {
    workspace: Option<Workspace>,
    path: PathBuf,
    leftovers: Leftovers,
    /// Each with the upper bound of bytes written to it.
    images: RefCell<Vec<(Weak<File>, u64)>>,
    made: Cell<u32>,
    /// Serves modelled disks; without it there are none.
    server: Option<Program>,
}

impl Lab {
    /// Enters a mount namespace, in which the calling thread stays, and removes leftovers of killed runs. Errors:
    /// [`LabError::Privileges`] if the caller may not mount, [`LabError::Failed`] if the directory is unusable.
    pub fn open(directory: &Path, control: RunControl<'_>) -> Result<Self, LabError> {
        mount::enter_namespace()?;
        let doing = || format!("use '{}'", directory.display());
        let path = directory.canonicalize().map_err(LabError::failed(doing()))?;
        let leftovers = clean(&path, control.heartbeat).map_err(LabError::failed(doing()))?;
        let workspace = Workspace::create(&path).map_err(LabError::failed(doing()))?;
        Ok(Self {
            workspace: Some(workspace),
            path,
            leftovers,
            images: RefCell::default(),
            made: Cell::new(0),
            server: None,
        })
    }

    /// Names the program and the first arguments of worker processes, which also serve modelled disks.
    pub fn set_server(&mut self, worker: Option<(PathBuf, Vec<OsString>)>) {
        self.server = worker.map(|(path, mut arguments)| {
            arguments.push(OsString::from(SERVES_DISK));
            Program { path, arguments }
        });
    }

    pub fn leftovers(&self) -> &Leftovers {
        &self.leftovers
    }

    /// Makes and mounts a file system. Errors: [`LabError::Unavailable`] on this machine; [`LabError::Room`];
    /// [`LabError::Device`] if a device must not be erased (nothing was written to it);
    /// [`LabError::Interrupted`].
    pub fn make(&self, spec: &Spec, backing: &Backing, control: RunControl<'_>) -> Result<Mounted, LabError> {
        let workspace = self.workspace.as_ref().ok_or(LabError::Interrupted)?;
        if let Some(reason) = missing(spec) {
            return Err(LabError::Unavailable { name: spec.to_string(), reason });
        }
        let disk = self.disk(spec, backing, workspace, control)?;
        let name = format!("fs{}", self.made.replace(self.made.get() + 1));
        workspace.data_directory(&name).map(drop).map_err(LabError::failed("create a mount point"))?;
        Mounted::make(spec, backing, disk, (workspace, workspace.path()), &name, control)
    }

    /// The device below a file system: none in memory, a device in memory, an image on a loop device, or
    /// the user's. `images` holds weak references, so that the image of an unmounted file system no longer
    /// counts.
    fn disk(
        &self,
        spec: &Spec,
        backing: &Backing,
        workspace: &Workspace,
        control: RunControl<'_>,
    ) -> Result<Option<Disk>, LabError> {
        match backing {
            Backing::Image { bytes, .. } if spec.entry.in_memory() => in_memory(spec, *bytes).map(|()| None),
            Backing::Image { bytes, written_bytes, disk } if disk.is_in_memory() => {
                disks_in_memory(spec, *written_bytes)?;
                let directory = (workspace, workspace.path());
                let sizes = (*bytes, *written_bytes);
                Disk::in_memory(directory, sizes, (spec, disk.no_zram.as_ref()), control).map(Some)
            }
            Backing::Image { bytes, written_bytes, disk } => {
                let mut images = self.images.borrow_mut();
                images.retain(|(image, _)| image.strong_count() > 0);
                let others = images.iter().filter_map(|(image, most)| Some((image.upgrade()?, *most)));
                let may_grow = others.map(|(image, most)| unwritten_bytes(&image, most)).sum();
                for_image(spec, &self.path, workspace, *written_bytes, may_grow)?;
                let image = make_image(workspace, *bytes).map_err(LabError::failed("create an image"))?;
                let image = Arc::new(image);
                images.push((Arc::downgrade(&image), *written_bytes));
                if disk.is_model() {
                    return self.modelled(disk, (image, *bytes), workspace, control).map(Some);
                }
                let attached = Disk::attach(image, spec.takes_large_sectors());
                attached.map(Some).map_err(LabError::failed("attach an image to a loop device"))
            }
            Backing::Device { path, erase } => device::open(spec, path, *erase, control).map(Some),
        }
    }

    fn modelled(
        &self,
        disk: &DiskSpec,
        image: (Arc<File>, u64),
        workspace: &Workspace,
        control: RunControl<'_>,
    ) -> Result<Disk, LabError> {
        let unavailable = |reason: String| LabError::Unavailable { name: disk.kind.name.to_owned(), reason };
        let is_larger = disk.value("size").is_some_and(|size| image.1 > size);
        let too_large = is_larger.then(|| "its 'size=' is smaller than the image".to_owned());
        match (disk.unavailable().or(too_large), &self.server) {
            (Some(reason), _) => Err(unavailable(reason)),
            (None, None) => Err(unavailable("no program of this process serves it".into())),
            (None, Some(program)) => {
                Disk::rotating(program, disk, image, (workspace, workspace.path()), control)
            }
        }
    }

    /// Checks that [`Lab::open`] and [`Lab::make`] could make these file systems in this order; writes nothing.
    pub fn check(directory: &Path, all: &[(Spec, Backing)], control: RunControl<'_>) -> Result<(), LabError> {
        if !mount::may_mount() {
            return Err(LabError::Privileges);
        }
        let failed = LabError::failed(format!("use '{}'", directory.display()));
        let opened = File::open(directory).map_err(failed)?;
        let (mut may_grow, mut in_memory_bytes): (u64, u64) = (0, 0);
        for (spec, backing) in all {
            match backing {
                Backing::Image { bytes, .. } if spec.entry.in_memory() => in_memory(spec, *bytes)?,
                Backing::Image { written_bytes, disk, .. } if disk.is_in_memory() => {
                    in_memory_bytes = in_memory_bytes.saturating_add(*written_bytes);
                    disks_in_memory(spec, in_memory_bytes)?;
                }
                Backing::Image { written_bytes, .. } => {
                    for_image(spec, directory, &opened, *written_bytes, may_grow)?;
                    may_grow = may_grow.saturating_add(*written_bytes);
                }
                Backing::Device { path, erase } => {
                    device::check(spec, (path, path), *erase, control).map(drop)?;
                }
            }
        }
        Ok(())
    }

    /// Removes the lab's directory; unmount its file systems first. If one is still mounted, the next run removes it.
    pub fn close(mut self, control: RunControl<'_>) -> Result<(), LabError> {
        self.remove(control)
    }

    fn remove(&mut self, control: RunControl<'_>) -> Result<(), LabError> {
        let Some(workspace) = self.workspace.take() else { return Ok(()) };
        let doing = format!("remove '{}'", workspace.path().display());
        workspace.remove(control.heartbeat).map_err(LabError::failed(doing))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let (stop, heartbeat) = Default::default();
        let _ = self.remove(RunControl { stop: &stop, heartbeat: &heartbeat });
    }
}

/// Part of a probe image that is written, one in this many. mkfs and mount write 1 MiB (ext2), 5 MiB (btrfs),
/// 33 MiB (ext4) or 65 MiB (XFS) of a 1 GiB image.
const WRITTEN_SHARE: u64 = 4;

/// Calls `look` on a small mounted image of each file system, on this disk; otherwise there is the reason. Fails if interrupted, or if
/// unmounting fails.
pub fn probe<T>(
    lab: &Lab,
    specs: &[Spec],
    disk: &DiskSpec,
    control: RunControl<'_>,
    mut look: impl FnMut(&Mounted) -> T,
) -> Result<Vec<Result<T, String>>, LabError> {
    let probe = |spec: &Spec| {
        let bytes = spec.entry.smallest_bytes;
        let backing = Backing::Image { bytes, written_bytes: bytes / WRITTEN_SHARE, disk: disk.clone() };
        match lab.make(spec, &backing, control) {
            Ok(mounted) => {
                let seen = look(&mounted);
                mounted.unmount(control).map(|()| Ok(seen))
            }
            Err(error @ (LabError::Interrupted | LabError::Privileges)) => Err(error),
            Err(LabError::Unavailable { reason, .. }) => Ok(Err(reason)),
            Err(error) => Ok(Err(error.to_string())),
        }
    };
    specs.iter().map(probe).collect()
}

/// The version of mkfs is known from the mounted file system, and otherwise asked for.
fn fact(
    spec: &Spec,
    unavailable: Option<String>,
    proven: Option<LabFileSystem>,
    control: RunControl<'_>,
) -> Result<Fact, LabError> {
    let tool = match &proven {
        Some(file_system) => file_system.tool.clone(),
        None => tool(spec, control)?,
    };
    Ok(Fact { spec: spec.clone(), unavailable, proven, tool })
}

/// Mounts images below `directory` if the caller may, otherwise looks for drivers and programs.
pub fn survey(directory: &Path, specs: &[Spec], control: RunControl<'_>) -> Result<Survey, LabError> {
    let lab = match Lab::open(directory, control) {
        Ok(lab) => lab,
        Err(LabError::Privileges) => {
            let facts = specs.iter().map(|spec| fact(spec, missing(spec), None, control));
            let facts = facts.collect::<Result<_, _>>()?;
            return Ok(Survey { facts, proven: false, leftovers: Leftovers::default() });
        }
        Err(error) => return Err(error),
    };
    let probed = probe(&lab, specs, &DiskSpec::default(), control, |mounted| mounted.describe(FsId(0)))?;
    let facts = specs.iter().zip(probed).map(|(spec, found)| match found {
        Ok(proven) => fact(spec, None, Some(proven), control),
        Err(reason) => fact(spec, Some(reason), None, control),
    });
    let facts = facts.collect::<Result<_, _>>()?;
    let leftovers = lab.leftovers().clone();
    lab.close(control)?;
    Ok(Survey { facts, proven: true, leftovers })
}

/// Left free on the file system of the images.
pub(crate) const SPARE_BYTES: u64 = 64 << 20;

/// Refuses an image if writing `most` bytes of it could fill up the file system of `directory`: the image's
/// file system would see I/O errors, other programs ENOSPC. Earlier sparse images may still grow too.
fn for_image(
    spec: &Spec,
    path: &Path,
    directory: impl AsFd,
    bytes: u64,
    may_grow: u64,
) -> Result<(), LabError> {
    let space = os::space(directory.as_fd()).map_err(LabError::failed("query free space"))?;
    check(spec, path, bytes.saturating_add(may_grow), space.free_bytes)
}

fn in_memory(spec: &Spec, bytes: u64) -> Result<(), LabError> {
    check(spec, Path::new("the memory"), bytes, crate::host::available_bytes().unwrap_or(u64::MAX))
}

/// Disks that exist already, also of other runs, are counted as if they had taken what they may.
fn disks_in_memory(spec: &Spec, needed_bytes: u64) -> Result<(), LabError> {
    let free_bytes = memory_for_disks();
    match needed_bytes.saturating_add(SPARE_BYTES) <= free_bytes {
        true => Ok(()),
        false => Err(LabError::Memory { name: spec.to_string(), needed_bytes, free_bytes }),
    }
}

/// Available, and not promised to existing disks in memory, bytes.
pub(crate) fn memory_for_disks() -> u64 {
    let available = crate::host::available_bytes().unwrap_or(u64::MAX);
    available.saturating_sub(megadir_lab::memory::promised_bytes())
}

fn check(spec: &Spec, path: &Path, needed_bytes: u64, free_bytes: u64) -> Result<(), LabError> {
    match needed_bytes.saturating_add(SPARE_BYTES) <= free_bytes {
        true => Ok(()),
        false => {
            Err(LabError::Room { path: path.to_owned(), name: spec.to_string(), needed_bytes, free_bytes })
        }
    }
}

/// Bytes that an image may still allocate if at most `most` bytes of it are written.
fn unwritten_bytes(image: &Arc<File>, most: u64) -> u64 {
    image.metadata().map_or(0, |status| most.saturating_sub(status.blocks() * 512))
}
