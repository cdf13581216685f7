//! Queue of directories waiting to be read: last in, first out, bounded. Workers beyond the first few take
//! directories only while reading waits for the device.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use super::Opened;
use super::ahead::Ahead;
use crate::attributes::Time;
use crate::dir::Dir;
use crate::stat::Examine;
use crate::threads::lock;
use crate::tree_path::TreePath;

#[derive(Debug)]
pub(super) enum Pending<C> {
    Root(Box<Opened<C>>),
    Below { parent: Arc<Opened<C>>, subdirectory: Subdirectory },
    Later(Later<C>),
}

/// Directory that could not be opened because too many files were open. It holds none open, not even its parent, and is opened from the
/// root on when no other directory is.
#[derive(Debug)]
pub(super) struct Later<C> {
    pub(super) path: TreePath,
    pub(super) context: C,
    pub(super) inode: Option<u64>,
    pub(super) changed: Option<Time>,
}

#[derive(Debug)]
pub(super) struct Subdirectory {
    pub(super) name: Box<[u8]>,
    /// Inode number of the directory entry, for the order only.
    pub(super) order: u64,
    /// Known if its attributes were read.
    pub(super) inode: Option<u64>,
    /// Time of change, as `inode`.
    pub(super) changed: Option<Time>,
}

/// `state` is locked for single pushes and pops, never during a system call. There are two conditions,
/// because admitted workers wait for directories and the others for admission. Fields outside the lock are
/// written once or are atomic.
///
/// ```text
/// push: full -> the worker enters the directory itself (depth first, in its own stack)
/// pop:  last in first out; empty and others work -> wait on `changed`; not admitted -> wait on `admitted`; all idle -> end
/// ```
pub(super) struct Queue<C> {
    state: Mutex<State<C>>,
    changed: Condvar,
    admitted: Condvar,
    /// Directories waited, no worker did, and one is left to be started.
    is_another_wanted: AtomicBool,
    workers_min: usize,
    workers_max: usize,
    length_max: usize,
    pub(super) ahead: Ahead,
    /// Names of directories that may be listed again.
    pub(super) names_held: Arc<AtomicUsize>,
    /// For directories that are opened later.
    pub(super) root: OnceLock<Arc<Dir>>,
    /// Waits for a free descriptor since one of these directories was opened.
    pub(super) waits: AtomicUsize,
}

/// Number of a worker, and its stat backend.
pub(super) type Seat = (usize, Option<Box<dyn Examine>>);

/// Invariant: the walk is over when `pending` and `later` are empty and `working` is 0, because only a
/// working worker can add directories. A worker counts as working from the start, before its first `pop`.
/// `later` are directories that had no free descriptor: they are opened from the root, once nothing else
/// is open. `taken` keeps a worker from being woken for each directory of a narrow tree.
struct State<C> {
    pending: Vec<Pending<C>>,
    later: Vec<Later<C>>,
    working: usize,
    waiting: usize,
    /// Since a worker was last woken.
    taken: usize,
    /// Only workers with a lower number take directories.
    admitted: usize,
    started: usize,
    examine: Vec<Box<dyn Examine>>,
    /// Workers that ended before their first step.
    not_started: Vec<Seat>,
    /// Looks in succession that found no waiting.
    looks_without: usize,
    closed: bool,
}

/// In a chain, waking takes longer than reading.
const FEW: usize = 8;

/// Looks in succession without waiting for the device until a worker leaves.
const LOOKS_TO_LEAVE: usize = 16;

