//! The summary as JSON; `version` identifies the form.
//!
//! Numbers have nine significant digits: more than any measurement, and too few to show the last bits of
//! logarithms, which differ between machines.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use crate::finding::Finding;
use crate::report::Report;
use crate::summary::Summary;
use crate::warning::Advisory;

/// Version of the JSON form.
const VERSION: u32 = 1;

/// The JSON form of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// Version of this form.
    pub version: u32,
    /// The study's name.
    pub study: Cow<'a, str>,
    /// The question that the study answers.
    pub question: Cow<'a, str>,
    /// The published source that the study reproduces.
    pub source: Cow<'a, str>,
    /// Conclusions from the numbers, the most important first.
    pub findings: Cow<'a, [Finding]>,
    /// Reasons for doubt, the most serious first.
    pub warnings: Cow<'a, [Advisory]>,
    #[serde(flatten)]
    pub summary: Cow<'a, Summary>,
}

/// Returns the report as indented JSON with a final newline.
#[must_use]
pub fn json(report: &Report) -> String {
    let plan = &report.record.header.plan;
    pretty(&Document {
        version: VERSION,
        study: Cow::from(&plan.study),
        question: Cow::from(report.question()),
        source: Cow::from(&plan.source),
        findings: Cow::from(&report.findings),
        warnings: Cow::from(&report.warnings),
        summary: Cow::Borrowed(&report.summary),
    })
}

/// Returns data as indented JSON with rounded numbers and a final newline.
#[must_use]
pub fn pretty(data: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, Rounded(PrettyFormatter::new()));
    let written = data.serialize(&mut serializer);
    debug_assert!(written.is_ok(), "a summary has string keys only and memory cannot refuse a write");
    bytes.push(b'\n');
    String::from_utf8(bytes).unwrap_or_default()
}

struct Rounded(PrettyFormatter<'static>);

impl Formatter for Rounded {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let rounded: f64 = format!("{value:.8e}").parse().unwrap_or(value);
        self.0.write_f64(writer, rounded)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}
