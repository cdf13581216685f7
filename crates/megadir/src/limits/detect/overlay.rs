//! Finds the directory in overlayfs's upper layer, where new entries are created.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capabilities};

use super::space;
use crate::block_device::has_its_numbers;
use crate::dir::Dir;
use crate::error::ErrorKind;
use crate::file_system::FileSystem;
use crate::limits::basis::{Fact, Known, Span};
use crate::limits::facts::{Details, Facts, Mount};
use crate::mounts::{self, Line};

pub(super) struct Upper {
    pub(super) directory: Dir,
    is_copied_up: bool,
}

impl Upper {
    pub(super) fn adjust(&self, facts: &mut Facts) {
        if self.is_copied_up {
            return;
        }
        facts.entries =
            Some(Fact::new(Span::exact(0), Known::Read, "the directory is not yet in the upper layer"));
        facts.directory_bytes = facts.space.block_bytes;
        facts.links = 2;
        if let Details::Ext4(ext4) = &mut facts.details {
            ext4.indexed = Some(false);
        }
    }

    /// Adds what the lower layers have: entries, and names if the upper layer has none to sample. The merged directory itself is not
    /// read, because overlayfs would read all of it first.
    ///
    /// Each entry of a layer can be another layer's entry as well, or a whiteout of one, and no more than these are hidden.
    pub(super) fn merge(&self, facts: &mut Facts, lower: Vec<Facts>, are_all_merged: bool) {
        let all = std::iter::once(&*facts).chain(&lower);
        let all: Option<Vec<Span>> = all.map(|layer| Some(layer.entries.as_ref()?.value)).collect();
        let in_all = |all: Vec<Span>| {
            let sum = |of: fn(&Span) -> u64| all.iter().map(of).fold(0, u64::saturating_add);
            let high = sum(|layer| layer.high);
            let beside_others = |layer: &Span| layer.low.saturating_sub(high.saturating_sub(layer.high));
            let low = all.iter().map(beside_others).max().filter(|_| are_all_merged).unwrap_or(0);
            let value = Span { likely: sum(|layer| layer.likely), low, high };
            let how = match are_all_merged {
                true => "the sum of the layers; names in several layers are one entry, or none if removed",
                false => {
                    "the sum of the layers; without privileges it is unknown whether upper layers hide lower ones"
                }
            };
            Fact::new(value, Known::Measured, how)
        };
        facts.merged_entries = all.map(in_all);
        let has_names = |facts: &Facts| facts.names.basis.known != Known::Assumed;
        if (!self.is_copied_up || !has_names(facts))
            && let Some(layer) = lower.into_iter().find(has_names)
        {
            (facts.names, facts.contents) = (layer.names, layer.contents);
            facts.directory_share = layer.directory_share;
        }
    }
}

/// The directory in the lower layers from which overlayfs merges it.
pub(super) struct Lower {
    pub(super) layers: Vec<Dir>,
    /// `false` if an upper layer may hide some of them: what decides it is readable with privileges only.
    pub(super) are_all_merged: bool,
}

/// `None` if the paths of the layers lead elsewhere from here, or a layer has the directory at another path.
pub(super) fn lower(directory: &Dir) -> Option<Lower> {
    let table = mounts::table().ok()?;
    let mount = line_of(directory, &table)?;
    let below = path_below(directory, &mount)?;
    let mut marks = Marks::of(&mount);
    let mut layers = Vec::new();
    let upper = path(mount.option("upperdir")?);
    let mut is_hidden = marks.look(&upper, &below)?.hides_lower;
    for layer in lower_layers(&mount) {
        if is_hidden {
            break;
        }
        if layer.is_relative() || !layer.is_dir() {
            return None;
        }
        let found = marks.look(&layer, &below)?;
        is_hidden = found.hides_lower;
        if !found.has_directory {
            continue;
        }
        match Dir::open(layer.join(&below)) {
            Ok(directory) if directory.file_system() == FileSystem::Overlay => return None,
            Ok(directory) => layers.push(directory),
            Err(_) => return None,
        }
    }
    Some(Lower { layers, are_all_merged: marks.are_readable })
}

/// In their order, without layers that only provide the data of files (after `::`).
fn lower_layers(mount: &Line<'_>) -> Vec<PathBuf> {
    let paths = mount.options.split(|byte| *byte == b',').filter_map(|option| {
        option.strip_prefix(b"lowerdir=").or_else(|| option.strip_prefix(b"lowerdir+="))
    });
    paths
        .flat_map(|paths| paths.split(|byte| *byte == b':').take_while(|layer| !layer.is_empty()))
        .map(path)
        .collect()
}

