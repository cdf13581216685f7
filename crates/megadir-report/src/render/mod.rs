//! Tables, Markdown and data of a report, and the grids and lines that pages share with them.

mod columns;
mod data;
mod grid;
mod groups;
mod hdr;
mod machine;
mod markdown;
mod operations;
mod overview;
mod paint;
#[cfg(feature = "parquet")]
mod parquet;
mod published;
mod screen;
mod table;

pub use columns::{
    COLUMNS, Column as SampleColumn, Kind as SampleKind, Row as SampleRow, Value as SampleValue, csv,
    of_cells as sample_arms, rows as sample_rows, write_csv,
};
pub use data::{Document, json, pretty};
pub use hdr::hdr;
pub use markdown::markdown;
pub use paint::Style;
#[cfg(feature = "parquet")]
pub(crate) use parquet::write as write_parquet;
pub use screen::{LINES_MAX as SCREEN_LINES_MAX, WIDTH_MAX as SCREEN_WIDTH_MAX, screen};
pub use table::table;

pub(crate) use screen::push_table;
pub(crate) use table::Page;

pub(crate) use data::use_lines;
pub(crate) use grid::{Align, Column, Grid, Legends, Text, lay_out};
pub(crate) use groups::{arms as arms_grid, grid as group_grid};
pub(crate) use machine::{
    families_line, file_system_lines, machine_details, machine_line, resolution_details, resolution_lines,
    run_line, self_check_line, stand_in_lines,
};
pub(crate) use operations::{
    HOSTS_TITLE, TITLE as OPERATIONS_TITLE, grid as operations_grid, grid_hosts as hosts_grid,
};
pub(crate) use overview::{
    each_against_each, legend as overview_legend, tables as overview_tables, title as overview_title,
};
pub(crate) use paint::{Tone, clean, is_control, outcome as outcome_tone, paint, words, wrap};
pub(crate) mod markdown_text {
    pub(crate) use super::markdown::{clean, push_grid};
}

pub(crate) use published::{
    SOURCE_TABLE_TITLE, TITLE as PUBLISHED_TITLE, grid as published_grid, grid_source_table as source_table,
};
