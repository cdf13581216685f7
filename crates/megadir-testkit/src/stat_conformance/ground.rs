//! Fixture of the stat backend suite: a stat backend, a directory for trees, all strategies, the
//! comparison.
//!
//! ```text
//! ways: strategies x threads x listings -> drain (rows, error) -> once (no name twice) -> wrong (each attribute)
//!                                                                             oracle: std, and statx for
//! birth and mount
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use megadir::policy::Choice;
use megadir::{
    AttributeChoice, AttributeListing, Attributes, Dir, Error, ErrorKind, FileType, ReadOptions, Result,
    StatBackend, StatMask, Strategy, backend, policy,
};

use crate::conformance::run_cases;
use crate::stat_conformance::CASES;
use crate::stat_conformance::trees::{Truth, oracle};

/// Counts the directories that the stat backend examined and refused, so that a suite of refusals is
/// noticed.
pub struct Ground {
    pub stat_backend: &'static dyn StatBackend,
    /// Shared by stat backends whose trees have equal content.
    pub directory: PathBuf,
    examined: AtomicU64,
    refused: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub examined: u64,
    pub refused: u64,
}

pub fn examining(stat_backend: &'static dyn StatBackend, directory: &Path) -> Outcome {
    let ground = Ground::new(stat_backend, directory);
    run_cases(stat_backend.name(), CASES, &ground);
    ground.outcome()
}

// Rows in the order of the listing, with the error that ended it.
#[derive(Debug)]
pub struct Examined {
    pub rows: Vec<(Vec<u8>, Attributes)>,
    pub batches: u64,
    pub error: Option<Error>,
}

/// Nothing may follow the end or an error.
pub fn drain(directory: Dir, choice: &AttributeChoice) -> Examined {
    let (mut rows, mut batches) = (Vec::new(), 0);
    let mut listing = match AttributeListing::with_choice(directory, *choice) {
        Ok(listing) => listing,
        Err(error) => return Examined { rows, batches, error: Some(error) },
    };
    let mut read = || -> Result<()> {
        while let Some(batch) = listing.next_batch()? {
            let before = rows.len();
            rows.extend(batch.entries().map(|(entry, row)| (entry.name.to_vec(), *row)));
            batches += 1;
            assert_eq!(rows.len() - before, batch.len(), "a batch counts its entries");
        }
        Ok(())
    };
    let error = read().err();
    for _ in 0..3 {
        let after = listing.next_batch().map(|batch| batch.map(|batch| batch.len()));
        assert!(matches!(after, Ok(None)), "after {error:?} came {after:?}");
    }
    Examined { rows, batches, error }
}

/// By descriptor: the current user may be unable to reach the path.
pub(super) fn again(directory: &Dir) -> Dir {
    directory.again().unwrap()
}

impl Ground {
    pub fn new(stat_backend: &'static dyn StatBackend, directory: &Path) -> Self {
        let (examined, refused) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { stat_backend, directory: directory.to_owned(), examined, refused }
    }

    pub fn outcome(&self) -> Outcome {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Outcome { examined: count(&self.examined), refused: count(&self.refused) }
    }

    /// Reason why a row of all attributes is wrong. Only attributes that the stat backend lacks may be
    /// missing.
    pub fn wrong(&self, row: &Attributes, truth: &Attributes) -> Option<String> {
        wrong(row, truth, StatMask::ALL, self.stat_backend.lacks())
    }

    /// Checks rows of all attributes, each name once; returns their number.
    pub(super) fn check_rows(&self, rows: &[(Vec<u8>, Attributes)], truth: &Truth, what: &str) -> usize {
        let found = once(rows, what);
        for (name, row) in &found {
            assert_eq!(self.wrong(row, &truth[*name]), None, "{what}: '{}'", name.escape_ascii());
        }
        found.len()
    }

    /// These read tables of the disk or of the file system, which may lag behind the inodes in memory.
    pub fn is_by_inode(&self) -> bool {
        ["xfs-bulkstat", "btrfs-search", "ext4-device"].contains(&self.stat_backend.name())
    }

