//! Every statistic against the values that `reference/make_reference.py` computed with SciPy and NumPy.

#![expect(clippy::unwrap_used, reason = "a failed assumption is a failed test, also in what the tests share")]

use megadir_stats as stats;
use serde_json::Value;

/// Relative to the value, or absolute near zero.
const TOLERANCE: f64 = 1e-9;

fn document() -> Value {
    serde_json::from_str(include_str!("reference/values.json")).unwrap()
}

fn list<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    of[name].as_array().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    let values = value.as_array().unwrap().iter();
    values.map(|number| number.as_f64().unwrap()).collect()
}

#[track_caller]
fn assert_close(actual: Option<f64>, expected: &Value, name: &str) {
    let (actual, expected) = (actual.unwrap(), expected.as_f64().unwrap());
    let distance = (actual - expected).abs() / expected.abs().max(1.0);
    assert!(distance <= TOLERANCE, "{name}: {actual} instead of {expected}");
}

/// Compares an estimate with `[value, low, high]`, or `None` with null.
#[track_caller]
fn assert_estimate(actual: Option<stats::Estimate>, expected: &Value, name: &str) {
    assert_eq!(actual.is_none(), expected.is_null(), "{name}: {actual:?}");
    let Some(actual) = actual else { return };
    assert_close(Some(actual.value), &expected[0], name);
    assert_close(Some(actual.interval.low), &expected[1], name);
    assert_close(Some(actual.interval.high), &expected[2], name);
}

/// Compares estimates at several levels, each `[confidence, estimate]`.
#[track_caller]
fn assert_levels(levels: &[Value], estimate: impl Fn(f64) -> Option<stats::Estimate>, name: &str) {
    for level in levels {
        let confidence = level[0].as_f64().unwrap();
        assert_estimate(estimate(confidence), &level[1], &format!("{name} at {confidence}"));
    }
}

#[test]
fn descriptions() {
    for case in list(&document(), "series") {
        let (name, samples) = (case["name"].as_str().unwrap(), numbers(&case["samples"]));
        assert_close(stats::mean(&samples), &case["mean"], name);
        let deviation = stats::standard_deviation(&samples);
        assert_close(deviation, &case["standard_deviation"], name);
        assert_close(stats::median(&samples), &case["median"], name);
        assert_close(stats::error_999(&samples), &case["error_999"], name);
        let mut sorted = samples;
        sorted.sort_by(f64::total_cmp);
        for quantile in list(case, "quantiles") {
            let p = quantile[0].as_f64().unwrap();
            assert_close(stats::quantile(&sorted, p), &quantile[1], name);
        }
    }
}

#[test]
fn median_intervals() {
    for case in list(&document(), "series") {
        let samples = numbers(&case["samples"]);
        let name = case["name"].as_str().unwrap();
        let estimate = |confidence| stats::median_interval(&samples, confidence);
        assert_levels(list(case, "median_interval"), estimate, name);
    }
}

#[test]
fn noise_diagnostics() {
    for case in list(&document(), "series") {
        let (name, expected) = (case["name"].as_str().unwrap(), &case["noise"]);
        if expected.is_null() {
            continue;
        }
        let samples = numbers(&case["samples"]);
        let correlation = stats::lag1_autocorrelation(&samples);
        assert_close(correlation, &expected["lag1_autocorrelation"], name);
        let bimodality = stats::bimodality_coefficient(&samples);
        assert_close(bimodality, &expected["bimodality_coefficient"], name);
        let halves = stats::halves_differ(&samples);
        assert_estimate(halves, &expected["halves_differ"], name);
        let change = stats::change_point(&samples).unwrap();
        assert_eq!(change.index as u64, expected["change_point"]["index"], "{name}");
        assert_close(Some(change.p), &expected["change_point"]["p"], name);
    }
}

#[test]
fn paired_differences() {
    for case in list(&document(), "paired") {
        let differences = numbers(&case["differences"]);
        let name = format!("{} differences", differences.len());
        let estimate = |confidence| stats::hodges_lehmann(&differences, confidence);
        assert_levels(list(case, "hodges_lehmann"), estimate, &name);
    }
}

#[test]
fn paired_ratios_are_exponentials_of_differences() {
    for case in list(&document(), "paired") {
        let differences = numbers(&case["differences"]);
        let old: Vec<f64> = (1..=differences.len()).map(|i| i as f64).collect();
        let pairs = old.iter().zip(&differences);
        let new: Vec<f64> = pairs.map(|(old, d)| old * d.exp()).collect();
        for level in list(case, "hodges_lehmann") {
            let ratio = stats::paired_ratio(&new, &old, level[0].as_f64().unwrap());
            assert_eq!(ratio.is_none(), level[1].is_null());
            let Some(ratio) = ratio else { continue };
            // Compare logarithms: rounding of the inputs is absolute there.
            assert_close(Some(ratio.value.ln()), &level[1][0], "value");
            assert_close(Some(ratio.interval.low.ln()), &level[1][1], "low");
            assert_close(Some(ratio.interval.high.ln()), &level[1][2], "high");
        }
    }
}

