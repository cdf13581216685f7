//! The closed set of warnings.

use serde::{Deserialize, Serialize};

use crate::summary::Figure;

/// A warning with its words, as summaries carry it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advisory {
    /// Subject of the warning, with its figures.
    pub warning: Warning,
    /// `true` if the numbers must not be used until it is resolved.
    pub loud: bool,
    /// The problem, in one or two sentences.
    pub text: String,
    /// The remedy, in one or two sentences.
    pub advice: String,
}

/// Everything that is warned of. Arms are given by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Warning {
    /// An arm did not do the work of the others.
    UnequalWork {
        /// The arm.
        arm: String,
        /// Rounds in which it differs.
        rounds: usize,
    },
    /// The baseline was called different from itself.
    DiffersFromItself {
        /// The baseline.
        arm: String,
        /// Time of the one over time of the other.
        ratio: Figure,
        /// `true` if the difference lies within the equivalence band.
        negligible: bool,
    },
    /// There are too few rounds for any interval.
    TooFewRounds {
        /// Rounds that count.
        rounds: usize,
        /// Rounds that an interval takes.
        needed: usize,
        /// The arms that have too few; empty if all have.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        arms: Vec<String>,
    },
    /// The record breaks off in the middle of a line.
    CutOff {
        /// The line, from 1.
        line: u64,
    },
    /// The run ended before its last planned round.
    Incomplete {
        /// Rounds that count.
        rounds: usize,
        /// Rounds that were planned.
        planned: u32,
        /// Reason for the end, if the run recorded one.
        reason: Option<String>,
    },
    /// The record contradicts itself, or is damaged in its middle.
    Contradictory {
        /// The contradiction, in one sentence.
        text: String,
    },
    /// A data set did not stay as planned or found.
    DataChanged {
        /// Entries as planned or counted before the run.
        entries: u64,
        /// The fewest entries seen in a round.
        entries_min: Option<u64>,
        /// The most entries seen in a round.
        entries_max: Option<u64>,
    },
    /// Many rounds were voided.
    Noisy {
        /// Rounds that were voided.
        voided: usize,
        /// Rounds that count.
        rounds: usize,
    },
    /// The cost of measuring is a noticeable part of the measured time.
    TimerCost {
        /// The shortest arm.
        arm: String,
        /// The cost of the empty loop, per cent of the arm's time.
        percent: f64,
        /// `true` if the quantiles of such arms are withheld.
        quantiles_refused: bool,
    },
    /// Delays that were put in were not found where and as often as they should be.
    DelaysNotFound,
    /// Histograms and gaps do not add up to the time of their blocks.
    Unaccounted {
        /// The arm; `None` for the run's check of itself.
        arm: Option<String>,
        /// Their sum, per cent of the blocks' wall time.
        percent: f64,
    },
    /// Operations did not start as often as planned.
    RateNotKept {
        /// The arm that was furthest behind.
        arm: String,
        /// Operations a second, as planned.
        asked_per_s: u64,
        /// In truth.
        achieved_per_s: f64,
    },
    /// The run cannot tell apart what it is to tell apart.
    ResolutionWide {
        /// The baseline.
        arm: String,
        /// Half the interval of the baseline against itself, per cent.
        half_width_percent: f64,
        /// The equivalence band, as a fraction.
        band: f64,
    },
    /// An arm is known too badly for others to be measured against it.
    ReferenceWide {
        /// The arm.
        arm: String,
        /// Half of an interval, per cent: of its ratio to itself, or of its time.
        half_width_percent: f64,
        /// The same of the times of the arms that are measured against it, their median; `None` of a ratio to itself.
        others_percent: Option<f64>,
    },
    /// A run that was to stop at a width measured all rounds it was allowed and did not reach it.
    WidthNotReached {
        /// Comparisons that are known less well than asked for.
        comparisons: usize,
        /// Rounds that count.
        rounds: usize,
    },
    /// Tasks waited for something when the run ended, and more than before it.
    PressureRose {
        /// Resource that they waited for.
        resource: String,
        /// Share of the last ten seconds before the run, per cent.
        before_percent: f64,
        /// Share of its last ten seconds, per cent.
        after_percent: f64,
    },
    /// The series changed its level at some round.
    ChangePoint {
        /// The arm.
        arm: String,
        /// The round, counted from 1 among the valid ones.
        round: usize,
        /// The probability of such a change by chance.
        p: f64,
    },
    /// The second half of the rounds took another time than the first.
    HalvesDiffer {
        /// The arm.
        arm: String,
        /// Time of the second half over time of the first.
        ratio: Figure,
    },
    /// Neighbouring rounds are correlated.
    Autocorrelated {
        /// The arm.
        arm: String,
        /// The correlation of neighbouring rounds.
        coefficient: f64,
    },
    /// The times are bimodal.
    Bimodal {
        /// The arm.
        arm: String,
        /// The bimodality coefficient.
        coefficient: f64,
    },
    /// The run itself noticed something.
    Noted {
        /// The kind of note.
        note: String,
        /// The figures in the note's words.
        text: String,
    },
}

