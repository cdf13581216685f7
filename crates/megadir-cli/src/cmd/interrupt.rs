//! Ctrl-C for commands that have something to finish: the first asks, the second ends, a hang is not waited for.
//!
//! ```text
//! main thread   takes signals, waits, ends the program when the work hangs
//! work thread   the command; looks at the flag, counts up its sign of life
//! ```
//!
//! The work must not run in the main thread: Linux gives a signal of the process to its main thread if
//! that can take it, and a main thread that waits for a file system that has stopped answering can not, nor
//! is the signal passed on to another. So the handlers would not run exactly when they are needed.
//! References: `complete_signal` in `kernel/signal.c`; signal-hook's documentation of `flag`.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::exit::{CliError, INTERRUPTED};

/// How long the work may be silent after it was asked to end.
const SILENCE_MAX: Duration = Duration::from_secs(1);
/// The main thread looks this often; more often would disturb what is measured.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What the work looks at and tells.
#[derive(Debug)]
pub(crate) struct Interrupt {
    /// Set when the work is to end.
    pub(crate) stop: Arc<AtomicBool>,
    /// Counted up by the work as a sign of life.
    pub(crate) beat: AtomicU64,
}

impl Interrupt {
    /// Returns whether the work was asked to end.
    pub(crate) fn asked(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Does `work` in a thread of its own while this one, the main thread, takes Ctrl-C and requests to terminate.
pub(crate) fn interruptible<R: Send>(
    work: impl FnOnce(&Interrupt) -> Result<R, CliError> + Send,
) -> Result<R, CliError> {
    let interrupt = Interrupt { stop: Arc::default(), beat: AtomicU64::new(0) };
    let failed = |error| CliError::nothing_ran(format!("cannot watch for Ctrl-C: {error}"));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // The order matters: the first handler acts on what the second one set the time before.
        let code = i32::from(INTERRUPTED);
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&interrupt.stop))
            .map_err(failed)?;
        signal_hook::flag::register(signal, Arc::clone(&interrupt.stop)).map_err(failed)?;
    }
    let main = std::thread::current();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("megadir-work".to_owned());
        let worker = worker
            .spawn_scoped(scope, || {
                let result = work(&interrupt);
                done.store(true, Ordering::Release);
                main.unpark();
                result
            })
            .map_err(failed)?;
        let mut silent_since: Option<(u64, Instant)> = None;
        // A worker that panicked is not done but finished.
        while !done.load(Ordering::Acquire) && !worker.is_finished() {
            std::thread::park_timeout(LOOK_EVERY);
            if interrupt.asked() {
                end_if_silent(&mut silent_since, interrupt.beat.load(Ordering::Relaxed));
            }
        }
        worker.join().unwrap_or_else(|panic: Box<dyn Any + Send>| std::panic::resume_unwind(panic))
    })
}

/// Ends the program when nothing has moved for too long since it was asked to end.
fn end_if_silent(silent_since: &mut Option<(u64, Instant)>, beat: u64) {
    match silent_since {
        Some((last, since)) if *last == beat => {
            if since.elapsed() >= SILENCE_MAX {
                eprintln!("megadir: interrupted while the file system did not answer");
                std::process::exit(i32::from(INTERRUPTED));
            }
        }
        _ => *silent_since = Some((beat, Instant::now())),
    }
}
