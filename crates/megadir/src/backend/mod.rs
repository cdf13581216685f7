//! Backends: ways to read a directory's entries. A new backend is a file here and two lines below.
//!
//! | backend | file | method |
//! |---|---|---|
//! | `std` | `std_fs.rs` | `std::fs::read_dir`: the reference for the others |
//! | `readdir` | `linux_readdir.rs` | the C library's stream, as most programs use it |
//! | `getdents` | `linux_getdents.rs` | getdents64 into a buffer of 4 KiB to 16 MiB |
//! | `split` | `linux_split/` | several threads in one directory, each with a share of its positions |
//! | `find-first-file` and three variants | `windows/find.rs` | FindFirstFileExW, one entry per call |
//! | `by-handle`, `nt-query` and variants | `windows/enumerate.rs` | GetFileInformationByHandleEx, NtQueryDirectoryFile: one buffer per call |
//!
//! Backends whose source is not getdents64 encode their entries in its format (`decode.rs`), so that there is one
//! decoder. There is one virtual call per batch and none per entry. A backend refuses an option that it cannot honour,
//! and a value outside its range, because other callers than the benchmark engine use it too.

use std::sync::Arc;

use crate::attributes::StatMask;
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
#[cfg(unix)]
pub(crate) mod resolve;
pub(crate) mod std_fs;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use self::linux_split::{divide, open_range};
#[cfg(not(target_os = "linux"))]
pub(crate) use self::undivided::{divide, open_range};

/// The first is the reference of the conformance suite.
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

/// A way to read a directory's entries.
///
/// Other crates can implement their own. This one returns names from a list:
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
/// }
///
/// static FIXED: Fixed = Fixed(&["one", "two"]);
/// let directory = Dir::open(".")?;
/// let options = ReadOptions::serial(4096);
/// let mut choice = megadir::policy::choose(&directory, 1)?;
/// (choice.backend, choice.options, choice.reason) = (&FIXED, options, "requested by the caller");
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
    /// Name in options and reports, such as `getdents`.
    fn name(&self) -> &'static str;

    /// Description, one line.
    fn about(&self) -> &'static str;

    /// `true` if cookies and record lengths are the kernel's own, as `list --raw` prints them.
    fn is_raw(&self) -> bool {
        true
    }

    /// `true` if several threads can read one directory.
    fn uses_threads(&self) -> bool {
        false
    }

    /// `true` if the buffer's size can be chosen.
    fn uses_buffer(&self) -> bool {
        false
    }

    /// Checks that the backend can read this directory. Errors: [`ErrorKind::Unavailable`] with the reason.
    fn probe(&self, _directory: &Dir) -> Result<()> {
        Ok(())
    }

    /// Opens a reader at the start of a directory. Errors: [`ErrorKind::Unavailable`] as from
    /// [`Backend::probe`], [`ErrorKind::BadOption`] for an unsupported option, or the error of opening the directory.
    fn open(&self, directory: &Dir, options: &ReadOptions) -> Result<Box<dyn Reader>>;

    /// Opens a reader on a directory that is at its start and has no other reader. Errors: as
    /// [`Backend::open`].
    fn open_once(&self, directory: &Arc<Dir>, options: &ReadOptions) -> Result<Box<dyn Reader>> {
        self.open_again(directory, options, Vec::new())
    }

    /// As [`Backend::open_once`], but may reuse the buffer of a finished reader ([`Reader::into_buffer`]).
    fn open_again(
        &self,
        directory: &Arc<Dir>,
        options: &ReadOptions,
        _buffer: Vec<u8>,
    ) -> Result<Box<dyn Reader>> {
        self.open(directory, options)
    }

    /// Attributes that the backend can return with the names ([`Backend::open_with_attributes`]).
    fn provides(&self) -> StatMask {
        StatMask::NOTHING
    }

    /// As [`Backend::open_once`]; batches have the attributes in both `want` and [`Backend::provides`] ([`Batch::attributes`]).
    /// Errors: [`ErrorKind::BadOption`] if the backend returns no attributes, else as [`Backend::open`].
    fn open_with_attributes(
        &self,
        directory: &Arc<Dir>,
        _options: &ReadOptions,
        _want: StatMask,
    ) -> Result<Box<dyn Reader>> {
        let reason = format!("{} returns no attributes with the names", self.name());
        Err(Error::new("read", directory.path(), ErrorKind::BadOption, reason))
    }
}

/// Reader of one directory.
pub trait Reader: Send {
    /// Returns the next batch, which may be empty, or `None` at the end and after an error. Errors:
    /// [`ErrorKind::Malformed`], and errors of the system calls.
    fn next_batch(&mut self) -> Result<Option<Batch<'_>>>;

    /// Number of system calls made for entries, if known. A reader that wraps another passes its number on.
    fn calls(&self) -> Option<u64> {
        None
    }

    /// Returns the buffer for [`Backend::open_again`]; empty if there is none.
    fn into_buffer(self: Box<Self>) -> Vec<u8> {
        Vec::new()
    }
}

pub(crate) fn find(name: &str) -> Option<&'static dyn Backend> {
    BACKENDS.iter().copied().find(|backend| backend.name() == name)
}

/// Finds a backend by name. Errors: [`ErrorKind::UnknownBackend`], with the nearest name.
pub fn by_name(name: &str) -> Result<&'static dyn Backend> {
    find(name).ok_or_else(|| {
        let choices = choices(name, BACKENDS.iter().map(|backend| backend.name()));
        let reason = format!("unknown backend '{name}': {choices}");
        Error::new("read", "".as_ref(), ErrorKind::UnknownBackend, reason)
    })
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

#[cfg(not(target_os = "linux"))]
mod undivided {
    use super::Reader;
    use crate::dir::Dir;
    use crate::error::{Error, ErrorKind, Result};
    use crate::options::{PositionRange, ReadOptions};

    pub(crate) fn divide(_directory: &Dir, _entries_per_range: u64) -> Result<Vec<PositionRange>> {
        Ok(Vec::new())
    }

    pub(crate) fn open_range(
        directory: &Dir,
        _options: &ReadOptions,
        _range: PositionRange,
    ) -> Result<Box<dyn Reader>> {
        let reason = "directories cannot be divided on this system";
        Err(Error::new("read", directory.path(), ErrorKind::Unavailable, reason))
    }
}
