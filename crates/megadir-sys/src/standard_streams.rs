//! Standard streams that were closed when the process began. The runtime of std opens `/dev/null` in their
//! place before `main`, so that output of a program started with `>&-` would be lost without an error.

use std::sync::atomic::{AtomicU8, Ordering};

/// One bit per descriptor.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// The C library calls it before `main`, and so before the runtime of std.
#[used]
// SAFETY: entries of this section are called once, in the only thread, with the C calling convention.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    for descriptor in 0..=2 {
        // SAFETY: the call takes two numbers and touches no memory of ours.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << descriptor, Ordering::Relaxed);
        }
    }
}

#[must_use]
pub fn input_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed) & 1 != 0
}

#[must_use]
pub fn output_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed) & 2 != 0
}
