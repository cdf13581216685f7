//! Queue of directories waiting to be read: last in, first out, bounded.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Opened;

#[derive(Debug)]
pub(super) enum Pending<C> {
    Root(Box<Opened<C>>),
    Below { parent: Arc<Opened<C>>, name: Box<[u8]> },
}

#[derive(Debug)]
pub(super) struct Queue<C> {
    state: Mutex<State<C>>,
    changed: Condvar,
    length_max: usize,
}

#[derive(Debug)]
struct State<C> {
    pending: Vec<Pending<C>>,
    /// May still add directories.
    working: usize,
    waiting: usize,
    /// Since a worker was last woken.
    taken: usize,
    closed: bool,
}

/// Directories taken before a waiting worker is woken for a few: in a chain, waking takes longer than reading.
const FEW: usize = 8;

impl<C> Queue<C> {
    pub(super) fn new(workers: usize, length_max: usize) -> Self {
        let state = State { pending: Vec::new(), working: workers, waiting: 0, taken: FEW, closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), length_max }
    }

    /// Returned if the queue is full. Wakes workers only for directories beyond the caller's next one.
    pub(super) fn push(&self, pending: Pending<C>) -> Result<(), Pending<C>> {
        let mut state = self.lock();
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

    /// Wakes workers; for a caller that will not take a directory soon.
    pub(super) fn offer(&self) {
        let state = self.lock();
        if !state.pending.is_empty() {
            self.wake(state);
        }
    }

    fn wake(&self, mut state: MutexGuard<'_, State<C>>) {
        if state.waiting > 0 {
            state.taken = 0;
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Waits while other workers may add one; `None` at the end.
    pub(super) fn pop(&self) -> Option<Pending<C>> {
        let mut state = self.lock();
        state.working -= 1;
        loop {
            if state.closed {
                return None;
            }
            if let Some(pending) = state.pending.pop() {
                state.working += 1;
                state.taken += 1;
                return Some(pending);
            }
            if state.working == 0 {
                state.closed = true;
                drop(state);
                self.changed.notify_all();
                return None;
            }
            state.waiting += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
    }

    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.pending.clear();
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
