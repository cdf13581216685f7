//! What a caller asks of a backend.

use std::path::Path;

use crate::error::{Error, ErrorKind, Result};

/// The smallest buffer a backend accepts, bytes; a name of 255 bytes needs 280.
pub const BUFFER_BYTES_MIN: usize = 4 << 10;
/// The largest buffer a backend accepts, bytes.
pub const BUFFER_BYTES_MAX: usize = 16 << 20;
/// The most threads a backend accepts.
pub const THREADS_MAX: usize = 256;
/// The most shares a directory is split into.
pub const SHARES_MAX: usize = 1 << 16;

/// What a caller asks of a backend; a backend that cannot honour a value refuses it.
///
/// No `Default`: [`policy::choose`](crate::policy::choose) fills it in for a directory, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The most that is asked for in one call, bytes, [`BUFFER_BYTES_MIN`] to [`BUFFER_BYTES_MAX`].
    pub buffer_bytes: usize,
    /// Threads that read, the caller's own among them: 1 means that none is started.
    pub threads: usize,
    /// Shares that a directory is split into; 1 for backends that do not split.
    pub shares: usize,
    /// Ask the inode for its type where the directory does not tell.
    pub resolve_types: bool,
}

impl ReadOptions {
    /// Checks the values against what any backend can honour.
    pub(crate) fn check(&self, backend: &'static str, path: &Path) -> Result<()> {
        let bad = |reason: String| Err(Error::new("read", path, ErrorKind::BadOption, reason));
        if !(BUFFER_BYTES_MIN..=BUFFER_BYTES_MAX).contains(&self.buffer_bytes) {
            let hint = if self.buffer_bytes < 280 { " (a name of 255 bytes alone needs 280)" } else { "" };
            return bad(format!(
                "a buffer of {} bytes{hint}: {backend} takes 4 KiB to 16 MiB",
                self.buffer_bytes
            ));
        }
        if !(1..=THREADS_MAX).contains(&self.threads) {
            return bad(format!("{} threads: {backend} takes 1 to {THREADS_MAX}", self.threads));
        }
        if !(1..=SHARES_MAX).contains(&self.shares) {
            return bad(format!("{} shares: {backend} takes 1 to {SHARES_MAX}", self.shares));
        }
        Ok(())
    }

    /// Checks the values for a backend that reads in the caller's thread.
    pub(crate) fn check_serial(&self, backend: &'static str, path: &Path) -> Result<()> {
        self.check(backend, path)?;
        if self.threads > 1 || self.shares > 1 {
            let reason = format!("{backend} reads with one thread; backend split uses several");
            return Err(Error::new("read", path, ErrorKind::BadOption, reason));
        }
        Ok(())
    }
}
