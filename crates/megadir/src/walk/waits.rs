//! Detects waiting for a device, which more threads shorten, by two counters of the thread. Looking costs one call of
//! getrusage(2) per millisecond.

#[cfg(target_os = "linux")]
pub(super) use linux::DeviceWaits;
#[cfg(not(target_os = "linux"))]
pub(super) use unsupported::DeviceWaits;

#[cfg(target_os = "linux")]
mod linux {
    use std::time::{Duration, Instant};

    use megadir_sys::usage::{Waits, thread_waits};

    const LOOK: Duration = Duration::from_millis(1);
    const NONE: Waits = Waits { switches: 0, read_sectors: 0 };

    /// Waiting of one thread since its last look. Reads that the thread requests count for it (`submit_bio`), if the
    /// kernel accounts for them; without that it seems never to wait.
    #[derive(Debug, Default)]
    pub(in crate::walk) struct DeviceWaits {
        last: Option<(Instant, Waits)>,
    }

    impl DeviceWaits {
        /// The calling thread slept and read from a device since the last look; `None` if that was less than
        /// a millisecond ago.
        pub(in crate::walk) fn look(&mut self) -> Option<bool> {
            let now = Instant::now();
            if self.last.is_some_and(|(at, _)| now.duration_since(at) < LOOK) {
                return None;
            }
            let waits = thread_waits();
            // The threads of a walk are new, so that the first look sees their first reads.
            let before = self.last.replace((now, waits)).map_or(NONE, |(_, before)| before);
            Some(waits.waited_for_device_since(before))
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod unsupported {
    /// Has no values that ever wait: this system does not count a thread's device reads.
    #[derive(Debug, Default)]
    pub(in crate::walk) struct DeviceWaits;

    impl DeviceWaits {
        #[expect(clippy::unused_self, reason = "the other system's function needs it")]
        pub(in crate::walk) const fn look(&mut self) -> Option<bool> {
            None
        }
    }
}
