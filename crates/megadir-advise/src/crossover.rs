//! Numbers of files at which the answer changes.
//!
//! ```text
//!  files   1 ... x1.25 ... x1.25 ......... 10^12      steps of a quarter until the layout differs,
//!          |---- flat ----|-- 256 --|-- 4096 --|      then halving between the two neighbours
//! ```
//!
//! The rule is applied as a black box, since conditions of its rows may depend on the number of files in
//! any way. Two changes within one step would be seen as one; the layouts that the rule can give differ by
//! factors of 16.

use megadir::limits::Span;

use crate::candidate::{Candidate, Question};
use crate::measured::Measured;
use crate::new_dir::{Capacity, NewDir};
use crate::rule::{Case, Rule, decide, layout};

/// More files than any file system of today holds; the search must end somewhere.
const FILES_MAX: u64 = 1_000_000_000_000;
/// A change between two neighbouring numbers is located exactly.
const STEP: f64 = 1.25;

#[derive(Clone, Debug)]
pub struct Change {
    pub files: Span,
    pub before: Candidate,
    pub after: Candidate,
    pub rule: &'static Rule,
}

/// Changes in ascending order, each with the range in which it may lie. The capacity of a directory is
/// known only within bounds, so the changes are located three times, with its likely, lowest and highest
/// value, and matched by the layouts before and after them.
pub fn changes(question: &Question, new_dir: &NewDir, measured: Option<&Measured>) -> Vec<Change> {
    let low = of(question, &bounded(new_dir, |span| span.low), measured);
    let high = of(question, &bounded(new_dir, |span| span.high), measured);
    // A change without a counterpart at the bound does not depend on the capacity.
    let like = |all: &[Change], change: &Change| {
        let same = |other: &&Change| {
            (other.before.layout, other.after.layout) == (change.before.layout, change.after.layout)
        };
        all.iter().find(same).map_or(change.files.likely, |other| other.files.likely)
    };
    let mut changes = of(question, new_dir, measured);
    for change in &mut changes {
        let (at_low, at_high, likely) = (like(&low, change), like(&high, change), change.files.likely);
        change.files =
            Span { likely, low: at_low.min(at_high).min(likely), high: at_low.max(at_high).max(likely) };
    }
    changes
}

/// At exact numbers of files.
fn of(question: &Question, new_dir: &NewDir, measured: Option<&Measured>) -> Vec<Change> {
    let at = |files: u64| {
        let question = Question { files, ..*question };
        let rule = decide(&Case { question: &question, new_dir, measured });
        (rule, layout(rule, &question, new_dir))
    };
    let mut changes = Vec::new();
    let (mut from, mut before) = (1, at(1).1);
    while from < FILES_MAX {
        let to = ((from as f64 * STEP) as u64).max(from + 1).min(FILES_MAX);
        if at(to).1.layout == before.layout {
            from = to;
            continue;
        }
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
        changes.push(Change { files: Span::exact(other), before, after: after.clone(), rule });
        (from, before) = (other, after);
    }
    changes
}

fn bounded(new_dir: &NewDir, end: fn(&Span) -> u64) -> NewDir {
    let capacity = match &new_dir.capacity {
        Capacity::Bounded { full, plan, by } => {
            let (full, plan) = (Span::exact(end(full)), Span::exact(end(plan)));
            Capacity::Bounded { full, plan, by: *by }
        }
        other => other.clone(),
    };
    NewDir { capacity, names: new_dir.names.clone() }
}