    /// Waits until a stat backend by inode sees recent changes.
    pub fn settle(&self, directory: &Path) {
        if self.is_by_inode() && self.stat_backend.probe(&Dir::open(directory).unwrap()).is_ok() {
            // Milliseconds; a little more than a second.
            std::thread::sleep(std::time::Duration::from_millis(1200));
        }
    }

    pub fn ways(&self, directory: &Dir, want: StatMask, buffer_bytes: usize) -> Vec<AttributeChoice> {
        ways(self.stat_backend, directory, want, buffer_bytes)
    }

    /// `probe`, `start` and every strategy must refuse with the same reason and without rows.
    pub fn accepts(&self, directory: &Dir) -> bool {
        let Err(refusal) = self.stat_backend.probe(directory) else {
            self.examined.fetch_add(1, Ordering::Relaxed);
            return true;
        };
        assert_eq!(refusal.kind(), ErrorKind::Unavailable, "{refusal}");
        // A text of one or two words is no reason.
        assert!(refusal.reason().len() > 20, "a refusal says why: {refusal}");
        assert_eq!(refusal.path(), directory.path());
        let started = self.stat_backend.start(directory, StatMask::ALL).map(drop);
        assert_eq!(started.unwrap_err().kind(), ErrorKind::Unavailable, "probe and start agree");
        for way in self.ways(directory, StatMask::ALL, 32 << 10) {
            let Examined { rows, error, .. } = drain(again(directory), &way);
            assert!(rows.is_empty(), "{way}: {} rows from who refuses", rows.len());
            assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Unavailable), "{way}");
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        false
    }

    pub fn check(&self, directory: &Dir, truth: &Truth, want: StatMask, buffer_bytes: usize) {
        if !self.accepts(directory) {
            return;
        }
        for way in self.ways(directory, want, buffer_bytes) {
            self.same(directory, &way, truth);
        }
    }

    pub fn check_path(&self, path: &Path, buffer_bytes: usize) {
        self.check(&Dir::open(path).unwrap(), &oracle(path), StatMask::ALL, buffer_bytes);
    }

    /// Names, then attributes, then missing names: the first difference is reported with the way that
    /// showed it.
    pub fn same(&self, directory: &Dir, way: &AttributeChoice, truth: &Truth) {
        let Examined { rows, error, .. } = drain(again(directory), way);
        let what = format!("{} in {}: {way}", self.stat_backend.name(), directory.path().display());
        assert!(error.is_none(), "{what}: {error:?}");
        let found = once(&rows, &what);
        for (name, row) in &found {
            let shown = name.escape_ascii();
            let Some(truth) = truth.get(*name) else { panic!("{what}: '{shown}' is not there") };
            if let Some(wrong) = wrong(row, truth, way.want, self.stat_backend.lacks()) {
                panic!("{what}: '{shown}': {wrong}");
            }
        }
        let missing = truth.keys().find(|name| !found.contains_key(&name[..]));
        assert!(
            missing.is_none(),
            "{what}: {:?} is missing",
            missing.map(|name| name.escape_ascii().to_string())
        );
    }
}

pub fn once<'a>(rows: &'a [(Vec<u8>, Attributes)], what: &str) -> BTreeMap<&'a [u8], &'a Attributes> {
    let mut found = BTreeMap::new();
    for (name, row) in rows {
        assert!(found.insert(&name[..], row).is_none(), "{what}: '{}' came twice", name.escape_ascii());
    }
    found
}

