//! Files of a pack: contents by path, and all of them in the order of the index or of the shards.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use megadir::{Error, ErrorKind, names};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::failure::exception;
use crate::names::{Named, Naming};

pyo3::create_exception!(
    megadir.pack,
    PackError,
    PyValueError,
    "A pack is damaged, or differs from the tree that it is compared with. ``filename`` is the file concerned."
);

/// Damage is an error of its own type, with its file; all else as of the other functions.
pub(crate) fn of_pack(error: &Error, naming: Naming) -> PyErr {
    if error.kind() != ErrorKind::Malformed {
        return exception(error, naming);
    }
    Python::attach(|py| {
        let raised = PackError::new_err(error.to_string());
        let path = naming.path(py, error.path());
        match path.and_then(|path| raised.value(py).setattr("filename", path)) {
            Ok(()) => raised,
            Err(undecodable) => undecodable,
        }
    })
}

/// Files of a pack, each read by one call of the kernel. Threads share it.
#[pyclass(module = "megadir", frozen)]
pub(crate) struct Members {
    members: Arc<megadir_pack::Members>,
}

impl Members {
    /// Calls `work` with the bytes of a path, without the interpreter's lock.
    fn with_path<T: Send>(
        &self,
        name: &Bound<'_, PyAny>,
        work: impl FnOnce(&megadir_pack::Members, &[u8]) -> megadir::Result<T> + Send,
    ) -> PyResult<T> {
        let (py, members) = (name.py(), &*self.members);
        let raise = |error: Error| of_pack(&error, Naming::Text);
        // Nearly all keys are texts in UTF-8, which need no call of `os`.
        if let Ok(text) = name.cast::<PyString>()
            && let Ok(text) = text.to_cow()
        {
            return py.detach(|| work(members, text.as_bytes())).map_err(raise);
        }
        let path = Named::from(name)?.path;
        py.detach(|| work(members, names::from_os(path.as_os_str()))).map_err(raise)
    }
}

#[pymethods]
impl Members {
    #[new]
    #[pyo3(signature = (path, check))]
    fn new(path: &Bound<'_, PyAny>, check: bool) -> PyResult<Self> {
        let Named { path: pack, naming } = Named::from(path)?;
        let opened = path.py().detach(|| megadir_pack::Members::open(&pack));
        let members = opened.map_err(|error| of_pack(&error, naming))?;
        let members = if check { members } else { members.without_hashing() };
        Ok(Self { members: Arc::new(members) })
    }

    fn __len__(&self) -> usize {
        self.members.len()
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.with_path(name, megadir_pack::Members::contains)
    }

    /// Path of the index.
    fn index<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Naming::Text.path(py, self.members.index())
    }

    /// Contents of a file, or `None` if the pack does not have it.
    fn read<'py>(&self, name: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let contents = self.with_path(name, |members, path| {
            let mut contents = Vec::new();
            members.read(path, &mut contents).map(|found| found.then_some(contents))
        })?;
        Ok(contents.map(|contents| PyBytes::new(name.py(), &contents)))
    }

    /// Path of the shard, offset and length of the contents; `None` if the pack does not have the file.
    fn place<'py>(&self, name: &Bound<'py, PyAny>) -> PyResult<Option<(Bound<'py, PyAny>, u64, u64)>> {
        let place = self.with_path(name, megadir_pack::Members::place)?;
        let place = place.map(|place| {
            let shard = Naming::Text.path(name.py(), &place.shard)?;
            Ok((shard, place.offset, place.length))
        });
        place.transpose()
    }

    /// Paths in the order of the index, which is read again.
    fn paths(&self, py: Python<'_>) -> PyResult<MemberPaths> {
        let paths = py.detach(|| self.members.paths()).map_err(|error| of_pack(&error, Naming::Text))?;
        Ok(MemberPaths { paths: Mutex::new(Some(paths)) })
    }

    /// Paths and contents in the order of the shards.
    fn in_order(&self, py: Python<'_>) -> MembersInOrder {
        let positions = py.detach(|| self.members.in_order_of_shards());
        MembersInOrder { members: Arc::clone(&self.members), positions, next: AtomicUsize::new(0) }
    }
}

/// Iterator of paths. Threads that share it get different ones.
#[pyclass(module = "megadir", frozen)]
pub(crate) struct MemberPaths {
    /// `None` after an error.
    paths: Mutex<Option<megadir_pack::MemberPaths>>,
}

#[pymethods]
impl MemberPaths {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let path = py.detach(|| {
            let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
            let next = paths.as_mut().map(|paths| paths.next_path().map(|path| path.map(<[u8]>::to_vec)));
            let next = next.unwrap_or(Ok(None));
            if next.is_err() {
                *paths = None;
            }
            next
        });
        let path = path.map_err(|error| of_pack(&error, Naming::Text))?;
        path.map(|path| Naming::Text.object(py, &path)).transpose()
    }
}

/// Iterator of paths and contents. Threads that share it get different ones.
#[pyclass(module = "megadir", frozen)]
pub(crate) struct MembersInOrder {
    members: Arc<megadir_pack::Members>,
    positions: Vec<usize>,
    next: AtomicUsize,
}

#[pymethods]
impl MembersInOrder {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// After an error it continues with the next file.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyBytes>)>> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(&position) = self.positions.get(next) else { return Ok(None) };
        let (mut path, mut contents) = (Vec::new(), Vec::new());
        py.detach(|| self.members.read_at(position, &mut path, &mut contents))
            .map_err(|error| of_pack(&error, Naming::Text))?;
        Ok(Some((Naming::Text.object(py, &path)?, PyBytes::new(py, &contents))))
    }
}
