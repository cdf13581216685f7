//! A run from start to end: setup, rounds, removal, and the clock check before and after.

use std::sync::atomic::Ordering;
use std::time::Duration;

use megadir::Dir;
use megadir_record::{
    End, Epoch, FORMAT_VERSION, Header, LabFileSystem, Line, Note, Place, Plan, Record, Resumed, Sample,
    SelfCheck,
};
use megadir_sys::clock::monotonic_ns;

use crate::control::WorkError;
use crate::event::{Event, Listener};
use crate::kind::RankWorkers;
use crate::measure::{Calibration, Stopwatch, self_check};
use crate::note::NoteKind;
use crate::os::At;
use crate::run::resume::{check_machine, check_ranks, check_same};
use crate::run::rounds::measure;
use crate::run::setup::{prepare, rebuild_for_epoch};
use crate::run::{Listeners, Prepared, RunEnd, RunError, RunRequest};
use crate::schedule::epochs;
use crate::workspace::since_1970;
use crate::{host, os};

/// Free space without which images cannot grow, bytes.
const IMAGES_FREE_MIN: u64 = 1 << 20;

/// On an error the run's own directory is still removed, and a started record gets its last line.
pub fn run(mut request: RunRequest<'_>, listeners: &mut [&mut dyn Listener]) -> Result<RunEnd, RunError> {
    let start_ns = monotonic_ns();
    let mut listeners = Listeners(listeners);
    let begun = request.resume.take();
    let whole = request.plan.clone();
    let epoch = begun.as_ref().map_or(0, |record| epochs::current(&whole, &record.samples));
    request.plan = epochs::plan_of(&whole, epoch);
    if let Some(begun) = &begun
        && let Ok(directory) = Dir::open(&request.directory)
    {
        check_machine(begun, &host::describe(directory.at(), &request.program))?;
        check_ranks(begun, request.ranks.map(RankWorkers::facts))?;
    }
    let mut prepared = prepare(request, &mut listeners)?;
    prepared.epoch = epoch;
    let result = prepared.record_expected().and_then(|()| {
        let whole = Plan { seed: whole.seed, rules: whole.rules, ..prepared.plan.clone() };
        match begun {
            Some(begun) => go_on(&mut prepared, &whole, &begun, start_ns, &mut listeners),
            None => begin(&mut prepared, &whole, start_ns, &mut listeners),
        }
    });
    let cleaned = prepared.clean(&mut listeners);
    match result {
        Ok(measured) => cleaned.map(|()| measured),
        Err(error) => Err(error.and_cleaned(cleaned)),
    }
}

fn begin(
    prepared: &mut Prepared<'_>,
    whole: &Plan,
    start_ns: u64,
    listeners: &mut Listeners<'_, '_>,
) -> Result<RunEnd, RunError> {
    let machine = host::describe(prepared.directory.at(), &prepared.program);
    prepared.notes.extend(host::probe(&machine));
    let since_s = (monotonic_ns() - start_ns) / 1_000_000_000;
    let header = Header {
        version: FORMAT_VERSION,
        started_unix_s: since_1970().as_secs() - since_s,
        command: prepared.command.clone(),
        directory: Some(host::whole_path(prepared.directory.path()).to_string_lossy().into_owned()),
        plan: whole.clone(),
        machine,
        file_systems: prepared.volumes.describe(),
        ranks: prepared.ranks.map(|ranks| ranks.facts().clone()),
    };
    listeners.record(&Line::Header(Box::new(header)))?;
    if let Some(built) = prepared.built.take() {
        listeners.record(&Line::Built(built))?;
    }
    record(prepared, whole, Vec::new(), start_ns, listeners)
}

fn go_on(
    prepared: &mut Prepared<'_>,
    whole: &Plan,
    begun: &Record,
    start_ns: u64,
    listeners: &mut Listeners<'_, '_>,
) -> Result<RunEnd, RunError> {
    let machine = host::describe(prepared.directory.at(), &prepared.program);
    check_same(prepared, begun, &machine)?;
    prepared.notes.extend(host::probe(&machine));
    let resumed = Resumed {
        resumed_unix_s: since_1970().as_secs(),
        version: machine.version,
        pressure: machine.pressure,
    };
    listeners.record(&Line::Resumed(resumed))?;
    if prepared.epoch > 0 {
        listeners.record(&epoch_of(prepared))?;
    }
    // Block times continue the record's clock, without the pause between the two processes.
    let before_ns = begun.samples.last().map_or(0, |sample| sample.start_ns + sample.elapsed_ns);
    let samples = epochs::of(&begun.samples, prepared.epoch).to_vec();
    record(prepared, whole, samples, start_ns.wrapping_sub(before_ns), listeners)
}

/// `samples` are those already measured in the prepared epoch.
fn all_epochs(
    prepared: &mut Prepared<'_>,
    whole: &Plan,
    mut samples: Vec<Sample>,
    zero_ns: u64,
    stopwatch: &dyn Fn() -> Stopwatch,
    listeners: &mut Listeners<'_, '_>,
) -> Result<RunEnd, RunError> {
    let mut unequal_blocks = 0;
    let mut all = || -> Result<(), RunError> {
        loop {
            let taken = std::mem::take(&mut samples);
            measure(prepared, taken, zero_ns, stopwatch(), &mut unequal_blocks, listeners)?;
            let epoch = prepared.epoch + 1;
            if epoch >= whole.rules.epochs {
                return Ok(());
            }
            listeners.tell(&Event::EpochEnds)?;
            rebuild_for_epoch(prepared, epochs::plan_of(whole, epoch), listeners)?;
            prepared.epoch = epoch;
            listeners.record(&epoch_of(prepared))?;
        }
    };
    let complete = match all() {
        Ok(()) => true,
        Err(RunError::Interrupted) => false,
        Err(error) => return Err(error),
    };
    let interrupted = !complete && prepared.control.stop.load(Ordering::Relaxed);
    Ok(RunEnd { complete, interrupted, unequal_blocks })
}

