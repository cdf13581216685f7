//! Cancellation and heartbeat of long work. The heartbeat is a counter with marks in bit 63 (computing) and
//! bit 62 (writing back): a watcher that sees neither a mark nor the count move may take the work for hung. A
//! mark costs two atomic operations, so measured code may set it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use megadir::reason_of as words;

/// Long computation without a system call that could hang, e.g. sorting.
pub const COMPUTING: u64 = 1 << 63;
/// Takes as long as the disk needs.
pub const WRITING_BACK: u64 = 1 << 62;

#[derive(Clone, Copy, Debug)]
pub struct RunControl<'a> {
    /// Ends the run; polled every few milliseconds.
    pub stop: &'a AtomicBool,
    /// Incremented by the work; its marks are [`COMPUTING`] and [`WRITING_BACK`].
    pub heartbeat: &'a AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl RunControl<'_> {
    /// Fails with [`Stopped`] once the run is to end.
    #[inline]
    pub fn check(self) -> Result<(), Stopped> {
        self.heartbeat.fetch_add(1, Ordering::Relaxed);
        if self.stop.load(Ordering::Relaxed) { Err(Stopped) } else { Ok(()) }
    }

    /// As [`check`](Self::check), at every `step`-th index.
    #[inline]
    pub fn check_every(self, step: u64, index: u64) -> Result<(), Stopped> {
        if index.is_multiple_of(step) { self.check() } else { Ok(()) }
    }
}

/// Runs `step` with `mark` set in the heartbeat, and counts it as one beat. Marks do not nest: the end of
/// the inner step would clear the mark of the outer one.
pub fn marked<R>(heartbeat: &AtomicU64, mark: u64, step: impl FnOnce() -> R) -> R {
    heartbeat.fetch_or(mark, Ordering::Relaxed);
    let result = step();
    heartbeat.fetch_and(!mark, Ordering::Relaxed);
    heartbeat.fetch_add(1, Ordering::Relaxed);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_there_during_its_step_only_and_the_step_counts() {
        let heartbeat = AtomicU64::new(7);
        let seen = marked(&heartbeat, WRITING_BACK, || heartbeat.load(Ordering::Relaxed));
        assert_eq!((seen, heartbeat.load(Ordering::Relaxed)), (WRITING_BACK | 7, 8));
    }
}
