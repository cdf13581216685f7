//! Numbers as text, the same in every format. An interval has the unit and the decimals of its value.
//!
//! Three significant digits are enough for a time, since intervals of a good run are about a per cent wide.
//! The unit is chosen after rounding, so that 999.6 ns does not become `1000 ns`. Texts never decide:
//! verdicts are made from numbers, and only the decimals of a ratio depend on them, so that an interval
//! that excludes 1 is also printed as one that does.

use megadir_record::NameScheme;

use crate::figure::{Figure, Threshold};
use megadir_stats::Interval;

const TIME_UNITS: [(&str, f64); 4] = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// A difference below 0.01 % is printed as such at most; more digits would suggest a precision that no run
/// has.
const RATIO_DECIMALS_MAX: usize = 4;

/// `1.23 µs`.
pub fn time(ns: f64) -> String {
    let (unit, scale) = time_unit(ns);
    format!("{} {unit}", fixed(ns / scale, decimals(ns / scale)))
}

/// `412 ms [410, 415]`.
pub fn time_with_interval(figure: &Figure) -> String {
    let Some(Interval { low, high }) = figure.interval else { return time(figure.value) };
    // A difference of two arms may be nearly zero with a wide interval. The unit then follows the ends,
    // because a value of 0.3 ns would print ends of milliseconds in nanoseconds.
    let lost = figure.value.abs() < 0.5 * (high - low);
    let scale_of = if lost { low.abs().max(high.abs()) } else { figure.value };
    let (unit, scale) = time_unit(scale_of);
    let places = decimals(scale_of / scale);
    let [value, low, high] = [figure.value, low, high].map(|ns| fixed(ns / scale, places));
    format!("{value} {unit} [{low}, {high}]")
}

/// `0.54x [0.53, 0.55]`; an end that differs from 1 is not printed as 1.
pub fn ratio(value: f64, interval: Option<Interval>) -> String {
    let Some(Interval { low, high }) = interval else { return format!("{}x", fixed(value, 2)) };
    let places = ratio_decimals(value, high - low).max(apart_from_one(low)).max(apart_from_one(high));
    let [value, low, high] = [value, low, high].map(|ratio| fixed(ratio, places));
    format!("{value}x [{low}, {high}]")
}

/// `1.85x faster`.
pub fn speed(ratio: f64) -> String {
    // Both directions are a factor above 1, which is easier to compare than 1.85x faster with 0.54x slower.
    let (times, word) = if ratio <= 1.0 { (1.0 / ratio, "faster") } else { (ratio, "slower") };
    // More digits than three if needed to show a difference from 1.
    let places = decimals(times).max(apart_from_one(times));
    format!("{}x {word}", fixed(times, places))
}

/// `61 % [58, 64]`.
pub fn share(figure: &Figure) -> String {
    let percent = |fraction: f64, places| fixed(100.0 * fraction, places);
    let Some(Interval { low, high }) = figure.interval else {
        return format!("{} %", percent(figure.value, 0));
    };
    // Small shares with narrow intervals would print as equal numbers without a decimal.
    let places = usize::from(high - low < 0.01 && figure.value.abs() < 0.095);
    format!("{} % [{}, {}]", percent(figure.value, places), percent(low, places), percent(high, places))
}

/// `23 %`, `0.30 %`.
pub fn share_alone(fraction: f64) -> String {
    // Two significant digits, one fewer than a time has.
    let percent = 100.0 * fraction;
    format!("{} %", fixed(percent, decimals(percent).saturating_sub(1)))
}

