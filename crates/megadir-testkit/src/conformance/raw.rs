//! Positions and record lengths, against a plain reader of the kernel's records.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use megadir::Dir;
use rustix::fs::{RawDir, SeekFrom, seek};

use super::Ground;
use crate::tree::{Flat, Kinds, Names};

/// Entries from a position on, with the kernel's cookies; at most `limit` of them. A decoder other than
/// megadir's.
fn serial(directory: &Dir, position: u64, limit: usize) -> Vec<(Vec<u8>, u64)> {
    let descriptor = directory.reopen().unwrap();
    seek(&descriptor, SeekFrom::Start(position)).unwrap();
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(descriptor.as_fd(), &mut buffer);
    let mut found = Vec::new();
    while found.len() < limit {
        let Some(entry) = entries.next() else { break };
        let entry = entry.unwrap();
        let name = entry.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            found.push((name, entry.next_entry_cookie()));
        }
    }
    found
}

/// A cookie is the position after its entry: a seek to it continues with the next entry in the kernel's
/// order. Each seek costs a system call and on some file systems a search, so only one in 97 and the last
/// ones are tried. The length of a record is as in `linux_dirent64`: 19 bytes before the name, its final
/// zero, and padding to 8.
pub(super) fn cookies(ground: &Ground) {
    for flat in [
        Flat::plain(5000),
        Flat { entries: 1500, names: Names::Longest, kinds: Kinds::Files, seed: 1 },
        Flat { entries: 10, names: Names::Plain, kinds: Kinds::Mixed, seed: 2 },
    ] {
        let directory = Dir::open(flat.ensure(&ground.directory)).unwrap();
        let Some(found) = ground.list(&directory, &ground.options(4 << 10)) else { continue };
        if !ground.backend.is_raw() {
            assert!(
                found.iter().all(|seen| seen.cookie.is_none()),
                "a backend without positions returns none"
            );
            continue;
        }
        let order = serial(&directory, 0, usize::MAX);
        let next: HashMap<&[u8], &[u8]> =
            order.windows(2).map(|pair| (&pair[0].0[..], &pair[1].0[..])).collect();
        for (index, seen) in found.iter().enumerate() {
            let record_bytes = (19 + seen.name.len() + 1).next_multiple_of(8);
            assert_eq!(usize::from(seen.record_bytes), record_bytes);
            let cookie = u64::try_from(seen.cookie.unwrap()).unwrap();
            if index % 97 == 0 || index + 3 > found.len() {
                let after = serial(&directory, cookie, 1);
                assert_eq!(
                    after.first().map(|entry| &entry.0[..]),
                    next.get(&seen.name[..]).copied(),
                    "seeking to the cookie of {:?} goes on behind it",
                    seen.name.escape_ascii().to_string()
                );
            }
        }
    }
}
