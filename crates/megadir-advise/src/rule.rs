//! The rule: one table, gone through from the top; the first row that applies decides. Its reasons are explained in `docs/advice.md`.

use crate::candidate::{self, Candidate};
use crate::ground::{Ground, Holds};
use crate::measured::{Measured, Relation};
use crate::question::Question;

/// Where nobody tells what a directory takes, one with more than this is not trusted: ext4 with blocks of 1 KiB refuses names of
/// 32 characters at 160 000.
const UNKNOWN_MAX: u64 = 100_000;
/// Programs that hold all names of a directory in memory (`ls`, shells, `find`) take gigabytes from here on.
const TOOLS_MAX: u64 = 10_000_000;

/// Fewer files than this are made in a moment, whoever waits for whom.
const WAITING_MIN: u64 = 1_000;

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
        reason: "programs that hold all names of a directory in memory (ls, shells, find) take gigabytes beyond 10 million",
    },
    Rule {
        name: "measured-slower",
        applies: |case| case.relation() == Relation::Slower,
        gives: Gives::Flat,
        reason: "they fit one directory, and hashed directories were measured to be slower here by a tenth or more",
    },
    Rule {
        name: "measured-faster",
        applies: |case| case.relation() == Relation::Faster,
        gives: Gives::Hashed,
        reason: "hashed directories were measured to be faster here by a tenth or more",
    },
    Rule {
        name: "measured-same",
        applies: |case| case.relation() == Relation::Same,
        gives: Gives::Flat,
        reason: "they fit one directory, and hashed directories were measured to differ by less than a tenth",
    },
    Rule {
        name: "several-writers",
        applies: |case| {
            let question = case.question;
            question.writers > 1 && question.pattern.writes() && question.files > WAITING_MIN
        },
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
    /// Returns what the hashed layout that would be given was measured to be to one directory, where it is done what is mostly done.
    ///
    /// Of fewer files than were measured nothing is known, and of another layout neither.
    fn relation(&self) -> Relation {
        let (question, phases) = (self.question, self.question.pattern.phases());
        let measured = self.measured.filter(|measured| measured.files <= question.files);
        let layout = hashed(question, self.ground).layout;
        measured.map_or(Relation::Undecided, |measured| measured.relation(&layout, phases))
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
        Gives::Hashed => hashed(question, ground),
    }
}

/// Returns the hashed layout for so many files: one level, or two where one would have too many files in a directory.
fn hashed(question: &Question, ground: &Ground) -> Candidate {
    let (_, most) = candidate::bounds(ground);
    let one = candidate::one_level(question, ground);
    if one.fullest <= most { one } else { candidate::two_levels(question, ground) }
}

#[cfg(test)]
mod tests {
    use megadir::layout::Layout;
    use megadir::limits::{Limit, NameLengths, Span};
    use megadir_report::Range;
    use megadir_report::summary::Verdict;

    use super::*;
    use crate::measured::{Contrast, Phase};
    use crate::question::Pattern;

    const FASTER: Verdict = Verdict::Faster { negligible: false };
    const SLOWER: Verdict = Verdict::Slower { negligible: false };
    const UNDECIDED: Verdict = Verdict::Inconclusive { rounds_to_decide: Some(40) };

    fn ground(holds: Holds) -> Ground {
        Ground { holds, names: NameLengths::of(32) }
    }

    fn bounded(plan: u64) -> Ground {
        let (full, plan) = (Span::exact(2 * plan), Span::exact(plan));
        ground(Holds::Bounded { full, plan, by: Limit::DirectoryIndex })
    }

    /// An interval of 4 % about a ratio; one without end where nothing was decided.
    fn interval(ratio: f64, verdict: Verdict) -> Range {
        match verdict {
            Verdict::Inconclusive { .. } => Range { low: 0.5 * ratio, high: 2.0 * ratio },
            _ => Range { low: 0.98 * ratio, high: 1.02 * ratio },
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
        ground: &Ground,
        measured: Option<&Measured>,
    ) -> &'static str {
        let question = Question { files, writers, churn: false, pattern };
        decide(&Case { question: &question, ground, measured }).name
    }