/// Extended attributes of overlayfs, which `userxattr` moves from `trusted.` to `user.`.
struct Marks {
    prefix: &'static str,
    are_readable: bool,
}

struct Found {
    has_directory: bool,
    /// The directory or one above it is opaque here, or something else has its name, such as a whiteout.
    hides_lower: bool,
}

impl Marks {
    fn of(mount: &Line<'_>) -> Self {
        if mount.option("userxattr").is_some() {
            return Self { prefix: "user.overlay.", are_readable: true };
        }
        // To others `trusted.` attributes do not exist.
        let may = capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN));
        Self { prefix: "trusted.overlay.", are_readable: may && has_its_numbers() }
    }

    /// `None` if the layer has some of the path elsewhere, or it is unknown.
    fn look(&mut self, layer: &Path, below: &Path) -> Option<Found> {
        let mut here = layer.to_owned();
        let mut found = Found { has_directory: true, hides_lower: false };
        for name in below {
            here.push(name);
            match here.symlink_metadata() {
                Ok(status) if status.is_dir() => {}
                Ok(_) => return Some(Found { has_directory: false, hides_lower: true }),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    return Some(Found { has_directory: false, ..found });
                }
                Err(_) => return None,
            }
            if self.read(&here, "redirect").is_some() || self.read(&here, "metacopy").is_some() {
                return None;
            }
            found.hides_lower |= self.read(&here, "opaque").is_some_and(|first| first == b'y');
        }
        Some(found)
    }

    /// The first byte of the value, 0 if it is empty.
    fn read(&mut self, path: &Path, name: &str) -> Option<u8> {
        let mut value = [0; 1];
        match rustix::fs::lgetxattr(path, format!("{}{name}", self.prefix), &mut value[..]) {
            Ok(_) => Some(value[0]),
            // Longer: the path of a redirect.
            Err(Errno::RANGE) => Some(0),
            Err(Errno::NODATA | Errno::OPNOTSUPP) => None,
            Err(_) => {
                self.are_readable = false;
                None
            }
        }
    }
}

pub(super) fn upper(directory: &Dir) -> Result<Upper, String> {
    let table = mounts::table().unwrap_or_default();
    let mount = line_of(directory, &table).ok_or("the mount table does not name it")?;
    let option = mount.option("upperdir").ok_or("it has none, and nothing can be created")?;
    let layer = path(option);
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
    let below = path_below(directory, &mount).ok_or("its path is unknown")?;
    match Dir::open(layer.join(below)) {
        Ok(directory) => Ok(Upper { directory, is_copied_up: true }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Ok(Upper { directory: root, is_copied_up: false })
        }
        Err(error) => Err(error.to_string()),
    }
}

fn path_below(directory: &Dir, mount: &Line<'_>) -> Option<PathBuf> {
    let named = std::fs::read_link(format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd())).ok()?;
    let below = named.strip_prefix(path(mount.point)).ok()?;
    let root = path(mount.root);
    Some(root.strip_prefix("/").ok()?.join(below))
}

fn line_of<'t>(directory: &Dir, table: &'t [u8]) -> Option<Line<'t>> {
    Line::find(table, directory.id().ok()?.mount?)
}

fn path(field: &[u8]) -> PathBuf {
    OsString::from_vec(mounts::unescaped(field)).into()
}

/// Bytes that are not UTF-8 are replaced.
pub(super) fn mount_of(directory: &Dir) -> Option<Mount> {
    let table = mounts::table().ok()?;
    let line = line_of(directory, &table)?;
    let text = |field: &[u8]| String::from_utf8_lossy(&mounts::unescaped(field)).into_owned();
    Some(Mount {
        point: text(line.point),
        kind: text(line.driver),
        source: text(line.source),
        options: String::from_utf8_lossy(line.options).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use megadir_testkit::mount::{self, Mount as Made};
    use megadir_testkit::require;

    use super::*;

    #[test]
    fn a_mount_point_that_is_not_utf8_hides_no_options() {
        let made = require!(Made::make(&mount::EXT4));
        let point = made.path().join(OsString::from_vec(b"bad\xff".to_vec()));
        std::fs::create_dir(&point).unwrap();
        let mut bind = std::process::Command::new("mount");
        mount::run(bind.args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(&point)).unwrap();
        let found = mount_of(&Dir::open(&point).unwrap());
        mount::unmount(&point).unwrap();
        let found = found.unwrap();
        assert!(found.point.ends_with("/bad\u{fffd}"), "{found:?}");
        assert_eq!((found.kind.as_str(), found.option("size")), ("tmpfs", Some("1024k")));
    }
}
