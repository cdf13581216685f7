//! `limits`: how many entries fit into a directory, and what runs out first.

use megadir::Dir;
use megadir::limits::{Assumptions, Limits, Span, limits as judge};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure::exception;
use crate::names::Named;

/// See `megadir.limits`.
#[pyfunction]
#[pyo3(signature = (path, churn, count))]
pub(crate) fn limits<'py>(
    py: Python<'py>,
    path: &Bound<'py, PyAny>,
    churn: bool,
    count: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let path = Named::from(path)?;
    // The library's assumptions for files like the present ones.
    let assumptions = Assumptions { churn, count, ..Assumptions::MORE_OF_THE_SAME };
    let limits = py.detach(|| judge(&Dir::open(&path.path)?, &assumptions));
    answer(py, &limits.map_err(|error| exception(&error, path.naming))?)
}

fn answer<'py>(py: Python<'py>, limits: &Limits) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    dictionary.set_item("file_system", limits.facts.file_system.to_string())?;
    dictionary.set_item("entries", limits.facts.entries.as_ref().map(|entries| span(entries.value)))?;
    dictionary.set_item("entries_until_full", limits.entries_until_full().map(span))?;
    dictionary.set_item("runs_out_first", limits.runs_out_first().map(megadir::limits::Limit::name))?;
    let mut ceilings = Vec::new();
    for ceiling in &limits.ceilings {
        let one = PyDict::new(py);
        one.set_item("limit", ceiling.limit.name())?;
        one.set_item("more", span(ceiling.more))?;
        one.set_item("used", ceiling.used)?;
        one.set_item("basis", ceiling.basis.to_string())?;
        ceilings.push(one);
    }
    dictionary.set_item("limits", ceilings)?;
    let traps = limits.judgement.traps.iter().map(|trap| (trap.name, trap.text.to_string()));
    dictionary.set_item("traps", traps.collect::<Vec<_>>())?;
    Ok(dictionary)
}

/// Likely, low, high.
fn span(span: Span) -> (u64, u64, u64) {
    (span.likely, span.low, span.high)
}
