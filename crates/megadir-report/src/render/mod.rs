//! Tables, Markdown and data of a report, and the grids and lines that pages share with them.
//!
//! ```text
//! screen.rs    22 lines: alarms, answer, one table, notes          table.rs     everything that fits a terminal
//! markdown.rs  everything                                          page/        everything, with pictures
//! grid.rs      tables before layout, made by groups.rs, operations.rs, overview.rs and published.rs
//! machine.rs   lines about run, machine and trust                  paint.rs     colours, wrapping, words of outcomes
//! columns.rs, parquet.rs, hdr.rs   samples                         data.rs      JSON, and lines about data sets
//! history.rs   a run as one row
//! ```

mod columns;
mod data;
pub(crate) mod grid;
pub(crate) mod groups;
mod hdr;
mod history;
pub(crate) mod machine;
pub(crate) mod markdown;
pub(crate) mod operations;
pub(crate) mod overview;
pub(crate) mod paint;
#[cfg(feature = "parquet")]
mod parquet;
pub(crate) mod published;
mod screen;
mod table;

pub(crate) use columns::quoted;
pub use columns::{
    COLUMNS, Column as SampleColumn, Kind as SampleKind, Row as SampleRow, Value as SampleValue,
    of_cells as sample_arms, rows as sample_rows, write_csv,
};
pub use data::{Document, json, pretty};
pub(crate) use data::{rounded, use_lines};
pub use hdr::hdr;
pub use history::history;
pub use markdown::markdown;
pub use paint::Style;
#[cfg(feature = "parquet")]
pub(crate) use parquet::write as write_parquet;
pub(crate) use screen::push_table;
pub use screen::{LINES_MAX as SCREEN_LINES_MAX, WIDTH_MAX as SCREEN_WIDTH_MAX, screen};
pub(crate) use table::Page;
pub use table::table;
