//! Threads and what they share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Also after a panic of a thread that held the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts as many threads as the system allows; fails only if it allows none.
pub(crate) fn started<T, E>(starts: impl Iterator<Item = Result<T, E>>) -> Result<Vec<T>, E> {
    let mut threads = Vec::new();
    for start in starts {
        match start {
            Ok(thread) => threads.push(thread),
            Err(error) if threads.is_empty() => return Err(error),
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
