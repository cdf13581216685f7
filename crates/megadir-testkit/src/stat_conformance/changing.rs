//! Entries that vanish or are replaced between listing and examining.
//!
//! ```text
//!             listed          hook: changed here         examined
//! entry ------|---------------------|----------------------|--> row: all old, all new, or vanished; never mixed
//! ```
//!
//! The hook of [`Hooked`] runs exactly between listing and examining, so no case depends on luck, apart
//! from the one with a writer.

use std::collections::HashSet;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use megadir::{AttributeChoice, Dir, FileSystem, StatMask, Time};

use super::ground::{again, drain, once};
use super::{Ground, trees};
use crate::require::full;
use crate::rng::Rng;
use crate::stat_conformance::fresh::Hooked;
use crate::stat_conformance::trees::{Truth, oracle};

/// More than fits a 4 KiB buffer and a chunk of a window.
const ENTRIES: u64 = 320;

// One in four entries stays; the others meet three different fates. The last digit of a name decides, so
// that hook and check agree without a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    First,
    Second,
    Third,
}

fn fate(name: &[u8]) -> Fate {
    [Fate::Stays, Fate::First, Fate::Second, Fate::Third][usize::from(name[15]) % 4]
}

/// Each way has a directory of its own, since the hook changes it. All are made before the first check, so
/// that one wait settles them.
fn in_every_way(ground: &Ground, purpose: &str, check: impl Fn(&Path, &Dir, AttributeChoice)) {
    let parent = ground.directory.join(format!("{purpose}-{}", ground.stat_backend.name()));
    let make = |way: usize| {
        let path = parent.join(way.to_string());
        std::fs::create_dir_all(&path).unwrap();
        trees::fill(&path, ENTRIES);
        Dir::open(&path).unwrap()
    };
    let ways = |directory: &Dir| ground.ways(directory, StatMask::ALL, 4 << 10);
    let first = make(0);
    if ground.accepts(&first) {
        let others: Vec<Dir> = (1..ways(&first).len()).map(make).collect();
        ground.settle(&parent);
        for (index, directory) in std::iter::once(&first).chain(&others).enumerate() {
            check(directory.path(), directory, ways(directory)[index]);
        }
    }
    std::fs::remove_dir_all(&parent).unwrap();
}

pub(super) fn vanishing(ground: &Ground) {
    in_every_way(ground, "vanishing", |path, directory, way| {
        let truth = oracle(path);
        let below = path.to_owned();
        let removing = Hooked::on_examine(way.stat_backend, move |batch| {
            for entry in batch.entries().filter(|entry| fate(entry.name) == Fate::First) {
                std::fs::remove_file(entry_path(&below, entry.name)).unwrap();
            }
            Ok(())
        });
        let examined = drain(again(directory), &AttributeChoice { stat_backend: removing, ..way });
        assert!(examined.error.is_none(), "{way}: entries that vanish are no error: {:?}", examined.error);
        let found = once(&examined.rows, &way.to_string());
        assert_eq!(found.len(), truth.len(), "{way}: vanished entries are among them");
        for (name, row) in found {
            let shown = name.escape_ascii();
            if fate(name) == Fate::First {
                assert!(
                    row.has_vanished() && row.have == StatMask::NOTHING,
                    "{way}: '{shown}' vanished: {row:?}"
                );
            } else {
                assert_eq!(ground.wrong(row, &truth[name]), None, "{way}: '{shown}' stayed");
            }
        }
    });
}

pub(super) fn changed(ground: &Ground) {
    in_every_way(ground, "changed", |path, directory, way| {
        let before = oracle(path);
        let below = path.to_owned();
        let changing = Hooked::on_examine(way.stat_backend, move |batch| {
            batch.entries().for_each(|entry| change(&entry_path(&below, entry.name)));
            Ok(())
        });
        let examined = drain(again(directory), &AttributeChoice { stat_backend: changing, ..way });
        assert!(examined.error.is_none(), "{way}: {:?}", examined.error);
        let truth = oracle(path);
        let found = once(&examined.rows, &way.to_string());
        assert_eq!(found.len(), truth.len(), "{way}: all of them");
        for (name, row) in found {
            let wrong_by = |truth: &Truth| {
                let mut truth = truth[name];
                // XFS reserves space behind appended data and gives it back later, perhaps between the row
                // and the oracle.
                if fate(name) != Fate::Stays {
                    truth.allocated_bytes = row.allocated_bytes;
                }
                ground.wrong(row, &truth)
            };
            // Old values are wrong for a stat backend that asks for each entry, and right for one that
            // reads inodes in bulk.
            if !(may_be_old(ground, directory) && wrong_by(&before).is_none()) {
                assert_eq!(wrong_by(&truth), None, "{way}: '{}'", name.escape_ascii());
            }
        }
    });
}

fn change(path: &Path) {
    match fate(path.file_name().unwrap().as_encoded_bytes()) {
        Fate::Stays => {}
        Fate::First => {
            let mut file = std::fs::File::options().append(true).open(path).unwrap();
            file.write_all(&[3; 20_000]).unwrap();
        }
        Fate::Second => std::fs::set_permissions(path, PermissionsExt::from_mode(0o4711)).unwrap(),
        Fate::Third => trees::set_modified(path, Time { seconds: 4_000_000_000, nanoseconds: 5 }),
    }
}

/// Stat backends by inode and caching network clients may report a recent change with old values, but never
/// mix old and new values in one row.
fn may_be_old(ground: &Ground, directory: &Dir) -> bool {
    ground.is_by_inode() || directory.file_system() == FileSystem::Fuse
}

