//! Every program once before the run, untimed: does it work, does it do the same as its task's reference, and
//! does it leave the data set alone?
//!
//! The reference of a task is its first arm on the data set. Every later block must have its result. An arm
//! that fails here is left out with the reason; so are all arms of a task whose reference fails.
//!
//! ```text
//!  task = (data set, `task` of the study)      arms 0 (reference), 1, 2 ...
//!  look -> run once -> look -> changed?  -> result = reference's?  -> expected output in the plan
//!                               |             |
//!                               |             +-- no: run both again, find a line that only one prints
//!                               +-- yes, though not allowed: refused, data set made again
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::Path;

use megadir::sizes;
use megadir_record::axes::grouped;
use megadir_record::{Arm, ArmId, CommandWork, DataId, ExpectedOutput, Note, Work};

use super::{Prepared, RunError};
use crate::control::{RunControl, WorkError};
use crate::kind::{Program, printed_otherwise};
use crate::note::NoteKind;
use crate::os::{self, At};
use crate::run::data_dirs::DataDirs;
use crate::run::data_sets::tree_usage;
use crate::run::intact::{changed, look, remake};

/// An odd number, so that the median is a measured time.
const SHELL_STARTS: usize = 21;

/// Runs every program, except arms of `unusable`, and writes the expected results into the plan. Returns the impossible arms.
pub(crate) fn try_programs(
    prepared: &mut Prepared<'_>,
    unusable: &[(ArmId, String)],
) -> Result<Vec<(ArmId, String)>, RunError> {
    let mut tasks: BTreeMap<(DataId, String), Vec<ArmId>> = BTreeMap::new();
    for arm in &prepared.plan.arms {
        if let Work::Command(work) = &arm.work
            && unusable.iter().all(|(id, _)| *id != arm.id)
        {
            tasks.entry((arm.data, work.task.clone())).or_default().push(arm.id);
        }
    }
    let mut refused = Vec::new();
    for ((data, _), arms) in tasks {
        refused.extend(one_task(prepared, data, &arms)?);
    }
    if let Some(note) = containers(prepared, &refused)? {
        prepared.notes.push(note);
    }
    if let Some(note) = shell_start(prepared)? {
        prepared.notes.push(note);
    }
    Ok(refused)
}

/// The first arm gives the result that all others must have. Arms with the same command line are tried once:
/// twins in other cache states, and the control. Without a reference no arm of the task can be compared, so
/// all of them are refused with the reason of the first.
fn one_task(
    prepared: &mut Prepared<'_>,
    data: DataId,
    arms: &[ArmId],
) -> Result<Vec<(ArmId, String)>, RunError> {
    let mut refused: Vec<(ArmId, String)> = Vec::new();
    let (mut expected, mut without_reference) = (None, None);
    let line = |id: &ArmId| {
        let work = command(&prepared.plan.arms[id.0 as usize])?;
        // Cold twins read fewer files of the same container.
        let reading = work.reading.as_ref().map(|of| (of.container, of.operation, of.layout.clone()));
        Some((work.line.clone(), reading))
    };
    let lines: Vec<_> = arms.iter().map(line).collect();
    for (place, id) in arms.iter().enumerate() {
        // Twins in other cache states, and the baseline against itself.
        if let Some(same) = lines[..place].iter().position(|line| *line == lines[place]) {
            let reason =
                refused.iter().find(|(other, _)| *other == arms[same]).map(|(_, reason)| reason.clone());
            refused.extend(reason.map(|reason| (*id, reason)));
            continue;
        }
        let result = match &without_reference {
            None => one_arm(prepared, data, *id, (arms[0], expected)),
            Some(reason) => Err(WorkError::Program(String::clone(reason))),
        };
        let name = || prepared.plan.arms[id.0 as usize].name.clone();
        match result {
            Ok(found) => {
                expected.get_or_insert(found);
            }
            Err(WorkError::Program(reason)) => {
                if place == 0 {
                    let message = format!("the baseline `{}` failed: {reason}", name());
                    without_reference = Some(message);
                }
                refused.push((*id, reason));
            }
            Err(error) => return Err(RunError::of_arm(name(), error)),
        }
    }
    for id in arms {
        if let Work::Command(work) = &mut prepared.plan.arms[id.0 as usize].work {
            work.expected = expected;
        }
    }
    Ok(refused)
}