/// `23 % [21, 25]`, `80 % [61, never]`.
pub fn threshold(share: f64, interval: Option<(Threshold, Threshold)>) -> String {
    let Some((low, high)) = interval else { return share_alone(share) };
    // Ends may be no number at all: listing was faster at all measured shares, or at none. Only two numbers
    // can ask for more decimals.
    let percent = 100.0 * share;
    let least = decimals(percent).saturating_sub(1);
    let places = match (low, high) {
        (Threshold::At { share: low }, Threshold::At { share: high }) => {
            least.max(resolving(100.0 * high - 100.0 * low).min(3))
        }
        _ => least,
    };
    let [low, high] = [low, high].map(|end| match end {
        Threshold::Always => "always".to_owned(),
        Threshold::At { share } => fixed(100.0 * share, places),
        Threshold::Never => "never".to_owned(),
    });
    format!("{} % [{low}, {high}]", fixed(percent, places))
}

/// Position of a threshold by the ends of its interval, as the end of a sentence. An open end is described
/// by the shares that were measured, since nothing is extrapolated.
pub fn between(low: Threshold, high: Threshold) -> String {
    let (below, above) =
        ("below the smallest share that was asked for", "above the largest share that was asked for");
    match (low, high) {
        (Threshold::Always, Threshold::Always) => format!("lies {below}"),
        (Threshold::Never, _) => format!("lies {above}"),
        (Threshold::Always, Threshold::At { share }) => {
            format!("lies at {} or lower, perhaps {below}", share_alone(share))
        }
        (Threshold::At { share }, Threshold::Never) => {
            format!("lies at {} or higher, perhaps {above}", share_alone(share))
        }
        (Threshold::At { share: low }, Threshold::At { share: high }) => {
            format!("lies between {} and {}", share_alone(low), share_alone(high))
        }
        (Threshold::Always, Threshold::Never) | (Threshold::At { .. }, Threshold::Always) => {
            "may lie anywhere".into()
        }
    }
}

/// `12 400 [11 900, 12 800]`.
pub(crate) fn per_second(figure: &Figure) -> String {
    let whole = |value: f64| count(value.round() as u64);
    let interval = figure.interval.map(|of| format!(" [{}, {}]", whole(of.low), whole(of.high)));
    format!("{}{}", whole(figure.value), interval.unwrap_or_default())
}

/// `1.01 [0.99, 1.03]`.
pub fn exponent(figure: &Figure) -> String {
    let Some(Interval { low, high }) = figure.interval else { return fixed(figure.value, 2) };
    // Decimals as for a ratio: an exponent is judged by its distance from 1, too.
    let places = ratio_decimals(figure.value, high - low);
    format!("{} [{}, {}]", fixed(figure.value, places), fixed(low, places), fixed(high, places))
}

/// Two significant digits, or more in a whole number: `0.42 %`.
pub fn percent(value: f64) -> String {
    let places = match value.abs() {
        ..1.0 => 2,
        ..10.0 => 1,
        _ => 0,
    };
    format!("{} %", fixed(value, places))
}

