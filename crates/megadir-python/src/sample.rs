//! `sample`: a uniform random sample of the entries of a directory, a tree or an inventory.
//!
//! The listing is read once, as by `list` with the columns `parent` and `name`, and the library chooses by tags of the
//! names: the same entries give the same sample as `megadir list --sample`, whatever the threads.

use arrow_array::{Array, BinaryArray, RecordBatch};
use megadir::sample::{Sample, Tags};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::access::{Access, Asked, Given};
use crate::attention::Callbacks;
use crate::columns::Column;
use crate::conditions::conditions;
use crate::listing::Entries;
use crate::names::{Named, Naming};
use crate::recorded::{self, Recorded};
use crate::stream::Source;
use crate::units::bad;

/// Each path is in memory; as the option of the command.
const SIZE_MAX: usize = 1_000_000;
/// The command numbers its trees from 1 on.
const TREE: u64 = 1;

/// Paths in their order, and the number of all entries.
type Sampled = (Vec<Py<PyAny>>, u64);

/// See `megadir.sample`.
// The names are read as bytes, whatever the caller passed: an entry whose name is no text must not end the reading if it is
// not in the sample.
#[pyfunction]
#[pyo3(signature = (path, size_and_seed, recursive, access, callbacks, given))]
pub(crate) fn sample(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    size_and_seed: (Bound<'_, PyAny>, Bound<'_, PyAny>),
    recursive: bool,
    access: Given,
    callbacks: Callbacks,
    given: &Bound<'_, PyDict>,
) -> PyResult<Sampled> {
    let path = Named::from(path)?;
    let size: usize = size_and_seed.0.extract().map_err(|_| wrong_size())?;
    if size > SIZE_MAX {
        return Err(wrong_size());
    }
    let seed = size_and_seed.1.extract();
    let seed = seed.map_err(|_| bad("seed", "write a whole number from 0 to 2**64 - 1"))?;
    let conditions = conditions(given)?;
    let access = Access::new(access, &conditions)?;
    let columns = [Column::Parent, Column::Name];
    let asked =
        Asked { columns: &columns, names: Some(Naming::Bytes), recursive, access, conditions, callbacks };
    let sample = py.detach(|| -> PyResult<_> {
        let mut source: Box<dyn Source> = match recorded::is_at(&path.path) {
            true => Box::new(Recorded::open(&path, asked)?),
            false => Box::new(Entries::open(&path, asked)?),
        };
        let mut sample = Sample::new(size, seed);
        while let Some(batch) = source.next()? {
            offer(&mut sample, &batch)?;
        }
        Ok(sample)
    })?;
    let entries = sample.offered();
    let mut paths = sample.into_vec();
    paths.sort_unstable();
    let paths = paths.iter().map(|entry| Ok(path.naming.object(py, entry)?.unbind()));
    Ok((paths.collect::<PyResult<_>>()?, entries))
}

fn wrong_size() -> PyErr {
    bad("n", "write a whole number from 0 to 1000000")
}

/// The entries of one directory follow each other mostly, and share the beginning of their tags.
fn offer(sample: &mut Sample<Vec<u8>>, batch: &RecordBatch) -> PyResult<()> {
    let column = |index: usize| batch.column(index).as_any().downcast_ref::<BinaryArray>();
    let (Some(parents), Some(names)) = (column(0), column(1)) else {
        return Err(PyValueError::new_err("sample: names are bytes"));
    };
    let mut shared: Option<(&[u8], Tags)> = None;
    for (parent, name) in parents.iter().flatten().zip(names.iter().flatten()) {
        let (_, tags) = match shared.take() {
            Some(same) if same.0 == parent => shared.insert(same),
            _ => shared.insert((parent, sample.directory(TREE, parent))),
        };
        sample.offer(tags, name, || match parent {
            [] => name.to_vec(),
            _ => [parent, b"/", name].concat(),
        });
    }
    Ok(())
}
