//! Dates from seconds, in UTC: for the names of records and for `ls -l`'s columns.
//!
//! Reference: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.

/// A moment in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: u8,
    /// From 1.
    pub(crate) day: u8,
    pub(crate) hour: u8,
    pub(crate) minute: u8,
    pub(crate) second: u8,
}

impl Date {
    /// Returns the date of so many seconds after 1970-01-01.
    pub(crate) fn from_unix(seconds: i64) -> Self {
        let days = seconds.div_euclid(86_400) + 719_468;
        let of_day = seconds.rem_euclid(86_400);
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month: month as u8,
            day: (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u8,
            hour: (of_day / 3_600) as u8,
            minute: (of_day / 60 % 60) as u8,
            second: (of_day % 60) as u8,
        }
    }
}

/// Returns the name of the record of a run that started then, e.g. `megadir-listing-20260102-030405.jsonl`.
pub fn record_file_name(study: &str, started_unix_s: u64) -> String {
    let date = Date::from_unix(i64::try_from(started_unix_s).unwrap_or(i64::MAX));
    let Date { year, month, day, hour, minute, second } = date;
    format!("megadir-{study}-{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}.jsonl")
}

#[cfg(test)]
mod tests {
    use super::{Date, record_file_name};

    #[test]
    fn dates_are_those_of_the_calendar() {
        let date = |seconds| {
            let Date { year, month, day, hour, minute, second } = Date::from_unix(seconds);
            (year, month, day, hour, minute, second)
        };
        assert_eq!(date(0), (1970, 1, 1, 0, 0, 0));
        assert_eq!(date(-1), (1969, 12, 31, 23, 59, 59));
        assert_eq!(date(951_782_399), (2000, 2, 28, 23, 59, 59));
        assert_eq!(date(951_782_400), (2000, 2, 29, 0, 0, 0));
        assert_eq!(date(4_102_444_800), (2100, 1, 1, 0, 0, 0));
    }

    #[test]
    fn records_are_named_by_study_and_start() {
        assert_eq!(record_file_name("listing", 1_767_323_045), "megadir-listing-20260102-030405.jsonl");
    }
}
