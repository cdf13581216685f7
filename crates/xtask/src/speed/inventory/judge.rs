//! Targets for scanning and comparing.

use super::super::rounds::Results;
use super::super::table::Figure;
use super::super::targets::{Judged, at_least_judged, at_most_judged};
use super::contenders::{BFS, CHANGES, FIND, SCAN, WALK};

/// Maximum ratio of a scan, including writing, to the bare walk.
const OF_WALK: f64 = 1.3;
/// Minimum speed-up over find for an unchanged tree.
const THAN_FIND: f64 = 2.0;

/// Judges one file system; targets without both contenders are skipped.
pub(super) fn judge(results: &Results) -> Vec<Judged> {
    let ratio = |of: &str, to: &str| Figure::ratio(&results.walls_s(of), &results.walls_s(to));
    let walk = ratio(SCAN, WALK).map(|figure| {
        let wanted = format!("`{SCAN}`, Parquet included, at most {OF_WALK} times the time of {WALK}");
        at_most_judged(wanted, figure, OF_WALK, "")
    });
    let bfs = ratio(BFS, SCAN).map(|figure| {
        at_least_judged(format!("`{SCAN}` at least as fast as `{BFS}` with the same fields"), figure, 1.0)
    });
    let find = ratio(FIND, CHANGES).map(|figure| {
        let wanted = format!("`{CHANGES}` of an unchanged tree at least {THAN_FIND}x faster than `{FIND}`");
        at_least_judged(wanted, figure, THAN_FIND)
    });
    [walk, bfs, find].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::child::Sample;
    use super::*;

    #[test]
    fn a_scan_is_judged_by_its_walk_and_a_comparison_by_find() {
        let mut results = Results::default();
        for (name, wall_s) in [(WALK, 1.0), (SCAN, 1.4), (BFS, 2.0), (CHANGES, 1.0), (FIND, 2.1)] {
            for round in 0..8 {
                let wall_s = wall_s * (1.0 + 0.01 * f64::from(round % 3 - 1));
                results.add(name, Sample { wall_s, cpu_s: wall_s, peak_bytes: 0 });
            }
        }
        let judged = judge(&results);
        assert_eq!(judged.iter().map(|one| one.met).collect::<Vec<_>>(), [false, true, true], "{judged:?}");
        assert!(judged[0].verdict.starts_with("missed by 7.69 %"), "{judged:?}");
        assert!(judge(&Results::default()).is_empty());
    }
}