/// Every kind of warning, as the JSON form names it.
pub const WARNING_KINDS: &[&str] = &[
    "unequal-work",
    "differs-from-itself",
    "too-few-rounds",
    "cut-off",
    "incomplete",
    "contradictory",
    "data-changed",
    "noisy",
    "timer-cost",
    "delays-not-found",
    "unaccounted",
    "rate-not-kept",
    "resolution-wide",
    "reference-wide",
    "width-not-reached",
    "pressure-rose",
    "change-point",
    "halves-differ",
    "autocorrelated",
    "bimodal",
    "noted",
];

impl Warning {
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::UnequalWork { .. } => "unequal-work",
            Self::DiffersFromItself { .. } => "differs-from-itself",
            Self::TooFewRounds { .. } => "too-few-rounds",
            Self::CutOff { .. } => "cut-off",
            Self::Incomplete { .. } => "incomplete",
            Self::Contradictory { .. } => "contradictory",
            Self::DataChanged { .. } => "data-changed",
            Self::Noisy { .. } => "noisy",
            Self::TimerCost { .. } => "timer-cost",
            Self::DelaysNotFound => "delays-not-found",
            Self::Unaccounted { .. } => "unaccounted",
            Self::RateNotKept { .. } => "rate-not-kept",
            Self::ResolutionWide { .. } => "resolution-wide",
            Self::ReferenceWide { .. } => "reference-wide",
            Self::WidthNotReached { .. } => "width-not-reached",
            Self::PressureRose { .. } => "pressure-rose",
            Self::ChangePoint { .. } => "change-point",
            Self::HalvesDiffer { .. } => "halves-differ",
            Self::Autocorrelated { .. } => "autocorrelated",
            Self::Bimodal { .. } => "bimodal",
            Self::Noted { .. } => "noted",
        }
    }

    /// Returns whether the numbers are not to be used before the warning is dealt with.
    pub(super) fn is_loud(&self) -> bool {
        match self {
            Self::UnequalWork { .. } | Self::DataChanged { .. } | Self::Contradictory { .. } => true,
            Self::DiffersFromItself { negligible, .. } => !negligible,
            // Statements about the other arms are unaffected.
            Self::TooFewRounds { arms, .. } => arms.is_empty(),
            Self::DelaysNotFound => true,
            // Whose numbers these are is not what they look like.
            Self::Noted { note, .. } if note == WINE => true,
            // Blocks after the change worked on something else.
            Self::Noted { note, .. } if note == PROGRAM_CHANGED_DATA => true,
            // What it spoils is withheld, and ratios bear it.
            Self::TimerCost { .. }
            | Self::CutOff { .. }
            | Self::Incomplete { .. }
            | Self::Noisy { .. }
            | Self::Unaccounted { .. }
            | Self::RateNotKept { .. }
            | Self::ResolutionWide { .. }
            | Self::ReferenceWide { .. }
            | Self::WidthNotReached { .. }
            | Self::PressureRose { .. }
            | Self::ChangePoint { .. }
            | Self::HalvesDiffer { .. }
            | Self::Autocorrelated { .. }
            | Self::Bimodal { .. }
            | Self::Noted { .. } => false,
        }
    }
}

/// Kind of the note that Wine stood in for Windows.
pub(super) const WINE: &str = "wine";

