//! Flat or sharded: the ratio to the flat directory for every layout, over operations or populations.
//! Undecided cells are hatched; over populations a curve shows equal cost.
//!
//! ```text
//!              create   read   stat         columns: operations, or numbers of entries
//! prefix:2      0.9x    1.1x  //0.98//     rows: layouts; // hatched: undecided
//! prefix:2/2    1.4x    1.3x    1.2x
//! ```

use super::forest::{ratio, words};
use super::{Anchor, Drawing, FONT_PX, LINE_PX, Picture, Width, text_width, wrap};
use crate::report::Report;
use crate::summary::{GroupReading, Outcome, OutcomeClass, PairRow, Summary, Verdict};
use crate::text;

/// Factors at which a cell gets darker, the same for faster and slower.
const STEPS: [f64; 4] = [1.1, 1.25, 1.6, 2.5];
const CELL_PX: f64 = 34.0;

pub(super) fn heatmap(report: &Report, width: Width) -> Option<Picture> {
    Grid::of(&report.summary).map(|grid| picture(&grid, width))
}

/// `cells` has a row for each of `rows` and a field for each of `columns`; `None` is a cell that was not
/// measured. The columns are operations or numbers of entries, and only the latter have an order along which
/// the ratio can cross 1.
struct Grid<'a> {
    group: String,
    than: String,
    rows: Vec<String>,
    /// With their numbers of entries.
    columns: Vec<(String, u64)>,
    cells: Vec<Vec<Option<&'a Outcome>>>,
}

