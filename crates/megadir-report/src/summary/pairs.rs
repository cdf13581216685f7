//! The rule Pairs: contrasts between two arms each, judged as one family.

use megadir_record::Pair;
use serde::{Deserialize, Serialize};

use super::compare::{Outcome, contrast};
use super::evidence::Evidence;

/// A group read by the rule Pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pairs {
    /// The contrasts in the plan's order.
    pub rows: Vec<PairRow>,
}

/// One contrast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairRow {
    /// What is compared with what.
    pub pair: Pair,
    /// Rounds in which both were measured.
    pub rounds: usize,
    /// What came out.
    pub outcome: Outcome,
}

/// Reads a group by the rule Pairs.
pub(crate) fn read_pairs(evidence: &Evidence<'_>, pairs: &[Pair]) -> Pairs {
    let arms: Vec<_> = pairs.iter().map(|pair| (pair.arm, pair.to)).collect();
    let judged = contrast(evidence, &arms);
    let row = |(pair, (rounds, outcome)): (&Pair, _)| PairRow { pair: pair.clone(), rounds, outcome };
    Pairs { rows: pairs.iter().zip(judged).map(row).collect() }
}
