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
    /// What a round took, with what is made ready and removed for it, seconds.
    pub round_s: f64,
    /// Half the interval of one directory against itself, per cent, the widest of all phases; `None` with too few rounds.
    pub resolution_percent: Option<f64>,
    /// Whether one directory was called different from itself: then nothing here is to be believed.
    pub distrusted: bool,
    /// All contrasts.
    pub contrasts: Vec<Contrast>,
}

/// What layouts with one hashed level are to one directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Faster in what matters, and slower in nothing of that.
    Faster,
    /// Slower in what matters, and faster in nothing of that.
    Slower,
    /// Faster in one thing and slower in another.
    Both,
    /// All the same.
    Same,
    /// Not known.
    Undecided,
}

/// A layout that gains less than this is not worth its directories: a tenth.
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
/// The part of a measurement's time that rounds get.
const ROUNDS_PART: f64 = 0.7;

impl Measured {
    /// Returns what was not decided of what matters: of all layouts, for they were all compared.
    #[must_use]
    pub fn undecided(&self, phases: &[Phase]) -> Vec<Undecided> {
        let of = |contrast: &&Contrast| contrast.files == self.files && phases.contains(&contrast.phase);
        let undecided = |contrast: &Contrast| {
            let rounds = match contrast.verdict {
                Some(Verdict::Inconclusive { rounds_to_decide }) => rounds_to_decide,
                // Some more than have an interval.
                None => Some(2 * self.rounds.max(6) as u64),
                Some(Verdict::Faster { .. } | Verdict::Slower { .. } | Verdict::Equivalent) => return None,
            };
            let time = rounds.map(|rounds| rounds as f64 * self.round_s / ROUNDS_PART);
            let time = time.filter(|seconds| *seconds <= TIME_MAX.as_secs_f64()).map(Duration::from_secs_f64);
            Some(Undecided { layout: contrast.layout, phase: contrast.phase, time })
        };
        self.contrasts.iter().filter(of).filter_map(undecided).collect()
    }

    /// Returns what so many hashed levels are to one directory in some phases.
    #[must_use]
    pub fn relation(&self, levels: usize, phases: &[Phase]) -> Relation {
        let of = |contrast: &&Contrast| {
            contrast.layout.source() == megadir::layout::Source::Digest
                && contrast.layout.levels().len() == levels
                && contrast.files == self.files
                && phases.contains(&contrast.phase)
        };
        let verdicts: Vec<Relation> = self.contrasts.iter().filter(of).map(relation).collect();
        let has = |relation| verdicts.contains(&relation);
        match (self.distrusted, has(Relation::Faster), has(Relation::Slower)) {
            (true, ..) => Relation::Undecided,
            (_, true, true) => Relation::Both,
            (_, true, false) => Relation::Faster,
            (_, false, true) => Relation::Slower,
            _ if verdicts.len() == phases.len() && !has(Relation::Undecided) => Relation::Same,
            _ => Relation::Undecided,
        }
    }
}

fn relation(contrast: &Contrast) -> Relation {
    match contrast.verdict {
        Some(Verdict::Faster { .. }) if contrast.ratio <= WORTH => Relation::Faster,
        Some(Verdict::Slower { .. }) if contrast.ratio >= 1.0 / WORTH => Relation::Slower,
        Some(Verdict::Faster { .. } | Verdict::Slower { .. } | Verdict::Equivalent) => Relation::Same,
        Some(Verdict::Inconclusive { .. }) | None => Relation::Undecided,
    }
}
