//! Paths and names in the manner of Python's `os`: bytes for callers that pass bytes, else decoded strings.
//!
//! Linux has no encoding of names. Text is decoded by Python's rules, with surrogates for bytes that are
//! not UTF-8, so that `os.fsencode` gives the same bytes back.

use std::path::{Path, PathBuf};

use megadir::names;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    Text,
    Bytes,
}

impl Naming {
    /// Makes a Python object of a name or path; as text it is decoded as by `os.fsdecode`.
    pub(crate) fn object<'py>(self, py: Python<'py>, name: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Bytes => Ok(PyBytes::new(py, name).into_any()),
            // UTF-8 is the usual case, and needs no detour over a path.
            Self::Text => match std::str::from_utf8(name) {
                Ok(text) => Ok(text.into_pyobject(py)?.into_any()),
                Err(_) => {
                    let name =
                        names::to_os(name).map_err(|error| PyValueError::new_err(error.to_string()))?;
                    Ok((&*name).into_pyobject(py)?.into_any())
                }
            },
        }
    }

    pub(crate) fn path<'py>(self, py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
        self.object(py, names::from_os(path.as_os_str()))
    }
}

/// Path of an argument, and the type of the names that are returned for it: the one of the argument.
pub(crate) struct Named {
    pub(crate) path: PathBuf,
    pub(crate) naming: Naming,
}

impl Named {
    /// `os.fspath` accepts texts, bytes and objects with a path, and raises `TypeError` for all else.
    pub(crate) fn from(path: &Bound<'_, PyAny>) -> PyResult<Self> {
        let path = path.py().import("os")?.call_method1("fspath", (path,))?;
        if let Ok(bytes) = path.cast::<PyBytes>() {
            let path =
                names::to_os(bytes.as_bytes()).map_err(|error| PyValueError::new_err(error.to_string()))?;
            return Ok(Self { path: PathBuf::from(&*path), naming: Naming::Bytes });
        }
        Ok(Self { path: path.extract()?, naming: Naming::Text })
    }

    /// One path or several. A text is a sequence, too, so one path is tried first.
    pub(crate) fn several(paths: &Bound<'_, PyAny>) -> PyResult<(Vec<PathBuf>, Naming)> {
        let named: Vec<Self> = match Self::from(paths) {
            Ok(one) => vec![one],
            Err(error) => match paths.try_iter() {
                Ok(paths) => paths.map(|path| Self::from(&path?)).collect::<PyResult<_>>()?,
                Err(_) => return Err(error),
            },
        };
        let naming = named.first().map_or(Naming::Text, |path| path.naming);
        Ok((named.into_iter().map(|path| path.path).collect(), naming))
    }
}
