//! Layout of line charts with names at the ends of lines; in narrow charts with numbers there and a key below.
//!
//! ```text
//! y title                limit
//!   |        /           |        names, moved apart, with a thin
//!   |   ____/------------|------- line from each to its curve
//!   |__/_________________|___
//!        x title                  narrow: numbers there, the names in a key below
//! ```

use super::{Anchor, Axis, Drawing, FONT_PX, LINE_PX, SERIES, Shape, Width, spread, text_width, wrap};
use crate::summary::{Figure, Interval};

pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<Point>,
    pub(super) marked: bool,
    pub(super) reference: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: Figure,
}

/// All of a line chart but its lines. Both axes come with a title. `limits` are vertical lines with a text
/// above the chart; `band` is a shaded range of x. The axes are placed by `draw`, so their pixels are not set
/// yet.
pub(super) struct Frame {
    pub(super) width: Width,
    pub(super) x: (Axis, &'static str),
    pub(super) y: (Axis, &'static str),
    pub(super) limits: Vec<(f64, String)>,
    pub(super) band: Option<(f64, f64)>,
}

impl Frame {
    pub(super) fn new(width: Width, x: (Axis, &'static str), y: (Axis, &'static str)) -> Self {
        Self { width, x, y, limits: Vec::new(), band: None }
    }
}

impl Line {
    pub(super) fn new(name: impl Into<String>, points: Vec<Point>) -> Self {
        Self { name: name.into(), points, marked: true, reference: false }
    }

    pub(super) fn reference(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let point = |(x, value)| Point { x, y: Figure { value, interval: None } };
        let points = points.into_iter().map(point).collect();
        Self { name: name.into(), points, marked: false, reference: true }
    }
}

/// Longer names are wrapped.
const NAME_MAX: f64 = 190.0;
const PLOT_PX: f64 = 260.0;

/// The width of the texts decides the size of the plot, so texts are measured before anything is drawn: ticks
/// on the left, names of lines on the right, limits above. Background first, lines last, since SVG paints in
/// order. A narrow chart has no room for names next to the lines; numbers stand there, and a key below.
pub(super) fn draw(frame: &Frame, lines: &[Line]) -> Drawing {
    let mut drawing = Drawing::new(frame.width.px());
    let names: Vec<Vec<String>> = lines.iter().map(|line| wrap(&line.name, NAME_MAX, FONT_PX)).collect();
    let widest = names.iter().flatten().map(|line| text_width(line, FONT_PX)).fold(0.0_f64, f64::max);
    let top = 26.0 + (LINE_PX + 2.0) * frame.limits.len() as f64;
    let bottom = top + needed_height(frame.width, &names);
    let y = frame.y.0.placed((bottom, top));
    let left = y.labelled().iter().map(|(_, text)| text_width(text, FONT_PX)).fold(10.0_f64, f64::max) + 12.0;
    let right = drawing.width() - if frame.width.is_narrow() { 26.0 } else { widest + 30.0 };
    let x = frame.x.0.placed((left, right));
    drawing.text(4.0, 14.0, Anchor::Start, "", &y.title(frame.y.1));
    if let Some((low, high)) = frame.band {
        let (from, to) = (x.at(low).max(left), x.at(high).min(right));
        drawing.rect((from, top), ((to - from).max(2.0), bottom - top), "band");
    }
    let grid: Vec<_> =
        y.labelled().iter().map(|(tick, _)| ((left, y.at(*tick)), (right, y.at(*tick)))).collect();
    drawing.lines(&grid, "grid");
    for (tick, text) in y.labelled() {
        drawing.text(left - 6.0, y.at(tick) + 4.0, Anchor::End, "faint", &text);
    }
    let below = x.draw_below(&mut drawing, bottom, top, frame.x.1);
    limits(&mut drawing, frame, &x, (top, bottom));
    for (place, line) in lines.iter().enumerate() {
        draw_line(&mut drawing, &x, &y, line, place);
    }
    let at = |point: &Point| (x.at(point.x), y.at(point.y.value));
    let ends: Vec<(f64, f64)> =
        lines.iter().map(|line| line.points.last().map_or((right, bottom), at)).collect();
    if frame.width.is_narrow() {
        numbers(&mut drawing, &ends, (top, bottom), right + 14.0);
        key(&mut drawing, lines, below);
    } else {
        labels(&mut drawing, &names, &ends, (top, bottom), right + 22.0);
    }
    drawing
}

/// Colours of series repeat with dashes, so that two lines never look the same before the third turn.
pub(super) fn class(place: usize) -> String {
    let dashes = match place / SERIES {
        0 => "",
        1 => " d1",
        _ => " d2",
    };
    format!("s{}{dashes}", place % SERIES)
}

/// Names of curves that end close to each other need the height of all their lines.
fn needed_height(width: Width, names: &[Vec<String>]) -> f64 {
    let lines = match width {
        Width::Wide => names.iter().map(Vec::len).sum(),
        Width::Narrow => names.len(),
    };
    PLOT_PX.max(LINE_PX * lines as f64 + names.len() as f64)
}

fn limits(drawing: &mut Drawing, frame: &Frame, x: &Axis, (top, bottom): (f64, f64)) {
    for ((value, text), place) in frame.limits.iter().zip(1_u32..) {
        let at = x.at(*value);
        let above = 14.0 + (LINE_PX + 2.0) * f64::from(place);
        drawing.line((at, above + 4.0), (at, bottom), "limit");
        let half = text_width(text, FONT_PX) / 2.0;
        let middle = at.min(drawing.width() - half - 4.0).max(half + 4.0);
        drawing.text(middle, above.min(top), Anchor::Middle, "", text);
    }
}

fn draw_line(drawing: &mut Drawing, x: &Axis, y: &Axis, line: &Line, place: usize) {
    let class = if line.reference { "rule d1".into() } else { class(place) };
    // An area needs an interval at every point; with gaps it would suggest that the curve is exact there.
    let bounded: Option<Vec<(f64, Interval)>> =
        line.points.iter().map(|point| Some((x.at(point.x), point.y.interval?))).collect();
    if let Some(ribbon) = bounded.filter(|ribbon| ribbon.len() > 1) {
        let above = ribbon.iter().map(|(x, range)| (*x, y.at(range.high)));
        let below = ribbon.iter().rev().map(|(x, range)| (*x, y.at(range.low)));
        drawing.path(&above.chain(below).collect::<Vec<_>>(), true, &format!("area s{}", place % SERIES));
    }
    let points: Vec<(f64, f64)> =
        line.points.iter().map(|point| (x.at(point.x), y.at(point.y.value))).collect();
    drawing.path(&points, false, &format!("{class} line"));
    if line.marked {
        let marked = &format!("s{}", place % SERIES);
        points.iter().for_each(|point| drawing.mark(*point, Shape::of(place), marked));
    }
}

fn labels(
    drawing: &mut Drawing,
    names: &[Vec<String>],
    ends: &[(f64, f64)],
    (top, bottom): (f64, f64),
    left: f64,
) {
    let mut places: Vec<f64> = ends.iter().map(|(_, y)| *y).collect();
    let heights: Vec<f64> = names.iter().map(|name| LINE_PX * name.len() as f64 + 1.0).collect();
    spread(&mut places, &heights, top - 4.0, bottom + LINE_PX);
    for ((name, (x, y)), place) in names.iter().zip(ends).zip(places) {
        let mut points = vec![(x + 6.0, *y), (left - 10.0, *y), (left - 3.0, place)];
        // A curve that ends near the name needs no horizontal part.
        if x + 6.0 >= left - 10.0 {
            points.remove(1);
        }
        drawing.path(&points, false, "grid");
        drawing.stack(left, place + 4.0, Anchor::Start, "", name);
    }
}

fn numbers(drawing: &mut Drawing, ends: &[(f64, f64)], (top, bottom): (f64, f64), left: f64) {
    let mut places: Vec<f64> = ends.iter().map(|(_, y)| *y).collect();
    spread(&mut places, &vec![LINE_PX; ends.len()], top, bottom + LINE_PX);
    for (number, (place, (x, y))) in (1..).zip(places.into_iter().zip(ends)) {
        drawing.path(&[(x + 6.0, *y), (left - 10.0, place)], false, "grid");
        drawing.text(left - 8.0, place + 4.0, Anchor::Start, "", &number.to_string());
    }
}

fn key(drawing: &mut Drawing, lines: &[Line], below: f64) {
    let mut y = below + 18.0;
    for (place, line) in lines.iter().enumerate() {
        match line.reference {
            true => drawing.line((8.0, y - 4.0), (20.0, y - 4.0), "rule d1 line"),
            false => drawing.mark((14.0, y - 4.0), Shape::of(place), &format!("s{}", place % SERIES)),
        }
        let width = drawing.width() - 32.0;
        y = drawing.paragraph(26.0, y, width, "", &format!("{} {}", place + 1, line.name));
    }
}

pub(super) fn xs(lines: &[Line]) -> impl Iterator<Item = f64> {
    lines.iter().flat_map(|line| &line.points).map(|point| point.x)
}

pub(super) fn ys(lines: &[Line]) -> impl Iterator<Item = f64> {
    lines.iter().flat_map(|line| &line.points).map(|point| point.y.value)
}

pub(super) fn ys_with_ends(lines: &[Line]) -> impl Iterator<Item = f64> {
    lines.iter().flat_map(|line| &line.points).flat_map(|point| point.y.ends())
}
