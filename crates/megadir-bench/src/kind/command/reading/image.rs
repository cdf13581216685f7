//! Images of file systems, mounted read-only on a loop device.
//!
//! The mount has no place in any tree of directories: it is a descriptor, by fsmount(2) (Linux 5.2), and ends with it, as the
//! loop device does. A process that is killed leaves neither behind.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use megadir_sys::loop_device;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string,
    fsmount, fsopen,
};

use super::directory::Directory;
use super::{EachContents, EachSize, OpenContainer};
use crate::os;

#[derive(Debug)]
pub(super) struct Image {
    files: Directory,
    _mounted: OwnedFd,
}

impl Image {
    pub(super) fn mount(kind: &str, path: &Path) -> io::Result<Self> {
        let image = File::open(path)?;
        let device = loop_device::attach(image.as_fd(), 0, false)?;
        let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(context.as_fd(), "source", &device.path)?;
        fsconfig_set_flag(context.as_fd(), "ro")?;
        fsconfig_create(context.as_fd())?;
        let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NOATIME;
        let mounted = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        let top = os::open_below(mounted.as_fd(), ".")?;
        Ok(Self { files: Directory::of_image(top), _mounted: mounted })
    }
}

impl OpenContainer for Image {
    fn read(&mut self, path: &[u8], contents: &mut Vec<u8>) -> io::Result<bool> {
        self.files.read(path, contents)
    }

    fn list(&mut self, each: &mut EachSize<'_>) -> io::Result<()> {
        self.files.list(each)
    }

    fn read_all(&mut self, each: &mut EachContents<'_>) -> io::Result<()> {
        self.files.read_all(each)
    }
}
