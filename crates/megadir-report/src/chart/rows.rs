//! Layout of charts with rows: label, marks on a common axis, value; in narrow charts the texts stand above the marks.
//!
//! ```text
//! wide                                          narrow
//! label  |====----     |  12.3 us [12.1, 12.5]  label          12.3 us [12.1, 12.5]
//! label  |=====        |  15.0 us [..]          |========----                     |
//!        0     10    20                         0               10              20
//! ```

use super::{Anchor, Axis, Drawing, FONT_PX, LINE_PX, Shape, Width, text_width, wrap};
use crate::summary::{Figure, Interval};

/// One line of the chart; a heading has no marks and no value. `value` repeats the marks as a number, because
/// no one reads a ratio from an axis. `tone` is a class of the style sheet, which colours the value.
pub(super) struct Row {
    pub(super) label: String,
    pub(super) value: String,
    pub(super) tone: &'static str,
    pub(super) marks: Vec<Mark>,
    pub(super) heading: bool,
}

/// In drawing order: a bar with its range over it; a span between dots, with the dots over it. Values are
/// in the unit of the axis.
pub(super) enum Mark {
    Bar { from: f64, to: f64, class: String },
    Range { range: Interval, class: &'static str },
    Dot { at: f64, shape: Shape, class: String },
    Span { from: f64, to: f64, class: &'static str },
}

/// All of the chart but its rows. `band` and `line` are in the unit of the axis: the range that counts as
/// equivalent, and the value that stands for no difference. `key` explains marks by shape, class and text.
pub(super) struct Frame<'a> {
    pub(super) width: Width,
    pub(super) axis: Axis,
    pub(super) title: &'a str,
    pub(super) band: Option<(f64, f64)>,
    pub(super) line: Option<f64>,
    pub(super) key: Vec<(Shape, String, String)>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(width: Width, title: &'a str, axis: Axis) -> Self {
        Self { width, axis, title, band: None, line: None, key: Vec::new() }
    }
}

pub(super) fn key_of(names: &[&str]) -> Vec<(Shape, String, String)> {
    let of = |(place, name): (usize, &&str)| (Shape::of(place), format!("s{place}"), (*name).to_owned());
    names.iter().enumerate().map(of).collect()
}

/// Chart in words, for readers that cannot see it: the same labels and values as in the drawing.
pub(super) fn description_of(rows: &[Row]) -> String {
    rows.iter().map(|row| format!("{}: {}", row.label, row.value)).collect::<Vec<_>>().join("; ")
}

/// Longest texts of a wide chart in pixels; longer ones are wrapped. Together they leave about a third of
/// the width to the marks.
const LABEL_MAX: f64 = 230.0;
const BESIDE_MAX: f64 = 470.0;
const MARKS_PX: f64 = 20.0;

impl Row {
    pub(super) fn new(label: impl Into<String>, value: String, marks: Vec<Mark>) -> Self {
        Self { label: label.into(), value, tone: "", marks, heading: false }
    }

    /// Bars start at zero whatever the interval is; the range is drawn over the bar.
    pub(super) fn bar(label: impl Into<String>, value: String, figure: Figure, class: &str) -> Self {
        let bar = Mark::Bar { from: 0.0, to: figure.value, class: class.into() };
        let interval = figure.interval.map(|range| Mark::Range { range, class: "rule" });
        Self::new(label, value, [bar].into_iter().chain(interval).collect())
    }

    pub(super) fn heading(label: impl Into<String>) -> Self {
        Self { heading: true, ..Self::new(label, String::new(), Vec::new()) }
    }
}

/// A row whose texts are wrapped and whose place is known. `top` and `height` are pixels; the marks are at
/// the lower end, so that in narrow charts the texts are above them.
struct Laid<'a> {
    row: &'a Row,
    label: Vec<String>,
    value: Vec<String>,
    top: f64,
    height: f64,
}

/// Two passes: the first one wraps texts and gives each row its place, from which the height of the band and
/// of the line follows; the second draws. In narrow charts texts stand between the marks of two rows, so the
/// line is interrupted there.
pub(super) fn draw(frame: &Frame<'_>, rows: &[Row]) -> Drawing {
    let mut drawing = Drawing::new(frame.width.px());
    let top = key(&mut drawing, &frame.key);
    let widest = |text: fn(&Row) -> &str, most: f64| {
        let widths = rows.iter().filter(|row| !row.heading).map(|row| text_width(text(row), FONT_PX));
        widths.fold(0.0_f64, f64::max).min(most)
    };
    let label = widest(|row| &row.label, LABEL_MAX);
    let value = widest(|row| &row.value, BESIDE_MAX - label);
    let places = match frame.width {
        Width::Wide => (label + 22.0, drawing.width() - value - 22.0),
        Width::Narrow => (12.0, drawing.width() - 12.0),
    };
    let axis = frame.axis.placed(places);
    let mut laid = Vec::new();
    // First pass: the height of all rows is needed for band, line and axis, which lie below the marks.
    let mut y = top;
    for row in rows {
        let lines = lay(row, frame.width, (label, value), y);
        y += lines.height;
        laid.push(lines);
    }
    if let Some((low, high)) = frame.band {
        let (left, right) = (axis.at(low).max(places.0), axis.at(high).min(places.1));
        drawing.rect((left, top), (right - left, y - top), "band");
    }
    axis.draw_below(&mut drawing, y, top, frame.title);
    if let Some(line) = frame.line {
        let at = axis.at(line);
        match frame.width {
            Width::Wide => drawing.line((at, top), (at, y), "rule"),
            Width::Narrow => {
                let beside = |row: &Laid<'_>| {
                    // Only as high as the marks, since a text lies above them.
                    let middle = row.top + row.height - MARKS_PX / 2.0 - 3.0;
                    ((at, middle - MARKS_PX / 2.0), (at, middle + MARKS_PX / 2.0))
                };
                let marked = laid.iter().filter(|row| !row.row.marks.is_empty());
                drawing.lines(&marked.map(beside).collect::<Vec<_>>(), "rule");
            }
        }
    }
    laid.iter().for_each(|row| draw_row(&mut drawing, frame.width, &axis, row));
    drawing
}

