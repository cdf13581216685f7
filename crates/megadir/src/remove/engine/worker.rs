//! A worker: goes down a tree and empties directories, on a stack of its own.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::Scope;

use super::Shared;
use super::names::Names;
use super::node::{FAILED, KEPT, Node};
use super::pool::Job;
use super::system::{self, Directory, Errno};
use super::window::Window;
use crate::error::{Error, ErrorKind};
use crate::file_type::FileType;
use crate::remove::Counts;

/// Directories with fewer entries are given away several at a time.
const SMALL_ENTRIES: u64 = 64;
/// So many.
const FEW: usize = 16;
/// After this many entries a worker offers the jobs that it could not take back itself. Waking another worker takes longer than
/// removing a few entries: in a chain of directories two workers would wait for each other at each level.
const OFFERED_AFTER: u32 = 32;
/// Entries that a worker counts for itself before others see it.
const TOLD_AFTER: u64 = 128;

/// A directory on a worker's stack.
pub(super) struct Frame {
    pub(super) node: Arc<Node>,
    /// `None` while it is closed, to be opened again when the worker comes back to it.
    pub(super) descriptor: Option<Arc<Directory>>,
    /// Directories that were listed and neither gone into nor given away.
    pub(super) below: Names,
    /// Whether there is nothing more to read.
    pub(super) ended: bool,
    /// The position after what has been read.
    pub(super) position: u64,
    /// The descriptor is at another position.
    pub(super) astray: bool,
    /// A part that was given away: who reads the directory has a frame of it too.
    pub(super) is_part: bool,
}

/// One thread of a removal.
pub(super) struct Worker<'scope, 'env, 'a> {
    pub(super) shared: &'env Shared<'a>,
    pub(super) scope: &'scope Scope<'scope, 'env>,
    /// Directories, each in the one before it.
    pub(super) stack: Vec<Frame>,
    /// No frame below this one has names to give away.
    shareable: usize,
    /// No frame below this one is open.
    pub(super) oldest_open: usize,
    /// Frames that are open.
    pub(super) open: usize,
    /// The directory of which a part was done last: the next part is mostly of the same or of one below it. `None` where directories
    /// are closed before they go.
    pub(super) last: Option<(Arc<Node>, Arc<Directory>)>,
    /// How many directories are given away at a time: one if they are large, several if handing over would cost more than they do.
    few: usize,
    /// What all names that wait take, bytes.
    waiting_bytes: usize,
    window: Option<Window>,
    /// A place in time that was waited for, and that nothing has taken yet.
    pub(super) has_place: bool,
    pub(super) counts: Counts,
    untold: u64,
    /// Entries since jobs were last offered to other workers.
    unoffered: u32,
}

impl<'scope, 'env, 'a> Worker<'scope, 'env, 'a> {
    pub(super) fn new(shared: &'env Shared<'a>, scope: &'scope Scope<'scope, 'env>) -> Self {
        let window = Some(Window::new(shared.window_bytes, shared.order));
        Self {
            shared,
            scope,
            stack: Vec::new(),
            shareable: 0,
            oldest_open: 0,
            open: 0,
            last: None,
            few: 1,
            waiting_bytes: 0,
            window,
            has_place: false,
            counts: Counts::default(),
            untold: 0,
            unoffered: 0,
        }
    }

    /// Does what is on the stack, and then jobs until there are none any more.
    pub(super) fn run(mut self) {
        let _closes = CloseOnPanic(self.shared);
        self.work();
        while let Some(job) = self.shared.pool.take() {
            self.push_job(job, None);
            self.work();
        }
        self.tell();
    }

    fn push_job(&mut self, job: Job, descriptor: Option<Arc<Directory>>) {
        self.waiting_bytes += job.below.bytes();
        self.push(Frame {
            node: job.node,
            descriptor,
            below: job.below,
            ended: true,
            position: 0,
            astray: true,
            is_part: true,
        });
    }

    /// Works until the stack is empty or the removal is to end.
    fn work(&mut self) {
        while let Some(top) = self.stack.last_mut() {
            if self.shared.progress.is_cancelled() {
                self.shared.pool.close();
                self.stack.clear();
                break;
            }
            // What was given away and not taken goes first, so that workers stay side by side: directories made one after another
            // lie in different allocation groups (XFS), those half a directory apart may all lie in the same.
            if !top.is_part
                && let Some(job) = self.shared.pool.take_back(&top.node)
            {
                let descriptor = top.descriptor.clone();
                self.push_job(job, descriptor);
                continue;
            }
            let before = top.below.bytes();
            if let Some(name) = top.below.take() {
                self.waiting_bytes -= before - top.below.bytes();
                self.unoffered += 1;
                self.share();
                self.enter(name);
            } else if top.ended {
                self.leave();
            } else {
                self.empty();
            }
        }
        (self.shareable, self.oldest_open, self.open, self.waiting_bytes) = (0, 0, 0, 0);
        self.tell();
    }

