//! Which standard streams were closed when the process began. The runtime of std opens `/dev/null` in the place
//! of each of them before `main`, so that a file opened later cannot take its number. From then on a program
//! that was started with `>&-` seems to write, and what it writes is lost without an error. Reference:
//! `sanitize_standard_fds` in std's `sys/pal/unix`; the System V ABI on `.init_array`.

use std::sync::atomic::{AtomicU8, Ordering};

/// One bit a descriptor, set where it was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Called by the C library before `main`, and so before the runtime of std.
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

/// `true` if standard input was closed when the process began.
#[must_use]
pub fn input_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed) & 1 != 0
}

/// `true` if standard output was closed when the process began.
#[must_use]
pub fn output_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed) & 2 != 0
}
