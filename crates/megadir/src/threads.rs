//! Waiting for threads, so that a panic in one of them is never a short listing.

use std::thread::JoinHandle;

/// Waits for threads; a panic in one of them, whose part is then missing, goes on in the caller.
pub(crate) fn join(threads: &mut Vec<JoinHandle<()>>) {
    for thread in threads.drain(..) {
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}
