//! Tables, Markdown and data of a report, and the grids and lines that pages share with them. The same report gives
//! the same bytes; nothing here decides what the numbers mean.

mod break_even;
mod columns;
mod csv;
mod data;
mod filling;
mod grid;
mod groups;
mod hdr;
mod inline;
mod json;
mod machine;
mod markdown;
mod operations;
mod outcome;
mod overview;
mod paint;
#[cfg(feature = "parquet")]
mod parquet;
mod published;
mod screen;
mod source_table;
mod table;
mod volumes;

pub use columns::{COLUMNS, Column as SampleColumn, Kind as SampleKind};
pub use csv::{csv, write_csv};
pub use hdr::hdr;
pub use json::{Document, json, pretty};
pub use markdown::markdown;
pub use paint::Style;
#[cfg(feature = "parquet")]
pub(crate) use parquet::write as write_parquet;
pub use screen::{LINES_MAX as SCREEN_LINES_MAX, WIDTH_MAX as SCREEN_WIDTH_MAX, screen};
pub use table::table;

pub(crate) use screen::push_table;
pub(crate) use table::Page;

pub(crate) use data::use_lines;
pub(crate) use grid::{Align, Column, Grid, Text, lay_out};
pub(crate) use groups::{arms as arms_grid, grid as group_grid};
pub(crate) use machine::{
    families_line, file_system_lines, machine_details, machine_line, resolution_details, resolution_lines,
    run_line, self_check_line,
};
pub(crate) use operations::{TITLE as OPERATIONS_TITLE, grid as operations_grid};
pub(crate) use outcome::{outcome as outcome_tone, outcome_words};
pub(crate) use overview::{
    each_against_each, legend as overview_legend, tables as overview_tables, title as overview_title,
};
/// Markdown shared with other pages.
pub(crate) mod markdown_text {
    pub(crate) use super::markdown::{clean, push_grid};
}

pub(crate) use paint::{Tone, clean, is_control, paint, words, wrap};
pub(crate) use published::{TITLE as PUBLISHED_TITLE, grid as published_grid};
pub(crate) use source_table::{TITLE as SOURCE_TABLE_TITLE, grid as source_table};