impl<C> Queue<C> {
    /// `workers_min` workers take directories from the start, others only while reading waits, each with one of `examine`.
    pub(super) fn new(
        (workers_min, workers_max): (usize, usize),
        length_max: usize,
        examine: Vec<Box<dyn Examine>>,
        ahead: Ahead,
    ) -> Self {
        // All of `workers_min` count as working before they have started, so that the first one cannot find
        // an empty queue with no one working and end the walk while others start.
        let state = State {
            pending: Vec::new(),
            later: Vec::new(),
            working: workers_min,
            waiting: 0,
            taken: FEW,
            admitted: workers_min,
            started: workers_min,
            examine,
            not_started: Vec::new(),
            looks_without: 0,
            closed: false,
        };
        let (changed, admitted) = (Condvar::new(), Condvar::new());
        let is_another_wanted = AtomicBool::new(false);
        Self {
            state: Mutex::new(state),
            changed,
            admitted,
            is_another_wanted,
            workers_min,
            workers_max,
            length_max,
            ahead,
            names_held: Arc::default(),
            root: OnceLock::new(),
            waits: AtomicUsize::new(0),
        }
    }

    /// Admits another worker if a worker waited for the device, and lets one go if none has waited for long.
    /// `true` if one of those admitted must be started.
    pub(super) fn note(&self, waited: bool) -> bool {
        let mut state = lock(&self.state);
        if waited {
            state.looks_without = 0;
            let has_room = state.admitted < self.workers_max;
            state.admitted += usize::from(has_room);
            let is_new = has_room && state.admitted > state.started;
            let may_start = is_new || state.not_started.iter().any(|(number, _)| *number < state.admitted);
            drop(state);
            if has_room {
                self.admitted.notify_all();
            }
            return may_start;
        }
        state.looks_without += 1;
        if state.looks_without >= LOOKS_TO_LEAVE && state.admitted > self.workers_min {
            state.looks_without = 0;
            state.admitted -= 1;
        }
        false
    }

    /// `true` once each time that another worker is wanted for directories that wait.
    pub(super) fn needs_another_worker(&self) -> bool {
        self.is_another_wanted.load(Ordering::Relaxed)
            && self.is_another_wanted.swap(false, Ordering::Relaxed)
    }

    pub(super) fn start(&self) -> Option<Seat> {
        let mut state = lock(&self.state);
        if state.closed {
            return None;
        }
        let admitted = state.admitted;
        let seats = state.not_started.iter().enumerate().filter(|(_, (number, _))| *number < admitted);
        if let Some((at, _)) = seats.min_by_key(|(_, (number, _))| *number) {
            state.working += 1;
            return Some(state.not_started.swap_remove(at));
        }
        if state.started >= state.admitted {
            return None;
        }
        state.started += 1;
        state.working += 1;
        Some((state.started - 1, state.examine.pop()))
    }

    /// For a worker whose thread could not be started, so that the others do not wait for it.
    pub(super) fn not_started(&self, seat: Seat) {
        let mut state = lock(&self.state);
        state.working -= 1;
        state.not_started.push(seat);
        let is_idle = state.working == 0 && state.pending.is_empty();
        let is_end = is_idle && state.later.is_empty();
        drop(state);
        if is_end {
            self.close();
        } else if is_idle {
            self.changed.notify_one();
        }
    }

    /// Returns the directory if the queue is full. Wakes workers only for directories beyond the caller's next one.
    pub(super) fn push(&self, pending: Pending<C>) -> Result<(), Pending<C>> {
        let mut state = lock(&self.state);
        if state.pending.len() >= self.length_max {
            return Err(pending);
        }
        state.pending.push(pending);
        let left = state.pending.len() - 1;
        if left > FEW || (left > 0 && state.taken >= FEW) {
            self.wake(state);
        }
        Ok(())
    }

