//! Linux: a Unix socket that passes descriptors.

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

use super::{LOOK, Lines, send};
use crate::kind::WorkerCommand;
use crate::os::{Borrowed, Owned};

/// The run's side: both ends of the barrier's pipe. Workers get a copy of the read end.
#[derive(Debug)]
pub(crate) struct Host {
    waits: PipeReader,
    /// Closing the write end of the barrier pipe releases all workers.
    lets_go: Option<PipeWriter>,
}

pub(crate) type Link = Lines<UnixStream>;

impl Host {
    pub(crate) fn new() -> io::Result<Self> {
        let (waits, lets_go) = io::pipe()?;
        Ok(Self { waits, lets_go: Some(lets_go) })
    }

    pub(crate) fn start(&self, command: &WorkerCommand) -> io::Result<(Child, Link)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(LOOK))?;
        let child = Command::new(&command.program)
            .args(&command.arguments)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok((child, Lines::new(ours)))
    }

    pub(crate) fn hand_all(&self, _worker: &Child, link: &mut Link, data: Borrowed<'_>) -> io::Result<()> {
        hand_over(link.from.get_ref(), &[data, self.waits.as_fd()])
    }

    pub(crate) fn hand_data(&self, _worker: &Child, link: &mut Link, data: Borrowed<'_>) -> io::Result<()> {
        hand_over(link.from.get_ref(), &[data])
    }

    /// Closes the only write end, which lets the reads of all workers return at once.
    pub(crate) fn let_go(&mut self) -> io::Result<()> {
        self.lets_go = None;
        Ok(())
    }
}

impl Link {
    pub(crate) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        send(self.from.get_mut(), message)
    }
}

/// `SCM_RIGHTS` requires a byte of data.
///
/// Passes descriptors over the socket; the receiver gets descriptors of its own.
fn hand_over(socket: &UnixStream, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors for one message"));
    }
    sendmsg(socket, &[IoSlice::new(b"\n")], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

#[derive(Debug)]
pub(crate) struct Guest(Link);

#[derive(Debug)]
pub(crate) struct Barrier(OwnedFd);

impl Guest {
    /// Makes this process die with the run that started it.
    pub(crate) fn join() -> io::Result<Self> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        Ok(Self(Lines::new(socket)))
    }

    pub(crate) fn take_all(&mut self) -> io::Result<(Owned, Barrier)> {
        let Ok([data, barrier]) = <[OwnedFd; 2]>::try_from(take_over(self.0.from.get_ref())?) else {
            return Err(io::Error::other("no task was passed"));
        };
        Ok((data, Barrier(barrier)))
    }

    pub(crate) fn take_data(&mut self) -> io::Result<Owned> {
        take_over(self.0.from.get_ref())?.pop().ok_or_else(|| io::Error::other("no directory was passed"))
    }

    /// The run may have died before the death signal was set up.
    pub(crate) fn check_parent(&self, run: u32) -> io::Result<()> {
        let parent = getppid().map(|parent| parent.as_raw_nonzero().get().unsigned_abs());
        if parent == Some(run) { Ok(()) } else { Err(io::Error::other("the run that started it has exited")) }
    }

    pub(crate) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        self.0.send(message)
    }

    pub(crate) fn receive<M: DeserializeOwned>(&mut self) -> io::Result<M> {
        self.0.receive()?.ok_or_else(|| io::Error::other("the run does not answer"))
    }
}

impl Barrier {
    pub(crate) fn wait(self) {
        // The pipe never has data: `read` returns at its end, when the run closes it.
        let _ = std::fs::File::from(self.0).read(&mut [0]);
    }
}

/// Reads past the buffer of [`Lines`], which is empty here: the run sends descriptors first, later only after an answer.
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
