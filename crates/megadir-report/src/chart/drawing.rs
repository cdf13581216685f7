//! SVG writer that tracks the position of every text. Text widths are estimated from a table for a wide sans-serif font, never
//! measured: every machine draws the same chart, and texts that do not overlap here do not overlap in a browser.
//!
//! ```text
//! chart -> Drawing: body (SVG text), texts (boxes), height -> Picture: element of a page, or a document
//! ```
//!
//! Elements are written in the order of the calls, and later ones cover earlier ones. Coordinates have one
//! decimal, which is below a pixel and keeps files small and equal on all machines.

use super::{FONT_PX, LINE_PX};
use crate::render::paint::{fill, is_control, words};

/// A text with the box that it is estimated to fill, in pixels from the upper left corner. Tests compare all
/// boxes of a drawing: no two may overlap, and none may leave the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedText {
    pub text: String,
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl PlacedText {
    pub fn covers(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Circle,
    Square,
    Diamond,
    Triangle,
}

// Shapes repeat after four series; colours and dashes then still differ.
impl Shape {
    pub(super) fn of(place: usize) -> Self {
        [Self::Circle, Self::Square, Self::Diamond, Self::Triangle][place % 4]
    }
}

/// The width is given and the height grows with the drawing, so `body` gets its SVG element only at the
/// end. `texts` is kept too, for the tests. `hatched` is
/// `true` once a cell needs the hatching pattern, which is then defined in the drawing.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    width: f64,
    height: f64,
    body: String,
    texts: Vec<PlacedText>,
    hatched: bool,
}

pub(super) type Segment = ((f64, f64), (f64, f64));

/// Stands for the chart's id.
/// It is replaced when the picture is placed, because several pictures of a page must not share an id. No
/// text contains it: control characters are escaped.
const ID: &str = "\u{1}";

impl Drawing {
    pub(super) fn new(width: f64) -> Self {
        Self { width, height: 0.0, body: String::new(), texts: Vec::new(), hatched: false }
    }

    pub(super) fn width(&self) -> f64 {
        self.width
    }

    pub(super) fn height(&self) -> f64 {
        self.height.ceil()
    }

    pub(super) fn texts(&self) -> &[PlacedText] {
        &self.texts
    }

    /// The pattern is defined in each picture that uses it, so that a picture can be taken out of the page.
    pub(super) fn body(&self, id: &str) -> String {
        let hatch = if self.hatched {
            format!(
                "<defs><pattern id=\"{id}-h\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
                 <line class=\"hatch\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"7\"/></pattern></defs>\n"
            )
        } else {
            String::new()
        };
        hatch + &self.body.replace(ID, id)
    }

    /// All drawing functions extend the picture downwards; none shrinks it.
    pub(super) fn reach(&mut self, y: f64) {
        self.height = self.height.max(y);
    }