/// Each entry that was listed is replaced by another file right before it is examined. The row must be that
/// of the new file as a whole, never a mixture of both: attributes that come from several calls or from a
/// cache would show here. Where the file system may return old attributes, the whole old row is accepted too.
pub(super) fn replaced(ground: &Ground) {
    in_every_way(ground, "replaced", |path, directory, way| {
        let before = oracle(path);
        let spare = path.with_extension("spare");
        std::fs::create_dir(&spare).unwrap();
        trees::fill(&spare, ENTRIES);
        let spares = oracle(&spare);
        let below = path.to_owned();
        let replaced = Mutex::new(HashSet::new());
        let replacing = Hooked::on_examine(way.stat_backend, move |batch| {
            for entry in batch.entries() {
                // btrfs lists a replaced entry once more at the end.
                if replaced.lock().unwrap().insert(entry.name.to_vec()) {
                    let (entry, spare) = (entry_path(&below, entry.name), entry_path(&spare, entry.name));
                    replace(&entry, &spare);
                }
            }
            Ok(())
        });
        let examined = drain(again(directory), &AttributeChoice { stat_backend: replacing, ..way });
        assert!(examined.error.is_none(), "{way}: {:?}", examined.error);
        let truth = oracle(path);
        let (stayed, changed): (Vec<_>, Vec<_>) =
            examined.rows.into_iter().partition(|(name, _)| fate(name) == Fate::Stays);
        let names: HashSet<_> = changed.iter().map(|(name, _)| &name[..]).collect();
        assert_eq!(once(&stayed, &way.to_string()).len() + names.len(), truth.len(), "{way}: all of them");
        for (name, row) in stayed.iter().chain(&changed) {
            let wrong_by = |truth: &Truth| ground.wrong(row, &truth[name]);
            if may_be_old(ground, directory) && fate(name) != Fate::Stays {
                let is_gone = row.has_vanished() && row.have == StatMask::NOTHING;
                if is_gone || wrong_by(&before).is_none() || wrong_by(&spares).is_none() {
                    continue;
                }
            }
            assert_eq!(wrong_by(&truth), None, "{way}: '{}'", name.escape_ascii());
        }
    });
}

fn replace(path: &Path, spare: &Path) {
    match fate(path.file_name().unwrap().as_encoded_bytes()) {
        Fate::Stays => {}
        Fate::First => {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        }
        Fate::Second => {
            std::fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("somewhere", path).unwrap();
        }
        Fate::Third => std::fs::rename(spare, path).unwrap(),
    }
}

fn entry_path(directory: &Path, name: &[u8]) -> PathBuf {
    directory.join(megadir::names::to_os(name).unwrap())
}

/// A thread changes a part of the entries while all strategies examine the directory; the entries that it
/// leaves alone must have their attributes. A panic of a check is kept until the writer has been joined,
/// because the directory is still in use until then. At least one change must have been made, or the test
/// would pass without a writer.
pub(super) fn beside_a_writer(ground: &Ground) {
    let path = ground.directory.join(format!("beside-{}", ground.stat_backend.name()));
    std::fs::create_dir(&path).unwrap();
    trees::fill(&path, ENTRIES);
    let truth = oracle(&path);
    let directory = Dir::open(&path).unwrap();
    if ground.accepts(&directory) {
        ground.settle(&path);
        let budget = if full() { Duration::from_secs(20) } else { Duration::from_millis(300) };
        let until = Instant::now() + budget;
        let (stop, changes) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| write(&path, &stop, &changes));
            let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let mut rng = Rng::new(9);
                for way in
                    (0..).flat_map(|_| ground.ways(&directory, StatMask::ALL, rng.pick(&[4096, 16 << 10])))
                {
                    untouched(ground, &directory, &way, &truth);
                    if Instant::now() > until && changes.load(Ordering::Relaxed) > 0 {
                        break;
                    }
                }
            }));
            stop.store(true, Ordering::Relaxed);
            writer.join().unwrap();
            checked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
    }
    std::fs::remove_dir_all(&path).unwrap();
}

const TOUCHED: &str = "touched-";

/// Untouched entries come exactly once with correct values; touched ones cause no other error.
fn untouched(ground: &Ground, directory: &Dir, way: &AttributeChoice, truth: &Truth) {
    // Entries of the writer may be missing, present or half made; only an error other than "not found" is
    // wrong.
    let examined = drain(again(directory), way);
    assert!(examined.error.is_none(), "{way}: {:?}", examined.error);
    let (touched, rows): (Vec<_>, Vec<_>) =
        examined.rows.into_iter().partition(|(name, _)| name.starts_with(TOUCHED.as_bytes()));
    for (name, row) in &touched {
        assert!(row.error == 0 || row.has_vanished(), "{way}: {}: {row:?}", name.escape_ascii());
    }
    let found = ground.check_rows(&rows, truth, &way.to_string());
    assert_eq!(found, truth.len(), "{way}: every untouched entry");
}

fn write(path: &Path, stop: &AtomicBool, changes: &AtomicU64) {
    let mut rng = Rng::new(1);
    // Names are drawn from 600, so that most calls meet an entry of an earlier one.
    while !stop.load(Ordering::Relaxed) {
        let name = |rng: &mut Rng| path.join(format!("{TOUCHED}{}", rng.within(0, 600)));
        let (one, other) = (name(&mut rng), name(&mut rng));
        // Each call may fail, depending on the current entries.
        let _ = match rng.within(0, 5) {
            0 | 1 => std::fs::write(&one, vec![0; rng.within(0, 9000) as usize]),
            2 => std::fs::create_dir(&one),
            3 => std::fs::rename(&one, &other),
            4 => std::fs::remove_file(&one),
            _ => std::fs::remove_dir(&one),
        };
        changes.fetch_add(1, Ordering::Relaxed);
    }
}
