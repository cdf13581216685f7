//! Conditions on entries, as keyword arguments with the names and meaning of the commands' options.

use std::time::{SystemTime, UNIX_EPOCH};

use megadir::nearest::choices;
use megadir::{BadGlob, Conditions, FileType, Globs, Time, TimeKind, quantity};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::units::{bad, duration_s, size_bytes};

/// Names in Python; unknown ones are answered with the nearest of these.
const NAMES: [&str; 11] = [
    "type",
    "match",
    "path_match",
    "exclude",
    "max_depth",
    "older_than",
    "newer_than",
    "by",
    "larger_than",
    "smaller_than",
    "owner",
];

/// Reads the conditions in a dictionary. A value of `None` is no condition.
pub(crate) fn conditions(given: &Bound<'_, PyDict>) -> PyResult<Conditions> {
    let (conditions, by) = conditions_and_time(given)?;
    if by.is_some() && conditions.before.is_none() && conditions.since.is_none() {
        return Err(bad("by", "needs older_than or newer_than"));
    }
    Ok(Conditions { by: by.unwrap_or_default(), ..conditions })
}

/// Reads the conditions, and the time of `by` for a function that uses it without ages too.
///
/// One dictionary instead of an argument for each condition, because all functions take the same ones. An unknown
/// name is a `TypeError`, as Python raises it for a keyword argument. `by` is judged by the caller, because the
/// order of keyword arguments is the caller's and the time it belongs to may come later.
pub(crate) fn conditions_and_time(given: &Bound<'_, PyDict>) -> PyResult<(Conditions, Option<TimeKind>)> {
    let mut conditions = Conditions::default();
    let mut by = None;
    for (name, value) in given.iter() {
        if value.is_none() {
            continue;
        }
        let name: String = name.extract()?;
        match name.as_str() {
            "type" => {
                let named = |text: &String| named(FileType::ALL, FileType::name, "type: unknown type", text);
                conditions.types = texts(&value)?.iter().map(named).collect::<PyResult<_>>()?;
            }
            "match" => conditions.names = globs(&name, Globs::of_names(&texts(&value)?))?,
            "path_match" => conditions.paths = globs(&name, Globs::of_paths(&texts(&value)?))?,
            "exclude" => conditions.exclude = globs(&name, Globs::of_names_or_paths(&texts(&value)?))?,
            "max_depth" => match value.extract()? {
                0 => return Err(bad("max_depth", "must be at least 1: the entries of the directory itself")),
                depth => conditions.depth_max = Some(depth),
            },
            "older_than" => conditions.before = Some(moment("older_than", &value)?),
            "newer_than" => conditions.since = Some(moment("newer_than", &value)?),
            "by" => {
                let text: String = value.extract()?;
                by = Some(named(TimeKind::ALL, TimeKind::name, "by: unknown time", &text)?);
            }
            "larger_than" => conditions.larger_than = Some(size_bytes("larger_than", &value)?),
            "smaller_than" => conditions.smaller_than = Some(size_bytes("smaller_than", &value)?),
            "owner" => conditions.user = Some(owner(&value)?),
            other => {
                let choices = choices(other, NAMES);
                return Err(PyTypeError::new_err(format!(
                    "unexpected keyword argument '{other}'; for a condition, {choices}"
                )));
            }
        }
    }
    Ok((conditions, by))
}

/// One text or several, as for the options of the commands.
fn texts(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    match value.cast::<PyString>() {
        Ok(text) => Ok(vec![text.extract()?]),
        Err(_) => value.extract(),
    }
}

fn globs(key: &str, globs: Result<Globs, BadGlob>) -> PyResult<Globs> {
    globs.map_err(|error| bad(&format!("{key} '{}'", error.glob), &error.reason))
}

/// The choices in the message are the names in their order.
pub(crate) fn named<T: Copy, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
    unknown: &str,
    text: &str,
) -> PyResult<T> {
    all.into_iter().find(|one| name(*one) == text).ok_or_else(|| {
        let choices = choices(text, all.map(name));
        PyValueError::new_err(format!("{unknown} '{text}': {choices}"))
    })
}

/// Converts an age, a `datetime.datetime` or the text of one. Dates without a time zone are local, as in Python.
fn moment(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Time> {
    let datetime = value.py().import("datetime")?.getattr("datetime")?;
    let date = match value.cast::<PyString>() {
        Ok(text) if quantity::begins_as_date(&text.extract::<String>()?) => Some(
            datetime.call_method1("fromisoformat", (text,)).map_err(|error| bad(name, &error.to_string()))?,
        ),
        _ => value.is_instance(&datetime)?.then(|| value.clone()),
    };
    let Some(date) = date else { return ago(name, value) };
    // `timestamp` follows Python's rules for dates without a time zone.
    let seconds: f64 = date.call_method0("timestamp")?.extract()?;
    let microseconds: u32 = date.getattr("microsecond")?.extract()?;
    // The fraction of a double has fewer digits than a microsecond needs.
    let seconds = (seconds - f64::from(microseconds) / 1e6).round() as i64;
    Ok(Time { seconds, nanoseconds: microseconds * 1000 })
}

fn ago(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Time> {
    let age_s = duration_s(name, value)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let then = now - age_s;
    let nanoseconds = ((then - then.floor()) * 1e9) as u32;
    Ok(Time { seconds: then.floor() as i64, nanoseconds: nanoseconds.min(999_999_999) })
}

/// Names are resolved by Python, which asks the same services as other programs.
fn owner(value: &Bound<'_, PyAny>) -> PyResult<u32> {
    match value.cast::<PyString>() {
        Ok(name) => value.py().import("pwd")?.call_method1("getpwnam", (name,))?.getattr("pw_uid")?.extract(),
        Err(_) => value.extract(),
    }
}
