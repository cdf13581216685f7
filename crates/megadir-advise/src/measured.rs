//! What a short measurement has found: layouts against one directory, judged by the report's statistics.

use std::time::Duration;

use megadir::layout::Layout;
use megadir_report::{Range, summary::Verdict};

use crate::question::Pattern;

/// What is done with all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// They are made.
    Write,
    /// They are read by name in random order.
    Read,
    /// Every directory is listed and every file looked at.
    Walk,
}

impl Phase {
    /// Returns its noun, as in "writing is 1.2 times".
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
    /// Returns what decides where this is mostly done.
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

/// One layout against one directory.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// The layout.
    pub layout: Layout,
    /// What was done.
    pub phase: Phase,
    /// Files of the data set.
    pub files: u64,
    /// Its time over that of one directory.
    pub ratio: f64,
    /// The interval, adjusted for all layouts; `None` with too few rounds.
    pub interval: Option<Range>,
    /// What follows; `None` with too few rounds or unequal work.
    pub verdict: Option<Verdict>,
}

/// What a measurement has found.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Files of each data set, the largest.
    pub files: u64,
    /// Threads that wrote.
    pub writers: u32,
    /// Rounds that count.
    pub rounds: usize,
    /// The time that the measurement was given.
    pub given: Duration,
    /// What a round took, with what is made ready and removed for it, seconds.
    pub round_s: f64,
    /// Half the interval of one directory against itself, per cent, the widest of all phases; `None` with too few rounds.
    pub resolution_percent: Option<f64>,
    /// Whether one directory was called different from itself: then nothing here is to be believed.
    pub distrusted: bool,
    /// All contrasts.
    pub contrasts: Vec<Contrast>,
}

/// What a layout is to one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Faster by a tenth or more in something that matters, and the same in all else of that.
    Faster,
    /// Slower by a tenth or more in something that matters, and the same in all else of that.
    Slower,
    /// Faster in one thing and slower in another.
    Both,
    /// Within a tenth in all that matters.
    Same,
    /// Not known of something that matters.
    Undecided,
}

/// What fewer files cost is what their directories cost, whatever there will be in them: it is told, and decides nothing.
pub const DECIDING_FILES_MIN: u64 = 1_000;

/// A layout that gains less than this is not worth its directories: a tenth. The whole interval must lie on one side of it.
const WORTH: f64 = 0.9;

/// What was measured and not decided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Undecided {
    /// The layout that was compared with one directory.
    pub layout: Layout,
    /// In what.
    pub phase: Phase,
    /// For how long to measure to decide it, as far as can be told; `None` where no bearable time would.
    pub time: Option<Duration>,
}

/// Nobody waits longer for an answer.
const TIME_MAX: Duration = Duration::from_secs(3600);
/// How many times the rounds there were are asked for where nothing tells how many would do.
const MORE: u64 = 2;
/// The part of a measurement's time that rounds get.
const ROUNDS_PART: f64 = 0.7;

impl Measured {
    /// Returns what was not decided of what matters: of all layouts, for they were all compared.
    ///
    /// The times are those for as many files as there were; that a longer measurement takes more files at once makes it less noisy still.
    #[must_use]
    pub fn undecided(&self, phases: &[Phase]) -> Vec<Undecided> {
        let of = |contrast: &&Contrast| contrast.files == self.files && phases.contains(&contrast.phase);
        let undecided = |contrast: &Contrast| {
            if relation(contrast) != Relation::Undecided {
                return None;
            }
            let rounds = match contrast.verdict {
                Some(Verdict::Inconclusive { rounds_to_decide }) => rounds_to_decide,
                // With too few rounds for an interval, or one that reaches over a tenth: some more.
                _ => Some(MORE * self.rounds.max(6) as u64),
            };
            // Never less than has just not been enough.
            let rounds = rounds.map(|rounds| rounds.max(MORE * self.rounds as u64));
            let time = rounds.map(|rounds| rounds as f64 * self.round_s / ROUNDS_PART);
            // The time that was given has just not been enough, whatever part of it the rounds took.
            let time = time.map(|seconds| seconds.max(MORE as f64 * self.given.as_secs_f64()));
            let time = time.filter(|seconds| *seconds <= TIME_MAX.as_secs_f64()).map(Duration::from_secs_f64);
            Some(Undecided { layout: contrast.layout, phase: contrast.phase, time })
        };
        self.contrasts.iter().filter(of).filter_map(undecided).collect()
    }

    /// Returns what a layout was measured to be to one directory in some phases; of another layout nothing follows for it.
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
