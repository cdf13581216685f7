//! A point in time as file systems keep it.

/// A point in time: seconds since 1970-01-01 UTC, which may be negative, and nanoseconds after that second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Seconds since 1970-01-01 00:00:00 UTC; negative before it.
    pub seconds: i64,
    /// Nanoseconds after the second, 0 to 999 999 999, for negative seconds too.
    pub nanoseconds: u32,
}

impl Time {
    /// 1970-01-01 00:00:00 UTC.
    pub const EPOCH: Self = Self { seconds: 0, nanoseconds: 0 };

    /// Returns the time of the system's clock.
    pub(crate) fn from_system(time: std::time::SystemTime) -> Self {
        match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => Self { seconds: after.as_secs() as i64, nanoseconds: after.subsec_nanos() },
            Err(error) => {
                // Before the epoch: whole seconds down, nanoseconds up.
                let before = error.duration();
                let borrowed = i64::from(before.subsec_nanos() > 0);
                Self {
                    seconds: -(before.as_secs() as i64) - borrowed,
                    nanoseconds: (1_000_000_000 - before.subsec_nanos()) % 1_000_000_000,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Time;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn times_before_the_epoch_count_nanoseconds_upwards() {
        let half_before = UNIX_EPOCH - Duration::from_millis(500);
        assert_eq!(Time::from_system(half_before), Time { seconds: -1, nanoseconds: 500_000_000 });
        let second_before = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(Time::from_system(second_before), Time { seconds: -1, nanoseconds: 0 });
        let after = UNIX_EPOCH + Duration::new(7, 9);
        assert_eq!(Time::from_system(after), Time { seconds: 7, nanoseconds: 9 });
    }
}
