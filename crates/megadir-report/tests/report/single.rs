//! Times of single operations: quantiles, cost of the measurement, and the log for other programs.

use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use megadir_record::{
    Counted, Delay, FileOperation, Keys, Latency, LookupCall, Presence, Record, SelfCheck, Since, Work,
};
use megadir_report::summary::Operations;
use megadir_report::{Report, Style, SummaryError, View, Warning, format_named};
use megadir_stats::histogram::{Histogram, SUB_BUCKETS};
use megadir_stats::permutation::SplitMix64;

use crate::fill::{files, work_on_files};
use crate::report_on;
use crate::synthetic::{Synthetic, note};

/// Nanoseconds per tick.
const TICK: f64 = 0.5;

/// A record of look-ups: most take 400 ns or `ratio` times that, one in a hundred takes ten times as long.
pub(crate) fn lookups() -> Record {
    let mut record = Synthetic { rounds: 20, ..Synthetic::ratios(&[("half", 0.5)]) }.record();
    for planned in &mut record.header.plan.arms {
        planned.work =
            Work::Lookup { presence: Presence::Present, keys: Keys::Random, call: LookupCall::Fstatat };
    }
    let mut random = SplitMix64::new(8);
    for sample in &mut record.samples {
        let base_ns = sample.elapsed_ns as f64 / 40e6 * 400.0;
        let mut ticks = Histogram::new();
        for operation in 0..1000 {
            let slow = if operation % 100 == 99 { 10.0 } else { 1.0 };
            ticks.record((base_ns * slow * (0.95 + 0.1 * random.unit()) / TICK) as u64);
        }
        let gap_ticks = 100;
        sample.operations = 1000;
        sample.elapsed_ns = ((ticks.sum() as f64 + gap_ticks as f64) * TICK) as u64 + 300;
        (sample.user_ns, sample.system_ns) = (sample.elapsed_ns / 10, sample.elapsed_ns / 10 * 9);
        sample.counted = Counted { entries: 1, hash: 0, calls: Some(1), written_bytes: 0 };
        sample.latency = Some(Box::new(Latency {
            sub_buckets: SUB_BUCKETS as u32,
            ns_per_tick: TICK,
            since: Since::Start,
            sum_ticks: ticks.sum() as u64,
            min_ticks: ticks.min().expect("it was put in"),
            max_ticks: ticks.max().expect("it was put in"),
            gap_ticks,
            buckets: Latency::pack(ticks.counts()),
        }));
    }
    let rounds = 0..300_u64;
    record.self_check = Some(SelfCheck {
        cycle_counter: true,
        ns_per_tick: TICK,
        timer_ns: 9.5,
        null_loop_ns: 14.5,
        operations: 1000,
        untimed_ns: rounds.clone().map(|round| 380_000 + 1000 * (round % 7)).collect(),
        timed_ns: rounds.map(|round| 383_000 + 1000 * (round % 7) + 10 * (round % 5)).collect(),
        accounted: 0.9995,
        delays: vec![Delay { injected_ns: 20_000, injected: 200, found: 199, found_ns: 20_050.0 }],
    });
    record.end.as_mut().expect("it was put in").null_loop_ns = Some(14.5);
    record
}

fn report_of(record: &Record) -> Report {
    report_on(record).expect("the record can be summarised")
}

fn single(report: &Report, arm: usize) -> Operations {
    report.summary.arms[arm]
        .timing
        .as_ref()
        .expect("it was put in")
        .single
        .clone()
        .expect("single operations were timed")
}

fn render(format: &str, record: &Record) -> String {
    let report = report_of(record);
    let view = View { width: 100, style: Style { color: false, unicode: true } };
    let format = format_named(format).expect("one of FORMATS");
    assert_eq!((format.refuses)(&report), None);
    format.render(&report, &view)
}

/// Joins the lines of paragraphs.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Adds `ns` to the cost of timing an operation.
fn dearer(record: &mut Record, ns: u64) {
    let check = record.self_check.as_mut().expect("it was put in");
    check.timed_ns.iter_mut().for_each(|block| *block += ns * 1000);
}

fn timer_cost(report: &Report) -> Option<(f64, bool)> {
    report.warnings.iter().find_map(|advisory| match &advisory.warning {
        Warning::TimerCost { percent, quantiles_refused, .. } => Some((*percent, *quantiles_refused)),
        _ => None,
    })
}

#[test]
fn look_ups_of_one_name_stand_in_a_table_as_the_source_has_them() {
    let mut record = lookups();
    for planned in &mut record.header.plan.arms {
        if let Work::Lookup { keys, .. } = &mut planned.work {
            *keys = Keys::Fixed;
        }
    }
    let table = |record: &Record| {
        let report = report_on(record).unwrap();
        let view = View { width: 100, style: Style { color: false, unicode: true } };
        format_named("table").unwrap().render(&report, &view)
    };
    let title = "The source's table, measured here";
    assert!(!record.header.plan.published.is_empty());
    let text = table(&record);
    let part = &text[text.find(title).expect("the table")..];
    let row =
        |start: &str| part.lines().find(|line| line.trim_start().starts_with(start)).unwrap().to_owned();
    let columns: Vec<String> = row("looked up").split_whitespace().map(str::to_owned).collect();
    assert_eq!(columns, ["looked", "up", "Mean", "Error", "StdDev", "Median", "Ratio"]);
    record.header.plan.published.clear();
    assert!(!table(&record).contains(title), "a study without a source");
    assert!(row("base").trim_end().ends_with(" 1"), "{}", row("base"));
    assert!(row("half").contains("0.501x ["), "{}", row("half"));
}

