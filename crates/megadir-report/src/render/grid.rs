//! Tables of text and their layout on a terminal.
//! On a narrow terminal, columns with a rank are dropped first, then names are shortened.
//!
//! ```text
//! Grid: columns (heading, side, rank), rows of Text (text, tone), legend, bars
//!   -> lay_out: clean, natural widths, fit -> lines of a terminal
//!   -> Markdown, HTML: every column, no widths
//! ```

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::render::Style;
use crate::render::paint::{Tone, clean, length, paint, sentences, shorten};

/// Spaces before each column; characters of a first column and of the widest other text that narrowing
/// leaves.
const GAP: usize = 2;
const FIRST_MIN: usize = 8;
const BESIDE_FIRST_MIN: usize = 20;

pub(crate) struct Grid {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Text>>,
    pub(crate) legend: Vec<String>,
    pub(crate) bars: Option<Bars>,
}

impl Grid {
    pub(crate) fn new(columns: Vec<Column>, rows: Vec<Vec<Text>>, legend: impl Into<String>) -> Self {
        Self { columns, rows, legend: vec![legend.into()], bars: None }
    }
}

/// Alignment, heading and rank of each column.
macro_rules! headings {
    ($($align:ident $heading:tt $rank:tt),*) => {
        vec![$($crate::render::grid::Column::$align($heading, $rank)),*]
    };
}

pub(crate) use headings;

/// An output prints each sentence once.
/// Tables of one kind share most of their legend, e.g. the meaning of brackets.
#[derive(Default)]
pub(crate) struct Legends(BTreeSet<String>);

impl Legends {
    pub(crate) fn unprinted(&mut self, legend: &[String]) -> Vec<String> {
        // By sentence and not by paragraph: two legends may differ in one sentence only.
        let without_columns = |paragraph: &String| {
            let new =
                sentences(paragraph).into_iter().filter(|sentence| self.0.insert((*sentence).to_owned()));
            new.collect::<Vec<_>>().join(" ")
        };
        legend.iter().map(without_columns).filter(|paragraph| !paragraph.is_empty()).collect()
    }
}

#[derive(Clone)]
pub(crate) struct Column {
    pub(crate) heading: Cow<'static, str>,
    pub(crate) align: Align,
    /// The highest rank is dropped first, rank 0 never.
    pub(super) rank: u8,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl Column {
    pub(crate) fn left(heading: impl Into<Cow<'static, str>>, rank: u8) -> Self {
        Self { heading: heading.into(), align: Align::Left, rank }
    }

    pub(crate) fn right(heading: impl Into<Cow<'static, str>>, rank: u8) -> Self {
        Self { heading: heading.into(), align: Align::Right, rank }
    }
}

impl Text {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), tone: Tone::Plain }
    }

    pub(crate) fn heading(text: impl Into<String>) -> Self {
        Self { text: text.into(), tone: Tone::Heading }
    }
}

/// Lines have at most `width` characters; rows are indented by two.
///
/// The widths are settled first, from the texts as they will be printed: control characters
/// are already escaped, and signs that the terminal lacks replaced. Bars get the room that the
/// columns leave, and are dropped if it is too small, except needed columns, whose room is set aside
/// before columns are dropped. Colours are added last, since their escape sequences have no width.
pub(crate) fn lay_out(grid: &Grid, width: usize, style: Style) -> Vec<String> {
    let texts: Vec<Vec<String>> =
        grid.rows.iter().map(|row| row.iter().map(|field| clean(&field.text, style)).collect()).collect();
    // Natural width: the longest field or the heading.
    let natural = |(place, column): (usize, &Column)| {
        let fields = texts.iter().filter_map(|row| row.get(place)).map(|text| length(text));
        fields.max().unwrap_or(0).max(length(&column.heading))
    };
    let mut widths: Vec<usize> = grid.columns.iter().enumerate().map(natural).collect();
    // Bars that answer the question keep their room, and columns are dropped for them instead.
    let needed = grid.bars.as_ref().filter(|bars| bars.needed).map_or(0, |_| GAP + BESIDE_MIN);
    let kept = fit(grid, &mut widths, width.saturating_sub(needed));
    let used: usize = kept.iter().map(|&place| GAP + widths[place]).sum();
    let room = width.saturating_sub(used + GAP).min(BESIDE_MAX);
    let bars = grid.bars.as_ref().filter(|_| room >= BESIDE_MIN);
    let line = |fields: Vec<(&str, Tone)>, beside: &str| {
        let mut line = String::new();
        for &column in &kept {
            let (text, tone) = fields.get(column).copied().unwrap_or(("", Tone::Plain));
            line.push_str(&" ".repeat(GAP));
            line.push_str(&field(text, tone, widths[column], grid.columns[column].align, style));
        }
        line.push_str(&" ".repeat(GAP));
        line.push_str(beside);
        line.trim_end().to_owned()
    };
    let headings = grid.columns.iter().map(|column| (&*column.heading, Tone::Faint)).collect();
    let named = bars.map_or("", |bars| if length(bars.label) <= room { bars.label } else { "bar" });
    let rows = grid.rows.iter().zip(&texts).enumerate().map(|(place, (row, texts))| {
        let beside = bars.map(|bars| bars.bar(place, room, style)).unwrap_or_default();
        line(texts.iter().map(String::as_str).zip(row.iter().map(|field| field.tone)).collect(), &beside)
    });
    std::iter::once(line(headings, &paint(named, Tone::Faint, style))).chain(rows).collect()
}

