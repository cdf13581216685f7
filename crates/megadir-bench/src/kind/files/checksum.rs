//! Order-independent checksum over the visited files, to prove that they are the expected set.

use super::task::{Set, directories, directory_key, file_key};
use crate::control::{RunControl, WorkError};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checksum {
    pub(crate) files: u64,
    /// Sum over paths and, if they are read, sizes.
    sum: u64,
}

impl Checksum {
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

    /// Returns a lower bound of the number of wrong files: all files with another name or size together count
    /// as 1.
    pub(crate) fn wrong(&self, expected: &Self) -> u64 {
        match self.files.abs_diff(expected.files) {
            0 => u64::from(self.sum != expected.sum),
            files => files,
        }
    }

    /// Returns the expected checksum of a set, and its directories in the order of their first file.
    pub(crate) fn expected(
        set: &Set,
        sizes: bool,
        control: RunControl<'_>,
    ) -> Result<(Self, Vec<Vec<u8>>), WorkError> {
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
