//! Failing, panicking and abandoned stat backends and readers: an error is returned once, and nothing stays
//! open. A leaked thread keeps the directory open, so counting descriptors finds threads too.
//!
//! ```text
//! in_every_way: directory -> each strategy and thread count -> check -> descriptors back to one
//! every(call | start): fails at 0, 1, 2, ... until a run without a failure -> rows so far are right, error once
//! ```

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, chown};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use megadir::policy::Choice;
use megadir::{AttributeChoice, AttributeListing, Dir, ErrorKind, StatBackend, StatMask, Strategy};

use crate::faulty::Faulty;
use crate::leaks::{descriptors_below, settled};
use crate::stat_conformance::fresh::Hooked;
use crate::stat_conformance::ground::{Examined, again, drain};
use crate::stat_conformance::trees::{Truth, oracle};
use crate::stat_conformance::{Ground, trees};
use crate::unprivileged::{NOBODY, may_be_listed, unprivileged};
use crate::{faulty, seen};

/// More than fits a 4 KiB buffer and a chunk of a window.
const ENTRIES: u64 = 500;

/// Runs before a call of the stat backend; its error takes the place of the call.
type Before = Box<dyn Fn() -> megadir::Result<()> + Send + Sync>;

/// A directory of its own, its oracle, and each way in turn. The directory's own descriptor is the one that
/// may stay.
fn in_every_way(ground: &Ground, check: impl Fn(&Dir, &Truth, AttributeChoice)) {
    // A shared directory may be open in other tests.
    let path: PathBuf = ground.directory.join(format!("broken-{}", ground.stat_backend.name()));
    std::fs::create_dir(&path).unwrap();
    trees::fill(&path, ENTRIES);
    let directory = Dir::open(&path).unwrap();
    if ground.accepts(&directory) {
        let truth = oracle(&path);
        for way in ground.ways(&directory, StatMask::ALL, 4 << 10) {
            check(&directory, &truth, way);
            assert_eq!(settled(|| descriptors_below(&path) - 1), 0, "{way}: descriptors left open");
        }
    }
    drop(directory);
    std::fs::remove_dir_all(&path).unwrap();
}

pub(super) fn every_call(ground: &Ground) {
    every(ground, "call", |inner, before| Hooked::on_examine(inner, move |_| before()));
}

pub(super) fn every_start(ground: &Ground) {
    every(ground, "start", |inner, before| Hooked::on_start(inner, before));
}

/// Fails before one call or start after the other; `hooked` has the stat backend run a function before each.
fn every(
    ground: &Ground,
    what: &str,
    hooked: impl Fn(&'static dyn StatBackend, Before) -> &'static dyn StatBackend,
) {
    in_every_way(ground, |directory, truth, way| {
        let mut fails_at = 0;
        loop {
            let count = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&count);
            let before = move || match counted.fetch_add(1, Ordering::SeqCst) {
                current if current == fails_at => Err(faulty::io()),
                _ => Ok(()),
            };
            let failing = hooked(way.stat_backend, Box::new(before));
            let examined = drain(again(directory), &AttributeChoice { stat_backend: failing, ..way });
            ground.check_rows(&examined.rows, truth, &way.to_string());
            // The failure was not reached: every call has failed once, and this run must be complete.
            if count.load(Ordering::SeqCst) <= fails_at {
                assert!(examined.error.is_none(), "{way}: {:?}", examined.error);
                assert_eq!(examined.rows.len(), truth.len(), "{way}: without an error nothing is missing");
                break;
            }
            let kind = examined.error.map(|error| error.kind());
            assert_eq!(kind, Some(ErrorKind::Io), "{way}, {what} {fails_at}");
            fails_at += 1;
        }
        assert!(fails_at >= 1, "{way}: no {what}");
    });
}

/// Each read of the listing fails once. `Shares` is left out, because it has no single reader that could fail.
pub(super) fn every_read(ground: &Ground) {
    in_every_way(ground, |directory, truth, way| {
        if way.strategy == Strategy::Shares {
            return;
        }
        let mut fails_at = 0;
        loop {
            let broken = Faulty::leaked(way.listing.backend, fails_at, faulty::io);
            let listing = Choice { backend: broken, ..way.listing };
            let examined = drain(again(directory), &AttributeChoice { listing, ..way });
            ground.check_rows(&examined.rows, truth, &way.to_string());
            let done = broken.done();
            let kind = examined.error.map(|error| error.kind());
            assert_eq!(kind, done.failed.then_some(ErrorKind::Io), "{way}, call {fails_at}");
            let readable = |names: BTreeSet<Vec<u8>>| {
                names.iter().map(|name| name.escape_ascii().to_string()).collect::<Vec<_>>()
            };
            let found = examined.rows.into_iter().map(|(name, _)| name).collect();
            // The faulty reader records the names that it passed on: a second reading may have
            // other batches.
            let what = format!("{way}, call {fails_at}: entries read before are not lost");
            seen::assert_same(&readable(found), &readable(done.given), &what);
            if !done.failed {
                break;
            }
            fails_at += 1;
        }
        assert!(fails_at > 2, "{way}: a batch was read before the last failure");
    });
}

