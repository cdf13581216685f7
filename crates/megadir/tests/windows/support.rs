//! Expected values, from the standard library alone.

use std::collections::BTreeMap;
use std::os::windows::fs::MetadataExt;
use std::path::Path;

use megadir::policy::{self, Choice};
use megadir::{
    AttributeChoice, AttributeListing, Attributes, Backend, Dir, ErrorKind, FileType, ReadOptions, Result,
    StatBackend, StatMask, Strategy, Time,
};
use megadir_testkit::require;

pub(super) type Rows = BTreeMap<Vec<u8>, Attributes>;

/// Attributes that the standard library returns.
pub(super) const STANDARD: StatMask =
    StatMask::TYPE.union(StatMask::SIZE).union(StatMask::MODIFIED).union(StatMask::BORN);

/// Rows of a directory by the standard library.
pub(super) fn truth(directory: &Path) -> Rows {
    let entries = std::fs::read_dir(directory).unwrap();
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            let kind = match metadata.file_type() {
                kind if kind.is_symlink() => FileType::Symlink,
                kind if kind.is_dir() => FileType::Directory,
                _ => FileType::File,
            };
            let row = Attributes {
                have: STANDARD,
                kind,
                size_bytes: metadata.file_size(),
                modified: time(metadata.last_write_time()),
                born: time(metadata.creation_time()),
                ..Attributes::NOTHING
            };
            (entry.file_name().as_encoded_bytes().to_vec(), row)
        })
        .collect()
}

/// Converts units of 100 ns since 1601.
fn time(ticks: u64) -> Time {
    let since_1970 = i128::from(ticks) - 116_444_736_000_000_000;
    Time {
        seconds: since_1970.div_euclid(10_000_000) as i64,
        nanoseconds: since_1970.rem_euclid(10_000_000) as u32 * 100,
    }
}

/// Choice of a backend and a stat backend, at once.
pub(super) fn choice(
    directory: &Dir,
    backend: &'static dyn Backend,
    stat_backend: &str,
    buffer_bytes: usize,
) -> AttributeChoice {
    let picked = policy::choose(directory, 1).unwrap();
    let options = ReadOptions::serial(buffer_bytes);
    AttributeChoice {
        listing: Choice { backend, options, ..picked },
        strategy: Strategy::AtOnce,
        stat_backend: megadir::stat_backend(stat_backend).unwrap(),
        want: StatMask::ALL,
        slow_device: false,
        reason: "the test tries every way",
    }
}

/// Lists and examines a directory; each name comes once.
pub(super) fn examined(path: &Path, choice: &AttributeChoice) -> Result<Rows> {
    let mut rows = Rows::new();
    let mut listing = AttributeListing::with_choice(Dir::open(path)?, *choice)?;
    while let Some(batch) = listing.next_batch()? {
        for (entry, row) in batch.entries() {
            let twice = rows.insert(entry.name.to_vec(), *row);
            assert!(twice.is_none(), "{choice}: {} came twice", entry.name.escape_ascii());
        }
    }
    Ok(rows)
}

/// Asserts equal rows for the attributes that both have.
pub(super) fn assert_same(found: &Rows, expected: &Rows, fields: StatMask, label: &str) {
    assert_eq!(found.len(), expected.len(), "{label}");
    for (name, expected) in expected {
        let shown = name.escape_ascii();
        let row = found.get(name).unwrap_or_else(|| panic!("{label}: {shown} is missing"));
        assert_eq!(row.error, 0, "{label}: {shown}");
        let both = fields & row.have & expected.have;
        let reduced = |row: &Attributes| Attributes {
            have: both,
            kind: if both.contains(StatMask::TYPE) { row.kind } else { FileType::Unknown },
            size_bytes: if both.contains(StatMask::SIZE) { row.size_bytes } else { 0 },
            modified: if both.contains(StatMask::MODIFIED) { row.modified } else { Time::EPOCH },
            changed: if both.contains(StatMask::CHANGED) { row.changed } else { Time::EPOCH },
            born: if both.contains(StatMask::BORN) { row.born } else { Time::EPOCH },
            inode: if both.contains(StatMask::INODE) { row.inode } else { 0 },
            ..Attributes::NOTHING
        };
        assert_eq!(reduced(row), reduced(expected), "{label}: {shown}");
    }
}

/// Backends that return attributes here; unavailable ones are reported.
pub(super) fn bringing(directory: &Dir) -> Vec<&'static dyn Backend> {
    let bring = |backend: &&dyn Backend| {
        if backend.provides() == StatMask::NOTHING {
            return false;
        }
        let Err(refusal) = backend.probe(directory) else { return true };
        assert!(require::is_wine() && refusal.kind() == ErrorKind::Unavailable, "{refusal}");
        require::unavailable(&format!("attributes brought by {}", backend.name()), &refusal.reason());
        false
    };
    megadir::BACKENDS.iter().copied().filter(bring).collect()
}

/// Stat backends that ask for one entry at a time.
pub(super) fn asking() -> impl Iterator<Item = &'static dyn StatBackend> {
    megadir::STAT_BACKENDS.iter().copied().filter(|stat_backend| !stat_backend.is_listed())
}
