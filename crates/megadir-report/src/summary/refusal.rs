//! The rule Refusal: number of entries at the first refusal, against the prediction.

use megadir_record::{CellId, Predicted, Work};
use serde::{Deserialize, Serialize};

use super::Figure;
use super::evidence::Evidence;

/// A group read by the rule Refusal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// The arm that filled directories.
    pub arm: CellId,
    /// Directories that were filled.
    pub directories: usize,
    /// Median of the entries that they took.
    pub entries: Figure,
    /// Their mean.
    pub mean: f64,
    /// The least.
    pub least: u64,
    /// The most.
    pub most: u64,
    /// The prediction; `None` in a record without one.
    pub predicted: Option<Predicted>,
    /// The prediction divided by the mean, less 1.
    pub error: Option<f64>,
}

/// Reads a group by the rule Refusal; an error is why it cannot be read.
pub(crate) fn refusal(evidence: &Evidence<'_>, arm: CellId) -> Result<Refusal, String> {
    let Some(cell) = evidence.plan.cells.get(arm.0 as usize) else { return Err("its arm is missing".into()) };
    let Work::FillUntilRefused { predicted, .. } = &cell.work else {
        return Err(format!("`{}` fills no directory", cell.name));
    };
    let counts: Vec<u64> = evidence.rounds.samples(arm).map(|sample| sample.counted.entries).collect();
    let entries: Vec<f64> = counts.iter().map(|entries| *entries as f64).collect();
    let figure = Figure::median_of(&entries, evidence.plan.rules.confidence);
    let mean = megadir_stats::mean(&entries);
    let (Some(figure), Some(mean)) = (figure, mean) else { return Err("no directory was filled".into()) };
    let error = predicted.as_ref().map(|predicted| predicted.entries as f64 / mean - 1.0);
    Ok(Refusal {
        arm,
        directories: counts.len(),
        entries: figure,
        mean,
        least: counts.iter().copied().min().unwrap_or(0),
        most: counts.iter().copied().max().unwrap_or(0),
        predicted: predicted.clone(),
        error: error.filter(|error| error.is_finite()),
    })
}
