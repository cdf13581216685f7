//! Attempts that other programs make fail for a moment: scans of all mounts and devices hold them, and so do forked children before exec.

use std::time::{Duration, Instant};

/// Short compared with a remount, and long enough not to disturb the program that is waited for.
const PAUSE: Duration = Duration::from_millis(10);

/// Repeats `attempt` until `has_ended` accepts its result, for at most `patience`, and returns the last result.
pub(crate) fn repeat<T>(
    patience: Duration,
    mut attempt: impl FnMut() -> T,
    has_ended: impl Fn(&T) -> bool,
) -> T {
    let deadline = Instant::now() + patience;
    loop {
        let result = attempt();
        if has_ended(&result) || Instant::now() >= deadline {
            return result;
        }
        std::thread::sleep(PAUSE);
    }
}
