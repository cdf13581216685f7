//! Detects waiting for a device, which more threads shorten, by two counters of the thread. Looking costs one call of
//! getrusage(2) per millisecond.

#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use megadir_sys::usage::{Waits, thread_waits};

#[cfg(target_os = "linux")]
const LOOK: Duration = Duration::from_millis(1);

/// Waiting of one thread since its last look. Reads that the thread requests count for it (`submit_bio`), if the
/// kernel accounts for them; without that, and on systems other than Linux, it seems never to wait.
#[derive(Debug, Default)]
pub(super) struct DeviceWaits {
    #[cfg(target_os = "linux")]
    last: Option<(Instant, Waits)>,
}

impl DeviceWaits {
    /// The calling thread slept and read from a device since the last look; `None` if that was less than a millisecond ago.
    #[cfg(target_os = "linux")]
    pub(super) fn look(&mut self) -> Option<bool> {
        let now = Instant::now();
        if self.last.is_some_and(|(at, _)| now.duration_since(at) < LOOK) {
            return None;
        }
        let waits = thread_waits();
        // The threads of a walk are new, so that the first look sees their first reads.
        let before = self.last.replace((now, waits)).unwrap_or((now, Waits::default())).1;
        Some(waits.waited_for_device_since(before))
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, reason = "the other system's function needs it")]
    pub(super) const fn look(&mut self) -> Option<bool> {
        None
    }
}
