//! A thread beside the work that looks at it now and then: for interrupts, progress and heartbeats.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

use crate::exit::CliError;
use crate::ui::message::reason;

const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(in crate::cmd) fn watched<R>(
    mut look: impl FnMut() + Send,
    work: impl FnOnce() -> R,
) -> Result<R, CliError> {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = std::thread::Builder::new().name("megadir-progress".to_owned());
        let watcher = watcher.spawn_scoped(scope, || {
            while !ended.load(Ordering::Acquire) {
                std::thread::park_timeout(LOOK_EVERY);
                look();
            }
        });
        let watcher =
            watcher.map_err(|error| CliError::nothing_ran(format!("start a thread: {}", reason(&error))))?;
        // Also after a panic: the scope waits for the watcher.
        let _ends = Ends { ended: &ended, watcher: watcher.thread() };
        Ok(work())
    })
}

struct Ends<'a> {
    ended: &'a AtomicBool,
    watcher: &'a Thread,
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        self.watcher.unpark();
    }
}