/// Every strategy with one thread and with several, over the listings that differ in what a thread gets: raw
/// batches, batches of the standard library, shares of a directory. Windows are both smaller and larger than
/// the trees of the suite, since the last window of a listing is a case of its own.
pub fn ways(
    stat_backend: &'static dyn StatBackend,
    directory: &Dir,
    want: StatMask,
    buffer_bytes: usize,
) -> Vec<AttributeChoice> {
    let picked = policy::choose(directory, 1).unwrap();
    let listed = |name, threads, shares| {
        let options = ReadOptions::serial(buffer_bytes).divided(threads, shares);
        Choice { backend: backend(name).unwrap(), options, ..picked }
    };
    let serial = || listed("getdents", 1, 1);
    let mut ways = vec![
        (serial(), Strategy::AtOnce),
        (listed("std", 1, 1), Strategy::AtOnce),
        (serial(), Strategy::Chunks { threads: 1 }),
        (serial(), Strategy::Chunks { threads: 3 }),
        (serial(), Strategy::Windows { entries: 300, threads: 1 }),
        (serial(), Strategy::Windows { entries: 100_000, threads: 3 }),
    ];
    if backend("split").unwrap().probe(directory).is_ok() {
        ways.push((listed("split", 1, 1), Strategy::Shares));
        ways.push((listed("split", 3, 13), Strategy::Shares));
    }
    let choice = |(listing, strategy)| AttributeChoice {
        listing,
        strategy,
        stat_backend,
        want,
        slow_device: matches!(strategy, Strategy::Windows { .. }),
        reason: "the suite tries every way",
    };
    // A new attribute of the library must be added here, or no case would look at it.
    assert_eq!(FIELDS.into_iter().collect::<StatMask>(), StatMask::ALL, "the suite knows every attribute");
    ways.into_iter().map(choice).collect()
}

pub const FIELDS: [StatMask; 14] = [
    StatMask::TYPE,
    StatMask::SIZE,
    StatMask::MODIFIED,
    StatMask::CHANGED,
    StatMask::BORN,
    StatMask::MODE,
    StatMask::OWNER,
    StatMask::LINKS,
    StatMask::INODE,
    StatMask::DEVICE,
    StatMask::MOUNT,
    StatMask::ALLOCATED,
    StatMask::ACCESSED,
    StatMask::SPECIAL,
];

/// Panics if `field` is not a single attribute.
pub(super) fn agree(one: &Attributes, other: &Attributes, field: StatMask) -> bool {
    match field {
        StatMask::TYPE => one.kind == other.kind,
        StatMask::SIZE => one.size_bytes == other.size_bytes,
        StatMask::MODIFIED => one.modified == other.modified,
        StatMask::CHANGED => one.changed == other.changed,
        StatMask::BORN => one.born == other.born,
        StatMask::MODE => one.mode == other.mode,
        StatMask::OWNER => (one.user, one.group) == (other.user, other.group),
        StatMask::LINKS => one.links == other.links,
        StatMask::INODE => one.inode == other.inode,
        StatMask::DEVICE => one.device == other.device,
        StatMask::MOUNT => one.mount == other.mount,
        StatMask::ALLOCATED => one.allocated_bytes == other.allocated_bytes,
        // Listing a directory and reading a link are accesses, which may come between the two rows.
        StatMask::ACCESSED if matches!(one.kind, FileType::Directory | FileType::Symlink) => true,
        StatMask::ACCESSED => one.accessed == other.accessed,
        StatMask::SPECIAL => one.special == other.special,
        several => panic!("{several:?} is not one attribute"),
    }
}

/// A row must have all of `want` that `truth` has except `lacking`, nothing else, and agree with `truth`.
/// So an attribute that is invented fails as well as one that is lost.
pub fn wrong(row: &Attributes, truth: &Attributes, want: StatMask, lacking: StatMask) -> Option<String> {
    if row.error != 0 {
        return Some(format!("error {} ({})", row.error, std::io::Error::from_raw_os_error(row.error)));
    }
    for field in FIELDS {
        let has = row.have.contains(field);
        let must = want.contains(field) && truth.have.contains(field) && !lacking.contains(field);
        let may = want.contains(field) && truth.have.contains(field);
        if must && !has {
            return Some(format!("{field:?} is missing"));
        }
        if has && !may {
            return Some(format!("{field:?} is returned, but not requested or unavailable"));
        }
        if has && !agree(row, truth, field) {
            return Some(format!("{field:?} differs: {row:?} instead of {truth:?}"));
        }
    }
    None
}
