//! The formats of a report, as one table.
//!
//! Command line, completions and documentation read the table, so a format is added by a row. Writers take
//! a stream, so that CSV and Parquet of a million samples need no text of all rows in memory.

use std::io::{self, Write};

use crate::chart::{Width, main_picture};
use crate::page;
use crate::render::{self, Style};
use crate::report::Report;

/// A row of the table of formats, which the command line, completions and documentation read. `refuses` is called before the report is written, and returns the reason why a report has no such form. A format
/// that was left out of the build keeps its row, so that the message names the reason and not an unknown
/// word.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub name: &'static str,
    pub extension: &'static str,
    pub description: &'static str,
    pub is_text: bool,
    /// Reason why the program was built without it, and how to get it.
    pub missing: Option<&'static str>,
    pub refuses: fn(&Report) -> Option<&'static str>,
    /// Text ends with a newline. Only terminal formats use width and style.
    pub write: fn(&Report, &View, &mut dyn Write) -> io::Result<()>,
}

/// Space and means of a terminal. Files and pages ignore it, so that they are the same bytes wherever they
/// are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub width: usize,
    pub style: Style,
}

type Writer = fn(&Report, &View, &mut dyn Write) -> io::Result<()>;

/// Constructor of an ordinary row: a text that is always built and that every report has. Rows that differ
/// replace single fields, which makes the exceptions visible in the table.
const fn format(
    name: &'static str,
    extension: &'static str,
    description: &'static str,
    write: Writer,
) -> Format {
    Format { name, extension, description, is_text: true, missing: None, refuses: |_| None, write }
}

/// In the order of help texts: for reading first, then for other programs.
pub const FORMATS: &[Format] = &[
    format(
        "screen",
        "txt",
        "the answer on one screen: one table and the most serious warnings",
        |report, view, output| output.write_all(render::screen(report, view.width, view.style).as_bytes()),
    ),
    format(
        "table",
        "txt",
        "every comparison and warning, for a terminal (as --verbose)",
        |report, view, output| output.write_all(render::table(report, view.width, view.style).as_bytes()),
    ),
    format(
        "html",
        "html",
        "the whole report as one file for a browser, with pictures and samples",
        |report, _, output| output.write_all(page::html(report).as_bytes()),
    ),
    Format {
        refuses: |report| main_picture(report, Width::Wide).is_none().then_some("has no data for a chart"),
        ..format(
            "svg",
            "svg",
            "the picture that answers the question best; --chart picks another",
            |report, _, output| {
                let picture = main_picture(report, Width::Wide).map(|picture| picture.document());
                output.write_all(picture.unwrap_or_default().as_bytes())
            },
        )
    },
    format(
        "markdown",
        "md",
        "the full report: findings, all arms, method and machine",
        |report, _, output| output.write_all(render::markdown(report).as_bytes()),
    ),
    format("csv", "csv", "every sample, one row each, for other programs", |report, _, output| {
        render::write_csv(report, output)
    }),
    PARQUET,
    format("json", "json", "the summary as data, versioned", |report, _, output| {
        output.write_all(render::json(report).as_bytes())
    }),
    format(
        "history",
        "csv",
        "the run as one row of CSV: commit, time and ratio of each arm, for tools that find change points",
        |report, _, output| output.write_all(render::history(report).as_bytes()),
    ),
    Format {
        refuses: |report| {
            let timed = report.record.samples.iter().any(|sample| sample.latency.is_some());
            (!timed).then_some("holds no times of single operations, which only studies such as lookup take")
        },
        ..format(
            "hdr",
            "hlog",
            "the times of single operations as an HdrHistogram interval log, nanoseconds",
            |report, _, output| output.write_all(render::hdr(report).as_bytes()),
        )
    },
];

/// The closures of both builds have one type. A build without Parquet never calls its writer, since callers
/// print `missing` first; the error is there in case one does not.
const PARQUET: Format = Format {
    is_text: false,
    #[cfg(not(feature = "parquet"))]
    missing: Some(
        "this megadir was built without Parquet: 'cargo install --path crates/megadir-cli --features parquet' builds it with that, \
         and --format csv has the same columns",
    ),
    ..format(
        "parquet",
        "parquet",
        "every sample, one row each, with the columns of csv (cargo feature parquet)",
        #[cfg(feature = "parquet")]
        |report, _, output| render::write_parquet(report, output),
        #[cfg(not(feature = "parquet"))]
        |_, _, _| Err(io::ErrorKind::Unsupported.into()),
    )
};

pub fn format_named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

impl Format {
    /// Whole output as text, for formats with [`Format::is_text`]; empty for a binary one.
    pub fn render(&self, report: &Report, view: &View) -> String {
        let mut bytes = Vec::new();
        let written = (self.write)(report, view, &mut bytes);
        debug_assert!(written.is_ok(), "memory cannot refuse a write");
        String::from_utf8(bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_unique_names_and_descriptions() {
        for (place, format) in FORMATS.iter().enumerate() {
            assert!(FORMATS[..place].iter().all(|other| other.name != format.name));
            assert!(format.name.chars().all(|c| c.is_ascii_lowercase()));
            assert!(!format.description.is_empty() && !format.description.ends_with('.'));
            assert_eq!(format_named(format.name).map(|found| found.name), Some(format.name));
        }
        assert!(format_named("pdf").is_none());
    }
}
