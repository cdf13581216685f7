//! The closed set of warnings and their words.

use serde::{Deserialize, Serialize};

use super::note;
use crate::summary::Figure;
use crate::text;

/// A warning with its words, as summaries carry it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advisory {
    /// What the warning is about, with its figures.
    pub warning: Warning,
    /// Whether the numbers are not to be used before it is dealt with.
    pub loud: bool,
    /// What is the matter, in one or two sentences.
    pub text: String,
    /// What to do about it, in one or two sentences.
    pub advice: String,
}

/// Everything that is warned of. Arms are given by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
        /// Whether the difference lies within the equivalence band.
        negligible: bool,
    },
    /// There are too few rounds for any interval.
    TooFewRounds {
        /// Rounds that count.
        rounds: usize,
        /// Rounds that an interval takes.
        needed: usize,
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
        /// Why it ended, where the run could say.
        reason: Option<String>,
    },
    /// A data set did not stay as it was planned or found.
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
    /// Measuring costs a noticeable part of what is measured.
    TimerCost {
        /// The shortest arm.
        arm: String,
        /// The cost of the empty loop, per cent of the arm's time.
        percent: f64,
        /// Whether the quantiles of such arms are withheld.
        quantiles_refused: bool,
    },
    /// Delays that were put in were not found where and as often as they should be.
    DelaysNotFound,
    /// Histograms and gaps do not add up to the time of their blocks.
    Unaccounted {
        /// The arm; `None` for the run's check of itself.
        arm: Option<String>,
        /// What they add up to, per cent of the blocks' wall time.
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
    /// The series changed its level at some round.
    ChangePoint {
        /// The arm.
        arm: String,
        /// The round, counted from 1 among those that count.
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
    /// Neighbouring rounds resemble each other.
    Autocorrelated {
        /// The arm.
        arm: String,
        /// The correlation of neighbouring rounds.
        coefficient: f64,
    },
    /// The times fall into two heaps.
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

impl Warning {
    /// Returns the warning with its words.
    #[must_use]
    pub fn advisory(self) -> Advisory {
        Advisory { loud: self.is_loud(), text: self.text(), advice: self.advice(), warning: self }
    }

    /// Returns whether the numbers are not to be used before the warning is dealt with.
    fn is_loud(&self) -> bool {
        match self {
            Self::UnequalWork { .. } | Self::DataChanged { .. } => true,
            Self::DiffersFromItself { negligible, .. } => !negligible,
            Self::TooFewRounds { .. } | Self::DelaysNotFound => true,
            Self::TimerCost { quantiles_refused, .. } => *quantiles_refused,
            Self::CutOff { .. }
            | Self::Incomplete { .. }
            | Self::Noisy { .. }
            | Self::Unaccounted { .. }
            | Self::RateNotKept { .. }
            | Self::ChangePoint { .. }
            | Self::HalvesDiffer { .. }
            | Self::Autocorrelated { .. }
            | Self::Bimodal { .. }
            | Self::Noted { .. } => false,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::UnequalWork { arm, rounds } => format!(
                "`{arm}` saw other entries than it should have in {}, so its times are not compared.",
                text::counted(*rounds as u64, "round")
            ),
            Self::DiffersFromItself { arm, ratio, negligible } => {
                differs_from_itself(arm, ratio, *negligible)
            }
            Self::TooFewRounds { rounds, needed } => format!(
                "Only {} can be used: no interval under {needed} rounds, so medians stand alone and nothing is judged.",
                text::counted(*rounds as u64, "round")
            ),
            Self::CutOff { line } => {
                format!("The record breaks off in line {line}; what was written whole before it is used.")
            }
            Self::Incomplete { rounds, planned, reason } => {
                let why = reason
                    .as_ref()
                    .map_or_else(|| "the run was killed or still goes on".into(), String::clone);
                format!(
                    "The run is incomplete ({rounds} of {planned} rounds): {}.",
                    why.trim_end_matches('.')
                )
            }
            Self::DataChanged { entries, entries_min, entries_max } => {
                data_changed(*entries, *entries_min, *entries_max)
            }
            Self::Noisy { voided, rounds } => format!(
                "{} voided and measured again beside {rounds} that count: the machine was noisy.",
                if *voided == 1 { "1 round was".into() } else { format!("{voided} rounds were") }
            ),
            Self::TimerCost { arm, percent, quantiles_refused } => {
                let refused = if *quantiles_refused { ", so its quantiles are withheld" } else { "" };
                format!("Measuring costs {} of the time of `{arm}`{refused}.", text::percent(*percent))
            }
            Self::DelaysNotFound => {
                "Delays that were put into operations do not show in their histogram where and as often as they should.".into()
            }
            Self::Unaccounted { arm, percent } => format!(
                "The times of the operations of {} add up to {percent:.1} % of the time of their blocks.",
                arm.as_ref().map_or_else(|| "the run's check of itself".into(), |arm| format!("`{arm}`"))
            ),
            Self::RateNotKept { arm, asked_per_s, achieved_per_s } => format!(
                "Operations of `{arm}` were to start {} times a second and did {} times: what is told of them is how long the queue grew.",
                text::count(*asked_per_s),
                text::count(achieved_per_s.round() as u64)
            ),
            Self::ChangePoint { arm, round, p } => {
                format!("The times of `{arm}` change their level at round {round} (p = {p:.2e}).")
            }
            Self::HalvesDiffer { arm, ratio } => format!(
                "The second half of the rounds of `{arm}` took {} of the time of the first.",
                text::ratio(ratio.value, ratio.interval)
            ),
            Self::Autocorrelated { arm, coefficient } => format!(
                "Neighbouring rounds of `{arm}` resemble each other (correlation {coefficient:.2}): intervals are somewhat too narrow."
            ),
            Self::Bimodal { arm, coefficient } => format!(
                "The times of `{arm}` fall into two heaps (bimodality coefficient {coefficient:.2}): its median may lie where no round does."
            ),
            Self::Noted { text, .. } => format!("{}.", text.trim_end_matches('.')),
        }
    }

    fn advice(&self) -> String {
        let advice = match self {
            Self::UnequalWork { .. } => {
                "Make sure that nothing changes the directory; if nothing does, the arm's backend loses or repeats entries: report it."
            }
            Self::DiffersFromItself { negligible: false, .. } => {
                "Do not use this run. Stop what else runs, and run it again with more rounds."
            }
            Self::DiffersFromItself { .. } => {
                "One run in twenty does this by chance. Take no smaller difference seriously, or run again."
            }
            Self::TooFewRounds { .. } => "Run more rounds, or let the run finish.",
            Self::CutOff { .. } => {
                "This is what a killed run leaves; if it was not killed, look for a full disk and run it again."
            }
            Self::Incomplete { .. } => {
                "Run it again to the end before drawing conclusions from small differences."
            }
            Self::DataChanged { .. } => {
                "Run on a directory that nothing changes, or let the study make its own."
            }
            Self::Noisy { .. } => "Stop other work on the machine (or on its host) and run it again.",
            Self::TimerCost { .. } => {
                "Ratios bear it, for all arms pay the same; times of operations this short are to be taken less it."
            }
            Self::RateNotKept { .. } => "Ask for a lower rate (--rate).",
            Self::DelaysNotFound | Self::Unaccounted { .. } => {
                "Do not use times of single operations of this run. Stop what else runs, and run it again."
            }
            Self::ChangePoint { .. } | Self::HalvesDiffer { .. } => {
                "Ratios are paired by round and bear this; absolute times do not. Look for a task that began or ended, or run it again."
            }
            Self::Autocorrelated { .. } => "Look for periodic work on the machine, or run more rounds.",
            Self::Bimodal { .. } => "Look at the samples (--format csv), and for work that comes and goes.",
            Self::Noted { note, .. } => note::advice(note),
        };
        advice.into()
    }
}

fn differs_from_itself(arm: &str, ratio: &Figure, negligible: bool) -> String {
    let figures = text::ratio(ratio.value, ratio.interval);
    if negligible {
        format!("`{arm}` against itself came out slightly different ({figures}).")
    } else {
        format!(
            "`{arm}` against itself came out DIFFERENT ({figures}): this run finds differences where there are none."
        )
    }
}

fn data_changed(entries: u64, min: Option<u64>, max: Option<u64>) -> String {
    let planned = text::entries(entries);
    match (min, max) {
        (Some(min), Some(max)) if min == max && min == entries => {
            format!(
                "The directory of {planned} changed during the run: its names or types did not stay the same."
            )
        }
        (Some(min), Some(max)) if min == max => {
            format!("The directory of {planned} was found to have {}.", text::count(min))
        }
        (Some(min), Some(max)) => format!(
            "The directory of {planned} changed during the run: from {} to {} were seen.",
            text::count(min),
            text::count(max)
        ),
        _ => format!("The arms never agreed on what the directory of {planned} holds."),
    }
}
