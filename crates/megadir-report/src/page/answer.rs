//! First screen: the question, loud warnings, the answer with its chart, and advice.

use super::{Page, advice};
use crate::chart::Width;
use crate::chart::main_picture;
use crate::render::run_line;
use crate::report::Report;
use crate::warning::told;

/// First screen; below a caller's conclusion it is a section without advice about options that the caller lacks.
pub(super) fn section(page: &mut Page, report: &Report, is_below: bool) {
    page.push("<header>\n");
    page.element(if is_below { "h2" } else { "h1" }, &report.question());
    for finding in report.findings.iter().filter(|finding| finding.loud) {
        page.element("p class=\"loud\"", &finding.text);
    }
    for loud in told(&report.warnings).iter().filter(|told| told.loud) {
        page.element("p class=\"loud\"", &loud.text);
    }
    let answers = report.first_findings();
    for finding in &answers {
        page.element("p class=\"answer\"", &finding.text);
    }
    if answers.is_empty() {
        page.element("p class=\"answer\"", &report.without_answer());
    }
    page.push("</header>\n");
    if let Some(main) = main_picture(report, Width::Wide) {
        page.picture(|picture| {
            picture.title == main.title && picture.chart == main.chart && picture.group == main.group
        });
    }
    page.element("p class=\"faint\"", &run_line(report));
    let advice = advice(report);
    if !advice.is_empty() && !is_below {
        page.element("h2", "What to do about it");
        page.list(advice);
    }
}