    /// Puts a directory on the stack.
    pub(super) fn push(&mut self, frame: Frame) {
        self.open += usize::from(frame.descriptor.is_some());
        self.stack.push(frame);
        while self.open > self.shared.open_max && self.close_oldest() {}
    }

    /// Takes the top off the stack.
    pub(super) fn pop(&mut self) -> Option<Frame> {
        let frame = self.stack.pop()?;
        self.open -= usize::from(frame.descriptor.is_some());
        let top = self.stack.len().saturating_sub(1);
        self.shareable = self.shareable.min(top);
        self.oldest_open = self.oldest_open.min(top);
        Some(frame)
    }

    /// Closes the directory that will be needed last; false where only the top is open.
    pub(super) fn close_oldest(&mut self) -> bool {
        let top = self.stack.len().saturating_sub(1);
        while self.oldest_open < top {
            let frame = &mut self.stack[self.oldest_open];
            self.oldest_open += 1;
            let Some(descriptor) = &frame.descriptor else { continue };
            // Elsewhere its position would be lost.
            if !system::SEEKS && !frame.ended {
                continue;
            }
            // Without its identity nobody finds back to it.
            if frame.node.identity().is_none() {
                match system::identity(descriptor) {
                    Ok(identity) => frame.node.identify(identity),
                    Err(_) => continue,
                }
            }
            frame.descriptor = None;
            frame.astray = true;
            self.open -= 1;
            return true;
        }
        false
    }

    /// Gives directories that wait, of those highest up, to other workers that have few.
    fn share(&mut self) {
        if self.unoffered >= OFFERED_AFTER {
            self.unoffered = 0;
            (0..self.shared.pool.offer()).for_each(|_| self.start_another());
        }
        while self.shared.pool.is_hungry() {
            let Some(frame) = self.stack.get(self.shareable) else { return };
            if !frame.below.is_empty() {
                let node = Arc::clone(&frame.node);
                if self.identify_to(self.shareable).is_err() {
                    return;
                }
                let names = &mut self.stack[self.shareable].below;
                let before = names.bytes();
                let below = names.take_few(self.few);
                self.waiting_bytes -= before - names.bytes();
                node.add_part();
                self.shared.pool.push(Job { node, below });
                continue;
            }
            if self.shareable + 1 >= self.stack.len() {
                return;
            }
            self.shareable += 1;
        }
    }

