//! From megadir benchmark records to summaries, findings and tables: judging, apart from measuring.
//!
//! ```text
//! Record -> summarize() -> Summary{arms, groups, resolution, findings, warnings} -> FORMATS -> text
//! ```
//!
//! | subject | where |
//! |---|---|
//! | what a record says: arms, groups by rule, resolution | [`summary`] |
//! | rules that turn numbers into sentences | [`finding`] |
//! | doubts about a run and what to do about them | [`warning`] |
//! | new runs against old ones, and the gate over them | [`between`] |
//! | pictures, one file a chart, in the list [`chart::CHARTS`] | [`chart`] |
//! | the report as one HTML file | [`page`] |
//! | the formats, in the list [`FORMATS`]: terminal table, HTML, SVG, Markdown, CSV, Parquet, JSON, HdrHistogram log | [`render`] |
//! | numbers in words | [`text`] |
//!
//! The whole of the public interface that a program needs:
//!
//! * [`summarize`]`(&Record) -> Result<`[`Summary`]`, `[`SummaryError`]`>`;
//! * [`FORMATS`], the list of formats, and [`format_named`] to find one; [`Format::write`] writes
//!   a [`Report`] (a record with its summary) for a [`View`] (width, colour, character set);
//! * [`render::table`], [`render::markdown`], [`render::csv`], [`render::json`], [`render::hdr`], the same by name.
//!
//! The crate is pure: it touches no file system, prints nothing, and reads neither the environment nor a clock. The
//! same record gives the same bytes, on every machine. It never repeats statistics that `megadir-stats` has, and
//! never says more than intervals and verdicts carry.
//!
//! ```no_run
//! # fn read() -> megadir_record::Record { unimplemented!() }
//! use megadir_report::{Report, Style, View, format_named, summarize};
//!
//! let record = read();
//! let summary = summarize(&record)?;
//! let view = View { width: 80, style: Style { color: false, unicode: true } };
//! let format = format_named("table").expect("one of FORMATS");
//! let text = format.render(&Report { record: &record, summary: &summary }, &view);
//! # Ok::<(), megadir_report::SummaryError>(())
//! ```

pub mod between;
pub mod chart;
pub mod finding;
pub mod page;
pub mod render;
pub mod summary;
pub mod text;
pub mod warning;

pub use finding::{Finding, FindingKind};
pub use render::{FORMATS, Format, Report, Style, View, format_named};
pub use summary::{Figure, Range, Summary, SummaryError, summarize};
pub use warning::{Advisory, WARNING_KINDS, Warning};
