//! A run from start to end: the frame around preparing, measuring and cleaning.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use megadir_record::{End, FORMAT_VERSION, Header, Note};
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
    let mut stopwatch = Stopwatch::new(calibration);
    let measured = checked.and_then(|_| measure(prepared, &mut stopwatch, start_ns, listeners));
    let told = timing::drift_since(&calibration).map_or(Ok(()), |note| listeners.note(&note));
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
        null_loop_ns,
    };
    let told = told.and(listeners.tell(&Event::Ended(&end)));
    let measured = measured?;
    told?;
    Ok(measured)
}
