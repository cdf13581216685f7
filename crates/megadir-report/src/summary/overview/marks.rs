//! Which file system is the fastest, at each kind of work and over all: the marks and the headline of the table of file systems.
//!
//! A reader looks at the whole table for a winner, so all comparisons from which one could be chosen are one family: each file system against each,
//! in every row and over all rows. A difference counts if it is shown to exceed the equivalence band. So of file systems that are the same a
//! mark or a winner appears anywhere in the table in at most 5 % of runs.

use megadir_record::CellId;
use megadir_stats::Beyond;

use super::super::evidence::Evidence;
use super::{Overview, OverviewRow, common, mean_log_ratios};

/// Two columns, in one row or over all.
struct Pair {
    row: Option<usize>,
    of: usize,
    than: usize,
}

/// Sets the marks of every row and of the comparisons over all rows.
pub(super) fn set(evidence: &Evidence<'_>, overview: &mut Overview) {
    let mut pairs = Vec::new();
    let mut family = Vec::new();
    for overall in &overview.overall {
        pairs.push(Pair { row: None, of: overall.of, than: overall.than });
        family.push(mean_log_ratios(evidence, &common(evidence, &overview.rows, overall.of, overall.than)));
    }
    let candidates: Vec<Vec<(usize, CellId)>> =
        overview.rows.iter().map(|row| candidates(evidence, overview, row)).collect();
    for (row, arms) in candidates.iter().enumerate() {
        for (place, (of, arm)) in arms.iter().enumerate() {
            for (than, to) in &arms[..place] {
                pairs.push(Pair { row: Some(row), of: *of, than: *than });
                family.push(evidence.rounds.log_ratios(*arm, *to));
            }
        }
    }
    let shown = megadir_stats::beyond_band(&family, evidence.judging());
    // For each row, pairs of columns with a shown difference: the faster, then the slower.
    let mut shown_in: Vec<Vec<(usize, usize)>> = vec![Vec::new(); overview.rows.len()];
    for (pair, side) in pairs.iter().zip(shown) {
        let Some(side) = side else { continue };
        let (faster, slower) = match side {
            Beyond::Faster => (pair.of, pair.than),
            Beyond::Slower => (pair.than, pair.of),
        };
        match pair.row {
            Some(row) => shown_in[row].push((faster, slower)),
            None => {
                let over_all = overview.overall.iter_mut();
                over_all
                    .filter(|overall| (overall.of, overall.than) == (pair.of, pair.than))
                    .for_each(|overall| overall.faster = Some(faster));
            }
        }
    }
    for ((row, shown), arms) in overview.rows.iter_mut().zip(shown_in).zip(candidates) {
        mark(row, &shown, &arms);
    }
}

/// Returns the columns of a row that may be the fastest, with their arms.
fn candidates(evidence: &Evidence<'_>, overview: &Overview, row: &OverviewRow) -> Vec<(usize, CellId)> {
    let arm = |column: usize| Some((column, row.cells.get(column)?.as_ref()?.arm));
    overview.comparable().filter_map(arm).filter(|(_, arm)| evidence.is_equal(*arm)).collect()
}

fn mark(row: &mut OverviewRow, shown: &[(usize, usize)], arms: &[(usize, CellId)]) {
    let others = arms.len().saturating_sub(1);
    let beats = |column: usize| shown.iter().filter(|(faster, _)| *faster == column).count();
    row.fastest =
        arms.iter().map(|(column, _)| *column).find(|column| others > 0 && beats(*column) == others);
    for (column, _) in arms {
        let beaten = shown.iter().any(|(_, slower)| slower == column);
        if let Some(cell) = row.cells[*column].as_mut() {
            cell.best = !beaten;
        }
    }
}
