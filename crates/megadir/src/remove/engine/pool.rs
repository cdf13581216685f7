//! What workers hand to each other: directories that were listed and not gone into, of one directory.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::names::Names;
use super::node::Node;

/// Directories below one, to be removed by whoever takes them. A part of that one ([`Node::end_part`]).
///
/// It has no descriptor, which in another worker's table would be another file: who takes it opens the directory by its
/// names and believes it by its identity.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) node: Arc<Node>,
    pub(super) below: Names,
}

/// Jobs that wait for each other worker: enough that nobody waits for more, and few, so that workers stay side by side.
const JOBS_EACH: usize = 2;

/// Jobs that wait, the oldest first.
#[derive(Debug)]
pub(super) struct Pool {
    workers_max: usize,
    /// How many wait, to be looked at without the lock.
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
    /// Makes a pool with one worker, who has work.
    pub(super) fn new(workers_max: usize) -> Self {
        let state = State { jobs: VecDeque::new(), started: 1, waiting: 0, closed: false };
        Self { workers_max, jobs: AtomicUsize::new(0), state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Tells whether a job would be welcome.
    #[inline]
    pub(super) fn is_hungry(&self) -> bool {
        self.jobs.load(Ordering::Relaxed) < JOBS_EACH * (self.workers_max - 1)
    }

    /// Takes the oldest job back, if it is of one directory.
    pub(super) fn take_back(&self, node: &Arc<Node>) -> Option<Job> {
        if self.jobs.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut state = self.lock();
        let job = state.jobs.pop_front_if(|job| Arc::ptr_eq(&job.node, node));
        self.jobs.store(state.jobs.len(), Ordering::Relaxed);
        job
    }

    /// Adds a job. It wakes no worker: most jobs are taken back sooner than another worker could begin ([`Pool::offer`]).
    pub(super) fn push(&self, job: Job) {
        let mut state = self.lock();
        state.jobs.push_back(job);
        self.jobs.store(state.jobs.len(), Ordering::Relaxed);
    }

    /// Wakes workers for the jobs that are left; returns how many more the caller is to start.
    pub(super) fn offer(&self) -> usize {
        if self.jobs.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        let mut state = self.lock();
        let woken = state.jobs.len().min(state.waiting);
        (0..woken).for_each(|_| self.changed.notify_one());
        let start = (state.jobs.len() - woken).min(self.workers_max - state.started);
        state.started += start;
        start
    }

    /// Takes back that a worker was started.
    pub(super) fn not_started(&self) {
        self.lock().started -= 1;
    }

    /// Takes the oldest job, which is mostly the largest, waiting while others may still add one; `None` when all is done.
    pub(super) fn take(&self) -> Option<Job> {
        let mut state = self.lock();
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

    /// Ends it: nobody gets anything any more.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.jobs.clear();
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
