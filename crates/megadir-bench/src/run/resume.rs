//! Continues a record: checks that machine, file systems and data are the same, then restores the state for
//! the next block, untimed and unrecorded. Arms that use files of earlier arms repeat this round's blocks in
//! order; all others run one block, so that caches are as warm as after a round.
//!
//! ```text
//!  record --samples--> next -> the block to continue with
//!    |                           |
//!    |                           +-- arms depend on each other:  replay places 0 .. place of this round
//!    |                           +-- arms are independent:       replay one block of every arm
//!    |                           +-- no warm-up in the rules:    nothing
//!    +--header--> check_machine, check_ranks (before setup) -> check_same (after setup)
//! ```
//!
//! A resumed run must be a run that paused, not two runs in one file. A difference that could change times
//! (kernel, processor, driver, mount options, the files themselves) refuses; versions of megadir are
//! recorded, not compared.

use megadir_record::{
    Arm, ArmId, Data, FileSystem, Header, LabDisk, LabFileSystem, LabMount, Machine, Place, Plan, Ranks,
    Record, Sample,
};

use super::block::ArmWorks;
use super::{Prepared, RunError, amount};
use crate::control::WorkError;
use crate::kind::{BlockKey, WorkBlock};
use crate::run::data_dirs::RoundDirs;
use crate::schedule::{Block, Step, next, order_after};

/// Restores the state before the next block. Blocks whose results are in the record are carried out again,
/// but neither timed nor recorded.
pub(crate) fn replay(
    plan: &Plan,
    samples: &[Sample],
    works: &mut ArmWorks<'_>,
    round_dirs: &mut RoundDirs<'_>,
) -> Result<(), RunError> {
    let Step::Block(block) = next(plan, samples) else { return Ok(()) };
    if samples.is_empty() {
        return Ok(());
    }
    let order = order_after(plan, samples, (block.phase, block.round, block.attempt));
    let (depends, rehearses) = (plan.rules.order.depends(), plan.rules.warm_up_rounds_min > 0);
    let until = match (depends, rehearses) {
        (true, _) => block.place as usize,
        (false, true) => order.len(),
        (false, false) => 0,
    };
    for place in 0..until {
        round_dirs.enter(&order, place)?;
        replay_block(plan, &block, order[place], samples, works, round_dirs)?;
        round_dirs.leave(&order, place)?;
    }
    Ok(())
}

