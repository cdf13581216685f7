//! One block of an arm: prepares the caches, times and counts the work, tears it down. If a block creates or
//! removes files, untimed listings before and after must agree with the reported number.
//!
//! ```text
//!  works[arm]: Workload      setup -> run -> usage -> teardown, again for every block
//!  stopwatch                 single operations, into a histogram
//!  caches                    state before the block
//!  intact                    programs that must not change their data, and programs that do
//! ```

use megadir::FileType;
use megadir_record::{Arm, Counted, Phase, Plan, Refused, Sample};
use megadir_sys::clock::monotonic_ns;
use megadir_sys::usage::process_usage;

use crate::cache::{Before, Caches};
use crate::control::{RunControl, WorkError};
use crate::kind::{BlockKey, BlockUsage, NameSource, WorkerSource, Workload, workload};
use crate::measure::Stopwatch;
use crate::os::{At, Borrowed};
use crate::run::RunError;
use crate::run::data_dirs::RoundDirs;
use crate::run::data_sets::each_below;
use crate::run::intact::Intact;
use crate::schedule::Block;

/// State that persists from block to block: a workload for each arm, at the index of the arm's number, and
/// one stopwatch for all, so that its buffers are allocated once. `intact` knows which data sets a program
/// has changed since they were last examined.
pub(crate) struct ArmWorks<'a> {
    pub(crate) works: Vec<Box<dyn Workload + 'a>>,
    pub(crate) stopwatch: Stopwatch,
    pub(crate) control: RunControl<'a>,
    pub(crate) caches: Caches,
    pub(crate) intact: Intact,
}

