//! Every sample as CSV (RFC 4180, LF line ends), including warm-up and voided ones.

use std::fmt::Write as _;
use std::io;

use super::columns::{COLUMNS, Value, of_cells, rows};
use crate::report::Report;

/// Size of the output buffer, bytes.
const GATHERED_BYTES: usize = 64 << 10;

#[must_use]
pub fn csv(report: &Report) -> String {
    let mut bytes = Vec::new();
    let written = write_csv(report, &mut bytes);
    debug_assert!(written.is_ok(), "memory cannot refuse a write");
    String::from_utf8(bytes).unwrap_or_default()
}

/// Writes every sample as CSV, with a heading.
pub fn write_csv(report: &Report, output: &mut dyn io::Write) -> io::Result<()> {
    let headings: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let mut text = headings.join(",");
    let cells = of_cells(&report.record.header.plan);
    for row in rows(report, &cells) {
        let mut between = '\n';
        for column in COLUMNS {
            text.push(between);
            push(&mut text, (column.value)(&row));
            between = ',';
        }
        if text.len() >= GATHERED_BYTES {
            output.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    text.push('\n');
    output.write_all(text.as_bytes())
}

/// Adds a field, quoted if necessary.
fn push(text: &mut String, value: Value<'_>) {
    // Writing to a string cannot fail.
    match value {
        Value::Missing => {}
        Value::Number(number) => {
            let _ = write!(text, "{number}");
        }
        Value::Hash(hash) => {
            let _ = write!(text, "{hash:#018x}");
        }
        Value::Text(field) if field.contains(['"', ',', '\n', '\r']) => {
            let _ = write!(text, "\"{}\"", field.replace('"', "\"\""));
        }
        Value::Text(field) => text.push_str(field),
    }
}
