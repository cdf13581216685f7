//! `usage`: which directories hold the entries and the space, of trees or of an inventory.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::{ArrayRef, BinaryArray, Int32Array, Int64Array};
use megadir::usage::{By, Item, Report, Sum, Usage, UsageOptions, read};
use megadir::{Conditions, Dir, TreeEvent};
use megadir_inventory::{Inventory, nanoseconds};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::access::{Access, Given};
use crate::attention::{Callbacks, attentive, report};
use crate::columns::{table_of, texts, times};
use crate::conditions::{conditions, named};
use crate::failure::{exception, of_inventory, unexamined};
use crate::names::{Named, Naming};
use crate::recorded::check_recorded;
use crate::stream::Stream;

/// See `megadir.usage`.
#[pyfunction]
#[pyo3(signature = (paths, ranking, access, callbacks, given))]
pub(crate) fn usage(
    py: Python<'_>,
    paths: &Bound<'_, PyAny>,
    ranking: (usize, Option<u32>, String),
    access: Given,
    callbacks: Callbacks,
    given: &Bound<'_, PyDict>,
) -> PyResult<Stream> {
    let (paths, naming) = Named::several(paths)?;
    let ((top, depth, by), (on_error, progress)) = (ranking, callbacks);
    let by = named(By::ALL, By::name, "order: unknown order", &by)?;
    let conditions = Arc::new(conditions(given)?);
    let access = Access::new(access, &conditions)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_s = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let shared = Shared::default();
    let mut reading = Reading {
        usage: Usage::new(UsageOptions { top, depth, by, now_s }),
        conditions,
        access,
        naming,
        on_error,
        shared: &shared,
    };
    let watched = (|| shared.done.load(Ordering::Relaxed), || shared.stop.store(true, Ordering::Relaxed));
    attentive(py, progress, watched, || {
        paths.iter().try_for_each(|path| reading.path(path)).map(|()| reading.usage.finish())
    })?
    .and_then(|report| table(&report, naming))
}

/// Parts of a call that both threads use: entries so far, a request to stop, and an exception of the
/// caller's function.
#[derive(Default)]
struct Shared {
    done: AtomicU64,
    stop: AtomicBool,
    raised: Mutex<Option<PyErr>>,
}

/// State of a call: several trees and inventories, one after the other, add to the same `usage`. `shared` is
/// borrowed, because the caller's thread uses it at the same time, for progress and for a stop by a signal.
struct Reading<'s> {
    usage: Usage,
    conditions: Arc<Conditions>,
    access: Access,
    naming: Naming,
    on_error: Option<Py<PyAny>>,
    shared: &'s Shared,
}

impl Reading<'_> {
    /// An exception that stopped the reading is raised after it.
    fn path(&mut self, path: &Path) -> PyResult<()> {
        let naming = self.naming;
        let _ = match Inventory::is_at(path) {
            true => {
                self.access.check_inventory(path)?;
                self.inventory(path).map_err(|error| of_inventory(&error, naming))?
            }
            false => self.tree(path).map_err(|error| exception(&error, naming))?,
        };
        match self.shared.raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn inventory(&mut self, path: &Path) -> megadir::Result<ControlFlow<()>> {
        let shared = self.shared;
        // Progress counts on over all paths.
        let before = shared.done.load(Ordering::Relaxed);
        let mut watch = |read: u64| shared.goes_on(before + read);
        let conditions = (!self.conditions.is_none()).then_some(&self.conditions);
        let inventory = Inventory::open(path)?;
        check_recorded(&self.conditions, &inventory)?;
        let flow = megadir_inventory::usage(inventory, conditions, &mut self.usage, &mut watch)?;
        Ok(flow.map_continue(drop))
    }

    fn tree(&mut self, path: &Path) -> megadir::Result<ControlFlow<()>> {
        let root = Dir::open(path)?;
        // Space, and the attributes that conditions need.
        let want = Some(Item::WANT | self.conditions.want());
        let options = self.access.walk_options(&root, want, &self.conditions)?;
        let conditions = (!self.conditions.is_none()).then(|| Arc::clone(&self.conditions));
        let (shared, naming) = (self.shared, self.naming);
        let (before, mut here) = (shared.done.load(Ordering::Relaxed), 0);
        let on_error = self.on_error.as_ref();
        let mut watch = |event: TreeEvent<'_>| {
            let failed = match event {
                TreeEvent::Read(entries) => {
                    here = entries;
                    None
                }
                TreeEvent::Failed(error) => Some(exception(error, naming)),
                TreeEvent::Unexamined { directory, first, errno, .. } => {
                    Some(unexamined(directory, first, errno, naming))
                }
                TreeEvent::Written(_) | TreeEvent::OtherMount(_) => None,
            };
            match failed {
                Some(error) => shared.failed(error, on_error),
                None => shared.goes_on(before + here),
            }
        };
        read(&mut self.usage, root, megadir::WalkOptions { conditions, ..options }, &mut watch)
    }
}

impl Shared {
    /// `Break` ends the reading at the next event.
    fn goes_on(&self, done: u64) -> ControlFlow<()> {
        self.done.store(done, Ordering::Relaxed);
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn failed(&self, error: PyErr, on_error: Option<&Py<PyAny>>) -> ControlFlow<()> {
        match report(on_error, error) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

fn table(report: &Report, naming: Naming) -> PyResult<Stream> {
    let roots = report.roots.iter().zip(0..).map(|(root, index)| (index, Vec::new(), 0, root.sum));
    let directories = report.directories.iter().map(|one| (one.root, one.path.to_vec(), one.depth, one.sum));
    rows_table(&roots.chain(directories).collect::<Vec<_>>(), naming)
}

/// Index of the tree, path, depth and figures of a directory.
type Row = (u32, Vec<u8>, u32, Sum);

/// Sums above the largest `i64` become that number.
pub(crate) fn rows_table(rows: &[Row], naming: Naming) -> PyResult<Stream> {
    let number = |of: &dyn Fn(&Sum) -> u128| -> ArrayRef {
        let number = |row: &Row| i64::try_from(of(&row.3)).unwrap_or(i64::MAX);
        Arc::new(Int64Array::from_iter_values(rows.iter().map(number)))
    };
    let time = |of: &dyn Fn(&Sum) -> Option<megadir::Time>| {
        times(rows.iter().map(|row| of(&row.3).map(nanoseconds)).collect())
    };
    let paths = BinaryArray::from_iter_values(rows.iter().map(|row| &row.1));
    let batch = table_of([
        ("root", Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.0 as i32))), false),
        ("path", texts(paths, naming)?, false),
        ("depth", Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.2 as i32))), false),
        ("entries", number(&|sum| sum.amount.entries.into()), false),
        ("inodes", number(&|sum| sum.amount.inodes.into()), false),
        ("directories", number(&|sum| sum.directories.into()), false),
        ("allocated", number(&|sum| sum.amount.allocated), false),
        ("apparent", number(&|sum| sum.amount.apparent), false),
        ("newest", time(&|sum| sum.newest), true),
        ("oldest", time(&|sum| sum.oldest), true),
    ])?;
    Ok(Stream::new(batch.schema(), Box::new(vec![batch].into_iter())))
}