#[test]
fn quantiles_cover_all_operations_with_intervals_over_rounds() {
    let report = report_of(&lookups());
    assert_eq!(report.warnings, []);
    let [base, half] = [0, 2].map(|arm| single(&report, arm));
    assert_eq!((base.operations, base.since), (20_000, Since::Start));
    let (quantiles, halved) = (base.quantiles.unwrap(), half.quantiles.unwrap());
    assert!((quantiles.p50_ns.value - 400.0).abs() < 12.0, "{quantiles:?}");
    assert!((quantiles.p999_ns.value - 4000.0).abs() < 300.0, "{quantiles:?}");
    assert!(quantiles.max_ns >= quantiles.p999_ns.value);
    assert!((halved.p50_ns.value - 200.0).abs() < 6.0, "{halved:?}");
    for figure in [quantiles.p50_ns, quantiles.p90_ns, quantiles.p99_ns, quantiles.p999_ns] {
        assert!(figure.interval.is_some_and(|interval| interval.contains(figure.value)), "{figure:?}");
    }
    assert!((base.accounted.unwrap() - 1.0).abs() < 0.002, "{:?}", base.accounted);
    let table = unwrapped(&render("table", &lookups()));
    for words in
        ["How long do single operations take?", "adds 3.02 ns [3.02, 3.02] to a cached fstatat", "p99.9"]
    {
        assert!(table.contains(words), "{words} is not in {table}");
    }
    let csv = render("csv", &lookups());
    let row = csv.lines().nth(5).unwrap();
    assert!(
        row.split(',').rev().take(6).all(|field| field.parse::<f64>().is_ok_and(|number| number > 0.0)),
        "{row}"
    );
}

#[test]
fn few_rounds_have_quantiles_without_intervals() {
    let mut record = lookups();
    record.samples.retain(|sample| sample.round < 4);
    let base = single(&report_of(&record), 0).quantiles.unwrap();
    assert!(base.p50_ns.interval.is_none() && (base.p50_ns.value - 400.0).abs() < 15.0);
}

#[test]
fn measuring_that_costs_much_warns_and_then_refuses_quantiles() {
    let mut record = lookups();
    // 3 ns of 200 are 1.5 %.
    assert_eq!(timer_cost(&report_of(&record)), None);
    dearer(&mut record, 7);
    let (percent, refused) = timer_cost(&report_of(&record)).unwrap();
    assert!(!refused && (4.0..6.0).contains(&percent), "{percent}");
    // 23 ns are more than a tenth of the fast arm's mean of 218, and less than a tenth of the slow arm's.
    dearer(&mut record, 15);
    let report = report_of(&record);
    assert!(timer_cost(&report).unwrap().1);
    assert_eq!(single(&report, 2).quantiles, None);
    assert!(single(&report, 0).quantiles.is_some());
    assert!(render("table", &record).contains("refused"));
}

#[test]
fn missing_delays_and_lost_time_are_reported() {
    let mut record = lookups();
    record.self_check.as_mut().unwrap().delays[0].found = 120;
    let report = report_of(&record);
    assert!(report.warnings[0].loud && report.warnings[0].warning == Warning::DelaysNotFound);
    assert!(unwrapped(&render("table", &record)).contains("NOT FOUND"));

    let mut record = lookups();
    record.self_check.as_mut().unwrap().accounted = 0.993;
    let lost = |warning: &Warning, of: Option<&str>| matches!(warning, Warning::Unaccounted { arm, .. } if arm.as_deref() == of);
    assert!(lost(&report_of(&record).warnings[0].warning, None));

    let mut record = lookups();
    record
        .samples
        .iter_mut()
        .filter(|sample| sample.arm.0 == 2)
        .for_each(|sample| sample.elapsed_ns += 9_000);
    assert!(report_of(&record).warnings.iter().any(|advisory| lost(&advisory.warning, Some("half"))));
}

#[test]
fn contradictory_times_are_refused() {
    type Damage = fn(&mut Latency);
    let damages: [Damage; 5] = [
        |latency| latency.sub_buckets = 64,
        |latency| latency.ns_per_tick = 0.0,
        |latency| latency.max_ticks *= 2,
        |latency| latency.buckets.push(1),
        |latency| latency.buckets[1] += 1,
    ];
    for damage in damages {
        let mut record = lookups();
        damage(record.samples[7].latency.as_mut().unwrap());
        assert!(matches!(report_on(&record), Err(SummaryError::Sample { .. })));
    }
}

