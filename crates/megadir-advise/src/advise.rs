//! Complete answer to a question, computed from numbers alone.

use megadir::limits::Limits;

use crate::candidate::Candidate;
use crate::crossover::{Change, changes};
use crate::measured::Measured;
use crate::new_dir::NewDir;
use crate::question::Question;
use crate::rule::{Case, Rule, decide, layout};
use crate::shortage::{Shortage, shortage};

#[derive(Clone, Debug)]
pub struct Advice {
    pub question: Question,
    pub new_dir: NewDir,
    pub layout: Candidate,
    /// Row of the table that decided.
    pub rule: &'static Rule,
    /// Known program's layout with as many levels that needs no digests, if the names are known and spread
    /// evenly.
    pub by_name: Option<Candidate>,
    /// Whatever the layout.
    pub shortage: Option<Shortage>,
    pub below: Option<Change>,
    pub above: Option<Change>,
}

/// `candidates` come from [`crate::candidates`]. `names_are_known` is false for assumed hex digits.
#[must_use]
pub fn advise(
    question: &Question,
    limits: &Limits,
    candidates: &[Candidate],
    measured: Option<&Measured>,
    names_are_known: bool,
) -> Advice {
    let new_dir = NewDir::of(limits, question.churn);
    let rule = decide(&Case { question, new_dir: &new_dir, measured });
    let layout = layout(rule, question, &new_dir);
    let by_name = |candidate: &&Candidate| {
        names_are_known && candidate.preset.is_some() && candidate.levels() == layout.levels()
    };
    let by_name = (layout.levels() > 0).then(|| candidates.iter().find(by_name)).flatten().cloned();
    let (mut below, mut above) = (None, None);
    for change in changes(question, &new_dir, measured) {
        if change.files.likely <= question.files {
            below = Some(change);
        } else if above.is_none() {
            above = Some(change);
        }
    }
    let shortage = shortage(limits, &layout, question.files);
    Advice { question: *question, new_dir, layout, rule, by_name, shortage, below, above }
}
