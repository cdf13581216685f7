//! The formats: one file each, and the list of them.
//!
//! `table`, `html`, `svg`, `markdown`, `csv`, `parquet`, `json`, `hdr` are the formats; `format` is what a format is; `columns` are those of samples; `groups`, `filling`, `operations`, `source_table` and `machine` turn a
//! summary into the grids and lines that table and Markdown share; `grid`, `inline` and `paint` lay them out. To add a format:
//! one file and two lines here. The same record gives the same bytes; nothing here decides what the numbers mean.

mod break_even;
mod columns;
mod csv;
mod data;
mod filling;
mod format;
mod grid;
mod groups;
mod hdr;
mod html;
mod inline;
mod json;
mod machine;
mod markdown;
mod operations;
mod outcome;
mod overview;
mod paint;
mod parquet;
mod published;
mod source_table;
mod svg;
mod table;

pub use columns::{COLUMNS, Column as SampleColumn, Kind as SampleKind};
pub use csv::{csv, write_csv};
pub use format::{Format, Report, Style, View, format_named};
pub use hdr::hdr;
pub use json::{json, pretty};
pub use markdown::markdown;
pub use table::table;

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
    TITLE as FILE_SYSTEMS_TITLE, each_against_each, legend as overview_legend, tables as overview_tables,
};
/// Markdown shared with other pages.
pub(crate) mod markdown_text {
    pub(crate) use super::markdown::{clean, push_grid};
}

pub(crate) use paint::{Tone, clean, is_control, paint, words, wrap};
pub(crate) use published::{TITLE as PUBLISHED_TITLE, grid as published_grid};
pub(crate) use source_table::{TITLE as SOURCE_TABLE_TITLE, grid as source_table};

/// Every format, for help texts and errors.
pub const FORMATS: &[Format] = &[
    table::FORMAT,
    html::FORMAT,
    svg::FORMAT,
    markdown::FORMAT,
    csv::FORMAT,
    parquet::FORMAT,
    json::FORMAT,
    hdr::FORMAT,
];