/// Narrows the first column if the columns of rank 0 do not fit.
fn fit(grid: &Grid, widths: &mut [usize], width: usize) -> Vec<usize> {
    let total =
        |kept: &[usize], widths: &[usize]| kept.iter().map(|&place| GAP + widths[place]).sum::<usize>();
    let has_text = |place: &usize| {
        let mut fields = grid.rows.iter().filter_map(|row| row.get(*place));
        *place == 0 || fields.any(|field| !field.text.is_empty())
    };
    let mut kept: Vec<usize> = (0..grid.columns.len()).filter(has_text).collect();
    // Columns of equal rank are dropped together, so that an interval never stays without its value.
    while total(&kept, widths) > width {
        let rank = |&place: &usize| grid.columns[place].rank;
        match kept.iter().copied().max_by_key(rank).filter(|place| rank(place) > 0) {
            Some(dropped) => {
                let highest = rank(&dropped);
                kept.retain(|place| rank(place) < highest);
            }
            None => break,
        }
    }
    // The first column identifies the row.
    let left = |place: &usize| *place > 0 && grid.columns[*place].align == Align::Left;
    let excess = total(&kept, widths).saturating_sub(width);
    // The widest text on the left gives way first, down to a minimum, and the names of the rows last: a
    // number that is cut would be wrong, a text that is cut can still be recognized.
    if let Some(widest) = kept.iter().copied().filter(left).max_by_key(|place| widths[*place]) {
        widths[widest] = widths[widest].saturating_sub(excess).max(BESIDE_FIRST_MIN.min(widths[widest]));
    }
    let excess = total(&kept, widths).saturating_sub(width);
    if let Some(first) = widths.first_mut() {
        *first = first.saturating_sub(excess).max(FIRST_MIN.min(*first));
    }
    kept
}

fn field(text: &str, tone: Tone, width: usize, align: Align, style: Style) -> String {
    let text = shorten(text, width, style);
    let space = " ".repeat(width - length(&text));
    let text = paint(&text, tone, style);
    match align {
        Align::Left => text + &space,
        Align::Right => space + &text,
    }
}

pub(super) const BESIDE_MAX: usize = 16;
pub(super) const BESIDE_MIN: usize = 4;
/// Eighths of a block, so that a short bar shows small differences; terminals without Unicode get whole
/// characters.
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const LEVELS_ASCII: [char; 8] = ['_', '.', '-', '~', '=', '+', '*', '#'];

pub(super) const SHARE: &str = "share";

pub(crate) struct Bars {
    pub(crate) label: &'static str,
    pub(crate) values: Vec<Option<f64>>,
    /// Optional columns give way to the bars.
    pub(crate) needed: bool,
}

impl Bars {
    pub(super) fn bar(&self, row: usize, width: usize, style: Style) -> String {
        let longest = self.values.iter().flatten().copied().fold(0.0, f64::max);
        let value = self.values.get(row).copied().flatten().filter(|_| longest > 0.0);
        value.map(|value| bar(value / longest, width, style)).unwrap_or_default()
    }
}

