//! Finds the directory in overlayfs's upper layer, where new entries are created.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::space;
use crate::dir::Dir;
use crate::error::ErrorKind;
use crate::file_system::FileSystem;
use crate::limits::basis::{Fact, Known, Span};
use crate::limits::facts::{Details, Facts, Mount};
use crate::mounts::{self, Line};

pub(super) struct Upper {
    pub(super) directory: Dir,
    is_itself: bool,
}

impl Upper {
    pub(super) fn adjust(&self, facts: &mut Facts) {
        if self.is_itself {
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
    pub(super) fn merge(&self, facts: &mut Facts, lower: Vec<Facts>) {
        let all = std::iter::once(&*facts).chain(&lower);
        let all: Option<Vec<Span>> = all.map(|layer| Some(layer.entries.as_ref()?.value)).collect();
        let in_all = |all: Vec<Span>| {
            let sum = |of: fn(&Span) -> u64| all.iter().map(of).fold(0, u64::saturating_add);
            let low = all.iter().map(|layer| layer.low).max().unwrap_or(0);
            let value = Span { likely: sum(|layer| layer.likely), low, high: sum(|layer| layer.high) };
            let value = if all.iter().filter(|layer| layer.high > 0).count() < 2 {
                Span { low: sum(|layer| layer.low), ..value }
            } else {
                value
            };
            Fact::new(value, Known::Measured, "the sum of the layers; names in several layers are one entry")
        };
        facts.merged_entries = all.map(in_all);
        let has_names = |facts: &Facts| facts.names.basis.known != Known::Assumed;
        if (!self.is_itself || !has_names(facts))
            && let Some(layer) = lower.into_iter().find(has_names)
        {
            (facts.names, facts.contents) = (layer.names, layer.contents);
            facts.directory_share = layer.directory_share;
        }
    }
}

/// The directory in the lower layers that have it; `None` if their paths lead elsewhere from here.
pub(super) fn lower(directory: &Dir) -> Option<Vec<Dir>> {
    let table = mounts::table().ok()?;
    let mount = line_of(directory, &table)?;
    let below = path_below(directory, &mount)?;
    let mut layers = Vec::new();
    for option in mount.options.split(|byte| *byte == b',') {
        let Some(paths) = option.strip_prefix(b"lowerdir=").or_else(|| option.strip_prefix(b"lowerdir+="))
        else {
            continue;
        };
        for layer in paths.split(|byte| *byte == b':').filter(|layer| !layer.is_empty()) {
            let layer = path(layer);
            if layer.is_relative() || !layer.is_dir() {
                return None;
            }
            match Dir::open(layer.join(&below)) {
                Ok(directory) if directory.file_system() == FileSystem::Overlay => return None,
                Ok(directory) => layers.push(directory),
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(_) => return None,
            }
        }
    }
    Some(layers)
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
        Ok(directory) => Ok(Upper { directory, is_itself: true }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Upper { directory: root, is_itself: false }),
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