/// Lower edge of the key. Entries fill lines from left to right; one that does not fit begins a new line.
pub(super) fn key(drawing: &mut Drawing, entries: &[(Shape, String, String)]) -> f64 {
    let (mut x, mut y) = (8.0, 16.0);
    for (shape, class, text) in entries {
        let lines = wrap(text, drawing.width() - 32.0, FONT_PX);
        let width = lines.iter().map(|line| text_width(line, FONT_PX)).fold(0.0_f64, f64::max) + 32.0;
        if x > 8.0 && x + width > drawing.width() {
            (x, y) = (8.0, y + LINE_PX + 2.0);
        }
        drawing.mark((x + 6.0, y - 4.0), *shape, class);
        drawing.stack(x + 16.0, y, Anchor::Start, "", &lines);
        if lines.len() > 1 {
            (x, y) = (8.0, y + LINE_PX * lines.len() as f64 + 2.0);
        } else {
            x += width;
        }
    }
    match entries {
        [] => 4.0,
        _ if x > 8.0 => y + 12.0,
        _ => y - 6.0,
    }
}

fn lay<'a>(row: &'a Row, width: Width, (label, value): (f64, f64), top: f64) -> Laid<'a> {
    let whole = width.px() - 16.0;
    if row.heading {
        let label = wrap(&row.label, whole, FONT_PX);
        let height = LINE_PX * label.len() as f64 + 12.0;
        return Laid { row, label, value: Vec::new(), top, height };
    }
    if !width.is_narrow() {
        let (label, value) = (wrap(&row.label, label + 1.0, FONT_PX), wrap(&row.value, value + 1.0, FONT_PX));
        let height = LINE_PX * label.len().max(value.len()).max(1) as f64 + 8.0;
        return Laid { row, label, value, top, height };
    }
    let value_width = text_width(&row.value, FONT_PX);
    let beside = whole - value_width - 12.0;
    // The value stays on the label's line if the label keeps at least 45 % of the width or fits; otherwise
    // it gets lines below.
    let (label, value) = if beside > 0.45 * whole || text_width(&row.label, FONT_PX) <= beside {
        (wrap(&row.label, beside, FONT_PX), vec![row.value.clone()])
    } else {
        let label = wrap(&row.label, whole, FONT_PX);
        let value = wrap(&row.value, whole, FONT_PX);
        let blank = vec![String::new(); label.len()];
        (label, [blank, value].concat())
    };
    let height = LINE_PX * label.len().max(value.len()) as f64 + MARKS_PX + 6.0;
    Laid { row, label, value, top, height }
}

fn draw_row(drawing: &mut Drawing, width: Width, axis: &Axis, laid: &Laid<'_>) {
    let class = if laid.row.heading { "heading" } else { "" };
    let first = |lines: &[String]| match width {
        Width::Wide if !laid.row.heading => {
            laid.top + (laid.height - LINE_PX * lines.len() as f64) / 2.0 + 13.0
        }
        _ => laid.top + 16.0 + if laid.row.heading { 4.0 } else { 0.0 },
    };
    drawing.stack(8.0, first(&laid.label), Anchor::Start, class, &laid.label);
    drawing.stack(drawing.width() - 8.0, first(&laid.value), Anchor::End, laid.row.tone, &laid.value);
    let middle = match width {
        Width::Wide => laid.top + laid.height / 2.0,
        Width::Narrow => laid.top + laid.height - MARKS_PX / 2.0 - 3.0,
    };
    laid.row.marks.iter().for_each(|mark| draw_mark(drawing, axis, middle, mark));
}

fn draw_mark(drawing: &mut Drawing, axis: &Axis, y: f64, mark: &Mark) {
    match mark {
        Mark::Bar { from, to, class } => {
            let (left, right) = (axis.at(from.min(*to)), axis.at(from.max(*to)));
            drawing.rect((left, y - 6.0), (right - left, 12.0), class);
            // The ends of an interval are drawn as short strokes, to be seen at the ends of a bar as well.
        }
        Mark::Range { range, class } => {
            let (left, right) = (axis.at(range.low), axis.at(range.high));
            let end = |x: f64| ((x, y - 4.0), (x, y + 4.0));
            drawing.lines(&[((left, y), (right, y)), end(left), end(right)], &format!("{class} line"));
        }
        Mark::Dot { at, shape, class } => drawing.mark((axis.at(*at), y), *shape, class),
        Mark::Span { from, to, class } => {
            drawing.line((axis.at(*from), y), (axis.at(*to), y), &format!("{class} thick"));
        }
    }
}
