//! A worker process: takes its task from the run that started it, works, and reports.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir::Dir;

use super::message::{Go, Said, Start};
use super::transport::{Barrier, Guest};
use super::worker::Worker;
use crate::at::Owned;
use crate::control::{RunControl, WorkError};
use crate::measure::{Calibration, Stopwatch};

/// Works as the process that started this one says, over what it has on standard input, and returns when that is done.
///
/// # Errors
///
/// Where that is no run, or the run has ended. What goes wrong in the work is told to the run.
pub fn serve() -> io::Result<()> {
    let mut run = Guest::join()?;
    let (data, barrier) = run.take_all()?;
    let start: Start = run.hear()?;
    run.check_parent(start.parent)?;
    let said = match work(start, data, barrier, &mut run) {
        Ok(said) => said,
        Err(Failed::Work(WorkError::Refused(refused))) => Said::Refused(refused),
        Err(Failed::Work(error)) => Said::Failed { reason: error.to_string() },
        Err(Failed::Said(error)) => return Err(error),
    };
    run.say(&said)
}

enum Failed {
    Work(WorkError),
    Said(io::Error),
}

impl From<WorkError> for Failed {
    fn from(error: WorkError) -> Self {
        Self::Work(error)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Said(error)
    }
}

fn work(start: Start, data: Owned, barrier: Barrier, run: &mut Guest) -> Result<Said, Failed> {
    // The run ends a worker from outside.
    let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
    let control = RunControl { stop: &stop, heartbeat: &heartbeat };
    let mut worker = Worker::prepare(start.task, &directory(data), control)?;
    run.say(&Said::Ready)?;
    let data = directory(run.take_data()?);
    let go: Go = run.hear()?;
    let mut stopwatch = Stopwatch::new(Calibration { ns_per_tick: go.ns_per_tick });
    stopwatch.set_rate(go.rate_per_s);
    run.say(&Said::Waiting)?;
    let report = worker.work(&data, &mut stopwatch, || barrier.wait(), control)?;
    Ok(Said::Done { report, latency: stopwatch.latency() })
}

fn directory(data: Owned) -> Dir {
    Dir::from_descriptor(data, "the data set's directory")
}
