//! Summary of a record, as data without sentences.
//!
//! Files: `whole` (the summary and how it is made), `rounds` (samples paired by round), `evidence` (what rules judge
//! by), `check` (what must hold of it), `decode` (times of single operations), `arm` (one arm alone), `operations` (its
//! single operations), `self_check` (what measuring costs), `equal_work` (did all arms do the same?), `compare`, `decompose`, `break_even`,
//! `fillings` (rules), `resolution` (the baseline against itself). None of them knows a format.

mod alternatives;
mod arm;
mod break_even;
mod check;
mod compare;
mod decode;
mod decompose;
mod equal_work;
mod evidence;
mod fillings;
mod operations;
mod overview;
mod published;
mod resolution;
mod rounds;
mod self_check;
mod stopped;
mod whole;

pub use crate::figure::{Figure, Range, Threshold, rounds_for_interval};
pub use arm::{Arm, Quantiles, Timing};
pub use break_even::{AskPoint, BreakEven, BreakEvenSeries, BreakEvenSizes};
pub use check::SummaryError;
pub use compare::{CallsContrast, Comparison, Contrast, Outcome, PairRow, Pairs, Verdict};
pub use decompose::{Claim, Decomposition, Factor, ReadingFactor};
pub use equal_work::{DataCheck, Mismatch, WorkCheck};
pub use evidence::looks;
pub use fillings::{Bucket, Fill, Growth, Point, Refusal, Series, Shape, Step};
pub use operations::{OperationQuantiles, Operations, Rate};
pub use overview::{Overall, Overview, OverviewCell, OverviewColumn, OverviewRow};
pub use resolution::{Difference, Resolution};
pub use self_check::SelfChecked;
pub use stopped::Stopped;
pub use whole::{Ending, GroupReading, GroupSummary, Progress, Summary};

pub(crate) use compare::judged;
#[cfg(test)]
pub(crate) use decode::DECODED;
pub(crate) use decode::Times;
pub(crate) use operations::together;
pub(crate) use published::{entries_nowhere, unlike, unlike_contents, unlike_entries};
pub(crate) use rounds::{Index, Rounds};
pub(crate) use self_check::{TIMER_COST_REFUSED, cost_of_timing};
pub(crate) use whole::summarize;
