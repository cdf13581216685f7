//! Which file system to take, for which kinds of work another is better, and what stays open.

use crate::summary::{Overview, OverviewRow, Summary, Verdict};
use crate::text;

/// More kinds of work than these are counted, not named.
const NAMED_MAX: usize = 6;

/// Returns what to do, of a run on several file systems that may be compared.
pub(super) fn advice(summary: &Summary) -> Vec<String> {
    let Some(overview) = &summary.overview else { return Vec::new() };
    let comparable: Vec<usize> =
        (0..overview.columns.len()).filter(|column| overview.columns[*column].comparable).collect();
    if comparable.len() < 2 {
        return vec![
            "Which file system to take cannot be told: each lies on ground of its own, so they differ in more than the file system.".into(),
        ];
    }
    let take = take(overview, &comparable);
    if take.is_empty() {
        return Vec::new();
    }
    let label = |column: &usize| overview.columns[*column].label.clone();
    let names: Vec<String> = take.iter().map(label).collect();
    let mut advice = vec![match names.len() {
        1 => format!(
            "Take {} where nothing else speaks against it: over all kinds of work every other takes longer.",
            names[0]
        ),
        _ => format!(
            "Take {}, whichever suits otherwise: over all kinds of work none of them is shown to be slower than another, and what is not named is slower.",
            text::list(&names).replace(" and ", " or ")
        ),
    }];
    for column in comparable.iter().filter(|column| !take.contains(column)) {
        let better = overview.rows.iter().filter(|row| best(row) == [*column]);
        let better: Vec<String> = better.map(name).collect();
        if !better.is_empty() {
            advice.push(format!("But {} is the fastest at {}.", label(column), named(&better)));
        }
    }
    advice.extend(apart(overview, &take));
    advice
}

/// Returns the file systems that no other is shown to beat over all kinds of work.
fn take(overview: &Overview, comparable: &[usize]) -> Vec<usize> {
    let beaten = |column: usize| {
        comparable.iter().any(|other| {
            let against = overview.against(column, *other);
            matches!(against, Some((.., Some(Verdict::Slower { negligible: false }))))
        })
    };
    let known = |column: usize| {
        comparable.iter().any(|other| matches!(overview.against(column, *other), Some((.., Some(_)))))
    };
    comparable.iter().copied().filter(|column| known(*column) && !beaten(*column)).collect()
}

/// Returns those of a row that no other is shown to beat.
fn best(row: &OverviewRow) -> Vec<usize> {
    let best = |(column, cell): (usize, &Option<crate::summary::OverviewCell>)| {
        cell.as_ref().is_some_and(|cell| cell.best).then_some(column)
    };
    row.cells.iter().enumerate().filter_map(best).collect()
}

/// Tells where what is to be taken does not matter, and where it is not known what does.
fn apart(overview: &Overview, take: &[usize]) -> Option<String> {
    let open: Vec<String> = overview.rows.iter().filter(|row| best(row).len() > 1).map(name).collect();
    let without: Vec<String> = overview
        .rows
        .iter()
        .filter(|row| best(row).len() > 1 && !best(row).iter().any(|column| take.contains(column)))
        .map(name)
        .collect();
    let beside = match without.len() {
        0 => String::new(),
        _ => format!("; what is to be taken is not among them at {}", named(&without)),
    };
    (!open.is_empty()).then(|| {
        format!(
            "At {} of {} kinds of work several are not told apart from the fastest{beside}.",
            open.len(),
            overview.rows.len()
        )
    })
}

fn name(row: &OverviewRow) -> String {
    match row.section.as_str() {
        "" => row.what.clone(),
        section => format!("{section} ({})", row.what),
    }
}

fn named(rows: &[String]) -> String {
    match rows.len() {
        ..=NAMED_MAX => text::list(rows),
        more => format!("{} and {} more", rows[..NAMED_MAX].join(", "), more - NAMED_MAX),
    }
}
