//! Every sample of the record as a row of CSV (RFC 4180, lines end with LF), warm-up and voided ones included.

use std::fmt::Write as _;
use std::io;

use megadir_record::Record;

use super::Format;
use super::columns::{COLUMNS, Value, of_cells, rows};

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "csv",
    extension: "csv",
    what: "every sample, one row each, for other programs",
    is_text: true,
    missing: None,
    refuses: |_| None,
    write: |report, _, output| write_csv(report.record, output),
};

/// So much text is gathered before it is written, bytes.
const GATHERED_BYTES: usize = 64 << 10;

/// Returns every sample as CSV, with a heading.
#[must_use]
pub fn csv(record: &Record) -> String {
    let mut bytes = Vec::new();
    let written = write_csv(record, &mut bytes);
    debug_assert!(written.is_ok(), "memory cannot refuse a write");
    String::from_utf8(bytes).unwrap_or_default()
}

/// Writes every sample as CSV, with a heading.
///
/// # Errors
///
/// Whatever writing to `output` gives.
pub fn write_csv(record: &Record, output: &mut dyn io::Write) -> io::Result<()> {
    let headings: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let mut text = headings.join(",");
    let cells = of_cells(&record.header.plan);
    for row in rows(record, &cells) {
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

/// Adds a field; text in quotes where it needs them.
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
