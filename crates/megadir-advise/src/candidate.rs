//! Question, and candidate layouts for it: one directory, one hashed level, two hashed levels, and layouts
//! of known programs.
//!
//! Few candidates, because each one multiplies the time of the measurement and widens the intervals of the
//! others. Widths are chosen by computation, since the number of files per directory matters and not the
//! digits: the narrowest width that keeps the fullest directory below `AIM` has the fewest directories to
//! create and to walk.

use megadir::layout::{Layout, PRESETS, PathBuffer, Preset, Shape, Source};

use crate::new_dir::{Capacity, NewDir};

/// Listing, sorting or removing this many takes moments and a few megabytes.
pub const AIM: u64 = 50_000;
pub const MOST: u64 = 100_000;
/// Without an index each create reads the whole directory: this many names take a hundred kilobytes.
const MOST_LINEAR: u64 = 1_000;
/// Below, 16 directories are enough; from here on 256 and more, the numbers that programs are known to use.
const FEW: u64 = 100_000;
/// At most 3 digits a level: 4096 directories fit in one on any file system.
const ONE: [&[u16]; 3] = [&[1], &[2], &[3]];
const TWO: [&[u16]; 5] = [&[1, 1], &[2, 1], &[2, 2], &[3, 2], &[3, 3]];
const HEX: u64 = 16;

/// A layout with its consequences for the number of files in question. `preset` is the name of a known
/// program with the same layout; `fullest` are the files expected in the fullest directory, not in the
/// average one, since the fullest meets a limit first.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub layout: Layout,
    pub preset: Option<&'static str>,
    pub shape: Shape,
    pub fullest: u64,
}

impl Candidate {
    pub fn of(layout: Layout, files: u64) -> Self {
        let shape = layout.shape(files, HEX);
        let preset = None;
        Self { layout, preset, fullest: fullest(files, &shape), shape }
    }

    pub fn levels(&self) -> usize {
        self.shape.depth
    }

    pub(crate) fn is_hashed(&self) -> bool {
        self.layout.source() == Source::Digest
    }
}

/// Expected files in the fullest directory: for m directories with a mean of λ files, λ + sqrt(2 λ ln m) + ln m
/// / 3 is exceeded with a probability of about 1 / m (Bernstein's inequality).
fn fullest(files: u64, shape: &Shape) -> u64 {
    if shape.depth == 0 {
        return files;
    }
    let spread = (shape.leaves_max as f64).max(1.0).ln();
    let mean = files as f64 / shape.leaves_max.max(1) as f64;
    (mean + (2.0 * mean * spread).sqrt() + spread / 3.0).ceil().min(files as f64) as u64
}

/// Files of a directory, aimed at and at most: one directory level suffices up to the second number, and
/// the width is chosen by the first. Without an index both shrink to a thousand.
pub fn bounds(new_dir: &NewDir) -> (u64, u64) {
    let most = match &new_dir.capacity {
        Capacity::Bounded { plan, .. } => MOST.min(plan.likely),
        Capacity::Unbounded | Capacity::Unknown => MOST,
        Capacity::Linear => MOST_LINEAR,
    };
    (AIM.min(most), most)
}

/// The narrowest layout with one level, and with two, whose directories are not too full.
pub(crate) fn hashed(question: &Question, new_dir: &NewDir) -> [Candidate; 2] {
    let (aim, _) = bounds(new_dir);
    let of = |levels: &[u16]| {
        Candidate::of(Layout::new(Source::Digest, levels).unwrap_or(Layout::FLAT), question.files)
    };
    let narrowest = |all: &[&[u16]]| {
        let fits = all.iter().map(|levels| of(levels)).find(|candidate| candidate.fullest <= aim);
        fits.unwrap_or_else(|| of(all[all.len() - 1]))
    };
    let few = question.files < FEW;
    let (shallow, deep) = match new_dir.capacity {
        // A directory of 4096 directories is searched name by name as well.
        Capacity::Linear => (&ONE[..2], &TWO[..]),
        _ if few => (&ONE[..], &TWO[..]),
        _ => (&ONE[1..], &TWO[2..]),
    };
    [shallow, deep].map(narrowest)
}

