//! Formats of a comparison of runs.

use super::{Between, csv, html, markdown, screen, table};
use crate::formats::View;
use crate::render::pretty;

#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    /// Description for the help text.
    pub what: &'static str,
    /// Renders the comparison, with a final newline; only terminal formats use the view.
    pub render: fn(&Between, &View) -> String,
}

/// Every format, for help texts and errors.
pub const FORMATS: &[Format] = &[
    Format {
        name: "screen",
        what: "the arms that differ most, on one screen",
        render: |between, view| screen(between, view.width, view.style),
    },
    Format {
        name: "table",
        what: "every ratio and verdict, for a terminal (as --verbose)",
        render: |between, view| table(between, view.width, view.style),
    },
    Format { name: "html", what: "the same as one file for a browser", render: |between, _| html(between) },
    Format {
        name: "markdown",
        what: "the same for a pull request or a CI job's summary",
        render: |between, _| markdown(between),
    },
    Format { name: "csv", what: "a row for each arm and each warning", render: |between, _| csv(between) },
    Format { name: "json", what: "everything as data, versioned", render: |between, _| pretty(between) },
];

#[must_use]
pub fn format_named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
