//! A worker empties directories down a tree with its own stack, at the rate and with the pauses of the removal.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::Scope;

use super::Shared;
use super::node::{FAILED, KEPT, Node};
use super::pool::Job;
use super::system::{self, Directory, Errno};
use super::turn::Turn;
use super::window::{Names, Window};
use crate::error::{Error, ErrorKind};
use crate::file_type::FileType;
use crate::remove::Counts;
use crate::threads::{OnPanic, REFUSAL};

const SMALL_ENTRIES: u64 = 64;
const FEW: usize = 16;
/// Waking another worker takes longer than removing a few entries: in a chain of directories two workers
/// would wait for each other at each level.
const OFFERED_AFTER: u32 = 32;
const REPORTED_AFTER: u64 = 128;

/// Directory on a worker's stack. `position` is where the next names are read, and `astray` is set if the descriptor
/// is elsewhere and has to be moved there first. `below` has the subdirectories that wait; `ended` is set once all
/// names were read. `is_part` marks a job of another worker: its directory is read by that one, and only the names in
/// `below` belong here.
pub(super) struct Frame {
    pub(super) node: Arc<Node>,
    pub(super) descriptor: Option<Arc<Directory>>,
    pub(super) below: Names,
    pub(super) ended: bool,
    pub(super) position: u64,
    pub(super) astray: bool,
    pub(super) is_part: bool,
    /// Names of `below` whose directories were read ahead.
    #[cfg_attr(windows, expect(dead_code, reason = "nothing is read ahead there"))]
    pub(super) ahead: usize,
}

impl Frame {
    /// Entries are read from the present position of the descriptor, or if it is `astray` from the start.
    pub(super) fn new(node: Arc<Node>, descriptor: Option<Arc<Directory>>, astray: bool) -> Self {
        let below = Names::default();
        Self { node, descriptor, below, ended: false, position: 0, astray, is_part: false, ahead: 0 }
    }
}

/// Owned by one thread; other workers get nothing from it but jobs in the pool. `shareable` and `oldest_open` are
/// indices into the stack below which nothing is left to share or to close, so that neither search begins at the
/// bottom again. `waiting_bytes` is the sum over all frames of the names in `below`. Counts are added to those of the
/// call in groups (`unreported`), because all workers add to the same numbers.
pub(super) struct Worker<'scope, 'env, 'a> {
    pub(super) shared: &'env Shared<'a>,
    pub(super) scope: &'scope Scope<'scope, 'env>,
    pub(super) stack: Vec<Frame>,
    /// Frames below this one have no names to share.
    shareable: usize,
    /// Frames below are closed.
    pub(super) oldest_open: usize,
    pub(super) open: usize,
    /// Usually near the next part. `None` where directories must be closed before removal.
    pub(super) last: Option<(Arc<Node>, Arc<Directory>)>,
    /// Several if handing over costs more than removing.
    few: usize,
    waiting_bytes: usize,
    window: Option<Window>,
    pub(super) turn: Turn<'a>,
    pub(super) counts: Counts,
    unreported: u64,
    unoffered: u32,
}

