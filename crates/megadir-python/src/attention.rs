//! Attention to the interpreter during long work: signals such as Ctrl-C, and the progress callback.
//!
//! ```text
//! caller's thread, lock released:   look (signals, progress) every 50 ms  <-- end of the task
//!                                           | exception
//! task's thread:   work  <-- stop ----------'
//! ```

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// Ctrl-C should act at once for a person, and taking the interpreter's lock should cost the work nothing.
const EVERY: Duration = Duration::from_millis(50);

/// Functions for errors and for progress, either of which may be missing.
pub(crate) type Callbacks = (Option<Py<PyAny>>, Option<Py<PyAny>>);

/// Looks for signals and reports progress, at most every 50 ms.
pub(crate) struct Attention {
    progress: Option<Py<PyAny>>,
    next: Instant,
}

impl Attention {
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Self {
        Self { progress, next: Instant::now() + EVERY }
    }

    /// `done` is the number of entries so far.
    pub(crate) fn pay(&mut self, done: u64) -> PyResult<()> {
        if Instant::now() < self.next {
            return Ok(());
        }
        self.next = Instant::now() + EVERY;
        self.look(done)
    }

    pub(crate) fn look(&self, done: u64) -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            match &self.progress {
                Some(progress) => progress.call1(py, (done,)).map(drop),
                None => Ok(()),
            }
        })
    }
}

/// Without a function for errors the first one is raised and ends the work.
pub(crate) fn report(on_error: Option<&Py<PyAny>>, error: PyErr) -> PyResult<()> {
    match on_error {
        None => Err(error),
        Some(on_error) => Python::attach(|py| on_error.call1(py, (error.into_value(py),)).map(drop)),
    }
}

/// The exception itself cannot pass: consumers of C streams get its text only.
/// The interrupt is therefore raised in the main thread as soon as the consumer returns to it.
pub(crate) fn repeat_interrupt(error: &PyErr) {
    Python::attach(|py| {
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            let _ = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
        }
    });
}

/// `done` returns the number of entries so far. The first exception, of a signal or of the callback, is the
/// result; `stop` then requests the end of the work.
pub(crate) fn attentive<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    (done, stop): (impl Fn() -> u64 + Sync, impl Fn() + Sync),
    task: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let attention = Attention::new(progress);
    py.detach(|| {
        // A thread that is refused drops its closure.
        let task = Mutex::new(Some(task));
        // It is then run here instead, see below.
        let run = || match task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(task) => task(),
            None => unreachable!("the task runs once"),
        };
        let run = &run;
        std::thread::scope(|scope| {
            let (ended, end) = channel();
            let task = std::thread::Builder::new().spawn_scoped(scope, move || {
                // Dropped at the end of the task, also by a panic, which wakes the loop.
                let _ended = ended;
                run()
            });
            // Nothing looks at signals meanwhile.
            let Ok(task) = task else {
                let result = run();
                return attention.look(done()).map(|()| result);
            };
            let mut stopped = None;
            // After a stop the loop only waits: the task ends at its next look.
            while end.recv_timeout(EVERY) == Err::<(), _>(RecvTimeoutError::Timeout) {
                if stopped.is_none()
                    && let Err(error) = attention.look(done())
                {
                    stop();
                    stopped = Some(error);
                }
            }
            let result = task.join();
            match (stopped, result) {
                (Some(error), _) => Err(error),
                (None, Ok(result)) => attention.look(done()).map(|()| result),
                (None, Err(panic)) => std::panic::resume_unwind(panic),
            }
        })
    })
}
