//! Connection between a run and its worker processes: messages, passed descriptors, and a guarantee that no
//! worker outlives its run.
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
use std::io::{self, Read, Write};
use std::time::Duration;

use megadir_record::{Counted, Latency, Refused};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::task::Task;
use super::worker::Report;
use crate::control::WorkError;
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

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Go {
    pub(crate) ns_per_tick: Option<f64>,
    pub(crate) rate_per_s: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "said")]
pub(crate) enum Said {
    Ready,
    Waiting,
    Done {
        report: Report,
        latency: Option<Latency>,
    },
    /// A rank did the whole work of a block.
    Whole(Box<Whole>),
    Unavailable {
        reason: String,
    },
    Refused(Refused),
    Stopped,
    ProgramFailed {
        reason: String,
    },
    Failed {
        reason: String,
    },
}

impl From<WorkError> for Said {
    fn from(error: WorkError) -> Self {
        match error {
            WorkError::Refused(refused) => Self::Refused(refused),
            WorkError::Program(reason) => Self::ProgramFailed { reason },
            WorkError::Stopped => Self::Stopped,
            error => Self::Failed { reason: error.to_string() },
        }
    }
}

impl Said {
    pub(crate) fn checked(self, stage: &'static str, who: impl Display) -> Result<Self, WorkError> {
        match self {
            Self::Refused(refused) => Err(WorkError::Refused(refused)),
            Self::ProgramFailed { reason } => Err(WorkError::Program(reason)),
            Self::Stopped => Err(WorkError::Stopped),
            Self::Failed { reason } => Err(WorkError::other(stage, format!("{who}: {reason}"))),
            said => Ok(said),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Whole {
    pub(crate) taken: BlockUsage,
    pub(crate) counted: Counted,
    pub(crate) latency: Option<Latency>,
}

/// Upper bound of a message, bytes: a histogram has 7424 buckets of about 30 characters each; a shape has fewer.
const LINE_BYTES_MAX: usize = 4 << 20;

pub(crate) const LOOK: Duration = Duration::from_millis(20);

pub(crate) fn say(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)
}

#[derive(Debug)]
pub(crate) struct Lines<R> {
    pub(crate) from: R,
    pending: Vec<u8>,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, pending: Vec::new() }
    }

    pub(crate) fn hear<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        loop {
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let message = serde_json::from_slice(&self.pending[..end])?;
                self.pending.drain(..=end);
                return Ok(Some(message));
            }
            let mut piece = [0; 4096];
            match self.from.read(&mut piece) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.pending.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
            if self.pending.len() > LINE_BYTES_MAX {
                return Err(io::Error::other("a message without an end"));
            }
        }
    }
}
