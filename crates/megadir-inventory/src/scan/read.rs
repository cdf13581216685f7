//! Reads a tree: threads collect rows.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use megadir::collect::{Collect, Message, Progress, collect};
use megadir::pace::Pace;
use megadir::{Dir, Error, Result, TreeEvent, Walk, WalkItem, WalkOptions, names};

use super::gather::Gather;
use super::{Run, ScanWatch};
use crate::volumes::{Devices, Id, id, id_below};

struct Reader<'r> {
    gather: Gather<'r>,
    pace: Option<&'r Pace>,
}

impl Run<'_> {
    /// The root's volume is noted before the walk, and the volumes of the mounts met below after it, when all
    /// threads have collected the first place of each device number. Counts of unread directories and other
    /// mounts are taken from the events, which come to the caller's thread one after the other.
    pub(super) fn walk(
        &mut self,
        (path, device): (&Path, Option<u64>),
        directory: Dir,
        options: &WalkOptions,
        watch: &mut ScanWatch<'_>,
    ) -> Result<ControlFlow<()>> {
        // Without search permission the root cannot be reopened, and none of its subdirectories opened.
        let root = directory.again();
        self.note_volume(&directory, device);
        let parts = Walk::parts(directory, options)?;
        let (mut unread_directories, mut mounts_not_entered) = (0, 0);
        let mut counting = |event: TreeEvent<'_>| {
            match event {
                TreeEvent::Failed(_) => unread_directories += 1,
                TreeEvent::OtherMount(_) => mounts_not_entered += 1,
                _ => {}
            }
            watch(event)
        };
        let progress = Progress { read: AtomicU64::new(self.read), ..Progress::default() };
        let pace = self.pace.as_ref();
        // While a reader waits for its rate, another thread looks for a request to stop.
        let alone = options.threads_max == 1 && pace.is_none();
        let begin = || Reader { gather: self.gather(path, device), pace };
        let collected = collect(parts, begin, &progress, alone, &mut counting);
        let (flow, collected) = collected.map_err(|error| self.spill(error))?;
        self.read = progress.read.into_inner();
        self.metadata.unread_directories += unread_directories;
        self.metadata.scanned.mounts_not_entered += mounts_not_entered;
        if flow.is_break() {
            return Ok(flow);
        }
        let (newest_ns, devices): (Vec<_>, Vec<_>) = collected.into_iter().unzip();
        if let Some(top) = self.metadata.roots.last_mut() {
            top.newest_ns = newest_ns.into_iter().max().flatten();
        }
        if let Ok(root) = root {
            let all = devices.into_iter().fold(Devices::new(device), Devices::and);
            self.note_volumes(&root, path, &all);
        }
        Ok(flow)
    }

    pub(super) fn note_volumes(&mut self, root: &Dir, path: &Path, devices: &Devices) {
        let cross_mounts = self.options.cross_mounts;
        let below = devices.first.iter().filter_map(|(&device, at)| {
            let id = id_at(root, at.strip_prefix(path).ok()?, device, cross_mounts)?;
            let newest_ns = devices.newest_ns.get(&device).copied();
            let mount = id.mount.clone().map(|mount| crate::Root { newest_ns, ..mount });
            Some(Id { mount, ..id }.on(device))
        });
        self.volumes.extend(below.map(|volume| (volume.device, volume)));
    }

    pub(super) fn note_volume(&mut self, directory: &Dir, device: Option<u64>) {
        let volume = device.and_then(|device| Some(id(directory)?.on(device)));
        self.volumes.extend(volume.map(|volume| (volume.device, volume)));
    }
}

fn id_at(root: &Dir, path: &Path, on: u64, cross_mounts: bool) -> Option<Id> {
    let (parent, name) = (path.parent()?, names::from_os(path.file_name()?));
    let mut directory = root.again().ok()?;
    for component in parent.components() {
        directory = directory.open_below(names::from_os(component.as_os_str())).ok()?;
    }
    id_below(&directory, name, on, cross_mounts)
}

impl Collect<()> for Reader<'_> {
    const THREAD: &'static str = "megadir-scan";

    type Collected = (Option<i64>, Devices);

    fn beside(&self) -> Self {
        Self { gather: self.gather.beside(), pace: self.pace }
    }

    fn item(
        &mut self,
        item: WalkItem<'_>,
        _context: Option<&()>,
        progress: &Progress,
    ) -> io::Result<Option<Message>> {
        // Runs on the thread of the walk. Entries only add to this thread's gather; messages go through a
        // channel to the thread of the caller, who alone calls `watch`. The rate is kept here, after a buffer
        // was examined, so that a waiting thread holds no lock.
        Ok(match item {
            WalkItem::Batch { directory, batch, attributes } => {
                let added = self.gather.batch(directory, batch, attributes)?;
                progress.read.fetch_add(added, Ordering::Relaxed);
                if let Some(pace) = self.pace {
                    let _ = pace.wait(batch.len() as u64, || progress.stop.load(Ordering::Relaxed));
                }
                None
            }
            WalkItem::End { directory } => {
                let block = self.gather.end(directory)?;
                block.and_then(|block| Some((block.rows.failed, block.first_failed?))).map(
                    |(count, first)| {
                        let (directory, (first, errno)) = (directory.to_path_buf(), first);
                        Message::Unexamined { directory, first, errno, count }
                    },
                )
            }
            WalkItem::Error(error) => {
                self.gather.error(error.path(), &words(&error))?;
                Some(Message::Failed(error))
            }
            WalkItem::OtherMount(path) => Some(Message::OtherMount(path)),
        })
    }

    fn end(mut self) -> io::Result<Self::Collected> {
        self.gather.end_all()?;
        Ok((self.gather.newest_ns, self.gather.devices))
    }
}

pub(super) fn words(error: &Error) -> String {
    format!("{}: {}", error.operation(), error.reason())
}