#[test]
fn at_a_rate_times_count_from_planned_starts_and_a_missed_rate_is_reported() {
    let mut record = lookups();
    for planned in &mut record.header.plan.arms {
        (planned.rate_per_s, planned.operations) = (Some(10_000), Some(1000));
    }
    for sample in &mut record.samples {
        sample.latency.as_mut().unwrap().since = Since::IntendedStart;
        // 1000 operations at 10 000 per second.
        sample.elapsed_ns = 99_901_000;
    }
    let report = report_of(&record);
    assert_eq!(report.warnings, []);
    let rate = single(&report, 0).rate.unwrap();
    assert!(rate.target_per_s == 10_000 && (rate.achieved_per_s - 10_000.0).abs() < 1.0, "{rate:?}");
    assert_eq!(single(&report, 0).accounted, None);
    // The mean of the times, not the block's time divided by its operations.
    let time_ns = report.summary.arms[0].timing.as_ref().unwrap().time_ns.value;
    assert!((time_ns - 437.0).abs() < 15.0, "{time_ns}");
    assert!(render("table", &record).contains("10 000 to start a second (open loop)"));
    for sample in record.samples.iter_mut().filter(|sample| sample.arm.0 == 1) {
        sample.elapsed_ns *= 2;
    }
    let report = report_of(&record);
    let behind = report.warnings.iter().find_map(|advisory| match &advisory.warning {
        Warning::RateNotKept { arm, achieved_per_s, .. } => Some((arm.clone(), *achieved_per_s)),
        _ => None,
    });
    assert!(behind.is_some_and(|(arm, rate)| arm == "base (itself)" && (rate - 5000.0).abs() < 1.0));
}

#[test]
fn histogram_log_is_read_equally_by_its_own_library() {
    let mut record = lookups();
    record.header.plan.arms[2].name = "half, the other".into();
    record.notes.push(note("load", "A note."));
    let log = render("hdr", &record);
    let report = report_of(&record);
    let mut tags = Vec::new();
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        let LogEntry::Interval(interval) = entry.expect("every line is understood") else { continue };
        tags.push(interval.tag().expect("every line has a tag").as_str().to_owned());
        let packed = interval.encoded_histogram();
        let bytes = base64_of(packed);
        let hdr: Hdr<u64> = Deserializer::new().deserialize(&mut &bytes[..]).expect("a V2 histogram");
        let arm = single(&report, tags.len() - 1);
        let ours = arm.quantiles.unwrap();
        assert_eq!(hdr.len(), arm.operations);
        for (p, value) in [
            (0.5, ours.p50_ns.value),
            (0.9, ours.p90_ns.value),
            (0.99, ours.p99_ns.value),
            (0.999, ours.p999_ns.value),
            (1.0, ours.max_ns),
        ] {
            // Buckets of the record are 1/128 wide, those in the log narrower; times are whole nanoseconds.
            let theirs = hdr.value_at_quantile(p) as f64;
            assert!((theirs - value).abs() <= value / 128.0 + 1.0, "{p}: {theirs} {value}");
        }
    }
    assert_eq!(tags, ["base", "base_(itself)", "half__the_other"]);
}

#[test]
fn a_start_beyond_all_clocks_does_not_end_the_log() {
    let mut record = lookups();
    record.header.started_unix_s = u64::MAX;
    let log = render("hdr", &record);
    assert_eq!(log.lines().filter(|line| line.starts_with("Tag=")).count(), 3, "{log}");
}

#[test]
fn a_record_without_such_times_has_no_log() {
    let record = Synthetic::ratios(&[]).record();
    let report = report_of(&record);
    let refused = (format_named("hdr").unwrap().refuses)(&report);
    assert!(refused.is_some_and(|why| why.contains("lookup")));
}

/// Decodes base64, the encoding of histograms in interval logs.
fn base64_of(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut held) = (0_u32, 0);
    let mut bytes = Vec::new();
    for digit in text.bytes().filter(|digit| *digit != b'=') {
        let value = DIGITS.iter().position(|known| *known == digit).expect("a digit of base64");
        bits = (bits << 6) | value as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

/// The look-ups as work on files by several workers, with operations so short that timing them matters.
fn short_work(workers: u32) -> Report {
    let mut record = lookups();
    work_on_files(&mut record, |_| files(FileOperation::Read, (0, 1000 / u64::from(workers)), workers));
    for sample in &mut record.samples {
        sample.elapsed_ns /= 10;
    }
    report_of(&record)
}

#[test]
fn timing_cost_is_compared_with_the_time_of_a_worker() {
    let cost = |workers| {
        short_work(workers).warnings.into_iter().find_map(|advisory| match advisory.warning {
            Warning::TimerCost { percent, .. } => Some(percent),
            _ => None,
        })
    };
    let (alone, two) = (cost(1).expect("it is warned of"), cost(2).expect("it is warned of"));
    assert!((alone / two - 2.0).abs() < 0.01, "{alone} {two}");
}

#[test]
fn gaps_of_work_on_files_check_nothing() {
    assert_eq!(single(&short_work(1), 0).accounted, None);
    assert!(
        !short_work(1)
            .warnings
            .iter()
            .any(|advisory| matches!(advisory.warning, Warning::Unaccounted { .. }))
    );
}
