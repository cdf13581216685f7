//! Epochs: recreated data sets differ a little, and the verdict must not take that for a difference of the
//! arms.

use megadir_stats::permutation::SplitMix64;
use megadir_stats::{Judging, Method, Verdict, hierarchical_bootstrap, judge_family_of_epochs};

use super::{BAND, differs, normal, share_of_runs};

const JUDGING: Judging = Judging { band: BAND, looks: 1 };

/// Returns the log ratios of five epochs of six rounds; epochs shift the ratio by `epoch_deviation`, rounds by 4 %.
fn five_epochs(random: &mut SplitMix64, center: f64, epoch_deviation: f64) -> Vec<Vec<f64>> {
    let mut epoch = || -> Vec<f64> {
        let shift = center + epoch_deviation * normal(random);
        (0..6).map(|_| shift + 0.04 * normal(random)).collect()
    };
    (0..5).map(|_| epoch()).collect()
}

#[test]
fn the_same_arm_on_other_data_is_seldom_called_different() {
    for epoch_deviation in [0.0, 0.02, 0.2] {
        let share = share_of_runs(|random| {
            let epochs = five_epochs(random, 0.0, epoch_deviation);
            let judged = judge_family_of_epochs(&[epochs], JUDGING)[0].unwrap();
            assert_eq!(judged.method, Method::HierarchicalBootstrap { epochs: 5 });
            differs(judged.verdict)
        });
        assert!(share <= 0.065, "{share} with epochs that shift by {epoch_deviation}");
    }
}

#[test]
fn rounds_taken_for_independent_would_be_wrong() {
    // Counter-check: the same runs judged as one epoch.
    let share = share_of_runs(|random| {
        let rounds = five_epochs(random, 0.0, 0.2).concat();
        differs(judge_family_of_epochs(&[vec![rounds]], JUDGING)[0].unwrap().verdict)
    });
    assert!(share > 0.3, "{share}");
}

#[test]
fn intervals_cover_the_center_of_epochs_that_differ() {
    let share = share_of_runs(|random| {
        let epochs = five_epochs(random, 0.1, 0.2);
        hierarchical_bootstrap(&epochs, 0.95, 1).unwrap().interval.contains(0.1)
    });
    // Three standard deviations of the share.
    assert!((0.93..=0.971).contains(&share), "{share}");
}

#[test]
fn ten_percent_are_found_in_five_epochs() {
    let share = share_of_runs(|random| {
        let epochs = five_epochs(random, 1.1f64.ln(), 0.01);
        let judged = judge_family_of_epochs(&[epochs], JUDGING)[0].unwrap();
        matches!(judged.verdict, Verdict::Slower { .. })
    });
    assert!(share >= 0.95, "{share}");
}
