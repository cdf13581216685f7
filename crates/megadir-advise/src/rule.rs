//! The rule: a table in which the first row that applies decides. `docs/advice.md` explains the reasons.
//!
//! The crossover applies the same rule to other numbers of files, with the bounds of the limits.
//!
//! ```text
//!  limits of this file system   no-index, too-full, limit-unknown      cannot be measured with few files
//!  limits of other programs     too-many-for-tools
//!  the disk                     rotating-disk                          the measurement is of cached files
//!  measurement                  measured-slower, -faster, -same        only if every operation is decided
//!  knowledge                    several-writers                        only if nothing was measured or decided
//!  default                      fits
//! ```
//!
//! `docs/advice.md` has one row per rule, which a test compares.

use crate::candidate::{self, Candidate, Pattern, Question};
use crate::measured::{Measured, Relation};
use crate::new_dir::{Capacity, NewDir};

/// If the capacity is unknown: ext4 with blocks of 1 KiB is full at 160 000 names of 32 characters.
const UNKNOWN_MAX: u64 = 100_000;
/// Programs that hold all names in memory (`ls`, shells, `find`) take gigabytes from here on.
const TOOLS_MAX: u64 = 10_000_000;

/// Creating fewer files takes so little time that waiting for a lock does not show.
const WAITING_MIN: u64 = 1_000;

/// Everything that a row may look at. `measured` is `None` with `--time 0s`, without write permission, or
/// if the time was too short.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    pub question: &'a Question,
    pub new_dir: &'a NewDir,
    pub measured: Option<&'a Measured>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recommendation {
    Flat,
    Hashed,
}

/// A row of the table. `applies` looks at numbers only, so that the crossover can apply the same row to other
/// numbers of files. `reason` continues a sentence. Rows that rest on limits come before rows that rest on a
/// measurement.
#[derive(Debug)]
pub struct Rule {
    pub name: &'static str,
    pub applies: fn(&Case<'_>) -> bool,
    pub recommends: Recommendation,
    /// Holds whatever was measured.
    pub rests_on_limits: bool,
    pub reason: &'static str,
}

pub static RULES: &[Rule] = &[
    Rule {
        name: "no-index",
        applies: |case| {
            case.new_dir.capacity == Capacity::Linear
                && case.question.files > candidate::bounds(case.new_dir).0
        },
        recommends: Recommendation::Hashed,
        rests_on_limits: true,
        reason: "every create searches all names of its directory here",
    },
    Rule {
        name: "too-full",
        applies: |case| match case.new_dir.capacity {
            Capacity::Bounded { plan, .. } => case.question.files > plan.likely,
            _ => false,
        },
        recommends: Recommendation::Hashed,
        rests_on_limits: true,
        reason: "they do not safely fit into one directory",
    },
    Rule {
        name: "limit-unknown",
        applies: |case| case.new_dir.capacity == Capacity::Unknown && case.question.files > UNKNOWN_MAX,
        recommends: Recommendation::Hashed,
        rests_on_limits: true,
        reason: "the capacity of a directory is unknown here, and on many file systems it is smaller",
    },
    Rule {
        name: "too-many-for-tools",
        applies: |case| case.question.files > TOOLS_MAX,
        recommends: Recommendation::Hashed,
        rests_on_limits: true,
        reason: "programs that hold all names of a directory in memory (ls, shells, find) take gigabytes beyond 10 million",
    },
    Rule {
        name: "rotating-disk",
        // Directories that several writers fill are cached, and their locks decide.
        applies: |case| {
            let question = case.question;
            question.rotating && !(question.writers > 1 && question.pattern == Pattern::Write)
        },
        recommends: Recommendation::Flat,
        rests_on_limits: true,
        reason: "they fit one directory, and on a rotating disk each further directory costs seeks when it is not cached",
    },
    Rule {
        name: "measured-slower",
        applies: |case| case.relation() == Relation::Slower,
        recommends: Recommendation::Flat,
        rests_on_limits: false,
        reason: "they fit one directory, and in the measurement hashed directories were slower by a tenth or more",
    },
    Rule {
        name: "measured-faster",
        applies: |case| case.relation() == Relation::Faster,
        recommends: Recommendation::Hashed,
        rests_on_limits: false,
        reason: "in the measurement hashed directories were faster by a tenth or more",
    },
    Rule {
        name: "measured-same",
        applies: |case| case.relation() == Relation::Same,
        recommends: Recommendation::Flat,
        rests_on_limits: false,
        reason: "they fit one directory, and in the measurement hashed directories differed by less than a tenth",
    },
    Rule {
        name: "several-writers",
        applies: |case| {
            let question = case.question;
            question.writers > 1 && question.pattern.writes() && question.files > WAITING_MIN
        },
        recommends: Recommendation::Hashed,
        rests_on_limits: false,
        reason: "several writers wait for each other in one directory, whose lock every create takes",
    },
    Rule {
        name: "fits",
        applies: |_| true,
        recommends: Recommendation::Flat,
        rests_on_limits: false,
        reason: "they fit one directory, and no limit or measurement favours subdirectories",
    },
];

impl Case<'_> {
    /// Hashed layout against one directory. A measurement with more files, or of another layout, says nothing.
    fn relation(&self) -> Relation {
        let (question, phases) = (self.question, self.question.pattern.phases());
        let measured = self.measured.filter(|measured| measured.files <= question.files);
        let layout = hashed(question, self.new_dir).layout;
        measured.map_or(Relation::Undecided, |measured| measured.relation(&layout, phases))
    }
}

