//! The library's error: what was attempted, on which path, and why it failed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A `Result` with the library's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// An error that names the operation and the path.
///
/// Opaque but for its methods, so that details may be added without breaking callers. Backends of other crates
/// make theirs with [`Error::io`] and [`Error::new`]; there is an example at [`Backend`](crate::Backend).
#[derive(Debug)]
pub struct Error {
    operation: &'static str,
    path: PathBuf,
    kind: ErrorKind,
    source: Option<io::Error>,
    reason: String,
}

/// What kind of failure an [`Error`] is, for callers that act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The path does not exist, or no longer.
    NotFound,
    /// The path is not a directory.
    NotADirectory,
    /// The caller may not do this.
    PermissionDenied,
    /// No backend has the name that was given.
    UnknownBackend,
    /// The backend or estimate is not to be had on this system or for this directory.
    Unavailable,
    /// An option has a value that cannot be honoured.
    BadOption,
    /// The kernel or a backend gave records that are not well formed.
    Malformed,
    /// Positions did not ascend while a directory was read in shares; the listing is incomplete.
    PositionsUnreliable,
    /// Something is mounted there.
    MountPoint,
    /// A directory that was to be removed is not empty.
    NotEmpty,
    /// Too many descriptors are open.
    TooManyOpenFiles,
    /// Anything else the operating system gave.
    Io,
}

impl Error {
    /// Wraps an error of the operating system; its kind follows from it.
    ///
    /// `operation` is one word or two for what was attempted, e.g. `open` or the backend's name; `path` may be empty
    /// where it was about none.
    pub fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        let kind = match source.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::NotADirectory => ErrorKind::NotADirectory,
            io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
            io::ErrorKind::DirectoryNotEmpty => ErrorKind::NotEmpty,
            _ if is_descriptor_limit(&source) => ErrorKind::TooManyOpenFiles,
            _ => ErrorKind::Io,
        };
        Self { operation, path: path.to_owned(), kind, source: Some(source), reason: String::new() }
    }

    /// Makes an error that the operating system knows nothing of; `reason` is what stands after the path, in words.
    ///
    /// ```
    /// use megadir::{Error, ErrorKind};
    /// let error = Error::new("archive", "a.zip".as_ref(), ErrorKind::Unavailable, "not an archive");
    /// assert_eq!(error.to_string(), "archive 'a.zip': not an archive");
    /// assert_eq!(error.kind(), ErrorKind::Unavailable);
    /// ```
    pub fn new(operation: &'static str, path: &Path, kind: ErrorKind, reason: impl Into<String>) -> Self {
        Self { operation, path: path.to_owned(), kind, source: None, reason: reason.into() }
    }

    /// Returns the kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the path that the operation was about; empty where it was about none.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the operation that failed, e.g. `open`.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// Returns the number of the operating system's error, where it is one.
    #[cfg(windows)]
    pub(crate) fn code(&self) -> Option<i32> {
        self.source.as_ref()?.raw_os_error()
    }

    /// Returns why, without operation and path.
    pub fn reason(&self) -> String {
        match &self.source {
            Some(source) => describe(source),
            None => self.reason.clone(),
        }
    }
}

/// Tells whether the process or the system is out of descriptors (`EMFILE`, `ENFILE`; `ERROR_TOO_MANY_OPEN_FILES`).
fn is_descriptor_limit(error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(code) if cfg!(windows) => code == 4,
        Some(code) => cfg!(unix) && (code == 23 || code == 24),
        None => false,
    }
}

/// Returns the operating system's words without Rust's "(os error N)".
fn describe(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.as_os_str().is_empty() {
            write!(f, "{}: {}", self.operation, self.reason())
        } else {
            write!(f, "{} '{}': {}", self.operation, self.path.display(), self.reason())
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match (&error.source, error.kind) {
            (Some(source), _) => source.kind(),
            (None, ErrorKind::UnknownBackend | ErrorKind::BadOption) => io::ErrorKind::InvalidInput,
            (None, ErrorKind::Malformed) => io::ErrorKind::InvalidData,
            (None, ErrorKind::Unavailable) => io::ErrorKind::Unsupported,
            (None, _) => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}
