//! The order in which a worker goes through its files.
//!
//! | order | memory a file while it is prepared | during the block |
//! |---|---|---|
//! | as written, random | none | none |
//! | as listed | 20 bytes | 4 bytes |
//! | by inode | 36 bytes | 4 bytes |
//!
//! For the last two the directories are listed beforehand, outside the time. Names are found by a hash of 64 bits of their
//! path; a name that is not of the set, and one that is missing, is counted as wrong.

use megadir::{Dir, ReadOptions};
use megadir_record::{Access, FileOrder};
use megadir_stats::permutation::Permutation;

use super::failed;
use super::task::{Set, Task, directories, path_key};
use crate::at::{self, At};
use crate::control::{RunControl, WorkError};

/// The most files of a worker whose order is prepared: 1.2 GiB while it is.
pub(super) const LISTED_MAX: u64 = 1 << 25;
const BUFFER_BYTES: usize = 128 << 10;

/// An order of the files of a set.
#[derive(Debug)]
pub(super) enum Order {
    AsWritten,
    Random(Permutation),
    /// The numbers themselves.
    Listed(Vec<u32>),
}

impl Order {
    /// Returns the number in the set of the file that comes as the `nth`.
    #[inline]
    pub(super) fn get(&self, nth: u64) -> u64 {
        match self {
            Self::AsWritten => nth,
            Self::Random(permutation) => permutation.get(nth).unwrap_or(nth),
            Self::Listed(numbers) => numbers.get(nth as usize).map_or(nth, |number| u64::from(*number)),
        }
    }

    /// Prepares the order of a task; returns how many names were not those that were expected.
    pub(super) fn prepare(
        task: &Task,
        set: &Set,
        top: &Dir,
        control: RunControl<'_>,
    ) -> Result<(Self, u64), WorkError> {
        match task.work.access {
            Access::Directory | Access::Name { order: FileOrder::AsWritten } => Ok((Self::AsWritten, 0)),
            Access::Name { order: FileOrder::Random } => {
                Ok((Self::Random(Permutation::new(set.count(), task.block_seed)), 0))
            }
            Access::Name { order: FileOrder::Listing } => listed(set, top, false, control),
            Access::Name { order: FileOrder::Inode } => listed(set, top, true, control),
        }
    }
}

/// Returns the order in which the files are listed, directory by directory, or that of their inodes.
fn listed(set: &Set, top: &Dir, by_inode: bool, control: RunControl<'_>) -> Result<(Order, u64), WorkError> {
    let (directories, keys) = look_through(set, control)?;
    let mut numbers: Vec<(u64, u32)> = Vec::with_capacity(keys.len());
    let mut wrong = 0;
    let backend = megadir::backend(at::LISTED_BY)?;
    let options = ReadOptions { buffer_bytes: BUFFER_BYTES, threads: 1, shares: 1, resolve_types: false };
    for path in &directories {
        let directory = match path.is_empty() {
            true => top.again()?,
            false => {
                let opened = at::open_below(top.at(), path).map_err(failed("opening a directory"))?;
                Dir::from_descriptor(opened, String::from_utf8_lossy(path).as_ref())
            }
        };
        let mut reader = backend.open(&directory, &options)?;
        while let Some(batch) = reader.next_batch()? {
            control.check()?;
            for entry in batch.entries().filter(|entry| entry.kind != megadir::FileType::Directory) {
                let key = path_key(path, entry.name);
                match keys.binary_search_by_key(&key, |(key, _)| *key) {
                    Ok(at) => numbers.push((entry.inode, keys[at].1)),
                    // In a tree of several workers it is another one's.
                    Err(_) => wrong += u64::from(!set.shared()),
                }
            }
        }
    }
    wrong += (keys.len() as u64).saturating_sub(numbers.len() as u64);
    drop(keys);
    if by_inode {
        numbers.sort_unstable();
    }
    let mut numbers: Vec<u32> = numbers.into_iter().map(|(_, number)| number).collect();
    complete(&mut numbers, set.count());
    Ok((Order::Listed(numbers), wrong))
}

/// Appends the numbers that are missing, so that every file is gone through once.
fn complete(numbers: &mut Vec<u32>, count: u64) {
    if numbers.len() as u64 == count {
        return;
    }
    let mut seen = vec![false; count as usize];
    numbers.retain(|number| !std::mem::replace(&mut seen[*number as usize], true));
    numbers.extend((0..count as u32).filter(|number| !seen[*number as usize]));
}

/// Keys of files, ascending, with their numbers.
type Keys = Vec<(u64, u32)>;

/// Returns the directories of a set in the order of their first file, and its files' keys.
fn look_through(set: &Set, control: RunControl<'_>) -> Result<(Vec<Vec<u8>>, Keys), WorkError> {
    let mut keys = Vec::with_capacity(set.count() as usize);
    let directories = directories(set, control, |directory, file, nth| {
        keys.push((path_key(directory, file), nth as u32));
    })?;
    keys.sort_unstable();
    Ok((directories, keys))
}
