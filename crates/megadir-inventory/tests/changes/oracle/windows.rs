//! Metadata of an entry on Windows. File ID and change time, which the standard library lacks, come from the
//! opened file.

use std::os::windows::fs::MetadataExt;
use std::path::Path;

use megadir::{BatchBuilder, Dir, FileType, StatMask};
use megadir_inventory::{Facts, Row};

use super::Meta;

/// A file ID alone identifies a file.
pub(super) const UNIQUE_NUMBERS: bool = true;
/// The times of directories may be updated late.
pub(super) const DIRECTORY_TIMES: bool = false;

/// Offset between the epochs of 1601 and 1970, in units of 100 ns.
const EPOCHS_APART: i64 = 116_444_736_000_000_000;

fn ns(ticks: u64) -> i64 {
    (ticks.cast_signed() - EPOCHS_APART) * 100
}

/// Fields compared for the root itself: each scan opens it, so its link count is known.
pub(super) fn of_root(mut meta: Meta) -> Meta {
    meta.links = 0;
    meta
}

pub(super) fn meta(path: &Path) -> Meta {
    let status = std::fs::symlink_metadata(path).unwrap();
    let kind = if status.is_dir() { "directory" } else { "file" };
    let facts = facts(path);
    let file_time = |ns: i64| if status.is_dir() { 0 } else { ns };
    Meta {
        kind,
        device: 0,
        inode: facts.inode.unwrap(),
        born_ns: Some(file_time(ns(status.creation_time()))),
        size: if status.is_dir() { 0 } else { status.len() },
        mtime_ns: file_time(ns(status.last_write_time())),
        ctime_ns: file_time(facts.changed_ns.unwrap()),
        mode: 0,
        owner: (0, 0),
        links: facts.links.unwrap(),
    }
}

/// Opens an entry and queries it.
fn facts(path: &Path) -> Facts {
    let mut batch = BatchBuilder::new(1024, false);
    assert!(batch.push(megadir::names::from_os(path.file_name().unwrap()), 0, FileType::Unknown, 0));
    let directory = Dir::open(path.parent().unwrap()).unwrap();
    let mut examine = megadir::stat_backend("open-each").unwrap().start(&directory, StatMask::ALL).unwrap();
    let mut rows = Vec::new();
    examine.examine(&directory, batch.batch(), &mut rows).unwrap();
    assert_eq!(rows[0].error, 0, "{}", path.display());
    Facts::new(FileType::Unknown, &rows[0])
}

pub(super) fn of_row(row: &Row<'_>) -> Meta {
    let facts = row.facts;
    let file_time = |ns: i64| if facts.kind == FileType::Directory { 0 } else { ns };
    Meta {
        kind: facts.kind.name(),
        device: 0,
        inode: facts.inode.unwrap(),
        born_ns: facts.born_ns.map(file_time),
        size: if facts.kind == FileType::Directory { 0 } else { facts.size_bytes.unwrap() },
        mtime_ns: file_time(facts.modified_ns.unwrap()),
        ctime_ns: file_time(facts.changed_ns.unwrap()),
        mode: facts.mode.unwrap_or(0).into(),
        owner: (facts.user.unwrap_or(0), facts.group.unwrap_or(0)),
        links: facts.links.filter(|_| !row.key.is_root()).unwrap_or(0),
    }
}
