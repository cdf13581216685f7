//! Intervals, paired tests and fits for benchmarks: pure mathematics, each with its reference.
//!
//! The crate never reads, writes, prints or measures, and knows no other crate of the workspace: numbers in, numbers out.
//! Nothing panics on data; what cannot be answered (too few samples, one that is not finite) is `None`.
//!
//! | subject | file |
//! |---|---|
//! | mean, deviation, quantiles, Error | `descriptive.rs` |
//! | median with its interval | `median.rs` |
//! | paired rounds: Hodges-Lehmann, signed ranks, ratio | `paired.rs` |
//! | two runs, unpaired: shift, Mann-Whitney | `unpaired.rs` |
//! | several runs a side, each one observation: Welch | `runs.rs` |
//! | paired rounds within epochs: hierarchical bootstrap | `hierarchical.rs` |
//! | stopping at a width, with repeated looks | `sequential.rs` |
//! | quantiles of latencies with intervals | `resampled_quantiles.rs` |
//! | many contrasts | `holm.rs` |
//! | faster, slower, equivalent, inconclusive | `verdict.rs` |
//! | differences larger than the band, over a whole screen | `beyond.rs` |
//! | how many rounds would decide | `projection.rs` |
//! | slopes and exponents | `trend.rs` |
//! | where a curve reaches a level | `crossing.rs` |
//! | is the run to be trusted | `noise.rs` |
//! | latencies, recorded in the hot path | `histogram.rs` |
//! | random order | `permutation/` |
//! | what these rest on: distributions, ranks, pairs | `distribution.rs`, `rank_law.rs`, `pairwise.rs` |
//!
//! Invariant: a test and the interval that goes with it ask the same null distribution, so they cannot contradict each other.
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
mod holm;
mod interval;
mod median;
mod noise;
mod paired;
mod pairwise;
pub mod permutation;
mod projection;
mod rank_law;
mod resampled_quantiles;
mod runs;
mod sequential;
mod trend;
mod unpaired;
mod verdict;

pub use beyond::{Beyond, beyond_band};
pub use crossing::{Crossing, CrossingEstimate, crossing, crossing_estimate};
pub use descriptive::{error_999, mean, median, quantile, standard_deviation};
pub use hierarchical::{EPOCHS_MIN, hierarchical_bootstrap};
pub use holm::{holm, holm_confidences};
pub use interval::{Estimate, Interval};
pub use median::median_interval;
pub use noise::{ChangePoint, bimodality_coefficient, change_point, halves_differ, lag1_autocorrelation};
pub use paired::{hodges_lehmann, log_ratios, paired_ratio, wilcoxon_signed_rank_p};
pub use resampled_quantiles::quantile_intervals;
pub use runs::{RUNS_MIN, judge_family_of_runs, ratio_over_runs};
pub use sequential::{HalfWidth, Looks, narrow_enough};
pub use trend::{PowerLaw, power_law, theil_sen};
pub use unpaired::unpaired_ratio;
pub use verdict::{
    DEFAULT_BAND, Judgement, Judging, Method, Verdict, judge_family, judge_family_of_epochs,
    judge_unpaired_family, verdict,
};
