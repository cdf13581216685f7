//! The run's counter: held against the monotonic clock before and after the rounds, and checked before them.

use std::time::Duration;

use megadir_record::{Note, SelfCheck};

use crate::at::{self, Borrowed};
use crate::control::{RunControl, WorkError};
use crate::measure::{Calibration, Operation, self_check};
use crate::note::NoteKind;

/// The cycle counter is held against the monotonic clock for so long.
const CALIBRATION: Duration = Duration::from_millis(20);
/// The length of its ticks may change by this fraction between the two times.
const DRIFT_MAX: f64 = 0.001;
/// The measured loop must not cost more than this, nanoseconds an operation.
const NULL_NS_MAX: f64 = 40.0;

/// Calibrates the counter.
pub(super) fn calibrate() -> Calibration {
    Calibration::over(CALIBRATION)
}

/// Returns a note if the counter does not run as fast as before.
pub(super) fn drift_since(before: &Calibration) -> Option<Note> {
    let drift = calibrate().drift_since(before);
    (drift.abs() > DRIFT_MAX).then(|| {
        NoteKind::ClockDrift.note(format!(
            "a tick of the cycle counter was {:.2} % {} after the run than before it",
            100.0 * drift.abs(),
            if drift > 0.0 { "longer" } else { "shorter" },
        ))
    })
}

/// Checks the run's own measuring on an open directory.
pub(super) fn check(
    directory: Borrowed<'_>,
    seed: u64,
    calibration: Calibration,
    control: RunControl<'_>,
) -> Result<SelfCheck, WorkError> {
    self_check(calibration, &mut Itself { directory, control }, seed)
}

/// Returns notes on what the check found.
pub(super) fn notes_on(check: &SelfCheck) -> Vec<Note> {
    let mut notes = Vec::new();
    if !check.cycle_counter {
        let text = "the cycle counter is not invariant, or the kernel does not tell the time by it; the monotonic clock was used";
        notes.push(NoteKind::NoCycleCounter.note(text.into()));
    }
    if check.null_loop_ns > NULL_NS_MAX {
        let cost = check.null_loop_ns;
        let build = if cfg!(debug_assertions) {
            "; this program was built without optimisation, which explains it"
        } else {
            ""
        };
        let text = format!("the measured loop costs {cost:.0} ns an operation with nothing in it{build}");
        notes.push(NoteKind::SlowLoop.note(text));
    }
    notes
}

/// Asks for the attributes of a directory that is open: the shortest call that a file system answers.
struct Itself<'a> {
    directory: Borrowed<'a>,
    control: RunControl<'a>,
}

impl Operation for Itself<'_> {
    type Error = WorkError;

    #[inline]
    fn run(&mut self, _index: u64) -> Result<u64, WorkError> {
        match at::ask_itself(self.directory) {
            Ok(()) => Ok(1),
            Err(source) => Err(WorkError::Stage { stage: "asking the directory about itself", source }),
        }
    }

    fn between(&mut self) -> Result<(), WorkError> {
        self.control.check()
    }
}
