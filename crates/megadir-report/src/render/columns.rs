//! Columns of samples, for CSV and Parquet, and samples as CSV.
//!
//! One list names, describes and computes every column, so that CSV, Parquet, their documentation and the
//! Python package cannot disagree. Programs read the columns by name, so names stay.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;

use megadir_record::{Arm, Latency, LookupCall, Plan, Sample, Work};
use serde::Serialize;

use Value::{Hash, Missing, Number, Text};

use crate::report::Report;
use crate::summary::{Times, together};

/// `description` is for the documentation; `value` gives the field of a row.
pub struct Column {
    pub name: &'static str,
    pub description: &'static str,
    pub kind: Kind,
    pub value: Of,
}

type Of = for<'r> fn(&'r Row<'_>) -> Value<'r>;

/// Type of a column in Parquet. A hash is a number there, and hexadecimal digits in CSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Number,
    Text,
    Hash,
}

#[derive(Clone, Copy, Debug)]
pub enum Value<'r> {
    Missing,
    Number(u64),
    Text(&'r str),
    Hash(u64),
}

/// A sample, with the fields of its arm and the quantiles of its block.
pub struct Row<'r> {
    sample: &'r Sample,
    arm: &'r OfArm,
    single: Option<Single>,
}

/// Fields of an arm that every row of its samples repeats, computed once for each arm and not for each
/// sample. The table is as wide as all kinds of work together; fields that a kind lacks are empty, so that
/// one list of columns serves every study.
#[derive(Default)]
pub struct OfArm {
    arm: String,
    role: String,
    groups: String,
    data: u64,
    file_system: String,
    cache: String,
    work: String,
    backend: String,
    buffer_bytes: Option<u64>,
    threads: Option<u64>,
    shares: Option<u64>,
    stages: String,
    presence: String,
    keys: String,
    rate_per_s: Option<u64>,
}

struct Single {
    /// p50, p90, p99, p99.9 and the maximum.
    quantiles_ns: [Option<u64>; 5],
    gap_ns: u64,
}

const fn number(name: &'static str, description: &'static str, value: Of) -> Column {
    Column { name, description, kind: Kind::Number, value }
}

const fn text(name: &'static str, description: &'static str, value: Of) -> Column {
    Column { name, description, kind: Kind::Text, value }
}