fn epoch_of(prepared: &Prepared<'_>) -> Line {
    let hashes = prepared.plan.data.iter().map(|data| data.hash).collect();
    Line::Epoch(Epoch { epoch: prepared.epoch, seed: prepared.plan.seed, hashes })
}

fn record(
    prepared: &mut Prepared<'_>,
    whole: &Plan,
    samples: Vec<Sample>,
    zero_ns: u64,
    listeners: &mut Listeners<'_, '_>,
) -> Result<RunEnd, RunError> {
    let mut notes = std::mem::take(&mut prepared.notes);
    // Cycle counters of different hosts have different ticks.
    let calibration =
        prepared.ranks.map_or_else(|| Calibration::over(CALIBRATION), |_| Calibration { ns_per_tick: None });
    let ask = |_| match os::ask_itself(prepared.directory.at()) {
        Ok(()) => Ok(1),
        Err(source) => Err(WorkError::Stage { stage: "querying the directory's attributes", source }),
    };
    let checked = match self_check(calibration, ask, || Ok(prepared.control.check()?), prepared.plan.seed) {
        Ok(check) => {
            let by_choice =
                |note: &Note| prepared.ranks.is_some() && note.kind == NoteKind::NoCycleCounter.name();
            notes.extend(notes_on(&check).into_iter().filter(|note| !by_choice(note)));
            let null_loop_ns = check.null_loop_ns;
            listeners.record(&Line::SelfCheck(check))?;
            Ok(Some(null_loop_ns))
        }
        Err(WorkError::Stopped) => Ok(None),
        Err(error) => Err(RunError::of_arm("the run's self-check", error)),
    };
    notes.into_iter().try_for_each(|note| listeners.note(note))?;
    let null_loop_ns = *checked.as_ref().unwrap_or(&None);
    let stopwatch = || Stopwatch::new(calibration);
    let measured = checked.and_then(|_| all_epochs(prepared, whole, samples, zero_ns, &stopwatch, listeners));
    let measured = measured.map_err(|error| of_images(prepared, error));
    let told = drift_since(&calibration).map_or(Ok(()), |note| listeners.note(note));
    let of_ranks = prepared.ranks.map(|ranks| NoteKind::Ranks.note(ranks.summary()));
    let told = told.and(of_ranks.map_or(Ok(()), |note| listeners.note(note)));
    let (complete, reason) = match &measured {
        Ok(measured) if measured.complete => (true, None),
        Ok(_) => (false, Some("interrupted".to_owned())),
        Err(error) => (false, Some(error.to_string())),
    };
    let end = End {
        complete,
        reason,
        elapsed_ns: monotonic_ns().wrapping_sub(zero_ns),
        pressure: host::pressure(),
        null_loop_ns,
    };
    let told = told.and(listeners.record(&Line::End(end)));
    let measured = measured?;
    told?;
    Ok(measured)
}

/// File systems on images without space to grow only report `EIO`.
fn of_images(prepared: &Prepared<'_>, error: RunError) -> RunError {
    let on_image = |of: &LabFileSystem| matches!(of.place, Place::Image { .. });
    let full = prepared.plan.file_systems.iter().any(on_image)
        && os::space(prepared.directory.at()).is_ok_and(|space| space.free_bytes < IMAGES_FREE_MIN);
    match full {
        true => RunError::ImagesFull { path: prepared.directory.path().to_owned(), error: Box::new(error) },
        false => error,
    }
}

const CALIBRATION: Duration = Duration::from_millis(20);
/// Relative change of the tick length between two calibrations.
const DRIFT_MAX: f64 = 0.001;
const NULL_NS_MAX: f64 = 40.0;

fn drift_since(before: &Calibration) -> Option<Note> {
    let drift = Calibration::over(CALIBRATION).drift_since(before);
    (drift.abs() > DRIFT_MAX).then(|| {
        NoteKind::ClockDrift.note(format!(
            "a tick of the cycle counter was {:.2} % {} after the run than before it",
            100.0 * drift.abs(),
            if drift > 0.0 { "longer" } else { "shorter" },
        ))
    })
}

fn notes_on(check: &SelfCheck) -> Vec<Note> {
    let mut notes = Vec::new();
    if !check.cycle_counter {
        let text = "the cycle counter is not invariant, or the kernel does not use it as its clock; the monotonic clock was used";
        notes.push(NoteKind::NoCycleCounter.note(text.into()));
    }
    if check.null_loop_ns > NULL_NS_MAX {
        let cost = check.null_loop_ns;
        let build =
            if cfg!(debug_assertions) { ", because this program was built without optimization" } else { "" };
        let text = format!("the empty measurement loop costs {cost:.0} ns per operation{build}");
        notes.push(NoteKind::SlowLoop.note(text));
    }
    notes
}
