//! Estimates of a plan's time, space and inodes, before anything is written.
//!
//! The time is an order of magnitude from constants measured on one machine (2 virtual cores, ext4, warm); a
//! run's progress replaces it with measured times.
//!
//! ```text
//!  needs (a data set) --+
//!  arms of the plan ----+--> of_data: maximum of space, sum of time --> one file system, or all
//! ```
//!
//! Users of the estimate: `--dry-run` prints the estimate, setup refuses a run that cannot fit, the planner
//! sizes images and disks in memory with it. Too high an estimate refuses a possible run; too low an
//! estimate fills a disk after an hour. So space errs upwards.

use std::collections::BTreeSet;

use megadir::sizes;
use megadir_record::{
    Arm, CacheState, Container, Data, FileOperation, FsId, Made, NameScheme, Order, Plan, When, Work,
};

use super::trees;
use crate::kind::cost::{BLOCK_NS, MAKE_NS, REMOVE_NS, STAT_NS};
use crate::kind::traits;

/// Figures for the question before a run whether it fits, so space and inodes are rounded up and time is
/// rough. `kept_` is what the arms create in all rounds together, which is needed only if used directories
/// are set aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    pub files: u64,
    pub inodes: u64,
    /// With blocks of 4 KiB, bytes.
    pub space_bytes: u64,
    /// Inodes of everything that the arms make, if all of it stays until the end.
    pub kept_inodes: u64,
    pub kept_space_bytes: u64,
    /// Contents of the files, without the rest of their last blocks.
    pub contents_bytes: u64,
    pub kept_contents_bytes: u64,
    pub blocks: u64,
    /// Setup, warm-up, measurement and removal, nanoseconds: an order of magnitude.
    pub elapsed_ns: u64,
}

/// Dropping the caches of the machine, with the pauses between drops, nanoseconds.
const DROP_NS: u64 = 60_000_000;
const REMOUNT_NS: u64 = 60_000_000;
/// Reformatting a used image and mounting it, nanoseconds.
const REFORMAT_NS: u64 = 120_000_000;
/// A look-up that reads from the device, nanoseconds.
const COLD_READ_NS: u64 = 200_000;
const BLOCK_BYTES: u64 = 4096;
/// Unit of the sizes that a compressing disk stores, about.
const GRANULE_BYTES: u64 = 64;
/// The maximum that ext4 and XFS reserve, bytes.
const INODE_BYTES: u64 = 512;
/// In a directory of ext4, without the preallocated inode, bytes.
const FILLED_ENTRY_BYTES: u64 = 100;

/// Estimate of a whole plan. Space and inodes are summed over file systems, since each has its own; time is
/// not, because all arms share the rounds.
pub fn estimate(plan: &Plan) -> Estimate {
    let whole = of_data(plan, &|_| true);
    if plan.file_systems.is_empty() {
        return whole;
    }
    let Estimate { inodes, space_bytes, .. } = estimate_on(plan, plan.file_systems.iter().map(|of| of.id));
    Estimate { inodes, space_bytes, ..whole }
}

pub(crate) fn estimate_on(plan: &Plan, file_systems: impl IntoIterator<Item = FsId>) -> Estimate {
    let each = file_systems.into_iter().map(|on| of_data(plan, &|data| data.on == Some(on)));
    each.fold(Estimate::default(), |sum, part| Estimate {
        files: sum.files.saturating_add(part.files),
        inodes: sum.inodes.saturating_add(part.inodes),
        space_bytes: sum.space_bytes.saturating_add(part.space_bytes),
        kept_inodes: sum.kept_inodes.saturating_add(part.kept_inodes),
        kept_space_bytes: sum.kept_space_bytes.saturating_add(part.kept_space_bytes),
        contents_bytes: sum.contents_bytes.saturating_add(part.contents_bytes),
        kept_contents_bytes: sum.kept_contents_bytes.saturating_add(part.kept_contents_bytes),
        blocks: sum.blocks.saturating_add(part.blocks),
        elapsed_ns: sum.elapsed_ns.saturating_add(part.elapsed_ns),
    })
}

/// The kernel's copy of an inode and its name on ext4, bytes.
const CACHED_INODE_BYTES: u64 = 1300;

