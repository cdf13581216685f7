//! A worker process: takes its task from the run that started it, works, and reports.

use std::io::{self, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir::Dir;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::message::{Go, Lines, Said, Start};
use super::worker::Worker;
use crate::measure::{Calibration, Stopwatch};
use crate::workload::{ListError, Signals};

/// Works as the process that started this one says, over a socket on standard input, and returns when that is done.
///
/// # Errors
///
/// Where there is no such socket, or the run has ended. What goes wrong in the work is told to the run.
pub fn serve() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let Ok([data, barrier]) = <[OwnedFd; 2]>::try_from(take_over(&socket)?) else {
        return Err(io::Error::other("no task was handed over"));
    };
    let mut lines = Lines::new(socket);
    let start: Start = hear(&mut lines)?;
    // It may have ended before its end would have been told.
    let parent = getppid().map(|parent| parent.as_raw_nonzero().get().unsigned_abs());
    if parent != Some(start.parent) {
        return Err(io::Error::other("the run that started it has ended"));
    }
    let said = match work(start, data, barrier, &mut lines) {
        Ok(said) => said,
        Err(Failed::Work(ListError::Refused(refused))) => Said::Refused(refused),
        Err(Failed::Work(error)) => Said::Failed { reason: error.to_string() },
        Err(Failed::Said(error)) => return Err(error),
    };
    lines.say(&said)
}

enum Failed {
    Work(ListError),
    Said(io::Error),
}

impl From<ListError> for Failed {
    fn from(error: ListError) -> Self {
        Self::Work(error)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Said(error)
    }
}

fn work(start: Start, data: OwnedFd, barrier: OwnedFd, lines: &mut Lines) -> Result<Said, Failed> {
    // The run ends a worker by a signal.
    let (stop, beat) = (AtomicBool::new(false), AtomicU64::new(0));
    let signals = Signals { stop: &stop, beat: &beat };
    let mut worker = Worker::prepare(start.task, &directory(data), signals)?;
    lines.say(&Said::Ready)?;
    let data = match take_over(&lines.socket)?.pop() {
        Some(data) => directory(data),
        None => return Err(io::Error::other("no directory was handed over").into()),
    };
    let go: Go = hear(lines)?;
    let mut stopwatch = Stopwatch::new(Calibration { ns_per_tick: go.ns_per_tick });
    stopwatch.set_rate(go.rate_per_s);
    lines.say(&Said::Waiting)?;
    let wait = || {
        // Nothing is ever written into it: it gives its end when all may go.
        let _ = std::fs::File::from(barrier).read(&mut [0]);
    };
    let report = worker.work(&data, &mut stopwatch, wait, signals)?;
    Ok(Said::Done { report, latency: stopwatch.latency() })
}

fn directory(data: OwnedFd) -> Dir {
    Dir::from_descriptor(data, "the data set's directory")
}

fn hear<M: serde::de::DeserializeOwned>(lines: &mut Lines) -> io::Result<M> {
    lines.hear()?.ok_or_else(|| io::Error::other("the run says nothing"))
}

/// Receives the descriptors that come with one byte.
fn take_over(socket: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    recvmsg(socket, &mut [IoSliceMut::new(&mut [0])], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let taken = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    Ok(taken.collect())
}
