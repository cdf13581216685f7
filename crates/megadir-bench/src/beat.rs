//! Signs of life: a counter that long work counts up, and marks in it for single steps that cannot.
//!
//! ```text
//! bit 63          bit 62            bits 0..62
//! computing       writing back      counted up
//! ```
//!
//! A watcher that sees neither the count move nor a mark may take the work for hung. A mark costs two atomic
//! operations a step, so that it may be set within what is measured; a helper thread that beats could not run there.

use std::sync::atomic::{AtomicU64, Ordering};

/// Set while the work computes for long without a call that could hang, e.g. sorts.
pub const COMPUTING: u64 = 1 << 63;
/// Set while the system writes to the disk what was made, which takes as long as the disk needs.
pub const WRITING_BACK: u64 = 1 << 62;

/// Does a step with a mark set.
pub(crate) fn marked<R>(beat: &AtomicU64, mark: u64, step: impl FnOnce() -> R) -> R {
    beat.fetch_or(mark, Ordering::Relaxed);
    let result = step();
    beat.fetch_and(!mark, Ordering::Relaxed);
    beat.fetch_add(1, Ordering::Relaxed);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_there_during_its_step_only_and_the_step_counts() {
        let beat = AtomicU64::new(7);
        let seen = marked(&beat, WRITING_BACK, || beat.load(Ordering::Relaxed));
        assert_eq!((seen, beat.load(Ordering::Relaxed)), (WRITING_BACK | 7, 8));
    }
}
