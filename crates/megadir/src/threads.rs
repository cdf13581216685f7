//! Threads and what they share.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time of the last refusal of a thread. Asking again at every directory costs more than reading a small one.
#[derive(Debug)]
pub(crate) struct Refusal(Mutex<Option<Instant>>);

/// Refusal of this process: a user or a container has the limits.
pub(crate) static REFUSAL: Refusal = Refusal(Mutex::new(None));

const REMEMBERED: Duration = Duration::from_secs(1);

impl Refusal {
    /// Fails at once for a while after the system has refused a thread.
    pub(crate) fn spawn<T>(&self, spawn: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if lock(&self.0).is_some_and(|at| at.elapsed() < REMEMBERED) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.try_spawn(spawn)
    }

    /// Asks even then.
    fn try_spawn<T>(&self, spawn: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        spawn().inspect_err(|error| {
            if error.kind() == io::ErrorKind::WouldBlock {
                *lock(&self.0) = Some(Instant::now());
            }
        })
    }
}

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

/// When the system is asked for threads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attempt {
    /// For the first threads of a whole walk, which would have one thread to its end for a refusal before it.
    Always,
    /// For threads of one directory, and for threads that join others.
    UnlessRefused,
}

/// Starts a thread for each work, as many as the system allows. If it allows none (`ulimit -u`, a container's `pids.max`),
/// returns the first work, for the caller's own thread.
pub(crate) fn started<W, T>(
    attempt: Attempt,
    works: impl Iterator<Item = W>,
    mut spawn: impl FnMut(Handed<W>) -> io::Result<T>,
) -> Result<Vec<T>, W> {
    let mut threads = Vec::new();
    for work in works {
        let slot = Arc::new(Mutex::new(Some(work)));
        let spawn = || spawn(Handed(Arc::clone(&slot)));
        let thread = match attempt {
            Attempt::Always => REFUSAL.try_spawn(spawn),
            Attempt::UnlessRefused => REFUSAL.spawn(spawn),
        };
        match thread {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_remembered_for_a_while() {
        let (refusal, mut attempts) = (Refusal(Mutex::new(None)), 0);
        for _ in 0..3 {
            let refused = refusal.spawn(|| {
                attempts += 1;
                Err::<(), _>(io::ErrorKind::WouldBlock.into())
            });
            assert!(refused.is_err());
        }
        assert_eq!(attempts, 1);
        *lock(&refusal.0) = Instant::now().checked_sub(REMEMBERED);
        assert!(refusal.spawn(|| Ok(())).is_ok(), "asked again");
        // Another error is no sign of a limit.
        let other = Refusal(Mutex::new(None));
        assert!(other.spawn(|| Err::<(), _>(io::ErrorKind::OutOfMemory.into())).is_err());
        assert!(other.spawn(|| Ok(())).is_ok());
    }
}
