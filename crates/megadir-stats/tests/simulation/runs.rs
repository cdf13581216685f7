//! Several runs a side: runs of one version differ, and the verdict must not take that for a difference of the
//! versions.

use megadir_stats::permutation::SplitMix64;
use megadir_stats::{Judging, Method, Verdict, judge_family_of_runs, judge_unpaired_family, median};

use super::{BAND, block_time_ns, differs, normal, share_of_runs};

const JUDGING: Judging = Judging { band: BAND, looks: 1 };

/// Returns the 30 times of a run, all scaled by the run's own deviation.
fn run(random: &mut SplitMix64, ratio: f64, run_deviation: f64) -> Vec<f64> {
    let whole = ratio * (run_deviation * normal(random)).exp();
    (0..30).map(|_| whole * block_time_ns(random)).collect()
}

/// Returns one time a run.
fn runs(random: &mut SplitMix64, runs: usize, ratio: f64, run_deviation: f64) -> Vec<f64> {
    (0..runs).map(|_| median(&run(random, ratio, run_deviation)).unwrap()).collect()
}

#[test]
fn intervals_over_runs_cover_the_ratio_of_the_versions() {
    // New and old runs scatter equally, or the new runs three times as much.
    for (old_runs, new_runs, deviations) in [
        (3, 3, [0.05, 0.05]),
        (5, 5, [0.05, 0.05]),
        (3, 6, [0.05, 0.05]),
        (5, 5, [0.02, 0.06]),
        (3, 3, [0.0, 0.0]),
    ] {
        let share = share_of_runs(|random| {
            let old = runs(random, old_runs, 1.0, deviations[0]);
            let new = runs(random, new_runs, 1.05, deviations[1]);
            judge_family_of_runs(&[(new, old)], JUDGING)[0].unwrap().ratio.interval.contains(1.05)
        });
        // Three standard deviations below; with three runs Welch's interval is wider than needed.
        assert!((0.93..=0.99).contains(&share), "{share} of {old_runs} against {new_runs}, {deviations:?}");
    }
}

#[test]
fn runs_of_one_version_are_seldom_called_different() {
    for count in [3, 5] {
        let share = share_of_runs(|random| {
            let family: Vec<_> =
                (0..6).map(|_| (runs(random, count, 1.0, 0.05), runs(random, count, 1.0, 0.05))).collect();
            let judged = judge_family_of_runs(&family, JUDGING);
            assert_eq!(judged[0].unwrap().method, Method::Welch { runs: count });
            judged.iter().flatten().any(|judgement| differs(judgement.verdict))
        });
        assert!(share <= 0.065, "{share} of {count} runs a side");
    }
}

#[test]
fn one_run_per_side_cannot_distinguish_versions() {
    // Counter-check: the rounds of one run a side, judged as samples of the version.
    let share = share_of_runs(|random| {
        let single = (run(random, 1.0, 0.05), run(random, 1.0, 0.05));
        differs(judge_unpaired_family(&[single], JUDGING)[0].unwrap().verdict)
    });
    assert!(share > 0.5, "{share}");
}

#[test]
fn ten_percent_are_found_in_five_runs_a_side() {
    let share = share_of_runs(|random| {
        let contrast = (runs(random, 5, 1.1, 0.02), runs(random, 5, 1.0, 0.02));
        matches!(judge_family_of_runs(&[contrast], JUDGING)[0].unwrap().verdict, Verdict::Slower { .. })
    });
    assert!(share >= 0.95, "{share}");
}
