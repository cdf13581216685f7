//! Task of one worker in one block, as plain data that can be sent to a process.
//!
//! The worker computes its files from the task by itself, so no list of names is sent, and a thread, a
//! process and a rank do the same work for the same task.

use std::collections::HashSet;

use megadir::Dir;
use megadir::layout::Refused;
use megadir_record::{FileWork, Made, Sharing};
use serde::{Deserialize, Serialize};

use crate::control::{Result, RunControl, WorkError};
use crate::dataset::{Files, FilesError, PlaceBuffer};
use crate::kind::name_hash;
use crate::os::{self, At};

const STEP: u64 = 1024;

/// Everything that a worker needs to compute its files, however it was started: as a thread, a process or a rank. It
/// is sent once for each block, and holds no names, so its size does not depend on the number of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) work: FileWork,
    pub(crate) made: Made,
    /// Files of the worker's own tree, or of the tree that all share.
    pub(crate) entries: u64,
    pub(crate) seed: u64,
    pub(crate) block_seed: u64,
    pub(crate) worker: u32,
}

/// Numbers of the files of one worker: the n-th is (`from` + n) · `stride` +
/// `offset`. In a shared
/// tree the stride is the number of workers, so that all of them work in every directory; otherwise it is 1.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    pub(crate) files: Files,
    from: u64,
    pub(crate) count: u64,
    stride: u64,
    offset: u64,
}

impl Set {
    pub(crate) fn shared(&self) -> bool {
        self.stride > 1
    }

    #[inline]
    pub(crate) fn index(&self, nth: u64) -> u64 {
        (self.from + nth) * self.stride + self.offset
    }
}

impl Task {
    /// In a shared tree workers take every n-th file, so that their files are disjoint for any range.
    pub(crate) fn set(&self) -> Result<Set, FilesError> {
        let FileWork { from, to, workers, .. } = &self.work;
        let (from, count) = (*from, to.saturating_sub(*from));
        let files = Files::new(&self.made, self.seed, self.entries)?;
        let (files, stride, offset) = match workers.sharing {
            Sharing::Own => (files.of_worker(self.worker), 1, 0),
            Sharing::Same => (files, u64::from(workers.count.max(1)), u64::from(self.worker)),
        };
        Ok(Set { files, from, count, stride, offset })
    }

    /// Directory of the worker's tree: its own below the data set, or the data set.
    pub(crate) fn top(&self, data: &Dir, make: bool) -> Result<Dir> {
        let name = match self.work.workers.sharing {
            Sharing::Own => Files::worker_directory(self.worker),
            Sharing::Same => return Ok(data.again()?),
        };
        if make {
            let made = os::is_new(os::make_directory(data.at(), name.as_str()));
            made.map_err(WorkError::at("creating a worker's directory"))?;
        }
        Ok(data.open_below(name.as_bytes())?)
    }
}

/// Directories of the worker's files in the order of their first file, with a call of `each` for every
/// file. Known ones are recognized by the hash of their path, which takes less memory than the paths.
pub(crate) fn directories(
    set: &Set,
    control: RunControl<'_>,
    mut each: impl FnMut(&[u8], &[u8], u64),
) -> Result<Vec<Vec<u8>>> {
    let mut directories: Vec<Vec<u8>> = Vec::new();
    let mut known = HashSet::new();
    let mut buffer = PlaceBuffer::new();
    for nth in 0..set.count {
        control.check_every(STEP, nth)?;
        let index = set.index(nth);
        let place = set.files.place(index, &mut buffer).map_err(|reason| no_place(reason, index))?;
        each(place.directory(), place.file(), nth);
        if directories.last().is_some_and(|last| last == place.directory()) {
            continue;
        }
        if known.insert(path_key(place.directory(), b"")) {
            directories.push(place.directory().to_vec());
        }
    }
    Ok(directories)
}

pub(crate) fn no_place(reason: Refused, index: u64) -> WorkError {
    WorkError::other("placing a file", format!("file {index}: {reason}"))
}

/// Hash of a directory's path. It is rotated, so that a directory and a file of the same name differ.
pub(crate) fn directory_key(path: &[u8]) -> u64 {
    if path.is_empty() { 0 } else { name_hash(path).rotate_left(17) }
}

#[inline]
pub(crate) fn file_key(directory_key: u64, name: &[u8]) -> u64 {
    name_hash(name).wrapping_add(directory_key)
}

pub(crate) fn path_key(directory: &[u8], name: &[u8]) -> u64 {
    file_key(directory_key(directory), name)
}

/// Number of files, and a sum over their names, directories and sizes that does not depend on the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checksum {
    pub(crate) files: u64,
    sum: u64,
}

impl Checksum {
    /// Adds a file. The size is mixed into the name's hash, not added to it: two files with exchanged sizes
    /// must show.
    #[inline]
    pub(crate) fn add(&mut self, directory_key: u64, name: &[u8], size_bytes: Option<u64>) {
        self.files += 1;
        let key = file_key(directory_key, name);
        let seen = match size_bytes {
            Some(size) => {
                (key ^ size.wrapping_mul(0x9e37_79b9_7f4a_7c15)).rotate_left(29).wrapping_mul(key | 1)
            }
            None => key,
        };
        self.sum = self.sum.wrapping_add(seen);
    }

    /// Lower bound of the number of wrong files: all files with another name or size count as 1.
    pub(crate) fn wrong(&self, expected: &Self) -> u64 {
        match self.files.abs_diff(expected.files) {
            0 => u64::from(self.sum != expected.sum),
            files => files,
        }
    }

    pub(crate) fn expected(set: &Set, sizes: bool, control: RunControl<'_>) -> Result<(Self, Vec<Vec<u8>>)> {
        let mut checksum = Self::default();
        let directories = directories(set, control, |directory, file, nth| {
            let size = sizes.then(|| set.files.size_bytes(set.index(nth)));
            checksum.add(directory_key(directory), file, size);
        })?;
        Ok((checksum, directories))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_places_and_sizes_count_and_order_does_not() {
        type File<'a> = (&'a [u8], &'a [u8], u64);
        let checksum = |files: &[File<'_>]| {
            let mut checksum = Checksum::default();
            files.iter().for_each(|(directory, name, size)| {
                checksum.add(directory_key(directory), name, Some(*size));
            });
            checksum
        };
        let expected = checksum(&[(b"a", b"x", 1), (b"b", b"y", 2)]);
        assert_eq!(checksum(&[(b"b", b"y", 2), (b"a", b"x", 1)]).wrong(&expected), 0);
        let others: [&[File<'_>]; 4] = [
            &[(b"a", b"y", 1), (b"b", b"x", 2)],
            &[(b"a", b"x", 2), (b"b", b"y", 1)],
            &[(b"b", b"x", 1), (b"a", b"y", 2)],
            &[(b"a", b"x", 1), (b"b", b"y", 3)],
        ];
        for other in others {
            assert_eq!(checksum(other).wrong(&expected), 1, "{other:?}");
        }
        assert_eq!(checksum(&[]).wrong(&expected), 2);
    }
}
