//! Interface of formats.

use std::io::{self, Write};

use megadir_record::Record;

use super::FORMATS;
use crate::summary::Summary;

#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    /// File name extension.
    pub extension: &'static str,
    /// Description for the help text.
    pub what: &'static str,
    /// `true` for text, which terminals can show.
    pub is_text: bool,
    /// Why the program was built without this format, and how to get it.
    pub missing: Option<&'static str>,
    /// Returns why the format cannot show this report, as the end of a sentence.
    pub refuses: fn(&Report<'_>) -> Option<&'static str>,
    /// Writes the report; text ends with a newline. Only terminal formats use width and style.
    pub write: fn(&Report<'_>, &View, &mut dyn Write) -> io::Result<()>,
}

impl Format {
    /// Renders the report as text; empty for binary formats.
    #[must_use]
    pub fn render(&self, report: &Report<'_>, view: &View) -> String {
        let mut bytes = Vec::new();
        let written = (self.write)(report, view, &mut bytes);
        debug_assert!(written.is_ok(), "memory cannot refuse a write");
        String::from_utf8(bytes).unwrap_or_default()
    }
}

/// A record with its summary.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    pub record: &'a Record,
    /// Result of [`crate::summarize`].
    pub summary: &'a Summary,
}

/// Properties of the output device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Columns.
    pub width: usize,
    pub style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Use ANSI colours.
    pub color: bool,
    /// Use characters beyond ASCII.
    pub unicode: bool,
}

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
