//! Failing and abandoned readers: an error is returned once, nothing follows it, and nothing stays open.

use megadir::policy::{self, Choice};
use megadir::{Dir, Error, ErrorKind, Listing};

use super::Ground;
use crate::faulty::{self, Faulty};
use crate::leaks::{descriptors_below, settled};
use crate::seen::{Drained, Seen, drain, identities, oracle};
use crate::tree::Flat;

fn list_faulty(ground: &Ground, directory: &Dir, fails_at: u64, error: fn() -> Error) -> Drained {
    let choice = Choice {
        backend: Faulty::leaked(ground.backend, fails_at, error),
        options: ground.options(4 << 10),
        ..policy::choose(directory, 1).unwrap()
    };
    match Listing::with_choice(directory, choice) {
        Ok(listing) => drain(&mut Relay(listing)),
        Err(error) => Drained { seen: Vec::new(), batches: 0, error: Some(error) },
    }
}

/// Listing behind the reader interface.
struct Relay(Listing);

impl megadir::Reader for Relay {
    fn next_batch(&mut self) -> megadir::Result<Option<megadir::Batch<'_>>> {
        self.0.next_batch()
    }

    fn calls(&self) -> Option<u64> {
        self.0.calls()
    }
}

pub(super) fn every_call(ground: &Ground) {
    let path = Flat::plain(1500).ensure(&ground.directory);
    let directory = Dir::open(&path).unwrap();
    if !ground.accepts(&directory) {
        return;
    }
    let all = oracle(&directory);
    let whole = list_faulty(ground, &directory, u64::MAX, faulty::io);
    assert_eq!(identities(&whole.seen), all);
    // The call after the last batch may fail too. With shares the number of batches varies, so a call may never
    // be made.
    for fails_at in 0..whole.batches + 3 {
        let (error, kind): (fn() -> Error, _) = match fails_at % 2 {
            0 => (faulty::io, ErrorKind::Io),
            _ => (faulty::not_found, ErrorKind::NotFound),
        };
        let broken = list_faulty(ground, &directory, fails_at, error);
        let found = identities(&broken.seen);
        assert!(found.iter().all(|one| all.binary_search(one).is_ok()), "before the error: a subset");
        match broken.error {
            Some(error) => {
                assert_eq!(error.kind(), kind);
                assert_eq!(broken.batches, fails_at.saturating_sub(1), "the error comes when it happens");
            }
            None => assert_eq!(found, all, "without an error nothing is missing"),
        }
        if !ground.backend.uses_threads() {
            assert_eq!(Seen::names(&broken.seen), Seen::names(&whole.seen[..broken.seen.len()]), "a prefix");
        }
    }
    drop(directory);
    assert_eq!(settled(|| descriptors_below(&path)), 0, "descriptors left open");
}

pub(super) fn dropped_early(ground: &Ground) {
    let path = Flat::plain(if cfg!(windows) { 1500 } else { 6000 }).ensure(&ground.directory);
    let directory = Dir::open(&path).unwrap();
    if !ground.accepts(&directory) {
        return;
    }
    let calls = [0, 1, 2, 3];
    for given_up_after in calls.into_iter().cycle().take(20) {
        let mut reader = ground.backend.open(&directory, &ground.options(4 << 10)).unwrap();
        for _ in 0..given_up_after {
            let _ = reader.next_batch().unwrap();
        }
    }
    drop(directory);
    assert_eq!(settled(|| descriptors_below(&path)), 0, "descriptors left open");
}
