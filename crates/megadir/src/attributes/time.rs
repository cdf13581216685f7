//! Times as file systems store them.

/// Point in time as file systems store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Seconds since 1970-01-01 00:00:00 UTC, negative before it.
    pub seconds: i64,
    /// Nanoseconds after the second, 0 to 999 999 999, also for negative seconds.
    pub nanoseconds: u32,
}

/// Date and time of day in UTC.
///
/// In the proleptic Gregorian calendar, without leap seconds, as all file systems count time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc {
    /// Year; 0 is the year before year 1.
    pub year: i64,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, from 1.
    pub day: u8,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute, 0 to 59.
    pub minute: u8,
    /// Second, 0 to 59.
    pub second: u8,
}

impl Time {
    /// 1970-01-01 00:00:00 UTC.
    pub const EPOCH: Self = Self { seconds: 0, nanoseconds: 0 };

    /// Converts to UTC, by the proleptic Gregorian calendar.
    ///
    /// ```
    /// let time = megadir::Time { seconds: 951_782_400, nanoseconds: 0 };
    /// assert_eq!((time.utc().year, time.utc().month, time.utc().day), (2000, 2, 29));
    /// ```
    pub fn utc(self) -> Utc {
        // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
        let days = self.seconds.div_euclid(86_400) + 719_468;
        let of_day = self.seconds.rem_euclid(86_400);
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        Utc {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month: month as u8,
            day: (day_of_year - (153 * from_march + 2) / 5 + 1) as u8,
            hour: (of_day / 3600) as u8,
            minute: (of_day / 60 % 60) as u8,
            second: (of_day % 60) as u8,
        }
    }

    /// Converts a Windows time: units of 100 ns since 1601-01-01 UTC.
    ///
    /// ```
    /// use megadir::Time;
    /// assert_eq!(Time::from_windows(116_444_736_000_000_001), Time { seconds: 0, nanoseconds: 100 });
    /// ```
    pub fn from_windows(ticks: i64) -> Self {
        const EPOCHS_APART: i64 = 11_644_473_600;
        const TICKS: i64 = 10_000_000;
        let nanoseconds = ticks.rem_euclid(TICKS) as u32 * 100;
        Self { seconds: ticks.div_euclid(TICKS) - EPOCHS_APART, nanoseconds }
    }

    /// Converts a time of the standard library.
    pub fn from_system(time: std::time::SystemTime) -> Self {
        match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => Self { seconds: after.as_secs() as i64, nanoseconds: after.subsec_nanos() },
            Err(error) => {
                // Nanoseconds count up from the second below.
                let before = error.duration();
                let borrowed = i64::from(before.subsec_nanos() > 0);
                Self {
                    seconds: 0i64.wrapping_sub_unsigned(before.as_secs()) - borrowed,
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
        // The clock of Windows begins in 1601.
        if let Some(earliest) = UNIX_EPOCH.checked_sub(Duration::from_secs(1 << 63)) {
            assert_eq!(Time::from_system(earliest), Time { seconds: i64::MIN, nanoseconds: 0 });
        }
        let after = UNIX_EPOCH + Duration::new(7, 900);
        assert_eq!(Time::from_system(after), Time { seconds: 7, nanoseconds: 900 });
    }
}
