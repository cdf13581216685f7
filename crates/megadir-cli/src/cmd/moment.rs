//! Moments of `--older-than` and `--newer-than`: an age, a date, or the modification time of a file.

use std::ffi::OsStr;
use std::path::Path;

use chrono::{DateTime, Local, NaiveDate, NaiveDateTime, TimeZone as _};
use megadir::{Time, quantity};

use super::times::started_s;
use crate::ui::message::reason;

const FORMS: &str = "write an age (30d, 12h), a date (2026-11-01, 2026-11-01T12:30) or the path of a file";

/// A moment, and its words on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cmd) struct Moment {
    pub(in crate::cmd) words: String,
    /// Not a date or a file.
    pub(in crate::cmd) is_age: bool,
    /// Entries before it are older.
    pub(in crate::cmd) begins: Time,
    /// Entries from it on are newer; later than `begins` for a file, which is neither older nor newer than itself.
    pub(in crate::cmd) ends: Time,
}

/// A path that begins with a digit needs `./`, so that a mistyped age never names a file.
pub(in crate::cmd) fn moment(words: &OsStr) -> Result<Moment, String> {
    let text = words.to_string_lossy().into_owned();
    let may_be_path = !text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
        || text.contains('/')
        || (cfg!(windows) && text.contains('\\'));
    let between = |begins, ends| Ok(Moment { words: text.clone(), is_age: false, begins, ends });
    match quantity::age_s(&text) {
        Ok(age_s) => {
            let age_s = i64::try_from(age_s).unwrap_or(i64::MAX);
            let time = Time { seconds: started_s().saturating_sub(age_s), nanoseconds: 0 };
            Ok(Moment { words: text, is_age: true, begins: time, ends: time })
        }
        Err(_) if quantity::begins_as_date(text.trim()) => {
            let (begins, ends) = date(text.trim())?;
            between(begins, ends)
        }
        Err(_) if may_be_path && !text.is_empty() => {
            let file = Path::new(words).metadata();
            let file = file.map_err(|error| format!("no file '{text}' ({}): {FORMS}", reason(&error)))?;
            let time = modified(&file).map_err(|error| format!("'{text}': {error}"))?;
            between(time, after(time))
        }
        Err(why) => Err(format!("{why}; or {}", FORMS.trim_start_matches("write an age (30d, 12h), "))),
    }
}

/// Parses a date of local time, unless the text ends in `Z` or an offset such as `+01:00`. A date is its first moment. Returns it twice,
/// as the hour that is repeated in autumn has two: the first for older entries and the second for newer ones, so that neither
/// takes more than it may.
fn date(text: &str) -> Result<(Time, Time), String> {
    let time = |time: DateTime<Local>| Time {
        seconds: time.timestamp(),
        nanoseconds: time.timestamp_subsec_nanos().min(999_999_999),
    };
    if let Ok(with_offset) = DateTime::parse_from_rfc3339(text) {
        let at = time(with_offset.into());
        return Ok((at, at));
    }
    let of_day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().and_then(|day| day.and_hms_opt(0, 0, 0));
    let forms = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"];
    let local =
        of_day.or_else(|| forms.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok()));
    let local =
        local.ok_or_else(|| format!("no such date: '{text}': write 2026-11-01 or 2026-11-01T12:30"))?;
    let local = Local.from_local_datetime(&local);
    // Sorted here: chrono 0.4.45 returns the later one as the earliest.
    let both = local.earliest().zip(local.latest()).map(|(a, b)| (time(a), time(b)));
    let both = both.map(|(a, b)| (a.min(b), a.max(b)));
    both.ok_or_else(|| format!("no such local time: '{text}': clocks were set past it"))
}

fn modified(file: &std::fs::Metadata) -> Result<Time, String> {
    let modified = file.modified().map_err(|error| error.to_string())?;
    let time = DateTime::<Local>::from(modified);
    Ok(Time { seconds: time.timestamp(), nanoseconds: time.timestamp_subsec_nanos().min(999_999_999) })
}

fn after(time: Time) -> Time {
    match time.nanoseconds {
        999_999_999 => Time { seconds: time.seconds + 1, nanoseconds: 0 },
        nanoseconds => Time { nanoseconds: nanoseconds + 1, ..time },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Moment, String> {
        moment(text.as_ref())
    }

    #[test]
    fn ages_count_back_from_the_start() {
        let month = of("30 days").unwrap();
        assert_eq!(month.begins, Time { seconds: started_s() - 30 * 86_400, nanoseconds: 0 });
        assert_eq!((month.begins, month.words.as_str()), (month.ends, "30 days"));
    }

    #[test]
    fn dates_with_an_offset_are_one_moment_everywhere() {
        let seconds = |text| of(text).unwrap().begins.seconds;
        assert_eq!(seconds("2026-01-02T03:04:05Z"), 1_767_323_045);
        assert_eq!(seconds("2026-01-02T04:04:05+01:00"), 1_767_323_045);
        let midnight = NaiveDate::from_ymd_opt(2026, 1, 2).unwrap().and_hms_opt(0, 0, 0).unwrap();
        let local = Local.from_local_datetime(&midnight).earliest().unwrap().timestamp();
        assert_eq!(seconds("2026-01-02"), local);
        assert_eq!(seconds("2026-01-02T03:04"), local + 3 * 3600 + 4 * 60);
        assert_eq!(seconds("2026-01-02 03:04:05"), seconds("2026-01-02T03:04:05"));
    }

    #[test]
    fn reference_file_is_neither_older_nor_newer() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let Moment { begins, ends, .. } = moment(file.path().as_os_str()).unwrap();
        let own = modified(&file.path().metadata().unwrap()).unwrap();
        assert!(own >= begins && own < ends, "{begins:?} {own:?} {ends:?}");
        assert_eq!(after(Time { seconds: 1, nanoseconds: 999_999_999 }), Time { seconds: 2, nanoseconds: 0 });
    }

    #[test]
    fn a_mistyped_age_or_date_is_no_path() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["30", "30x", "-1d", "", "2026-13-01", "2026-11-01T25:00", "2026-", "1.5", ".5q"] {
            let error = of(text).unwrap_err();
            assert!(error.contains("2026-11-01"), "{text}: {error}");
        }
        let missing = folder.path().join("none");
        let error = moment(missing.as_os_str()).unwrap_err();
        assert!(error.contains("no file '") && error.contains("30d"), "{error}");
    }
}