/// One directory first. A known program's layout must accept the sample `names` and keep directories below the maximum.
pub fn candidates(question: &Question, new_dir: &NewDir, names: &[Vec<u8>]) -> Vec<Candidate> {
    let mut all = vec![Candidate::of(Layout::FLAT, question.files)];
    all.extend(hashed(question, new_dir));
    all.extend(presets(question, new_dir, names));
    all
}

fn presets(question: &Question, new_dir: &NewDir, names: &[Vec<u8>]) -> Vec<Candidate> {
    let (_, most) = bounds(new_dir);
    let of = |preset: &Preset| Candidate {
        preset: Some(preset.name),
        ..Candidate::of(preset.layout, question.files)
    };
    let fits = |preset: &&Preset| {
        let layout = &preset.layout;
        // A depth that depends on the number of files needs a program that moves them.
        layout.growth().is_none() && takes(layout, question, new_dir, names)
    };
    let fitting = PRESETS.iter().filter(fits).map(of).filter(|preset| preset.fullest <= most);
    let mut fitting: Vec<Candidate> = fitting.collect();
    fitting.sort_by_key(|preset| (preset.levels(), preset.shape.directories_max));
    fitting
}

/// Without names: hex digits of the shortest length.
fn takes(layout: &Layout, question: &Question, new_dir: &NewDir, names: &[Vec<u8>]) -> bool {
    let placer = layout.at(question.files);
    let mut buffer = PathBuffer::new();
    if names.is_empty() {
        // Only the owner of the names knows if they are numbers.
        let of_hex = matches!(layout.source(), Source::Prefix | Source::Suffix | Source::NextToLast);
        let name = vec![b'a'; usize::from(new_dir.names.shortest())];
        return of_hex && placer.place(&name, &mut buffer).is_ok();
    }
    names.iter().all(|name| placer.place(name, &mut buffer).is_ok()) && spreads(layout, question, names)
}

/// With fewer names the test would accept nearly every distribution.
const SPREAD_NAMES_MIN: usize = 64;
/// Even names exceed this many standard deviations of chi-square one time in a thousand.
const SPREAD_DEVIATIONS: f64 = 3.1;

/// As evenly as hex digits, by Pearson's chi-square test of the first level: with k directories about normal with mean
/// k - 1 and variance 2 (k - 1). The names are the first in the listing, in a directory in creation order the oldest.
fn spreads(layout: &Layout, question: &Question, names: &[Vec<u8>]) -> bool {
    if matches!(layout.source(), Source::Decimal | Source::Sequence) {
        return true;
    }
    if names.len() < SPREAD_NAMES_MIN {
        return false;
    }
    let placer = layout.at(question.files);
    let mut buffer = PathBuffer::new();
    let mut directories = std::collections::BTreeMap::<Vec<u8>, u64>::new();
    for name in names {
        if let Ok(placed) = placer.place(name, &mut buffer) {
            let first = placed.directory().split(|byte| *byte == b'/').next().unwrap_or_default();
            *directories.entry(first.to_vec()).or_default() += 1;
        }
    }
    let width = layout.levels().first().copied().unwrap_or(0);
    let kinds = (HEX as f64).powi(i32::from(width));
    let mean = names.len() as f64 / kinds;
    let empty = (kinds - directories.len() as f64).max(0.0);
    let squares: f64 = directories.values().map(|count| (*count as f64 - mean).powi(2)).sum();
    let chi_square = (squares + empty * mean * mean) / mean;
    chi_square <= (kinds - 1.0) + SPREAD_DEVIATIONS * (2.0 * (kinds - 1.0)).sqrt()
}

/// Number of files and writers, and the operations. The limits hold the names' lengths and the files' sizes.
///
/// `churn` is `true` if files come and go. It lowers the planned size of a directory, since ext4 never
/// merges the leaves of its index. `rotating` is `true` if they lie on a rotating disk, where the number of
/// seeks decides and a measurement of cached files does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    pub files: u64,
    pub writers: u32,
    pub churn: bool,
    pub rotating: bool,
    pub pattern: Pattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    Read,
    Write,
    Walk,
    Mixed,
}

impl Pattern {
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Walk => "walk",
            Self::Mixed => "mixed",
        }
    }

    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Mixed)
    }
}