/// The name `cell` is the former word for an arm; readers of older files expect it.
pub const COLUMNS: &[Column] = &[
    number("epoch", "the epoch, from 0", |row| Number(row.sample.epoch.into())),
    number("round", "the round, from 0; warm-up rounds count on their own", |row| {
        Number(row.sample.round.into())
    }),
    number("attempt", "how often the round had been voided before", |row| Number(row.sample.attempt.into())),
    number("place", "the block's place in its round, from 0", |row| Number(row.sample.place.into())),
    text("phase", "warm-up or measure", |row| Text(row.sample.phase.name())),
    text("voided", "why the round was voided: stolen-time or clock-jump; empty if it counts", |row| {
        row.sample.voided.map_or(Missing, |reason| Text(reason.name()))
    }),
    number("cell", "the arm's index", |row| Number(row.sample.arm.0.into())),
    text("arm", "the arm's name", |row| Text(&row.arm.arm)),
    text("role", "baseline, against-itself or arm", |row| Text(&row.arm.role)),
    text("groups", "the arm's groups, separated by spaces", |row| word(&row.arm.groups)),
    number("data", "the data set's index", |row| Number(row.arm.data)),
    text(
        "file_system",
        "the file system made for the run, by its name; empty for an existing directory",
        |row| word(&row.arm.file_system),
    ),
    text("cache", "the cache's state before the block", |row| Text(&row.arm.cache)),
    text(
        "work",
        "list, lookup, attributes, ask N, fill-until-refused, remove, command, or what is done to files (make-directories, create, read, rewrite, \
         stat, unlink; threads are workers); the columns up to stages are of list, presence and keys of lookup",
        |row| Text(&row.arm.work),
    ),
    text(
        "backend",
        "the backend; with attributes the method, with remove who removes, with look-ups on Windows the call",
        |row| word(&row.arm.backend),
    ),
    number("buffer_bytes", "the buffer of one call, bytes", |row| optional(row.arm.buffer_bytes)),
    number("threads", "threads that read", |row| optional(row.arm.threads)),
    number("shares", "shares of the directory", |row| optional(row.arm.shares)),
    text("stages", "the stages of work on the entries, separated by spaces", |row| word(&row.arm.stages)),
    text("presence", "whether the names exist: present or absent", |row| word(&row.arm.presence)),
    text("keys", "how names were drawn: fixed, random or zipf", |row| word(&row.arm.keys)),
    number(
        "rate_per_s",
        "operations that were to start a second; empty where one followed the other",
        |row| optional(row.arm.rate_per_s),
    ),
    number("start_ns", "the block's start after the run's, nanoseconds", |row| Number(row.sample.start_ns)),
    number("operations", "operations in the block", |row| Number(row.sample.operations)),
    number("elapsed_ns", "wall time of the block, nanoseconds", |row| Number(row.sample.elapsed_ns)),
    number("user_ns", "user processor time of the block, nanoseconds", |row| Number(row.sample.user_ns)),
    number("system_ns", "system processor time of the block, nanoseconds", |row| {
        Number(row.sample.system_ns)
    }),
    number("entries", "entries seen", |row| Number(row.sample.counted.entries)),
    Column {
        name: "hash",
        description: "order-independent hash of the entries, 16 hexadecimal digits after 0x",
        kind: Kind::Hash,
        value: |row| Hash(row.sample.counted.hash),
    },
    number("calls", "system calls of the measured kind; empty where the arm cannot see them", |row| {
        optional(row.sample.counted.calls)
    }),
    number("written_bytes", "bytes of text written", |row| Number(row.sample.counted.written_bytes)),
    number(
        "read_bytes",
        "bytes that the process had read from devices in the block; empty where that is not known",
        |row| optional(row.sample.read_bytes),
    ),
    number(
        "disk_requests",
        "requests to a modelled disk in the block; this and the next two empty on other disks",
        |row| optional(row.sample.disk.as_ref().map(|disk| disk.requests)),
    ),
    number("disk_seeks", "moves of the modelled disk's head by more than a track", |row| {
        optional(row.sample.disk.as_ref().map(|disk| disk.seeks))
    }),
    number("disk_busy_ns", "time in which the modelled disk's head was positioned, read or wrote", |row| {
        optional(row.sample.disk.as_ref().map(|disk| disk.busy_ns))
    }),
    number("peak_bytes", "peak memory of the process that did the work; empty where megadir did it", |row| {
        optional(row.sample.peak_bytes)
    }),
    number(
        "first_done_ns",
        "time of the rank that was done first; this and the next two empty without ranks",
        |row| optional(row.sample.ranks.as_ref().map(|ranks| ranks.first_done_ns)),
    ),
    number("last_done_ns", "time of the rank that was done last", |row| {
        optional(row.sample.ranks.as_ref().map(|ranks| ranks.last_done_ns))
    }),
    number(
        "last_rank",
        "rank that was done last, from 0; the record's first line has the host of each rank",
        |row| optional(row.sample.ranks.as_ref().map(|ranks| u64::from(ranks.last_rank))),
    ),
    number(
        "refused_entries",
        "entries of the directory that took no more names; empty where the block was done",
        |row| optional(row.sample.refused.as_ref().map(|refused| refused.entries)),
    ),
    number(
        "p50_ns",
        "median time of the block's single operations, nanoseconds; this and those after it empty where they were not timed",
        |row| row.quantile(0),
    ),
    number("p90_ns", "nine of ten operations took no longer", |row| row.quantile(1)),
    number("p99_ns", "99 of 100 took no longer", |row| row.quantile(2)),
    number("p999_ns", "999 of 1000 took no longer", |row| row.quantile(3)),
    number("max_ns", "the longest", |row| row.quantile(4)),
    number("gap_ns", "time of the block that belongs to no operation, nanoseconds", |row| {
        optional(row.single.as_ref().map(|single| single.gap_ns))
    }),
];

/// Empty fields stay empty in CSV and are null in Parquet: an empty word would be a value.
fn word(text: &str) -> Value<'_> {
    if text.is_empty() { Missing } else { Text(text) }
}

fn optional(number: Option<u64>) -> Value<'static> {
    number.map_or(Missing, Number)
}

impl Row<'_> {
    fn quantile(&self, place: usize) -> Value<'static> {
        optional(self.single.as_ref().and_then(|single| single.quantiles_ns[place]))
    }
}

