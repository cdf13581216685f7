//! `pack.create` and `pack.verify`: packs of trees, written and read again.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use megadir::Error;
use megadir::policy::processors;
use megadir_pack::{PackEvent, PackOptions, Packed, Verified, VerifyOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::attention::{Callbacks, attentive, report};
use crate::members::of_pack;
use crate::names::{Named, Naming};
use crate::units::bad;

/// Exceptions that are kept; a tree that may not be read may have millions.
const FAILURES_MAX: usize = 1000;
/// As of the command: headers of a few files alone take that much.
const SHARD_BYTES_MIN: u64 = 64 << 10;

/// State that the work shares with the thread that looks for signals.
///
/// Exceptions are kept until the end of the work, because the caller's function may raise, and a pack must not be left
/// unfinished for that. They are made where they occur, since errors of the library cannot be copied.
struct Watched {
    naming: Naming,
    entries: AtomicU64,
    stop: AtomicBool,
    failures: Mutex<Vec<PyErr>>,
}

impl Watched {
    fn new(naming: Naming) -> Self {
        let (entries, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { naming, entries, stop, failures: Mutex::default() }
    }

    fn set(&self, entries: u64) {
        self.entries.store(entries, Ordering::Relaxed);
    }

    fn add(&self, error: &Error) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() < FAILURES_MAX {
            failures.push(of_pack(error, self.naming));
        }
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Works with attention to signals. `None` is work that was stopped.
    fn during<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        work: impl FnOnce() -> megadir::Result<Option<T>> + Send,
    ) -> PyResult<T> {
        let looks = (|| self.entries.load(Ordering::Relaxed), || self.stop.store(true, Ordering::Relaxed));
        let done = attentive(py, progress, looks, work)?.map_err(|error| of_pack(&error, self.naming))?;
        // Stopped work raised its reason before.
        done.ok_or_else(|| PyValueError::new_err("the work was stopped"))
    }

    fn report(self, on_error: Option<&Py<PyAny>>) -> PyResult<()> {
        let failures = self.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
        failures.into_iter().try_for_each(|failure| report(on_error, failure))
    }
}

/// See `megadir.pack.create`. Returns entries, shards, bytes, failed.
// Progress counts packed entries only: the scan before it sees the same entries once more, and the number would fall back to 0 after it.
#[pyfunction]
#[pyo3(signature = (source, pack, shard_bytes, callbacks))]
pub(crate) fn create_pack(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    pack: &Bound<'_, PyAny>,
    shard_bytes: u64,
    callbacks: Callbacks,
) -> PyResult<(u64, u32, u64, u64)> {
    if shard_bytes < SHARD_BYTES_MIN {
        return Err(bad("shard_size", "too small (write \"64KiB\" or more)"));
    }
    let (on_error, progress) = callbacks;
    let Named { path: source, naming } = Named::from(source)?;
    let destination = Named::from(pack)?.path;
    let watched = Watched::new(naming);
    let packed = watched.during(py, progress, || {
        let options = PackOptions { shard_bytes, threads: processors() };
        let packed = megadir_pack::pack(&source, &destination, &options, &mut |event| {
            match event {
                PackEvent::Packed(entries) => watched.set(entries),
                PackEvent::Failed(error) => watched.add(error),
                PackEvent::Scan(_) | PackEvent::Kept(_) => {}
            }
            watched.flow()
        })?;
        packed.iter().for_each(|packed| watched.set(packed.entries));
        Ok(packed)
    })?;
    watched.report(on_error.as_ref())?;
    let Packed { entries, shards, bytes, failed, .. } = packed;
    Ok((entries, shards, bytes, failed))
}

/// See `megadir.pack.verify`. Returns entries, bytes, problems.
#[pyfunction]
#[pyo3(signature = (pack, source, callbacks))]
pub(crate) fn verify_pack(
    py: Python<'_>,
    pack: &Bound<'_, PyAny>,
    source: Option<&Bound<'_, PyAny>>,
    callbacks: Callbacks,
) -> PyResult<(u64, u64, u64)> {
    let (on_error, progress) = callbacks;
    let Named { path: pack, naming } = Named::from(pack)?;
    let source = source.map(Named::from).transpose()?.map(|source| source.path);
    let watched = Watched::new(naming);
    let verified = watched.during(py, progress, || {
        let options = VerifyOptions { source: source.as_deref(), threads: processors() };
        let verified = megadir_pack::verify(&pack, &options, &mut |problem, entries| {
            watched.set(entries);
            problem.into_iter().for_each(|problem| watched.add(problem));
            watched.flow()
        })?;
        verified.iter().for_each(|verified| watched.set(verified.entries));
        Ok(verified)
    })?;
    watched.report(on_error.as_ref())?;
    let Verified { entries, bytes, problems } = verified;
    Ok((entries, bytes, problems))
}
