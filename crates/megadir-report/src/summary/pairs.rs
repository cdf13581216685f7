//! The rule Pairs: contrasts between two arms each, judged as one family; those of several file systems as one for each two.

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
    /// The compared arms, in words.
    pub pair: Pair,
    /// Rounds in which both were measured.
    pub rounds: usize,
    /// Result of the comparison.
    pub outcome: Outcome,
}

/// Reads the group that contrasts file systems.
///
/// Each pair of file systems is a family of comparisons over all kinds of work. In a single family, the verdict on two file
/// systems would depend on the number of others measured.
pub(crate) fn read_file_systems(evidence: &Evidence<'_>, pairs: &[Pair]) -> Pairs {
    let mut families: Vec<Vec<usize>> = Vec::new();
    for (place, pair) in pairs.iter().enumerate() {
        let like = |family: &&mut Vec<usize>| {
            let first = &pairs[family[0]];
            (&first.what, &first.than) == (&pair.what, &pair.than)
        };
        match families.iter_mut().find(like) {
            Some(family) => family.push(place),
            None => families.push(vec![place]),
        }
    }
    let mut rows: Vec<(usize, PairRow)> = Vec::with_capacity(pairs.len());
    for family in families {
        let of_family: Vec<Pair> = family.iter().map(|place| pairs[*place].clone()).collect();
        rows.extend(family.into_iter().zip(read_pairs(evidence, &of_family).rows));
    }
    rows.sort_by_key(|(place, _)| *place);
    Pairs { rows: rows.into_iter().map(|(_, row)| row).collect() }
}

/// Reads a group by the rule Pairs.
pub(crate) fn read_pairs(evidence: &Evidence<'_>, pairs: &[Pair]) -> Pairs {
    let arms: Vec<_> = pairs.iter().map(|pair| (pair.arm, pair.to)).collect();
    let judged = contrast(evidence, &arms);
    let row = |(pair, (rounds, outcome)): (&Pair, _)| PairRow { pair: pair.clone(), rounds, outcome };
    Pairs { rows: pairs.iter().zip(judged).map(row).collect() }
}
