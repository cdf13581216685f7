//! Reading name, size and time of every file of a directory, by each of this system's methods.
//!
//! ```text
//!  methods (names in the study) x threads -> ways -> x sizes of directories -> arms
//!  each size: a group, compared with its first way       all sizes: growth of each way
//! ```
//!
//! A program that looks for changed files does this at every start. On Windows the published differences
//! were factors of up to two hundred; the questions on Linux are the call, the order and the threads.

mod run;

use megadir_record::Work;
use megadir_record::axes::grouped;
use serde::Deserialize;

use crate::kind::Traits;
use crate::kind::arms::{Arms, Series};
use crate::kind::cost::{BLOCK_NS, STAT_NS};
use crate::method::{METHODS, Method, MethodFact, Threads, method_named, system_of};
use crate::note::NoteKind;
use crate::request::{PlanError, Request, check_numbers};

pub(crate) use run::{Expected, FileAttributes};

/// `[attributes]` of a study: every method on every directory, compared with the first method.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatAllSpec {
    #[serde(default)]
    pub methods: Vec<String>,
    pub threads: Vec<u32>,
}

impl StatAllSpec {
    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.threads.is_empty() || self.threads.contains(&0) {
            return Some("attributes.threads needs at least one number, each at least 1".into());
        }
        self.methods.iter().find_map(|name| method_named(name).err())
    }
}

pub(crate) fn attributes(
    spec: &StatAllSpec,
    request: &Request<'_>,
    arms: &mut Arms<'_>,
) -> Result<(), PlanError> {
    let ways = ways(spec, request, arms)?;
    let Some((first, others)) = ways.split_first() else { return Ok(()) };
    let mut series: Vec<Series> = ways.iter().map(|way| (way_name(way), Vec::new())).collect();
    let sets = arms.ascending();
    let largest = sets.last().map(|(entries, _)| *entries);
    for (entries, data) in sets {
        let group = format!("{entries} files");
        let baseline = arms.baseline(data, work(first, true));
        series[0].1.push(baseline);
        for (place, way) in others.iter().enumerate() {
            let arm = arms.arm(&group, data, &work(way, true));
            series[place + 1].1.push(arm);
        }
        let title = format!("How fast are name, size and time of all {} files read?", grouped(entries));
        let answers = Some(entries) == largest;
        arms.compare(&group, &title, answers, baseline);
    }
    arms.growth(false, series);
    Ok(())
}

/// A method with its number of threads.
type Way = (&'static Method, u32);

/// Ways that this machine has, in the order of the study. Threads without a method that takes them are
/// refused.
fn ways(spec: &StatAllSpec, request: &Request<'_>, arms: &mut Arms<'_>) -> Result<Vec<Way>, PlanError> {
    let all: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
    let names: Vec<&str> =
        if spec.methods.is_empty() { all } else { spec.methods.iter().map(String::as_str).collect() };
    let threads = if request.threads.is_empty() { &spec.threads } else { &request.threads };
    check_numbers("the number of threads", threads.iter().copied(), megadir::THREADS_MAX as u64)?;
    let facts = available(&names, request, arms)?.into_iter();
    let ways: Vec<Way> = facts.flat_map(|fact| with_threads(fact, threads)).collect();
    let none_has_threads = ways.iter().all(|(method, _)| method.threads != Threads::Requested);
    if let Some(threads) = request.threads.first().filter(|_| none_has_threads) {
        let allowed = "no method available here has threads";
        return Err(PlanError::value("the number of threads", threads, allowed));
    }
    Ok(ways)
}

/// The first that is not another system's must be available.
pub(crate) fn available<'a>(
    names: &[&str],
    request: &Request<'a>,
    arms: &mut Arms<'_>,
) -> Result<Vec<&'a MethodFact>, PlanError> {
    let baseline = names.iter().position(|name| system_of(name).is_none()).unwrap_or(0);
    let mut facts = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let found = request.methods.iter().find(|fact| fact.method.name == *name);
        let fact = match (found, system_of(name)) {
            (Some(fact), _) => fact.unavailable.clone().map_or(Ok(fact), Err),
            (None, Some(system)) => Err(format!("a method for {system}")),
            (None, None) => {
                let unknown = method_named(name).err().unwrap_or_else(|| "it is unknown here".into());
                return Err(PlanError::value("the method", name, unknown));
            }
        };
        match fact {
            Err(reason) if place == baseline => {
                return Err(PlanError::NoBaseline { name: (*name).to_owned(), reason });
            }
            Err(reason) => arms.note(NoteKind::ArmLeftOut, format!("method {name}: {reason}")),
            Ok(fact) => facts.push(fact),
        }
    }
    Ok(facts)
}

fn with_threads(fact: &MethodFact, requested: &[u32]) -> Vec<Way> {
    match fact.method.threads {
        Threads::One => vec![(fact.method, 1)],
        Threads::Processors => vec![(fact.method, fact.processors)],
        Threads::Requested => requested.iter().map(|threads| (fact.method, *threads)).collect(),
    }
}

pub(crate) fn traits(entries: u64) -> Traits {
    Traits { block_ns: BLOCK_NS + entries * STAT_NS, cold_operations: Some(1), names: None }
}

/// Work of listing by a method, without keeping results, with one thread or one per processor.
pub(crate) fn work_of(fact: &MethodFact) -> Work {
    work(&with_threads(fact, &[1])[0], false)
}

fn work(&(method, threads): &Way, keeps: bool) -> Work {
    let (name, buffer_bytes) = (method.name.to_owned(), method.buffer_bytes);
    Work::Attributes { method: name, buffer_bytes, threads, keeps, expected: None }
}

fn way_name((method, threads): &Way) -> String {
    match method.threads {
        Threads::One => method.name.to_owned(),
        Threads::Requested | Threads::Processors => format!("{}, {threads} threads", method.name),
    }
}

#[cfg(test)]
mod tests;
