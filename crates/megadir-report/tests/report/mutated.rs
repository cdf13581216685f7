//! Records with modified numbers: any record that the reader accepts is rendered in every format and chart, and
//! compared with itself, without a panic. The fuzz target `report` runs the same for longer, from the same
//! records.

use std::path::Path;

use megadir_record::{Header, Line, Phase, Record, Writer, jsonl};
use megadir_report::between::{Run, between, table};
use megadir_report::chart::{CHARTS, document};
use megadir_report::{FORMATS, Report, Style, View};
use megadir_stats::RUNS_MIN;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;

/// Enough rounds for intervals, and few enough to render hundreds of times.
const ROUNDS: u32 = 7;
/// Boundary values.
const NUMBERS: [f64; 14] =
    [0.0, -1.0, 1e-300, 1e-9, 0.5, 1.0, 2.0, 1e3, 4_294_967_295.0, 1e10, 1e19, 1e30, 1e100, f64::MAX];

/// Short records of every kind, as lines without checksums, which would reject any change before rendering.
fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut seeds: Vec<(&str, Vec<u8>)> = Vec::new();
    for (name, mut record) in crate::charted::records() {
        let rules = &mut record.header.plan.rules;
        rules.rounds = rules.rounds.min(ROUNDS);
        record.samples.retain(|sample| sample.phase == Phase::Measure && sample.round < ROUNDS);
        let lines = lines(&record);
        if seeds.iter().all(|(_, known)| *known != lines) {
            seeds.push((name, lines));
        }
    }
    seeds
}

fn lines(record: &Record) -> Vec<u8> {
    let header = Header { version: 3, ..record.header.clone() };
    let lines = [Line::Header(Box::new(header))].into_iter();
    let lines = lines.chain(record.self_check.clone().map(Line::SelfCheck));
    let lines =
        lines.chain(record.built.clone().map(Line::Built)).chain(record.used.iter().copied().map(Line::Used));
    let lines = lines.chain(record.notes.iter().cloned().map(Line::Note));
    let lines = lines.chain(record.samples.iter().cloned().map(Line::Sample));
    let mut writer = Writer::resume(Vec::new(), None);
    lines
        .chain(record.end.clone().map(Line::End))
        .for_each(|line| writer.write(&line).expect("memory takes it"));
    writer.into_inner()
}

/// A change: `true` for the header, the line, the number in it, and its new value.
type Change = (bool, prop::sample::Index, prop::sample::Index, usize);

fn change(text: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut lines: Vec<Value> =
        text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    for (header, line, number, to) in changes {
        let line = if *header { 0 } else { line.index(lines.len()) };
        let mut numbers = Vec::new();
        collect(&mut lines[line], &mut numbers);
        if numbers.is_empty() {
            continue;
        }
        let at = number.index(numbers.len());
        let to = NUMBERS[*to];
        // Integers stay integers, or the line would not parse.
        *numbers[at] = if to >= 0.0 && to.fract() == 0.0 && to < 1.9e19 && !numbers[at].is_f64() {
            Value::from(to as u64)
        } else {
            Value::from(to)
        };
    }
    lines.iter().flat_map(|line| [serde_json::to_vec(line).expect("JSON"), vec![b'\n']].concat()).collect()
}

fn collect<'a>(value: &'a mut Value, numbers: &mut Vec<&'a mut Value>) {
    match value {
        Value::Number(_) => numbers.push(value),
        Value::Array(values) => values.iter_mut().for_each(|value| collect(value, numbers)),
        Value::Object(values) => values.iter_mut().for_each(|(_, value)| collect(value, numbers)),
        _ => {}
    }
}

/// Renders a record in every way; `false` if it is invalid or cannot be summarised.
fn show(text: &[u8]) -> bool {
    let Ok((record, _)) = jsonl::read_partly(text) else { return false };
    let Ok(report) = Report::of(record) else { return false };
    let view = View { width: 80, style: Style { color: false, unicode: true } };
    for format in
        FORMATS.iter().filter(|format| format.missing.is_none() && (format.refuses)(&report).is_none())
    {
        (format.write)(&report, &view, &mut Vec::new()).expect("memory takes it");
    }
    for chart in CHARTS {
        let _ = document(&report, chart, 1);
    }
    // A run compared with itself, and enough runs per side for intervals across runs.
    let run = Run { name: "run", report: &report };
    [1, RUNS_MIN].into_iter().all(|runs| {
        let side = vec![run; runs];
        let compared = between(&side, &side).expect("there are runs on both sides");
        !table(&compared, view.width, view.style).is_empty()
    })
}

#[test]
fn a_band_without_bounds_is_refused_and_not_drawn() {
    for (band, taken) in [("0.03", true), ("1e100", false), ("-1.0", false), ("0.0", false)] {
        let text = String::from_utf8(lines(&crate::listing::study().record())).expect("UTF-8");
        let text = text.replacen("\"equivalence_band\":0.03", &format!("\"equivalence_band\":{band}"), 1);
        let read = jsonl::read(text.as_bytes());
        assert_eq!(read.is_ok(), taken, "{band}: {read:?}");
        assert_eq!(show(text.as_bytes()), taken, "{band}");
    }
}

#[test]
fn numbers_of_any_size_are_shown_or_refused() {
    let seeds = seeds();
    let change =
        (any::<bool>(), any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..NUMBERS.len());
    let changes = (0..seeds.len(), prop::collection::vec(change, 1..4));
    let shown = std::cell::Cell::new(0);
    // The same cases each time: the fuzzer covers the rest.
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 200, failure_persistence: None, ..Config::default() },
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let ran = runner.run(&changes, |(seed, changes)| {
        let is_shown = show(&self::change(&seeds[seed].1, &changes));
        shown.set(shown.get() + u32::from(is_shown));
        Ok(())
    });
    ran.unwrap_or_else(|failure| panic!("{failure}"));
    let shown = shown.get();
    assert!(shown > 50, "only {shown} of the changed records are still records");
}

#[test]
fn the_fuzzer_begins_from_these_records() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/report");
    for (name, lines) in seeds() {
        assert!(show(&lines), "{name}");
        let path = folder.join(format!("{name}.jsonl"));
        if std::env::var_os("MEGADIR_BLESS").is_some_and(|bless| bless == "1") {
            std::fs::write(&path, &lines).expect("the seeds can be written");
        }
        let seed = std::fs::read(&path).unwrap_or_default();
        assert!(seed == lines, "fuzz/seeds/report/{name}.jsonl differs; MEGADIR_BLESS=1 rewrites it");
    }
}
