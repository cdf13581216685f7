//! Windows: pipes, handles duplicated into the worker, an event, and a job object.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::windows::io::AsHandle;
use std::os::windows::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use megadir_sys::windows::process::{Gate, Given, Job, give, take};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{LOOK, Lines, send};
use crate::kind::WorkerCommand;
use crate::os::{Borrowed, Owned};

/// Disables Ctrl-C for the new group.
const NEW_PROCESS_GROUP: u32 = 0x200;

/// The run's side: the job that ends all workers with the run, and the event that releases them.
#[derive(Debug)]
pub(crate) struct Host {
    job: Job,
    gate: Gate,
}

/// Connection to one worker.
#[derive(Debug)]
pub(crate) struct Link {
    input: Option<ChildStdin>,
    /// Write end of the answer pipe. Once it is passed, only the worker has it, so that its exit closes the pipe.
    replies: Option<PipeWriter>,
    /// Handles passed since the worker's last answer; after an answer the worker owns its duplicates.
    given: Vec<Given>,
    lines: Lines<ReplyPipe>,
}

/// Numbers of handles.
#[derive(Debug, Serialize, Deserialize)]
struct Handed {
    data: u64,
    barrier: u64,
    replies: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct HandedData {
    data: u64,
}

impl Host {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { job: Job::new()?, gate: Gate::new()? })
    }

    /// The worker waits for its task and exits if none comes.
    pub(crate) fn start(&self, command: &WorkerCommand) -> io::Result<(Child, Link)> {
        let (reading, replies) = io::pipe()?;
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .creation_flags(NEW_PROCESS_GROUP)
            .spawn()?;
        let input = child.stdin.take();
        let lines = Lines::new(ReplyPipe::listen(reading));
        Ok((child, Link { input, replies: Some(replies), given: Vec::new(), lines }))
    }

    pub(crate) fn hand_all(&self, worker: &Child, link: &mut Link, data: Borrowed<'_>) -> io::Result<()> {
        let Some(replies) = link.replies.take() else {
            return Err(io::Error::other("it already has all it needs"));
        };
        let to = worker.as_handle();
        self.job.add(to)?;
        let handed = Handed {
            data: link.give(data, to)?,
            barrier: link.give(self.gate.as_handle(), to)?,
            replies: link.give(replies.as_handle(), to)?,
        };
        link.send(&handed)
    }

    pub(crate) fn hand_data(&self, worker: &Child, link: &mut Link, data: Borrowed<'_>) -> io::Result<()> {
        let data = link.give(data, worker.as_handle())?;
        link.send(&HandedData { data })
    }

    pub(crate) fn let_go(&mut self) -> io::Result<()> {
        self.gate.open()
    }
}

impl Link {
    /// Duplicates a handle into the worker, and returns its number there, which a message then carries.
    fn give(&mut self, open: Borrowed<'_>, to: Borrowed<'_>) -> io::Result<u64> {
        let given = give(open, to)?;
        let number = given.number();
        self.given.push(given);
        Ok(number)
    }

    pub(crate) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let input = self.input.as_mut().ok_or_else(|| io::Error::other("it has no standard input"))?;
        send(input, message)
    }

    pub(crate) fn receive<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        let received = self.lines.receive()?;
        if received.is_some() {
            self.given.clear();
        }
        Ok(received)
    }
}

/// A worker's answers, read by a thread because reads from a pipe have no timeout.
#[derive(Debug)]
struct ReplyPipe {
    pieces: Receiver<io::Result<Vec<u8>>>,
    left: VecDeque<u8>,
}

impl ReplyPipe {
    fn listen(mut from: PipeReader) -> Self {
        let (to, pieces) = channel();
        std::thread::spawn(move || {
            loop {
                let mut piece = vec![0; 4096];
                let received = from.read(&mut piece).map(|length| {
                    piece.truncate(length);
                    piece
                });
                let ended = received.as_ref().map_or(true, Vec::is_empty);
                if to.send(received).is_err() || ended {
                    return;
                }
            }
        });
        Self { pieces, left: VecDeque::new() }
    }
}

impl Read for ReplyPipe {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.left.is_empty() {
            self.left = match self.pieces.recv_timeout(LOOK) {
                Ok(piece) => piece?.into(),
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::WouldBlock.into()),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            };
        }
        self.left.read(to)
    }
}

#[derive(Debug)]
pub(crate) struct Guest {
    lines: Lines<File>,
    replies: Option<File>,
}

#[derive(Debug)]
pub(crate) struct Barrier(Gate);

impl Guest {
    /// The run's job ends this process with the run.
    pub(crate) fn join() -> io::Result<Self> {
        let input = io::stdin().as_handle().try_clone_to_owned()?;
        Ok(Self { lines: Lines::new(input.into()), replies: None })
    }

    pub(crate) fn take_all(&mut self) -> io::Result<(Owned, Barrier)> {
        let handed: Handed =
            self.receive().map_err(|error| io::Error::new(error.kind(), "no task was passed"))?;
        self.replies = Some(take(handed.replies)?.into());
        Ok((take(handed.data)?, Barrier(take(handed.barrier)?.into())))
    }

    pub(crate) fn take_data(&mut self) -> io::Result<Owned> {
        let handed: HandedData = self.receive()?;
        take(handed.data)
    }

    /// Always succeeds: the worker was in the run's job before it got its task, so it cannot outlive the run.
    pub(crate) fn check_parent(&self, _run: u32) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let replies = self.replies.as_mut().ok_or_else(|| io::Error::other("no task was passed"))?;
        send(replies, message)
    }

    pub(crate) fn receive<M: DeserializeOwned>(&mut self) -> io::Result<M> {
        self.lines.receive()?.ok_or_else(|| io::Error::other("the run does not answer"))
    }
}

impl Barrier {
    pub(crate) fn wait(self) {
        let _ = self.0.wait();
    }
}
