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

use megadir_bench::control::{COMPUTING, WRITING_BACK};

use crate::exit::{CliError, INTERRUPTED};

/// How long the work may be silent after it was asked to end.
const SILENCE_MAX: Duration = Duration::from_secs(1);
/// How long it may be silent while the system writes to the disk.
const WRITING_BACK_MAX: Duration = Duration::from_secs(30);
/// Set in the sign of life while entries are removed: a call takes as long as the blocks of a large file, or a journal
/// that is full, need.
pub(crate) const REMOVING: u64 = 1 << 61;
/// How long the removal of one entry may take once it was asked to end: what is lost by not waiting is the summary only.
const REMOVING_MAX: Duration = Duration::from_secs(3);
/// The main thread looks this often; more often would disturb what is measured.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What the work looks at and tells.
#[derive(Debug)]
pub(crate) struct Interrupt {
    /// Set when the work is to end.
    pub(crate) stop: Arc<AtomicBool>,
    /// Counted up by the work as a sign of life, see [`megadir_bench::control`].
    pub(crate) beat: AtomicU64,
}

impl Interrupt {
    /// Returns whether the work was asked to end.
    pub(crate) fn asked(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Has the flag set when the program is asked to end, and the program ended when it is asked again.
#[cfg(unix)]
fn watch(stop: &Arc<AtomicBool>) -> std::io::Result<()> {
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // The order matters: the first handler acts on what the second one set the time before.
        let code = i32::from(INTERRUPTED);
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(stop))?;
        signal_hook::flag::register(signal, Arc::clone(stop))?;
    }
    Ok(())
}

/// Has the flag set on Ctrl-C and Ctrl-Break, and the program ended on another; consoles tell a thread that they start for that.
#[cfg(windows)]
fn watch(stop: &Arc<AtomicBool>) -> std::io::Result<()> {
    let stop = Arc::clone(stop);
    let asked = move || {
        if stop.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(INTERRUPTED));
        }
    };
    megadir_bench::console::on_interrupt(asked)
}

/// Does `work` in a thread of its own while this one, the main thread, takes Ctrl-C and requests to terminate.
pub(crate) fn interruptible<R: Send>(
    work: impl FnOnce(&Interrupt) -> Result<R, CliError> + Send,
) -> Result<R, CliError> {
    let interrupt = Interrupt { stop: Arc::default(), beat: AtomicU64::new(0) };
    let failed = |error| CliError::nothing_ran(format!("cannot watch for Ctrl-C: {error}"));
    watch(&interrupt.stop).map_err(failed)?;
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
        let mut silence = Silence::default();
        // A worker that panicked is not done but finished.
        while !done.load(Ordering::Acquire) && !worker.is_finished() {
            std::thread::park_timeout(LOOK_EVERY);
            if interrupt.asked() {
                silence.look(&interrupt);
            }
        }
        worker.join().unwrap_or_else(|panic: Box<dyn Any + Send>| std::panic::resume_unwind(panic))
    })
}

/// How long the work has been silent since it was asked to end.
#[derive(Default)]
struct Silence {
    since: Option<(u64, Instant)>,
    /// Whether the user knows what is waited for.
    told: bool,
}

impl Silence {
    /// Ends the program when nothing has moved for too long.
    fn look(&mut self, interrupt: &Interrupt) {
        let beat = interrupt.beat.load(Ordering::Relaxed);
        let silent = match self.since {
            Some((last, since)) if last == beat => since.elapsed(),
            _ => {
                self.since = Some((beat, Instant::now()));
                return;
            }
        };
        let (max, waits_for) = patience(beat);
        if silent >= SILENCE_MAX && max != Some(SILENCE_MAX) && !self.told {
            eprintln!("megadir: interrupted; waiting for {waits_for} (Ctrl-C again ends at once)");
            self.told = true;
        }
        if max.is_some_and(|max| silent >= max) {
            let silent_s = silent.as_secs();
            eprintln!("megadir: interrupted; gave up waiting for {waits_for} after {silent_s} s");
            std::process::exit(i32::from(INTERRUPTED));
        }
    }
}

/// Returns how long the work may be silent, if there is an end to it, and what it is then waiting for.
fn patience(beat: u64) -> (Option<Duration>, &'static str) {
    if beat & COMPUTING != 0 {
        return (None, "a computation");
    }
    if beat & WRITING_BACK != 0 {
        return (Some(WRITING_BACK_MAX), "the disk to take what was made");
    }
    if beat & REMOVING != 0 {
        return (Some(REMOVING_MAX), "the file system to remove an entry");
    }
    (Some(SILENCE_MAX), "a call to the file system")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_says_what_it_does_is_waited_for_longer() {
        assert_eq!(patience(5).0, Some(SILENCE_MAX));
        assert_eq!(patience(5 | WRITING_BACK).0, Some(WRITING_BACK_MAX));
        assert_eq!(patience(5 | REMOVING).0, Some(REMOVING_MAX));
        assert_eq!(patience(5 | COMPUTING).0, None);
    }
}
