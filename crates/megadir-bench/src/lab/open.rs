//! An open lab: its namespace, its directory, and the creation of file systems.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

use megadir_lab::{Backing, Disk, LabError, Mounted, Spec, device, image, missing, namespace};

use super::room;
use crate::control::RunControl;
use crate::workspace::{Leftovers, Workspace, remove_leftovers};

/// Makes and mounts file systems. Use it only on the thread that opened it, and close it after all of them.
#[derive(Debug)]
pub struct Lab {
    /// `None` once it is removed.
    workspace: Option<Workspace>,
    path: PathBuf,
    leftovers: Leftovers,
    /// The images, with the upper bound of bytes written to each.
    images: RefCell<Vec<(Weak<File>, u64)>>,
    made: Cell<u32>,
}

impl Lab {
    /// Opens a lab with its images in `directory`: enters a mount namespace, where the calling thread stays,
    /// and removes leftovers of killed runs. Fails with [`LabError::Privileges`] if the caller may not mount,
    /// [`LabError::Failed`] if the directory is unusable.
    pub fn open(directory: &Path, control: RunControl<'_>) -> Result<Self, LabError> {
        namespace::enter()?;
        let doing = || format!("use '{}'", directory.display());
        let path = directory.canonicalize().map_err(LabError::failed(doing()))?;
        let leftovers = remove_leftovers(&path, control.heartbeat).map_err(LabError::failed(doing()))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let workspace = Workspace::create(&path, now.as_secs(), u64::from(now.subsec_nanos()));
        let workspace = workspace.map_err(LabError::failed(doing()))?;
        Ok(Self {
            workspace: Some(workspace),
            path,
            leftovers,
            images: RefCell::default(),
            made: Cell::new(0),
        })
    }

    /// Returns the leftovers of killed runs that were found.
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
        let point = workspace.data_directory(&name).map_err(LabError::failed("create a mount point"))?;
        drop(point);
        Mounted::make(spec, backing, disk, (workspace, workspace.path()), &name, control)
    }

    fn disk(
        &self,
        spec: &Spec,
        backing: &Backing,
        workspace: &Workspace,
        control: RunControl<'_>,
    ) -> Result<Option<Disk>, LabError> {
        match backing {
            Backing::Image { bytes, .. } if spec.entry.in_memory() => {
                room::in_memory(spec, *bytes).map(|()| None)
            }
            Backing::Image { bytes, written_bytes } => {
                let mut images = self.images.borrow_mut();
                images.retain(|(image, _)| image.strong_count() > 0);
                let others = images.iter().filter_map(|(image, most)| Some((image.upgrade()?, *most)));
                let may_grow = others.map(|(image, most)| room::unwritten_bytes(&image, most)).sum();
                room::for_image(spec, &self.path, workspace, *written_bytes, may_grow)?;
                let image = image::make(workspace, *bytes).map_err(LabError::failed("create an image"))?;
                let image = Arc::new(image);
                images.push((Arc::downgrade(&image), *written_bytes));
                let attached = Disk::attach(image, spec.takes_large_sectors());
                attached.map(Some).map_err(LabError::failed("attach an image to a loop device"))
            }
            Backing::Device { path, erase } => device::open(spec, path, *erase, control).map(Some),
        }
    }

    /// Checks, as [`Lab::open`] and [`Lab::make`] would, that they can make these file systems in this order,
    /// without writing anything.
    pub fn check(directory: &Path, all: &[(Spec, Backing)], control: RunControl<'_>) -> Result<(), LabError> {
        if !namespace::may_mount() {
            return Err(LabError::Privileges);
        }
        let failed = LabError::failed(format!("use '{}'", directory.display()));
        let opened = File::open(directory).map_err(failed)?;
        let mut may_grow: u64 = 0;
        for (spec, backing) in all {
            match backing {
                Backing::Image { bytes, .. } if spec.entry.in_memory() => room::in_memory(spec, *bytes)?,
                Backing::Image { written_bytes, .. } => {
                    room::for_image(spec, directory, &opened, *written_bytes, may_grow)?;
                    may_grow = may_grow.saturating_add(*written_bytes);
                }
                Backing::Device { path, erase } => device::check(spec, path, *erase, control).map(drop)?,
            }
        }
        Ok(())
    }

    /// Removes the lab's directory. Unmount its file systems first. Fails if something is still mounted in it;
    /// the next run removes it.
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
        // The next run removes whatever remains.
        let _ = self.remove(RunControl { stop: &stop, heartbeat: &heartbeat });
    }
}
