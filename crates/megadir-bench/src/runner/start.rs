//! A run from start to end: the frame around preparing, measuring and cleaning.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use megadir_record::{End, FORMAT_VERSION, Header, Machine, Note, Plan, Record, Resumed, Sample};
use megadir_sys::clock::monotonic_ns;

use super::prepare::{Prepared, prepare};
use super::rounds::{Measured, measure};
use super::timing;
use super::truth::settle;
use super::{RunEnd, RunError, RunRequest};
use crate::event::{Event, Listener};
use crate::machine;
use crate::measure::Stopwatch;
use crate::noise;
use crate::workload::ListError;

/// Those who listen to a run.
pub(super) struct Listeners<'a, 'b>(pub(super) &'a mut [&'b mut dyn Listener]);

impl Listeners<'_, '_> {
    /// Tells all of an event.
    pub(super) fn tell(&mut self, event: &Event<'_>) -> Result<(), RunError> {
        self.0.iter_mut().try_for_each(|listener| listener.event(event)).map_err(RunError::Listener)
    }

    pub(super) fn note(&mut self, note: &Note) -> Result<(), RunError> {
        self.tell(&Event::Noted(note))
    }
}

/// Carries a plan out.
///
/// # Errors
///
/// [`RunError`]; the run's own directory is removed all the same, and a record that was started is ended.
pub fn run(request: RunRequest<'_>, listeners: &mut [&mut dyn Listener]) -> Result<RunEnd, RunError> {
    let start_ns = monotonic_ns();
    let mut listeners = Listeners(listeners);
    let (stop, beat) = (request.stop, request.beat);
    let mut request = request;
    let begun = request.resume.take();
    let mut prepared = prepare(request, &mut listeners)?;
    let result = settle(&mut prepared).and_then(|()| match begun {
        Some(begun) => go_on(&mut prepared, begun, start_ns, &mut listeners),
        None => begin(&mut prepared, start_ns, &mut listeners),
    });
    let cleaned = prepared.clean(beat, &mut listeners);
    let measured = result?;
    cleaned?;
    Ok(RunEnd {
        complete: measured.complete,
        interrupted: !measured.complete && stop.load(Ordering::Relaxed),
        unequal_blocks: measured.unequal_blocks,
    })
}

/// Writes a record from its header to its end.
fn begin(
    prepared: &mut Prepared<'_>,
    start_ns: u64,
    listeners: &mut Listeners<'_, '_>,
) -> Result<Measured, RunError> {
    let machine = machine::describe(prepared.directory.as_fd(), &prepared.program);
    prepared.notes.extend(noise::probe(&machine));
    let since_s = (monotonic_ns() - start_ns) / 1_000_000_000;
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let header = Header {
        version: FORMAT_VERSION,
        started_unix_s: now_s - since_s,
        command: prepared.command.clone(),
        directory: Some(prepared.directory.path().to_string_lossy().into_owned()),
        plan: prepared.plan.clone(),
        machine,
    };
    listeners.tell(&Event::Started(&header))?;
    if let Some(built) = &prepared.built {
        listeners.tell(&Event::Built(built))?;
    }
    record(prepared, Vec::new(), start_ns, listeners)
}

/// Goes on with a record to its end.
fn go_on(
    prepared: &mut Prepared<'_>,
    begun: Record,
    start_ns: u64,
    listeners: &mut Listeners<'_, '_>,
) -> Result<Measured, RunError> {
    let machine = machine::describe(prepared.directory.as_fd(), &prepared.program);
    check_same(prepared, &begun, &machine)?;
    prepared.notes.extend(noise::probe(&machine));
    let resumed = Resumed {
        resumed_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()),
        version: machine.version,
        pressure: machine.pressure,
    };
    listeners.tell(&Event::Resumed(&resumed))?;
    // Blocks follow those of before on the record's clock; how long the run lay still in between is not on it.
    let before_ns = begun.samples.last().map_or(0, |sample| sample.start_ns + sample.elapsed_ns);
    record(prepared, begun.samples, start_ns.wrapping_sub(before_ns), listeners)
}

/// Refuses to go on with a record where the rest of it could not be compared with what is there.
fn check_same(prepared: &Prepared<'_>, begun: &Record, machine: &Machine) -> Result<(), RunError> {
    let differs = |reason: String| Err(RunError::Resume { reason });
    let before = &begun.header.machine;
    let facts = [
        ("kernel", Some(&before.kernel), Some(&machine.kernel)),
        ("processor", before.processor.as_ref(), machine.processor.as_ref()),
        ("file system", Some(&before.file_system.kind), Some(&machine.file_system.kind)),
    ];
    for (what, then, now) in facts {
        if then != now {
            let name = |value: Option<&String>| value.map_or("unknown", |name| name.as_str()).to_owned();
            return differs(format!("the {what} was '{}' and is '{}'", name(then), name(now)));
        }
    }
    let (then, now) = (&begun.header.plan, &prepared.plan);
    if then.cells.len() != now.cells.len() {
        return differs("an arm of its plan is not available any more".into());
    }
    let finds = |plan: &Plan| -> Vec<Option<(u64, u64)>> {
        plan.cells.iter().map(|cell| cell.work.expected(0, 0)).collect()
    };
    if finds(then) != finds(now) {
        return differs("files of the directory have other sizes or times".into());
    }
    match then.data.iter().zip(&now.data).find(|(then, now)| then.hash.is_some() && then.hash != now.hash) {
        Some((then, now)) => differs(format!(
            "the directory held {} entries and holds {}, or others",
            then.entries, now.entries
        )),
        None => Ok(()),
    }
}

/// Checks the measuring itself, measures, and writes the record's last line.
fn record(
    prepared: &mut Prepared<'_>,
    samples: Vec<Sample>,
    zero_ns: u64,
    listeners: &mut Listeners<'_, '_>,
) -> Result<Measured, RunError> {
    let mut notes = std::mem::take(&mut prepared.notes);
    let calibration = timing::calibrate();
    let checked = match timing::check(prepared, calibration) {
        Ok(check) => {
            listeners.tell(&Event::Checked(&check))?;
            notes.extend(timing::notes_on(&check));
            Ok(Some(check.null_loop_ns))
        }
        // The rounds end at once for the same reason.
        Err(ListError::Stopped) => Ok(None),
        Err(error) => {
            Err(RunError::Arm { arm: "the run's check of itself".into(), reason: error.to_string() })
        }
    };
    notes.iter().try_for_each(|note| listeners.note(note))?;
    let null_loop_ns = *checked.as_ref().unwrap_or(&None);
    let directories = std::mem::take(&mut prepared.data);
    let stopwatch = Stopwatch::new(calibration);
    let measured =
        checked.and_then(|_| measure(prepared, directories, samples, zero_ns, stopwatch, listeners));
    let told = timing::drift_since(&calibration).map_or(Ok(()), |note| listeners.note(&note));
    let (complete, reason) = match &measured {
        Ok(measured) if measured.complete => (true, None),
        Ok(_) => (false, Some("interrupted".to_owned())),
        Err(error) => (false, Some(error.to_string())),
    };
    let end = End {
        complete,
        reason,
        elapsed_ns: monotonic_ns().wrapping_sub(zero_ns),
        pressure: machine::pressure(),
        null_loop_ns,
    };
    let told = told.and(listeners.tell(&Event::Ended(&end)));
    let measured = measured?;
    told?;
    Ok(measured)
}