/// Text of a note if arms use files that are cached, and memory is short for all that exist at a time.
pub(crate) fn larger_than_memory(plan: &Plan, memory_bytes: u64) -> Option<String> {
    let cached = |arm: &&Arm| arm.cache == CacheState::Warm && arm.work.leaves_all();
    let reads_contents = |arm: &Arm| match &arm.work {
        Work::Files(work) => work.operation == FileOperation::Read,
        work => matches!(work, Work::Command(_)),
    };
    let Estimate { inodes, space_bytes, .. } = estimate(plan);
    let contents = if plan.arms.iter().filter(cached).any(reads_contents) { space_bytes } else { 0 };
    let bytes = inodes.saturating_mul(CACHED_INODE_BYTES).saturating_add(contents);
    (plan.arms.iter().any(|arm| cached(&arm)) && bytes > memory_bytes / 4 * 3).then(|| {
        let (bytes, memory) = (sizes::text(bytes), sizes::text(memory_bytes));
        format!("all files of a round with their inodes take up to {bytes}, more than three quarters of the memory of {memory}")
    })
}

impl Estimate {
    /// Inodes and bytes of a file system that keeps all that arms make: up to three quarters of the inodes, half of the space.
    pub(crate) fn with_kept(&self) -> (u64, u64) {
        let inodes = self.inodes.saturating_add(self.kept_inodes.saturating_mul(2));
        (inodes, self.space_bytes.saturating_add(self.kept_space_bytes.saturating_mul(5) / 2))
    }
}

/// Space and inodes are a maximum over the run, and time is a sum. Data sets made before the run exist
/// together; data sets of chains come one after the other, so only the largest counts. All sums saturate, because
/// a request may have any number, and a sum that wrapped would look like a small run.
fn of_data(plan: &Plan, which: &dyn Fn(&Data) -> bool) -> Estimate {
    let data = || plan.data.iter().filter(|data| which(data));
    let arms: Vec<&Arm> = plan.arms.iter().filter(|arm| which(&plan.data[arm.data.0 as usize])).collect();
    let sets = data().filter(|data| data.source.made().is_some()).count() as u64;
    let all: Vec<Needs> = data().map(|data| needs(plan, data)).collect();
    // Chains run one after the other: only one chain's files exist at a time.
    let at_once = |of: fn(&Needs) -> u64| {
        let (by_arms, before): (Vec<&Needs>, Vec<&Needs>) = all.iter().partition(|needs| needs.by_arms);
        let before = before.into_iter().map(of).fold(0, u64::saturating_add);
        let by_arms = by_arms.into_iter().map(of);
        before.saturating_add(match plan.rules.order {
            Order::Chains => by_arms.max().unwrap_or(0),
            _ => by_arms.fold(0, u64::saturating_add),
        })
    };
    let (files, inodes) = (at_once(|needs| needs.files), at_once(|needs| needs.inodes));
    let space_bytes = at_once(|needs| needs.space_bytes);
    let chains = |only_reformatted: bool| {
        let of = arms.iter().filter(|arm| {
            !only_reformatted || plan.file_system_of(arm.data).is_some_and(|on| on.reformatted)
        });
        of.map(|arm| arm.chain).collect::<BTreeSet<u32>>().len() as u64
    };
    let mounts_ns = match plan.rules.fresh_mounts {
        true => chains(false) * REMOUNT_NS + chains(true) * REFORMAT_NS,
        false => 0,
    };
    let blocks_ns: u64 = arms.iter().map(|arm| block_ns(plan, arm)).sum();
    let round_ns = blocks_ns + mounts_ns + warming_ns(plan, which);
    let rounds = u64::from(plan.rules.rounds);
    let warm_up_rounds = match u64::from(plan.rules.warm_up_rounds_min) {
        0 => 0,
        rounds => rounds + 2,
    };
    let warm_up_ns = (warm_up_rounds * round_ns).min(plan.rules.warm_up_ns_max + round_ns);
    let epochs = u64::from(plan.rules.epochs);
    let made = files.saturating_mul(epochs);
    let filled: u64 = arms.iter().map(|arm| filled(arm)).sum();
    let created: u64 = arms.iter().map(|arm| created(arm)).sum();
    let kept = |of: fn(&Needs) -> u64| {
        let made = all.iter().filter(|needs| needs.by_arms).map(of).fold(0, u64::saturating_add);
        made.saturating_mul(rounds)
    };
    Estimate {
        kept_inodes: kept(|needs| needs.inodes),
        kept_space_bytes: kept(|needs| needs.space_bytes),
        contents_bytes: at_once(|needs| needs.contents_bytes),
        kept_contents_bytes: kept(|needs| needs.contents_bytes),
        files: made.saturating_add(rounds * (filled + created)),
        inodes: if sets == 0 { 0 } else { inodes.saturating_add(filled + filled / 10 + sets + 2) },
        space_bytes: space_bytes.saturating_add(filled * FILLED_ENTRY_BYTES),
        blocks: rounds * arms.len() as u64,
        elapsed_ns: made.saturating_mul(MAKE_NS + REMOVE_NS)
            + epochs * warm_up_ns
            + rounds * (round_ns + created * REMOVE_NS),
    }
}

