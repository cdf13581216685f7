//! Threads and what they share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Also after a panic of a thread that held the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Work for a thread. If the system refuses the thread, it drops the closure with all that it owns, and the work has to stay.
pub(crate) struct Handed<W>(Arc<Mutex<Option<W>>>);

impl<W> Handed<W> {
    /// To be called once, by the thread.
    pub(crate) fn take(self) -> W {
        match lock(&self.0).take() {
            Some(work) => work,
            None => unreachable!("the work was handed to one thread"),
        }
    }
}

/// Starts a thread for each work, as many as the system allows. If it allows none (`ulimit -u`, a container's `pids.max`),
/// returns the first work, for the caller's own thread.
pub(crate) fn started<W, T>(
    works: impl Iterator<Item = W>,
    mut spawn: impl FnMut(Handed<W>) -> std::io::Result<T>,
) -> Result<Vec<T>, W> {
    let mut threads = Vec::new();
    for work in works {
        let slot = Arc::new(Mutex::new(Some(work)));
        match spawn(Handed(Arc::clone(&slot))) {
            Ok(thread) => threads.push(thread),
            Err(_) if threads.is_empty() => return Err(Handed(slot).take()),
            Err(_) => break,
        }
    }
    Ok(threads)
}

/// Joins the threads and resumes their panics, so that a lost part is not taken for the end.
pub(crate) fn join(threads: &mut Vec<JoinHandle<()>>) {
    for thread in threads.drain(..) {
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Called if its thread panics while it lives.
pub(crate) struct OnPanic<F: Fn()>(pub(crate) F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}
