//! Synthetic records with known effects must give the right verdicts, shares, exponents, warnings and texts.

mod answer;
mod attributes;
mod between;
mod between_gate;
mod break_even;
mod charted;
mod charts;
mod compare;
mod decompose;
mod earlier;
mod file_systems;
mod fill;
mod golden;
mod grouped;
mod grow;
mod history;
mod killed;
mod layout;
mod listing;
mod machines;
mod mutated;
mod page;
mod pairs;
mod published;
mod refusal;
mod samples;
#[cfg(feature = "schema")]
mod schema;
mod screens;
mod single;
mod studies;
mod synthetic;
mod warning_kinds;
mod warnings;
mod windows;
mod work;

use megadir_record::Record;
use megadir_report::{Report, Style, SummaryError, View, format_named};

/// Reports on a record that the test goes on to change.
fn report_on(record: &Record) -> Result<Report, SummaryError> {
    Report::of(record.clone())
}

/// Samples of a report as CSV.
fn csv(report: &Report) -> String {
    let view = View { width: 80, style: Style { color: false, unicode: true } };
    format_named("csv").expect("a format").render(report, &view)
}
