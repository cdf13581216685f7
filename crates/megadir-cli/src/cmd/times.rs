//! Times in a long listing: ISO 8601 in UTC, seconds since the epoch, or relative.

use std::io::Write;
use std::sync::OnceLock;
use std::time::SystemTime;

use chrono::{DateTime, Local};
use megadir::{Time, Utc};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cmd) enum TimeStyle {
    /// ISO 8601 in UTC, to the nanosecond.
    Iso,
    #[value(skip)]
    IsoSeconds,
    /// ISO 8601 in the local time zone, with its offset.
    Local,
    /// Seconds since 1970-01-01 UTC, to the nanosecond.
    Epoch,
    /// Age in one unit.
    Relative,
}

/// The same at every call: all ages in a run are relative to one time.
pub(in crate::cmd) fn started_s() -> i64 {
    static STARTED_S: OnceLock<i64> = OnceLock::new();
    *STARTED_S.get_or_init(now_s)
}

/// Seconds since 1970-01-01 UTC.
pub(in crate::cmd) fn now_s() -> i64 {
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        Err(_) => 0,
    }
}

impl TimeStyle {
    pub(in crate::cmd) fn text(self, time: Time) -> String {
        let mut text = Vec::new();
        self.write(&mut text, time);
        String::from_utf8(text).unwrap_or_default()
    }

    pub(in crate::cmd) fn write(self, text: &mut Vec<u8>, time: Time) {
        match self {
            Self::Iso => {
                iso(text, time);
                text.push(b'.');
                digits::<9>(text, u64::from(time.nanoseconds));
                text.push(b'Z');
            }
            Self::IsoSeconds => {
                iso(text, time);
                text.push(b'Z');
            }
            Self::Local => local(text, time),
            Self::Epoch => epoch(text, time),
            Self::Relative => relative(text, i128::from(started_s()) - i128::from(time.seconds)),
        }
    }
}

/// In UTC beyond the years that the calendar of the library has.
fn local(text: &mut Vec<u8>, time: Time) {
    match DateTime::from_timestamp(time.seconds, time.nanoseconds) {
        Some(utc) => drop(write!(text, "{}", utc.with_timezone(&Local).format("%Y-%m-%dT%H:%M:%S%.9f%:z"))),
        None => TimeStyle::Iso.write(text, time),
    }
}

/// -0.5 is half a second before the epoch.
fn epoch(text: &mut Vec<u8>, time: Time) {
    let (seconds, nanoseconds) = match time.seconds < 0 && time.nanoseconds > 0 {
        // Nanoseconds count up from the second below, decimals count away from zero.
        true => (time.seconds + 1, 1_000_000_000 - time.nanoseconds),
        false => (time.seconds, time.nanoseconds),
    };
    if time.seconds < 0 && seconds == 0 {
        text.push(b'-');
    }
    crate::ui::escape::number(text, seconds);
    text.push(b'.');
    digits::<9>(text, u64::from(nanoseconds));
}

fn iso(text: &mut Vec<u8>, time: Time) {
    let Utc { year, month, day, hour, minute, second } = time.utc();
    match u64::try_from(year) {
        Ok(year @ 0..=9999) => digits::<4>(text, year),
        // ISO 8601 requires a sign unless the year has four digits.
        _ => drop(write!(text, "{year:+05}")),
    }
    let two = |value: u8| [b'0' + value / 10, b'0' + value % 10];
    let ([a, b], [c, d], [e, f]) = (two(month), two(day), two(hour));
    let ([g, h], [i, j]) = (two(minute), two(second));
    text.extend_from_slice(&[b'-', a, b, b'-', c, d, b'T', e, f, b':', g, h, b':', i, j]);
}

/// In the largest unit that gives at least 2.
fn relative(text: &mut Vec<u8>, ago_s: i128) {
    const UNITS: [(i128, &str); 7] = [
        (31_556_952, "years"),
        (2_629_746, "months"),
        (604_800, "weeks"),
        (86_400, "days"),
        (3600, "hours"),
        (60, "minutes"),
        (1, "seconds"),
    ];
    let away = ago_s.abs();
    let (unit_s, unit) = UNITS.into_iter().find(|(unit_s, _)| away >= 2 * unit_s).unwrap_or((1, "seconds"));
    let count = away / unit_s;
    let _ = match ago_s < 0 {
        true => write!(text, "in {count} {unit}"),
        false => write!(text, "{count} {unit} ago"),
    };
}

fn digits<const WIDTH: usize>(text: &mut Vec<u8>, value: u64) {
    let (mut places, mut rest) = ([b'0'; WIDTH], value);
    for place in places.iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    text.extend_from_slice(&places);
}

#[cfg(test)]
mod tests {
    use super::{Time, TimeStyle};

    fn written(style: TimeStyle, seconds: i64, nanoseconds: u32) -> String {
        let mut text = Vec::new();
        style.write(&mut text, Time { seconds, nanoseconds });
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn iso_covers_every_time_a_file_system_can_hold() {
        let iso = |seconds, nanoseconds| written(TimeStyle::Iso, seconds, nanoseconds);
        assert_eq!(iso(0, 1), "1970-01-01T00:00:00.000000001Z");
        assert_eq!(iso(-1, 999_999_999), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(iso(1_767_323_045, 0), "2026-01-02T03:04:05.000000000Z");
        assert_eq!(iso(15_032_385_535, 0), "2446-05-10T22:38:55.000000000Z", "the last second of ext4");
        assert_eq!(iso(-2_147_483_648, 0), "1901-12-13T20:45:52.000000000Z");
        assert_eq!(iso(253_402_300_800, 0), "+10000-01-01T00:00:00.000000000Z");
        assert_eq!(iso(-62_167_219_201, 0), "-0001-12-31T23:59:59.000000000Z");
        assert!(iso(i64::MAX / 2, 0).starts_with('+'));
    }

    #[test]
    fn local_times_name_the_same_moment() {
        let text = written(TimeStyle::Local, 1_767_323_045, 7);
        let parsed = chrono::DateTime::parse_from_rfc3339(&text).unwrap();
        assert_eq!((parsed.timestamp(), parsed.timestamp_subsec_nanos()), (1_767_323_045, 7), "{text}");
        assert_eq!(written(TimeStyle::Local, i64::MAX / 2, 0), written(TimeStyle::Iso, i64::MAX / 2, 0));
    }

    #[test]
    fn epoch_seconds_are_decimal_numbers() {
        let epoch = |seconds, nanoseconds| written(TimeStyle::Epoch, seconds, nanoseconds);
        assert_eq!(epoch(7, 5), "7.000000005");
        assert_eq!(epoch(-1, 500_000_000), "-0.500000000");
        assert_eq!(epoch(-2, 250_000_000), "-1.750000000");
        assert_eq!(epoch(-2, 0), "-2.000000000");
    }

    #[test]
    fn relative_times_have_one_unit() {
        let relative = |ago_s: i128| {
            let mut text = Vec::new();
            super::relative(&mut text, ago_s);
            String::from_utf8(text).unwrap()
        };
        assert_eq!(relative(0), "0 seconds ago");
        assert_eq!(relative(119), "119 seconds ago");
        assert_eq!(relative(7200), "2 hours ago");
        assert_eq!(relative(3 * 86_400), "3 days ago");
        assert_eq!(relative(-300), "in 5 minutes");
        let longest = relative(i128::from(i64::MAX) - i128::from(i64::MIN));
        assert_eq!(longest.split(' ').nth(1), Some("years"));
    }
}
