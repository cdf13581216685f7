//! The rule: one table, gone through from the top; the first row that applies decides. Its reasons are explained in `docs/advice.md`.

use crate::candidate::{self, Candidate};
use crate::ground::{Ground, Holds};
use crate::measured::{Measured, Relation};
use crate::question::Question;

/// Where nobody tells what a directory takes, one with more than this is not trusted: ext4 with blocks of 1 KiB refuses names of
/// 32 characters at 160 000.
const UNKNOWN_MAX: u64 = 100_000;
/// Programs that hold all names of a directory in memory (`ls`, shells, rsync) take gigabytes from here on.
const TOOLS_MAX: u64 = 10_000_000;

/// What a row looks at.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// What is asked.
    pub question: &'a Question,
    /// What a directory takes.
    pub ground: &'a Ground,
    /// What was measured, if anything was.
    pub measured: Option<&'a Measured>,
}

/// What a row gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// All files in one directory.
    Flat,
    /// Directories named after a hash: one level, or two where one would have too many files in a directory.
    Hashed,
}

/// A row of the table.
#[derive(Debug)]
pub struct Rule {
    /// A short name, the same for ever.
    pub name: &'static str,
    /// When it applies.
    pub applies: fn(&Case<'_>) -> bool,
    /// What it gives.
    pub gives: Gives,
    /// Why, in one sentence.
    pub reason: &'static str,
}

/// The table.
pub static RULES: &[Rule] = &[
    Rule {
        name: "no-index",
        applies: |case| {
            case.ground.holds == Holds::Linear && case.question.files > candidate::bounds(case.ground).0
        },
        gives: Gives::Hashed,
        reason: "directories have no index here (dir_index is off), so every create looks through all names of its directory",
    },
    Rule {
        name: "too-full",
        applies: |case| case.ground.plan().is_some_and(|plan| case.question.files > plan.likely),
        gives: Gives::Hashed,
        reason: "one directory would not take them safely",
    },
    Rule {
        name: "limit-unknown",
        applies: |case| case.ground.holds == Holds::Unknown && case.question.files > UNKNOWN_MAX,
        gives: Gives::Hashed,
        reason: "nothing tells from here how many entries one directory takes, and many file systems refuse more",
    },
    Rule {
        name: "too-many-for-tools",
        applies: |case| case.question.files > TOOLS_MAX,
        gives: Gives::Hashed,
        reason: "programs that hold all names of a directory in memory (ls, shells, rsync) take gigabytes from 10 million on",
    },
    Rule {
        name: "measured-slower",
        applies: |case| case.relation() == Relation::Slower,
        gives: Gives::Flat,
        reason: "they fit one directory, and a hashed level was measured to be slower",
    },
    Rule {
        name: "measured-faster",
        applies: |case| case.relation() == Relation::Faster,
        gives: Gives::Hashed,
        reason: "a hashed level was measured to be faster than one directory",
    },
    Rule {
        name: "measured-same",
        applies: |case| case.relation() == Relation::Same,
        gives: Gives::Flat,
        reason: "they fit one directory, and a hashed level was measured to gain less than a tenth",
    },
    Rule {
        name: "several-writers",
        applies: |case| case.question.writers > 1 && case.question.pattern.writes(),
        gives: Gives::Hashed,
        reason: "several writers wait for each other in one directory, whose lock every create takes",
    },
    Rule {
        name: "fits",
        applies: |_| true,
        gives: Gives::Flat,
        reason: "they fit one directory, and directories of their own would gain nothing",
    },
];

impl Case<'_> {
    /// Returns what one hashed level was measured to be to one directory, where it is done what is mostly done.
    fn relation(&self) -> Relation {
        let phases = self.question.pattern.phases();
        self.measured.map_or(Relation::Undecided, |measured| measured.relation(1, phases))
    }
}

/// Returns the first row that applies.
#[must_use]
pub fn decide(case: &Case<'_>) -> &'static Rule {
    let last = &RULES[RULES.len() - 1];
    RULES.iter().find(|rule| (rule.applies)(case)).unwrap_or(last)
}

/// Returns the layout that a row gives.
#[must_use]
pub fn layout(rule: &Rule, question: &Question, ground: &Ground) -> Candidate {
    match rule.gives {
        Gives::Flat => Candidate::of(megadir::layout::Layout::FLAT, question.files),
        Gives::Hashed => {
            let (_, most) = candidate::bounds(ground);
            let one = candidate::one_level(question, ground);
            if one.fullest <= most { one } else { candidate::two_levels(question, ground) }
        }
    }
}
