//! Finds the overlayfs directory in the upper layer, where new entries are created.

use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use super::mount_table::{root_of, unescaped};
use super::space;
use crate::dir::Dir;
use crate::file_system::FileSystem;
use crate::limits::basis::{Fact, Known, Span};
use crate::limits::facts::{Details, Facts, Mount};

pub(super) struct Upper {
    pub(super) directory: Dir,
    /// `false` for the layer's root in its place.
    is_itself: bool,
}

impl Upper {
    /// Facts of the layer's root are adjusted to a new directory.
    pub(super) fn adjust(&self, facts: &mut Facts) {
        if self.is_itself {
            return;
        }
        facts.entries = Some(Fact::new(Span::exact(0), Known::Read, "not yet in the upper layer"));
        facts.directory_bytes = facts.space.block_bytes;
        facts.links = 2;
        if let Details::Ext4(ext4) = &mut facts.details {
            ext4.indexed = Some(false);
        }
    }
}

/// The error is the reason.
pub(super) fn upper(directory: &Dir, mount: Option<&Mount>) -> Result<Upper, String> {
    let mount = mount.ok_or("the mount table does not name it")?;
    let option = mount.option("upperdir").ok_or("it has none, and nothing can be created")?;
    let layer = PathBuf::from(unescaped(option));
    let hidden = |_| format!("'{}' is not visible from here", layer.display());
    let root = Dir::open(&layer).map_err(hidden)?;
    // In this namespace the path may be another directory.
    let same = match (space(directory), space(&root)) {
        (Ok(here), Ok(there)) => {
            (here.blocks, here.inodes, here.block_bytes) == (there.blocks, there.inodes, there.block_bytes)
        }
        _ => false,
    };
    if !same || root.file_system() == FileSystem::Overlay {
        return Err(format!("'{}' is a different directory here", layer.display()));
    }
    let below = path_below(directory, mount).ok_or("its path is unknown")?;
    match Dir::open(layer.join(below)) {
        Ok(directory) => Ok(Upper { directory, is_itself: true }),
        Err(error) if error.kind() == crate::ErrorKind::NotFound => {
            Ok(Upper { directory: root, is_itself: false })
        }
        Err(error) => Err(error.to_string()),
    }
}

fn path_below(directory: &Dir, mount: &Mount) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd())).ok()?;
    let below = path.strip_prefix(&mount.point).ok()?;
    let root = root_of(directory)?;
    let root = Path::new(&root).strip_prefix("/").ok()?;
    Some(root.join(below))
}
