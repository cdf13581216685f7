//! What a format is, and what it is given.

use std::io::{self, Write};

use megadir_record::Record;

use super::FORMATS;
use crate::summary::Summary;

/// A format of reports.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// How the names of its files end.
    pub extension: &'static str,
    /// What it is, for help.
    pub what: &'static str,
    /// Whether it is text, which terminals can show.
    pub is_text: bool,
    /// Why this program does not have it, and how to get it, where that is so: the format was left out when it was built.
    pub missing: Option<&'static str>,
    /// Says why it cannot show this report, as the end of a sentence, if it cannot.
    pub refuses: fn(&Report<'_>) -> Option<&'static str>,
    /// Writes the report; text ends with a newline. The width and style of the view matter to terminals only.
    pub write: fn(&Report<'_>, &View, &mut dyn Write) -> io::Result<()>,
}

impl Format {
    /// Returns the report as text; nothing of formats that are none.
    #[must_use]
    pub fn render(&self, report: &Report<'_>, view: &View) -> String {
        let mut bytes = Vec::new();
        let written = (self.write)(report, view, &mut bytes);
        debug_assert!(written.is_ok(), "memory cannot refuse a write");
        String::from_utf8(bytes).unwrap_or_default()
    }
}

/// What a format shows: a record and its summary.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The record.
    pub record: &'a Record,
    /// What [`crate::summarize`] made of it.
    pub summary: &'a Summary,
}

/// Where a report is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The width to fit, columns.
    pub width: usize,
    /// How the text may look.
    pub style: Style,
}

/// How text may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether ANSI colours are understood.
    pub color: bool,
    /// Whether characters beyond ASCII can be shown.
    pub unicode: bool,
}

/// Returns the format of this name.
#[must_use]
pub fn format_named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_names_of_their_own_and_say_what_they_are() {
        for (place, format) in FORMATS.iter().enumerate() {
            assert!(FORMATS[..place].iter().all(|other| other.name != format.name));
            assert!(format.name.chars().all(|c| c.is_ascii_lowercase()));
            assert!(!format.what.is_empty() && !format.what.ends_with('.'));
            assert_eq!(format_named(format.name).map(|found| found.name), Some(format.name));
        }
        assert!(format_named("pdf").is_none());
    }
}
