//! Reads a tree: threads collect rows and send events to the caller's thread.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use megadir::pace::Pace;
use megadir::{
    Dir, Error, FileType, Result, StatMask, TreeEvent, Walk, WalkItem, WalkOptions, WalkPart, names,
};

use super::gather::Gather;
use super::{Run, ScanWatch};
use crate::row::Facts;
use crate::volumes::{fsid, fsid_below};

const LOOK: Duration = Duration::from_millis(20);

enum Told {
    Failed(Error),
    Unexamined { directory: PathBuf, first: Vec<u8>, errno: i32, count: u64 },
    OtherMount(PathBuf),
}

struct Shared {
    read: AtomicU64,
    stop: AtomicBool,
    pace: Option<Arc<Pace>>,
}

struct Reader<'r> {
    part: WalkPart,
    gather: Gather<'r>,
    shared: &'r Shared,
    tell: Sender<Told>,
}

struct Watched<'w, 'f> {
    watch: &'w mut ScanWatch<'f>,
    read: u64,
    unread_directories: u64,
    mounts_not_entered: u64,
}

impl Run<'_> {
    pub(super) fn walk(
        &mut self,
        path: &Path,
        directory: Dir,
        options: &WalkOptions,
        watch: &mut ScanWatch<'_>,
    ) -> Result<ControlFlow<()>> {
        let (read, stop, pace) = (AtomicU64::new(self.read), AtomicBool::new(false), self.pace.clone());
        let shared = Shared { read, stop, pace };
        let mut watched = Watched { watch, read: self.read, unread_directories: 0, mounts_not_entered: 0 };
        let (tell, told) = unbounded();
        // Without search permission the root cannot be reopened, and none of its subdirectories opened.
        let (root, device) = (directory.again(), self.note_root_volume(&directory)?);
        let parts = Walk::parts(directory, options)?;
        let readers = parts.into_iter().map(|part| {
            let tell = tell.clone();
            Reader { part, gather: self.gather(path, device), shared: &shared, tell }
        });
        let mut readers: Vec<Reader<'_>> = readers.collect();
        drop(tell);
        let ended = match readers.pop() {
            // While a reader waits for its rate, another thread looks for a request to stop.
            Some(only) if readers.is_empty() && options.threads_max == 1 && shared.pace.is_none() => {
                watched.alone(only, &told)
            }
            last => {
                readers.extend(last);
                watched.threads(readers, &told)
            }
        };
        let ended = ended.map_err(|error| self.spill(error))?;
        self.read = watched.read;
        self.metadata.unread_directories += watched.unread_directories;
        self.metadata.scanned.mounts_not_entered += watched.mounts_not_entered;
        let Some(Ended { newest_ns, volumes }) = ended else { return Ok(ControlFlow::Break(())) };
        if let Some(top) = self.metadata.roots.last_mut() {
            top.newest_ns = newest_ns;
        }
        if let Ok(root) = root {
            self.note_volumes(&root, path, &volumes);
        }
        Ok(ControlFlow::Continue(()))
    }

    pub(super) fn note_volumes(&mut self, root: &Dir, path: &Path, volumes: &HashMap<u64, PathBuf>) {
        let cross_mounts = self.options.cross_mounts;
        let below = volumes.iter().filter_map(|(&device, at)| {
            let fsid = fsid_at(root, at.strip_prefix(path).ok()?, device, cross_mounts)?;
            Some((fsid, device))
        });
        self.volumes.extend(below);
    }

    fn note_root_volume(&mut self, directory: &Dir) -> Result<Option<u64>> {
        let device = device(directory)?;
        self.note_volume(directory, device);
        Ok(device)
    }

    pub(super) fn note_volume(&mut self, directory: &Dir, device: Option<u64>) {
        self.volumes.extend(device.and_then(|device| Some((fsid(directory)?, device))));
    }
}

fn device(directory: &Dir) -> Result<Option<u64>> {
    Ok(Facts::new(FileType::Directory, &directory.attributes(StatMask::DEVICE)?).device)
}

fn fsid_at(root: &Dir, path: &Path, on: u64, cross_mounts: bool) -> Option<String> {
    let (parent, name) = (path.parent()?, names::from_os(path.file_name()?));
    let mut directory = root.again().ok()?;
    for component in parent.components() {
        directory = directory.open_below(names::from_os(component.as_os_str())).ok()?;
    }
    fsid_below(&directory, name, on, cross_mounts)
}

#[derive(Default)]
struct Ended {
    newest_ns: Option<i64>,
    volumes: HashMap<u64, PathBuf>,
}

type Reading<'s> = ScopedJoinHandle<'s, io::Result<Ended>>;

impl Ended {
    fn join(&mut self, threads: Vec<Reading<'_>>) -> io::Result<()> {
        for thread in threads {
            let ended = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            self.newest_ns = self.newest_ns.max(ended.newest_ns);
            self.volumes.extend(ended.volumes);
        }
        Ok(())
    }
}

