//! Linux: a socket that passes descriptors.

use std::io::{self, IoSlice, IoSliceMut, PipeReader, PipeWriter, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::message::{LOOK, Lines, say};
use crate::kind::WorkerCommand;
use crate::os::{Borrowed, Owned};

/// The run's end of the connection to all workers of a block.
#[derive(Debug)]
pub(crate) struct Host {
    waits: PipeReader,
    /// The end of the barrier that lets all go when it is closed.
    lets_go: Option<PipeWriter>,
}

/// A run's end of what joins it to one worker.
#[derive(Debug)]
pub(crate) struct Link(Lines<UnixStream>);

impl Host {
    pub(crate) fn new() -> io::Result<Self> {
        let (waits, lets_go) = io::pipe()?;
        Ok(Self { waits, lets_go: Some(lets_go) })
    }

    /// Starts a worker.
    pub(crate) fn start(&self, command: &WorkerCommand) -> io::Result<(Child, Link)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(LOOK))?;
        let child = Command::new(&command.program)
            .args(&command.arguments)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok((child, Link(Lines::new(ours))))
    }

    /// Hands the data directory and the barrier over.
    pub(crate) fn hand_all(&self, _worker: &Child, link: &mut Link, data: Borrowed<'_>) -> io::Result<()> {
        hand_over(&link.0.from, &[data, self.waits.as_fd()])
    }

    /// Hands the data directory over once more.
    pub(crate) fn hand_data(&self, _worker: &Child, link: &mut Link, data: Borrowed<'_>) -> io::Result<()> {
        hand_over(&link.0.from, &[data])
    }

    /// Lets all go who wait at the barrier.
    pub(crate) fn let_go(&mut self) -> io::Result<()> {
        self.lets_go = None;
        Ok(())
    }
}

impl Link {
    pub(crate) fn say(&mut self, message: &impl Serialize) -> io::Result<()> {
        say(&mut self.0.from, message)
    }

    /// Returns the next message; `None` where nothing came within [`LOOK`].
    pub(crate) fn hear<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        self.0.hear()
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

/// A worker's end of what joins it to its run.
#[derive(Debug)]
pub(crate) struct Guest(Lines<UnixStream>);

/// Barrier at which a worker waits.
#[derive(Debug)]
pub(crate) struct Barrier(OwnedFd);

impl Guest {
    /// Joins the run that started this process; from now on it ends when the run's process does.
    pub(crate) fn join() -> io::Result<Self> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        Ok(Self(Lines::new(socket)))
    }

    /// Takes the data directory and the barrier over.
    pub(crate) fn take_all(&mut self) -> io::Result<(Owned, Barrier)> {
        let Ok([data, barrier]) = <[OwnedFd; 2]>::try_from(take_over(&self.0.from)?) else {
            return Err(io::Error::other("no task was handed over"));
        };
        Ok((data, Barrier(barrier)))
    }

    /// Takes the data directory over.
    pub(crate) fn take_data(&mut self) -> io::Result<Owned> {
        take_over(&self.0.from)?.pop().ok_or_else(|| io::Error::other("no directory was handed over"))
    }

    /// Checks that this is still the child of the run, which may have ended before its death could be signalled.
    pub(crate) fn check_parent(&self, run: u32) -> io::Result<()> {
        let parent = getppid().map(|parent| parent.as_raw_nonzero().get().unsigned_abs());
        if parent == Some(run) { Ok(()) } else { Err(io::Error::other("the run that started it has ended")) }
    }

    pub(crate) fn say(&mut self, message: &impl Serialize) -> io::Result<()> {
        say(&mut self.0.from, message)
    }

    /// Returns the next message.
    pub(crate) fn hear<M: DeserializeOwned>(&mut self) -> io::Result<M> {
        self.0.hear()?.ok_or_else(|| io::Error::other("the run says nothing"))
    }
}

impl Barrier {
    /// Waits until the run lets all go.
    pub(crate) fn wait(self) {
        // Nothing is ever written into it: it gives its end when all may go.
        let _ = std::fs::File::from(self.0).read(&mut [0]);
    }
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