    /// `y` is the base line.
    pub(super) fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        // Headings are bold, and wider by about an eighth.
        let width = text_width(text, FONT_PX) * if class == "heading" { 1.12 } else { 1.0 };
        let (left, name) = match anchor {
            Anchor::Start => (x, ""),
            Anchor::Middle => (x - width / 2.0, "m"),
            Anchor::End => (x - width, "e"),
        };
        let place =
            // Box of a line: 11 px above its base line for letters, 3 px below it.
            PlacedText { text: text.into(), left, top: y - 11.0, right: left + width, bottom: y + 3.0 };
        self.reach(place.bottom + 2.0);
        self.texts.push(place);
        let classes = [class, name].join(" ");
        let classes = classes.trim();
        let class = if classes.is_empty() { String::new() } else { format!(" class=\"{classes}\"") };
        let element = format!("<text{class} x=\"{}\" y=\"{}\">{}</text>\n", px(x), px(y), escape(text));
        self.body.push_str(&element);
    }

    /// Returns the position of the next line.
    pub(super) fn paragraph(&mut self, x: f64, y: f64, width: f64, class: &str, text: &str) -> f64 {
        let lines = wrap(text, width, FONT_PX);
        self.stack(x, y, Anchor::Start, class, &lines);
        y + LINE_PX * lines.len() as f64
    }

    /// Empty lines take room only.
    pub(super) fn stack(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, lines: &[String]) {
        for (line, place) in lines.iter().zip(0_u32..).filter(|(line, _)| !line.is_empty()) {
            self.text(x, y + LINE_PX * f64::from(place), anchor, class, line);
        }
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        self.reach(from.1.max(to.1) + 1.0);
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(px);
        self.body.push_str(&format!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>\n"
        ));
    }

    /// All lines of a grid are one element. Horizontal and vertical ones need one number less.
    pub(super) fn lines(&mut self, lines: &[Segment], class: &str) {
        let mut steps = String::new();
        for ((x, y), to) in lines {
            self.reach(y.max(to.1) + 1.0);
            let step = match (x == &to.0, y == &to.1) {
                (true, _) => format!("V{}", px(to.1)),
                (_, true) => format!("H{}", px(to.0)),
                _ => format!("L{} {}", px(to.0), px(to.1)),
            };
            steps.push_str(&format!("M{} {}{step}", px(*x), px(*y)));
        }
        if !steps.is_empty() {
            self.body.push_str(&format!("<path class=\"{class}\" d=\"{steps}\"/>\n"));
        }
    }

    pub(super) fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str) {
        self.reach(y + height + 1.0);
        let [x, y, width, height] = [x, y, width.max(0.0), height.max(0.0)].map(px);
        self.body.push_str(&format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>\n"
        ));
    }

    pub(super) fn hatch(&mut self, (x, y): (f64, f64), (width, height): (f64, f64)) {
        self.hatched = true;
        let [x, y, width, height] = [x, y, width, height].map(px);
        self.body.push_str(&format!(
            "<rect fill=\"url(#{ID}-h)\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>\n"
        ));
    }

    pub(super) fn path(&mut self, points: &[(f64, f64)], closed: bool, class: &str) {
        let mut steps = String::new();
        for (place, (x, y)) in points.iter().enumerate() {
            self.reach(*y + 1.0);
            steps.push_str(&format!("{}{} {}", if place == 0 { 'M' } else { 'L' }, px(*x), px(*y)));
        }
        let end = if closed { "Z" } else { "" };
        self.body.push_str(&format!("<path class=\"{class}\" d=\"{steps}{end}\"/>\n"));
    }

    /// One path for many equal rectangles.
    pub(super) fn tiles(&mut self, corners: &[(f64, f64)], (width, height): (f64, f64), class: &str) {
        if corners.is_empty() {
            return;
        }
        let mut steps = String::new();
        for (x, y) in corners {
            self.reach(y + height + 1.0);
            let [x, y, right, down, left] = [*x, *y, width, height, -width].map(px);
            steps.push_str(&format!("M{x} {y}h{right}v{down}h{left}z"));
        }
        self.body.push_str(&format!("<path class=\"{class}\" d=\"{steps}\"/>\n"));
    }

    /// Marks of different shape have about the same area.
    pub(super) fn mark(&mut self, (x, y): (f64, f64), shape: Shape, class: &str) {
        const R: f64 = 4.5;
        self.reach(y + R + 1.0);
        match shape {
            Shape::Circle => {
                let [x, y] = [x, y].map(px);
                self.body.push_str(&format!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{R}\"/>\n"));
            }
            Shape::Square => self.rect((x - 4.0, y - 4.0), (8.0, 8.0), class),
            Shape::Diamond => {
                self.path(&[(x, y - 5.5), (x + 5.5, y), (x, y + 5.5), (x - 5.5, y)], true, class);
            }
            Shape::Triangle => {
                self.path(&[(x, y - 5.0), (x + 5.0, y + 4.0), (x - 5.0, y + 4.0)], true, class);
            }
        }
    }
}

pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".into() } else { text.into() }
}

/// From space to tilde in DejaVu Sans, one of browsers' widest fallback fonts, in hundredths of the font size.
const WIDTHS: [u8; 95] = [
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63,
    61, 73, 68, 99, 69, 61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97,
    63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84,
];

