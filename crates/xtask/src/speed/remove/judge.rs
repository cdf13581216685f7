//! Targets of removal: minimum speed against other programs, and maximum memory.

use super::super::arms::Part;
use super::super::rounds::Results;
use super::super::table::Figure;
use super::super::targets::{Judged, at_least_judged, at_most_judged};
use super::contenders::{FIND, OURS, PYTHON, RM, RMZ};
use super::shapes::Shape;

/// Minimum speed-up over `rm -rf` on a tree.
const TREE_RATIO: f64 = 1.7;
/// Minimum speed-up over Python's `rmtree` on a directory.
const PYTHON_RATIO: f64 = 1.3;
/// Maximum peak memory, MiB.
const PEAK_MIB: f64 = 64.0;

/// Judges one comparison; omits targets whose contenders did not run.
pub(crate) fn judge(shape: &Shape, results: &Results) -> Vec<Judged> {
    let ratio = |to: &str| Figure::ratio(&results.walls_s(to), &results.walls_s(OURS));
    let text = |what: String| format!("{}: {what}", shape.name);
    let mut judged = Vec::new();
    match shape.part {
        Part::RemoveTree | Part::RemoveSized => {
            judged.extend(ratio(RM).map(|figure| {
                at_least_judged(
                    text(format!("`{OURS}` at least {TREE_RATIO}x faster than `{RM}`")),
                    figure,
                    TREE_RATIO,
                )
            }));
            judged.extend(
                ratio(RMZ)
                    .map(|figure| not_slower(text(format!("`{OURS}` not slower than `{RMZ}`")), figure)),
            );
        }
        Part::RemoveChain => {
            judged.extend(
                ratio(RM).map(|figure| not_slower(text(format!("`{OURS}` not slower than `{RM}`")), figure)),
            );
        }
        _ => {
            let median = |name: &'static str| {
                Figure::median(&results.walls_s(name)).map(|figure| (figure.value, name))
            };
            let fastest = [RM, FIND, RMZ].into_iter().filter_map(median).min_by(|a, b| a.0.total_cmp(&b.0));
            let against = fastest.and_then(|(_, name)| Some((name, ratio(name)?)));
            judged.extend(against.map(|(name, figure)| {
                not_slower(text(format!("`{OURS}` not slower than the fastest, `{name}`")), figure)
            }));
            judged.extend(ratio(PYTHON).map(|figure| {
                let what = format!("`{OURS}` at least {PYTHON_RATIO}x faster than `{PYTHON}`");
                at_least_judged(text(what), figure, PYTHON_RATIO)
            }));
        }
    }
    if let Some(bytes) = results.samples(OURS).iter().map(|sample| sample.peak_bytes).max() {
        let figure = Figure { value: bytes as f64 / f64::from(1 << 20), interval: None };
        judged.push(at_most_judged(
            text(format!("`{OURS}` at most {PEAK_MIB} MiB at its peak")),
            figure,
            PEAK_MIB,
            " MiB",
        ));
    }
    judged
}

/// Judges whether the interval of a ratio of times reaches 1.
fn not_slower(wanted: String, figure: Figure) -> Judged {
    let reaches = figure.interval.map_or(figure.value, |interval| interval.high);
    let met = reaches >= 1.0;
    let verdict = match met {
        true => "met".to_owned(),
        false => format!("missed: {:.1} % slower", (1.0 / figure.value - 1.0) * 100.0),
    };
    Judged { wanted, found: format!("{}x", figure.text()), verdict, met }
}

#[cfg(test)]
mod tests {
    use super::super::super::child::Sample;
    use super::super::shapes::SHAPES;
    use super::*;

    fn results(walls_s: &[(&'static str, f64)]) -> Results {
        let mut results = Results::default();
        for &(name, wall_s) in walls_s {
            for round in 0..8 {
                let wall_s = wall_s * (1.0 + 0.02 * f64::from(round % 3 - 1));
                results.add(name, Sample { wall_s, cpu_s: wall_s, peak_bytes: 8 << 20 });
            }
        }
        results
    }

    #[test]
    fn a_tree_is_judged_against_rm_and_rmz() {
        let judged = judge(&SHAPES[0], &results(&[(OURS, 1.0), (RM, 2.0), (RMZ, 0.9), (PYTHON, 9.0)]));
        assert_eq!(judged.iter().map(|one| one.met).collect::<Vec<_>>(), [true, false, true], "{judged:?}");
        assert!(judged[1].verdict.starts_with("missed: 11.1 % slower"), "{judged:?}");
    }

    #[test]
    fn a_directory_is_judged_against_the_fastest() {
        let judged = judge(&SHAPES[3], &results(&[(OURS, 1.0), (RM, 1.1), (FIND, 1.0), (PYTHON, 1.2)]));
        assert!(judged[0].met && judged[0].wanted.ends_with("the fastest, `find -delete`"), "{judged:?}");
        assert!(!judged[1].met && judged[2].found == "8.00 MiB", "{judged:?}");
        assert!(judge(&SHAPES[3], &Results::default()).is_empty());
    }
}
