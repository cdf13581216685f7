//! Result of a chart: a drawing with title, description and group.

use super::style::svg_css;
use super::{Drawing, FONT_PX, LINE_PX, PlacedText, escape, wrap};

/// Two layouts of the same chart, for screens of a desktop and of a telephone. Text has the same size in
/// both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    Wide,
    Narrow,
}

/// A chart with its text on a page. `chart` is the kind, a stable name from which the page chooses its
/// place; `group` is `None` for pictures of the whole run. `description` has the numbers in words, for
/// readers that cannot see the drawing.
#[derive(Clone, Debug)]
pub struct Picture {
    pub chart: &'static str,
    pub group: Option<String>,
    pub title: String,
    pub description: String,
    drawing: Drawing,
}

impl Width {
    /// The narrow width fits a telephone held upright, so that texts need no scaling.
    pub(super) fn px(self) -> f64 {
        match self {
            Self::Wide => 720.0,
            Self::Narrow => 350.0,
        }
    }

    pub(super) fn is_narrow(self) -> bool {
        self == Self::Narrow
    }
}

impl Picture {
    pub(super) fn new(
        chart: &'static str,
        group: Option<&str>,
        title: &str,
        drawing: Drawing,
        description: String,
    ) -> Self {
        Self { chart, group: group.map(str::to_owned), title: title.to_owned(), description, drawing }
    }

    /// Boxes of all texts, for the tests that hold them apart.
    pub fn texts(&self) -> &[PlacedText] {
        self.drawing.texts()
    }

    pub fn size(&self) -> (f64, f64) {
        (self.drawing.width(), self.drawing.height())
    }

    /// Element for a page with [`super::page_css`]. `id` is unique on the page and begins with a letter. If
    /// another form of the picture is described already, `described_by` is its id.
    pub(crate) fn element(&self, id: &str, described_by: Option<&str>) -> String {
        let (width, height) = self.size();
        let by = described_by.unwrap_or(id);
        let description = match described_by {
            Some(_) => String::new(),
            None => format!("<desc id=\"{id}-d\">{}</desc>", escape(&self.description)),
        };
        format!(
            "<svg class=\"mdc\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"{id}-t {by}-d\">\
             <title id=\"{id}-t\">{}</title>{description}{}</svg>",
            escape(&self.title),
            self.drawing.body(id)
        )
    }

    /// Picture as a file of its own, with a heading and the colours of both modes in it.
    pub fn document(&self) -> String {
        let (width, height) = self.size();
        // The title is a text of the picture here; on a page it is the caption, and the page wraps
        // lines.
        let lines = wrap(&self.title, width - 16.0, FONT_PX + 2.0);
        let above = LINE_PX * lines.len() as f64 + 12.0;
        let mut heading = String::new();
        for (place, line) in (1_u32..).zip(&lines) {
            let y = LINE_PX * f64::from(place) + 2.0;
            heading.push_str(&format!("<text class=\"heading\" x=\"8\" y=\"{y}\">{}</text>\n", escape(line)));
        }
        let whole = height + above;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"mdc\" viewBox=\"0 0 {width} {whole}\" width=\"{width}\" height=\"{whole}\" role=\"img\" aria-labelledby=\"t d\">\n\
             <title id=\"t\">{}</title>\n<desc id=\"d\">{}</desc>\n<style>{}</style>\n<rect class=\"paper\" width=\"{width}\" height=\"{whole}\"/>\n\
             {heading}<g transform=\"translate(0 {above})\">\n{}</g>\n</svg>\n",
            escape(&self.title),
            escape(&self.description),
            svg_css(),
            self.drawing.body("c")
        )
    }
}
