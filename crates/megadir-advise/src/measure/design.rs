//! Design of the measurement (layouts, files, rounds) from the time, the free space and the cost of trials.
//!
//! ```text
//!  trial of 300 files, 1 round     -> cost of a round          -+
//!  trial of more files, 1 round    -> fixed cost, cost per file -+-> files and rounds that fit into 0.8 of the time
//!  free space, inodes, the question-> files at most            -+
//! ```
//!
//! Twelve rounds come before more files: intervals need rounds, and differences between layouts of cached
//! files change little beyond a few thousand files. Only when the files are at their maximum do rounds grow
//! further.

use std::time::Duration;

use megadir::layout::Layout;
use megadir::limits::{Limit, Space};
use megadir_bench::plan::{Planned, Request as PlanRequest, Target, plan};
use megadir_bench::study::{Kind, Study, built_in};
use megadir_record::{MakeDirectories, NAME_LENGTHS, NameScheme, Preset, SizeLaw};

use super::Request;
use super::clock::Pace;
use crate::candidate::{Candidate, Pattern};

/// Decide a family of three by signed ranks, with a margin.
const ROUNDS: u32 = 12;
/// With fewer the intervals of such a family are unbounded.
const ROUNDS_MIN: u32 = 8;
const ROUNDS_MAX: u32 = 1000;
/// More show nothing new in a cache.
const FILES_MAX: u64 = 50_000;
/// With fewer a block is too short to stand out from noise.
const FILES_MIN: u64 = 300;
/// Part of the time for the second trial. It must be much larger than the first to separate the two costs,
/// and its time is lost to the measurement.
const TRIAL_PART: f64 = 0.08;
/// With fewer files in each directory the cost of directories would hide the cost of the layout.
const FILES_PER_DIRECTORY_MIN: u64 = 4;
/// Two levels of 16 directories each, or the 256 of most programs.
const FILES_ALL: u64 = 272 * FILES_PER_DIRECTORY_MIN;
/// Part of the free space and inodes to use: other programs need them while the measurement runs.
const ROOM_PART: f64 = 0.25;
const BYTES_MAX: u64 = 1 << 30;
/// A larger unit of the block counts is no cluster: s3fs reports 16 MiB.
const UNIT_MAX: u64 = 64 << 10;
/// Larger contents would measure the disk.
const CONTENTS_MAX: u64 = 4 << 10;
/// Part of the time that the trials left. The rest is for removal, and for rounds that take longer than the
/// trials.
const TIME_PART: f64 = 0.8;

/// Numbers of a run. `files` is for each layout, so a round creates as many times that as there are arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizing {
    pub(super) files: u64,
    pub(super) rounds: u32,
}

/// Choices that are independent of the number of files. `layouts` are the wanted ones; a run with few files
/// narrows them or leaves them out, and `remarks` explain that to the user.
#[derive(Clone, Debug)]
pub(super) struct Design {
    names: NameScheme,
    size_bytes: u64,
    layouts: Vec<Layout>,
    pub(super) remarks: Vec<String>,
}

impl Design {
    pub(super) fn of(request: &Request<'_>) -> Self {
        let mut remarks = Vec::new();
        let facts = &request.limits.facts;
        let wanted = facts.contents.value.mean_bytes.round() as u64;
        if wanted > CONTENTS_MAX {
            let kib = CONTENTS_MAX >> 10;
            remarks.push(format!(
                "measured with {kib} KiB in each file: the contents cost the same in every layout"
            ));
        }
        let names = names(request);
        let mut layouts = vec![Layout::FLAT];
        let mut add = |wanted: &dyn Fn(&Candidate) -> bool| {
            layouts.extend(
                request
                    .candidates
                    .iter()
                    .find(|candidate| wanted(candidate))
                    .map(|candidate| candidate.layout),
            );
        };
        add(&|candidate| candidate.is_hashed() && candidate.levels() == 1);
        add(&|candidate| candidate.is_hashed() && candidate.levels() == 2);
        // Generated names are hex digits, the names that programs' layouts are made for.
        add(&|candidate| candidate.preset.is_some() && names == NameScheme::Md5);
        Self { names, size_bytes: wanted.min(CONTENTS_MAX), layouts, remarks }
    }

    /// Two layouts may become equal when they are narrowed; equal arms would only cost rounds.
    fn layouts(&self, files: u64) -> Vec<Layout> {
        let mut fitting = Vec::new();
        for layout in self.layouts.iter().filter_map(|layout| narrowed(layout, files)) {
            if !fitting.contains(&layout) {
                fitting.push(layout);
            }
        }
        fitting
    }

    pub(super) fn left_out(&self, files: u64) -> Option<String> {
        let missing = self.layouts.iter().filter(|layout| narrowed(layout, files).is_none());
        let missing: Vec<String> = missing.map(ToString::to_string).collect();
        (!missing.is_empty()).then(|| format!("too few files to measure {}", missing.join(", ")))
    }