impl<'a> ArmWorks<'a> {
    pub(crate) fn new(
        plan: &Plan,
        names: &'a [NameSource],
        source: WorkerSource<'a>,
        caches: &Caches,
        (control, stopwatch): (RunControl<'a>, Stopwatch),
    ) -> Result<Self, RunError> {
        let work = |arm: &Arm| workload(plan, arm, &names[arm.data.0 as usize], source);
        let works = plan.arms.iter().map(work).collect::<Result<Vec<_>, _>>();
        let works = works.map_err(|error| RunError::of_arm(&plan.study, error))?;
        Ok(Self { works, stopwatch, control, caches: caches.clone(), intact: Intact::new(plan) })
    }
}

/// Only the part between the two reads of the clock is measured; all else is done before or after.
///
/// ```text
/// data intact -> files counted -> caches prepared -> clock -> run -> clock -> files counted -> teardown
/// ```
///
/// A block that was refused (a full directory, a failed program) is a sample with the reason, not an error:
/// it ends its arm and no other. Its time is at least 1 ns and its operations at least 1, since records
/// without either are rejected. The directory is looked up after the caches are ready, because a remount
/// replaces it.
pub(crate) fn run_block(
    plan: &Plan,
    works: &mut ArmWorks<'_>,
    round_dirs: &mut RoundDirs<'_>,
    block: &Block,
    zero_ns: u64,
) -> Result<Sample, WorkError> {
    let (work, stopwatch) = (&mut works.works[block.arm.0 as usize], &mut works.stopwatch);
    let (control, operations) = (works.control, block.operations);
    let arm = &plan.arms[block.arm.0 as usize];
    let distinct = arm.cache.is_cold();
    let key = BlockKey { phase: block.phase, round: block.round, attempt: block.attempt, distinct, salt: 0 };
    works.intact.make_ready(arm.data, &mut round_dirs.data_dirs)?;
    let change = arm.work.change();
    let files = change.map(|_| files_below(round_dirs.of(block.arm).at(), control)).transpose()?;
    let before = Before { plan, planned: arm, key, operations, control };
    let readied = works.caches.prepare(&mut **work, stopwatch, &before, &mut round_dirs.data_dirs);
    let directory = round_dirs.of(block.arm);
    let work_block = before.block_in(directory);
    stopwatch.clear();
    stopwatch.set_rate(arm.rate_per_s);
    let disk_before = round_dirs.settled_disk(block.arm)?;
    let used = process_usage();
    let start_ns = monotonic_ns();
    let worked = readied.and_then(|()| work.run(&work_block, stopwatch));
    let elapsed_ns = monotonic_ns() - start_ns;
    let taken = work.usage().unwrap_or_else(|| BlockUsage::new(elapsed_ns, process_usage().since(used)));
    let disk = round_dirs.disk_work(block.arm, disk_before).map(Box::new);
    let off = |change| files.map_or(Ok(0), |files| files_off(files, change, directory.at(), control));
    let (counted, refused) = match worked {
        // A wrong number marks the block's work as unequal.
        Ok(counted) => {
            let hash = counted.hash.saturating_add(off(change.unwrap_or(0))?);
            (Counted { hash, ..counted }, None)
        }
        // Even a block that failed has changed the number of files; that is what it did.
        Err(WorkError::Refused(refused)) => {
            (Counted { entries: off(0)?, ..Counted::default() }, Some(refused))
        }
        Err(WorkError::Program(cause)) => (Counted::default(), Some(Refused { entries: 0, cause })),
        Err(error) => return Err(error),
    };
    work.teardown(&work_block)?;
    works.intact.after_block(arm);
    let done = if refused.is_some() { counted.entries.max(1) } else { operations };
    Ok(Sample {
        epoch: 0,
        round: block.round,
        attempt: block.attempt,
        place: block.place,
        arm: block.arm,
        phase: block.phase,
        start_ns: start_ns.wrapping_sub(zero_ns),
        operations: done,
        elapsed_ns: taken.elapsed_ns.max(u64::from(refused.is_some())),
        user_ns: taken.usage.user_ns,
        system_ns: taken.usage.system_ns,
        read_bytes: taken.usage.read_bytes,
        peak_bytes: taken.peak_bytes,
        counted,
        ranks: taken.ranks.map(Box::new),
        // Warm-up is not evaluated, and its histogram can be longer than the rest.
        latency: stopwatch
            .latency()
            .filter(|_| block.phase == Phase::Measure && refused.is_none())
            .map(Box::new),
        disk,
        voided: None,
        refused: refused.map(Box::new),
    })
}

/// Difference of the number of files from `before + change`.
fn files_off(
    before: u64,
    change: i64,
    directory: Borrowed<'_>,
    control: RunControl<'_>,
) -> Result<u64, WorkError> {
    Ok(files_below(directory, control)?.abs_diff(before.saturating_add_signed(change)))
}

/// Files in a tree, without its directories: arms may create directories on demand, and these are not their
/// result.
fn files_below(directory: Borrowed<'_>, control: RunControl<'_>) -> Result<u64, WorkError> {
    let mut files = 0;
    each_below(directory, 0, ("counting files", control), &mut |_, _, kind| {
        let is_directory = kind == FileType::Directory;
        files += u64::from(!is_directory);
        Ok(is_directory)
    })?;
    Ok(files)
}

#[cfg(test)]
mod tests_of_entry_count {
    use crate::run::block::*;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    #[test]
    fn files_that_are_missing_or_too_many_show() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        let make = |names: &[&str]| names.iter().for_each(|name| std::fs::write(at(name), "").unwrap());
        make(&["1", "a/2", "a/b/3"]);
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        let directory = crate::os::open_directory(parent.path()).unwrap();
        let before = files_below(directory.at(), control).unwrap();
        assert_eq!(before, 3);
        let off = |change| files_off(before, change, directory.at(), control).unwrap();
        assert_eq!((off(0), off(2)), (0, 2));
        make(&["4", "a/b/5"]);
        assert_eq!((off(2), off(3), off(0)), (0, 1, 2));
        std::fs::remove_file(at("1")).unwrap();
        assert_eq!((off(1), off(2), off(-1)), (0, 1, 2));
    }
}