    #[test]
    fn every_row_is_reached_and_has_a_name_and_a_reason_of_its_own() {
        let easy = bounded(20_000_000);
        let of = |writing, reading| measured(writing, reading);
        let (faster, same) =
            (of((0.6, FASTER), (0.99, Verdict::Equivalent)), of((0.97, FASTER), (1.0, Verdict::Equivalent)));
        let slower = of((1.3, SLOWER), (1.0, Verdict::Equivalent));
        let reached = [
            rule(5_000, 1, Pattern::Mixed, &ground(Holds::Linear), None),
            rule(20_000_001, 1, Pattern::Mixed, &easy, None),
            rule(200_000, 1, Pattern::Mixed, &ground(Holds::Unknown), None),
            rule(10_000_001, 1, Pattern::Mixed, &easy, None),
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
    fn every_row_stands_in_the_documentation() {
        let page = include_str!("../../../docs/advice.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        let names: Vec<&str> = rows.iter().filter_map(|row| row.split('`').nth(1)).collect();
        assert_eq!(names, RULES.iter().map(|rule| rule.name).collect::<Vec<_>>());
    }

    #[test]
    fn limits_come_before_what_was_measured() {
        let slower = measured((1.5, SLOWER), (1.5, SLOWER));
        assert_eq!(rule(1_000_000, 1, Pattern::Mixed, &bounded(100_000), Some(&slower)), "too-full");
        assert_eq!(rule(200_000, 1, Pattern::Mixed, &ground(Holds::Unknown), Some(&slower)), "limit-unknown");
    }

    #[test]
    fn what_was_measured_counts_for_the_layout_and_the_files_that_it_was_measured_with() {
        let (easy, faster) = (ground(Holds::Unbounded), measured((0.5, FASTER), (0.5, FASTER)));
        let of = |files| rule(files, 1, Pattern::Mixed, &easy, Some(&faster));
        assert_eq!(of(1_000_000), "measured-faster");
        // Fewer files than were measured; so many that other layouts would be used, of which nothing is known.
        assert_eq!((of(4_999), of(50_000), of(10_000_001)), ("fits", "fits", "too-many-for-tools"));
    }

    #[test]
    fn only_what_is_mostly_done_counts() {
        let easy = ground(Holds::Unbounded);
        let mixed = measured((0.5, FASTER), (1.4, SLOWER));
        let of = |pattern, measured: &Measured| rule(1_000_000, 1, pattern, &easy, Some(measured));
        assert_eq!(of(Pattern::Write, &mixed), "measured-faster");
        assert_eq!(of(Pattern::Read, &mixed), "measured-slower");
        // What it gains in one it loses in the other; and walking was not measured.
        assert_eq!(of(Pattern::Mixed, &mixed), "fits");
        assert_eq!(of(Pattern::Walk, &mixed), "fits");
    }

    #[test]
    fn what_is_not_decided_or_not_to_be_believed_decides_nothing() {
        let easy = ground(Holds::Unbounded);
        let mut undecided = measured((0.5, UNDECIDED), (0.5, UNDECIDED));
        assert_eq!(rule(1_000_000, 4, Pattern::Mixed, &easy, Some(&undecided)), "several-writers");
        // Half of what matters is not enough, and neither is an interval that reaches over a tenth.
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
        // Both are told, with the time that would do: 40 rounds of a second.
        let told = undecided.undecided(Pattern::Mixed.phases());
        let seconds: Vec<u64> = told.iter().filter_map(|one| Some(one.time?.as_secs())).collect();
        assert_eq!(seconds, [57, 57]);
        // What has just not been enough is not advised again, however short the rounds were.
        undecided.round_s = 0.01;
        let told = undecided.undecided(Pattern::Mixed.phases());
        assert!(told.iter().all(|one| one.time == Some(std::time::Duration::from_secs(40))), "{told:?}");
        assert!(
            measured((0.5, FASTER), (1.0, Verdict::Equivalent)).undecided(Pattern::Mixed.phases()).is_empty()
        );
    }
}
