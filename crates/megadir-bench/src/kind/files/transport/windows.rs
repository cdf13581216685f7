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

use super::{LOOK, Lines, say};
use crate::kind::WorkerCommand;
use crate::os::{Borrowed, Owned};

/// Disables Ctrl-C for the new group.
const NEW_PROCESS_GROUP: u32 = 0x200;

#[derive(Debug)]
pub(crate) struct Host {
    job: Job,
    gate: Gate,
}

#[derive(Debug)]
pub(crate) struct Link {
    says: Option<ChildStdin>,
    /// Write end of the answer pipe. Once it is passed, only the worker has it, so that its exit closes the pipe.
    answers: Option<PipeWriter>,
    /// Handles passed since the worker's last answer; after an answer the worker owns its duplicates.
    given: Vec<Given>,
    lines: Lines<Answers>,
}

/// Numbers of handles.
#[derive(Debug, Serialize, Deserialize)]
struct Handed {
    data: u64,
    barrier: u64,
    answers: u64,
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
        let (hears, answers) = io::pipe()?;
        let mut child = Command::new(&command.program)
            .args(&command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .creation_flags(NEW_PROCESS_GROUP)
            .spawn()?;
        let says = child.stdin.take();
        let lines = Lines::new(Answers::listen(hears));
        Ok((child, Link { says, answers: Some(answers), given: Vec::new(), lines }))
    }

    pub(crate) fn hand_all(&self, worker: &Child, link: &mut Link, data: Borrowed<'_>) -> io::Result<()> {
        let Some(answers) = link.answers.take() else {
            return Err(io::Error::other("it already has all it needs"));
        };
        let to = worker.as_handle();
        self.job.add(to)?;
        let handed = Handed {
            data: link.give(data, to)?,
            barrier: link.give(self.gate.as_handle(), to)?,
            answers: link.give(answers.as_handle(), to)?,
        };
        link.say(&handed)
    }

    pub(crate) fn hand_data(&self, worker: &Child, link: &mut Link, data: Borrowed<'_>) -> io::Result<()> {
        let data = link.give(data, worker.as_handle())?;
        link.say(&HandedData { data })
    }

    pub(crate) fn let_go(&mut self) -> io::Result<()> {
        self.gate.open()
    }
}

impl Link {
    fn give(&mut self, open: Borrowed<'_>, to: Borrowed<'_>) -> io::Result<u64> {
        let given = give(open, to)?;
        let number = given.number();
        self.given.push(given);
        Ok(number)
    }

    pub(crate) fn say(&mut self, message: &impl Serialize) -> io::Result<()> {
        let says = self.says.as_mut().ok_or_else(|| io::Error::other("it has no standard input"))?;
        say(says, message)
    }

    pub(crate) fn hear<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        let heard = self.lines.hear()?;
        if heard.is_some() {
            self.given.clear();
        }
        Ok(heard)
    }
}

/// A worker's answers, read by a thread because reads from a pipe have no timeout.
#[derive(Debug)]
struct Answers {
    pieces: Receiver<io::Result<Vec<u8>>>,
    left: VecDeque<u8>,
}

impl Answers {
    fn listen(mut from: PipeReader) -> Self {
        let (to, pieces) = channel();
        std::thread::spawn(move || {
            loop {
                let mut piece = vec![0; 4096];
                let heard = from.read(&mut piece).map(|length| {
                    piece.truncate(length);
                    piece
                });
                let ended = heard.as_ref().map_or(true, Vec::is_empty);
                if to.send(heard).is_err() || ended {
                    return;
                }
            }
        });
        Self { pieces, left: VecDeque::new() }
    }
}

impl Read for Answers {
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
    answers: Option<File>,
}

#[derive(Debug)]
pub(crate) struct Barrier(Gate);

impl Guest {
    /// The run's job ends this process with the run.
    pub(crate) fn join() -> io::Result<Self> {
        let says = io::stdin().as_handle().try_clone_to_owned()?;
        Ok(Self { lines: Lines::new(says.into()), answers: None })
    }

    pub(crate) fn take_all(&mut self) -> io::Result<(Owned, Barrier)> {
        let handed: Handed =
            self.hear().map_err(|error| io::Error::new(error.kind(), "no task was passed"))?;
        self.answers = Some(take(handed.answers)?.into());
        Ok((take(handed.data)?, Barrier(take(handed.barrier)?.into())))
    }

    pub(crate) fn take_data(&mut self) -> io::Result<Owned> {
        let handed: HandedData = self.hear()?;
        take(handed.data)
    }

    /// Always succeeds: the worker was in the run's job before it got its task, so it cannot outlive the run.
    pub(crate) fn check_parent(&self, _run: u32) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn say(&mut self, message: &impl Serialize) -> io::Result<()> {
        let answers = self.answers.as_mut().ok_or_else(|| io::Error::other("no task was passed"))?;
        say(answers, message)
    }

    pub(crate) fn hear<M: DeserializeOwned>(&mut self) -> io::Result<M> {
        self.lines.hear()?.ok_or_else(|| io::Error::other("the run does not answer"))
    }
}

impl Barrier {
    pub(crate) fn wait(self) {
        let _ = self.0.wait();
    }
}
