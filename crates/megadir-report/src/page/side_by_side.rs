//! File systems side by side: charts by operation, pairwise comparisons, figures.

use super::Page;
use super::table::push_grid;
use crate::render::{each_against_each, overview_legend, overview_tables, overview_title};
use crate::report::Report;

/// Adds the section, if the run used several file systems.
pub(super) fn section(page: &mut Page, report: &Report) {
    let summary = &report.summary;
    let Some(overview) = &summary.overview else { return };
    page.element("h2", overview_title(summary));
    while page.picture(|picture| picture.chart == "overview") {}
    if let Some(grid) = each_against_each(overview) {
        page.element("h3", "Each against each, over all kinds of work");
        push_grid(page, &grid, false);
    }
    page.element("h3", "The figures");
    for line in overview_legend(summary, overview) {
        page.element("p class=\"faint\"", &line);
    }
    for grid in overview_tables(overview, usize::MAX) {
        push_grid(page, &grid, false);
    }
}
