//! A run from start to end: setup, rounds, removal, and the clock check before and after.
//!
//! A directory that cannot be used must not cost a record, so the header is written only after the data
//! sets exist and are verified. From then on the record gets its last line whatever happens, and cleaning
//! up happens in any case.

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
use crate::measure::{Calibration, self_check};
use crate::note::NoteKind;
use crate::os::At;
use crate::plan::larger_than_memory;
use crate::run::resume::{check_machine, check_ranks, check_same};
use crate::run::rounds::measure;
use crate::run::setup::prepare;
use crate::run::{Listeners, Prepared, RunEnd, RunError, RunRequest};
use crate::schedule::epochs;
use crate::workspace::since_1970;
use crate::{host, os};

/// Free space without which images cannot grow, bytes.
const IMAGES_FREE_MIN: u64 = 1 << 20;

/// On an error the run's own directory is still removed, and a started record gets its last line.
pub fn run(mut request: RunRequest<'_>, listeners: &mut [&mut dyn Listener]) -> Result<RunEnd, RunError> {
    // The cheap checks of a record to resume come first: creating millions of files only to find another
    // kernel would waste an hour. The rest is checked in `go_on`, once the data sets can be compared.
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
    let expected = prepared.record_expected().map_err(|error| prepared.volumes.explained(error));
    let result = expected.and_then(|()| {
        prepared.zero_ns = start_ns;
        prepared.whole = Plan { seed: whole.seed, rules: whole.rules, ..prepared.plan.clone() };
        match begun {
            Some(begun) => prepared.go_on(&begun, &mut listeners),
            None => prepared.begin(&mut listeners),
        }
    });
    let cleaned = prepared.clean(&mut listeners);
    match result {
        Ok(measured) => cleaned.map(|()| measured),
        Err(error) => Err(error.and_cleaned(cleaned)),
    }
}

