//! Number formats: `9 812`, `62.1 k`, `4.71 M`; intervals in one unit.
//!
//! Large numbers have three digits for people, since the others of an estimate carry no information;
//! programs get the exact ones from JSON.

use megadir::limits::Span;

pub(in crate::cmd) use megadir_record::axes::grouped;

/// Up to here all digits are printed.
const EXACT_MAX: u64 = 99_999;
/// G, T and P would be taken for bytes.
const UNITS: [(&str, f64); 5] =
    [(" k", 1e3), (" M", 1e6), (" billion", 1e9), (" trillion", 1e12), (" quadrillion", 1e15)];

/// Three significant digits, or all of a small number.
pub(in crate::cmd) fn amount(number: u64) -> String {
    if number <= EXACT_MAX {
        return grouped(number);
    }
    let (unit, scale) = unit(number);
    format!("{}{unit}", scaled(number, scale, number))
}

/// A lower end of less than this part of the figure is printed as 0.00.
const NOTHING_ONE_IN: u64 = 1_000;

/// The likely value with its bounds, all three in the unit of the likely one, so that they can be compared
/// without converting.
pub(in crate::cmd) fn interval(span: Span) -> String {
    if span.is_exact() {
        return amount(span.likely);
    }
    let [likely, low, high] = [span.likely, span.low, span.high];
    // From nothing on: the figure in the middle is no information.
    if likely >= 1_000 && low.saturating_mul(NOTHING_ONE_IN) < likely {
        return if high == u64::MAX { "unknown".to_owned() } else { format!("at most {}", amount(high)) };
    }
    if high == u64::MAX {
        return format!("{} [{} or more]", amount(likely), amount(low));
    }
    if high > 20 * likely.max(1) {
        return format!("{} [{} to {}]", amount(likely), amount(low), amount(high));
    }
    // Unit of the upper bound if that is more than four times the likely value.
    let of = if likely < high / 4 { high } else { likely };
    if of.max(likely) < 10_000 {
        return format!("{} [{}, {}]", grouped(likely), grouped(low), grouped(high));
    }
    let (unit, scale) = unit(of);
    let [likely, low, high] = [likely, low, high].map(|number| scaled(number, scale, of));
    format!("{likely}{unit} [{low}, {high}]")
}

pub(in crate::cmd) fn percent(part: f64) -> String {
    match 100.0 * part {
        percent if percent > 0.0 && percent < 0.05 => "<0.1 %".into(),
        percent if percent > 0.0 && percent < 0.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

pub(in crate::cmd) fn plural(number: u64, singular: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { singular } else { many })
}

pub(in crate::cmd) fn seconds(seconds: f64) -> String {
    match seconds {
        short if short < 10.0 => format!("{short:.2} s"),
        some if some < 120.0 => format!("{some:.0} s"),
        long if long < 7200.0 => format!("{:.0} min", long / 60.0),
        long => format!("{:.1} h", long / 3600.0),
    }
}

/// The largest unit in which the number has at least one digit before the point after rounding.
fn unit(number: u64) -> (&'static str, f64) {
    let fits = |unit: &&(&str, f64)| number as f64 >= unit.1 * 0.9995;
    UNITS.iter().rev().find(fits).copied().unwrap_or(("", 1.0))
}

fn scaled(number: u64, scale: f64, of: u64) -> String {
    let places = match of as f64 / scale {
        of if of < 9.995 => 2,
        of if of < 99.95 => 1,
        _ => 0,
    };
    format!("{:.places$}", number as f64 / scale)
}

#[cfg(test)]
mod tests {
    use super::{amount, interval, percent};
    use megadir::limits::Span;

    #[test]
    fn numbers_have_three_digits_or_all() {
        for (number, text) in [
            (0, "0"),
            (9_812, "9 812"),
            (99_999, "99 999"),
            (161_234, "161 k"),
            (999_960, "1.00 M"),
            (4_712_000, "4.71 M"),
            (47_120_000, "47.1 M"),
            (2_147_483_648, "2.15 billion"),
            (281_474_976_710_656, "281 trillion"),
        ] {
            assert_eq!(amount(number), text);
        }
    }

    #[test]
    fn bounds_have_the_unit_of_their_figure() {
        let of = |likely, low, high| interval(Span { likely, low, high });
        assert_eq!(of(4_700_000, 3_190_000, 6_210_000), "4.70 M [3.19, 6.21]");
        assert_eq!(of(0, 0, 5_200), "0 [0 to 5 200]");
        assert_eq!(of(13_012, 8_000, 16_200_000), "13 012 [8 000 to 16.2 M]");
        assert_eq!(of(500, 400, 5_200), "500 [400, 5 200]");
        assert_eq!(of(150_000, 80_000, 1_200_000), "0.15 M [0.08, 1.20]");
        assert_eq!(of(62_000, 39_000, 85_000), "62.0 k [39.0, 85.0]");
        assert_eq!(of(3_080_000_000, 0, 4_100_000_000), "at most 4.10 billion");
        assert_eq!(of(3_080_000_000, 2_000, u64::MAX), "unknown");
        assert_eq!(of(126, 126, 126), "126");
        assert_eq!(of(258_000, 1_391, u64::MAX), "258 k [1 391 or more]");
    }

    #[test]
    fn parts_are_short() {
        assert_eq!(
            (percent(0.0), percent(0.004), percent(0.61)),
            ("0 %".into(), "0.4 %".into(), "61 %".into())
        );
    }
}