/// Values above zero are visible.
/// An empty place means that nothing was measured.
pub(super) fn bar(part: f64, width: usize, style: Style) -> String {
    let part = part.clamp(0.0, 1.0);
    if !style.unicode {
        return "#".repeat(((part * width as f64).round() as usize).max(1));
    }
    let eighths = ((part * 8.0 * width as f64).round() as usize).max(1);
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8]);
    }
    bar
}

/// From zero to the maximum: at most `width` columns, each the median of its share.
/// Medians and not means, so that one stall does not raise a whole stretch.
pub(super) fn course(values: &[f64], width: usize, style: Style) -> String {
    let size = values.len().div_ceil(width.max(1)).max(1);
    let median = |chunk: &[f64]| megadir_stats::median(chunk).filter(|m| m.is_finite());
    let medians: Vec<f64> = values.chunks(size).filter_map(median).collect();
    let highest = medians.iter().copied().fold(0.0, f64::max);
    let levels = if style.unicode { LEVELS } else { LEVELS_ASCII };
    let level = |value: &f64| {
        let part = if highest > 0.0 { value / highest } else { 0.0 };
        levels[((part * 8.0).ceil() as usize).clamp(1, 8) - 1]
    };
    medians.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style { color: false, unicode: false };

    fn grid() -> Grid {
        Grid {
            columns: vec![Column::left("arm", 0), Column::right("calls", 1), Column::left("ratio", 0)],
            rows: vec![
                vec![Text::plain("getdents of 128 KiB"), Text::plain("31"), Text::plain("0.54x")],
                vec![Text::plain("std"), Text::plain("1000")],
            ],
            legend: Vec::new(),
            bars: None,
        }
    }

    #[test]
    fn a_sentence_of_a_legend_is_printed_once() {
        let mut legends = Legends::default();
        let legend =
            |of: &str| vec![format!("Ratio: time / time of {of}, below 1 is faster. [ ]: 95 % interval.")];
        assert_eq!(legends.unprinted(&legend("a")), legend("a"));
        assert_eq!(legends.unprinted(&legend("b")), ["Ratio: time / time of b, below 1 is faster."]);
        assert!(legends.unprinted(&legend("b")).is_empty());
    }

    #[test]
    fn columns_are_aligned_and_dropped_by_rank() {
        let wide = [
            "  arm                  calls  ratio",
            "  getdents of 128 KiB     31  0.54x",
            "  std                   1000",
        ];
        assert_eq!(lay_out(&grid(), 80, PLAIN), wide);
        let narrow = ["  arm                  ratio", "  getdents of 128 KiB  0.54x", "  std"];
        assert_eq!(lay_out(&grid(), 30, PLAIN), narrow);
        assert_eq!(lay_out(&grid(), 20, PLAIN)[1], "  getdents o~  0.54x");
    }

    #[test]
    fn bars_have_a_column_of_their_own_where_there_is_room() {
        let bars = Bars { label: "calls", values: vec![Some(31.0), Some(124.0)], needed: false };
        let grid = Grid { bars: Some(bars), ..grid() };
        let wide = [
            "  arm                  calls  ratio  calls",
            "  getdents of 128 KiB     31  0.54x  ##",
            "  std                   1000         ########",
        ];
        assert_eq!(lay_out(&grid, 45, PLAIN), wide);
        assert_eq!(lay_out(&grid, 41, PLAIN)[0], "  arm                  calls  ratio  bar");
        assert_eq!(lay_out(&grid, 40, PLAIN)[0], "  arm                  calls  ratio");
    }

    const UNICODE: Style = Style { color: false, unicode: true };
    const ASCII: Style = Style { color: false, unicode: false };

    #[test]
    fn bars_and_courses_start_at_nothing() {
        let bars =
            Bars { label: "time", values: vec![Some(4.0), Some(1.0), None, Some(0.001)], needed: false };
        let drawn = |style| [0, 1, 2, 3].map(|row| bars.bar(row, 8, style));
        assert_eq!(drawn(UNICODE), ["████████", "██", "", "▏"]);
        assert_eq!(drawn(ASCII), ["########", "##", "", "#"]);
        assert_eq!(course(&[8.0, 8.1, 4.0, 1.0], 4, UNICODE), "██▄▁");
        assert_eq!(course(&[8.0, 8.0, 4.0, 4.0], 2, ASCII), "#~");
        assert_eq!(course(&[], 4, UNICODE), "");
        assert_eq!(course(&[0.0], 4, UNICODE), "▁");
    }
}
