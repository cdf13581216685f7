//! Metadata of an entry on Linux.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::UNIX_EPOCH;

use megadir_inventory::Row;

use super::Meta;

/// Inode numbers are reused.
pub(super) const UNIQUE_NUMBERS: bool = false;
/// The times of directories are compared.
pub(super) const DIRECTORY_TIMES: bool = true;

/// Fields compared for the root itself.
pub(super) fn of_root(meta: Meta) -> Meta {
    meta
}

pub(super) fn meta(path: &Path) -> Meta {
    let meta = std::fs::symlink_metadata(path).unwrap();
    let kind = match meta.file_type() {
        kind if kind.is_dir() => "directory",
        kind if kind.is_symlink() => "symlink",
        kind if kind.is_fifo() => "fifo",
        _ => "file",
    };
    let born = meta.created().ok().map(|born| born.duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64);
    Meta {
        kind,
        device: meta.dev(),
        inode: meta.ino(),
        born_ns: born,
        size: meta.size(),
        mtime_ns: meta.mtime() * 1_000_000_000 + meta.mtime_nsec(),
        ctime_ns: meta.ctime() * 1_000_000_000 + meta.ctime_nsec(),
        mode: meta.mode() & 0o7777,
        owner: (meta.uid(), meta.gid()),
        links: meta.nlink(),
    }
}

pub(super) fn of_row(row: &Row<'_>) -> Meta {
    let facts = row.facts;
    Meta {
        kind: facts.kind.name(),
        device: facts.device.unwrap(),
        inode: facts.inode.unwrap(),
        born_ns: facts.born_ns,
        size: facts.size_bytes.unwrap(),
        mtime_ns: facts.modified_ns.unwrap(),
        ctime_ns: facts.changed_ns.unwrap(),
        mode: facts.mode.unwrap().into(),
        owner: (facts.user.unwrap(), facts.group.unwrap()),
        links: facts.links.unwrap(),
    }
}
