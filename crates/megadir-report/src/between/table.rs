//! Comparison of runs for a terminal.

use super::{Between, GateSays, Lines, grid};
use crate::render::{Style, Tone, clean, lay_out, paint, wrap};

/// Minimum width of the layout, columns.
const WIDTH_MIN: usize = 40;

/// Renders the comparison for a terminal of `width` columns, with a final newline.
#[must_use]
pub fn table(between: &Between, width: usize, style: Style) -> String {
    let width = width.max(WIDTH_MIN);
    let text = Lines::of(between);
    let mut lines = Vec::new();
    let paragraph = |lines: &mut Vec<String>, text: &str, tone: Tone| {
        let wrapped = wrap(&clean(text, style), width);
        lines.extend(wrapped.iter().map(|line| paint(line, tone, style)));
    };
    paragraph(&mut lines, &text.heading, Tone::Heading);
    text.alarms.iter().for_each(|alarm| paragraph(&mut lines, &format!("! {alarm}"), Tone::Alarm));
    text.caution.iter().for_each(|caution| paragraph(&mut lines, caution, Tone::Plain));
    lines.push(String::new());
    lines.extend(lay_out(&grid(between), width, style));
    text.notes.iter().for_each(|note| paragraph(&mut lines, note, Tone::Faint));
    let passed = between.gate.as_ref().is_some_and(|gate| gate.says == GateSays::Passed);
    let tone = if passed { Tone::Plain } else { Tone::Alarm };
    // Standard error has the reasons, a line each.
    text.gate.iter().take(1).for_each(|line| paragraph(&mut lines, line, tone));
    lines.join("\n") + "\n"
}
