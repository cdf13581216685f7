//! Names that other programs change in the old directory, by inotify.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use crate::dir::Dir;

const BUFFER_BYTES: usize = 64 << 10;

pub(super) struct Watch(OwnedFd);

pub(super) enum Changed {
    Names(BTreeSet<Box<[u8]>>),
    /// Some names are unknown.
    All,
}

impl Watch {
    /// `None` without inotify, or if the user has no watch left.
    pub(super) fn of(directory: &Dir) -> Option<Self> {
        let descriptor = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        let changes = WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::MOVED_TO;
        inotify::add_watch(&descriptor, directory.readable_path().ok()?, changes).ok()?;
        Some(Self(descriptor))
    }

    /// Names since the last call.
    pub(super) fn changed(&self) -> Changed {
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut events = inotify::Reader::new(&self.0, &mut buffer);
        let mut names = BTreeSet::new();
        loop {
            match events.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => return Changed::All,
                Ok(event) => names.extend(event.file_name().map(|name| Box::from(name.to_bytes()))),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Changed::Names(names),
                Err(_) => return Changed::All,
            }
        }
    }
}
