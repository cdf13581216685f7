//! Every sample of the record as a row of CSV (RFC 4180, lines end with LF), warm-up and voided ones included.

use std::fmt::Write as _;

use megadir_record::{Cell, Latency, Plan, Record, Sample, Work};
use serde::Serialize;

use super::Format;
use crate::summary::{times_of, together};

/// The format.
pub(super) const FORMAT: Format = Format {
    name: "csv",
    extension: "csv",
    what: "every sample, one row each, for other programs",
    refuses: |_| None,
    render: |report, _| csv(report.record),
};

/// The columns: name and what they hold.
pub const COLUMNS: &[(&str, &str)] = &[
    ("epoch", "the epoch, from 0"),
    ("round", "the round, from 0; warm-up rounds count on their own"),
    ("attempt", "how often the round had been voided before"),
    ("place", "the block's place in its round, from 0"),
    ("phase", "warm-up or measure"),
    ("voided", "why the round was voided; empty if it counts"),
    ("cell", "the arm's index"),
    ("arm", "the arm's name"),
    ("role", "baseline, against-itself or arm"),
    ("groups", "the arm's groups, separated by spaces"),
    ("data", "the data set's index"),
    (
        "file_system",
        "the file system that was made for the run, as it was named; empty in a directory that was named",
    ),
    ("cache", "the cache's state before the block"),
    (
        "work",
        "list, lookup, attributes, ask N, fill-until-refused, or what is done to files (make-directories, create, read, rewrite, \
         stat, unlink; threads are workers); the columns up to stages are of list, presence and keys of lookup",
    ),
    ("backend", "the backend"),
    ("buffer_bytes", "the buffer of one call, bytes"),
    ("threads", "threads that read"),
    ("shares", "shares of the directory"),
    ("stages", "what was done with the entries, separated by spaces"),
    ("presence", "whether the names exist: present or absent"),
    ("keys", "how names were drawn: fixed, random or zipf"),
    ("rate_per_s", "operations that were to start a second; empty where one followed the other"),
    ("start_ns", "the block's start after the run's, nanoseconds"),
    ("operations", "operations in the block"),
    ("elapsed_ns", "wall time of the block, nanoseconds"),
    ("user_ns", "user processor time of the block, nanoseconds"),
    ("system_ns", "system processor time of the block, nanoseconds"),
    ("entries", "entries seen"),
    ("hash", "order-independent hash of the entries, 16 hexadecimal digits after 0x"),
    ("calls", "system calls of the measured kind; empty where the arm cannot see them"),
    ("written_bytes", "bytes of text written"),
    (
        "read_bytes",
        "bytes that the process had read from devices in the block; empty where that is not known",
    ),
    ("refused_entries", "entries of the directory that took no more names; empty where the block was done"),
    (
        "p50_ns",
        "median time of the block's single operations, nanoseconds; this and those after it empty where they were not timed",
    ),
    ("p90_ns", "nine of ten operations took no longer"),
    ("p99_ns", "99 of 100 took no longer"),
    ("p999_ns", "999 of 1000 took no longer"),
    ("max_ns", "the longest"),
    ("gap_ns", "time of the block that belongs to no operation, nanoseconds"),
];

/// Returns every sample as CSV, with a heading.
#[must_use]
pub fn csv(record: &Record) -> String {
    let headings: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let mut text = headings.join(",") + "\n";
    let plan = &record.header.plan;
    let constant: Vec<String> = plan.cells.iter().map(|cell| of_cell(plan, cell)).collect();
    for sample in &record.samples {
        let of_cell = constant.get(sample.cell.0 as usize).map_or("", String::as_str);
        row(&mut text, sample, of_cell);
    }
    text
}

/// Adds a row; the columns of the arm are given, since they are the same in all its rows.
fn row(text: &mut String, sample: &Sample, of_cell: &str) {
    let Sample { epoch, round, attempt, place, start_ns, operations, elapsed_ns, user_ns, system_ns, .. } =
        sample;
    let phase = word(&sample.phase);
    let voided = sample.voided.as_ref().map(word).unwrap_or_default();
    let cell = sample.cell.0;
    let counted = &sample.counted;
    let calls = counted.calls.map(|calls| calls.to_string()).unwrap_or_default();
    let read_bytes = sample.read_bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
    let refused = sample.refused.as_ref().map(|refused| refused.entries.to_string()).unwrap_or_default();
    let (entries, hash, written_bytes) = (counted.entries, counted.hash, counted.written_bytes);
    let before = format!("{epoch},{round},{attempt},{place},{phase},{voided},{cell},{of_cell}");
    let after = format!("{start_ns},{operations},{elapsed_ns},{user_ns},{system_ns}");
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{before},{after},{entries},{hash:#018x},{calls},{written_bytes},{read_bytes},{refused},{}",
        single(sample.latency.as_ref())
    );
}

/// Returns the columns of single operations.
fn single(latency: Option<&Latency>) -> String {
    let Some((latency, times)) = latency.and_then(|latency| Some((latency, times_of(latency)?))) else {
        return ",,,,,".into();
    };
    let all = together(&[times]);
    let at = |p| all.quantile(p).map(|ns| ns.to_string()).unwrap_or_default();
    let gap_ns = (latency.gap_ticks as f64 * latency.ns_per_tick).round();
    format!("{},{},{},{},{},{gap_ns}", at(0.5), at(0.9), at(0.99), at(0.999), at(1.0))
}

/// Returns the columns from the arm's name to its rate.
fn of_cell(plan: &Plan, cell: &Cell) -> String {
    let work = match &cell.work {
        Work::List { backend, buffer_bytes, threads, shares, stages } => {
            let stages: Vec<String> = stages.iter().map(word).collect();
            let backend = quoted(backend);
            format!("list,{backend},{buffer_bytes},{threads},{shares},{},,", stages.join(" "))
        }
        Work::Lookup { presence, keys } => format!("lookup,,,,,,{},{}", word(presence), word(keys)),
        Work::FillUntilRefused { .. } => "fill-until-refused,,,,,,,".into(),
        Work::Files(work) => format!("{},,,{},,,,", word(&work.operation), work.workers.count),
        Work::Remove(work) => format!("remove,{},,{},,,,", word(&work.by), work.workers),
        Work::Attributes { method, buffer_bytes, threads, .. } => {
            let buffer_bytes = buffer_bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
            format!("attributes,{},{buffer_bytes},{threads},,,,", quoted(method))
        }
        Work::Ask { files } => format!("ask {files},,,,,,,"),
    };
    [
        quoted(&cell.name),
        word(&cell.role),
        quoted(&cell.groups.join(" ")),
        cell.data.0.to_string(),
        quoted(plan.file_system_of(cell.data).map_or("", |of| &of.name)),
        word(&cell.cache),
        work,
        cell.rate_per_s.map(|rate| rate.to_string()).unwrap_or_default(),
    ]
    .join(",")
}

/// Returns the word that a value of a closed set has in records.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(_) | Err(_) => String::new(),
    }
}

/// Returns a field in quotes where it needs them.
fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.into()
    }
}
