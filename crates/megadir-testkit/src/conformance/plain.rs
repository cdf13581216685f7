//! Directories that stay as they are: sizes, names, buffers, types.

use std::os::fd::{AsFd, OwnedFd};

use megadir::{Dir, FileType, Resolving};

use super::Ground;
use crate::seen::{assert_same, drain, identities, oracle};
use crate::tree::{Flat, Kinds, Maker, Names};
use crate::untyped::Untyped;

/// How many entries with 16-character names fill a buffer of 4 KiB beside `.` and `..`.
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
    ground.check(&path, &ground.options(128 << 10), "many");
}

/// Names that not every file system takes.
const NOT_EVERYWHERE: [Names; 4] = [Names::Shortest, Names::Varied, Names::NotUtf8, Names::EveryByte];

pub(super) fn names(ground: &Ground) {
    for names in Names::ALL {
        // Two counts, since small directories are stored in other forms than large ones.
        for entries in [5, 1500] {
            let flat = Flat { entries, names, kinds: Kinds::Files, seed: 1 };
            let path = flat.ensure(&ground.directory);
            for buffer_bytes in [4 << 10, 32 << 10] {
                ground.check(&path, &ground.options(buffer_bytes), "names");
            }
            let directory = Dir::open(&path).unwrap();
            let Some(found) = ground.list(&directory, &ground.options(4 << 10)) else { continue };
            // The oracle could be wrong in the same way: compare with what was made.
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
    for names in [Names::Longest, Names::Shortest] {
        let flat = Flat { entries: 6000, names, kinds: Kinds::Files, seed: 0 };
        let path = flat.ensure(&ground.directory);
        for buffer_bytes in [4 << 10, (4 << 10) + 1, 32 << 10, 128 << 10, 16 << 20] {
            ground.check(&path, &ground.options(buffer_bytes), "buffers");
        }
    }
}

pub(super) fn types(ground: &Ground) {
    for entries in [10, 2000] {
        let flat = Flat { entries, names: Names::Plain, kinds: Kinds::Mixed, seed: 2 };
        let path = flat.ensure(&ground.directory);
        ground.check(&path, &ground.options(4 << 10), "types");
        let directory = Dir::open(&path).unwrap();
        let Some(found) = ground.list(&directory, &ground.options(4 << 10)) else { continue };
        for kind in [FileType::File, FileType::Directory, FileType::Symlink, FileType::Fifo, FileType::Socket]
        {
            let count = found.iter().filter(|seen| seen.kind == kind).count() as u64;
            assert_eq!(count, entries / 5, "{kind:?}");
        }
    }
}

pub(super) fn unknown_types(ground: &Ground) {
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
