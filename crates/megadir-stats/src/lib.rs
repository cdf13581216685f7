//! Intervals, paired tests and fits for benchmarks: pure mathematics, each method with its reference.
//!
//! Nothing panics on data: if there is no answer (too few samples, a sample that is not finite), the result
//! is `None`.
//!
//! | subject | file |
//! |---|---|
//! | mean, deviation, quantiles, median with its interval, Error | `descriptive.rs` |
//! | paired rounds: Hodges-Lehmann, signed ranks, ratio | `paired.rs` |
//! | two runs, unpaired: shift, Mann-Whitney | `paired.rs` |
//! | several runs a side, each one observation: Welch | `runs.rs` |
//! | paired rounds within epochs: hierarchical bootstrap | `hierarchical.rs` |
//! | stopping at a width, with repeated looks | `sequential.rs` |
//! | quantiles of latencies with intervals | `rank_law.rs` |
//! | many contrasts | `sequential.rs` |
//! | faster, slower, equivalent, inconclusive | `verdict.rs` |
//! | differences larger than the band, over a whole screen | `beyond.rs` |
//! | how many rounds would decide | `crossing.rs` |
//! | slopes and exponents | `runs.rs` |
//! | where a curve reaches a level | `crossing.rs` |
//! | noise diagnostics of a run | `noise.rs` |
//! | histogram of latencies for the hot path | `histogram.rs` |
//! | random order | `permutation.rs` |
//! | foundations: distributions, ranks, pairs | `distribution.rs`, `rank_law.rs`, `pairwise.rs` |
//!
//! Invariant: a test and its interval use the same null distribution, so they cannot contradict each other.
//!
//! ```
//! let old_ns = [100.0, 104.0, 98.0, 101.0, 99.0, 103.0, 102.0, 100.5];
//! let new_ns = [90.0, 93.0, 89.0, 90.5, 89.5, 92.0, 91.5, 90.0];
//! let log_ratios = megadir_stats::log_ratios(&new_ns, &old_ns).expect("positive times, equally many");
//! let judgement = megadir_stats::verdict(&log_ratios, 0.95, megadir_stats::DEFAULT_BAND);
//! let verdict = judgement.expect("eight rounds").verdict;
//! assert_eq!(verdict, megadir_stats::Verdict::Faster { negligible: false });
//! ```

mod beyond;
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

pub use crate::descriptive::{Estimate, Interval};
pub use crate::paired::unpaired_ratio;
pub use crate::rank_law::quantile_intervals;
pub use crate::runs::{PowerLaw, power_law, theil_sen};
pub use crate::sequential::{holm, holm_confidences};
pub use beyond::{Beyond, beyond_band};
pub use crossing::{Crossing, CrossingEstimate, crossing, crossing_estimate};
pub use descriptive::{error_999, mean, median, median_interval, quantile, standard_deviation};
pub use hierarchical::{EPOCHS_MIN, hierarchical_bootstrap};
pub use noise::{ChangePoint, bimodality_coefficient, change_point, halves_differ, lag1_autocorrelation};
pub use paired::{hodges_lehmann, log_ratios, paired_ratio, wilcoxon_signed_rank_p};
pub use runs::{RUNS_MIN, ratio_over_runs};
pub use sequential::{HalfWidth, Looks, narrow_enough};
pub use verdict::{
    DEFAULT_BAND, Judgement, Judging, Method, Verdict, judge_family, judge_family_of_epochs,
    judge_family_of_runs, judge_unpaired_family, verdict,
};
