//! Jobs that workers hand to each other: directories listed but not entered, all of one parent.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::names::Names;
use super::node::Node;

/// Directories of one parent, to be removed by the worker that takes the job. Counts as a part of the parent
/// ([`Node::end_part`]). A job has no descriptor: the number would mean another file in another worker's table.
/// The taker opens the parent by names and checks its identity.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) node: Arc<Node>,
    pub(super) below: Names,
}

/// Waiting jobs per other worker: enough to keep all busy, few enough that workers stay close to each other.
const JOBS_EACH: usize = 2;

/// Waiting jobs, the oldest first.
#[derive(Debug)]
pub(super) struct Pool {
    workers_max: usize,
    /// Length of the list, readable without the lock.
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
    /// A pool for one busy worker.
    pub(super) fn new(workers_max: usize) -> Self {
        let state = State { jobs: VecDeque::new(), started: 1, waiting: 0, closed: false };
        Self { workers_max, jobs: AtomicUsize::new(0), state: Mutex::new(state), changed: Condvar::new() }
    }

    /// `true` if there are fewer jobs than other workers could take.
    #[inline]
    pub(super) fn is_hungry(&self) -> bool {
        self.jobs.load(Ordering::Relaxed) < JOBS_EACH * (self.workers_max - 1)
    }

    /// Takes the oldest job back if it belongs to `node`.
    pub(super) fn take_back(&self, node: &Arc<Node>) -> Option<Job> {
        if self.jobs.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut state = self.lock();
        let job = state.jobs.pop_front_if(|job| Arc::ptr_eq(&job.node, node));
        self.jobs.store(state.jobs.len(), Ordering::Relaxed);
        job
    }

    /// Adds a job without waking a worker: most jobs are taken back before another worker could begin
    /// ([`Pool::offer`]).
    pub(super) fn push(&self, job: Job) {
        let mut state = self.lock();
        state.jobs.push_back(job);
        self.jobs.store(state.jobs.len(), Ordering::Relaxed);
    }

    /// Wakes workers for the remaining jobs; returns the number of workers that the caller should start.
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

    /// Undoes the count of a worker that could not be started.
    pub(super) fn not_started(&self) {
        self.lock().started -= 1;
    }

    /// Takes the oldest job, usually the largest. Waits while other workers may add jobs; `None` at the end.
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

    /// Ends the pool: waiting workers get no more jobs.
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