/// One entry for each arm, at its number in the plan.
pub fn of_cells(plan: &Plan) -> Vec<OfArm> {
    plan.arms.iter().map(|arm| of_cell(plan, arm)).collect()
}

/// Warm-up and voided samples are included, because the file is for other analyses; columns mark them.
pub fn rows<'r>(report: &'r Report, arms: &'r [OfArm]) -> impl Iterator<Item = Row<'r>> {
    report.record.samples.iter().enumerate().filter_map(move |(place, sample)| {
        let times = sample.latency.as_deref().zip(report.operation_times(place));
        let single = times.map(|(latency, times)| single(latency, times));
        Some(Row { sample, arm: arms.get(sample.arm.0 as usize)?, single })
    })
}

fn single(latency: &Latency, times: &Times) -> Single {
    // Quantiles of a block alone, unlike the ones of an arm over all rounds.
    let all = together([times]);
    let gap_ns = (latency.gap_ticks as f64 * latency.ns_per_tick).round() as u64;
    Single { quantiles_ns: [0.5, 0.9, 0.99, 0.999, 1.0].map(|p| all.quantile(p)), gap_ns }
}

/// The fields that all arms have come first, and each kind of work adds its own. One column has several
/// meanings (`backend` is also a call, a method and a command line), because it is always the means with which
/// the work was done, and a reader filters by it.
fn of_cell(plan: &Plan, arm: &Arm) -> OfArm {
    let of = OfArm {
        arm: arm.name.clone(),
        role: name(&arm.role),
        groups: arm.groups.join(" "),
        data: arm.data.0.into(),
        file_system: plan.file_system_of(arm.data).map_or_else(String::new, |of| of.name.clone()),
        cache: name(&arm.cache),
        work: kind(&arm.work),
        rate_per_s: arm.rate_per_s,
        ..OfArm::default()
    };
    match &arm.work {
        Work::List { backend, buffer_bytes, threads, shares, stages } => OfArm {
            backend: backend.clone(),
            buffer_bytes: Some(*buffer_bytes),
            threads: Some((*threads).into()),
            shares: Some((*shares).into()),
            stages: stages.iter().map(name).collect::<Vec<_>>().join(" "),
            ..of
        },
        Work::Lookup { presence, keys, call } => {
            let backend = if *call == LookupCall::Fstatat { String::new() } else { call.name().to_owned() };
            OfArm { backend, presence: name(presence), keys: name(keys), ..of }
        }
        Work::Files(work) => {
            OfArm { work: name(&work.operation), threads: Some(work.workers.count.into()), ..of }
        }
        Work::Remove(work) => OfArm { backend: name(&work.by), threads: Some(work.workers.into()), ..of },
        Work::Attributes { method, buffer_bytes, threads, .. } => OfArm {
            backend: method.clone(),
            buffer_bytes: *buffer_bytes,
            threads: Some((*threads).into()),
            ..of
        },
        Work::StatSome { files } => OfArm { work: format!("ask {files}"), ..of },
        Work::Command(work) => OfArm { backend: work.line.clone(), ..of },
        Work::FillUntilRefused { .. } => of,
    }
}

/// Words come from the serialized form, so that a table never names a kind of work differently from the
/// record.
fn kind(work: &Work) -> String {
    let value = serde_json::to_value(work).unwrap_or_default();
    value["do"].as_str().unwrap_or_default().to_owned()
}

fn name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(_) | Err(_) => String::new(),
    }
}

/// Bytes between two writes: a write for each row would be a system call where the output is a file.
const GATHERED_BYTES: usize = 64 << 10;

pub fn write_csv(report: &Report, output: &mut dyn io::Write) -> io::Result<()> {
    let headings: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let mut text = headings.join(",");
    let arms = of_cells(&report.record.header.plan);
    for row in rows(report, &arms) {
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

fn push(text: &mut String, value: Value<'_>) {
    match value {
        Missing => {}
        Number(number) => {
            let _ = write!(text, "{number}");
        }
        Hash(hash) => {
            let _ = write!(text, "{hash:#018x}");
        }
        Text(field) => text.push_str(&quoted(field)),
    }
}

/// A field of CSV, in quotes only if it needs them (RFC 4180).
pub(crate) fn quoted(field: &str) -> Cow<'_, str> {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\"")).into()
    } else {
        field.into()
    }
}