impl<'scope, 'env, 'a> Worker<'scope, 'env, 'a> {
    pub(super) fn new(shared: &'env Shared<'a>, scope: &'scope Scope<'scope, 'env>) -> Self {
        let window = Some(Window::new(shared.window_bytes_max, shared.order));
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
            turn: Turn::new(shared.options, shared.progress),
            counts: Counts::default(),
            unreported: 0,
            unoffered: 0,
        }
    }

    pub(super) fn run(mut self) {
        let shared = self.shared;
        // Other workers would wait for its jobs forever.
        let _closes = OnPanic(|| shared.pool.close());
        self.work();
        while let Some(job) = self.shared.pool.take() {
            self.push_job(job, None);
            self.work();
        }
        self.report_counts();
    }

    fn push_job(&mut self, job: Job, descriptor: Option<Arc<Directory>>) {
        self.waiting_bytes += job.below.bytes();
        let frame = Frame::new(job.node, descriptor, true);
        self.push(Frame { below: job.below, ended: true, is_part: true, ..frame });
    }

    /// One step for the directory on top of the stack, until the stack is empty:
    ///
    /// ```text
    /// job of this directory in the pool? take it back     names wait? enter the next     all were read? leave     else read a window
    /// ```
    ///
    /// The order keeps the work together: a job that no other worker took is taken back while its directory is open,
    /// and subdirectories are entered before more names are read, so that few names wait. After a cancellation the
    /// pool is closed, since other workers wait in it.
    fn work(&mut self) {
        while let Some(top) = self.stack.last_mut() {
            if self.shared.progress.is_cancelled() {
                self.shared.pool.close();
                self.stack.clear();
                break;
            }
            // Workers stay close: on XFS, consecutive directories are in different allocation groups.
            if !top.is_part
                && let Some(job) = self.shared.pool.take_back(&top.node)
            {
                let descriptor = top.descriptor.clone();
                self.push_job(job, descriptor);
                continue;
            }
            if !top.below.is_empty() {
                self.read_below_ahead();
            }
            let Some(top) = self.stack.last_mut() else { break };
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
        self.report_counts();
    }

    pub(super) fn push(&mut self, frame: Frame) {
        self.open += usize::from(frame.descriptor.is_some());
        self.stack.push(frame);
        while self.open > self.shared.open_max && self.close_oldest() {}
    }

    pub(super) fn pop(&mut self) -> Option<Frame> {
        let frame = self.stack.pop()?;
        self.open -= usize::from(frame.descriptor.is_some());
        let top = self.stack.len().saturating_sub(1);
        self.shareable = self.shareable.min(top);
        self.oldest_open = self.oldest_open.min(top);
        Some(frame)
    }

    /// Closes the directory needed last; `false` if only the top is open.
    pub(super) fn close_oldest(&mut self) -> bool {
        let top = self.stack.len().saturating_sub(1);
        while self.oldest_open < top {
            let frame = &mut self.stack[self.oldest_open];
            self.oldest_open += 1;
            let Some(descriptor) = &frame.descriptor else { continue };
            if !system::SEEKS && !frame.ended {
                continue;
            }
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

    fn share(&mut self) {
        if self.unoffered >= OFFERED_AFTER {
            self.unoffered = 0;
            (0..self.shared.pool.offer()).for_each(|_| self.start_another());
        }
        // Several threads would have the disk move between their places.
        if self.shared.options.workers.is_none() && self.shared.ahead.is_of_use() {
            return;
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

    /// Other workers find directories up to `index` by their identities.
    fn identify_to(&self, index: usize) -> Result<(), Errno> {
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
        let work = move || Worker::new(shared, scope).run();
        if REFUSAL.spawn(|| thread.spawn_scoped(scope, work)).is_err() {
            shared.pool.not_started();
        }
    }

    fn empty(&mut self) {
        if self.reopen_top().is_err() {
            return;
        }
        if !self.open_top_again() {
            return;
        }
        let Some(mut window) = self.window.take() else { return };
        let read = self.fill(&mut window);
        if read {
            self.note_directories(&mut window);
            window.sort();
            self.read_window_ahead(&window);
            self.remove_listed(&window);
        }
        self.window = Some(window);
    }

    /// In a second pass, opens the directory again: on sshfs a rewound handle lists nothing, and empties the directory for all
    /// processes for 20 seconds; on mergerfs one of a renamed directory lists another path. `false` if that fails.
    fn open_top_again(&mut self) -> bool {
        let Some(open_again) = system::OPEN_AGAIN else { return true };
        let Some(top) = self.stack.last() else { return false };
        let (node, Some(old)) = (Arc::clone(&top.node), top.descriptor.clone()) else { return true };
        if !top.astray || top.position != 0 || !self.is_second_pass(&node) {
            return true;
        }
        let opened = self.with_descriptors(|_| open_again(&old));
        let Some(top) = self.stack.last_mut() else { return false };
        match opened {
            Ok(opened) => {
                (top.descriptor, top.astray) = (Some(Arc::new(opened)), false);
                true
            }
            Err(error) => {
                top.ended = true;
                if error != Errno::NOENT {
                    self.fail(&node, b"", "open", error.into());
                }
                false
            }
        }
    }

    fn fill(&mut self, window: &mut Window) -> bool {
        let room = self.shared.room(self.waiting_bytes);
        let Some(Frame { node, descriptor: Some(descriptor), ended, position, astray, .. }) =
            self.stack.last_mut()
        else {
            return false;
        };
        let from = std::mem::take(astray).then_some(*position);
        let shared = self.shared;
        let bytes_max = if shared.ahead.is_of_use() { usize::MAX } else { shared.window_bytes };
        let filled = shared.ahead.observe(|| window.fill(descriptor, from, room, bytes_max, shared.progress));
        match filled {
            Ok(()) => true,
            Err(error) => {
                *ended = true;
                if error.raw_os_error() != Some(Errno::NOENT.raw_os_error()) {
                    let node = Arc::clone(node);
                    self.fail(&node, b"", "read", error);
                }
                false
            }
        }
    }

    /// Puts the subdirectories of a window aside and moves the position behind what was noted. If their names exceed
    /// the space, the window is cut before the directory that does not fit, and the rest is read again later; at
    /// least one name is always taken, or the removal would not advance. That needs a file system that can return to
    /// a position, else all are taken. Unknown types are looked up only where it matters, when the space is used up.
    /// If conditions let nothing below be seen, the directory ends with its first entries, because all of them stay.
    fn note_directories(&mut self, window: &mut Window) {
        let room = self.shared.room(self.waiting_bytes).of_one;
        let Some(frame) = self.stack.last_mut() else { return };
        let Some(descriptor) = &frame.descriptor else { return };
        let is_root = frame.node.parent.is_none();
        let before = frame.below.bytes();
        let (mut at, mut cut, mut holds_any) = (0, None, false);
        for record in window.listed() {
            let begins = at;
            at += usize::from(record.record_bytes);
            if record.is_dot() || (is_root && self.shared.options.keep == Some(record.name)) {
                frame.position = record.offset as u64;
                continue;
            }
            holds_any = true;
            let full = system::SEEKS && frame.below.bytes() > room && !frame.below.is_empty();
            let is_directory = match FileType::from_d_type(record.kind) {
                FileType::Directory => true,
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
        let is_seen = self.shared.options.sees_below(frame.node.place(self.shared.options.conditions));
        frame.ended = window.is_last || (!is_seen && holds_any);
        self.waiting_bytes += frame.below.bytes() - before;
    }

    /// Removes the files of a window in the order of the policy. Entries that turn out to be directories join the
    /// waiting names. Work is offered to others only after `OFFERED_AFTER` entries. The number of entries is also the
    /// estimate of what handing over costs: after a small directory, several names make one job.
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
            // In a large directory shared jobs would wait long; in a small one they come next anyway.
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

    pub(super) fn fail(&mut self, node: &Node, name: &[u8], operation: &'static str, error: std::io::Error) {
        let path = node.path(&self.shared.path, name);
        self.report_failure(node, Error::io(operation, &path, error));
    }

    pub(super) fn report_failure(&mut self, node: &Node, failure: Error) {
        node.stay(FAILED);
        self.counts.failures += 1;
        self.counts.mounts += u64::from(failure.kind() == ErrorKind::MountPoint);
        self.report_counts();
        (self.shared.options.on_failure)(failure);
    }

    pub(super) fn count(&mut self) {
        self.unreported += 1;
        if self.unreported >= REPORTED_AFTER {
            self.report_counts();
        }
    }

    pub(super) fn report_counts(&mut self) {
        self.shared.call.add(&self.counts);
        self.counts = Counts::default();
        self.unreported = 0;
    }
}
