//! Evaluates megadir benchmark records: summaries, findings and reports, separate from the measurement.
//!
//! ```text
//! Record -> Report::of -> Report{record, summary, warnings, findings} -> FORMATS -> text
//! ```
//!
//! The crate is pure: no file system, output, environment or clock. The same record gives the same bytes on every machine.
//!
//! ```no_run
//! use megadir_record::jsonl;
//! use megadir_report::{Report, Style, View, format_named};
//!
//! let report = Report::of(jsonl::read(std::io::stdin().lock())?)?;
//! let view = View { width: 80, style: Style { color: false, unicode: true } };
//! let format = format_named("table").expect("one of FORMATS");
//! let text = format.render(&report, &view);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | subject, each using only those before it |
//! |---|---|
//! | `figure`, [`text`] | numbers with intervals, and as text |
//! | [`summary`] | a record as data without sentences; times of single operations, decoded once (`summary/rounds.rs`), which doubles the memory of records that have them |
//! | `warning` | doubts about a run, each with advice; merged for display only (`warning/grouped.rs`) |
//! | `finding` | sentences that follow from the numbers |
//! | `report` | the record with its evaluation, which everything that prints takes |
//! | `render` | tables, Markdown and data; `render/columns.rs` is the one list of the columns of samples, for CSV, Parquet and their documentation |
//! | [`chart`] | pictures as SVG, wide and narrow |
//! | `page` | one HTML file without scripts or external resources, which its content security policy also forbids |
//! | `formats` | the formats by name |
//! | [`between`] | comparisons of runs and of machines |
//!
//! `render::Document` is the JSON form. Its schema (`docs/schema`) follows from the types (feature `schema`), and a
//! test validates every golden report against it.

pub mod between;
pub mod chart;
mod figure;
pub mod finding;
mod formats;
pub mod page;
pub mod render;
mod report;
pub mod summary;
pub mod text;
pub mod warning;

pub use finding::{Finding, FindingKind};
pub use formats::{FORMATS, Format, View, format_named};
pub use render::Style;
pub use report::Report;
pub use summary::{Figure, Interval, Summary, SummaryError};
pub use warning::{Advisory, Warning};