/// Kind of the note that a program changed the data set although it should not.
pub(super) const PROGRAM_CHANGED_DATA: &str = "data-changed";

/// Kind of the note that an arm is not in the plan, or ended before the run.
pub(crate) const ARM_LEFT_OUT: &str = "arm-left-out";

/// Kinds of notes about other work on the machine, or about a system other than it seems.
pub(crate) const DISTURBING: [&str; 7] =
    [WINE, "load", "pressure", "stolen-time", "timer-gaps", "dirty-pages", "noisy"];

const ADVICE: &[(&str, &str)] = &[
    (ARM_LEFT_OUT, "No action needed; `megadir backends` lists the available ones, with reasons."),
    ("group-left-out", "No action needed; `megadir backends` lists the available ones, with reasons."),
    (WINE, "Take nothing of this for Windows: run it again on a Windows machine."),
    ("timer-gaps", "Something else uses the processor: stop it, or pin the run to a quiet one."),
    ("stolen-time", "The hypervisor gives the processor to others: use a quieter host or more rounds."),
    ("load", "Stop other work on the machine and run it again."),
    ("pressure", "Wait until other tasks are done and run it again."),
    (
        "governor",
        "Set the frequency governor to `performance` (on Windows the power plan to High performance) for the run, or trust ratios and not times.",
    ),
    ("dirty-pages", "Run `sync`, wait until it is done, and run it again."),
    ("not-steady", "The times still had a trend after the warm-up: run it again, with a longer one."),
    ("noisy", "Stop other work on the machine (or on its host) and run it again."),
    ("unequal-work", "See the arms named above: their times are not compared."),
    (
        "no-cycle-counter",
        "No action needed for operations over a microsecond; shorter ones are timed less finely.",
    ),
    (
        "clock-drift",
        "Times of single operations are off by as much; times of blocks are not. A virtual machine that was moved does this.",
    ),
    (
        "slow-loop",
        "Stop other work on the machine and run it again: times of single operations are too long by as much.",
    ),
    (
        "shared-descriptors",
        "Compare threads with each other only; a filter of system calls forbids unshare(2), as containers have it.",
    ),
    (
        "cold-without-reads",
        "What the arm needs lies in the inode of the directory, which stays while it is open: treat its times as warm.",
    ),
    (
        "room-reused",
        "Times of creating may be too long (ext4 skips inodes that were just deleted): give it more space.",
    ),
    (
        "removed-remembered",
        "Its times of creating files hold after as many removals; without removals they are shorter.",
    ),
    ("not-written-back", "Times may hold what earlier work still has to write: run it as an administrator."),
    (
        "index-full",
        "Spread the files over directories (--layout prefix:2), take fewer, or make ext4 with large_dir or larger blocks; \
         `megadir limits` prints how many names fit.",
    ),
    (
        "program-failed",
        "Run the command by hand in a directory like the data set's; all its errors go to standard error.",
    ),
    (
        PROGRAM_CHANGED_DATA,
        "Find out which program writes; if it is meant to, say so (changes = true, --changes), and the data is made again before each run.",
    ),
    (
        "without-directory",
        "Put {dir} where the program takes a directory; otherwise the times are of work on something else.",
    ),
    (
        "shell-start",
        "Differences between commands do not contain it, ratios do; commands without pipes and variables need no shell.",
    ),
    (
        "ranks",
        "Nothing, if the last rank changes from block to block; a rank that is the last in most blocks has a slow host or a slow way to the server.",
    ),
    ("leftovers", "Nothing, if the directory was removed; else `megadir bench clean` names and removes it."),
];

pub(super) fn advice(kind: &str) -> &'static str {
    let known = ADVICE.iter().find(|(name, _)| *name == kind);
    known.map_or("Noted by a newer megadir: use the newer version for advice.", |(_, advice)| advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_listed_once() {
        for (place, (kind, _)) in ADVICE.iter().enumerate() {
            assert!(ADVICE[..place].iter().all(|(other, _)| other != kind), "{kind} is listed twice");
        }
        assert!(DISTURBING.iter().all(|kind| ADVICE.iter().any(|(known, _)| known == kind)));
        assert!(advice("load").starts_with("Stop"));
        assert!(advice("of-tomorrow").contains("newer"));
    }
}
