//! Counts, sizes, rates and ages as people type them.

use std::num::NonZeroU32;

const DECIMAL: [(&str, u64); 4] =
    [("k", 1_000), ("m", 1_000_000), ("g", 1_000_000_000), ("b", 1_000_000_000)];
/// A bare letter is a power of 1024, as in `dd` and `truncate`.
const BINARY: [(&str, u64); 13] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("t", 1 << 40),
    ("b", 1),
];

const AGES: [(&str, u64); 25] = [
    ("s", 1),
    ("sec", 1),
    ("secs", 1),
    ("second", 1),
    ("seconds", 1),
    ("m", 60),
    ("min", 60),
    ("mins", 60),
    ("minute", 60),
    ("minutes", 60),
    ("h", 3_600),
    ("hour", 3_600),
    ("hours", 3_600),
    ("hr", 3_600),
    ("hrs", 3_600),
    ("d", 86_400),
    ("day", 86_400),
    ("days", 86_400),
    ("w", 7 * 86_400),
    ("week", 7 * 86_400),
    ("weeks", 7 * 86_400),
    ("y", 365 * 86_400),
    ("yr", 365 * 86_400),
    ("year", 365 * 86_400),
    ("years", 365 * 86_400),
];

/// Parses a count such as `250`, `10k`, `1.5M`, `2G` or `1e7`. Underscores are ignored, and blanks before the unit.
/// Errors: one line that names the accepted forms.
///
/// ```
/// assert_eq!(megadir::quantity::count("1.5M"), Ok(1_500_000));
/// ```
pub fn count(text: &str) -> Result<u64, String> {
    // `1e7`, as programs for figures print it.
    if let Some((number, exponent)) = text.trim().split_once(['e', 'E'])
        && let (Ok(number), Ok(exponent)) = (number.parse::<u64>(), exponent.parse())
    {
        let count = 10_u64.checked_pow(exponent).and_then(|factor| number.checked_mul(factor));
        return count.ok_or_else(|| format!("'{text}' is too large"));
    }
    scaled(text, &DECIMAL, "a count: write 250, 10k, 1.5M or 2G")
}

/// Parses a size in bytes such as `4096`, `128KiB`, `1M` (MiB) or `5MB` (10^6). Errors: one line that names the accepted forms.
pub fn bytes(text: &str) -> Result<u64, String> {
    scaled(text, &BINARY, "a size: write 4096, 128KiB, 1MiB or 5MB")
}

/// Parses a rate of contents such as `50MB/s`, in KiB per second. Errors: one line that names the accepted forms.
pub fn kib_per_second(text: &str) -> Result<NonZeroU32, String> {
    let bytes = text.strip_suffix("/s").and_then(|size| bytes(size).ok());
    let rate = bytes.map(|bytes| u32::try_from(bytes >> 10).unwrap_or(u32::MAX));
    rate.and_then(NonZeroU32::new)
        .ok_or_else(|| "expected a size per second, 1KiB/s or more, such as 50MB/s".to_owned())
}

/// Parses an age in seconds such as `90s`, `15m`, `12h`, `30d`, `30 days`, `2w` or `1y` (365 days). Errors: one line that names the accepted forms.
pub fn age_s(text: &str) -> Result<u64, String> {
    let time = "a length of time: write 90s, 15m, 12h, 30d, 2w or 1y";
    if text.contains(|letter: char| letter.is_ascii_uppercase()) {
        return Err(format!("'{text}' is not {time}, in lower case"));
    }
    if text.contains("mon") {
        return Err(format!("'{text}' has months, which differ in length: write days, such as 30d"));
    }
    if !text.ends_with(|letter: char| letter.is_ascii_alphabetic()) {
        return Err(format!("'{text}' is not {time}"));
    }
    scaled(text, &AGES, time)
}

/// `true` for text that begins as a date does, with a year and a hyphen: `2026-11-01`. No age begins so.
pub fn begins_as_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 4 && bytes[4] == b'-' && bytes[..4].iter().all(u8::is_ascii_digit)
}

fn scaled(text: &str, suffixes: &[(&str, u64)], wanted: &str) -> Result<u64, String> {
    let malformed = || format!("'{text}' is not {wanted}");
    let too_large = || format!("'{text}' is too large");
    let plain = text.trim().replace('_', "").to_ascii_lowercase();
    let digits = plain.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(plain.len());
    let (number, suffix) = plain.split_at(digits);
    let factor = match suffix.trim_start() {
        "" => 1,
        suffix => suffixes.iter().find(|(known, _)| *known == suffix.trim_start()).ok_or_else(malformed)?.1,
    };
    if !number.is_empty() && !number.contains('.') {
        let whole = number.parse::<u64>().ok();
        return whole.and_then(|whole| whole.checked_mul(factor)).ok_or_else(too_large);
    }
    let scaled = number.parse::<f64>().map_err(|_| malformed())? * factor as f64;
    match scaled.fract() == 0.0 {
        true if scaled < (1u64 << 53) as f64 => Ok(scaled as u64),
        true => Err(too_large()),
        false => Err(malformed()),
    }
}

#[cfg(test)]
mod tests {
    use super::{age_s, bytes, count};

    #[test]
    fn counts_are_decimal_and_sizes_binary() {
        assert_eq!(count("10M"), Ok(10_000_000));
        assert_eq!(count("1.5k"), Ok(1500));
        assert_eq!(count("1_000_000"), Ok(1_000_000));
        assert_eq!((count("1e7"), count("25E3"), count("0e0")), (Ok(10_000_000), Ok(25_000), Ok(0)));
        for text in ["1e", "e7", "1e-3", "-1e3", "1e20", "1.5e3", "inf", "nan"] {
            assert!(count(text).is_err(), "{text}");
        }
        assert_eq!(bytes("128KiB"), Ok(131_072));
        assert_eq!(bytes("1M"), Ok(1 << 20));
        assert_eq!(bytes("5MB"), Ok(5_000_000));
        assert_eq!(bytes("10"), Ok(10));
    }

    #[test]
    fn units_may_be_words_or_stand_apart() {
        for text in ["30d", "30days", "30 days", "30 d", "720 hours", "43200min"] {
            assert_eq!(age_s(text), Ok(30 * 86_400), "{text}");
        }
        assert_eq!(age_s("1 year"), Ok(365 * 86_400));
        assert_eq!((count("10 M"), bytes("10 MiB"), bytes("4 k")), (Ok(10_000_000), Ok(10 << 20), Ok(4096)));
        for text in ["days", "30", "30 months", "30 d ays", "3 0d"] {
            assert!(age_s(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_that_are_too_large_are_not_called_malformed() {
        for text in ["99999999999999999999", "99999999999G", "99999999.5G"] {
            assert_eq!(count(text), Err(format!("'{text}' is too large")));
        }
        assert_eq!(bytes("16777216TiB"), Err("'16777216TiB' is too large".to_owned()));
        assert_eq!(age_s("999999999999y"), Err("'999999999999y' is too large".to_owned()));
        assert!(age_s("30D").is_err_and(|error| error.ends_with("1y, in lower case")));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "-1", "1.2.3", "10X", "k", "1.0001k", "99999999999999999999", "99999999999G"] {
            assert!(count(text).is_err(), "{text}");
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
