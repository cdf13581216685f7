//! Directories that change while they are read.

use std::collections::BTreeSet;

use megadir::{Dir, ErrorKind};

use super::Ground;
use crate::seen::{Seen, drain};
use crate::tree::{Flat, Maker};

/// Enough for several 4 KiB buffers; Wine takes a millisecond per file.
const ENTRIES: u64 = if cfg!(windows) { 400 } else { 6000 };

fn make(ground: &Ground, purpose: &str) -> (std::path::PathBuf, BTreeSet<Vec<u8>>) {
    let path = ground.directory.join(format!("{purpose}-{}", ground.backend.name()));
    let flat = Flat::plain(ENTRIES);
    flat.build(&path);
    (path, (0..ENTRIES).map(|index| flat.name(index)).collect())
}

pub(super) fn vanishing(ground: &Ground) {
    let (path, all) = make(ground, "vanishing");
    let directory = Dir::open(&path).unwrap();
    if ground.accepts(&directory) {
        let mut reader = ground.backend.open(&directory, &ground.options(4 << 10)).unwrap();
        let batch = reader.next_batch().unwrap().unwrap();
        let mut seen: Vec<Vec<u8>> = batch.entries().map(|entry| Seen::of(&entry).name).collect();
        let maker = Maker::open(&path);
        let mut untouched = all.clone();
        for name in all.iter().step_by(2) {
            maker.remove(name);
            untouched.remove(name);
        }
        let rest = drain(&mut *reader);
        assert!(rest.error.is_none(), "entries that vanish are no error: {:?}", rest.error);
        seen.extend(rest.seen.into_iter().map(|seen| seen.name));
        let unique: BTreeSet<_> = seen.iter().cloned().collect();
        assert_eq!(unique.len(), seen.len(), "each name once");
        assert!(unique.is_subset(&all), "nothing that never existed");
        assert!(untouched.is_subset(&unique), "every untouched name");
    }
    std::fs::remove_dir_all(&path).unwrap();
}

pub(super) fn removed(ground: &Ground) {
    let (path, all) = make(ground, "removed");
    let directory = Dir::open(&path).unwrap();
    if !ground.accepts(&directory) {
        std::fs::remove_dir_all(&path).unwrap();
        return;
    }
    let options = ground.options(4 << 10);
    let mut reader = ground.backend.open(&directory, &options).unwrap();
    reader.next_batch().unwrap().unwrap();
    let mut unread = ground.backend.open(&directory, &options).unwrap();
    match std::fs::remove_dir_all(&path) {
        // Wine refuses to remove a directory during a search (FindFirstFile).
        Err(error) if crate::require::is_wine() && error.raw_os_error() == Some(32) => {
            let what = format!("removing what {} lists", ground.backend.name());
            crate::require::unavailable(&what, "Wine does not let directories go that are being searched");
            drop((reader, unread));
            return std::fs::remove_dir_all(&path).unwrap();
        }
        removed => removed.unwrap(),
    }
    for reader in [&mut reader, &mut unread] {
        let rest = drain(&mut **reader);
        assert!(rest.seen.iter().all(|seen| all.contains(&seen.name)));
        // The C library reports the end, the kernel an error. Windows refuses to open a directory that is being
        // removed.
        let may_be_refused = cfg!(windows);
        assert!(rest.error.is_none_or(|error| error.kind() == ErrorKind::NotFound
            || (may_be_refused && error.kind() == ErrorKind::PermissionDenied)));
    }
}
