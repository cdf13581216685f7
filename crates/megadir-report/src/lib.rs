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
