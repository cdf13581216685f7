//! Collected entries of a reader, owned and comparable.

use megadir::{Backend, Dir, Entry, Error, FileType, ReadOptions, Reader, Result};

/// One entry as a reader returned it. Two readers of the same directory must agree on name, inode and kind;
/// the cookie and the length of the record exist only in raw listings, and the fields are in the order of
/// sorting.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    pub name: Vec<u8>,
    pub inode: u64,
    pub kind: FileType,
    pub cookie: Option<i64>,
    pub record_bytes: u16,
}

/// Name, inode and type: equal for every backend.
pub type Identity = (Vec<u8>, u64, FileType);

impl Seen {
    pub fn of(entry: &Entry<'_>) -> Self {
        Self {
            name: entry.name.to_vec(),
            inode: entry.inode,
            kind: entry.kind,
            cookie: entry.cookie,
            record_bytes: entry.record_bytes,
        }
    }

    pub fn names(seen: &[Self]) -> Vec<&[u8]> {
        seen.iter().map(|seen| &seen.name[..]).collect()
    }
}

/// Result of a reader that was read to its end or its error.
#[derive(Debug)]
pub struct Drained {
    pub seen: Vec<Seen>,
    pub batches: u64,
    pub error: Option<Error>,
}

/// Nothing may follow the end or an error. Panics on `.` and `..`.
pub fn drain(reader: &mut dyn Reader) -> Drained {
    let (mut seen, mut batches) = (Vec::new(), 0);
    let mut read = || -> Result<()> {
        while let Some(batch) = reader.next_batch()? {
            let new: Vec<Seen> = batch.entries().map(|entry| Seen::of(&entry)).collect();
            assert_eq!(new.len(), batch.len(), "a batch counts its entries");
            assert_eq!(batch.is_empty(), new.is_empty());
            let unknown = new.iter().filter(|seen| seen.kind == FileType::Unknown).count();
            assert_eq!(unknown, batch.unknown_types(), "a batch counts its unknown types");
            seen.extend(new);
            batches += 1;
        }
        Ok(())
    };
    let error = read().err();
    // A reader that continues after its end would make a loop endless.
    for _ in 0..3 {
        let after = reader.next_batch();
        assert!(matches!(after, Ok(None)), "after {error:?} came {after:?}");
    }
    assert!(seen.iter().all(|seen| seen.name != b"." && seen.name != b".."), "dots are left out");
    Drained { seen, batches, error }
}

pub fn list(backend: &dyn Backend, directory: &Dir, options: &ReadOptions) -> Result<Vec<Seen>> {
    let mut reader = backend.open(directory, options)?;
    let drained = drain(&mut *reader);
    assert!(drained.error.is_none(), "{} with {options:?}: {:?}", backend.name(), drained.error);
    Ok(drained.seen)
}

/// Sorted; panics on repeated names. Inodes are 0 on Windows, where some backends have none.
pub fn identities(seen: &[Seen]) -> Vec<Identity> {
    let inode = |seen: &Seen| if cfg!(windows) { 0 } else { seen.inode };
    let mut identities: Vec<Identity> =
        seen.iter().map(|seen| (seen.name.clone(), inode(seen), seen.kind)).collect();
    identities.sort_unstable();
    if let Some(twice) = identities.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        panic!("a name came more than once: {:?}", twice[0].0.escape_ascii().to_string());
    }
    identities
}

pub fn assert_same<T: Ord + std::fmt::Debug>(found: &[T], expected: &[T], what: &str) {
    // Both sides are sorted, so a name is looked up; a whole listing of a million entries would hide the
    // difference.
    if found == expected {
        return;
    }
    let missing: Vec<_> = expected.iter().filter(|one| found.binary_search(one).is_err()).collect();
    let extra: Vec<_> = found.iter().filter(|one| expected.binary_search(one).is_err()).collect();
    let few = |of: &[&T]| format!("{} {:?}", of.len(), &of[..of.len().min(5)]);
    panic!(
        "{what}: {} entries, {} expected; missing {}; not expected {}",
        found.len(),
        expected.len(),
        few(&missing),
        few(&extra)
    );
}

/// The standard library's listing of the same directory, with types resolved.
pub fn oracle(directory: &Dir) -> Vec<Identity> {
    let std = megadir::backend("std").unwrap();
    let options = ReadOptions { resolve_types: true, ..ReadOptions::serial(128 << 10) };
    identities(&list(std, directory, &options).unwrap())
}