impl<'a> Grid<'a> {
    fn of(summary: &'a Summary) -> Option<Self> {
        // Pairs of all groups whose arms differ in layout, against the reference of the first such pair:
        // other references would mix two questions in one table.
        let mut found: Vec<(&str, &PairRow)> = Vec::new();
        for group in &summary.groups {
            if let GroupReading::Pairs(pairs) = &group.reading {
                let rows = pairs.rows.iter().filter(|row| contrasts_places(summary, row));
                found.extend(rows.map(|row| (group.name.as_str(), row)));
            }
        }
        let (group, first) =
            found.first().map(|(group, row)| ((*group).to_owned(), row.pair.than.clone()))?;
        found.retain(|(_, row)| row.pair.than == first);
        let sizes = text::distinct(found.iter().map(|(_, row)| entries(summary, row)));
        let column = |row: &PairRow| {
            let at = summary.circumstances_in_full(&row.pair);
            if sizes.len() == 1 { at } else { format!("{at}, {} files", text::count(entries(summary, row))) }
        };
        let rows = text::distinct(found.iter().map(|(_, row)| row.pair.subject.clone()));
        let columns = text::distinct(found.iter().map(|(_, row)| (column(row), entries(summary, row))));
        let cell = |row: &String, (name, _): &(String, u64)| {
            let wanted =
                |(_, pair): &&(&str, &'a PairRow)| pair.pair.subject == *row && column(pair) == *name;
            found.iter().find(wanted).map(|(_, row)| &row.outcome)
        };
        let cells = rows.iter().map(|row| columns.iter().map(|column| cell(row, column)).collect()).collect();
        // One row or one column is better shown by a forest plot.
        let enough = rows.len() > 1 && columns.len() > 1;
        enough.then_some(Self { group, than: first, rows, columns, cells })
    }

    /// Populations in ascending order, between which values can be interpolated.
    fn is_ordered(&self) -> bool {
        self.columns.windows(2).all(|pair| pair[0].1 < pair[1].1)
    }
}

/// Layout or moment of creating directories must differ; pairs that differ in cache or sync belong to other
/// charts.
fn contrasts_places(summary: &Summary, row: &PairRow) -> bool {
    let place = |arm| {
        let made = summary.data_of(arm)?.source.made()?;
        Some((&made.spread, made.directories))
    };
    matches!((place(row.pair.arm), place(row.pair.to)), (Some(arm), Some(to)) if arm != to)
}

fn entries(summary: &Summary, row: &PairRow) -> u64 {
    summary.data_of(row.pair.arm).map_or(0, |data| data.entries)
}

/// Rows are drawn from top to bottom at `y`, because the height of a wrapped label is known only after its
/// lines are counted. In narrow pictures the label stands above its cells. The curve of equal cost is drawn
/// last and over the cells, from at least two rows that have a crossing.
fn picture(grid: &Grid<'_>, width: Width) -> Picture {
    let mut drawing = Drawing::new(width.px());
    let widest = grid.rows.iter().map(|row| text_width(row, FONT_PX)).fold(0.0_f64, f64::max).min(210.0);
    let left = if width.is_narrow() { 8.0 } else { widest + 22.0 };
    let across = (drawing.width() - left - 8.0) / grid.columns.len() as f64;
    let headings: Vec<Vec<String>> =
        grid.columns.iter().map(|(name, _)| wrap(name, across - 8.0, FONT_PX)).collect();
    let most = headings.iter().map(Vec::len).max().unwrap_or(1);
    for (lines, place) in headings.iter().zip(0_u32..) {
        drawing.stack(left + across * (f64::from(place) + 0.5), 16.0, Anchor::Middle, "faint", lines);
    }
    let mut y = 10.0 + LINE_PX * most as f64;
    let mut crossings = Vec::new();
    for (label, cells) in grid.rows.iter().zip(&grid.cells) {
        if width.is_narrow() {
            y = drawing.paragraph(8.0, y + 16.0, drawing.width() - 16.0, "", label) - 10.0;
        } else {
            let lines = wrap(label, widest + 1.0, FONT_PX);
            let first = y + CELL_PX / 2.0 + 4.0 - LINE_PX * (lines.len() - 1) as f64 / 2.0;
            drawing.paragraph(8.0, first, widest + 1.0, "", label);
        }
        for (cell, place) in cells.iter().zip(0_u32..) {
            draw_cell(&mut drawing, (left + across * f64::from(place), y), across, *cell);
        }
        crossings.extend(crossing(cells).map(|at| (left + across * (at + 0.5), y + CELL_PX / 2.0)));
        y += CELL_PX + 4.0;
    }
    let mut note = format!(
        "Time as a multiple of the time of {}. Blue and below 1x: faster; orange and above: slower; hatched: undecided.",
        grid.than
    );
    if grid.is_ordered() && crossings.len() > 1 {
        drawing.path(&crossings, false, "rule thick");
        note.push_str(" Black line: both cost the same.");
    }
    drawing.paragraph(8.0, y + 16.0, drawing.width() - 16.0, "faint", &note);
    let title = format!("Layouts against {}", grid.than);
    Picture::new("heatmap", Some(&grid.group), &title, drawing, described(grid))
}

fn described(grid: &Grid<'_>) -> String {
    let mut phrases = Vec::new();
    for (row, cells) in grid.rows.iter().zip(&grid.cells) {
        for ((column, _), cell) in grid.columns.iter().zip(cells) {
            phrases.extend(cell.map(|outcome| format!("{row}, {column}: {}", words(outcome))));
        }
    }
    format!("Time as a multiple of the time of {}. {}.", grid.than, phrases.join("; "))
}

fn draw_cell(drawing: &mut Drawing, (x, y): (f64, f64), across: f64, cell: Option<&Outcome>) {
    let size = (across, CELL_PX);
    let Some(ratio) = cell.and_then(ratio) else {
        drawing.rect((x, y), size, "cell band");
        return;
    };
    let figure = text::ratio(ratio, None);
    let step = STEPS.iter().filter(|step| ratio.max(1.0 / ratio) >= **step).count() + 1;
    let class = match cell {
        Some(Outcome::Judged { verdict: Verdict::Faster { .. }, .. }) => format!("good h{step}"),
        Some(Outcome::Judged { verdict: Verdict::Slower { .. }, .. }) => format!("bad h{step}"),
        _ => "band".to_owned(),
    };
    drawing.rect((x, y), size, &format!("{class} cell"));
    // The figure lies on a plain field, since hatching behind digits is hard to read.
    if cell.is_some_and(|outcome| outcome.class() == Some(OutcomeClass::Open)) {
        drawing.hatch((x + 1.0, y + 1.0), (across - 2.0, CELL_PX - 2.0));
        let half = text_width(&figure, FONT_PX) / 2.0 + 3.0;
        drawing.rect((x + across / 2.0 - half, y + 8.0), (half + half, CELL_PX - 16.0), "paper");
    }
    drawing.text(x + across / 2.0, y + CELL_PX / 2.0 + 4.0, Anchor::Middle, "bare", &figure);
}

/// Place between two columns at which the logarithm of the ratio is zero, by linear interpolation. The
/// first one counts.
fn crossing(cells: &[Option<&Outcome>]) -> Option<f64> {
    let logs: Vec<Option<f64>> = cells.iter().map(|cell| cell.and_then(ratio).map(libm::log)).collect();
    let between = |place: usize| match (logs[place], logs[place + 1]) {
        (Some(before), Some(after)) if (before < 0.0) != (after < 0.0) => {
            Some(place as f64 + before / (before - after))
        }
        _ => None,
    };
    (0..logs.len().saturating_sub(1)).find_map(between)
}
