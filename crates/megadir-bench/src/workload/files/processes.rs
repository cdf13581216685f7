//! Workers as processes: started before the block, let go together, ended with it whatever happens.
//!
//! A worker is killed by the kernel when the run's process ends, be it by SIGKILL, and by the run when it is to end. Workers have
//! a process group of their own, so that Ctrl-C reaches the run alone, which then ends them.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use megadir::Dir;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::message::{Go, Lines, Said, Start};
use super::task::Task;
use super::worker::Report;
use crate::measure::Stopwatch;
use crate::runner::WorkerCommand;
use crate::workload::{ListError, Signals};

/// Between two looks at whether the run is to end while workers work.
const LOOK: Duration = Duration::from_millis(20);
const STAGE: &str = "a worker process";

/// The worker processes of a block.
#[derive(Debug)]
pub(super) struct Processes {
    workers: Vec<Process>,
    /// The end of the barrier that lets all go when it is closed.
    barrier: Option<OwnedFd>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    lines: Lines,
    number: u32,
}

fn failed(source: io::Error) -> ListError {
    ListError::Stage { stage: STAGE, source }
}

impl Processes {
    /// Starts the workers of a block and waits until all have prepared it.
    pub(super) fn prepare(
        tasks: Vec<Task>,
        data: &Dir,
        command: &WorkerCommand,
        signals: Signals<'_>,
    ) -> Result<Self, ListError> {
        let (waits, lets_go) = io::pipe().map_err(failed)?;
        let mut all = Self { workers: Vec::with_capacity(tasks.len()), barrier: Some(lets_go.into()) };
        for task in tasks {
            let mut process = Process::start(task.worker, command).map_err(failed)?;
            process.say_task(task, data.as_fd(), waits.as_fd()).map_err(|error| process.ended(&error))?;
            all.workers.push(process);
        }
        for worker in &mut all.workers {
            match worker.answer(signals)? {
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
        signals: Signals<'_>,
    ) -> Result<Vec<Report>, ListError> {
        let go = Go { ns_per_tick: stopwatch.calibration().ns_per_tick, rate_per_s: stopwatch.rate_per_s() };
        for worker in &mut self.workers {
            let handed = hand_over(&worker.lines.socket, &[data.as_fd()]);
            let said = handed.and_then(|()| worker.lines.say(&go));
            said.map_err(|error| worker.ended(&error))?;
        }
        for worker in &mut self.workers {
            match worker.answer(signals)? {
                Said::Waiting => {}
                other => return Err(worker.unexpected(&other)),
            }
        }
        self.barrier = None;
        let mut reports = Vec::with_capacity(self.workers.len());
        for worker in &mut self.workers {
            match worker.answer(signals)? {
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
    fn start(number: u32, command: &WorkerCommand) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(LOOK))?;
        let child = Command::new(&command.program)
            .args(&command.arguments)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self { child, lines: Lines::new(ours), number })
    }

    fn say_task(&mut self, task: Task, data: BorrowedFd<'_>, barrier: BorrowedFd<'_>) -> io::Result<()> {
        hand_over(&self.lines.socket, &[data, barrier])?;
        self.lines.say(&Start { parent: std::process::id(), task })
    }

    /// Returns what the worker says next; looks meanwhile whether the run is to end.
    fn answer(&mut self, signals: Signals<'_>) -> Result<Said, ListError> {
        loop {
            signals.check()?;
            match self.lines.hear() {
                Ok(Some(Said::Failed { reason })) => {
                    let text = format!("{}: {reason}", self.number);
                    return Err(failed(io::Error::other(text)));
                }
                Ok(Some(Said::Refused(refused))) => return Err(ListError::Refused(refused)),
                Ok(Some(said)) => return Ok(said),
                Ok(None) => {}
                Err(error) => return Err(self.ended(&error)),
            }
        }
    }

    /// Returns the error of a worker that does not answer any more.
    fn ended(&mut self, error: &io::Error) -> ListError {
        // It may be about to end, or hang.
        let _ = self.child.kill();
        let how = match self.child.wait() {
            Ok(status) => format!("{}: ended before its work was done ({status}): {error}", self.number),
            Err(_) => format!("{}: {error}", self.number),
        };
        failed(io::Error::other(how))
    }

    fn unexpected(&self, said: &Said) -> ListError {
        failed(io::Error::other(format!("{}: said {said:?} out of turn", self.number)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends descriptors, with one byte that carries them.
fn hand_over(socket: &UnixStream, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors for one message"));
    }
    sendmsg(socket, &[IoSlice::new(b"\n")], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}