pub(super) fn panics(ground: &Ground) {
    in_every_way(ground, |directory, truth, way| {
        for panics_at in 0..3 {
            let calls = AtomicU64::new(0);
            let panicking = Hooked::on_examine(way.stat_backend, move |_| {
                if calls.fetch_add(1, Ordering::SeqCst) == panics_at {
                    // Skips the hook that prints a message, which would look like a failure.
                    resume_unwind(Box::new("wanted by the test"));
                }
                Ok(())
            });
            let choice = AttributeChoice { stat_backend: panicking, ..way };
            let ended = catch_unwind(AssertUnwindSafe(|| drain(again(directory), &choice)));
            if let Ok(Examined { rows, .. }) = ended {
                assert_eq!(rows.len(), truth.len(), "{way}: a panic in call {panics_at} made it short");
            }
        }
    });
}

/// As many batches as a caller may take before it gives up, also none at all.
pub(super) fn dropped_early(ground: &Ground) {
    in_every_way(ground, |directory, _, way| {
        for given_up_after in [0, 1, 2, 3, 1, 0] {
            let mut listing = AttributeListing::with_choice(again(directory), way).unwrap();
            for _ in 0..given_up_after {
                let _ = listing.next_batch().unwrap();
            }
        }
    });
}

const EACCES: i32 = 13;

/// A directory that may be listed but not searched is the case in which names are known and attributes are
/// not: each row must have the kernel's error and no attribute, instead of an error for the whole listing.
/// Run as another user, since root may search everything.
pub(super) fn permissions(ground: &Ground) {
    const ENTRIES: u64 = 700;
    // The mount's root may be closed to other users.
    let parent_path = ground.directory.join(format!("permissions-{}", ground.stat_backend.name()));
    let path = parent_path.join("r--");
    std::fs::create_dir_all(&path).unwrap();
    trees::fill(&path, ENTRIES);
    let parent = Dir::open(&parent_path).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    std::fs::set_permissions(&parent_path, PermissionsExt::from_mode(0o755)).unwrap();
    // May be listed, but not searched.
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o400)).unwrap();
    unprivileged(|| {
        let directory = || parent.open_below(b"r--").unwrap();
        if let Err(refusal) = ground.stat_backend.probe(&directory()) {
            assert_eq!(refusal.kind(), ErrorKind::Unavailable, "{refusal}");
            return;
        }
        for way in ground.ways(&directory(), StatMask::ALL, 4 << 10) {
            let Examined { rows, error, .. } = drain(directory(), &way);
            if !may_be_listed(&directory()) {
                assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::PermissionDenied), "{way}");
                continue;
            }
            if way.strategy == Strategy::Shares {
                // Threads reopen the directory, which needs search permission.
                let kind = error.map(|error| error.kind());
                assert_eq!((kind, rows.len()), (Some(ErrorKind::PermissionDenied), 0), "{way}");
                continue;
            }
            assert!(error.is_none(), "{way}: {error:?}");
            assert_eq!(rows.len() as u64, ENTRIES, "{way}");
            for (name, row) in rows {
                let told = (row.error, row.have);
                assert_eq!(told, (EACCES, StatMask::NOTHING), "{way}: {}", name.escape_ascii());
            }
        }
    });
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::remove_dir_all(&parent_path).unwrap();
}

pub(super) fn nobody(ground: &Ground) {
    // Rows of a user without privileges must equal root's, unless the stat backend refuses.
    for path in [trees::kinds(&ground.directory), trees::various(&ground.directory, 2000)] {
        let directory = Dir::open(&path).unwrap();
        // Attributes do not depend on the reader, so root's oracle serves for all users.
        let truth = oracle(&path);
        unprivileged(|| ground.check(&directory, &truth, StatMask::ALL, 32 << 10));
    }
}
