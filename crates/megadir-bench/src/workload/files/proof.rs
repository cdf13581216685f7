//! Whether the files that were gone through are those of the set: a sum over them that does not depend on their order.

use super::task::{Set, directories, directory_key, file_key};
use crate::control::{RunControl, WorkError};

/// What was seen of the files of some directories, or is to be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Proof {
    /// Files.
    pub(super) files: u64,
    /// The sum over their paths and, where they are looked at, their sizes.
    sum: u64,
}

impl Proof {
    /// Adds a file of the directory of this key.
    #[inline]
    pub(super) fn add(&mut self, directory_key: u64, name: &[u8], size_bytes: Option<u64>) {
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

    /// Returns how many files are not as they are in `expected`, at least: 1 stands for any number of those that are
    /// there under another name or with another size.
    pub(super) fn wrong(&self, expected: &Self) -> u64 {
        match self.files.abs_diff(expected.files) {
            0 => u64::from(self.sum != expected.sum),
            files => files,
        }
    }

    /// Returns what must be seen of the files of a set, and its directories in the order of their first file.
    pub(super) fn expected(
        set: &Set,
        sizes: bool,
        control: RunControl<'_>,
    ) -> Result<(Self, Vec<Vec<u8>>), WorkError> {
        let mut proof = Self::default();
        let directories = directories(set, control, |directory, file, nth| {
            let size = sizes.then(|| set.files.size_bytes(set.index(nth)));
            proof.add(directory_key(directory), file, size);
        })?;
        Ok((proof, directories))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_places_and_sizes_count_and_order_does_not() {
        type File<'a> = (&'a [u8], &'a [u8], u64);
        let proof = |files: &[File<'_>]| {
            let mut proof = Proof::default();
            files.iter().for_each(|(directory, name, size)| {
                proof.add(directory_key(directory), name, Some(*size));
            });
            proof
        };
        let expected = proof(&[(b"a", b"x", 1), (b"b", b"y", 2)]);
        assert_eq!(proof(&[(b"b", b"y", 2), (b"a", b"x", 1)]).wrong(&expected), 0);
        let others: [&[File<'_>]; 4] = [
            &[(b"a", b"y", 1), (b"b", b"x", 2)],
            &[(b"a", b"x", 2), (b"b", b"y", 1)],
            &[(b"b", b"x", 1), (b"a", b"y", 2)],
            &[(b"a", b"x", 1), (b"b", b"y", 3)],
        ];
        for other in others {
            assert_eq!(proof(other).wrong(&expected), 1, "{other:?}");
        }
        assert_eq!(proof(&[]).wrong(&expected), 2);
    }
}
