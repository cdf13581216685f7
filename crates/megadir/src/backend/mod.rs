//! The backends: ways of asking the operating system for a directory's entries.
//!
//! Adding one is a file beside this one and two lines here; lists, help, the conformance suite and
//! reports follow by themselves.

use std::sync::Arc;

use crate::batch::Batch;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::nearest::choices;
use crate::options::ReadOptions;

#[cfg(target_os = "linux")]
pub(crate) mod linux_getdents;
#[cfg(target_os = "linux")]
mod linux_readdir;
#[cfg(target_os = "linux")]
pub(crate) mod linux_split;
pub(crate) mod std_fs;

/// Every backend of this system, the oracle first.
pub static BACKENDS: &[&dyn Backend] = &[
    &std_fs::StdFs,
    #[cfg(target_os = "linux")]
    &linux_readdir::Readdir,
    #[cfg(target_os = "linux")]
    &linux_getdents::Getdents,
    #[cfg(target_os = "linux")]
    &linux_split::Split,
];

/// A way of asking the operating system for a directory's entries.
pub trait Backend: Sync {
    /// Returns the name used in options and reports, e.g. `getdents`.
    fn name(&self) -> &'static str;

    /// Returns one line on what it is.
    fn about(&self) -> &'static str;

    /// Returns whether cookie and record length are the kernel's own, as `list --raw` prints them.
    fn is_raw(&self) -> bool {
        true
    }

    /// Returns whether it can use more than one thread on one directory.
    fn uses_threads(&self) -> bool {
        false
    }

    /// Returns whether it can honour a buffer size.
    fn uses_buffer(&self) -> bool {
        false
    }

    /// Tells whether it can read this directory; `Err` says why not.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] with the reason.
    fn probe(&self, _directory: &Dir) -> Result<()> {
        Ok(())
    }

    /// Opens a reader at the start of a directory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] as from [`Backend::probe`], [`ErrorKind::BadOption`] for an option that
    /// it cannot honour, or whatever the system gives.
    fn open(&self, directory: &Dir, options: &ReadOptions) -> Result<Box<dyn Reader>>;

    /// Opens a reader on a directory that was opened for it alone and is at its start, which may save
    /// opening it a second time.
    ///
    /// # Errors
    ///
    /// As [`Backend::open`].
    fn open_once(&self, directory: &Arc<Dir>, options: &ReadOptions) -> Result<Box<dyn Reader>> {
        self.open(directory, options)
    }
}

/// A directory being read.
pub trait Reader: Send {
    /// Returns the next batch, or `None` at the end. A batch may be empty.
    ///
    /// After an error the reader gives nothing more.
    ///
    /// # Errors
    ///
    /// Whatever the system gives, and [`ErrorKind::Malformed`].
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>>;

    /// Returns how often the kernel has been asked for entries, where that can be seen.
    fn calls(&self) -> Option<u64>;
}

/// Returns the backend with a name.
///
/// # Errors
///
/// [`ErrorKind::UnknownBackend`], naming the nearest.
pub fn by_name(name: &str) -> Result<&'static dyn Backend> {
    if let Some(backend) = BACKENDS.iter().find(|backend| backend.name() == name) {
        return Ok(*backend);
    }
    let choices = choices(name, BACKENDS.iter().map(|backend| backend.name()));
    let reason = format!("unknown backend '{name}': {choices}");
    Err(Error::new("read", "".as_ref(), ErrorKind::UnknownBackend, reason))
}

#[cfg(test)]
mod tests {
    use super::{BACKENDS, by_name};

    #[test]
    fn names_are_unique_and_lead_back() {
        for backend in BACKENDS {
            assert_eq!(by_name(backend.name()).unwrap().about(), backend.about());
            assert!(!backend.about().is_empty());
            assert_eq!(BACKENDS.iter().filter(|other| other.name() == backend.name()).count(), 1);
        }
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        let Err(error) = by_name("getdent") else { panic!("accepted") };
        assert!(error.to_string().contains("did you mean 'getdents'?"), "{error}");
    }
}
