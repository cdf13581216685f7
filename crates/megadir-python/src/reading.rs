//! Contents that `scan` hashes and `changes` compares with their hashes: how they are read, and what was found.
//!
//! The names in Python are those of the command's options (`--hash`, `--verify`, `--read-rate`); `read_threads` is `-j`, which
//! other functions of the package choose themselves. A rate needs a unit, as ages and sizes do.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use megadir::nearest::choices;
use megadir::{THREADS_MAX, quantity};
use megadir_inventory::ContentHash;
use megadir_inventory::changes::{HashCounts, Hashed, ReadOptions, Rotten, Verified, Verify};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::names::Naming;
use crate::units::{bad, number, without_unit};

/// `hash` or `verify`, `read_rate`, `read_threads`.
pub(crate) type Given<'py> = (Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>, Option<usize>);

/// Contents to read, and how: `None` if none are.
pub(crate) type Contents<T> = Option<(T, Rate)>;

/// Maximum rate, and the number of files at a time.
#[derive(Clone, Copy)]
pub(crate) struct Rate {
    kib_per_second_max: Option<NonZeroU32>,
    threads: usize,
}

impl Rate {
    pub(crate) fn options(self, stop: Arc<AtomicBool>) -> ReadOptions {
        let Self { kib_per_second_max, threads } = self;
        ReadOptions { kib_per_second_max, threads, ..ReadOptions::new(stop) }
    }
}

pub(crate) fn hashed(given: Given<'_>) -> PyResult<Contents<Hashed>> {
    let parse = |text: &str| match text {
        "suspects" => Ok(Hashed::Suspects),
        "all" => Ok(Hashed::All),
        _ => Err(choices(text, ["suspects", "all"])),
    };
    contents(("hash", "\"suspects\" or \"all\""), given, parse)
}

pub(crate) fn verified(given: Given<'_>) -> PyResult<Contents<Verify>> {
    contents(("verify", "\"suspects\", \"all\" or \"1/30\""), given, Verify::parse)
}

/// Refuses a rate and a number of threads where nothing is read: the caller forgot the other argument.
fn contents<T>(
    (name, forms): (&str, &str),
    (which, rate, threads): Given<'_>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> PyResult<Contents<T>> {
    let kib_per_second_max = rate.as_ref().map(kib_per_second).transpose()?;
    let Some(which) = which else {
        let extra = [("read_rate", rate.is_some()), ("read_threads", threads.is_some())];
        return match extra.iter().find(|(_, is_given)| *is_given) {
            Some((extra, _)) => Err(bad(extra, &format!("no contents are read: add {name}=\"all\""))),
            None => Ok(None),
        };
    };
    let Ok(text) = which.cast::<PyString>() else {
        return Err(PyTypeError::new_err(format!("{name}: {} is no text: write {forms}", which.repr()?)));
    };
    let wanted = parse(&text.extract::<String>()?).map_err(|reason| bad(name, &reason))?;
    let threads = threads.unwrap_or(1);
    if !(1..=THREADS_MAX).contains(&threads) {
        return Err(bad("read_threads", &format!("write a number from 1 to {THREADS_MAX}")));
    }
    Ok(Some((wanted, Rate { kib_per_second_max, threads })))
}

fn kib_per_second(value: &Bound<'_, PyAny>) -> PyResult<NonZeroU32> {
    let Ok(text) = value.cast::<PyString>() else {
        let number = number(value).unwrap_or(50);
        let lines = format!("read_rate=\"{number}MB/s\" or read_rate=\"{number}KiB/s\"");
        return Err(without_unit("read_rate", value, &lines));
    };
    let text: String = text.extract()?;
    let rate = quantity::kib_per_second(&text).map_err(|reason| bad("read_rate", &reason))?;
    // Bytes without a unit are refused, as by `size_bytes`.
    match text.trim_end_matches("/s").ends_with(|letter: char| letter.is_ascii_alphabetic()) {
        true => Ok(rate),
        false => Err(bad("read_rate", &format!("'{text}' has no unit: write 50MB/s or the like"))),
    }
}

/// Hashed, known, changed, unreadable, bytes read.
pub(crate) type Hashes = (u64, u64, u64, u64, u64);

pub(crate) fn hashes(counts: HashCounts) -> Hashes {
    let HashCounts { hashed, known, changed, unreadable, read_bytes } = counts;
    (hashed, known, changed, unreadable, read_bytes)
}

/// Root, path, size, hash in the inventory, hash of the contents today.
type RottenFile = (u32, Py<PyAny>, Option<u64>, String, String);

/// Rotten files, intact, changed, unhashed, unreadable, bytes read.
pub(crate) type Found = (Vec<RottenFile>, u64, u64, u64, u64, u64);

pub(crate) fn found(py: Python<'_>, verified: Verified, read_bytes: u64, naming: Naming) -> PyResult<Found> {
    let Verified { rotten, intact, changed, unhashed, unreadable } = verified;
    let file = |Rotten { root, path, facts, found }: Rotten| {
        let path = naming.object(py, &path.to_vec())?.unbind();
        Ok((root, path, facts.size_bytes, facts.hash.map(hex).unwrap_or_default(), hex(found)))
    };
    let rotten = rotten.into_iter().map(file).collect::<PyResult<_>>()?;
    Ok((rotten, intact, changed, unhashed, unreadable, read_bytes))
}

fn hex(hash: ContentHash) -> String {
    let (ContentHash::Sha256(bytes) | ContentHash::Blake3(bytes)) = hash;
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