    pub(super) fn plan(&self, request: &Request<'_>, sizing: Sizing) -> Result<Planned, String> {
        let layouts = self.layouts(sizing.files);
        let mut study = built_in("layout").map_err(|error| error.to_string())?;
        self.write(&mut study, request, &layouts);
        let plan_request = PlanRequest {
            rounds: Some(sizing.rounds),
            target: Target::Made { entries: vec![sizing.files] },
            ..PlanRequest::bare(Preset::Default, request.seed)
        };
        plan(&study, &plan_request).map_err(|error| error.to_string())
    }

    /// Turns the built-in study of layouts into this measurement. The study's texts are replaced as well,
    /// because the page of `--report` prints them, and the article's published figures would be compared
    /// with other work.
    fn write(&self, study: &mut Study, request: &Request<'_>, layouts: &[Layout]) {
        study.meta.name = "advise".into();
        study.meta.question = "Which layout is best for these files here?".into();
        study.meta.source = "megadir advise: a short measurement of the candidate layouts".into();
        study.meta.reproduces =
            vec!["The requested lengths of names, sizes (up to 4 KiB) and number of writers.".into()];
        study.meta.fixes = vec!["Fewer files than planned: this measures the cost of a layout with a warm cache, not of a full directory.".into()];
        study.meta.published = Vec::new();
        study.meta.claims = None;
        study.data.names = self.names;
        study.data.size_bytes = self.size_bytes;
        study.data.sizes = SizeLaw::Fixed;
        study.data.content = megadir_record::ContentKind::Pseudorandom;
        if let Kind::Layout(spec) = &mut study.kind {
            spec.layouts = layouts.iter().map(ToString::to_string).collect();
            spec.read_orders = vec![megadir_record::FileOrder::Random];
            spec.walk = request.question.pattern == Pattern::Walk;
            spec.directories = vec![MakeDirectories::Before];
            spec.writers = request.question.writers;
        }
    }
}

/// At the same number of levels, no more directories than `files` files can fill; `None` if too few.
fn narrowed(layout: &Layout, files: u64) -> Option<Layout> {
    let fills = |layout: &Layout| layout.directories(16).saturating_mul(FILES_PER_DIRECTORY_MIN) <= files;
    if fills(layout) {
        return Some(*layout);
    }
    if layout.source() != megadir::layout::Source::Digest {
        return None;
    }
    let mut levels = layout.levels().to_vec();
    while let Some(widest) = levels.iter_mut().rev().max_by_key(|width| **width).filter(|width| **width > 1) {
        *widest -= 1;
        let narrower = Layout::new(layout.source(), &levels).ok()?;
        if fills(&narrower) {
            return Some(narrower);
        }
    }
    None
}

/// Names with the same lengths as the user's. Lengths of 32 become MD5 digests, the names that presets
/// expect. Other lengths are drawn from their distribution at equally spaced quantiles, because a record
/// holds a fixed number.
fn names(request: &Request<'_>) -> NameScheme {
    let names = &request.limits.facts.names.value;
    if (names.shortest(), names.longest()) == (32, 32) {
        return NameScheme::Md5;
    }
    let mut bytes = [0; NAME_LENGTHS];
    for (place, length) in bytes.iter_mut().enumerate() {
        let mut at = (place as f64 + 0.5) / NAME_LENGTHS as f64;
        let found = names.shares().iter().find(|(_, share)| {
            at -= share;
            at <= 0.0
        });
        *length = found.map_or(names.longest(), |(bytes, _)| *bytes).min(255) as u8;
    }
    NameScheme::Lengths { bytes }
}

/// A fixed part, mostly syncing, and a part for each file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    fixed_s: f64,
    file_s: f64,
}

impl Cost {
    pub(super) fn of_one(sizing: Sizing, pace: &Pace) -> Self {
        Self { fixed_s: 0.0, file_s: pace.round_s() / sizing.files.max(1) as f64 }
    }

    /// Two points give the line: its slope is the cost of a file, its intercept the cost of a round. Noise
    /// could make the slope negative or nearly zero, and then the plan would ask for millions of files,
    /// hence the lower bound.
    pub(super) fn of_two(
        (first, first_pace): (Sizing, &Pace),
        (second, second_pace): (Sizing, &Pace),
    ) -> Self {
        let more = second.files.saturating_sub(first.files).max(1) as f64;
        let file_s = ((second_pace.round_s() - first_pace.round_s()) / more).max(0.0);
        // Noise must not make files free.
        let file_s = file_s.max(0.1 * second_pace.round_s() / second.files.max(1) as f64);
        Self { fixed_s: (second_pace.round_s() - file_s * second.files as f64).max(0.0), file_s }
    }

    fn round_s(&self, files: u64) -> f64 {
        self.fixed_s + self.file_s * files as f64
    }
}

impl Sizing {
    /// The error is the reason why nothing can be measured.
    pub(super) fn of_trial(request: &Request<'_>, design: &Design) -> Result<Self, String> {
        let files = FILES_MIN.min(files_max(request, design, 1)?);
        Ok(Self { files, rounds: 1 })
    }

