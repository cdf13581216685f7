//! Options for reading a directory.

use crate::dir_path::DirPath;
use crate::error::{Error, ErrorKind, Result};

/// For a name of 255 bytes.
pub(crate) const RECORD_BYTES_MAX: usize = 280;
/// Minimum size of a buffer, bytes.
pub const BUFFER_BYTES_MIN: usize = 4 << 10;
/// Maximum size of a buffer, bytes.
pub const BUFFER_BYTES_MAX: usize = 16 << 20;
/// Maximum number of threads for one directory.
pub const THREADS_MAX: usize = 256;
/// Maximum number of shares of one directory.
pub const SHARES_MAX: usize = 1 << 16;

/// Options for [`Backend::open`](crate::Backend::open), which refuses unsupported values;
/// [`policy::choose`](crate::policy::choose) picks them for a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Maximum number of bytes per system call, [`BUFFER_BYTES_MIN`] to [`BUFFER_BYTES_MAX`].
    pub buffer_bytes: usize,
    /// Number of threads that read, including the caller's: 1 starts none.
    pub threads: usize,
    /// Number of threads if reading the first batch waits for the device; at least `threads`.
    pub threads_max: usize,
    /// Number of shares that `threads_max` threads split the directory into, and fewer threads into
    /// proportionally fewer; 1 for backends that do not split.
    pub shares: usize,
    /// Read a type from the inode if the directory does not store it.
    pub resolve_types: bool,
    /// Have the device read the directory's blocks before they are listed.
    pub read_ahead: ReadAhead,
}

/// Directories whose blocks are read ahead from the device: on Linux, ext2 to ext4, if the caller may read
/// the device. Results are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadAhead {
    /// Reads nothing ahead.
    Never,
    /// For directories of at least 4 MiB that are mostly uncached and fit into a quarter of the available memory.
    #[default]
    Auto,
    /// For all directories with more entries than one buffer; fails where it is impossible.
    Always,
}

/// Range of positions in a directory: the entries from `from` on and before `to`. Valid only in this directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionRange {
    /// First position.
    pub from: i64,
    /// End; [`i64::MAX`] for the rest of the directory.
    pub to: i64,
}

impl ReadOptions {
    /// Reads with the caller's thread alone, names only, nothing ahead.
    #[must_use]
    pub const fn serial(buffer_bytes: usize) -> Self {
        Self {
            buffer_bytes,
            threads: 1,
            threads_max: 1,
            shares: 1,
            resolve_types: false,
            read_ahead: ReadAhead::Never,
        }
    }

    /// With exactly `threads` threads, in `shares` shares.
    #[must_use]
    pub const fn divided(self, threads: usize, shares: usize) -> Self {
        Self { threads, threads_max: threads, shares, ..self }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn shares_of(&self, threads: usize) -> usize {
        (self.shares * threads / self.threads_max).max(1)
    }

    pub(crate) fn check(&self, backend: &'static str, directory: &DirPath) -> Result<()> {
        let bad = |reason: String| Err(Error::new("read", directory, ErrorKind::BadOption, reason));
        if !(BUFFER_BYTES_MIN..=BUFFER_BYTES_MAX).contains(&self.buffer_bytes) {
            let hint = if self.buffer_bytes < RECORD_BYTES_MAX {
                " (a name of 255 bytes alone needs 280)"
            } else {
                ""
            };
            return bad(format!(
                "a buffer of {} bytes{hint}: {backend} takes 4 KiB to 16 MiB",
                self.buffer_bytes
            ));
        }
        if !(1..=THREADS_MAX).contains(&self.threads) {
            return bad(format!("{} threads: {backend} takes 1 to {THREADS_MAX}", self.threads));
        }
        if !(self.threads..=THREADS_MAX).contains(&self.threads_max) {
            let (threads, most) = (self.threads, self.threads_max);
            return bad(format!(
                "at most {most} threads, but {threads} to begin with: {backend} takes {threads} to {THREADS_MAX}"
            ));
        }
        if !(1..=SHARES_MAX).contains(&self.shares) {
            return bad(format!("{} shares: {backend} takes 1 to {SHARES_MAX}", self.shares));
        }
        Ok(())
    }

    pub(crate) fn check_plain(&self, backend: &'static str, directory: &DirPath) -> Result<()> {
        if self.read_ahead == ReadAhead::Always {
            let reason = format!("{backend} reads nothing ahead; backends getdents and split do");
            return Err(Error::new("read", directory, ErrorKind::BadOption, reason));
        }
        self.check_serial(backend, directory)
    }

    pub(crate) fn check_serial(&self, backend: &'static str, directory: &DirPath) -> Result<()> {
        self.check(backend, directory)?;
        if self.threads_max > 1 || self.shares > 1 {
            let reason = format!("{backend} reads with one thread; backend split uses several");
            return Err(Error::new("read", directory, ErrorKind::BadOption, reason));
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::ReadOptions;

    #[test]
    fn fewer_threads_have_fewer_shares() {
        let options = ReadOptions { threads: 2, ..ReadOptions::serial(4096).divided(8, 128) };
        assert_eq!([1, 2, 8].map(|threads| options.shares_of(threads)), [16, 32, 128]);
        assert_eq!(ReadOptions::serial(4096).divided(8, 1).shares_of(1), 1);
    }
}