impl Watched<'_, '_> {
    fn alone(&mut self, mut reader: Reader<'_>, told: &Receiver<Told>) -> io::Result<Option<Ended>> {
        while reader.step()? {
            let mut flow = told.try_iter().try_for_each(|told| self.tell(&told));
            if flow.is_continue() {
                flow = self.count(reader.shared);
            }
            if flow.is_break() {
                return Ok(None);
            }
        }
        reader.end().map(Some)
    }

    fn threads(&mut self, readers: Vec<Reader<'_>>, told: &Receiver<Told>) -> io::Result<Option<Ended>> {
        let shared = readers.first().map(|reader| reader.shared);
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for reader in readers {
                match reader.start(scope) {
                    Ok(thread) => threads.push(thread),
                    // One thread is enough.
                    Err(error) if threads.is_empty() => return Err(error),
                    Err(_) => {}
                }
            }
            let mut flow = ControlFlow::Continue(());
            loop {
                let next = told.recv_timeout(LOOK);
                if let (Ok(told), ControlFlow::Continue(())) = (&next, flow) {
                    flow = self.tell(told);
                }
                if let (Some(shared), ControlFlow::Continue(())) = (shared, flow) {
                    flow = self.count(shared);
                }
                if let (Some(shared), ControlFlow::Break(())) = (shared, flow) {
                    shared.stop.store(true, Ordering::Relaxed);
                }
                if matches!(next, Err(RecvTimeoutError::Disconnected)) {
                    break;
                }
            }
            let mut all = Ended::default();
            all.join(threads)?;
            Ok(flow.is_continue().then_some(all))
        })
    }

    fn count(&mut self, shared: &Shared) -> ControlFlow<()> {
        let read = shared.read.load(Ordering::Relaxed);
        let is_same = std::mem::replace(&mut self.read, read) == read;
        // Readers that wait for their rate are no reason to ignore a request to stop.
        match is_same && shared.pace.is_none() {
            true => ControlFlow::Continue(()),
            false => (self.watch)(TreeEvent::Read(read)),
        }
    }

    fn tell(&mut self, told: &Told) -> ControlFlow<()> {
        (self.watch)(match told {
            Told::Failed(error) => {
                self.unread_directories += 1;
                TreeEvent::Failed(error)
            }
            Told::OtherMount(path) => {
                self.mounts_not_entered += 1;
                TreeEvent::OtherMount(path)
            }
            Told::Unexamined { directory, first, errno, count } => {
                TreeEvent::Unexamined { directory, first, errno: *errno, count: *count }
            }
        })
    }
}

impl<'r> Reader<'r> {
    fn start<'s>(self, scope: &'s Scope<'s, '_>) -> io::Result<Reading<'s>>
    where
        'r: 's,
    {
        let named = std::thread::Builder::new().name("megadir-scan".to_owned());
        named.spawn_scoped(scope, move || self.run(scope))
    }

    fn run<'s>(mut self, scope: &'s Scope<'s, '_>) -> io::Result<Ended>
    where
        'r: 's,
    {
        let mut started = Vec::new();
        while !self.shared.stop.load(Ordering::Relaxed) {
            match self.step() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.shared.stop.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
            if let Some(part) = self.part.another() {
                let (gather, tell) = (self.gather.beside(), self.tell.clone());
                // If the system refuses the thread, the others read on.
                started.extend(Self { part, gather, tell, shared: self.shared }.start(scope));
            }
        }
        let mut ended = self.end()?;
        ended.join(started)?;
        Ok(ended)
    }

    fn step(&mut self) -> io::Result<bool> {
        let Some(item) = self.part.next_item() else { return Ok(false) };
        let told = match item {
            WalkItem::Batch { directory, batch, attributes } => {
                let added = self.gather.batch(directory, batch, attributes)?;
                self.shared.read.fetch_add(added, Ordering::Relaxed);
                if let Some(pace) = &self.shared.pace {
                    let examined = batch.len() as u64;
                    return Ok(pace.wait(examined, || self.shared.stop.load(Ordering::Relaxed)));
                }
                None
            }
            WalkItem::End { directory } => {
                let block = self.gather.end(directory)?;
                block.and_then(|block| Some((block.rows.failed, block.first_failed?))).map(
                    |(count, first)| {
                        let (directory, (first, errno)) = (directory.to_path_buf(), first);
                        Told::Unexamined { directory, first, errno, count }
                    },
                )
            }
            WalkItem::Error(error) => {
                self.gather.error(error.path(), &words(&error))?;
                Some(Told::Failed(error))
            }
            WalkItem::OtherMount(path) => Some(Told::OtherMount(path)),
        };
        if let Some(told) = told {
            let _ = self.tell.send(told);
        }
        Ok(true)
    }

    fn end(mut self) -> io::Result<Ended> {
        self.gather.end_all()?;
        Ok(Ended { newest_ns: self.gather.newest_ns, volumes: self.gather.devices.first })
    }
}

pub(super) fn words(error: &Error) -> String {
    format!("{}: {}", error.operation(), error.reason())
}