fn command(arm: &Arm) -> Option<&CommandWork> {
    match &arm.work {
        Work::Command(work) => Some(work),
        _ => None,
    }
}

/// The data set is examined before and after the program, and made again if it was changed and may be. If the
/// result differs, the reference and the program run once more to find a line that only one of them prints: a
/// reason that the user can act on. If they agree then, the output is not stable.
fn one_arm(
    prepared: &mut Prepared<'_>,
    data: DataId,
    id: ArmId,
    (reference, expected): (ArmId, Option<ExpectedOutput>),
) -> Result<ExpectedOutput, WorkError> {
    let Prepared { plan, data: directories, control, volumes, worker, .. } = prepared;
    let (control, worker) = (*control, worker.as_ref());
    let dirs = &mut DataDirs { plan, volumes, directories, control };
    let program = |id: ArmId| {
        let arm = &dirs.plan.arms[id.0 as usize];
        command(arm).map(|work| Program::of(dirs.plan, arm, work, worker))
    };
    let none = || WorkError::Program("it is not a program".into());
    let mut own = program(id).ok_or_else(none)?;
    let mut of_reference = program(reference).ok_or_else(none)?;
    let changes = dirs.plan.arms[id.0 as usize].work.is_changing_command();
    let before = look(data, dirs)?;
    let tried = own.try_once(&dirs.directories[data.0 as usize], control);
    let change = changed(before, data, dirs)?;
    let made = dirs.plan.data[data.0 as usize].source.made().is_some();
    if change.is_some() && made {
        remake(data, dirs)?;
    }
    let counted = tried?;
    match change {
        Some(change) if !changes && made => {
            return Err(WorkError::Program(format!(
                "it changes the data set ({change}); if that is intended, add --changes (changes = true), \
                 and the data is recreated before each run"
            )));
        }
        Some(change) if !changes => {
            let message = format!("`{}` changed the directory: {change}", dirs.plan.arms[id.0 as usize].name);
            return Err(WorkError::other("the trial", message));
        }
        _ => {}
    }
    let found = ExpectedOutput { lines: counted.entries, hash: counted.hash };
    if expected.is_none_or(|expected| expected == found) {
        return Ok(found);
    }
    if changes {
        let (left, others) = (found.lines, expected.map_or(0, |expected| expected.lines));
        return Err(WorkError::Program(format!(
            "its work is unequal: it does not leave the expected files and directories ({left} left, {others} expected)"
        )));
    }
    if own.reads() {
        return Err(WorkError::Program(format!(
            "its work is unequal: {} files, {} expected, or other names, sizes or contents",
            found.lines,
            expected.map_or(0, |expected| expected.lines)
        )));
    }
    let directory = &dirs.directories[data.0 as usize];
    let name = |id: ArmId| dirs.plan.arms[id.0 as usize].name.as_str();
    let (of_baseline, of_arm) = ((&mut of_reference, name(reference)), (&mut own, name(id)));
    let why = printed_otherwise(of_baseline, of_arm, directory, control)?;
    let why = why.unwrap_or_else(|| "its output differs from run to run".into());
    Err(WorkError::Program(format!("its work is unequal: {why}")))
}

