//! Result of a short measurement: layouts against one directory, judged by the report's statistics.

use std::time::Duration;

use megadir::layout::Layout;
use megadir_report::{Range, summary::Verdict};

use crate::question::Pattern;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Write,
    /// Read them by name in random order.
    Read,
    Walk,
}

impl Phase {
    /// Noun, as in "writing is 1.2 times".
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "writing",
            Self::Read => "reading",
            Self::Walk => "walking",
        }
    }
}

impl Pattern {
    /// Returns the phases that decide for this pattern.
    #[must_use]
    pub fn phases(self) -> &'static [Phase] {
        match self {
            Self::Read => &[Phase::Read],
            Self::Write => &[Phase::Write],
            Self::Walk => &[Phase::Walk],
            Self::Mixed => &[Phase::Write, Phase::Read],
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    pub layout: Layout,
    pub phase: Phase,
    pub files: u64,
    pub ratio: f64,
    /// Adjusted for all layouts; `None` with too few rounds.
    pub interval: Option<Range>,
    /// `None` with too few rounds or unequal work.
    pub verdict: Option<Verdict>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub files: u64,
    pub writers: u32,
    /// Rounds that count.
    pub rounds: usize,
    pub given: Duration,
    /// Duration of a round with its setup and removal, seconds.
    pub round_s: f64,
    /// Half-width of the interval of one directory against itself, per cent, the largest of all phases; `None`
    /// with too few rounds.
    pub resolution_percent: Option<f64>,
    /// `true` if one directory was called different from itself: nothing here can be trusted.
    pub distrusted: bool,
    pub contrasts: Vec<Contrast>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Faster by a tenth or more in a relevant phase, and the same in the rest.
    Faster,
    /// Slower by a tenth or more in a relevant phase, and the same in the rest.
    Slower,
    Both,
    Same,
    Undecided,
}

/// With fewer files the time is mostly the cost of the directories, so the result is reported but decides
/// nothing.
pub const DECIDING_FILES_MIN: u64 = 1_000;

/// Largest ratio worth the extra directories: a gain of a tenth. The whole interval must lie on one side.
const WORTH: f64 = 0.9;

/// Contrast that the measurement did not decide.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Undecided {
    /// Layout that was compared with one directory.
    pub layout: Layout,
    pub phase: Phase,
    /// Estimated time that would decide it; `None` if longer than anyone would wait.
    pub time: Option<Duration>,
}

const TIME_MAX: Duration = Duration::from_secs(3600);
/// Factor on the rounds without an estimate of the number needed.
const MORE: u64 = 2;
/// Share of a measurement's time that rounds get.
const ROUNDS_PART: f64 = 0.7;

impl Measured {
    /// Returns the undecided relevant contrasts, of all layouts. The times are for the same number of files. A
    /// longer measurement takes more files, which makes it less noisy still.
    #[must_use]
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
            // The present number of rounds was not enough.
            let rounds = rounds.map(|rounds| rounds.max(MORE * self.rounds as u64));
            let time = rounds.map(|rounds| rounds as f64 * self.round_s / ROUNDS_PART);
            // Nor was the present time, whatever share of it the rounds took.
            let time = time.map(|seconds| seconds.max(MORE as f64 * self.given.as_secs_f64()));
            let time = time.filter(|seconds| *seconds <= TIME_MAX.as_secs_f64()).map(Duration::from_secs_f64);
            Some(Undecided { layout: contrast.layout, phase: contrast.phase, time })
        };
        self.contrasts.iter().filter(of).filter_map(undecided).collect()
    }

    /// Returns the measured relation of this layout to one directory; other layouts say nothing about it.
    #[must_use]
    pub fn relation(&self, layout: &Layout, phases: &[Phase]) -> Relation {
        let of = |contrast: &&Contrast| {
            contrast.layout == *layout && contrast.files == self.files && phases.contains(&contrast.phase)
        };
        let found: Vec<Relation> = self.contrasts.iter().filter(of).map(relation).collect();
        let has = |relation| found.contains(&relation);
        let believed = !self.distrusted && self.files >= DECIDING_FILES_MIN;
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
        Some(Range { high, .. }) if high <= WORTH => Relation::Faster,
        Some(Range { low, .. }) if low >= 1.0 / WORTH => Relation::Slower,
        Some(Range { low, high }) if low > WORTH && high < 1.0 / WORTH => Relation::Same,
        _ => Relation::Undecided,
    }
}
