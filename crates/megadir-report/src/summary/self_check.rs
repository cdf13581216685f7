//! Judges a run's checks of its own measurement.
//!
//! ```text
//! timed and untimed blocks, paired -> overhead_ns -> cost of an arm's operations -- over 2 % --> warning
//!                                                                                `- over 10 % -> no quantiles
//! delays injected into operations -> found at their length, in their number?  no --> loud warning
//! histograms and gaps over wall time -> accounted                            off --> loud for times alone
//! ```

use megadir_record::{Delay, FileOperation, SelfCheck, Work};
use serde::{Deserialize, Serialize};

use super::{ArmSummary, Figure};

/// Above this share of an arm's time, quantiles are withheld.
pub(crate) const TIMER_COST_REFUSED: f64 = 0.1;

/// Missed or extra delays, a fraction; see also [`DELAYS_OFF`].
const DELAYS_OFF_MAX: f64 = 0.1;
/// Noise can add or hide a few delays; three are allowed even if only few were injected.
const DELAYS_OFF: u64 = 3;
/// A fraction; plus the time to start and end the delay, nanoseconds.
const DELAY_LONGER_MAX: f64 = 0.05;
/// Reading the clock and leaving the wait lengthen each delay by a fixed time, whatever its length.
const DELAY_ENDS_NS: f64 = 200.0;

// Result of the timing checks that a run makes before it measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelfChecked {
    /// `true` if the cycle counter was read; otherwise the monotonic clock.
    pub cycle_counter: bool,
    /// One read of the counter, nanoseconds.
    pub timer_ns: f64,
    /// Empty measurement loop, nanoseconds an operation.
    pub null_loop_ns: f64,
    /// Median time of an untimed cached `fstatat` of the run's directory, nanoseconds; on Windows, a query of its handle.
    pub untimed_ns: f64,
    /// Cost of timing one operation, nanoseconds: Hodges-Lehmann estimate over paired blocks with Wilcoxon's interval.
    pub overhead_ns: Figure,
    /// Paired blocks of each kind.
    pub rounds: usize,
    /// Sum of the times in histograms and gaps over the wall time of the blocks.
    pub accounted: f64,
    /// Injected delays.
    pub delays: Vec<Delay>,
    /// `true` if each delay was found with its length and count.
    pub delays_found: bool,
}

pub(super) fn judge(check: &SelfCheck, confidence: f64) -> Option<SelfChecked> {
    // Blocks of the check have equal numbers of operations.
    let each = |blocks: &[u64]| -> Vec<f64> {
        blocks.iter().map(|ns| *ns as f64 / check.operations.max(1) as f64).collect()
    };
    let (timed, untimed) = (each(&check.timed_ns), each(&check.untimed_ns));
    // Paired by round: the machine's speed at the time cancels.
    let differences: Vec<f64> = timed.iter().zip(&untimed).map(|(timed, untimed)| timed - untimed).collect();
    let overhead_ns = match megadir_stats::hodges_lehmann(&differences, confidence) {
        Some(estimate) => Figure::from(estimate),
        None => Figure { value: megadir_stats::median(&differences)?, interval: None },
    };
    Some(SelfChecked {
        cycle_counter: check.cycle_counter,
        timer_ns: check.timer_ns,
        null_loop_ns: check.null_loop_ns,
        untimed_ns: megadir_stats::median(&untimed)?,
        overhead_ns,
        rounds: differences.len(),
        accounted: check.accounted,
        delays: check.delays.clone(),
        delays_found: check.delays.iter().all(is_found),
    })
}

fn is_found(delay: &Delay) -> bool {
    let off = delay.found.abs_diff(delay.injected);
    let length = delay.injected_ns as f64;
    // A bucket stands for its middle, up to 1/256 from its values.
    // A delay is never shorter than it was made, so one per cent below it is enough.
    let places = length * 0.99..=length * (1.0 + DELAY_LONGER_MAX) + DELAY_ENDS_NS;
    off <= DELAYS_OFF.max((DELAYS_OFF_MAX * delay.injected as f64) as u64) && places.contains(&delay.found_ns)
}

/// Affects arms that take little longer than timing them.
pub(super) fn withhold_quantiles(
    arms: &mut [ArmSummary],
    check: Option<&SelfChecked>,
    null_loop_ns: Option<f64>,
) {
    for arm in arms {
        let is_refused =
            cost_of_timing(arm, check, null_loop_ns).is_some_and(|cost| cost > TIMER_COST_REFUSED);
        if let Some(timing) = arm.timing.as_mut().filter(|_| is_refused) {
            timing.quantiles = None;
            timing.single.iter_mut().for_each(|single| single.quantiles = None);
        }
    }
}

/// As a fraction of the arm's time: of timing each operation, or of one turn of the empty loop.
/// `None` if nothing was measured that the cost could be compared with. A block timed as a whole pays the
/// empty loop once per block, single operations pay for each.
pub(crate) fn cost_of_timing(
    arm: &ArmSummary,
    check: Option<&SelfChecked>,
    null_loop_ns: Option<f64>,
) -> Option<f64> {
    let (planned, timing) = (&arm.planned, arm.timing.as_ref()?);
    // Each timed file stands for many operations.
    if matches!(&planned.work, Work::Files(work) if work.operation == FileOperation::MakeDirectories) {
        return None;
    }
    // Each operation of workers that share the wall time takes that many times longer.
    let at_a_time = match &planned.work {
        Work::Files(work) if planned.rate_per_s.is_none() => f64::from(work.workers.count),
        _ => 1.0,
    };
    Some(match (&timing.single, check) {
        (Some(_), Some(check)) => check.overhead_ns.value / (timing.time_ns.value * at_a_time),
        (Some(_), None) => null_loop_ns? / (timing.time_ns.value * at_a_time),
        (None, _) => null_loop_ns? / (timing.time_ns.value * timing.operations as f64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_count_as_found_in_the_right_place_and_number_only() {
        let right = Delay { injected_ns: 20_000, injected: 200, found: 195, found_ns: 20_080.0 };
        assert!(is_found(&right));
        assert!(!is_found(&Delay { found: 170, ..right }));
        assert!(!is_found(&Delay { found: 230, ..right }));
        assert!(!is_found(&Delay { found_ns: 19_000.0, ..right }));
        assert!(!is_found(&Delay { found_ns: 22_000.0, ..right }));
        assert!(is_found(&Delay { injected: 5, found: 3, ..right }));
    }

    #[test]
    fn the_overhead_is_computed_from_paired_blocks() {
        // Rounds differ by far more than timing costs.
        let untimed: Vec<u64> = (0..40).map(|round| 400_000 + 9_000 * (round * 7 % 11)).collect();
        let timed = untimed.iter().zip(0..).map(|(ns, round)| ns + 15_000 + 100 * (round % 3)).collect();
        let check = SelfCheck {
            cycle_counter: true,
            ns_per_tick: 0.5,
            timer_ns: 9.0,
            null_loop_ns: 14.0,
            operations: 1000,
            untimed_ns: untimed,
            timed_ns: timed,
            accounted: 1.0,
            delays: vec![],
        };
        let judged = judge(&check, 0.95).unwrap();
        assert!((judged.overhead_ns.value - 15.1).abs() < 0.11, "{:?}", judged.overhead_ns);
        assert!(judged.overhead_ns.interval.unwrap().half_width() < 0.11);
        assert_eq!(judge(&SelfCheck { untimed_ns: vec![], timed_ns: vec![], ..check }, 0.95), None);
    }
}
