//! The report as one HTML file: no network, no script, readable on paper, in the dark and on a telephone.
//! Every picture is there twice, for wide and for narrow screens; the style sheet shows one of them.
//!
//! ```text
//! answer: question, alarms, first findings, main picture     <- nothing that forbids the numbers is below them
//! file systems side by side, the source's table
//! a section for each group: findings, pictures, table, published figures
//! trust: resolution, checks, warnings      method, machine, all arms      samples (a compressed CSV as a link)
//! ```
//!
//! The page stays below 500 KB: from 280 KB of pictures, or 400 KB in all, parts are replaced by the
//! command that prints them.

mod sections;

pub(crate) use sections::{FAINT, LOUD, answer, push_grid};

use crate::chart::{self, PAGE_COLOURS, Picture, Width};
use crate::render::grid::Legends;
use crate::render::paint::is_control;
use crate::render::published;
use crate::report::Report;

/// Nothing is loaded and nothing runs; images are allowed as data only, for the icon.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// Headline of a caller and its reasons, above the report; `advise` begins its page with a recommendation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conclusion {
    pub sentence: String,
    pub because: Vec<String>,
}

pub fn html(report: &Report) -> String {
    with_conclusion(report, None)
}

pub fn with_conclusion(report: &Report, conclusion: Option<&Conclusion>) -> String {
    let pictures =
        chart::pictures(report, Width::Wide).into_iter().zip(chart::pictures(report, Width::Narrow));
    let mut page = Page { pictures: pictures.collect(), ..Page::default() };
    page.push("<main>\n");
    if let Some(Conclusion { sentence, because }) = conclusion {
        page.element("h1", sentence);
        page.list(because.iter().cloned());
    }
    sections::section_answer(&mut page, report, conclusion.is_some());
    sections::section_side_by_side(&mut page, report);
    if let Some(grid) = published::grid_source_table(&report.summary) {
        page.element("h2", published::SOURCE_TABLE_TITLE);
        push_grid(&mut page, &grid, false);
    }
    sections::sections(&mut page, report);
    sections::section_trust(&mut page, report);
    sections::section_method(&mut page, report);
    sections::section_samples(&mut page, report);
    page.push("</main>\n</body>\n</html>\n");
    document(&record_mark(report), &report.question(), &page)
}

/// Mark that matches a page with its record: study, start and seed.
pub fn record_mark(report: &Report) -> String {
    let summary = &report.summary;
    let content = format!("{} {} {}", report.record.header.plan.study, summary.started_unix_s, summary.seed);
    format!("<meta name=\"megadir-record\" content=\"{}\">", chart::escape(&content))
}

/// A page stays below 500 KB.
const PICTURES_BYTES: usize = 280_000;
/// Then no more charts and tables are added.
const FULL_BYTES: usize = 400_000;

/// A page while it is written. Pictures wait in `pictures` until the section that shows them takes them out,
/// so that none is shown twice; findings that are not printed are counted in `left_out`. `shown` numbers the
/// pictures, and `pictures_bytes` bounds the size of the file. Each distinct list of `headings` is a class of the style sheet, which prints them as
/// labels where rows are cards. `legends` prevents the same legend from being printed again.
#[derive(Default)]
pub(crate) struct Page {
    text: String,
    /// Wide and narrow.
    pictures: Vec<(Picture, Picture)>,
    pictures_bytes: usize,
    left_out: usize,
    shown: usize,
    headings: Vec<Vec<String>>,
    legends: Legends,
}

impl Page {
    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// `name` may carry a class; the closing tag has the name alone.
    pub(crate) fn element(&mut self, name: &str, text: &str) {
        self.push(&format!("<{name}>{}</{}>\n", escape(text), name.split(' ').next().unwrap_or(name)));
    }

    pub(crate) fn elements(&mut self, name: &str, texts: impl IntoIterator<Item = impl AsRef<str>>) {
        texts.into_iter().for_each(|text| self.element(name, text.as_ref()));
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        self.element("p", text);
    }

    fn list(&mut self, items: impl IntoIterator<Item = String>) {
        let items: String = items.into_iter().map(|item| format!("<li>{}</li>\n", escape(&item))).collect();
        if !items.is_empty() {
            self.push(&format!("<ul>\n{items}</ul>\n"));
        }
    }

    fn details(&mut self, items: impl IntoIterator<Item = String>) {
        let items: Vec<String> = items.into_iter().map(|item| escape(&item)).collect();
        if !items.is_empty() {
            let (number, items) = (items.len(), items.join("; "));
            self.push(&format!(
                "<details>\n<summary>Each of the {number}</summary>\n<p>{items}</p>\n</details>\n"
            ));
        }
    }

