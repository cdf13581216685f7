//! First screen: the question, loud warnings, the answer with its chart, and advice.

use super::{Page, advice};
use crate::chart::Width;
use crate::chart::main_picture;
use crate::finding::told_first;
use crate::render::{Report, run_line};
use crate::warning::told;

/// First screen; below a caller's conclusion it is a section without advice about options that the caller lacks.
pub(super) fn section(page: &mut Page, report: &Report<'_>, is_below: bool) {
    let summary = report.summary;
    page.push("<header>\n");
    page.element(if is_below { "h2" } else { "h1" }, &summary.question);
    for finding in summary.findings.iter().filter(|finding| finding.loud) {
        page.element("p class=\"loud\"", &finding.text);
    }
    for loud in told(&summary.warnings).iter().filter(|told| told.loud) {
        page.element("p class=\"loud\"", &loud.text);
    }
    let answers = told_first(summary);
    for finding in &answers {
        page.element("p class=\"answer\"", &finding.text);
    }
    if answers.is_empty() {
        page.element("p class=\"answer\"", "No group of arms was measured far enough to say anything.");
    }
    page.push("</header>\n");
    if let Some(main) = main_picture(report, Width::Wide) {
        page.picture(|picture| {
            picture.title == main.title && picture.chart == main.chart && picture.group == main.group
        });
    }
    page.element("p class=\"faint\"", &run_line(summary));
    let advice = advice(summary);
    if !advice.is_empty() && !is_below {
        page.element("h2", "What to do about it");
        page.list(advice);
    }
}