#[test]
fn fits() {
    for case in list(&document(), "fits") {
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        let name = format!("{} points", x.len());
        let slope = |confidence| stats::theil_sen(&x, &y, confidence);
        assert_levels(list(case, "theil_sen"), slope, &name);
        assert_close(stats::power_law(&x, &y), &case["power_law"], &name);
    }
}

#[test]
fn holm() {
    for case in list(&document(), "holm") {
        let adjusted = stats::holm(&numbers(&case["p"]));
        for (actual, expected) in adjusted.into_iter().zip(list(case, "adjusted")) {
            assert_close(Some(actual), expected, "adjusted p");
        }
    }
}

/// Tolerance for results of random draws, where both sides have their own generator.
#[track_caller]
fn assert_near(actual: f64, expected: &Value, tolerance: f64, name: &str) {
    let expected = expected.as_f64().unwrap();
    assert!((actual - expected).abs() <= tolerance * expected, "{name}: {actual} instead of {expected}");
}

#[test]
fn hierarchical_bootstrap() {
    /// One standard deviation is about 2 % here and 0.3 % in the reference.
    const DRAWN: f64 = 0.06;
    for case in list(&document(), "hierarchical") {
        let epochs: Vec<Vec<f64>> = list(case, "epochs").iter().map(numbers).collect();
        let name = format!("{} epochs", epochs.len());
        for level in list(case, "critical") {
            let estimate = stats::hierarchical_bootstrap(&epochs, level[0].as_f64().unwrap(), 1).unwrap();
            assert_close(Some(estimate.value), &case["value"], &name);
            let half_width = estimate.interval.half_width();
            assert_near(half_width / level[1].as_f64().unwrap(), &case["standard_error"], DRAWN, &name);
        }
        // The p value is the level at which the interval begins to include 0.
        let p = case["p"].as_f64().unwrap();
        let includes =
            |level| stats::hierarchical_bootstrap(&epochs, level, 1).unwrap().interval.contains(0.0);
        assert!(includes(1.0 - p / 1.5) && !includes(1.0 - (p * 1.5).min(0.99)), "{name}: p is not near {p}");
    }
}

#[test]
fn resampled_quantiles() {
    for case in list(&document(), "resampled_quantiles") {
        let round = |round: &Value| -> Vec<(u64, u64)> {
            let pairs = round.as_array().unwrap().iter();
            pairs.map(|pair| (pair[0].as_u64().unwrap(), pair[1].as_u64().unwrap())).collect()
        };
        let rounds: Vec<Vec<(u64, u64)>> = list(case, "rounds").iter().map(round).collect();
        let p = numbers(&case["p"]);
        let found = stats::quantile_intervals(&rounds, &p, 0.95, 1).unwrap();
        for (place, estimate) in found.iter().enumerate() {
            assert_close(Some(estimate.value), &case["value"][place], "quantile");
            for (end, bounds) in [(estimate.interval.low, "low"), (estimate.interval.high, "high")] {
                let (least, most) = (&case[bounds][0][place], &case[bounds][1][place]);
                let allowed = least.as_f64().unwrap()..=most.as_f64().unwrap();
                assert!(allowed.contains(&end), "{bounds} end of {}: {end} not in {allowed:?}", p[place]);
            }
        }
    }
}

#[test]
fn sequential_looks() {
    for case in list(&document(), "looks") {
        let [first, last] = [0, 1].map(|end| case[0][end].as_u64().unwrap() as u32);
        let rounds: Vec<f64> =
            stats::Looks::new(first, last).unwrap().rounds().into_iter().map(f64::from).collect();
        assert_eq!(rounds, numbers(&case[1]));
    }
}

#[test]
fn narrowness() {
    for case in list(&document(), "narrow") {
        let (new, old) = (numbers(&case["new"]), numbers(&case["old"]));
        let (fraction, absolute) = (case["fraction"].as_f64().unwrap(), case["absolute"].as_f64().unwrap());
        let enough = |target| stats::narrow_enough(&new, &old, target, case["confidence"].as_f64().unwrap());
        for (factor, expected) in [(1.0 - TOLERANCE, false), (1.0 + TOLERANCE, true)] {
            assert_eq!(enough(stats::HalfWidth::Fraction(fraction * factor)), expected);
            assert_eq!(enough(stats::HalfWidth::Absolute(absolute * factor)), expected);
        }
    }
}
