//! The backends: ways of asking the operating system for a directory's entries.
//!
//! Adding one is a file beside this one and two lines here; lists, help, the conformance suite and
//! reports follow by themselves.

use std::sync::Arc;

use crate::attributes::Want;
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
#[cfg(windows)]
mod windows;

/// Every backend of this system, the oracle first.
pub static BACKENDS: &[&dyn Backend] = &[
    &std_fs::StdFs,
    #[cfg(target_os = "linux")]
    &linux_readdir::Readdir,
    #[cfg(target_os = "linux")]
    &linux_getdents::Getdents,
    #[cfg(target_os = "linux")]
    &linux_split::Split,
    #[cfg(windows)]
    &windows::find::STANDARD,
    #[cfg(windows)]
    &windows::find::BASIC,
    #[cfg(windows)]
    &windows::find::STANDARD_LARGE,
    #[cfg(windows)]
    &windows::find::BASIC_LARGE,
    #[cfg(windows)]
    &windows::enumerate::BY_HANDLE,
    #[cfg(windows)]
    &windows::enumerate::BY_HANDLE_FULL,
    #[cfg(windows)]
    &windows::enumerate::NT_QUERY,
    #[cfg(windows)]
    &windows::enumerate::NT_QUERY_EXTENDED,
    #[cfg(windows)]
    &windows::enumerate::NT_QUERY_EX,
];

/// A way of asking the operating system for a directory's entries.
///
/// Other crates may have their own. This one gives names from a list:
///
/// ```
/// use megadir::{
///     Backend, Batch, BatchBuilder, Dir, Error, ErrorKind, FileType, Listing, ReadOptions, Reader, Result,
/// };
///
/// struct Fixed(&'static [&'static str]);
///
/// impl Backend for Fixed {
///     fn name(&self) -> &'static str {
///         "fixed"
///     }
///     fn about(&self) -> &'static str {
///         "names from a list"
///     }
///     fn is_raw(&self) -> bool {
///         false
///     }
///     fn open(&self, directory: &Dir, options: &ReadOptions) -> Result<Box<dyn Reader>> {
///         if options.threads > 1 {
///             let reason = "fixed reads with one thread";
///             return Err(Error::new("read", directory.path(), ErrorKind::BadOption, reason));
///         }
///         Ok(Box::new(FixedReader { names: self.0, batch: BatchBuilder::new(options.buffer_bytes, false) }))
///     }
/// }
///
/// struct FixedReader {
///     names: &'static [&'static str],
///     batch: BatchBuilder,
/// }
///
/// impl Reader for FixedReader {
///     fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
///         self.batch.clear();
///         while let Some((name, rest)) = self.names.split_first()
///             && self.batch.fits(name.as_bytes())
///         {
///             self.names = rest;
///             if !self.batch.push(name.as_bytes(), 0, FileType::Unknown, 0) {
///                 let reason = format!("{name:?} cannot be a name");
///                 return Err(Error::new("fixed", "".as_ref(), ErrorKind::Malformed, reason));
///             }
///         }
///         Ok(if self.batch.is_empty() { None } else { Some(self.batch.batch()) })
///     }
///     fn calls(&self) -> Option<u64> {
///         None
///     }
/// }
///
/// static FIXED: Fixed = Fixed(&["one", "two"]);
/// let directory = Dir::open(".")?;
/// let options = ReadOptions { buffer_bytes: 4096, threads: 1, shares: 1, resolve_types: false };
/// let mut choice = megadir::policy::choose(&directory, 1)?;
/// (choice.backend, choice.options, choice.reason) = (&FIXED, options, "it was asked for");
/// let mut listing = Listing::with_choice(&directory, choice)?;
/// let mut names = Vec::new();
/// while let Some(batch) = listing.next_batch()? {
///     names.extend(batch.entries().map(|entry| String::from_utf8_lossy(entry.name).into_owned()));
/// }
/// assert_eq!(names, ["one", "two"]);
///
/// choice.options.threads = 2;
/// let Err(error) = Listing::with_choice(&directory, choice) else { panic!("accepted") };
/// assert_eq!(error.to_string(), "read '.': fixed reads with one thread");
/// # Ok::<(), Error>(())
/// ```
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

    /// Opens a reader as [`Backend::open_once`] does, which may read into the memory that another reader has left
    /// ([`Reader::into_buffer`]); whatever that holds counts for nothing.
    ///
    /// # Errors
    ///
    /// As [`Backend::open`].
    fn open_again(
        &self,
        directory: &Arc<Dir>,
        options: &ReadOptions,
        _buffer: Vec<u8>,
    ) -> Result<Box<dyn Reader>> {
        self.open_once(directory, options)
    }

    /// Returns the attributes that it can bring along with the names ([`Backend::open_with_attributes`]).
    fn brings(&self) -> Want {
        Want::NOTHING
    }

    /// Opens a reader as [`Backend::open_once`] does, whose batches have their entries' attributes with them
    /// ([`Batch::attributes`]): those of `want` that it brings.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadOption`] where it brings none, else as [`Backend::open`].
    fn open_with_attributes(
        &self,
        directory: &Arc<Dir>,
        _options: &ReadOptions,
        _want: Want,
    ) -> Result<Box<dyn Reader>> {
        let reason = format!("{} brings no attributes along with the names", self.name());
        Err(Error::new("read", directory.path(), ErrorKind::BadOption, reason))
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

    /// Ends the reading and returns the memory that was read into, for [`Backend::open_again`]; empty where there is none.
    fn into_buffer(self: Box<Self>) -> Vec<u8> {
        Vec::new()
    }
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
        let (wrong, right) = if cfg!(windows) { ("by-handl", "by-handle") } else { ("getdent", "getdents") };
        let Err(error) = by_name(wrong) else { panic!("accepted") };
        assert!(error.to_string().contains(&format!("did you mean '{right}'?")), "{error}");
    }
}