    /// `None` if the time does not allow a larger trial.
    pub(super) fn of_second_trial(self, request: &Request<'_>, design: &Design, cost: &Cost) -> Option<Self> {
        let most = files_max(request, design, 1).ok()?;
        let files = ((TRIAL_PART * request.time.as_secs_f64() / cost.file_s) as u64).min(most);
        (files >= 2 * self.files).then_some(Self { files, rounds: 1 })
    }

    /// `left` is the time after the setup.
    pub(super) fn of_cost(
        request: &Request<'_>,
        design: &Design,
        cost: &Cost,
        left: Duration,
    ) -> Result<Self, TooSmall> {
        let left_s = TIME_PART * left.as_secs_f64();
        let rounds_of = |files: u64| (left_s / cost.round_s(files)) as u32;
        if rounds_of(FILES_MIN) < ROUNDS_MIN {
            let round_s = cost.round_s(FILES_MIN);
            // Trials and removal take a share of the time too.
            let needed = suggested(f64::from(ROUNDS) * round_s / (TIME_PART * TIME_PART));
            return Err(TooSmall::Time(format!(
                "the time is too short: a round of {FILES_MIN} files in each layout takes about {round_s:.1} s here; try --time {needed}"
            )));
        }
        let most = files_max(request, design, ROUNDS).map_err(TooSmall::Room)?;
        let files = (left_s / f64::from(ROUNDS) - cost.fixed_s) / cost.file_s;
        let all = Some(FILES_ALL).filter(|files| rounds_of(*files) >= ROUNDS_MIN);
        let files = (files.max(0.0) as u64).max(all.unwrap_or(0)).clamp(FILES_MIN.min(most), most);
        let rounds = rounds_of(files).clamp(ROUNDS_MIN, ROUNDS_MAX);
        Ok(Self { files, rounds })
    }
}

/// The two reasons have different remedies: `Time` more time or a quieter machine, `Room` another
/// directory.
pub(super) enum TooSmall {
    Time(String),
    Room(String),
}

/// Time budget for `--time`, with room for trials that take longer the next time.
fn suggested(needed_s: f64) -> &'static str {
    const BUDGETS: [(f64, &str); 9] = [
        (10.0, "10s"),
        (20.0, "20s"),
        (30.0, "30s"),
        (60.0, "60s"),
        (120.0, "2m"),
        (300.0, "5m"),
        (600.0, "10m"),
        (1200.0, "20m"),
        (3600.0, "1h"),
    ];
    BUDGETS.iter().find(|(budget_s, _)| *budget_s >= 1.5 * needed_s).map_or("1h", |(_, text)| text)
}

/// By the question, diminishing returns, and space for `rounds` rounds.
fn files_max(request: &Request<'_>, design: &Design, rounds: u32) -> Result<u64, String> {
    let space = &request.limits.facts.space;
    let sets = (design.layouts.len() as u64 + 1) * u64::from(rounds);
    let by_blocks = fit_blocks(space, design.size_bytes, sets);
    let of_inodes = request.limits.ceilings.iter().find(|ceiling| ceiling.limit == Limit::Inodes);
    let by_inodes = of_inodes.map_or(u64::MAX, |inodes| part(inodes.more.low, sets));
    let room = by_blocks.min(by_inodes);
    if room < FILES_MIN {
        let shortage = if by_blocks < by_inodes { "too little space is" } else { "too few inodes are" };
        return Err(format!("{shortage} left for {FILES_MIN} files in each layout"));
    }
    Ok(room.min(FILES_MAX).min(request.question.files.max(FILES_MIN)))
}

fn part(free: u64, taken: u64) -> u64 {
    (ROOM_PART * free as f64 / taken.max(1) as f64) as u64
}

/// Files of each layout that the free space and the limit of 1 GiB allow, with `sets` of them in all
/// rounds. A further KiB per file covers the inode and the entry. A file system that reports no blocks
/// limits nothing.
fn fit_blocks(space: &Space, size_bytes: u64, sets: u64) -> u64 {
    let each = size_bytes.next_multiple_of(space.unit_bytes.clamp(1, UNIT_MAX)) + 1024;
    let free = match space.blocks {
        0 => u64::MAX,
        _ => space.blocks_available.saturating_mul(space.unit_bytes.max(1)),
    };
    part(free, sets * each).min(BYTES_MAX / (sets * each).max(1))
}

#[cfg(test)]
mod tests {
    use megadir::limits::Space;

    use super::{FILES_MIN, fit_blocks, suggested};

    #[test]
    fn a_server_with_huge_units_has_room_for_small_files() {
        let blocks = (1 << 40) - 1;
        let s3 = Space { unit_bytes: 16 << 20, blocks, blocks_available: blocks, ..Space::default() };
        assert!(fit_blocks(&s3, 4096, 48) >= FILES_MIN);
        let small = Space { unit_bytes: 4096, blocks: 10_000, blocks_available: 10_000, ..Space::default() };
        assert!(fit_blocks(&small, 4096, 48) < FILES_MIN);
    }

    #[test]
    fn a_suggested_time_has_room_for_slower_trials() {
        let times = [3.0, 6.6, 7.0, 41.0, 600.0, 9000.0].map(suggested);
        assert_eq!(times, ["10s", "10s", "20s", "2m", "20m", "1h"]);
    }
}