pub fn decide(case: &Case<'_>) -> &'static Rule {
    let last = &RULES[RULES.len() - 1];
    RULES.iter().find(|rule| (rule.applies)(case)).unwrap_or(last)
}

/// Layout that a rule recommends for this number of files. Rows recommend flat or hashed only; the width
/// follows from the numbers, so that no row can contradict the limits.
pub fn layout(rule: &Rule, question: &Question, new_dir: &NewDir) -> Candidate {
    match rule.recommends {
        Recommendation::Flat => Candidate::of(megadir::layout::Layout::FLAT, question.files),
        Recommendation::Hashed => hashed(question, new_dir),
    }
}

/// One level as long as its widest form keeps directories below the maximum; each further level costs
/// inodes and uncached reads. Only from about 400 million files on are there two.
fn hashed(question: &Question, new_dir: &NewDir) -> Candidate {
    let [shallow, deep] = candidate::hashed(question, new_dir);
    if shallow.fullest <= candidate::bounds(new_dir).1 { shallow } else { deep }
}

#[cfg(test)]
mod tests {
    use megadir::layout::Layout;
    use megadir::limits::{Limit, NameLengths, Span};
    use megadir_report::Interval;
    use megadir_report::summary::Verdict;

    use super::*;
    use crate::measured::{Contrast, Phase};

    const FASTER: Verdict = Verdict::Faster { negligible: false };
    const SLOWER: Verdict = Verdict::Slower { negligible: false };
    const UNDECIDED: Verdict = Verdict::Inconclusive { rounds_to_decide: Some(40) };

    fn new_dir(capacity: Capacity) -> NewDir {
        NewDir { capacity, names: NameLengths::of(32) }
    }

    fn bounded(plan: u64) -> NewDir {
        let (full, plan) = (Span::exact(2 * plan), Span::exact(plan));
        new_dir(Capacity::Bounded { full, plan, by: Limit::DirectoryIndex })
    }

    /// An interval of ±2 % around a ratio; a wide one if undecided.
    fn interval(ratio: f64, verdict: Verdict) -> Interval {
        match verdict {
            Verdict::Inconclusive { .. } => Interval { low: 0.5 * ratio, high: 2.0 * ratio },
            _ => Interval { low: 0.98 * ratio, high: 1.02 * ratio },
        }
    }

    /// One hashed level against one directory: writing, then reading.
    fn measured(writing: (f64, Verdict), reading: (f64, Verdict)) -> Measured {
        let contrast = |phase, (ratio, verdict)| Contrast {
            layout: "digest:2".parse().unwrap_or(Layout::FLAT),
            phase,
            files: 5000,
            ratio,
            interval: Some(interval(ratio, verdict)),
            verdict: Some(verdict),
        };
        Measured {
            files: 5000,
            writers: 1,
            rounds: 12,
            given: std::time::Duration::from_secs(20),
            round_s: 1.0,
            resolution_percent: Some(2.0),
            distrusted: false,
            contrasts: vec![contrast(Phase::Write, writing), contrast(Phase::Read, reading)],
        }
    }

    fn rule(
        files: u64,
        writers: u32,
        pattern: Pattern,
        new_dir: &NewDir,
        measured: Option<&Measured>,
    ) -> &'static str {
        let question = Question { files, writers, churn: false, rotating: false, pattern };
        decide(&Case { question: &question, new_dir, measured }).name
    }

    fn rule_on_rotating_disk(files: u64, new_dir: &NewDir, measured: Option<&Measured>) -> &'static str {
        let question = Question { files, writers: 1, churn: false, rotating: true, pattern: Pattern::Mixed };
        decide(&Case { question: &question, new_dir, measured }).name
    }

    #[test]
    fn seeks_outweigh_measurements_but_not_limits() {
        let faster = measured((0.5, FASTER), (0.5, FASTER));
        assert_eq!(rule_on_rotating_disk(1_000_000, &bounded(100_000), Some(&faster)), "too-full");
        assert_eq!(rule_on_rotating_disk(1_000_000, &bounded(20_000_000), Some(&faster)), "rotating-disk");
        let question =
            Question { files: 1_000_000, writers: 4, churn: false, rotating: true, pattern: Pattern::Write };
        let case = Case { question: &question, new_dir: &bounded(20_000_000), measured: None };
        assert_eq!(decide(&case).name, "several-writers");
    }

    #[test]
    fn every_row_is_reached_and_has_a_name_and_a_reason_of_its_own() {
        let easy = bounded(20_000_000);
        let of = |writing, reading| measured(writing, reading);
        let (faster, same) =
            (of((0.6, FASTER), (0.99, Verdict::Equivalent)), of((0.97, FASTER), (1.0, Verdict::Equivalent)));
        let slower = of((1.3, SLOWER), (1.0, Verdict::Equivalent));
        let reached = [
            rule(5_000, 1, Pattern::Mixed, &new_dir(Capacity::Linear), None),
            rule(20_000_001, 1, Pattern::Mixed, &easy, None),
            rule(200_000, 1, Pattern::Mixed, &new_dir(Capacity::Unknown), None),
            rule(10_000_001, 1, Pattern::Mixed, &easy, None),
            rule_on_rotating_disk(1_000_000, &easy, Some(&faster)),
            rule(1_000_000, 1, Pattern::Mixed, &easy, Some(&slower)),
            rule(1_000_000, 1, Pattern::Mixed, &easy, Some(&faster)),
            rule(1_000_000, 4, Pattern::Mixed, &easy, Some(&same)),
            rule(1_000_000, 4, Pattern::Mixed, &easy, None),
            rule(1_000_000, 1, Pattern::Mixed, &easy, None),
        ];
        let all: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!(reached.as_slice(), all);
        for (place, rule) in RULES.iter().enumerate() {
            let own = |other: &Rule| other.name != rule.name && other.reason != rule.reason;
            assert!(RULES[..place].iter().all(own) && rule.reason.len() > 20, "{}", rule.name);
        }
    }

    #[test]
    fn documentation_contains_every_row() {
        let page = include_str!("../../../docs/advice.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        let names: Vec<&str> = rows.iter().filter_map(|row| row.split('`').nth(1)).collect();
        assert_eq!(names, RULES.iter().map(|rule| rule.name).collect::<Vec<_>>());
    }

    #[test]
    fn limits_precede_measurements() {
        let slower = measured((1.5, SLOWER), (1.5, SLOWER));
        assert_eq!(rule(1_000_000, 1, Pattern::Mixed, &bounded(100_000), Some(&slower)), "too-full");
        assert_eq!(
            rule(200_000, 1, Pattern::Mixed, &new_dir(Capacity::Unknown), Some(&slower)),
            "limit-unknown"
        );
    }

    #[test]
    fn measurements_apply_to_their_own_layout_and_files() {
        let (easy, faster) = (new_dir(Capacity::Unbounded), measured((0.5, FASTER), (0.5, FASTER)));
        let of = |files| rule(files, 1, Pattern::Mixed, &easy, Some(&faster));
        assert_eq!(of(1_000_000), "measured-faster");
        // Fewer files than measured, then numbers that would need other layouts.
        assert_eq!((of(4_999), of(50_000), of(10_000_001)), ("fits", "fits", "too-many-for-tools"));
    }

    #[test]
    fn only_frequent_operations_decide() {
        let easy = new_dir(Capacity::Unbounded);
        let mixed = measured((0.5, FASTER), (1.4, SLOWER));
        let of = |pattern, measured: &Measured| rule(1_000_000, 1, pattern, &easy, Some(measured));
        assert_eq!(of(Pattern::Write, &mixed), "measured-faster");
        assert_eq!(of(Pattern::Read, &mixed), "measured-slower");
        // A gain in one phase and a loss in the other; walking was not measured.
        assert_eq!(of(Pattern::Mixed, &mixed), "fits");
        assert_eq!(of(Pattern::Walk, &mixed), "fits");
    }

    #[test]
    fn undecided_and_disturbed_measurements_decide_nothing() {
        let easy = new_dir(Capacity::Unbounded);
        let mut undecided = measured((0.5, UNDECIDED), (0.5, UNDECIDED));
        assert_eq!(rule(1_000_000, 4, Pattern::Mixed, &easy, Some(&undecided)), "several-writers");
        // One decided phase of two is not enough, nor is an interval that crosses a tenth.
        let half = measured((0.5, FASTER), (1.0, UNDECIDED));
        assert_eq!(rule(1_000_000, 1, Pattern::Mixed, &easy, Some(&half)), "fits");
        let tenth = measured((0.895, FASTER), (1.0, Verdict::Equivalent));
        assert_eq!(rule(1_000_000, 1, Pattern::Mixed, &easy, Some(&tenth)), "fits");
        let mut distrusted = measured((0.5, FASTER), (0.5, FASTER));
        distrusted.distrusted = true;
        let mut few = measured((0.5, FASTER), (0.5, FASTER));
        few.files = 999;
        few.contrasts.iter_mut().for_each(|contrast| contrast.files = 999);
        assert_eq!(rule(1_000_000, 1, Pattern::Mixed, &easy, Some(&few)), "fits");
        assert_eq!(rule(1_000_000, 1, Pattern::Mixed, &easy, Some(&distrusted)), "fits");
        // Both are reported, with the time that would suffice: 40 rounds of a second.
        let contrasts = undecided.undecided(Pattern::Mixed.phases());
        let seconds: Vec<u64> =
            contrasts.iter().filter_map(|contrast| Some(contrast.time?.as_secs())).collect();
        assert_eq!(seconds, [57, 57]);
        // The present time was not enough and is not proposed again, however short the rounds were.
        undecided.round_s = 0.01;
        let contrasts = undecided.undecided(Pattern::Mixed.phases());
        assert!(
            contrasts.iter().all(|contrast| contrast.time == Some(std::time::Duration::from_secs(40))),
            "{contrasts:?}"
        );
        assert!(
            measured((0.5, FASTER), (1.0, Verdict::Equivalent)).undecided(Pattern::Mixed.phases()).is_empty()
        );
    }
}
