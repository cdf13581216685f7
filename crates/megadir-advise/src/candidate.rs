//! The layouts among which is chosen: one directory, one hashed level, two hashed levels, and what known programs use.

use megadir::layout::{Layout, PRESETS, PathBuffer, Preset, Shape, Source};

use crate::ground::{Ground, Holds};
use crate::question::Question;

/// As many files in a directory as are aimed at: listing, sorting or removing them takes moments and some megabytes.
pub const AIM: u64 = 50_000;
/// More than this are put into another level.
pub const MOST: u64 = 100_000;
/// Where there is no index each create reads all of the directory: so many names take a hundred kilobytes.
const MOST_LINEAR: u64 = 1_000;
/// Fewer files than this need only 16 directories.
const FEW: u64 = 100_000;
/// Hex digits of one level, at most: 4096 directories, which is a directory of a size that any file system takes.
const DIGITS_MAX: u16 = 3;
/// Widths of two levels, the fewest directories first.
const TWO: [[u16; 2]; 5] = [[1, 1], [2, 1], [2, 2], [3, 2], [3, 3]];
/// Characters that hex digits have.
const HEX: u64 = 16;

/// One layout that could be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The layout.
    pub layout: Layout,
    /// The known program whose layout it is.
    pub preset: Option<&'static str>,
    /// What it makes of so many files.
    pub shape: Shape,
    /// Files in the fullest directory, as expected.
    pub fullest: u64,
}

impl Candidate {
    /// Returns what a layout makes of so many files whose names, or their digests, are spread evenly.
    #[must_use]
    pub fn of(layout: Layout, files: u64) -> Self {
        let shape = layout.shape(files, HEX);
        let preset = None;
        Self { layout, preset, fullest: fullest(files, &shape), shape }
    }

    /// Returns how many levels of directories there are.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.shape.depth
    }

    /// Tells whether directories are taken from digests of the names, so that it suits names of any kind.
    #[must_use]
    pub(crate) fn is_hashed(&self) -> bool {
        self.layout.source() == Source::Digest
    }
}

/// Returns how full the fullest directory is, as expected.
///
/// That of m directories with a mean of λ files each: λ + sqrt(2 λ ln m) + ln m / 3, which the largest of m such sums exceeds
/// with a probability of about 1 / m (Bernstein's inequality for Poisson counts).
fn fullest(files: u64, shape: &Shape) -> u64 {
    if shape.depth == 0 {
        return files;
    }
    let spread = (shape.leaves_max as f64).max(1.0).ln();
    let mean = files as f64 / shape.leaves_max.max(1) as f64;
    (mean + (2.0 * mean * spread).sqrt() + spread / 3.0).ceil().min(files as f64) as u64
}

/// Returns how many files a directory of a hashed layout may have: aimed at, and at most.
#[must_use]
pub fn bounds(ground: &Ground) -> (u64, u64) {
    let most = match &ground.holds {
        Holds::Bounded { plan, .. } => MOST.min(plan.likely),
        Holds::Unbounded | Holds::Unknown => MOST,
        Holds::Linear => MOST_LINEAR,
    };
    (AIM.min(most), most)
}

/// Returns one hashed level: the fewest directories that hold what is aimed at.
#[must_use]
pub(crate) fn one_level(question: &Question, ground: &Ground) -> Candidate {
    let (aim, _) = bounds(ground);
    let least = if question.files < FEW { 1 } else { 2 };
    let of = |digits: u16| Candidate::of(hashed(&[digits]), question.files);
    (least..DIGITS_MAX).map(of).find(|one| one.fullest <= aim).unwrap_or_else(|| of(DIGITS_MAX))
}

/// Returns two hashed levels: the fewest directories that hold what is aimed at.
#[must_use]
pub(crate) fn two_levels(question: &Question, ground: &Ground) -> Candidate {
    let (aim, _) = bounds(ground);
    let least = if question.files < FEW { 0 } else { 2 };
    let of = |levels: &[u16; 2]| Candidate::of(hashed(levels), question.files);
    let all = &TWO[least..];
    all.iter().map(of).find(|two| two.fullest <= aim).unwrap_or_else(|| of(&TWO[TWO.len() - 1]))
}

fn hashed(levels: &[u16]) -> Layout {
    Layout::new(Source::Digest, levels).unwrap_or(Layout::FLAT)
}

/// Returns all layouts that could be used, one directory first; `names` are some of those that there are, if any.
///
/// Those of known programs are in it where every one of these names has a place and no directory would get more than is allowed.
#[must_use]
pub fn candidates(question: &Question, ground: &Ground, names: &[Vec<u8>]) -> Vec<Candidate> {
    let mut all = vec![
        Candidate::of(Layout::FLAT, question.files),
        one_level(question, ground),
        two_levels(question, ground),
    ];
    all.extend(presets(question, ground, names));
    all
}

/// Returns what known programs use and fits here, the fewest directories first.
fn presets(question: &Question, ground: &Ground, names: &[Vec<u8>]) -> Vec<Candidate> {
    let (_, most) = bounds(ground);
    let of = |preset: &Preset| Candidate {
        preset: Some(preset.name),
        ..Candidate::of(preset.layout, question.files)
    };
    let fits = |preset: &&Preset| {
        let layout = &preset.layout;
        // A depth that depends on the number of files needs a program that moves them.
        layout.growth().is_none() && takes(layout, question, ground, names)
    };
    let mut fitting: Vec<Candidate> = PRESETS.iter().filter(fits).map(of).collect();
    fitting.retain(|preset| preset.fullest <= most);
    fitting.sort_by_key(|preset| (preset.levels(), preset.shape.directories_max));
    fitting
}

/// Tells whether a layout has a place for every name; without any, for hex digits of the shortest length.
fn takes(layout: &Layout, question: &Question, ground: &Ground, names: &[Vec<u8>]) -> bool {
    let placer = layout.at(question.files);
    let mut buffer = PathBuffer::new();
    if names.is_empty() {
        // Numbers are something that only their owner knows of.
        let of_hex = matches!(layout.source(), Source::Prefix | Source::Suffix | Source::NextToLast);
        let name = vec![b'a'; usize::from(ground.names.shortest())];
        return of_hex && placer.place(&name, &mut buffer).is_ok();
    }
    names.iter().all(|name| placer.place(name, &mut buffer).is_ok()) && spreads(layout, question, names)
}

/// With fewer names than this nothing is said about how they are spread.
const SPREAD_NAMES_MIN: usize = 64;
/// Chi-square over its expectation may be this much larger, in its standard deviations: even names are beyond it once in a thousand times.
const SPREAD_DEVIATIONS: f64 = 3.1;

/// Tells whether names are spread over a layout's directories as evenly as hex digits are.
///
/// By Pearson's chi-square of the first level, whose directories have the most names each; its law is near the normal one of mean k - 1 and
/// variance 2 (k - 1) for the k directories there may be. The names are the first that were listed: of a directory whose order is that of
/// making (XFS, btrfs, tmpfs) the oldest.
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
