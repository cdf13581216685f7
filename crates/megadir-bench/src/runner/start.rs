//! A run from start to end: the frame around preparing, measuring and cleaning.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use megadir_record::{End, FORMAT_VERSION, Header, Note};
use megadir_sys::clock::monotonic_ns;

use super::prepare::{Prepared, prepare};
use super::rounds::{Measured, measure};
use super::truth::settle;
use super::{RunEnd, RunError, RunRequest};
use crate::event::{Event, Listener};
use crate::machine;
use crate::measure::{Calibration, Stopwatch, null_loop};
use crate::noise;
use crate::note::NoteKind;

/// Operations of the self-check; about 50 ms.
const NULL_OPERATIONS: u64 = 2_000_000;
/// The cycle counter is held against the monotonic clock for so long, before and after the rounds.
const CALIBRATION: Duration = Duration::from_millis(20);
/// The length of its ticks may change by this fraction between the two.
const DRIFT_MAX: f64 = 0.001;
/// The measured loop must not cost more than this, nanoseconds an operation.
const NULL_NS_MAX: f64 = 40.0;

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
    let mut prepared = prepare(request, &mut listeners)?;
    let result = settle(&mut prepared).and_then(|()| record(&mut prepared, start_ns, &mut listeners));
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
fn record(
    prepared: &mut Prepared<'_>,
    start_ns: u64,
    listeners: &mut Listeners<'_, '_>,
) -> Result<Measured, RunError> {
    let machine = machine::describe(prepared.directory.as_fd());
    let mut notes = std::mem::take(&mut prepared.notes);
    notes.extend(noise::probe(&machine));
    let since_s = (monotonic_ns() - start_ns) / 1_000_000_000;
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let header = Header {
        version: FORMAT_VERSION,
        started_unix_s: now_s - since_s,
        command: prepared.command.clone(),
        plan: prepared.plan.clone(),
        machine,
    };
    listeners.tell(&Event::Started(&header))?;
    let null = null_loop(NULL_OPERATIONS);
    if !null.cycle_counter {
        notes.push(
            NoteKind::NoCycleCounter
                .note("the cycle counter is not invariant; the monotonic clock was used".into()),
        );
    }
    if null.ns_per_operation > NULL_NS_MAX {
        let text = format!(
            "the measured loop costs {:.0} ns an operation with nothing in it",
            null.ns_per_operation
        );
        notes.push(NoteKind::SlowLoop.note(text));
    }
    notes.iter().try_for_each(|note| listeners.note(note))?;
    let calibration = Calibration::over(CALIBRATION);
    let measured = measure(prepared, &mut Stopwatch::new(calibration), start_ns, listeners);
    let drift = Calibration::over(CALIBRATION).drift_since(&calibration);
    let told = match drift.abs() > DRIFT_MAX {
        true => listeners.note(&NoteKind::ClockDrift.note(format!(
            "a tick of the cycle counter was {:.2} % {} after the run than before it",
            100.0 * drift.abs(),
            if drift > 0.0 { "longer" } else { "shorter" },
        ))),
        false => Ok(()),
    };
    let (complete, reason) = match &measured {
        Ok(measured) if measured.complete => (true, None),
        Ok(_) => (false, Some("interrupted".to_owned())),
        Err(error) => (false, Some(error.to_string())),
    };
    let end = End {
        complete,
        reason,
        elapsed_ns: monotonic_ns() - start_ns,
        pressure: machine::pressure(),
        null_loop_ns: Some(null.ns_per_operation),
    };
    let told = told.and(listeners.tell(&Event::Ended(&end)));
    let measured = measured?;
    told?;
    Ok(measured)
}
