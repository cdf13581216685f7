//! Warnings of the records that forbid a comparison: printed above the table; a gate is not judged with them.

use serde::{Deserialize, Serialize};

use super::{Run, Which};
use crate::Report;
use crate::warning::{Advisory, DISTURBING, Warning, told};

/// Processor pressure above this in the ten seconds before a run is reported, per cent.
const PRESSURE_MAX_PERCENT: f64 = 10.0;

/// Warning of a record against its own numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Doubt {
    /// The run in words, e.g. `the old run`.
    pub run: String,
    /// One of [`crate::WARNING_KINDS`], or `pressure`.
    pub kind: String,
    /// The problem and the remedy.
    pub text: String,
}

/// Returns the warnings of one side.
pub(super) fn doubts(which: Which, runs: &[Run<'_>]) -> Vec<Doubt> {
    runs.iter().flat_map(|run| doubts_of(run.report, &which.name(run, runs.len()))).collect()
}

/// Returns the warnings of one run, which is called `name`.
pub(super) fn doubts_of(report: &Report, name: &str) -> Vec<Doubt> {
    let warned: Vec<Advisory> = report.warnings.iter().filter(|one| speaks_against(one)).cloned().collect();
    let of_kind = |kind: &'static str| {
        let of_kind: Vec<Advisory> =
            warned.iter().filter(|one| one.warning.kind() == kind).cloned().collect();
        told(&of_kind).into_iter().map(move |told| (kind, told.text))
    };
    let before = report.summary.machine.pressure.cpu_some_10s_percent;
    let waited = before.filter(|percent| *percent > PRESSURE_MAX_PERCENT).map(|percent| {
        let text = format!(
            "CPU pressure was {} over the last 10 s before it. Wait until other tasks are done and run it again.",
            crate::text::percent(percent)
        );
        ("pressure", text)
    });
    let doubt = |(kind, text): (&str, String)| Doubt { run: name.to_owned(), kind: kind.into(), text };
    kinds_of(&warned).into_iter().flat_map(of_kind).chain(waited).map(doubt).collect()
}

/// `true` if a warning forbids comparing the run. Warnings about single arms are handled by arm.
fn speaks_against(advisory: &Advisory) -> bool {
    match &advisory.warning {
        Warning::UnequalWork { .. } => false,
        Warning::Unaccounted { .. } => true,
        Warning::PressureRose { resource, .. } => resource == "the processor",
        _ => advisory.loud,
    }
}

fn kinds_of(warned: &[Advisory]) -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = Vec::new();
    for advisory in warned {
        let kind = advisory.warning.kind();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// Returns other work on the machine that one side's runs noted, a sentence each: the ratios include it.
pub(super) fn disturbances(which: Which, runs: &[Run<'_>]) -> Vec<String> {
    let mut found: Vec<(&str, String, usize)> = Vec::new();
    for run in runs {
        for note in run.report.record.notes.iter().filter(|note| DISTURBING.contains(&note.kind.as_str())) {
            match found.iter_mut().find(|(kind, ..)| *kind == note.kind && runs.len() > 1) {
                Some((.., more)) => *more += 1,
                None => found.push((
                    &note.kind,
                    format!("{}: {}", capital(&which.name(run, runs.len())), note.text),
                    0,
                )),
            }
        }
    }
    let line = |(_, text, more)| match more {
        0 => text,
        more => format!("{} And {more} more notes like this.", ended(text)),
    };
    found.into_iter().map(line).collect()
}

/// Adds a full stop if the text has none.
fn ended(text: String) -> String {
    if text.ends_with('.') { text } else { text + "." }
}

/// Capitalises the first letter.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