/// Chosen, not measured: `95 %`.
pub fn chosen(fraction: f64) -> String {
    // Bands, confidences and tolerances are exact numbers of a plan: `3 %`, not `3.00 %`.
    let digits = format!("{:.2}", 100.0 * fraction);
    format!("{} %", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// Thousands in groups, as everywhere in megadir: the record's function is used, so that names of arms and
/// texts agree.
pub fn count(count: u64) -> String {
    megadir_record::axes::grouped(count)
}

pub fn names(scheme: NameScheme) -> String {
    match scheme {
        NameScheme::Md5 => "md5 names".into(),
        NameScheme::Hex => "hex names".into(),
        NameScheme::Sequence => "sequence names".into(),
        NameScheme::Decimal => "decimal names".into(),
        NameScheme::UpperHex => "upper-hex names".into(),
        NameScheme::Lengths { bytes } => format!("names of {} to {} bytes", bytes[0], bytes[bytes.len() - 1]),
    }
}

/// `1 round`, `30 rounds`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(number))
}

pub fn entries(number: u64) -> String {
    format!("{} {}", count(number), if number == 1 { "entry" } else { "entries" })
}

/// The largest binary unit that gives a whole number, otherwise one decimal.
pub fn bytes(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    for (unit, shift) in units {
        let unit_bytes = 1_u64 << shift;
        if bytes >= unit_bytes {
            let whole = bytes.is_multiple_of(unit_bytes);
            return format!("{} {unit}", fixed(bytes as f64 / unit_bytes as f64, usize::from(!whole)));
        }
    }
    format!("{bytes} B")
}

/// `a, b and c`.
pub fn list(parts: impl IntoIterator<Item = impl Into<String>>) -> String {
    let mut parts: Vec<String> = parts.into_iter().map(Into::into).collect();
    match parts.pop() {
        None => String::new(),
        Some(last) if parts.is_empty() => last,
        Some(last) => format!("{} and {last}", parts.join(", ")),
    }
}

/// `Of 12 arms: 3 faster and 9 the same.`; counts of 0 are omitted.
pub(crate) fn divided(all: &str, parts: &[(u64, &str)]) -> String {
    let parts = parts.iter().filter(|(number, _)| *number > 0);
    format!("Of {all}: {}.", list(parts.map(|(number, label)| format!("{} {label}", count(*number)))))
}

/// In the order of their first values.
/// Groups values by a key without sorting: tables keep the order of the plan. Quadratic in the number of
/// keys, which are few.
pub(crate) fn grouped<K: PartialEq, V>(values: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in values {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

pub(crate) fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn time_unit(ns: f64) -> (&'static str, f64) {
    // Powers of ten in groups of three are the units; below 1 ns and above 1000 s the last unit stays.
    let unit = magnitude(ns).div_euclid(3).clamp(0, 3);
    TIME_UNITS[usize::try_from(unit).unwrap_or(0)]
}

/// Three significant digits, at most three decimals.
fn decimals(value: f64) -> usize {
    usize::try_from(2 - magnitude(value)).unwrap_or(0).min(3)
}

/// After rounding to three significant digits.
fn magnitude(value: f64) -> i32 {
    // 999.6 counts as the 1000 that is printed.
    let text = format!("{value:.2e}");
    text.rsplit('e').next().and_then(|power| power.parse().ok()).unwrap_or(0)
}

fn ratio_decimals(value: f64, width: f64) -> usize {
    // At least two decimals below 10, so that a column of ratios is aligned and easily compared.
    let least = if value.abs() < 10.0 { 2 } else { 1 };
    resolving(width).clamp(least, RATIO_DECIMALS_MAX)
}

/// At most four, that show on which side of 1 a ratio is.
fn apart_from_one(ratio: f64) -> usize {
    let shows = |places: &usize| ratio == 1.0 || fixed(ratio, *places) != fixed(1.0, *places);
    (0..RATIO_DECIMALS_MAX).find(shows).unwrap_or(RATIO_DECIMALS_MAX)
}

/// Half the width is at least one unit in the last place, with a margin for rounding.
fn resolving(width: f64) -> usize {
    if width > 0.0 { (-(0.5 * width).log10() - 1e-6).ceil().max(0.0) as usize } else { 3 }
}

/// "-0.00" has a sign without a number behind it.
fn fixed(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    let is_zero = text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
    if is_zero { text.trim_start_matches('-').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, low: f64, high: f64) -> Figure {
        Figure { value, interval: Some(Interval { low, high }) }
    }

    #[test]
    fn times_have_three_digits_and_a_unit_that_suits() {
        let cases = [
            (0.0, "0.00 ns"),
            (4.2, "4.20 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (1234.0, "1.23 µs"),
            (45_600_000.0, "45.6 ms"),
            (999_600_000.0, "1.00 s"),
            (5.8e12, "5800 s"),
            (-15.84, "-15.8 ns"),
        ];
        for (ns, text) in cases {
            assert_eq!(time(ns), text);
        }
    }

    #[test]
    fn share_beyond_the_measured_range_has_one_end() {
        let at = |share| Threshold::At { share };
        assert_eq!(
            between(at(0.93), Threshold::Never),
            "lies at 93 % or higher, perhaps above the largest share that was asked for"
        );
        assert_eq!(
            between(Threshold::Always, at(0.02)),
            "lies at 2.0 % or lower, perhaps below the smallest share that was asked for"
        );
        assert_eq!(between(at(0.1), at(0.5)), "lies between 10 % and 50 %");
    }

    #[test]
    fn an_interval_has_the_unit_and_decimals_of_its_figure() {
        assert_eq!(time_with_interval(&figure(1.01e9, 0.998e9, 1.02e9)), "1.01 s [1.00, 1.02]");
        assert_eq!(time_with_interval(&figure(990e3, 980e3, 1010e3)), "990 µs [980, 1010]");
        assert_eq!(time_with_interval(&figure(0.3, -12.0, 15.0)), "0.3 ns [-12.0, 15.0]");
        assert_eq!(time_with_interval(&Figure { value: 5.0, interval: None }), "5.00 ns");
    }

    #[test]
    fn ratios_resolve_their_interval() {
        assert_eq!(ratio(0.54, Some(Interval { low: 0.53, high: 0.55 })), "0.54x [0.53, 0.55]");
        assert_eq!(ratio(1.001, Some(Interval { low: 0.997, high: 1.005 })), "1.001x [0.997, 1.005]");
        assert_eq!(ratio(2.0, None), "2.00x");
        assert_eq!(ratio(0.97, Some(Interval { low: 0.951, high: 0.9996 })), "0.9700x [0.9510, 0.9996]");
        assert_eq!(ratio(0.97, Some(Interval { low: 0.951, high: 1.0004 })), "0.9700x [0.9510, 1.0004]");
        assert_eq!(ratio(0.97, Some(Interval { low: 0.951, high: 1.0 })), "0.97x [0.95, 1.00]");
        assert_eq!(ratio(1.02, Some(Interval { low: 0.996, high: 1.05 })), "1.020x [0.996, 1.050]");
        assert_eq!((speed(1.0004), speed(1.0)), ("1.0004x slower".into(), "1.00x faster".into()));
        assert_eq!(speed(0.54), "1.85x faster");
        assert_eq!(speed(1.004), "1.004x slower");
        assert_eq!(speed(123.4), "123x slower");
    }

    #[test]
    fn shares_keep_their_sign_but_zero_has_none() {
        assert_eq!(share(&figure(0.61, 0.58, 0.64)), "61 % [58, 64]");
        assert_eq!(share(&figure(-0.021, -0.023, -0.019)), "-2.1 % [-2.3, -1.9]");
        assert_eq!(share(&figure(-0.001, -0.02, 0.02)), "0 % [-2, 2]");
    }

    #[test]
    fn thresholds_state_their_bounds() {
        let at = |share| Threshold::At { share };
        assert_eq!(threshold(0.2312, Some((at(0.2108), at(0.25)))), "23 % [21, 25]");
        assert_eq!(threshold(0.4, Some((at(0.398), at(0.4021)))), "40.0 % [39.8, 40.2]");
        assert_eq!(threshold(0.004, Some((Threshold::Always, at(0.0122)))), "0.40 % [always, 1.22]");
        assert_eq!(threshold(0.9, Some((at(0.8), Threshold::Never))), "90 % [80, never]");
        assert_eq!((threshold(1.0, None), share_alone(0.001)), ("100 %".into(), "0.10 %".into()));
    }

    #[test]
    fn counts_sizes_and_lists() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000_000), "1 000 000");
        assert_eq!(counted(1, "round"), "1 round");
        assert_eq!(
            (chosen(0.95), chosen(0.999), chosen(0.03)),
            ("95 %".into(), "99.9 %".into(), "3 %".into())
        );
        assert_eq!(bytes(131_072), "128 KiB");
        assert_eq!(bytes(5 << 20), "5 MiB");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(100), "100 B");
        assert_eq!(list(["a", "b", "c"]), "a, b and c");
    }
}
