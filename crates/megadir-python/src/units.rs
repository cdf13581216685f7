//! Lengths of time and sizes, which need a unit: a caller of `remove(path, older_than=30)` may have meant days.

use megadir::quantity;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyString};

pub(crate) fn bad(name: &str, reason: &str) -> PyErr {
    PyValueError::new_err(format!("{name}: {reason}"))
}

/// Seconds of a `datetime.timedelta`, or of text such as `30d`.
#[pyfunction]
pub(crate) fn duration_s(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    if let Ok(text) = value.cast::<PyString>() {
        let age_s = quantity::age_s(&text.extract::<String>()?).map_err(|reason| bad(name, &reason))?;
        return Ok(age_s as f64);
    }
    // A number alone has no unit; the message has lines to copy, with the caller's number.
    if value.cast::<PyDelta>().is_err() {
        let number = number(value).unwrap_or(30);
        let lines = format!(
            "{name}=\"{number}d\" for days, {name}=\"{number}s\" for seconds, or a datetime.timedelta"
        );
        return Err(without_unit(name, value, &lines));
    }
    let seconds: f64 = value.call_method0("total_seconds")?.extract()?;
    if !seconds.is_finite() || seconds < 0.0 {
        return Err(bad(name, "a length of time is at least 0 seconds"));
    }
    Ok(seconds)
}

/// Bytes of text such as `10MB`.
#[pyfunction]
pub(crate) fn size_bytes(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let Ok(text) = value.cast::<PyString>() else {
        let number = number(value).unwrap_or(10);
        let lines = format!(
            "{name}=\"{number}B\" for bytes, {name}=\"{number}KiB\", {name}=\"{number}MB\" or the like"
        );
        return Err(without_unit(name, value, &lines));
    };
    let text: String = text.extract()?;
    let bytes = quantity::bytes(&text).map_err(|reason| bad(name, &reason))?;
    // Text without a unit, which `quantity` takes as bytes, is refused here, as numbers are.
    match text.trim().ends_with(|letter: char| letter.is_ascii_alphabetic()) {
        true => Ok(bytes),
        false => Err(bad(name, &format!("'{text}' has no unit: write {name}=\"{bytes}B\""))),
    }
}

/// Whole number, for a suggestion of text with a unit. `True` is a number for Python, but not for a reader.
pub(crate) fn number(value: &Bound<'_, PyAny>) -> Option<u64> {
    if value.cast::<PyBool>().is_ok() { None } else { value.extract().ok() }
}

pub(crate) fn without_unit(name: &str, value: &Bound<'_, PyAny>, lines: &str) -> PyErr {
    let given = value.repr().map_or_else(|_| "the value".to_owned(), |text| text.to_string());
    PyTypeError::new_err(format!("{name}: {given} has no unit: write {lines}"))
}
