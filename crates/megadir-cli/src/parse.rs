//! Parsers for counts, sizes, ages and interval widths.

use megadir_bench::dataset::{CONTENTS, SIZE_LAWS};
use megadir_bench::plan::{AgedBy, HalfWidth};

pub(crate) use megadir::quantity::{age_s, bytes, count};

/// `500k`, or a multiple such as `10x`.
pub(crate) fn aged(text: &str) -> Result<AgedBy, String> {
    match text.strip_suffix('x') {
        None => count(text).map(AgedBy::Files),
        Some(times) => {
            let times = times.parse().ok().filter(|times| *times > 0);
            times
                .map(AgedBy::Times)
                .ok_or_else(|| format!("'{text}' is not a multiple: write 10x, or a number such as 500k"))
        }
    }
}

/// `1%` of a ratio; `5ns`, `0.2us` or `1ms` of a time difference.
pub(crate) fn width(text: &str) -> Result<HalfWidth, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let value = number.parse::<f64>().ok().filter(|value| *value > 0.0);
    match (value, unit.trim_start()) {
        (Some(value), "%") => Ok(HalfWidth::Fraction(value / 100.0)),
        (Some(value), "ns") => Ok(HalfWidth::Absolute(value)),
        (Some(value), "us") => Ok(HalfWidth::Absolute(1e3 * value)),
        (Some(value), "ms") => Ok(HalfWidth::Absolute(1e6 * value)),
        _ => Err(format!("'{text}' is not a width: write 1% (of a ratio) or 5ns, 0.2us (of a difference)")),
    }
}

pub(crate) fn sizes_help() -> String {
    let lines = SIZE_LAWS.iter().map(|(form, about)| format!("{form:<24} {about}"));
    format!("Distribution of file sizes.\n\n{}", lines.collect::<Vec<_>>().join("\n"))
}

pub(crate) fn content_help() -> String {
    let lines = CONTENTS.iter().map(|(name, _, about)| format!("{name:<14} {about}"));
    format!("Content of the files.\n\n{}", lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{AgedBy, HalfWidth, aged, width};

    #[test]
    fn ages_are_counts_or_multiples() {
        assert_eq!(aged("500k"), Ok(AgedBy::Files(500_000)));
        assert_eq!(aged("10x"), Ok(AgedBy::Times(10)));
        for text in ["", "x", "0x", "-1x", "1.5x", "many"] {
            assert!(aged(text).is_err(), "{text}");
        }
    }

    #[test]
    fn widths_have_a_unit() {
        assert_eq!(width("0.5%"), Ok(HalfWidth::Fraction(0.005)));
        assert_eq!(width("5ns"), Ok(HalfWidth::Absolute(5.0)));
        assert_eq!(width("0.2 us"), Ok(HalfWidth::Absolute(200.0)));
        for text in ["", "5", "0%", "-1%", "%", "5s", "1.2.3ns"] {
            assert!(width(text).is_err(), "{text}");
        }
    }
}
