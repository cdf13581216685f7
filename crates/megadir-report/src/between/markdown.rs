//! Comparison of runs in Markdown, for a pull request or a CI summary.

use super::{Between, Lines, grid};
use crate::render::markdown_text::{clean, push_grid};

/// Renders the comparison, with a final newline.
#[must_use]
pub fn markdown(between: &Between) -> String {
    let text = Lines::of(between);
    let mut page = format!("## {}\n\n", clean(&text.heading));
    let gate = text.gate.iter().map(|line| format!("**{}**", clean(line)));
    let alarms = text.alarms.iter().map(|alarm| format!("**Warning:** {}", clean(alarm)));
    let caution = text.caution.iter().map(|caution| clean(caution));
    gate.chain(alarms).chain(caution).for_each(|line| page.push_str(&format!("{line}\n\n")));
    push_grid(&mut page, &grid(between));
    text.notes.iter().for_each(|note| page.push_str(&format!("{}\n\n", clean(note))));
    page.truncate(page.trim_end().len());
    page + "\n"
}
