//! Workers as processes: started before the block, let go together, ended with it whatever happens.
//!
//! A worker ends when the run's process ends, however it does, and is killed by the run when it is to end. Ctrl-C reaches the run
//! alone, which then ends its workers. How each system does that is in [`transport`](super::transport).

use std::io;
use std::process::Child;

use megadir::Dir;

use super::message::{Go, Said, Start};
use super::task::Task;
use super::transport::{Host, Link};
use super::worker::Report;
use crate::at::At;
use crate::control::{RunControl, WorkError};
use crate::measure::Stopwatch;
use crate::workload::WorkerCommand;

const STAGE: &str = "a worker process";

/// The worker processes of a block.
#[derive(Debug)]
pub(super) struct Processes {
    workers: Vec<Process>,
    host: Host,
}

#[derive(Debug)]
struct Process {
    child: Child,
    link: Link,
    number: u32,
}

fn failed(source: io::Error) -> WorkError {
    WorkError::Stage { stage: STAGE, source }
}

impl Processes {
    /// Starts the workers of a block and waits until all have prepared it.
    pub(super) fn prepare(
        tasks: Vec<Task>,
        data: &Dir,
        command: &WorkerCommand,
        control: RunControl<'_>,
    ) -> Result<Self, WorkError> {
        let host = Host::new().map_err(failed)?;
        let mut all = Self { workers: Vec::with_capacity(tasks.len()), host };
        for task in tasks {
            let (child, link) = all.host.start(command).map_err(failed)?;
            let mut process = Process { child, link, number: task.worker };
            let handed = all.host.hand_all(&process.child, &mut process.link, data.at());
            let said = handed.and_then(|()| process.link.say(&Start { parent: std::process::id(), task }));
            said.map_err(|error| process.ended(&error))?;
            all.workers.push(process);
        }
        for worker in &mut all.workers {
            match worker.answer(control)? {
                Said::Ready => {}
                other => return Err(worker.unexpected(&other)),
            }
        }
        Ok(all)
    }

    /// Lets all go, and waits until all are done.
    pub(super) fn work(
        &mut self,
        data: &Dir,
        stopwatch: &mut Stopwatch,
        control: RunControl<'_>,
    ) -> Result<Vec<Report>, WorkError> {
        let go = Go { ns_per_tick: stopwatch.calibration().ns_per_tick, rate_per_s: stopwatch.rate_per_s() };
        for worker in &mut self.workers {
            let handed = self.host.hand_data(&worker.child, &mut worker.link, data.at());
            let said = handed.and_then(|()| worker.link.say(&go));
            said.map_err(|error| worker.ended(&error))?;
        }
        for worker in &mut self.workers {
            match worker.answer(control)? {
                Said::Waiting => {}
                other => return Err(worker.unexpected(&other)),
            }
        }
        self.host.let_go().map_err(failed)?;
        let mut reports = Vec::with_capacity(self.workers.len());
        for worker in &mut self.workers {
            match worker.answer(control)? {
                Said::Done { report, latency } => {
                    if latency.is_some_and(|latency| !stopwatch.merge_written(&latency)) {
                        return Err(failed(io::Error::other("its times make no sense")));
                    }
                    reports.push(report);
                }
                other => return Err(worker.unexpected(&other)),
            }
        }
        Ok(reports)
    }
}

impl Process {
    /// Returns what the worker says next; looks meanwhile whether the run is to end.
    fn answer(&mut self, control: RunControl<'_>) -> Result<Said, WorkError> {
        loop {
            control.check()?;
            match self.link.hear() {
                Ok(Some(Said::Failed { reason })) => {
                    let text = format!("{}: {reason}", self.number);
                    return Err(failed(io::Error::other(text)));
                }
                Ok(Some(Said::Refused(refused))) => return Err(WorkError::Refused(refused)),
                Ok(Some(said)) => return Ok(said),
                Ok(None) => {}
                Err(error) => return Err(self.ended(&error)),
            }
        }
    }

    /// Returns the error of a worker that does not answer any more.
    fn ended(&mut self, error: &io::Error) -> WorkError {
        // It may be about to end, or hang.
        let _ = self.child.kill();
        let how = match self.child.wait() {
            Ok(status) => format!("{}: ended before its work was done ({status}): {error}", self.number),
            Err(_) => format!("{}: {error}", self.number),
        };
        failed(io::Error::other(how))
    }

    fn unexpected(&self, said: &Said) -> WorkError {
        failed(io::Error::other(format!("{}: said {said:?} out of turn", self.number)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
