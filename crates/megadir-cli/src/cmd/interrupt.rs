//! Interrupts: the first Ctrl-C, SIGTERM or SIGHUP asks the work to stop, the second ends the program, and a hang is not waited for. The
//! main thread takes signals and the work runs in its own, because Linux delivers signals to the main thread if possible, where they would
//! be lost if that hung on an unresponsive file system (`complete_signal`).

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use megadir_bench::control::{COMPUTING, WRITING_BACK};

use super::progress;
use crate::exit::{CliError, INTERRUPTED};
use crate::ui::message;

const SILENCE_MAX: Duration = Duration::from_secs(1);
const WRITING_BACK_MAX: Duration = Duration::from_secs(30);
/// One call may take long (a large file, a full journal).
pub(crate) const REMOVING: u64 = 1 << 61;
/// Only the summary is lost.
const REMOVING_MAX: Duration = Duration::from_secs(3);
/// Shorter intervals would disturb measurements.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(crate) struct Interrupt {
    pub(crate) stop: Arc<AtomicBool>,
    /// The flags are in [`megadir_bench::control`].
    pub(crate) beat: AtomicU64,
}

impl Interrupt {
    pub(crate) fn beats(&self) {
        self.beat.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn control(&self) -> megadir_bench::RunControl<'_> {
        megadir_bench::RunControl { stop: &self.stop, heartbeat: &self.beat }
    }

    pub(crate) fn flow(&self) -> ControlFlow<()> {
        if self.is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(unix)]
fn watch(stop: &Arc<AtomicBool>) -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // The end of a terminal, unless `nohup` started the program.
    let hung_up = Some(SIGHUP).filter(|&signal| !megadir_bench::is_signal_ignored(signal));
    for signal in [SIGINT, SIGTERM].into_iter().chain(hung_up) {
        // Order matters: the first handler checks the flag that the second one set at the previous signal.
        let code = i32::from(INTERRUPTED);
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(stop))?;
        signal_hook::flag::register(signal, Arc::clone(stop))?;
    }
    Ok(())
}

#[cfg(windows)]
fn watch(stop: &Arc<AtomicBool>) -> std::io::Result<()> {
    let stop = Arc::clone(stop);
    let stop_or_exit = move || {
        if stop.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(INTERRUPTED));
        }
    };
    megadir_bench::console::on_interrupt(stop_or_exit)
}

/// If the system allows no thread, the work runs in the main thread: then only the second Ctrl-C is certain to end the program.
pub(crate) fn interruptible<R: Send>(
    work: impl FnOnce(&Interrupt) -> Result<R, CliError> + Send,
) -> Result<R, CliError> {
    let interrupt = Interrupt { stop: Arc::default(), beat: AtomicU64::new(0) };
    let failed = |error| CliError::nothing_ran(format!("cannot watch for Ctrl-C: {error}"));
    watch(&interrupt.stop).map_err(failed)?;
    let main = std::thread::current();
    let done = AtomicBool::new(false);
    // A thread that is refused drops its closure.
    let work = Mutex::new(Some(work));
    let run = || match work.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(work) => work(&interrupt),
        None => unreachable!("the work runs once"),
    };
    progress::look_at_mentions(true);
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("megadir-work".to_owned()).spawn_scoped(scope, || {
            let result = run();
            done.store(true, Ordering::Release);
            main.unpark();
            result
        });
        let Ok(worker) = worker else {
            progress::look_at_mentions(false);
            return run();
        };
        let mut silence = Silence::default();
        // A worker that panicked has finished without setting `done`.
        while !done.load(Ordering::Acquire) && !worker.is_finished() {
            std::thread::park_timeout(LOOK_EVERY);
            progress::mention_due();
            if interrupt.is_requested() {
                silence.look(&interrupt);
            }
        }
        progress::look_at_mentions(false);
        worker.join().unwrap_or_else(|panic: Box<dyn Any + Send>| std::panic::resume_unwind(panic))
    })
}

#[derive(Default)]
struct Silence {
    since: Option<(u64, Instant)>,
    announced: bool,
}

impl Silence {
    /// Ends the program if the heartbeat has stopped for too long.
    fn look(&mut self, interrupt: &Interrupt) {
        let beat = interrupt.beat.load(Ordering::Relaxed);
        let silent = match self.since {
            Some((last, since)) if last == beat => since.elapsed(),
            _ => {
                self.since = Some((beat, Instant::now()));
                return;
            }
        };
        let (max, awaited) = patience(beat);
        if silent >= SILENCE_MAX && max != Some(SILENCE_MAX) && !self.announced {
            eprintln!("megadir: interrupted; waiting for {awaited} (press Ctrl-C again to quit now)");
            self.announced = true;
        }
        if max.is_some_and(|max| silent >= max) {
            let silent_s = silent.as_secs();
            eprintln!("megadir: interrupted; gave up waiting for {awaited} after {silent_s} s");
            message::clear_line();
            std::process::exit(i32::from(INTERRUPTED));
        }
    }
}

fn patience(beat: u64) -> (Option<Duration>, &'static str) {
    if beat & COMPUTING != 0 {
        return (None, "a computation");
    }
    if beat & WRITING_BACK != 0 {
        return (Some(WRITING_BACK_MAX), "data to reach the disk");
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
    fn timeouts_depend_on_the_work() {
        assert_eq!(patience(5).0, Some(SILENCE_MAX));
        assert_eq!(patience(5 | WRITING_BACK).0, Some(WRITING_BACK_MAX));
        assert_eq!(patience(5 | REMOVING).0, Some(REMOVING_MAX));
        assert_eq!(patience(5 | COMPUTING).0, None);
    }
}
