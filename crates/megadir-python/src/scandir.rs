//! `scandir`: an iterator in the manner of `os.scandir`.

use std::sync::{Mutex, OnceLock, PoisonError};

use megadir::{Dir, FileType, Listing, policy};
use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::failure::exception;
use crate::names::{Named, Naming};

/// Iterator of the entries of a directory. Not to be used by several threads at once.
// The mutex is for the compiler, which wants a class that threads may share; it is reached through an exclusive
// reference and never waited for. Names of one buffer lie one behind the other in `names`: `name_start` is the start
// of the next one, and `entries` has only their ends. `listing` is `None` after the end, an error or `close`.
#[pyclass(module = "megadir")]
pub(crate) struct ScandirIterator {
    listing: Option<Mutex<Listing>>,
    directory: Py<PyAny>,
    naming: Naming,
    names: Vec<u8>,
    /// End of the name, inode and type of each entry of the last buffer.
    entries: Vec<(usize, u64, FileType)>,
    next: usize,
    name_start: usize,
}

/// See `megadir.scandir`.
#[pyfunction]
#[pyo3(signature = (path=None))]
pub(crate) fn scandir(py: Python<'_>, path: Option<&Bound<'_, PyAny>>) -> PyResult<ScandirIterator> {
    let dot = ".".into_pyobject(py)?.into_any();
    let path = path.unwrap_or(&dot);
    let named = Named::from(path)?;
    let listing = py.detach(|| {
        let directory = Dir::open(&named.path)?;
        let mut choice = policy::choose_freely(&directory)?;
        // Types are what callers of `os.scandir` ask for next; a directory without them is resolved here.
        choice.options.resolve_types = true;
        Listing::with_choice(&directory, choice)
    });
    let listing = listing.map_err(|error| exception(&error, named.naming))?;
    Ok(ScandirIterator {
        listing: Some(Mutex::new(listing)),
        directory: named.naming.path(py, &named.path)?.unbind(),
        naming: named.naming,
        names: Vec::new(),
        entries: Vec::new(),
        next: 0,
        name_start: 0,
    })
}

impl ScandirIterator {
    /// One buffer without the interpreter's lock; objects are made when they are asked for.
    fn refill(&mut self, py: Python<'_>) -> PyResult<bool> {
        let Self { listing, names, entries, .. } = self;
        let Some(reading) = listing else { return Ok(false) };
        let reading = reading.get_mut().unwrap_or_else(PoisonError::into_inner);
        let read = py.detach(|| -> megadir::Result<bool> {
            names.clear();
            entries.clear();
            let Some(batch) = reading.next_batch()? else { return Ok(false) };
            for entry in batch {
                names.extend_from_slice(entry.name);
                entries.push((names.len(), entry.inode, entry.kind));
            }
            Ok(true)
        });
        (self.next, self.name_start) = (0, 0);
        // The descriptor is closed as soon as nothing can follow.
        if !matches!(read, Ok(true)) {
            self.listing = None;
        }
        read.map_err(|error| exception(&error, self.naming))
    }
}

#[pymethods]
impl ScandirIterator {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<DirEntry>> {
        while self.next == self.entries.len() {
            if !self.refill(py)? {
                return Ok(None);
            }
        }
        let (end, inode, kind) = self.entries[self.next];
        // Only now an object: a caller that stops early pays for the entries that it saw.
        let name = self.naming.object(py, &self.names[self.name_start..end])?.unbind();
        (self.next, self.name_start) = (self.next + 1, end);
        let directory = self.directory.clone_ref(py);
        Ok(Some(DirEntry {
            name,
            directory,
            inode,
            kind,
            followed: OnceLock::new(),
            itself: OnceLock::new(),
        }))
    }

    /// Closes the directory; the iterator then ends.
    fn close(&mut self, py: Python<'_>) {
        let listing = self.listing.take();
        (self.next, self.name_start) = (0, 0);
        self.entries.clear();
        py.detach(|| drop(listing));
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&mut self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

/// Entry of a directory, in the manner of `os.DirEntry`.
// Results of `os.stat` are kept as objects of Python, one that follows links and one that does not, because callers
// expect the second call to be free. `directory` is the path as the caller gave it, shared by all entries.
#[pyclass(module = "megadir", frozen)]
pub(crate) struct DirEntry {
    #[pyo3(get)]
    name: Py<PyAny>,
    directory: Py<PyAny>,
    inode: u64,
    kind: FileType,
    followed: OnceLock<Py<PyAny>>,
    itself: OnceLock<Py<PyAny>>,
}

impl DirEntry {
    /// `true` if the entry, or the file it links to, has a type that `stat.NAME` accepts.
    fn is(&self, py: Python<'_>, kind: FileType, follow_symlinks: bool, name: &str) -> PyResult<bool> {
        // A known type answers at once; only links that are followed, and unknown types, need a call.
        if self.kind != FileType::Unknown && !(follow_symlinks && self.kind == FileType::Symlink) {
            return Ok(self.kind == kind);
        }
        match self.stat(py, follow_symlinks) {
            Ok(status) => {
                let mode = status.bind(py).getattr("st_mode")?;
                py.import("stat")?.call_method1(name, (mode,))?.extract()
            }
            Err(error) if error.is_instance_of::<PyFileNotFoundError>(py) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[pymethods]
impl DirEntry {
    /// Path of the entry: that of the directory as it was given, and the name.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("os.path")?.call_method1("join", (&self.directory, &self.name))
    }

    fn __fspath__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.path(py)
    }

    /// Inode number, as the directory has it.
    fn inode(&self) -> u64 {
        self.inode
    }

    /// `True` if the entry is a directory, or links to one.
    #[pyo3(signature = (*, follow_symlinks=true))]
    fn is_dir(&self, py: Python<'_>, follow_symlinks: bool) -> PyResult<bool> {
        self.is(py, FileType::Directory, follow_symlinks, "S_ISDIR")
    }

    /// `True` if the entry is a regular file, or links to one.
    #[pyo3(signature = (*, follow_symlinks=true))]
    fn is_file(&self, py: Python<'_>, follow_symlinks: bool) -> PyResult<bool> {
        self.is(py, FileType::File, follow_symlinks, "S_ISREG")
    }

    /// `True` if the entry is a symbolic link.
    fn is_symlink(&self, py: Python<'_>) -> PyResult<bool> {
        self.is(py, FileType::Symlink, false, "S_ISLNK")
    }

    /// Result of `os.stat`, kept after the first call.
    #[pyo3(signature = (*, follow_symlinks=true))]
    fn stat(&self, py: Python<'_>, follow_symlinks: bool) -> PyResult<Py<PyAny>> {
        // Other types have no target, so both results are one.
        let follows = follow_symlinks && matches!(self.kind, FileType::Symlink | FileType::Unknown);
        let kept = if follows { &self.followed } else { &self.itself };
        if let Some(status) = kept.get() {
            return Ok(status.clone_ref(py));
        }
        let options = PyDict::new(py);
        options.set_item("follow_symlinks", follows)?;
        let status = py.import("os")?.call_method("stat", (self.path(py)?,), Some(&options))?.unbind();
        // Another thread may have been first, with a result as good.
        let _ = kept.set(status.clone_ref(py));
        Ok(status)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<megadir.DirEntry {}>", self.name.bind(py).repr()?))
    }
}