/// Files that a fill until refusal creates in each block; they are part of no data set.
fn filled(arm: &Arm) -> u64 {
    match arm.work {
        Work::FillUntilRefused { entries_about, .. } => entries_about,
        _ => 0,
    }
}

fn created(arm: &Arm) -> u64 {
    match &arm.work {
        Work::Files(work) if work.operation == FileOperation::Create => work.files(),
        _ => 0,
    }
}

fn block_ns(plan: &Plan, arm: &Arm) -> u64 {
    match arm.cache {
        CacheState::Warm => warm_block_ns(plan, arm),
        CacheState::Unseen => warm_block_ns(plan, arm) + entries(plan, arm) * (MAKE_NS + REMOVE_NS),
        CacheState::DataCold => 2 * warm_block_ns(plan, arm) + entries(plan, arm) * STAT_NS,
        // Reading from the device takes tens of times as long; the data set is warmed again once a round.
        CacheState::VfsCold => DROP_NS + cold_work_ns(plan, arm),
        CacheState::FsCold => REMOUNT_NS + cold_work_ns(plan, arm),
    }
}

fn cold_work_ns(plan: &Plan, arm: &Arm) -> u64 {
    match arm.work {
        Work::Lookup { .. } => arm.operations.unwrap_or(1) * COLD_READ_NS,
        _ => 5 * warm_block_ns(plan, arm),
    }
}

/// Time of warming each data set again, once a round, if an arm drops caches.
fn warming_ns(plan: &Plan, which: &dyn Fn(&Data) -> bool) -> u64 {
    let drops = plan.arms.iter().any(|arm| arm.cache.drops_names());
    let warm = |data: &&Data| plan.arms.iter().any(|arm| arm.data == data.id && !arm.cache.is_cold());
    let sets = plan.data.iter().filter(|data| drops && which(data)).filter(warm);
    sets.map(|data| data.entries.saturating_mul(5 * STAT_NS)).sum()
}

fn warm_block_ns(plan: &Plan, arm: &Arm) -> u64 {
    if let (Some(rate), Some(operations)) = (arm.rate_per_s, arm.operations) {
        return BLOCK_NS + operations.saturating_mul(1_000_000_000) / rate.max(1);
    }
    traits(&arm.work, entries(plan, arm)).block_ns
}

fn entries(plan: &Plan, arm: &Arm) -> u64 {
    plan.data[arm.data.0 as usize].entries
}

/// Need of a data set on its file system, so that a plan refuses before it makes the first file. `space_bytes` are whole blocks with
/// inodes and directories; `contents_bytes` are the contents alone in granules of [`GRANULE_BYTES`], since a disk in memory keeps no
/// zeros at the end of a block. `files` exist for the whole run; files that arms make (`by_arms`) only in their blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Needs {
    by_arms: bool,
    files: u64,
    inodes: u64,
    space_bytes: u64,
    contents_bytes: u64,
}