    /// Notes what the directories up to one on the stack are known by, so that others find back to them.
    fn identify_to(&self, index: usize) -> Result<(), Errno> {
        // Who has been identified was so with all above; those that are closed have been.
        for frame in self.stack[..=index].iter().rev() {
            match &frame.descriptor {
                Some(descriptor) if frame.node.identity().is_none() => {
                    frame.node.identify(system::identity(descriptor)?);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn start_another(&self) {
        let number = self.shared.threads.fetch_add(1, Ordering::Relaxed);
        let (shared, scope) = (self.shared, self.scope);
        let thread = std::thread::Builder::new().name(format!("megadir-remove-{number}"));
        // Fewer threads do the same work.
        let work = move || {
            if shared.options.own_tables
                && let Some(own_table) = system::OWN_TABLE
            {
                own_table();
            }
            Worker::new(shared, scope).run();
        };
        if thread.spawn_scoped(scope, work).is_err() {
            shared.pool.not_started();
        }
    }

    /// Reads a window of the directory on top of the stack and removes what is in it; directories wait.
    fn empty(&mut self) {
        if self.reopen_top().is_err() {
            return;
        }
        let Some(mut window) = self.window.take() else { return };
        let read = self.fill(&mut window);
        if read {
            self.note_directories(&mut window);
            window.sort();
            self.remove_listed(&window);
        }
        self.window = Some(window);
    }

    /// Reads a window; false if there is nothing to do about what it holds.
    fn fill(&mut self, window: &mut Window) -> bool {
        let room = self.shared.room(self.waiting_bytes);
        let Some(Frame { node, descriptor: Some(descriptor), ended, position, astray, .. }) =
            self.stack.last_mut()
        else {
            return false;
        };
        let from = std::mem::take(astray).then_some(*position);
        match window.fill(descriptor, from, room, self.shared.progress) {
            Ok(()) => true,
            Err(error) => {
                *ended = true;
                // Removed by somebody else.
                if error.raw_os_error() != Some(Errno::NOENT.raw_os_error()) {
                    let node = Arc::clone(node);
                    self.fail(&node, b"", "read", error);
                }
                false
            }
        }
    }

    /// Has the directories of a window wait, as many as there is room for: from the next on, the window is read again later.
    fn note_directories(&mut self, window: &mut Window) {
        let room = self.shared.room(self.waiting_bytes).of_one;
        let Some(frame) = self.stack.last_mut() else { return };
        let Some(descriptor) = &frame.descriptor else { return };
        let is_root = frame.node.parent.is_none();
        let before = frame.below.bytes();
        let (mut at, mut cut) = (0, None);
        for record in window.listed() {
            let begins = at;
            at += usize::from(record.record_bytes);
            if record.is_dot() || (is_root && self.shared.options.keep == Some(record.name)) {
                frame.position = record.offset as u64;
                continue;
            }
            let full = system::SEEKS && frame.below.bytes() > room && !frame.below.is_empty();
            let is_directory = match FileType::from_d_type(record.kind) {
                FileType::Directory => true,
                // Seldom: otherwise removing it tells.
                FileType::Unknown if full => system::kind_of(descriptor, record.name) == FileType::Directory,
                _ => false,
            };
            if is_directory {
                if full {
                    cut = Some(begins);
                    break;
                }
                frame.below.push(record.c_name());
            }
            frame.position = record.offset as u64;
        }
        if let Some(bytes) = cut {
            window.cut(bytes);
            frame.astray = true;
        }
        frame.ended = window.is_last;
        self.waiting_bytes += frame.below.bytes() - before;
    }

    /// Removes everything in a window that is not known to be a directory.
    fn remove_listed(&mut self, window: &Window) {
        let Some(frame) = self.stack.last() else { return };
        let Some(descriptor) = frame.descriptor.clone() else { return };
        let node = Arc::clone(&frame.node);
        let keep = self.shared.options.keep.filter(|_| node.parent.is_none());
        let mut entries = 0;
        for record in window.ordered() {
            let kind = FileType::from_d_type(record.kind);
            if kind == FileType::Directory || record.is_dot() || keep == Some(record.name) {
                continue;
            }
            if self.shared.progress.is_cancelled() {
                return;
            }
            entries += 1;
            self.unoffered += 1;
            // Directories may wait long for the end of a large one; the end of a small one is near, and its directories are next.
            if entries > u64::from(OFFERED_AFTER) {
                self.share();
            }
            if self.remove_entry(&node, &descriptor, record.c_name(), kind).is_directory()
                && let Some(frame) = self.stack.last_mut()
            {
                let before = frame.below.bytes();
                frame.below.push(record.c_name());
                self.waiting_bytes += frame.below.bytes() - before;
            }
        }
        self.few = if entries < SMALL_ENTRIES { FEW } else { 1 };
        if keep.is_some() {
            node.stay(KEPT);
        }
    }

    /// Tells of a failure at an entry; of the directory itself where the name is empty.
    pub(super) fn fail(&mut self, node: &Node, name: &[u8], operation: &'static str, error: std::io::Error) {
        let path = node.path(&self.shared.path, name);
        self.tell_failure(node, Error::io(operation, &path, error));
    }

    pub(super) fn tell_failure(&mut self, node: &Node, failure: Error) {
        node.stay(FAILED);
        self.counts.failures += 1;
        self.counts.mounts += u64::from(failure.kind() == ErrorKind::MountPoint);
        self.tell();
        self.shared.fail(failure);
    }

    /// Counts what has been removed.
    pub(super) fn count(&mut self) {
        self.untold += 1;
        if self.untold >= TOLD_AFTER {
            self.tell();
        }
    }

    /// Lets others see what this worker has counted.
    pub(super) fn tell(&mut self) {
        self.shared.progress.add(&self.counts);
        self.counts = Counts::default();
        self.untold = 0;
    }
}

/// Closes the pool when its thread panics: the others would wait for what it might have added.
struct CloseOnPanic<'env, 'a>(&'env Shared<'a>);

impl Drop for CloseOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.pool.close();
        }
    }
}