    pub(super) fn put_off(&self, later: Later<C>) {
        lock(&self.state).later.push(later);
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    pub(super) fn offer(&self) {
        let state = lock(&self.state);
        if !state.pending.is_empty() {
            self.wake(state);
        }
    }

    fn wake(&self, mut state: MutexGuard<'_, State<C>>) {
        if state.waiting > 0 {
            state.taken = 0;
            drop(state);
            self.changed.notify_one();
        } else if state.not_started.iter().any(|(number, _)| *number < state.admitted) {
            self.is_another_wanted.store(true, Ordering::Relaxed);
        }
    }

    /// Waits while other workers may add a directory, or until the worker is admitted; `None` at the end.
    ///
    /// Called by a worker whose stack is empty. A worker that is not admitted passes a wake-up on before it
    /// sleeps, because it may have been woken instead of an admitted one, which would then sleep next to a
    /// directory. The worker that finds everything idle and empty closes the queue for all.
    pub(super) fn pop(&self, worker: usize) -> Option<Pending<C>> {
        let mut state = lock(&self.state);
        state.working -= 1;
        loop {
            if state.closed {
                return None;
            }
            let is_admitted = worker < state.admitted;
            if is_admitted && let Some(pending) = state.pending.pop() {
                state.working += 1;
                state.taken += 1;
                return Some(pending);
            }
            let is_idle = state.working == 0 && state.pending.is_empty();
            if is_idle && state.later.is_empty() {
                drop(state);
                self.close();
                return None;
            }
            if is_idle
                && is_admitted
                && let Some(later) = state.later.pop()
            {
                state.working += 1;
                return Some(Pending::Later(later));
            }
            if is_admitted {
                state.waiting += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.waiting -= 1;
            } else {
                // This worker may have been woken for it, or have added it as its own next one.
                if !state.pending.is_empty() || is_idle {
                    self.changed.notify_one();
                }
                state = self.admitted.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    pub(super) fn close(&self) {
        self.ahead.stop();
        let mut state = lock(&self.state);
        state.closed = true;
        state.pending.clear();
        state.later.clear();
        drop(state);
        self.changed.notify_all();
        self.admitted.notify_all();
    }
}

impl<C> std::fmt::Debug for Queue<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("length_max", &self.length_max).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::ahead::Ahead;
    use super::{LOOKS_TO_LEAVE, Later, Pending, Queue, Seat, Subdirectory};
    use crate::threads::lock;
    use crate::walk::Opened;
    use crate::{Dir, FileSystem};

    fn admitted(queue: &Queue<()>) -> usize {
        lock(&queue.state).admitted
    }

    #[test]
    fn another_worker_starts_once_directories_wait_and_no_worker_is_idle() {
        let scratch = tempfile::tempdir().unwrap();
        let queue = Queue::<()>::new((3, 3), 100, Vec::new(), Ahead::new(FileSystem::Tmpfs));
        queue.not_started((2, None));
        let parent = Arc::new(Opened { dir: Arc::new(Dir::open(scratch.path()).unwrap()), context: () });
        let push = |name: &str| {
            let name = name.as_bytes().into();
            let subdirectory = Subdirectory { name, order: 0, inode: None, changed: None };
            assert!(queue.push(Pending::Below { parent: Arc::clone(&parent), subdirectory }).is_ok());
        };
        push("a");
        assert!(!queue.needs_another_worker(), "the caller takes it");
        (0..20).for_each(|index| push(&index.to_string()));
        assert!(queue.needs_another_worker() && !queue.needs_another_worker());
        assert_eq!(queue.start().map(|(number, _)| number), Some(2));
        push("b");
        assert!(!queue.needs_another_worker(), "all have been started");
    }

    #[test]
    fn workers_are_admitted_while_reading_waits_and_leave_when_it_does_not() {
        let queue = Queue::<()>::new((2, 5), 8, Vec::new(), Ahead::new(FileSystem::Tmpfs));
        assert!(queue.start().is_none());
        for expected in [3, 4, 5, 5, 5] {
            let before = admitted(&queue);
            assert_eq!(queue.note(true), before < expected);
            assert_eq!(admitted(&queue), expected);
        }
        let started = || queue.start().map(|(number, _)| number);
        assert_eq!([started(), started(), started(), started()], [Some(2), Some(3), Some(4), None]);
        for expected in [4, 3, 2, 2] {
            (0..LOOKS_TO_LEAVE).for_each(|_| assert!(!queue.note(false)));
            assert_eq!(admitted(&queue), expected);
        }
        assert!(!queue.note(true), "it has started");
        (1..LOOKS_TO_LEAVE).for_each(|_| assert!(!queue.note(false)));
        assert_eq!(admitted(&queue), 3, "too early");
    }

    #[test]
    fn the_place_of_a_worker_that_was_not_started_is_given_again() {
        let queue = Queue::<()>::new((1, 3), 8, Vec::new(), Ahead::new(FileSystem::Tmpfs));
        assert!(queue.note(true) && queue.note(true) && !queue.note(true));
        let number = |seat: Option<Seat>| seat.map(|(number, _)| number);
        assert_eq!([number(queue.start()), number(queue.start())], [Some(1), Some(2)]);
        queue.not_started((1, None));
        assert!(queue.note(true), "worth another try");
        assert_eq!([number(queue.start()), number(queue.start())], [Some(1), None]);
        queue.not_started((2, None));
        queue.not_started((1, None));
        (0..LOOKS_TO_LEAVE).for_each(|_| assert!(!queue.note(false)));
        assert_eq!([number(queue.start()), number(queue.start())], [Some(1), None], "2 is not admitted");
        queue.not_started((1, None));
        let (ended, waits) = std::sync::mpsc::channel();
        std::thread::spawn(move || ended.send(queue.pop(0).is_none()));
        let patience = std::time::Duration::from_secs(60);
        assert_eq!(waits.recv_timeout(patience), Ok(true), "no other worker is waited for");
    }

    #[test]
    fn a_worker_that_is_let_go_leaves_its_next_directory_to_another() {
        let queue = Queue::<()>::new((1, 2), 8, Vec::new(), Ahead::new(FileSystem::Tmpfs));
        let parent = Arc::new(Opened { dir: Arc::new(Dir::open(".").unwrap()), context: () });
        let below = |name: &[u8]| {
            let subdirectory = Subdirectory { name: name.into(), order: 0, inode: None, changed: None };
            Pending::Below { parent: Arc::clone(&parent), subdirectory }
        };
        assert!(queue.note(true) && queue.start().is_some());
        let taken = std::thread::scope(|scope| {
            queue.push(below(b"first")).unwrap();
            assert!(queue.pop(1).is_some());
            let other = scope.spawn(|| {
                let mut taken = 0;
                while queue.pop(0).is_some() {
                    taken += 1;
                }
                taken
            });
            while lock(&queue.state).waiting == 0 {
                std::thread::yield_now();
            }
            (0..LOOKS_TO_LEAVE).for_each(|_| assert!(!queue.note(false)));
            // Alone in the queue, it wakes no worker: its own would take it.
            queue.push(below(b"next")).unwrap();
            assert!(queue.pop(1).is_none(), "the end");
            other.join().unwrap()
        });
        assert_eq!(taken, 1);
    }

    #[test]
    fn postponed_directories_are_taken_when_no_worker_has_a_directory() {
        let queue = Queue::<()>::new((1, 2), 8, Vec::new(), Ahead::new(FileSystem::Tmpfs));
        let parent = Arc::new(Opened { dir: Arc::new(Dir::open(".").unwrap()), context: () });
        assert!(queue.note(true) && queue.start().is_some());
        let later = || {
            let path = crate::TreePath::root().join(b"later");
            queue.put_off(Later { path, context: (), inode: None, changed: None });
        };
        std::thread::scope(|scope| {
            later();
            let subdirectory = Subdirectory { name: b"a"[..].into(), order: 0, inode: None, changed: None };
            queue.push(Pending::Below { parent, subdirectory }).unwrap();
            assert!(matches!(queue.pop(0), Some(Pending::Below { .. })));
            let other = scope.spawn(|| queue.pop(1).is_none());
            while lock(&queue.state).waiting == 0 {
                std::thread::yield_now();
            }
            assert!(matches!(queue.pop(0), Some(Pending::Later(_))));
            later();
            assert!(matches!(queue.pop(0), Some(Pending::Later(_))));
            assert!(queue.pop(0).is_none() && other.join().unwrap());
        });
    }
}