/// Space of each container, once for all arms that read from it.
fn containers(prepared: &Prepared<'_>, refused: &[(ArmId, String)]) -> Result<Option<Note>, RunError> {
    let (mut known, mut texts) = (BTreeSet::new(), Vec::new());
    for arm in &prepared.plan.arms {
        let Some(work) = command(arm).filter(|work| work.reading.is_some()) else { continue };
        let is_refused = refused.iter().any(|(id, _)| *id == arm.id);
        if is_refused || !known.insert((arm.data, work.line.clone())) {
            continue;
        }
        let program = Program::of(&prepared.plan, arm, work, prepared.worker.as_ref());
        let directory = &prepared.data[arm.data.0 as usize];
        let path = program.container_path(directory, prepared.control);
        let used = path.and_then(|path| match path {
            Some(path) => space_of(&path, prepared.control),
            None => Ok(None),
        });
        if let Some((inodes, bytes)) = used.map_err(|error| RunError::of_arm(&arm.name, error))? {
            let method = arm.axes.method.as_deref().unwrap_or(&arm.name);
            let mut on = arm.axes.file_system.as_ref().map_or_else(String::new, |name| format!(" on {name}"));
            on.extend(arm.axes.entries.map(|entries| format!(" of {}", grouped(entries))));
            let plural = if inodes == 1 { "inode" } else { "inodes" };
            texts.push(format!("{method}{on} {} in {} {plural}", sizes::text(bytes), grouped(inodes)));
        }
    }
    let text = format!("space: {}", texts.join("; "));
    Ok((!texts.is_empty()).then(|| NoteKind::Containers.note(text)))
}

/// Inodes and bytes, allocated to directories of files; of one file its length. `None` for a container that was not made, because nothing here could read it.
fn space_of(container: &Path, control: RunControl<'_>) -> Result<Option<(u64, u64)>, WorkError> {
    let failed = WorkError::at("measuring a container");
    match os::open_directory(container) {
        Ok(opened) => {
            let used = tree_usage(opened.at(), control)?.used;
            Ok(Some((used.inodes, used.bytes)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            let file = File::open(container).map_err(failed)?;
            os::use_of(&file).map(|(status, _)| Some((1, status.size_bytes))).map_err(failed)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Programs run through the shell include the start of the shell. Its time is measured by an empty command
/// under the same conditions and noted, not subtracted: a difference of two noisy times would look more exact
/// than it is.
fn shell_start(prepared: &Prepared<'_>) -> Result<Option<Note>, RunError> {
    use crate::kind::{BlockKey, WorkBlock, Workload};
    use crate::measure::{Calibration, Stopwatch};
    let arms = || prepared.plan.arms.iter().filter_map(|arm| Some((arm, command(arm)?)));
    let Some((arm, work)) = arms().find(|(_, work)| work.shell && work.reading.is_none()) else {
        return Ok(None);
    };
    let nothing = CommandWork {
        line: ":".into(),
        output: megadir_record::OutputTo::Null,
        same: megadir_record::SameWork::ExitCode,
        prepare: None,
        exit_code: 0,
        reading: None,
        ..work.clone()
    };
    let mut shell = Program::of(&prepared.plan, arm, &nothing, prepared.worker.as_ref());
    let directory = &prepared.data[arm.data.0 as usize];
    let block = WorkBlock { directory, key: BlockKey::FIRST, operations: 1, control: prepared.control };
    let mut stopwatch = Stopwatch::new(Calibration { ns_per_tick: None });
    let mut times_ns = Vec::new();
    for _ in 0..SHELL_STARTS {
        match shell.run(&block, &mut stopwatch) {
            Ok(_) => times_ns.extend(shell.usage().map(|taken| taken.elapsed_ns as f64)),
            Err(WorkError::Stopped) => return Err(RunError::Interrupted),
            Err(_) => return Ok(None),
        }
    }
    Ok(megadir_stats::median(&times_ns).map(|median| {
        NoteKind::ShellStart.note(format!(
            "/bin/sh interprets the command lines; its start alone takes {:.2} ms (median of {}), which is part of every time",
            median / 1e6,
            times_ns.len()
        ))
    }))
}
