//! What a short measurement has found: layouts against one directory, judged by the report's statistics.

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

impl Measured {
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
