//! Counts, sizes and ages as people type them.

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

const AGES: [(&str, u64); 6] =
    [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400), ("w", 7 * 86_400), ("y", 365 * 86_400)];

/// Parses a count such as `250`, `10k`, `1.5M` or `2G`. Underscores are ignored.
///
/// Errors: one line that names the accepted forms.
///
/// ```
/// assert_eq!(megadir::quantity::count("1.5M"), Ok(1_500_000));
/// ```
pub fn count(text: &str) -> Result<u64, String> {
    scaled(text, &DECIMAL).ok_or_else(|| format!("'{text}' is not a count: write 250, 10k, 1.5M or 2G"))
}

/// Parses a size in bytes such as `4096`, `128KiB`, `1M` (MiB) or `5MB` (10^6).
///
/// Errors: one line that names the accepted forms.
pub fn bytes(text: &str) -> Result<u64, String> {
    scaled(text, &BINARY).ok_or_else(|| format!("'{text}' is not a size: write 4096, 128KiB, 1MiB or 5MB"))
}

/// Parses an age in seconds such as `90s`, `15m`, `12h`, `30d`, `2w` or `1y` (365 days).
///
/// Errors: one line that names the accepted forms.
pub fn age_s(text: &str) -> Result<u64, String> {
    if text.contains(|letter: char| letter.is_ascii_uppercase()) {
        return Err(format!("'{text}' is not an age: write 1m for a minute, 30d for a month"));
    }
    scaled(text, &AGES)
        .filter(|_| text.ends_with(|letter: char| letter.is_ascii_alphabetic()))
        .ok_or_else(|| format!("'{text}' is not an age: write 90s, 15m, 12h, 30d, 2w or 1y"))
}

fn scaled(text: &str, suffixes: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim().replace('_', "").to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let factor = match suffix {
        "" => 1,
        suffix => suffixes.iter().find(|(known, _)| *known == suffix)?.1,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let scaled = number.parse::<f64>().ok()? * factor as f64;
    (scaled.fract() == 0.0 && scaled < (1u64 << 53) as f64).then_some(scaled as u64)
}

#[cfg(test)]
mod tests {
    use super::{bytes, count};

    #[test]
    fn counts_are_decimal_and_sizes_binary() {
        assert_eq!(count("10M"), Ok(10_000_000));
        assert_eq!(count("1.5k"), Ok(1500));
        assert_eq!(count("1_000_000"), Ok(1_000_000));
        assert_eq!(bytes("128KiB"), Ok(131_072));
        assert_eq!(bytes("1M"), Ok(1 << 20));
        assert_eq!(bytes("5MB"), Ok(5_000_000));
        assert_eq!(bytes("10"), Ok(10));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "-1", "1.2.3", "10X", "k", "1.0001k", "99999999999999999999", "99999999999G"] {
            assert!(count(text).is_err(), "{text}");
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
