//! From how many files on the answer is another one.

use megadir::limits::Span;

use crate::candidate::Candidate;
use crate::ground::{Ground, Holds};
use crate::measured::Measured;
use crate::question::Question;
use crate::rule::{Case, Rule, decide, layout};

/// Nobody has more files than this in one tree.
const FILES_MAX: u64 = 1_000_000_000_000;
/// Neighbouring numbers of files that are looked at; between two with different answers the change is sought exactly.
const STEP: f64 = 1.25;

/// A number of files at which the answer changes.
#[derive(Clone, Debug)]
pub struct Change {
    /// The fewest files that have the new answer, as sure as the limits are.
    pub files: Span,
    /// The answer for fewer.
    pub before: Candidate,
    /// The answer from there on.
    pub after: Candidate,
    /// The row that gives it.
    pub rule: &'static Rule,
}

/// Returns all changes, ascending.
#[must_use]
pub fn changes(question: &Question, ground: &Ground, measured: Option<&Measured>) -> Vec<Change> {
    let likely = of(question, ground, measured);
    let low = of(question, &bounded(ground, |span| span.low), measured);
    let high = of(question, &bounded(ground, |span| span.high), measured);
    // The same change where a directory takes as few or as many as it may; what is not there does not depend on that.
    let like = |all: &[Found], found: &Found| {
        let same = |other: &&Found| {
            (other.before.layout, other.after.layout) == (found.before.layout, found.after.layout)
        };
        all.iter().find(same).map_or(found.files, |other| other.files)
    };
    let change = |found: &Found| {
        let (one, other) = (like(&low, found), like(&high, found));
        Change {
            files: Span {
                likely: found.files,
                low: one.min(other).min(found.files),
                high: one.max(other).max(found.files),
            },
            before: found.before.clone(),
            after: found.after.clone(),
            rule: found.rule,
        }
    };
    likely.iter().map(change).collect()
}

struct Found {
    files: u64,
    before: Candidate,
    after: Candidate,
    rule: &'static Rule,
}

fn of(question: &Question, ground: &Ground, measured: Option<&Measured>) -> Vec<Found> {
    let at = |files: u64| {
        let question = Question { files, ..*question };
        let rule = decide(&Case { question: &question, ground, measured });
        (rule, layout(rule, &question, ground))
    };
    let mut changes = Vec::new();
    let (mut from, mut before) = (1, at(1).1);
    while from < FILES_MAX {
        let to = ((from as f64 * STEP) as u64).max(from + 1).min(FILES_MAX);
        if at(to).1.layout != before.layout {
            // The first number between the two whose answer is not the old one.
            let (mut same, mut other) = (from, to);
            while other - same > 1 {
                let middle = same + (other - same) / 2;
                if at(middle).1.layout == before.layout {
                    same = middle;
                } else {
                    other = middle;
                }
            }
            let (rule, after) = at(other);
            changes.push(Found { files: other, before, after: after.clone(), rule });
            (from, before) = (other, after);
        } else {
            from = to;
        }
    }
    changes
}

/// Returns the ground as it is where a directory takes as few or as many entries as it may.
fn bounded(ground: &Ground, end: fn(&Span) -> u64) -> Ground {
    let holds = match &ground.holds {
        Holds::Bounded { full, plan, by } => {
            let (full, plan) = (Span::exact(end(full)), Span::exact(end(plan)));
            Holds::Bounded { full, plan, by: *by }
        }
        other => other.clone(),
    };
    Ground { holds, names: ground.names.clone() }
}
