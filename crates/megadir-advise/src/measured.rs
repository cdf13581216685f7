//! Result of a short measurement: layouts against one directory, judged by the report's statistics.
//!
//! ```text
//!         faster          |            same             |          slower
//!  -----------------------+-----------------------------+----------------------> ratio
//!                        0.9            1             1.11
//!  an interval within one of the three decides; an interval across a boundary is undecided
//! ```
//!
//! A tenth is the threshold because subdirectories have a price (inodes, code, uncached walks) that a
//! smaller gain does not repay. The report's own band of 3 % answers whether times differ, not whether the
//! difference is worth it.

use std::time::Duration;

use megadir::layout::Layout;
use megadir_report::Interval;
use megadir_report::summary::Verdict;

use crate::candidate::Pattern;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Write,
    Read,
    Walk,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "writing",
            Self::Read => "reading",
            Self::Walk => "walking",
        }
    }
}

impl Pattern {
    pub fn phases(self) -> &'static [Phase] {
        match self {
            Self::Read => &[Phase::Read],
            Self::Write => &[Phase::Write],
            Self::Walk => &[Phase::Walk],
            Self::Mixed => &[Phase::Write, Phase::Read],
        }
    }
}

/// `ratio` is the layout's time for a file divided by the time of one directory: below 1 the layout is faster.
/// Each phase of work is a contrast of its own, because layouts often win one and lose another.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    pub layout: Layout,
    pub phase: Phase,
    pub files: u64,
    pub ratio: f64,
    /// Adjusted for all layouts; `None` with too few rounds.
    pub interval: Option<Interval>,
    /// `None` with too few rounds or unequal work.
    pub verdict: Option<Verdict>,
}

/// Numbers of a measurement that the rule may use, without the record. `given` is the budget,
/// `round_s` the mean time of a round in seconds. If `distrusted`, no contrast counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub files: u64,
    pub writers: u32,
    pub rounds: usize,
    pub given: Duration,
    pub round_s: f64,
    /// Half-width of one directory against itself, the largest of all phases; `None` with too few rounds.
    pub resolution_percent: Option<f64>,
    /// One directory was called different from itself.
    pub distrusted: bool,
    pub contrasts: Vec<Contrast>,
}

/// A layout against one directory over all operations of a pattern. `Both` is faster in one and slower in
/// another, which the rule treats as no reason for either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// By a tenth or more in a relevant phase, and the same in the rest.
    Faster,
    Slower,
    Both,
    Same,
    Undecided,
}

/// With fewer, the time is mostly the cost of the directories.
pub const DECIDING_FILES_MIN: u64 = 1_000;

/// Ratio of times from which a difference counts; its inverse bounds the other side.
const WORTH: f64 = 0.9;

/// `time` is the budget that would probably decide it; `None` if no number of rounds within an hour would.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Undecided {
    pub layout: Layout,
    pub phase: Phase,
    pub time: Option<Duration>,
}

/// A measurement that would take longer is not suggested.
const TIME_MAX: Duration = Duration::from_secs(3600);
/// Lower bound of further rounds, as a factor, without an estimate.
const MORE: u64 = 2;
/// Part of the given time that is spent in rounds; trials and removal take the rest.
const ROUNDS_PART: f64 = 0.7;

impl Measured {
    /// For the same number of files; more files make it less noisy still.
    pub fn undecided(&self, phases: &[Phase]) -> Vec<Undecided> {
        let of = |contrast: &&Contrast| contrast.files == self.files && phases.contains(&contrast.phase);
        let undecided = |contrast: &Contrast| {
            if relation(contrast) != Relation::Undecided {
                return None;
            }
            let rounds = match contrast.verdict {
                Some(Verdict::Inconclusive { rounds_to_decide }) => rounds_to_decide,
                // Too few rounds for an interval, or an interval that crosses a tenth.
                _ => Some(MORE * self.rounds.max(6) as u64),
            };
            let rounds = rounds.map(|rounds| rounds.max(MORE * self.rounds as u64));
            let time = rounds.map(|rounds| rounds as f64 * self.round_s / ROUNDS_PART);
            let time = time.map(|seconds| seconds.max(MORE as f64 * self.given.as_secs_f64()));
            let time = time.filter(|seconds| *seconds <= TIME_MAX.as_secs_f64()).map(Duration::from_secs_f64);
            Some(Undecided { layout: contrast.layout, phase: contrast.phase, time })
        };
        self.contrasts.iter().filter(of).filter_map(undecided).collect()
    }

    pub fn relation(&self, layout: &Layout, phases: &[Phase]) -> Relation {
        let of = |contrast: &&Contrast| {
            contrast.layout == *layout && contrast.files == self.files && phases.contains(&contrast.phase)
        };
        let found: Vec<Relation> = self.contrasts.iter().filter(of).map(relation).collect();
        let has = |relation| found.contains(&relation);
        let believed = !self.distrusted && self.files >= DECIDING_FILES_MIN;
        // Every operation of the pattern must be decided: a mean over decided ones would hide a loss in the
        // others.
        if !believed || found.len() != phases.len() || has(Relation::Undecided) {
            return Relation::Undecided;
        }
        match (has(Relation::Faster), has(Relation::Slower)) {
            (true, true) => Relation::Both,
            (true, false) => Relation::Faster,
            (false, true) => Relation::Slower,
            (false, false) => Relation::Same,
        }
    }
}

fn relation(contrast: &Contrast) -> Relation {
    let judged = contrast.verdict.is_some();
    match contrast.interval.filter(|_| judged) {
        Some(Interval { high, .. }) if high <= WORTH => Relation::Faster,
        Some(Interval { low, .. }) if low >= 1.0 / WORTH => Relation::Slower,
        Some(Interval { low, high }) if low > WORTH && high < 1.0 / WORTH => Relation::Same,
        _ => Relation::Undecided,
    }
}
