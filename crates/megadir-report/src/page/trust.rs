//! Trust in the numbers: resolution, self-check, course of the run, warnings.

use super::Page;
use crate::render::{families_line, resolution_details, resolution_lines, self_check_line, use_lines};
use crate::report::Report;
use crate::warning::{Told, told};

pub(super) fn section(page: &mut Page, report: &Report) {
    let summary = &report.summary;
    page.element("h2", "How far to trust it");
    let checks = families_line(summary).into_iter().chain(self_check_line(summary));
    page.list(resolution_lines(summary).into_iter().chain(checks));
    page.details(resolution_details(summary));
    if report.warnings.is_empty() {
        page.paragraph("No warnings.");
    }
    let told = told(&report.warnings);
    for loud in told.iter().filter(|told| told.loud) {
        page.element("p class=\"loud\"", &loud.text);
        page.details(loud.each.iter().cloned());
    }
    let quiet: Vec<&Told> = told.iter().filter(|told| !told.loud).collect();
    if !quiet.is_empty() {
        page.push("<ul>\n");
        for told in quiet {
            page.push("<li>");
            page.element("p", &told.text);
            page.details(told.each.iter().cloned());
            page.push("</li>\n");
        }
        page.push("</ul>\n");
    }
    while page.picture(|_| true) {}
    page.tell_left_out();
    page.list(use_lines(summary));
}
