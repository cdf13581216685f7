//! Intervals, paired tests and fits for benchmarks: pure mathematics, each method with its reference.
//!
//! Nothing panics on data: if there is no answer (too few samples, a sample that is not finite), the result
//! is `None`.
//!
//! | subject | file |
//! |---|---|
//! | mean, deviation, quantiles, median with its interval, Error | `descriptive.rs` |
//! | paired rounds: Hodges-Lehmann, signed ranks, ratio; two runs, unpaired: Mann-Whitney | `paired.rs` |
//! | several runs a side, each one observation: Welch; slopes and exponents | `runs.rs` |
//! | paired rounds within epochs: hierarchical bootstrap | `hierarchical.rs` |
//! | stopping at a width, with repeated looks; many contrasts | `sequential.rs` |
//! | quantiles of latencies with intervals | `rank_law.rs` |
//! | faster, slower, equivalent, inconclusive; differences larger than the band, over a whole screen | `verdict.rs` |
//! | how many rounds would decide; where a curve reaches a level | `crossing.rs` |
//! | noise diagnostics of a run | `noise.rs` |
//! | histogram of latencies for the hot path | `histogram.rs` |
//! | random order | `permutation.rs` |
//! | foundations: distributions, ranks, pairs, tests | `distribution.rs`, `rank_law.rs`, `pairwise.rs`, `descriptive.rs` |
//!
//! ```
//! let old_ns = [100.0, 104.0, 98.0, 101.0, 99.0, 103.0, 102.0, 100.5];
//! let new_ns = [90.0, 93.0, 89.0, 90.5, 89.5, 92.0, 91.5, 90.0];
//! let log_ratios = megadir_stats::log_ratios(&new_ns, &old_ns).expect("positive times, equally many");
//! let judging = megadir_stats::Judging { band: 0.03, looks: 1 };
//! let judged = megadir_stats::judge_family_of_epochs(&[vec![log_ratios]], judging);
//! let verdict = judged[0].expect("eight rounds").verdict;
//! assert_eq!(verdict, megadir_stats::Verdict::Faster { negligible: false });
//! ```

mod crossing;
mod descriptive;
mod distribution;
mod hierarchical;
pub mod histogram;
mod noise;
mod paired;
mod pairwise;
pub mod permutation;
mod rank_law;
mod runs;
mod sequential;
mod verdict;

pub use crossing::{Crossing, CrossingEstimate, crossing, crossing_estimate};
pub use descriptive::{
    Estimate, Interval, error_999, mean, median, median_interval, quantile, standard_deviation,
};
pub use hierarchical::{EPOCHS_MIN, hierarchical_bootstrap};
pub use noise::{ChangePoint, bimodality_coefficient, change_point, halves_differ, lag1_autocorrelation};
pub use paired::{hodges_lehmann, log_ratios, paired_ratio};
pub use rank_law::quantile_intervals;
pub use runs::{RUNS_MIN, power_law, theil_sen};
pub use sequential::{HalfWidth, Looks, holm, narrow_enough};
pub use verdict::{
    Beyond, Judgement, Judging, Method, Verdict, beyond_band, judge_family_of_epochs, judge_family_of_runs,
    judge_unpaired_family,
};
