//! Unchanging directories: sizes, names, buffers, types.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use megadir::Dir;

use super::Ground;
use crate::seen::{Identity, assert_same, drain, identities, oracle};
use crate::tree::{Flat, Kinds, MIXED, Maker, Names};

/// Entries with 16-character names that fill a 4 KiB buffer after `.` and `..`.
const BATCH: u64 = (4096 - 2 * 24) / 40;

pub(super) fn sizes(ground: &Ground) {
    for entries in [0, 1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH, 7 * BATCH + 3] {
        let path = Flat::plain(entries).ensure(&ground.directory);
        for buffer_bytes in [4 << 10, 128 << 10] {
            ground.check(&path, &ground.options(buffer_bytes), "sizes");
        }
        let found = ground.list(&Dir::open(&path).unwrap(), &ground.options(4 << 10));
        assert!(found.is_none_or(|found| found.len() as u64 == entries));
    }
}

pub(super) fn many(ground: &Ground) {
    let path = Flat::plain(100_000).ensure(&ground.directory);
    let directory = Dir::open(&path).unwrap();
    let Some(found) = ground.list(&directory, &ground.options(128 << 10)) else { return };
    assert_same(&identities(&found), &oracle_once(&directory), &format!("{} many", ground.backend.name()));
}

/// The oracle of the large directory is computed once for all backends.
fn oracle_once(directory: &Dir) -> Vec<Identity> {
    static KNOWN: Mutex<Option<(PathBuf, Vec<Identity>)>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    match &*known {
        Some((path, identities)) if path == directory.path() => identities.clone(),
        _ => known.insert((directory.path().to_owned(), oracle(directory))).1.clone(),
    }
}

/// Names that a file system may reject. They are checked against the entries that exist, all others against
/// the complete list.
const NOT_EVERYWHERE: &[Names] = if cfg!(windows) {
    &Names::ALL
} else {
    &[Names::Shortest, Names::Varied, Names::NotUtf8, Names::EveryByte]
};

/// More entries than fit a small buffer; Wine takes a millisecond per file.
const SOME: u64 = if cfg!(windows) { 300 } else { 1500 };

pub(super) fn names(ground: &Ground) {
    for names in Names::ALL {
        // Small directories are stored differently from large ones.
        for entries in [5, SOME] {
            let flat = Flat { entries, names, kinds: Kinds::Files, seed: 1 };
            let path = flat.ensure(&ground.directory);
            for buffer_bytes in [4 << 10, 32 << 10] {
                ground.check(&path, &ground.options(buffer_bytes), "names");
            }
            let directory = Dir::open(&path).unwrap();
            let Some(found) = ground.list(&directory, &ground.options(4 << 10)) else { continue };
            // The oracle could be wrong in the same way.
            let mut found: Vec<_> = found.into_iter().map(|seen| seen.name).collect();
            let mut made: Vec<_> = (0..entries).map(|index| flat.name(index)).collect();
            if NOT_EVERYWHERE.contains(&names) {
                let maker = Maker::open(&path);
                made.retain(|name| maker.has(name));
            }
            found.sort_unstable();
            made.sort_unstable();
            assert_same(&found, &made, &format!("{} {names:?}", ground.backend.name()));
        }
    }
}

pub(super) fn buffers(ground: &Ground) {
    for names in [Names::Longest, if cfg!(windows) { Names::Plain } else { Names::Shortest }] {
        let entries = match names {
            // Wine takes ten times as long to list the longest names.
            Names::Longest if cfg!(windows) => SOME,
            _ if cfg!(windows) => 1500,
            _ => 6000,
        };
        let flat = Flat { entries, names, kinds: Kinds::Files, seed: 0 };
        let path = flat.ensure(&ground.directory);
        for buffer_bytes in [4 << 10, (4 << 10) + 1, 32 << 10, 128 << 10, 16 << 20] {
            ground.check(&path, &ground.options(buffer_bytes), "buffers");
        }
    }
}

pub(super) fn types(ground: &Ground) {
    for entries in [10, if cfg!(windows) { 200 } else { 2000 }] {
        let flat = Flat { entries, names: Names::Plain, kinds: Kinds::Mixed, seed: 2 };
        let path = flat.ensure(&ground.directory);
        ground.check(&path, &ground.options(4 << 10), "types");
        let directory = Dir::open(&path).unwrap();
        let Some(found) = ground.list(&directory, &ground.options(4 << 10)) else { continue };
        for kind in MIXED {
            let count = found.iter().filter(|seen| seen.kind == *kind).count() as u64;
            assert_eq!(count, entries / MIXED.len() as u64, "{kind:?}");
        }
    }
}

// A file system without types in its directories is imitated by removing them, so that the test runs on any
// mount.
#[cfg(target_os = "linux")]
pub(super) fn unknown_types(ground: &Ground) {
    use crate::faulty::Untyped;
    use megadir::{FileType, Resolving};
    use std::os::fd::{AsFd, OwnedFd};
    let flat = Flat { entries: 2000, names: Names::Plain, kinds: Kinds::Mixed, seed: 2 };
    let directory = Dir::open(flat.ensure(&ground.directory)).unwrap();
    if !ground.accepts(&directory) {
        return;
    }
    let options = ground.options(4 << 10);
    let inner = || Untyped::new(ground.backend.open(&directory, &options).unwrap());
    let untold = drain(&mut inner());
    assert!(untold.seen.iter().all(|seen| seen.kind == FileType::Unknown));
    let descriptor: OwnedFd = directory.as_fd().try_clone_to_owned().unwrap();
    let told = drain(&mut Resolving::new(inner(), descriptor));
    assert_same(&identities(&told.seen), &oracle(&directory), "types asked of the inodes");
}

/// Two descriptors of one directory share a position unless each reader opens its own.
pub(super) fn two_readers(ground: &Ground) {
    let directory = Dir::open(Flat::plain(5000).ensure(&ground.directory)).unwrap();
    if !ground.accepts(&directory) {
        return;
    }
    let options = ground.options(4 << 10);
    let mut first = ground.backend.open(&directory, &options).unwrap();
    let early = first.next_batch().unwrap().map_or(0, |batch| batch.len());
    let second = drain(&mut *ground.backend.open(&directory, &options).unwrap());
    let rest = drain(&mut *first);
    assert_eq!(early + rest.seen.len(), 5000);
    assert_eq!(identities(&second.seen), oracle(&directory));
}