/// Files that arms make are counted once. Space is an upper bound, since a run that is out of space after hours is worse than a refusal; the
/// containers made of a data set take no more than its files do, but for headers.
fn needs(plan: &Plan, data: &Data) -> Needs {
    let mut needs = Needs::default();
    let Some(made) = data.source.made() else { return needs };
    needs.by_arms = data.is_made_by_arms();
    for (_, files) in trees(plan, data).unwrap_or_default() {
        let all = files.entries().saturating_add(made.aged_files);
        let entries = all as f64;
        let directories = files.directories_expected().ceil();
        // The sum of random sizes stays within four standard deviations in all but a few of 100 000 seeds.
        let scatter = 4.0 * entries.sqrt() * files.sizes().deviation_bytes();
        let contents = entries * files.sizes().blocks(BLOCK_BYTES) * BLOCK_BYTES as f64 + scatter;
        // A directory that grew by splitting blocks is half full.
        let records = 2.0 * (name_bytes(made.names) + 12.0);
        let leaves =
            if files.is_flat() { 1.0 } else { (entries / files.files_per_directory().max(1.0)).ceil() };
        let fullest = if files.is_flat() { entries } else { files.files_per_directory() };
        let leaf_blocks = (fullest * records / BLOCK_BYTES as f64).ceil().max(1.0);
        let blocks = leaves * leaf_blocks + (directories - leaves).max(0.0);
        let part = part(plan, data, made);
        let granules = entries * files.sizes().blocks(GRANULE_BYTES) * GRANULE_BYTES as f64 + scatter;
        needs.contents_bytes = needs.contents_bytes.saturating_add((granules * part) as u64);
        let (contents, directories, blocks) = (contents * part, directories * part, blocks * part);
        let inodes = entries * part + directories;
        let space = contents + inodes * INODE_BYTES as f64 + blocks * BLOCK_BYTES as f64;
        needs.inodes = needs.inodes.saturating_add(inodes as u64);
        needs.space_bytes = needs.space_bytes.saturating_add(space as u64).saturating_add(65_536);
        if made.when == When::BeforeRun {
            needs.files = needs.files.saturating_add(all);
        }
    }
    let (containers, directories) = containers(plan, data);
    needs.inodes = needs.inodes.saturating_mul(directories.saturating_add(1));
    let least = data.entries.saturating_mul(MEMBER_BYTES);
    let with_containers = |bytes: u64| bytes.saturating_add(bytes.max(least).saturating_mul(containers));
    needs.space_bytes = with_containers(needs.space_bytes);
    needs.contents_bytes = with_containers(needs.contents_bytes);
    needs
}

/// Headers and padding of a small file in a pack, which has the most of all containers.
const MEMBER_BYTES: u64 = 2560;

/// Containers that are made of a data set and kept, and one more that exists while its program is timed; of
/// all these, those that are directories.
fn containers(plan: &Plan, data: &Data) -> (u64, u64) {
    let of_data = plan.arms.iter().filter(|arm| arm.data == data.id);
    let made: BTreeSet<(&str, bool)> = of_data
        .filter_map(|arm| match &arm.work {
            Work::Command(work) => {
                let reading = work.reading.as_ref().filter(|_| !work.line.is_empty())?;
                Some((work.line.as_str(), reading.container == Container::Directory))
            }
            _ => None,
        })
        .collect();
    let all = made.len() as u64 + u64::from(!made.is_empty());
    (all, made.iter().filter(|(_, is_directory)| *is_directory).count() as u64)
}

/// Fraction of a data set's files that arms create at a time, since some arms create only the first of
/// them.
fn part(plan: &Plan, data: &Data, made: &Made) -> f64 {
    if made.when == When::BeforeRun {
        return 1.0;
    }
    let of_data = plan.arms.iter().filter(|arm| arm.data == data.id);
    let last = of_data.filter_map(|arm| match &arm.work {
        Work::Files(work) => Some(work.to),
        _ => None,
    });
    // After several workers an arm covers the files of all.
    (last.max().unwrap_or(0) as f64 / data.entries.max(1) as f64).min(1.0)
}

fn name_bytes(names: NameScheme) -> f64 {
    match names {
        NameScheme::Md5 => 32.0,
        NameScheme::Hex | NameScheme::Sequence => 16.0,
        NameScheme::Decimal | NameScheme::UpperHex => 12.0,
        NameScheme::Lengths { bytes } => {
            bytes.iter().map(|bytes| f64::from(*bytes)).sum::<f64>() / bytes.len() as f64
        }
    }
}
