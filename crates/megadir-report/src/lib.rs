//! Evaluates megadir benchmark records: summaries, findings and reports, separate from the measurement.
//!
//! ```text
//! Record -> summarize() -> Summary{arms, groups, resolution, findings, warnings} -> FORMATS -> text
//! ```
//!
//! | subject | where |
//! |---|---|
//! | summary of a record: arms, groups by rule, resolution | [`summary`] |
//! | rules that turn numbers into sentences | [`finding`] |
//! | warnings about a run, with advice | [`warning`] |
//! | comparison of new and old runs, and the gate | [`between`] |
//! | charts, one file each, in the list [`chart::CHARTS`] | [`chart`] |
//! | the report as a single HTML file | [`page`] |
//! | the formats, in the list [`FORMATS`]: terminal table, HTML, SVG, Markdown, CSV, Parquet, JSON, HdrHistogram log | [`render`] |
//! | numbers as text | [`text`] |
//!
//! Interface for programs:
//!
//! * [`summarize`]`(&Record) -> Result<`[`Summary`]`, `[`SummaryError`]`>`;
//! * [`FORMATS`], the list of formats, and [`format_named`] to find one; [`Format::write`] writes a [`Report`]
//!   (a record with its summary) for a [`View`] (width, colour, character set);
//! * [`render::table`], [`render::markdown`], [`render::csv`], [`render::json`], [`render::hdr`]: functions for
//!   single formats.
//!
//! The crate is pure: it accesses no file system, prints nothing, and reads neither the environment nor a
//! clock. The same record gives the same bytes on every machine. Statistics are in `megadir-stats`; statements
//! never go beyond intervals and verdicts.
//!
//! ```no_run
//! use megadir_record::jsonl;
//! use megadir_report::{Report, Style, View, format_named, summarize};
//!
//! let record = jsonl::read(std::io::stdin().lock())?;
//! let summary = summarize(&record)?;
//! let view = View { width: 80, style: Style { color: false, unicode: true } };
//! let format = format_named("table").expect("one of FORMATS");
//! let text = format.render(&Report { record: &record, summary: &summary }, &view);
//! # Ok::<(), Box<dyn std::error::Error>>(())
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
