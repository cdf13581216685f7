//! Joins threads so that a panic in one of them never becomes a short listing.

use std::thread::JoinHandle;

/// Resumes a thread's panic in the caller, because that thread's part is missing.
pub(crate) fn join(threads: &mut Vec<JoinHandle<()>>) {
    for thread in threads.drain(..) {
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}