impl Prepared<'_> {
    /// Starts a record. The machine is probed for noise before the header, because the header has its
    /// facts; the probe's notes follow with the others.
    fn begin(&mut self, listeners: &mut Listeners<'_, '_>) -> Result<RunEnd, RunError> {
        let mut machine = host::describe(self.directory.at(), &self.program);
        self.notes.extend(host::probe(&mut machine));
        if let Some(bytes) = machine.memory_limit_bytes.into_iter().chain(machine.memory_bytes).min() {
            let text = larger_than_memory(&self.whole, bytes);
            self.notes.extend(text.map(|text| NoteKind::LargerThanMemory.note(text)));
        }
        let since_s = (monotonic_ns() - self.zero_ns) / 1_000_000_000;
        let header = Header {
            version: FORMAT_VERSION,
            started_unix_s: since_1970().as_secs() - since_s,
            command: self.command.clone(),
            directory: Some(host::whole_path(self.directory.path()).to_string_lossy().into_owned()),
            plan: self.whole.clone(),
            machine,
            file_systems: self.volumes.describe(),
            ranks: self.ranks.map(|ranks| ranks.facts().clone()),
        };
        listeners.record(&Line::Header(Box::new(header)))?;
        if let Some(built) = self.built.take() {
            listeners.record(&Line::Built(built))?;
        }
        self.record(Vec::new(), listeners)
    }

    /// Continues a record. The noise of the machine is probed again, since hours may have passed.
    fn go_on(&mut self, begun: &Record, listeners: &mut Listeners<'_, '_>) -> Result<RunEnd, RunError> {
        let mut machine = host::describe(self.directory.at(), &self.program);
        check_same(self, begun, &machine)?;
        self.notes.extend(host::probe(&mut machine));
        let resumed = Resumed {
            resumed_unix_s: since_1970().as_secs(),
            version: machine.version,
            pressure: machine.pressure,
        };
        listeners.record(&Line::Resumed(resumed))?;
        if self.epoch > 0 {
            listeners.record(&self.epoch_line())?;
        }
        // Block times continue the record's clock, without the pause between the two processes.
        let before_ns = begun.samples.last().map_or(0, |sample| sample.start_ns + sample.elapsed_ns);
        self.zero_ns = self.zero_ns.wrapping_sub(before_ns);
        self.record(epochs::of(&begun.samples, self.epoch).to_vec(), listeners)
    }

    /// `samples` are those already measured in the prepared epoch.
    fn all_epochs(
        &mut self,
        mut samples: Vec<Sample>,
        calibration: Calibration,
        listeners: &mut Listeners<'_, '_>,
    ) -> Result<(), RunError> {
        loop {
            measure(self, std::mem::take(&mut samples), calibration, listeners)?;
            let epoch = self.epoch + 1;
            if epoch >= self.whole.rules.epochs {
                return Ok(());
            }
            listeners.emit(&Event::EpochEnds)?;
            self.rebuild_for_epoch(epochs::plan_of(&self.whole, epoch), listeners)?;
            self.epoch = epoch;
            listeners.record(&self.epoch_line())?;
        }
    }

    /// Seed and hashes of the current epoch, with which a resumed run compares the data that it makes
    /// again.
    fn epoch_line(&self) -> Line {
        let hashes = self.plan.data.iter().map(|data| data.hash).collect();
        Line::Epoch(Epoch { epoch: self.epoch, seed: self.plan.seed, hashes })
    }

    /// Writes a record that is valid whatever happens: the check of the clock before the rounds, and the last
    /// line with the reason even if the rounds failed. An error of the rounds is returned only after this
    /// line was written, and it takes precedence over an error of writing. With ranks all times are
    /// nanoseconds of the monotonic clock.
    fn record(
        &mut self,
        samples: Vec<Sample>,
        listeners: &mut Listeners<'_, '_>,
    ) -> Result<RunEnd, RunError> {
        let mut notes = std::mem::take(&mut self.notes);
        // Cycle counters of different hosts have different ticks.
        let calibration =
            self.ranks.map_or_else(|| Calibration::over(CALIBRATION), |_| Calibration { ns_per_tick: None });
        let failed = WorkError::at("querying the directory's attributes");
        let query = |_| os::query_directory(self.directory.at()).map(|()| 1).map_err(failed);
        let checked = match self_check(calibration, query, || Ok(self.control.check()?), self.plan.seed) {
            Ok(check) => {
                let by_choice =
                    |note: &Note| self.ranks.is_some() && note.kind == NoteKind::NoCycleCounter.name();
                notes.extend(notes_on(&check).into_iter().filter(|note| !by_choice(note)));
                let null_loop_ns = check.null_loop_ns;
                listeners.record(&Line::SelfCheck(check))?;
                Ok(Some(null_loop_ns))
            }
            Err(WorkError::Stopped) => Ok(None),
            Err(error) => Err(RunError::of_arm("the run's self-check", error)),
        };
        listeners.notes(notes)?;
        let null_loop_ns = *checked.as_ref().unwrap_or(&None);
        let measured = match checked.and_then(|_| self.all_epochs(samples, calibration, listeners)) {
            Ok(()) => Ok(true),
            Err(RunError::Interrupted) => Ok(false),
            Err(error) => Err(self.of_images(error)),
        };
        let stopped = self.control.stop.load(Ordering::Relaxed);
        let of_ranks = self.ranks.map(|ranks| NoteKind::Ranks.note(ranks.summary()));
        let recorded = listeners.notes(drift_since(&calibration)).and(listeners.notes(of_ranks));
        let (complete, reason) = match &measured {
            Ok(true) => (true, None),
            Ok(false) => (false, Some("interrupted".to_owned())),
            Err(error) => (false, Some(error.to_string())),
        };
        let end = End {
            complete,
            reason,
            elapsed_ns: monotonic_ns().wrapping_sub(self.zero_ns),
            pressure: host::pressure(),
            null_loop_ns,
            disks: self.volumes.disks(),
        };
        let recorded = recorded.and(listeners.record(&Line::End(end)));
        measured?;
        recorded?;
        Ok(RunEnd { complete, interrupted: !complete && stopped, unequal_blocks: self.unequal_blocks })
    }

    /// File systems on images without space to grow, or on disks at the limit of their memory, only report `EIO`.
    fn of_images(&self, error: RunError) -> RunError {
        let error = self.volumes.explained(error);
        if matches!(error, RunError::MemoryFull { .. } | RunError::DiskLost { .. }) {
            return error;
        }
        let on_image = |of: &LabFileSystem| {
            matches!(of.place, Place::Image { .. }) && of.disk.as_ref().is_none_or(|disk| disk.is_model)
        };
        let full = self.plan.file_systems.iter().any(on_image)
            && os::space(self.directory.at()).is_ok_and(|space| space.free_bytes < IMAGES_FREE_MIN);
        match full {
            true => RunError::ImagesFull { path: self.directory.path().to_owned(), error: Box::new(error) },
            false => error,
        }
    }
}

/// Time over which the cycle counter is compared with the monotonic clock, before and after the rounds.
const CALIBRATION: Duration = Duration::from_millis(20);
/// Relative change of the tick length between two calibrations.
const DRIFT_MAX: f64 = 0.001;
/// Cost of an empty operation from which the loop would distort cached look-ups, nanoseconds.
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
        let text = format!("the empty measurement loop costs {cost:.0} ns per operation");
        notes.push(match cfg!(debug_assertions) {
            true => NoteKind::DebugBuild
                .note(format!("{text}, because this megadir was built without optimization")),
            false => NoteKind::SlowLoop.note(text),
        });
    }
    notes
}