    /// Equal headings share a class, so that the style sheet does not grow with the number of tables.
    fn labels<'a>(&mut self, headings: impl Iterator<Item = &'a str>) -> String {
        let headings: Vec<String> = headings.map(str::to_owned).collect();
        let place = self.headings.iter().position(|known| *known == headings).unwrap_or_else(|| {
            self.headings.push(headings);
            self.headings.len() - 1
        });
        format!("l{place}")
    }

    fn is_full(&self) -> bool {
        self.text.len() > FULL_BYTES
    }

    /// Removes pictures that no section will show, and counts them.
    fn leave_out(&mut self, suits: impl Fn(&Picture) -> bool) {
        let before = self.pictures.len();
        self.pictures.retain(|(wide, _)| !suits(wide));
        self.left_out += before - self.pictures.len();
    }

    fn list_left_out(&mut self) {
        if self.left_out > 0 {
            self.paragraph(&format!(
                "{} more would make this page too large: `megadir bench report RECORD --format svg --chart NAME:N` draws them, and its --help names the charts.",
                crate::text::counted(self.left_out as u64, "picture")
            ));
        }
    }

    /// Shows the first picture that suits. Returns `false` without one, which ends the loops of the
    /// sections; a picture that was left out returns `true`, so that the others of its kind are counted.
    fn picture(&mut self, suits: impl Fn(&Picture) -> bool) -> bool {
        let Some(place) = self.pictures.iter().position(|(wide, _)| suits(wide)) else { return false };
        let (wide, narrow) = self.pictures.remove(place);
        if self.pictures_bytes > PICTURES_BYTES || self.is_full() {
            self.left_out += 1;
            return true;
        }
        self.shown += 1;
        let id = format!("p{}", self.shown);
        let before = self.text.len();
        self.push(&format!(
            "<figure>\n<figcaption>{}</figcaption>\n<div class=\"wide\">{}</div>\n<div class=\"narrow\">{}</div>\n</figure>\n",
            escape(&wide.title),
            wide.element(&format!("{id}w"), None),
            narrow.element(&format!("{id}n"), Some(&format!("{id}w")))
            // The narrow form refers to the wide one's description, so that a screen reader has it once.
        ));
        self.pictures_bytes += self.text.len() - before;
        true
    }
}

/// `mark` identifies the page's source; `title` is plain text.
pub(crate) fn document(mark: &str, title: &str, page: &Page) -> String {
    let colours = |which: fn(&(&'static str, &'static str, &'static str)) -> &'static str| -> String {
        PAGE_COLOURS.iter().map(|colour| format!("--{}:{};", colour.0, which(colour))).collect()
    };
    let (light, dark) = (colours(|colour| colour.1), colours(|colour| colour.2));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"megadir\">\n{}\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n:root{{{light}}}\n\
         @media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{}{}{}</style>\n</head>\n<body>\n{}",
        mark,
        chart::escape(title),
        chart::page_css(),
        include_str!("page.css"),
        labels_css(&page.headings),
        page.text,
    )
}

/// Content of a style sheet: quotes, backslashes and angle brackets could end it, and are removed.
fn labels_css(headings: &[Vec<String>]) -> String {
    let mut css = String::new();
    for (table, headings) in headings.iter().enumerate() {
        for (place, heading) in (1..).zip(headings) {
            let plain = |letter: &char| !"\"\\<>".contains(*letter) && !is_control(*letter);
            let heading: String = heading.chars().filter(plain).collect();
            css.push_str(&format!(".l{table} td:nth-child({place}){{--l:\"{heading} \"}}\n"));
        }
    }
    css
}

/// A number and its unit, or the groups of a number, stay on one line.
fn goes_on(rest: &str) -> bool {
    let word =
        rest.split(|letter: char| !letter.is_alphanumeric() && letter != '%').next().unwrap_or_default();
    rest.starts_with(|letter: char| letter.is_ascii_digit())
        || ["ns", "µs", "ms", "s", "%", "B", "KiB", "MiB", "GiB"].contains(&word)
}

/// Characters that hide or reorder text become spaces; text in back quotes becomes `code`.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut code = false;
    let mut digit = false;
    let mut letters = text.chars();
    // An odd number of back quotes is text and no markup.
    let closed = text.matches('`').count().is_multiple_of(2);
    while let Some(letter) = letters.next() {
        let after_digit = std::mem::replace(&mut digit, letter.is_ascii_digit());
        match letter {
            ' ' if after_digit && goes_on(letters.as_str()) => escaped.push_str("&nbsp;"),
            '`' if closed => {
                code = !code;
                escaped.push_str(if code { "<code>" } else { "</code>" });
            }
            letter => chart::push_escaped(&mut escaped, letter),
        }
    }
    escaped
}
