//! First screen of a comparison: how many arms differ, the arms that differ most, and the most serious warnings.

use super::{Between, GateSays, Lines, Row, grid, ratio};
use crate::render::{Page, SCREEN_LINES_MAX, SCREEN_WIDTH_MAX, Style, Tone, push_table};
use crate::summary::{Outcome, Verdict};
use crate::text;

/// Maximum number of warnings.
const WARNINGS_MAX: usize = 3;

/// Renders the first screen of a comparison, with a final newline.
#[must_use]
pub fn screen(between: &Between, width: usize, style: Style) -> String {
    let lines = Lines::of(between);
    let mut page = Page::new(width.min(SCREEN_WIDTH_MAX), style);
    page.sentences(&lines.heading, "", Tone::Heading, 2);
    for alarm in lines.alarms.iter().take(WARNINGS_MAX) {
        page.sentences(alarm, "! ", Tone::Alarm, 2);
    }
    let passed = between.gate.as_ref().is_some_and(|gate| gate.says == GateSays::Passed);
    let tone = if passed { Tone::Plain } else { Tone::Alarm };
    match lines.gate.first() {
        Some(verdict) => page.sentences(verdict, "", tone, 2),
        None => page.sentences(&answer(between), "", Tone::Plain, 2),
    };
    if let Some(caution) = &lines.caution {
        page.sentences(caution, "", Tone::Plain, 2);
    }
    let more = lines.alarms.len().saturating_sub(WARNINGS_MAX) as u64;
    let more = if more > 0 { format!("{} and ", text::counted(more, "more warning")) } else { String::new() };
    // Arms that differ come first.
    let mut shown = between.clone();
    let distance = |row: &Row| ratio(&row.outcome).map_or(0.0, |ratio| ratio.ln().abs());
    shown.rows.sort_by(|a, b| rank(a).cmp(&rank(b)).then(distance(b).total_cmp(&distance(a))));
    let mut table = grid(&shown);
    table.legend = lines.notes;
    // A gap and the last line.
    let room = SCREEN_LINES_MAX.saturating_sub(page.lines() + 2);
    push_table(&mut page, None, table, room);
    page.gap();
    page.paragraph(&format!("More ({more}every arm): megadir bench compare --verbose"), "", Tone::Faint);
    page.text
}

/// Counts the arms that are slower, faster and neither.
fn answer(between: &Between) -> String {
    let number = |wanted: u8| between.rows.iter().filter(|row| rank(row) == wanted).count() as u64;
    let parts = [
        (SLOWER, "slower"),
        (FASTER, "faster"),
        (UNEQUAL, "not comparable"),
        (OPEN, "undecided"),
        (SAME, "the same"),
    ];
    let parts = parts.map(|(rank, word)| (number(rank), word));
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{} {word}", text::count(number)))
        .collect();
    format!("Of {}: {}.", text::counted(between.rows.len() as u64, "arm"), text::list(&parts))
}

const SLOWER: u8 = 0;
const FASTER: u8 = 1;
const UNEQUAL: u8 = 2;
const OPEN: u8 = 3;
const SAME: u8 = 4;

fn rank(row: &Row) -> u8 {
    match &row.outcome {
        Outcome::Judged { verdict: Verdict::Slower { negligible: false }, .. } => SLOWER,
        Outcome::Judged { verdict: Verdict::Faster { negligible: false }, .. } => FASTER,
        Outcome::Unequal | Outcome::NotMeasured => UNEQUAL,
        Outcome::Judged { verdict: Verdict::Inconclusive { .. }, .. } | Outcome::TooFewRounds { .. } => OPEN,
        Outcome::Judged { .. } | Outcome::Baseline => SAME,
    }
}
