//! The formats of a report, as one table.

use std::io::{self, Write};

use crate::chart::{Width, main_picture};
use crate::page;
use crate::render::{self, Style};
use crate::report::Report;

#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub name: &'static str,
    pub extension: &'static str,
    pub what: &'static str,
    pub is_text: bool,
    /// Reason why the program was built without it, and how to get it.
    pub missing: Option<&'static str>,
    pub refuses: fn(&Report) -> Option<&'static str>,
    /// Text ends with a newline. Only terminal formats use width and style.
    pub write: fn(&Report, &View, &mut dyn Write) -> io::Result<()>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub width: usize,
    pub style: Style,
}

pub const FORMATS: &[Format] = &[
    Format {
        name: "screen",
        extension: "txt",
        what: "the answer on one screen: one table and the most serious warnings",
        is_text: true,
        missing: None,
        refuses: |_| None,
        write: |report, view, output| {
            output.write_all(render::screen(report, view.width, view.style).as_bytes())
        },
    },
    Format {
        name: "table",
        extension: "txt",
        what: "every comparison and warning, for a terminal (as --verbose)",
        is_text: true,
        missing: None,
        refuses: |_| None,
        write: |report, view, output| {
            output.write_all(render::table(report, view.width, view.style).as_bytes())
        },
    },
    Format {
        name: "html",
        extension: "html",
        what: "the whole report as one file for a browser, with pictures and samples",
        is_text: true,
        missing: None,
        refuses: |_| None,
        write: |report, _, output| output.write_all(page::html(report).as_bytes()),
    },
    Format {
        name: "svg",
        extension: "svg",
        what: "the picture that answers the question best; --chart picks another",
        is_text: true,
        missing: None,
        refuses: |report| main_picture(report, Width::Wide).is_none().then_some("has no data for a chart"),
        write: |report, _, output| {
            let picture = main_picture(report, Width::Wide).map(|picture| picture.document());
            output.write_all(picture.unwrap_or_default().as_bytes())
        },
    },
    Format {
        name: "markdown",
        extension: "md",
        what: "the full report: findings, all arms, method and machine",
        is_text: true,
        missing: None,
        refuses: |_| None,
        write: |report, _, output| output.write_all(render::markdown(report).as_bytes()),
    },
    Format {
        name: "csv",
        extension: "csv",
        what: "every sample, one row each, for other programs",
        is_text: true,
        missing: None,
        refuses: |_| None,
        write: |report, _, output| render::write_csv(report, output),
    },
    Format {
        name: "parquet",
        extension: "parquet",
        what: "every sample, one row each, with the columns of csv (cargo feature parquet)",
        is_text: false,
        #[cfg(feature = "parquet")]
        missing: None,
        #[cfg(not(feature = "parquet"))]
        missing: Some(
            "this megadir was built without Parquet: 'cargo install --path crates/megadir-cli --features parquet' builds it with that, \
             and --format csv has the same columns",
        ),
        refuses: |_| None,
        #[cfg(feature = "parquet")]
        write: |report, _, output| render::write_parquet(report, output),
        #[cfg(not(feature = "parquet"))]
        write: |_, _, _| Err(io::ErrorKind::Unsupported.into()),
    },
    Format {
        name: "json",
        extension: "json",
        what: "the summary as data, versioned",
        is_text: true,
        missing: None,
        refuses: |_| None,
        write: |report, _, output| output.write_all(render::json(report).as_bytes()),
    },
    Format {
        name: "hdr",
        extension: "hlog",
        what: "the times of single operations as an HdrHistogram interval log, nanoseconds",
        is_text: true,
        missing: None,
        refuses: |report| {
            let timed = report.record.samples.iter().any(|sample| sample.latency.is_some());
            (!timed).then_some("holds no times of single operations, which only studies such as lookup take")
        },
        write: |report, _, output| output.write_all(render::hdr(report).as_bytes()),
    },
];

pub fn format_named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

impl Format {
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
