//! The closed set of warnings.
//!
//! A test's record triggers each kind, and a match in `words.rs` has a text for each. So a new kind cannot
//! be added without its text, its advice and a record that shows it. Kinds of notes are strings, because a
//! record of a newer program may have others.

use serde::{Deserialize, Serialize};

use crate::summary::Figure;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advisory {
    /// Kind of warning, with its figures.
    pub warning: Warning,
    /// `true` if the numbers must not be used until this is resolved.
    pub loud: bool,
    /// One or two sentences.
    pub text: String,
    /// One or two sentences.
    pub advice: String,
}

/// Arms are given by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Warning {
    /// An arm did other work than the rest.
    UnequalWork {
        arm: String,
        /// Rounds in which it differs.
        rounds: usize,
    },
    /// The baseline differs from itself.
    #[serde(rename = "differs-from-itself")]
    ControlDiffers {
        arm: String,
        /// Time of `arm` over time of the baseline.
        ratio: Figure,
        /// `true` if the difference lies within the equivalence band.
        negligible: bool,
    },
    TooFewRounds {
        /// Rounds that count.
        rounds: usize,
        /// Rounds that an interval needs.
        needed: usize,
        /// Arms that have too few; empty if all have.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        arms: Vec<String>,
    },
    /// The record is truncated in the middle of a line.
    CutOff {
        /// From 1.
        line: u64,
    },
    Incomplete {
        /// Rounds that count.
        rounds: usize,
        planned: u32,
        /// `None` if the run recorded none.
        reason: Option<String>,
    },
    Contradictory {
        /// One sentence.
        text: String,
    },
    /// A data set did not stay as planned or found.
    DataChanged {
        /// As planned or counted before the run.
        entries: u64,
        /// Fewest entries seen in a round.
        entries_min: Option<u64>,
        /// Most entries seen in a round.
        entries_max: Option<u64>,
    },
    Noisy {
        voided: usize,
        /// Rounds that count.
        rounds: usize,
    },
    /// Other work had the processor before the run. It may have slowed one arm more than another, which repetition does not show.
    Disturbed {
        /// Share of a busy loop in which others had its processor, per cent.
        taken_percent: f64,
        /// Share of the ten seconds before the run in which some task waited for a processor, per cent; `None` if the system does not count it.
        waited_percent: Option<f64>,
    },
    /// The cost of measuring is a noticeable part of the measured time.
    TimerCost {
        /// The shortest arm.
        arm: String,
        /// Cost of the empty loop, per cent of the arm's time.
        percent: f64,
        /// `true` if the quantiles of such arms are withheld.
        quantiles_refused: bool,
    },
    /// Injected delays were not found with their length and count.
    DelaysNotFound,
    /// Histograms and gaps do not add up to the time of their blocks.
    Unaccounted {
        /// `None` for the run's self-check.
        arm: Option<String>,
        /// Their sum, per cent of the blocks' wall time.
        percent: f64,
    },
    RateNotKept {
        /// Arm that was furthest behind.
        arm: String,
        #[serde(rename = "asked_per_s")]
        target_per_s: u64,
        achieved_per_s: f64,
    },
    /// The run's resolution is wider than the equivalence band.
    ResolutionWide {
        arm: String,
        /// Half the interval of the baseline against itself, per cent.
        half_width_percent: f64,
        /// As a fraction.
        band: f64,
    },
    /// An arm is too noisy to serve as a reference.
    ReferenceWide {
        arm: String,
        /// Half of an interval, per cent: of its ratio to itself, or of its time.
        half_width_percent: f64,
        /// Median half-interval of the arms compared with it, per cent; `None` for a ratio to itself.
        others_percent: Option<f64>,
    },
    /// A run used all its rounds without reaching its target width.
    WidthNotReached {
        /// Comparisons that are less precise than requested.
        comparisons: usize,
        /// Rounds that count.
        rounds: usize,
    },
    /// Tasks waited for a resource more at the end of the run than before it.
    PressureRose {
        resource: String,
        /// Share of the ten seconds before the run, per cent.
        before_percent: f64,
        /// Share of its last ten seconds, per cent.
        after_percent: f64,
    },
    /// The series changed its level at some round.
    ChangePoint {
        arm: String,
        /// From 1, among the valid rounds.
        round: usize,
        /// Probability of such a change by chance.
        p: f64,
    },
    /// The halves of the rounds differ in time.
    HalvesDiffer {
        arm: String,
        /// Time of the second half over time of the first.
        ratio: Figure,
    },
    Autocorrelated {
        arm: String,
        /// Correlation of neighbouring rounds.
        coefficient: f64,
    },
    Bimodal {
        arm: String,
        coefficient: f64,
    },
    /// Noticed by the run itself.
    Noted {
        note: String,
        text: String,
    },
}

impl Warning {
    /// Its tag in JSON.
    /// Taken from the serialized form, so that the word exists once.
    pub fn kind(&self) -> String {
        let form = serde_json::to_value(self).unwrap_or_default();
        form["kind"].as_str().unwrap_or_default().to_owned()
    }

    /// Loud: the numbers are wrong or cannot be compared. Everything else limits their precision, and a
    /// reader can weigh it.
    pub(super) fn is_loud(&self) -> bool {
        match self {
            Self::UnequalWork { .. }
            | Self::DataChanged { .. }
            | Self::Contradictory { .. }
            | Self::Disturbed { .. }
            | Self::DelaysNotFound => true,
            Self::ControlDiffers { negligible, .. } => !negligible,
            Self::TooFewRounds { arms, .. } => arms.is_empty(),
            Self::Noted { note, .. } => [WINE, PROGRAM_CHANGED_DATA].contains(&note.as_str()),
            _ => false,
        }
    }
}

pub(super) const WINE: &str = "wine";

const PROGRAM_CHANGED_DATA: &str = "data-changed";

/// Kinds of notes that other modules ask for by name.
pub(crate) const ARM_LEFT_OUT: &str = "arm-left-out";

/// Other work on the machine, or a system other than it seems.
pub(crate) const DISTURBING: [&str; 7] =
    [WINE, "load", "pressure", "stolen-time", "timer-gaps", "dirty-pages", "noisy"];

/// Remedy for each kind of note that this version writes.
const ADVICE: &[(&str, &str)] = &[
    (ARM_LEFT_OUT, "The other arms are not affected."),
    ("group-left-out", "The other groups are not affected."),
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
        "debug-build",
        "Run it with an optimized megadir (cargo build --release): times of single operations are too long by as much.",
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
        "larger-than-memory",
        "Reads may come from the device although their state is called warm: take fewer files (--entries), or measure uncached ones (--cache fs-cold).",
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
    (
        "containers",
        "Nothing: files take whole blocks of the file system, and an inode each; compare the space with that of your own files.",
    ),
    ("leftovers", "Nothing, if the directory was removed; else `megadir bench clean` names and removes it."),
];

/// A kind without a row is from a newer version, and its text is printed with a hint to use that one.
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
