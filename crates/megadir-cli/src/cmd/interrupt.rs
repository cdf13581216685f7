//! Ctrl-C for commands that have something to finish: the first asks, the second ends, a hang is not waited for.
//!
//! The first signal sets a flag that the work looks at. A second one ends the program in the signal's own
//! handler. A watcher ends it too when the work, once asked to end, gives no sign of life for a second: a
//! call into a file system that has stopped answering cannot be cancelled, but it need not be waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::exit::{CliError, INTERRUPTED};

/// How long the work may be silent after it was asked to end.
const SILENCE_MAX: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the work looks at and tells.
#[derive(Debug)]
pub(crate) struct Interrupt {
    /// Set when the work is to end.
    pub(crate) stop: Arc<AtomicBool>,
    /// Counted up by the work as a sign of life.
    pub(crate) beat: Arc<AtomicU64>,
    done: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes Ctrl-C and termination over from the system until the program ends.
    pub(crate) fn watch() -> Result<Self, CliError> {
        let interrupt = Self { stop: Arc::default(), beat: Arc::default(), done: Arc::default() };
        let failed = |error| CliError::nothing_ran(format!("cannot watch for Ctrl-C: {error}"));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            let code = i32::from(INTERRUPTED);
            // The order matters: the first handler acts on what the second one set the time before.
            signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&interrupt.stop))
                .map_err(failed)?;
            signal_hook::flag::register(signal, Arc::clone(&interrupt.stop)).map_err(failed)?;
        }
        let (stop, beat) = (Arc::clone(&interrupt.stop), Arc::clone(&interrupt.beat));
        let done = Arc::clone(&interrupt.done);
        let watcher = std::thread::Builder::new().name("megadir-watch".to_owned());
        watcher.spawn(move || end_a_hang(&stop, &beat, &done)).map_err(failed)?;
        Ok(interrupt)
    }

    /// Returns whether the work was asked to end.
    pub(crate) fn asked(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
    }
}

/// Ends the program when it was asked to end and nothing has moved since.
fn end_a_hang(stop: &AtomicBool, beat: &AtomicU64, done: &AtomicBool) {
    let mut silent_since: Option<(u64, Instant)> = None;
    while !done.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK_EVERY);
        if !stop.load(Ordering::Relaxed) {
            continue;
        }
        let now = beat.load(Ordering::Relaxed);
        match silent_since {
            Some((last, since)) if last == now => {
                if since.elapsed() >= SILENCE_MAX && !done.load(Ordering::Relaxed) {
                    eprintln!("megadir: interrupted while the file system did not answer");
                    std::process::exit(i32::from(INTERRUPTED));
                }
            }
            _ => silent_since = Some((now, Instant::now())),
        }
    }
}
