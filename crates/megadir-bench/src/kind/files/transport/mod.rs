//! Connection between a run and its worker processes: messages, passed descriptors, and a guarantee that no worker outlives its run.
//!
//! | | Linux | Windows |
//! |---|---|---|
//! | messages to a worker | a socket, its standard input | a pipe, its standard input |
//! | messages from a worker | the same socket | a second pipe, passed as a handle |
//! | passed descriptors | `SCM_RIGHTS` | `DuplicateHandle`; a message has the numbers, and the run closes them once the worker has answered |
//! | barrier | a pipe without data, which ends when the run closes the only write end | an event |
//! | end with the run | a parent death signal | a job object with kill on close |
//! | Ctrl-C reaches the run only | process group | process group |

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::Duration;

use megadir_record::{Counted, Latency, Refused};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::task::Task;
use super::worker::Report;
use crate::control::{Result, WorkError};
use crate::kind::BlockUsage;

#[cfg(target_os = "linux")]
pub(crate) use linux::{Barrier, Guest, Host, Link};
#[cfg(windows)]
pub(crate) use windows::{Barrier, Guest, Host, Link};

// Messages between a run and its worker processes: lines of JSON, over a [`transport`](super::transport).
//
// ```text
// run                                         worker
// data directory, barrier; Start     ------>  prepares, and closes the data directory
//                                    <------  Ready
// data directory; Go: ticks, rate    ------>
//                                    <------  Waiting, and waits at the barrier
// (opens the barrier)                         works
//                                    <------  Done: report and times, or Refused, or Failed
// ```
//
// The data directory is not held in between: its file system may be remounted.

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    /// A worker with another parent has outlived its run.
    pub(crate) parent: u32,
    pub(crate) task: Task,
}

/// The last message before the barrier. Ticks are sent, so that all workers of a host measure with the
/// run's calibration.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Go {
    pub(crate) ns_per_tick: Option<f64>,
    pub(crate) rate_per_s: Option<u64>,
}

/// `Whole`: a rank did the whole work of a block.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "reply")]
pub(crate) enum Reply {
    Ready,
    Waiting,
    Done { report: Report, latency: Option<Latency> },
    Whole(Box<Whole>),
    Unavailable { reason: String },
    Refused(Refused),
    Stopped,
    ProgramFailed { reason: String },
    Failed { reason: String },
}

impl From<WorkError> for Reply {
    fn from(error: WorkError) -> Self {
        match error {
            WorkError::Refused(refused) => Self::Refused(refused),
            WorkError::Program(reason) => Self::ProgramFailed { reason },
            WorkError::Stopped => Self::Stopped,
            error => Self::Failed { reason: error.to_string() },
        }
    }
}

impl Reply {
    pub(crate) fn checked(self, stage: &'static str, who: impl Display) -> Result<Self> {
        match self {
            Self::Refused(refused) => Err(WorkError::Refused(refused)),
            Self::ProgramFailed { reason } => Err(WorkError::Program(reason)),
            Self::Stopped => Err(WorkError::Stopped),
            Self::Failed { reason } => Err(WorkError::other(stage, format!("{who}: {reason}"))),
            reply => Ok(reply),
        }
    }
}

/// Result of a rank that did the whole work of a block.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Whole {
    pub(crate) taken: BlockUsage,
    pub(crate) counted: Counted,
    pub(crate) latency: Option<Latency>,
}

/// Upper bound of a message, bytes: a histogram has 7424 buckets of about 30 characters each; a shape has fewer.
const LINE_BYTES_MAX: usize = 4 << 20;

/// Time limit of a read, after which the run looks whether it is to end.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

pub(crate) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// Messages of a connection. `begun` keeps the part of a line that came before the time limit of a read.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    pub(crate) from: BufReader<R>,
    begun: Vec<u8>,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from: BufReader::new(from), begun: Vec::new() }
    }

    /// `None` if the next message has not come entirely within the time limit of a read.
    pub(crate) fn receive<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        let left = (LINE_BYTES_MAX - self.begun.len()) as u64;
        match self.from.by_ref().take(left).read_until(b'\n', &mut self.begun) {
            Ok(_) if self.begun.ends_with(b"\n") => {
                Ok(Some(serde_json::from_slice(&std::mem::take(&mut self.begun))?))
            }
            Ok(_) if self.begun.len() == LINE_BYTES_MAX => Err(io::Error::other("a message without an end")),
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}
