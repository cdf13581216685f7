//! Listing of a directory, a tree or an inventory, as record batches or as a number.

use std::sync::Arc;

use arrow_array::RecordBatch;
use megadir::{
    AttributeListing, Attributes, Batch, Conditions, Dir, Entry, Listing, Place, StatMask, Walk, WalkItem,
    attribute_policy, policy,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::access::{Access, Asked, Given};
use crate::attention::{Attention, Callbacks, report};
use crate::columns::{Column, Rows};
use crate::conditions::conditions;
use crate::failure::{exception, unexamined};
use crate::names::{Named, Naming};
use crate::recorded::{self, Recorded};
use crate::stream::{Source, Stream};

/// Three ways to read: names alone, a directory with attributes, a tree.
enum Reading {
    Names(Listing),
    Examined(AttributeListing),
    Tree(Walk),
}

/// A listing that is read on demand: `rows` holds the rows since the last batch was taken. `ended` is set at the
/// end and after an error, so that a further call for a batch returns nothing instead of reading on.
pub(crate) struct Entries {
    reading: Reading,
    root: Dir,
    rows: Rows,
    filter: Filter,
    reports: Reports,
    ended: bool,
}

/// Conditions, and the directory that they are applied to. `parent` is its path below the root.
struct Filter {
    conditions: Arc<Conditions>,
    accepts_all: bool,
    place: Place,
    parent: Vec<u8>,
}

/// The caller's functions, and the number of entries that were read for progress.
struct Reports {
    on_error: Option<Py<PyAny>>,
    naming: Naming,
    attention: Attention,
    read: u64,
}

impl Filter {
    // A vanished entry is no row and no error: it was removed during the listing.
    /// Returns the first accepted entry that could not be examined.
    fn add<'e>(
        &self,
        rows: &mut Rows,
        entries: impl Iterator<Item = (Entry<'e>, &'e Attributes)>,
    ) -> Option<(Vec<u8>, i32)> {
        let accepts = |entry: &Entry<'e>, row: &Attributes| {
            !row.has_vanished() && self.conditions.may_accept(&self.place, entry.name, entry.kind, row)
        };
        let accepted: Vec<_> = entries.filter(|(entry, row)| accepts(entry, row)).collect();
        rows.extend(&self.parent, accepted.len(), accepted.iter().copied());
        let failed = accepted.iter().find(|(_, row)| row.error != 0);
        failed.map(|(entry, row)| (entry.name.to_vec(), row.error))
    }

    fn add_names(&self, rows: &mut Rows, batch: Batch<'_>) {
        let nothing = &Attributes::NOTHING;
        // The usual case, without a copy of the entries.
        if self.accepts_all {
            return rows.extend(&self.parent, batch.len(), batch.entries().map(|entry| (entry, nothing)));
        }
        let accepts = |entry: &Entry<'_>| {
            self.conditions.accepts_type(entry.kind) && self.conditions.accepts_name(&self.place, entry.name)
        };
        let accepted: Vec<Entry<'_>> = batch.entries().filter(accepts).collect();
        rows.extend(&self.parent, accepted.len(), accepted.iter().map(|entry| (*entry, nothing)));
    }
}

impl Entries {
    pub(crate) fn open(path: &Named, asked: Asked<'_>) -> PyResult<Self> {
        asked.access.check_use(asked.want() != StatMask::NOTHING)?;
        Self::opened(path, asked).map_err(|error| exception(&error, path.naming))
    }

    /// Chooses how the source is read. A tree has threads of its own; a single directory is examined only if
    /// attributes are wanted, because that takes a system call for each entry. Types are asked for only if a column
    /// or a condition needs them: where the directory does not have them, each entry has to be looked at. A stat
    /// backend that the caller chose is probed first, so that a system without it fails before any entry is read.
    fn opened(path: &Named, asked: Asked<'_>) -> megadir::Result<Self> {
        let root = Dir::open(&path.path)?;
        let (access, want) = (asked.access, asked.want());
        let conditions = Arc::new(asked.conditions);
        let needs_types = asked.columns.contains(&Column::Type) || !conditions.types.is_empty();
        let want =
            (want != StatMask::NOTHING).then(|| if needs_types { want | StatMask::TYPE } else { want });
        let reading = match (asked.recursive, want) {
            (true, _) => {
                let options = access.walk_options(&root, want, &conditions)?;
                Reading::Tree(Walk::new(root.again()?, &options)?)
            }
            (false, Some(want)) => {
                let mut choice = attribute_policy::choose_freely(&root, want)?;
                if let Some(stat_backend) = access.stat_backend {
                    stat_backend.probe(&root)?;
                    choice = choice.with_stat_backend(stat_backend);
                }
                Reading::Examined(AttributeListing::with_choice(root.again()?, choice)?)
            }
            (false, None) => {
                let mut choice = policy::choose_freely(&root)?;
                choice.options.resolve_types = needs_types;
                Reading::Names(Listing::with_choice(&root, choice)?)
            }
        };
        let accepts_all = conditions.is_none();
        let (on_error, progress) = asked.callbacks;
        let attention = Attention::new(progress);
        Ok(Self {
            reading,
            root,
            rows: Rows::new(asked.columns, asked.names.unwrap_or(path.naming)),
            filter: Filter { conditions, accepts_all, place: Place::TOP, parent: Vec::new() },
            reports: Reports { on_error, naming: path.naming, attention, read: 0 },
            ended: false,
        })
    }

