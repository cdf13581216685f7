//! How far the numbers can be trusted: what the run can tell apart, what it found out about its own measuring, its course, and its warnings.

use super::Page;
use crate::render::{Report, resolution_line, self_check_line, use_lines};

/// Adds the section.
pub(super) fn section(page: &mut Page, report: &Report<'_>) {
    let summary = report.summary;
    page.element("h2", "How far to trust it");
    let resolutions = summary.resolution.iter().map(|resolution| resolution_line(summary, resolution));
    page.list(resolutions.chain(self_check_line(summary)));
    if summary.warnings.is_empty() {
        page.paragraph("Nothing speaks against it.");
    }
    let (loud, quiet): (Vec<_>, Vec<_>) = summary.warnings.iter().partition(|advisory| advisory.loud);
    for advisory in loud {
        page.element("p class=\"loud\"", &format!("{} {}", advisory.text, advisory.advice));
    }
    page.list(quiet.into_iter().map(|advisory| format!("{} {}", advisory.text, advisory.advice)));
    while page.picture(|_| true) {}
    page.list(use_lines(summary));
}
