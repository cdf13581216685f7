//! The library's error: operation, path and reason.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// `Result` with the library's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// A failed operation, its path and the reason. [`Backend`](crate::Backend) has an example for other crates.
///
/// One type for all operations, so that every message has the same form: operation, path, reason, and a note
/// on what follows from it. The path is the caller's form of it. An error of the system is kept in `source`,
/// and its text is made only when it is shown.
#[derive(Debug)]
pub struct Error {
    operation: &'static str,
    path: PathBuf,
    kind: ErrorKind,
    source: Option<io::Error>,
    reason: String,
    note: Box<str>,
}

/// Kind of an [`Error`], for callers that handle some failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The path does not exist.
    NotFound,
    /// The path is not a directory.
    NotADirectory,
    /// The caller lacks permission.
    PermissionDenied,
    /// No backend has this name.
    UnknownBackend,
    /// The backend or estimate is unavailable on this system or for this directory.
    Unavailable,
    /// An option's value is unsupported.
    BadOption,
    /// The kernel or a backend returned malformed records.
    Malformed,
    /// Positions did not ascend while a directory was read in shares. The listing is incomplete.
    PositionsUnreliable,
    /// Something is mounted there.
    MountPoint,
    /// The directory to be removed is not empty.
    NotEmpty,
    /// Too many descriptors are open.
    TooManyOpenFiles,
    /// Blocks, inodes or a quota are used up.
    NoSpace,
    /// Any other error of the operating system.
    Io,
}

impl Error {
    /// Wraps an error of the operating system. `operation` is a word or two, such as `open`; `path` may be empty.
    pub fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        let kind = match source.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::NotADirectory => ErrorKind::NotADirectory,
            io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
            io::ErrorKind::DirectoryNotEmpty => ErrorKind::NotEmpty,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::NoSpace,
            _ if is_descriptor_limit(&source) => ErrorKind::TooManyOpenFiles,
            _ => ErrorKind::Io,
        };
        let path = path.to_owned();
        Self { operation, path, kind, source: Some(source), reason: String::new(), note: Box::default() }
    }

    /// Creates an error that is not the operating system's. `reason` follows the path in the message.
    ///
    /// ```
    /// use megadir::{Error, ErrorKind};
    /// let error = Error::new("archive", "a.zip".as_ref(), ErrorKind::Unavailable, "not an archive");
    /// assert_eq!(error.to_string(), "archive 'a.zip': not an archive");
    /// assert_eq!(error.kind(), ErrorKind::Unavailable);
    /// ```
    pub fn new(operation: &'static str, path: &Path, kind: ErrorKind, reason: impl Into<String>) -> Self {
        let (path, reason) = (path.to_owned(), reason.into());
        Self { operation, path, kind, source: None, reason, note: Box::default() }
    }

    /// Adds a consequence, which follows the reason in the message.
    ///
    /// ```
    /// use megadir::{Error, ErrorKind};
    /// let error = Error::new("open", "a".as_ref(), ErrorKind::Io, "damaged").with_note("2 files stay");
    /// assert_eq!(error.to_string(), "open 'a': damaged; 2 files stay");
    /// assert_eq!((error.reason().as_str(), error.note()), ("damaged", "2 files stay"));
    /// ```
    pub fn with_note(self, note: impl Into<Box<str>>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// Kind of failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Path of the failed operation; may be empty.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Operation that failed, such as `open`.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    #[cfg(windows)]
    pub(crate) fn code(&self) -> Option<i32> {
        self.source.as_ref()?.raw_os_error()
    }

    /// Reason, without operation and path.
    pub fn reason(&self) -> String {
        match &self.source {
            Some(source) => reason_of(source),
            None => self.reason.clone(),
        }
    }

    /// Consequence of the failure, such as the number of files that stay; empty if none was added.
    pub fn note(&self) -> &str {
        &self.note
    }
}

/// Adds the operation and the path to an error of the operating system.
pub(crate) trait At<T> {
    fn at(self, operation: &'static str, path: &(impl AsRef<Path> + ?Sized)) -> Result<T>;
}

/// Errors of the operating system: [`Error`] and `NulError` also convert to [`io::Error`], but are not among them.
pub(crate) trait OfSystem: Into<io::Error> {}

impl OfSystem for io::Error {}

#[cfg(unix)]
impl OfSystem for rustix::io::Errno {}

impl<T, E: OfSystem> At<T> for std::result::Result<T, E> {
    fn at(self, operation: &'static str, path: &(impl AsRef<Path> + ?Sized)) -> Result<T> {
        self.map_err(|error| Error::io(operation, path.as_ref(), error.into()))
    }
}

fn is_descriptor_limit(error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(code) if cfg!(windows) => code == 4,
        Some(code) => cfg!(unix) && (code == 23 || code == 24),
        None => false,
    }
}

/// Text of an error of the system, without Rust's "(os error N)".
pub fn reason_of(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.operation)?;
        if !self.path.as_os_str().is_empty() {
            write!(f, " '{}'", self.path.display())?;
        }
        write!(f, ": {}", self.reason())?;
        if self.note.is_empty() { Ok(()) } else { write!(f, "; {}", self.note) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_errors_are_left_out() {
        let missing = reason_of(&io::Error::from_raw_os_error(2));
        assert!(!missing.is_empty() && !missing.contains("os error"), "{missing}");
        assert_eq!(reason_of(&io::Error::other("of its own")), "of its own");
    }
}
