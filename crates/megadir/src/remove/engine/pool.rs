//! Jobs between workers: directories listed but not entered.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::node::Node;
use super::window::Names;
use crate::threads::lock;

/// Directories of one parent, which count as one part of it ([`Node::end_part`]). Has no descriptor,
/// so that any number of jobs may wait; the taker opens the parent by names and checks its identity.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) node: Arc<Node>,
    pub(super) below: Names,
}

/// All stay busy, and workers stay close to each other.
const JOBS_EACH: usize = 2;

#[derive(Debug)]
pub(super) struct Pool {
    workers_max: usize,
    /// Readable without the lock.
    jobs: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    jobs: VecDeque<Job>,
    started: usize,
    waiting: usize,
    closed: bool,
}

impl Pool {
    pub(super) fn new(workers_max: usize) -> Self {
        let state = State { jobs: VecDeque::new(), started: 1, waiting: 0, closed: false };
        Self { workers_max, jobs: AtomicUsize::new(0), state: Mutex::new(state), changed: Condvar::new() }
    }

    #[inline]
    pub(super) fn is_hungry(&self) -> bool {
        self.jobs.load(Ordering::Relaxed) < JOBS_EACH * (self.workers_max - 1)
    }

    pub(super) fn take_back(&self, node: &Arc<Node>) -> Option<Job> {
        if self.jobs.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut state = lock(&self.state);
        let job = state.jobs.pop_front_if(|job| Arc::ptr_eq(&job.node, node));
        self.jobs.store(state.jobs.len(), Ordering::Relaxed);
        job
    }

    /// Wakes no worker: most jobs are taken back first ([`Pool::offer`]).
    pub(super) fn push(&self, job: Job) {
        let mut state = lock(&self.state);
        state.jobs.push_back(job);
        self.jobs.store(state.jobs.len(), Ordering::Relaxed);
    }

    pub(super) fn offer(&self) -> usize {
        if self.jobs.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        let mut state = lock(&self.state);
        let woken = state.jobs.len().min(state.waiting);
        (0..woken).for_each(|_| self.changed.notify_one());
        let start = (state.jobs.len() - woken).min(self.workers_max - state.started);
        state.started += start;
        start
    }

    pub(super) fn not_started(&self) {
        lock(&self.state).started -= 1;
    }

    /// The oldest job is usually the largest. Waits while other workers may add jobs; `None` at the end.
    pub(super) fn take(&self) -> Option<Job> {
        let mut state = lock(&self.state);
        state.waiting += 1;
        loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.jobs.pop_front() {
                state.waiting -= 1;
                self.jobs.store(state.jobs.len(), Ordering::Relaxed);
                return Some(job);
            }
            if state.waiting == state.started {
                state.closed = true;
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.jobs.clear();
        self.changed.notify_all();
    }
}
