//! Errors of the library as Python exceptions: `OSError` and its subclasses, with errno and filename.

use std::error::Error as _;

use arrow_schema::ArrowError;
use megadir::{Error, ErrorKind};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::names::Naming;

/// Numbers of Linux, for errors that the library finds without the kernel.
// Callers catch `FileNotFoundError` or `PermissionError`, whichever side noticed.
const ENOENT: i32 = 2;
const EIO: i32 = 5;
const EACCES: i32 = 13;
const EBUSY: i32 = 16;
const ENOTDIR: i32 = 20;
const EMFILE: i32 = 24;
const ENOTEMPTY: i32 = 39;
const EOPNOTSUPP: i32 = 95;

pub(crate) fn value_error<E: ToString>(error: E) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Converts an error. Python picks the subclass of `OSError` by the number.
pub(crate) fn exception(error: &Error, naming: Naming) -> PyErr {
    if matches!(error.kind(), ErrorKind::BadOption | ErrorKind::UnknownBackend) {
        return value_error(error);
    }
    // The kernel's number, if the error is one of the kernel's.
    let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    let number = source.and_then(std::io::Error::raw_os_error).unwrap_or(match error.kind() {
        ErrorKind::NotFound => ENOENT,
        ErrorKind::NotADirectory => ENOTDIR,
        ErrorKind::PermissionDenied => EACCES,
        ErrorKind::MountPoint => EBUSY,
        ErrorKind::NotEmpty => ENOTEMPTY,
        ErrorKind::TooManyOpenFiles => EMFILE,
        ErrorKind::Unavailable => EOPNOTSUPP,
        _ => EIO,
    });
    let mut reason = error.reason();
    if !error.note().is_empty() {
        reason = format!("{reason}; {}", error.note());
    }
    // A path that cannot be decoded raises its own error instead.
    Python::attach(|py| match naming.path(py, error.path()) {
        Ok(path) if !error.path().as_os_str().is_empty() => {
            PyOSError::new_err((number, reason, path.unbind()))
        }
        Ok(_) => PyOSError::new_err((number, reason)),
        Err(undecodable) => undecodable,
    })
}

/// The contents of a file that is no inventory, or a damaged one, are a wrong value, not a failure of the system.
pub(crate) fn of_inventory(error: &Error, naming: Naming) -> PyErr {
    match error.kind() {
        ErrorKind::Malformed => value_error(error),
        _ => exception(error, naming),
    }
}

/// An entry that was listed and could not be examined, as `os.stat` would raise it.
pub(crate) fn unexamined(directory: &std::path::Path, name: &[u8], errno: i32, naming: Naming) -> PyErr {
    let path = match megadir::names::to_os(name) {
        Ok(name) => directory.join(&*name),
        Err(_) => directory.to_owned(),
    };
    exception(&Error::io("stat", &path, std::io::Error::from_raw_os_error(errno)), naming)
}

/// Consumers of C streams see a number and a text: errors of the system stay errors of input and output.
pub(crate) fn for_stream(error: &PyErr) -> ArrowError {
    Python::attach(|py| {
        let text = error.to_string();
        match error.is_instance_of::<PyOSError>(py) {
            true => ArrowError::IoError(text.clone(), std::io::Error::other(text)),
            false => ArrowError::ExternalError(text.into()),
        }
    })
}
