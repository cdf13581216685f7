//! Times of single operations as an HdrHistogram interval log (V2, compressed), nanoseconds: a line per arm, its name the tag. Format:
//! hdrhistogram.org, log version 1.3. An arm's interval is from its first valid block to its last and includes the turns of other arms.
//!
//! Three digits of the format are finer than the buckets of the record (1/256), so nothing else is lost.

use std::time::{Duration, UNIX_EPOCH};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use crate::report::Report;
use crate::summary::Times;

/// Significant decimal digits.
const DIGITS: u8 = 3;

pub fn hdr(report: &Report) -> String {
    let mut log = Vec::new();
    let written = write(report, &mut log);
    debug_assert!(written.is_some(), "memory takes it, and names are made into tags");
    String::from_utf8(log).unwrap_or_default()
}

/// `None` if a number of the record does not fit the format, which only damaged records have. Texts of the
/// record are reduced to one line: a line break would begin a new entry of the log. Arms without times of
/// single operations have no line.
fn write(report: &Report, log: &mut Vec<u8>) -> Option<()> {
    let (record, rounds) = (&report.record, report.rounds());
    let mut serializer = V2DeflateSerializer::new();
    let since_epoch = Duration::from_secs(record.header.started_unix_s);
    // A damaged record may have any number.
    let started = UNIX_EPOCH.checked_add(since_epoch).unwrap_or(UNIX_EPOCH);
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment(&format!("megadir, study {}", one_line(&record.header.plan.study)))
        .add_comment("times of single operations, nanoseconds");
    if let Some(version) = &record.header.machine.wine {
        let version = one_line(version);
        builder.add_comment(&format!("under Wine {version}: says nothing of Windows"));
    }
    if let Some(emulator) = &record.header.machine.emulator {
        builder.add_comment(&format!("on an emulated processor: {}", one_line(emulator)));
    }
    let mut writer = builder
        .with_start_time(started)
        // The divisor changes only how the column of the maximum is printed; nanoseconds stay nanoseconds.
        .with_max_value_divisor(1.0)
        .begin_log_with(log, &mut serializer)
        .ok()?;
    for arm in &record.header.plan.arms {
        let Some(each) = rounds.times_by_round(arm.id) else { continue };
        let starts = || rounds.samples(arm.id).map(|sample| sample.start_ns);
        let ends = rounds.samples(arm.id).map(|sample| sample.start_ns.saturating_add(sample.elapsed_ns));
        let (start, end) = (starts().min()?, ends.max()?);
        let duration = Duration::from_nanos(end.saturating_sub(start));
        let name = tag(&arm.name);
        let (start, times) = (Duration::from_nanos(start), histogram(&each)?);
        writer.write_histogram(&times, start, duration, Tag::new(&name)).ok()?;
    }
    Some(())
}

fn histogram(each: &[&Times]) -> Option<Histogram<u64>> {
    let mut histogram = Histogram::new(DIGITS).ok()?;
    for (ns, count) in each.iter().copied().flatten() {
        histogram.record_n(*ns, *count).ok()?;
    }
    Some(histogram)
}

/// The log's tags cannot contain commas and spaces.
fn tag(name: &str) -> String {
    name.replace(|letter: char| letter == ',' || letter.is_whitespace() || letter.is_control(), "_")
}

fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
