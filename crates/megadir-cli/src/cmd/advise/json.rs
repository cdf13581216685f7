//! The answer as a JSON object on one line; numbers are exact.
//!
//! The keys are a format that programs rely on, versioned by `v`. Keys are never left out: a value that is
//! not known, or a question that was not asked, is `null`.

use megadir::limits::Span;
use megadir::names;
use megadir_advise::code::words;
use megadir_advise::measure::Run;
use megadir_advise::{Candidate, Capacity, Change, Pattern, Recommendation, Undecided};
use megadir_report::summary::Verdict;
use serde_json::{Value, json};

use super::Answer;
use crate::ui::escape;

/// The directory is written apart from the other members, because its name may be no UTF-8 and is escaped
/// byte by byte. `measured` and `not_measured` exclude each other: the second one is the reason.
pub(super) fn object(text: &mut Vec<u8>, answer: &Answer) {
    let Answer { look, advice, of_directory, run, left: _ } = answer;
    let facts = &look.limits.facts;
    let question = &advice.question;
    text.extend_from_slice(b"{\"v\":1,");
    escape::json_member(text, "dir", names::from_os(facts.path.as_os_str()));
    let rest = json!({
        "file_system": facts.file_system.to_string(),
        "files": question.files,
        "files_of_directory": of_directory,
        "writers": question.writers,
        "churn": question.churn,
        "rotating": question.rotating,
        "pattern": question.pattern.name(),
        "name_bytes": {
            "mean": facts.names.value.mean(),
            "shortest": facts.names.value.shortest(),
            "longest": facts.names.value.longest(),
            "known": facts.names.basis.known.word(),
        },
        "layout": layout(&advice.layout),
        "flat": advice.rule.recommends == Recommendation::Flat,
        "by_name": advice.by_name.as_ref().map(layout),
        "rule": advice.rule.name,
        "reason": advice.rule.reason,
        "one_directory": holds(&advice.new_dir.capacity),
        "changes": {
            "below": advice.below.as_ref().map(|change| changed(change, &change.before)),
            "above": advice.above.as_ref().map(|change| changed(change, &change.after)),
        },
        "shortage": advice.shortage.as_ref().map(|short| json!({
            "limit": short.limit.name(),
            "needed": short.needed,
            "room": span(short.available),
            "likely": short.is_likely(),
        })),
        "suits_container": advice.suits_container,
        "measured": run.as_ref().ok().map(|run| measured(run, question.pattern)),
        "not_measured": run.as_ref().err(),
    });
    // The first brace of the rest is the one that the line already has.
    let rest = rest.to_string();
    text.push(b',');
    text.extend_from_slice(rest.strip_prefix('{').unwrap_or(&rest).as_bytes());
    text.push(b'\n');
}

fn span(span: Span) -> Value {
    json!({ "likely": span.likely, "low": span.low, "high": span.high })
}

fn layout(layout: &Candidate) -> Value {
    json!({
        "name": layout.layout.to_string(),
        "preset": layout.preset,
        "levels": layout.levels(),
        // Words for a person, the same as in the text; programs use `name` and `levels`.
        "words": words(&layout.layout),
        "directories": layout.shape.directories_max,
        "files_per_directory": layout.shape.files_per_leaf.round(),
        "files_in_fullest": layout.fullest,
    })
}

fn changed(change: &Change, to: &Candidate) -> Value {
    json!({ "files": span(change.files), "layout": to.layout.to_string(), "rule": change.rule.name })
}

/// `is` has the kind of answer, because three of the four have no number, for three different reasons.
fn holds(holds: &Capacity) -> Value {
    match holds {
        Capacity::Bounded { full, plan, by } => {
            json!({ "is": "bounded", "full": span(*full), "plan": span(*plan), "by": by.name() })
        }
        Capacity::Unbounded => json!({ "is": "unbounded" }),
        Capacity::Unknown => json!({ "is": "unknown" }),
        Capacity::Linear => json!({ "is": "linear" }),
    }
}

/// Verdicts come from the report; a comparison without one is inconclusive. `trusted` is `false` if one
/// directory differed from itself, and then no figure here should be used.
fn measured(run: &Run, pattern: Pattern) -> Value {
    let measured = &run.measured;
    let contrasts = measured.contrasts.iter().map(|contrast| {
        let (verdict, negligible) = match contrast.verdict {
            Some(Verdict::Faster { negligible }) => ("faster", negligible),
            Some(Verdict::Slower { negligible }) => ("slower", negligible),
            Some(Verdict::Equivalent) => ("equivalent", true),
            Some(Verdict::Inconclusive { .. }) | None => ("inconclusive", false),
        };
        json!({
            "layout": contrast.layout.to_string(),
            "phase": contrast.phase.name(),
            "files": contrast.files,
            "ratio": contrast.ratio,
            "interval": contrast.interval.map(|range| [range.low, range.high]),
            "verdict": verdict,
            "negligible": negligible,
        })
    });
    let undecided = |contrast: Undecided| json!({ "layout": contrast.layout.to_string(), "phase": contrast.phase.name(), "time_s": contrast.time.map(|time| time.as_secs_f64()) });
    json!({
        "files": measured.files,
        "writers": measured.writers,
        "rounds": measured.rounds,
        "round_s": measured.round_s,
        "resolution_percent": measured.resolution_percent,
        "trusted": !measured.distrusted,
        "against_flat": contrasts.collect::<Vec<_>>(),
        "undecided": measured.undecided(pattern.phases()).into_iter().map(undecided).collect::<Vec<_>>(),
        "remarks": run.remarks,
    })
}