/// Repeats the effect of a block and not its measurement: the stopwatch is cleared before the next one. The
/// number of operations comes from the last sample, if the plan has none. Arms that were refused are not
/// repeated, since they have ended. A program that fails now changes nothing about the other arms, so its
/// error is dropped.
fn replay_block(
    plan: &Plan,
    block: &Block,
    arm: ArmId,
    samples: &[Sample],
    works: &mut ArmWorks<'_>,
    round_dirs: &mut RoundDirs<'_>,
) -> Result<(), RunError> {
    let of_plan = &plan.arms[arm.0 as usize];
    let refused = samples.iter().any(|sample| sample.arm == arm && sample.refused.is_some());
    // A cold block has no cache to warm, and no later block uses the files that it changed.
    if of_plan.cache.is_cold() || refused {
        return Ok(());
    }
    let last = samples.iter().rfind(|sample| sample.arm == arm);
    let operations = of_plan.work.operations();
    let operations = operations.or(last.map(|sample| sample.operations)).unwrap_or(1);
    let key =
        BlockKey { phase: block.phase, round: block.round, attempt: block.attempt, distinct: false, salt: 0 };
    let failed = |error| RunError::of_arm(&of_plan.name, error);
    works.intact.make_ready(of_plan.data, &mut round_dirs.data_dirs).map_err(failed)?;
    let work = &mut works.works[arm.0 as usize];
    let block = WorkBlock { directory: round_dirs.of(arm), key, operations, control: works.control };
    works.stopwatch.clear();
    let done = work
        .setup(&block)
        .and_then(|()| work.run(&block, &mut works.stopwatch))
        .and_then(|_| work.teardown(&block));
    works.intact.after_block(of_plan);
    match done {
        Ok(()) | Err(WorkError::Program(_)) => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

/// The facts that are known without any data: this check comes before hours of setup.
pub(super) fn check_machine(begun: &Record, machine: &Machine) -> Result<(), RunError> {
    let before = &begun.header.machine;
    let facts = [
        ("kernel", Some(&before.kernel), Some(&machine.kernel)),
        ("processor", before.processor.as_ref(), machine.processor.as_ref()),
        ("file system", Some(&before.file_system.kind), Some(&machine.file_system.kind)),
    ];
    for (fact, then, now) in facts {
        if then != now {
            let name = |value: Option<&String>| value.map_or("unknown", |name| name.as_str()).to_owned();
            let reason = format!("the {fact} was '{}' and is now '{}'", name(then), name(now));
            return Err(RunError::Resume { reason });
        }
    }
    Ok(())
}

/// In records for sharing, hosts have no names.
pub(super) fn check_ranks(begun: &Record, now: Option<&Ranks>) -> Result<(), RunError> {
    let of = |ranks: Option<&Ranks>| ranks.map_or_else(|| "none".to_owned(), Ranks::words);
    let (then, now) = (of(begun.header.ranks.as_ref()), of(now));
    if then == now {
        return Ok(());
    }
    let hint = "use the same launcher, number of processes, hosts and --shift, with --engine mpi";
    Err(RunError::Resume { reason: format!("the ranks were {then}, and are now {now}; {hint}") })
}

/// The first difference is the message, from the most general to the most special: machine, file systems,
/// arms, data. Samples of different circumstances must not become one record, because every test assumes that
/// rounds differ by chance alone. The hash of a data set belongs to the epoch, which has names of its own.
pub(super) fn check_same(prepared: &Prepared<'_>, begun: &Record, machine: &Machine) -> Result<(), RunError> {
    check_machine(begun, machine)?;
    let differs = |reason: String| Err(RunError::Resume { reason });
    let before = &begun.header.machine;
    let shared = begun.header.directory.is_none();
    let elsewhere = another_file_system(&before.file_system, &machine.file_system, shared);
    if let Some(reason) = elsewhere.or_else(|| other_file_systems(&begun.header, prepared)) {
        return differs(reason);
    }
    let (then, now) = (&begun.header.plan, &prepared.plan);
    if then.arms.len() != now.arms.len() {
        return differs("an arm of its plan is no longer available".into());
    }
    let finds = |arm: &Arm| arm.work.expected(0, 0);
    if !then.arms.iter().map(finds).eq(now.arms.iter().map(finds)) {
        return differs("sizes or times of the files have changed".into());
    }
    let later = begun.epochs.iter().rfind(|later| later.epoch == prepared.epoch);
    let hash = |place: usize| match (prepared.epoch, later) {
        (0, _) => then.data[place].hash,
        (_, later) => later.and_then(|later| *later.hashes.get(place)?),
    };
    let changed =
        |(place, (_, now)): &(usize, (&Data, &Data))| hash(*place).is_some_and(|hash| Some(hash) != now.hash);
    match then.data.iter().zip(&now.data).enumerate().find(changed).map(|(_, pair)| pair) {
        Some((then, now)) => differs(format!(
            "the directory's entries have changed ({} before, {} now)",
            then.entries, now.entries
        )),
        None => Ok(()),
    }
}

fn image(place: &Place) -> String {
    match place {
        Place::Image { direct_io: Some(true), .. } => "accessed with direct I/O".into(),
        Place::Image { .. } => "accessed through the page cache".into(),
        Place::Device { .. } | Place::Memory { .. } | Place::Directory { .. } => String::new(),
    }
}

fn disk(of: &LabFileSystem) -> String {
    let compression = |disk: &LabDisk| disk.compression.clone().unwrap_or_else(|| "not compressed".into());
    of.disk.as_ref().map_or_else(String::new, |disk| format!("{}, {}", disk.name, compression(disk)))
}

/// Made file systems are compared by how they would be made now: program, driver, image and the features that
/// formatting gave them. Directories of the user are compared by their mounts, with the shared ones apart,
/// whose device numbers differ between hosts.
fn other_file_systems(then: &Header, prepared: &Prepared<'_>) -> Option<String> {
    if then.plan.unavailable.len() < prepared.plan.unavailable.len() {
        let missing = prepared.plan.unavailable.last()?;
        return Some(format!("{} is no longer available: {}", missing.name, missing.reason));
    }
    for (then, now) in then.plan.file_systems.iter().zip(&prepared.plan.file_systems) {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "nothing".into());
        let facts = [
            ("program", known(&then.tool), known(&now.tool)),
            ("driver", then.driver.clone(), now.driver.clone()),
            ("image", image(&then.place), image(&now.place)),
            ("disk", disk(then), disk(now)),
        ];
        if let Some((fact, then_is, now_is)) = facts.into_iter().find(|(_, then, now)| then != now) {
            let name = &then.name;
            return Some(format!("the {fact} of {name} was '{then_is}' and is now '{now_is}'"));
        }
    }
    let now = prepared.volumes.describe();
    let mounts = || then.file_systems.iter().zip(&now).filter(|_| then.plan.compares_directories());
    let shared = then.directory.is_none();
    let another = mounts().find_map(|(then, now)| {
        another_file_system(&then.file_system, &now.file_system, shared).map(|reason| (then.on, reason))
    });
    if let Some((on, reason)) = another {
        let label = then.plan.file_system(on).map_or("?", |of| of.label.as_str());
        return Some(format!("{label}: {reason}"));
    }
    let features = |mount: &LabMount| mount.file_system.features.clone();
    let are_equal = then.file_systems.iter().map(features).eq(now.iter().map(features));
    (!are_equal).then(|| "file systems are now created with other features".to_owned())
}

/// Difference between two descriptions of a mounted directory: device, mount options, size. Options are not
/// compared with a record that was made for sharing, which keeps only the harmless ones.
fn another_file_system(then: &FileSystem, now: &FileSystem, shared: bool) -> Option<String> {
    let device = then.device.as_ref().zip(now.device.as_ref());
    let options = then.mount_options.as_ref().zip(now.mount_options.as_ref()).filter(|_| !shared);
    for (fact, both) in [("file system's device was", device), ("mount options were", options)] {
        if let Some((then, now)) = both.filter(|(then, now)| then != now) {
            return Some(format!("its {fact} '{then}', now '{now}'; name the same place with --dir"));
        }
    }
    let bytes = |of: &FileSystem| Some(of.block_bytes?.saturating_mul(of.blocks?.0));
    let (then, now) = bytes(then).zip(bytes(now))?;
    // On some file systems sizes vary with a shared pool (ZFS) or reserved space.
    let apart = then.abs_diff(now) > then.max(now) / 100;
    let [then, now] = [then, now].map(|bytes| amount("space", bytes));
    apart.then(|| format!("its file system had {then} and now has {now}; name the same place with --dir"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::host;
    use crate::os::{self, At};

    #[test]
    fn disks_are_distinguished_by_name_options_or_size() {
        let here = host::file_system(os::open_directory(Path::new(".")).unwrap().at());
        let then = FileSystem {
            device: Some("/dev/vda".into()),
            mount_options: Some("rw,noatime".into()),
            block_bytes: Some(4096),
            blocks: Some((1 << 20, 5)),
            ..here
        };
        let difference =
            |now: &FileSystem, shared| another_file_system(&then, now, shared).unwrap_or_default();
        let less_free = FileSystem { blocks: Some((1 << 20, 1)), ..then.clone() };
        assert_eq!(difference(&less_free, false), "");
        let device = FileSystem { device: Some("/dev/vdb".into()), ..then.clone() };
        assert!(difference(&device, false).contains("device was '/dev/vda', now '/dev/vdb'"));
        assert_eq!(difference(&FileSystem { device: None, ..then.clone() }, false), "");
        let options = FileSystem { mount_options: Some("rw".into()), ..then.clone() };
        assert!(difference(&options, false).contains("mount options were 'rw,noatime', now 'rw'"));
        assert_eq!(difference(&options, true), "");
        let larger = FileSystem { blocks: Some((1 << 21, 5)), ..then.clone() };
        assert!(difference(&larger, true).contains("had 4.0 GiB and now has 8.0 GiB"));
        assert_eq!(difference(&FileSystem { blocks: None, ..then.clone() }, true), "");
    }
}