    /// One buffer of entries, or one item of a walk; `false` at the end.
    fn step(&mut self) -> PyResult<bool> {
        let Self { reading, root, rows, filter, reports, .. } = self;
        let naming = reports.naming;
        let raise = |error: megadir::Error| exception(&error, naming);
        let read = match reading {
            Reading::Names(listing) => {
                let Some(batch) = listing.next_batch().map_err(raise)? else { return Ok(false) };
                filter.add_names(rows, batch);
                batch.len()
            }
            Reading::Examined(listing) => {
                let Some(batch) = listing.next_batch().map_err(raise)? else { return Ok(false) };
                if let Some((name, errno)) = filter.add(rows, batch.entries()) {
                    report(reports.on_error.as_ref(), unexamined(root.path(), &name, errno, naming))?;
                }
                batch.len()
            }
            Reading::Tree(walk) => {
                let Some(item) = walk.next_item() else { return Ok(false) };
                tree_item(item, root, rows, filter, reports)?
            }
        };
        reports.read += read as u64;
        reports.attention.pay(reports.read)?;
        Ok(true)
    }

    /// Reads until a batch is full. Signals are looked for at the end as well, as a short listing may never
    /// have looked.
    fn batch(&mut self) -> PyResult<Option<RecordBatch>> {
        while !self.ended && !self.rows.is_full() {
            self.ended = !self.step()?;
        }
        if self.ended {
            self.reports.attention.look(self.reports.read)?;
        }
        if self.rows.len() == 0 { Ok(None) } else { self.rows.take().map(Some) }
    }

    pub(crate) fn count(mut self) -> PyResult<usize> {
        while self.step()? {}
        self.reports.attention.look(self.reports.read)?;
        Ok(self.rows.len())
    }
}

/// Returns the number of entries read. The path of the directory is built only if a column or a condition may need
/// it, because a mere count needs none. An error of the root is raised, since then nothing was listed; errors below
/// it are reported to the caller's function, and the walk continues.
fn tree_item(
    item: WalkItem<'_>,
    root: &Dir,
    rows: &mut Rows,
    filter: &mut Filter,
    reports: &Reports,
) -> PyResult<usize> {
    match item {
        WalkItem::Batch { directory, batch, attributes } => {
            let below = directory.below();
            if rows.has_columns() || !filter.accepts_all {
                filter.parent.clear();
                below.push_to(&mut filter.parent);
                filter.place = filter.conditions.place(below);
            }
            match attributes.is_empty() {
                true => filter.add_names(rows, batch),
                false => {
                    if let Some((name, errno)) = filter.add(rows, batch.entries().zip(attributes)) {
                        let error = unexamined(directory, &name, errno, reports.naming);
                        report(reports.on_error.as_ref(), error)?;
                    }
                }
            }
            Ok(batch.len())
        }
        WalkItem::Error(error) if error.path() == root.path() => Err(exception(&error, reports.naming)),
        WalkItem::Error(error) => {
            report(reports.on_error.as_ref(), exception(&error, reports.naming)).map(|()| 0)
        }
        WalkItem::OtherMount(_) | WalkItem::End { .. } => Ok(0),
    }
}

impl Source for Entries {
    fn next(&mut self) -> PyResult<Option<RecordBatch>> {
        // After an error nothing more is read.
        let batch = self.batch();
        self.ended |= batch.is_err();
        batch
    }
}

/// See `megadir.list`. The source is a path, and whether it is of an inventory or of a directory, whatever is in it; with `None`, what is
/// there decides.
#[pyfunction]
#[pyo3(signature = (source, columns, recursive, access, callbacks, given))]
pub(crate) fn list(
    py: Python<'_>,
    source: (Bound<'_, PyAny>, Option<bool>),
    columns: Option<Vec<String>>,
    recursive: bool,
    access: Given,
    callbacks: Callbacks,
    given: &Bound<'_, PyDict>,
) -> PyResult<Stream> {
    let (path, is_inventory) = (Named::from(&source.0)?, source.1);
    // By default a name for a directory, and a path for a tree.
    let columns: Vec<Column> = match columns {
        Some(names) => names.iter().map(|name| Column::from_name(name)).collect::<PyResult<_>>()?,
        None if recursive => vec![Column::Path],
        None => vec![Column::Name],
    };
    let conditions = conditions(given)?;
    let access = Access::new(access, &conditions)?;
    let asked = Asked { columns: &columns, names: None, recursive, access, conditions, callbacks };
    if py.detach(|| is_inventory.unwrap_or_else(|| recorded::is_at(&path.path))) {
        let rows = py.detach(|| Recorded::open(&path, asked))?;
        return Ok(Stream::new(rows.schema(), Box::new(rows)));
    }
    let entries = py.detach(|| Entries::open(&path, asked))?;
    Ok(Stream::new(entries.rows.schema(), Box::new(entries)))
}

/// See `megadir.count`.
#[pyfunction]
#[pyo3(signature = (path, recursive, access, callbacks, given))]
pub(crate) fn count(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    recursive: bool,
    access: Given,
    callbacks: Callbacks,
    given: &Bound<'_, PyDict>,
) -> PyResult<usize> {
    let path = Named::from(path)?;
    let conditions = conditions(given)?;
    let access = Access::new(access, &conditions)?;
    let asked = Asked { columns: &[], names: None, recursive, access, conditions, callbacks };
    py.detach(|| match recorded::is_at(&path.path) {
        true => Recorded::open(&path, asked)?.count(),
        false => Entries::open(&path, asked)?.count(),
    })
}

/// See `megadir.estimate`.
#[pyfunction]
pub(crate) fn estimate(py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<(u64, u64, u64, String)> {
    let path = Named::from(path)?;
    let estimate = py.detach(|| megadir::estimate(&Dir::open(&path.path)?));
    let estimate = estimate.map_err(|error| exception(&error, path.naming))?;
    Ok((estimate.entries, estimate.interval.0, estimate.interval.1, estimate.basis))
}
