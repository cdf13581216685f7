//! The queue of directories that wait to be read: last in, first out, of bounded length.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::dir::Dir;

/// A directory that waits to be read.
#[derive(Debug)]
pub(super) enum Pending {
    /// The root, open already.
    Root(Box<Dir>),
    /// A directory by its parent and name.
    Below {
        /// The open parent.
        parent: Arc<Dir>,
        /// The name.
        name: Box<[u8]>,
    },
}

#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    length_max: usize,
}

#[derive(Debug)]
struct State {
    pending: Vec<Pending>,
    /// Workers that may still add something.
    working: usize,
    closed: bool,
}

impl Queue {
    pub(super) fn new(workers: usize, length_max: usize) -> Self {
        let state = State { pending: Vec::new(), working: workers, closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new(), length_max }
    }

    /// Adds a directory; gives it back when the queue is full.
    pub(super) fn push(&self, pending: Pending) -> Result<(), Pending> {
        let mut state = self.lock();
        if state.pending.len() >= self.length_max {
            return Err(pending);
        }
        state.pending.push(pending);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// Takes a directory, waiting while other workers may still add one; `None` when all is done.
    pub(super) fn pop(&self) -> Option<Pending> {
        let mut state = self.lock();
        state.working -= 1;
        loop {
            if state.closed {
                return None;
            }
            if let Some(pending) = state.pending.pop() {
                state.working += 1;
                return Some(pending);
            }
            if state.working == 0 {
                state.closed = true;
                drop(state);
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the walk: nobody gets anything any more.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.pending.clear();
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
