//! The whole answer to a question: pure, from numbers alone.

use megadir::limits::Limits;

use crate::candidate::Candidate;
use crate::crossover::{Change, changes};
use crate::ground::Ground;
use crate::measured::Measured;
use crate::question::Question;
use crate::room::{Shortage, shortage};
use crate::rule::{Case, Rule, decide, layout};

/// Which layout to use, and why.
#[derive(Clone, Debug)]
pub struct Advice {
    /// What was asked.
    pub question: Question,
    /// What one new directory takes.
    pub ground: Ground,
    /// The layout to use.
    pub layout: Candidate,
    /// The row of the table that gave it.
    pub rule: &'static Rule,
    /// A known program's layout that does as much without computing digests; only where names are known and spread evenly.
    pub by_name: Option<Candidate>,
    /// What the file system has too little of, whatever the layout.
    pub shortage: Option<Shortage>,
    /// The change that comes with fewer files.
    pub below: Option<Change>,
    /// The change that comes with more files.
    pub above: Option<Change>,
}

/// Answers a question; `candidates` are those of [`crate::candidates`].
///
/// Whether names are known is seen from them: of names that are not known only hex digits are assumed, for measuring.
#[must_use]
pub fn advise(
    question: &Question,
    limits: &Limits,
    candidates: &[Candidate],
    measured: Option<&Measured>,
    names_are_known: bool,
) -> Advice {
    let ground = Ground::of(limits, question.churn);
    let rule = decide(&Case { question, ground: &ground, measured });
    let layout = layout(rule, question, &ground);
    let by_name = |candidate: &&Candidate| {
        names_are_known && candidate.preset.is_some() && candidate.levels() == layout.levels()
    };
    let by_name = (layout.levels() > 0).then(|| candidates.iter().find(by_name)).flatten().cloned();
    let (mut below, mut above) = (None, None);
    for change in changes(question, &ground, measured) {
        if change.files.likely <= question.files {
            below = Some(change);
        } else if above.is_none() {
            above = Some(change);
        }
    }
    let shortage = shortage(limits, &layout, question.files);
    Advice { question: *question, ground, layout, rule, by_name, shortage, below, above }
}
