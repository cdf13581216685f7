//! Comparison of runs as one HTML file.

use super::{Between, Lines, grid};
use crate::chart;
use crate::page::{Page, document, push_grid};

/// Returns the comparison as one HTML file: warnings, the gate, then the rows.
#[must_use]
pub fn html(between: &Between) -> String {
    let text = Lines::of(between);
    let mut page = Page::empty();
    page.push("<main>\n");
    page.element("h1", &text.heading);
    text.gate.iter().for_each(|line| page.element("p class=\"answer\"", line));
    text.alarms.iter().for_each(|alarm| page.element("p class=\"loud\"", alarm));
    text.caution.iter().for_each(|caution| page.paragraph(caution));
    push_grid(&mut page, &grid(between), false);
    text.notes.iter().for_each(|note| page.element("p class=\"faint\"", note));
    page.push("</main>\n</body>\n</html>\n");
    let mark = format!("<meta name=\"megadir-comparison\" content=\"{}\">", chart::escape(&between.study));
    document(&mark, &text.heading, &page)
}