/// Rather too high than too low, px.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let of = |letter: char| {
        let place = (letter as usize).checked_sub(32).filter(|place| *place < WIDTHS.len());
        // Letters outside of the table count as wide.
        place.map_or(90, |place| u32::from(WIDTHS[place]))
    };
    f64::from(text.chars().map(of).sum::<u32>()) * size * 0.0102
}

pub(super) fn wrap(text: &str, width: f64, size: f64) -> Vec<String> {
    let words = words(text).into_iter().map(|word| shortened(&word, width, size));
    fill(words, |line, word| text_width(line, size) + text_width(word, size) + 0.4 * size <= width)
}

pub(super) fn shortened(text: &str, width: f64, size: f64) -> String {
    if text_width(text, size) <= width {
        return text.into();
    }
    let mut short = String::new();
    for letter in text.chars() {
        if text_width(&short, size) + 2.0 * size > width {
            break;
        }
        short.push(letter);
    }
    // The ellipsis needs room, which the loop reserves with two letters.
    short + "…"
}

/// For SVG and HTML, including attributes; characters that hide or reorder text become spaces.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    text.chars().for_each(|letter| push_escaped(&mut escaped, letter));
    escaped
}

pub(crate) fn push_escaped(text: &mut String, letter: char) {
    match letter {
        // Quotes are escaped for attributes; control characters and such that reorder text could hide a
        // part of a name.
        '&' => text.push_str("&amp;"),
        '<' => text.push_str("&lt;"),
        '>' => text.push_str("&gt;"),
        '"' => text.push_str("&quot;"),
        letter if is_control(letter) => text.push(' '),
        letter => text.push(letter),
    }
}

/// Moves positions apart until each has its height, in their order, and within the bounds if there is space.
pub(super) fn spread(places: &mut [f64], heights: &[f64], low: f64, high: f64) {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|a, b| places[*a].total_cmp(&places[*b]));
    // Down first, then up: the second pass moves up again whatever left the bound `high`. If there is no
    // room for all, `low` yields.
    let mut least = low;
    for &place in &order {
        places[place] = places[place].max(least);
        least = places[place] + heights[place];
    }
    let mut most = high;
    for &place in order.iter().rev() {
        places[place] = places[place].min(most - heights[place]);
        most = places[place];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_record_becomes_markup() {
        assert_eq!(escape("<a b=\"c\">&\u{202e}\u{1b}"), "&lt;a b=&quot;c&quot;&gt;&amp;  ");
    }

    #[test]
    fn labels_are_moved_apart_within_their_bounds() {
        let mut places = [50.0, 52.0, 51.0, 99.0];
        spread(&mut places, &[10.0; 4], 0.0, 109.0);
        assert_eq!(places, [50.0, 70.0, 60.0, 99.0]);
        let mut places = [95.0, 96.0, 97.0];
        spread(&mut places, &[20.0, 10.0, 10.0], 0.0, 110.0);
        assert_eq!(places, [70.0, 90.0, 100.0]);
    }

    #[test]
    fn texts_know_where_they_stand() {
        let mut drawing = Drawing::new(100.0);
        drawing.text(50.0, 20.0, Anchor::End, "", "abc");
        drawing.text(50.0, 20.0, Anchor::Start, "", "def");
        drawing.text(45.0, 24.0, Anchor::Start, "", "ghi");
        let texts = drawing.texts();
        assert!(!texts[0].covers(&texts[1]) && texts[0].covers(&texts[2]) && texts[1].covers(&texts[2]));
        assert_eq!((px(1.04), px(-0.01), px(2.0)), ("1".into(), "0".into(), "2".into()));
    }

    #[test]
    fn long_words_are_cut_and_lines_fit() {
        let lines = wrap("a very_long_word_that_does_not_fit b", 60.0, 13.0);
        assert!(lines.iter().all(|line| text_width(line, 13.0) <= 60.0 + 13.0), "{lines:?}");
        assert!(lines[1].ends_with('…'));
    }
}
