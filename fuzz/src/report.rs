//! Every renderer on modified records: a record that the reader accepts is summarised, rendered in every format
//! and chart, and compared with itself, without a panic.
//!
//! The mutator changes one value of one JSON line at a time, so that most inputs are still records, and now and
//! then single bytes. Records in the corpus have no checksums, as in older programs: otherwise no change would
//! reach a renderer.

use megadir_record::jsonl::read_partly;
use megadir_report::between::{Run, between, table};
use megadir_report::chart::{CHARTS, document};
use megadir_report::{FORMATS, Report, Style, View};
use serde_json::{Number, Value};

/// Longer records take seconds to render.
const BYTES_MAX: usize = 64 << 10;

/// Panics if a promise is broken.
pub fn check(bytes: &[u8]) {
    if bytes.len() > BYTES_MAX {
        return;
    }
    let Ok((record, _)) = read_partly(bytes) else { return };
    let Ok(report) = Report::of(record) else { return };
    for view in [
        View { width: 20, style: Style { color: true, unicode: false } },
        View { width: 100, style: Style { color: false, unicode: true } },
    ] {
        for format in FORMATS.iter().filter(|format| format.missing.is_none()) {
            if (format.refuses)(&report).is_none() {
                let _ = (format.write)(&report, &view, &mut Vec::new());
            }
        }
        let run = Run { name: "record", report: &report };
        for runs in [&[run][..], &[run; 3]] {
            let compared = between(runs, runs).expect("each side has a run");
            let _ = table(&compared, view.width, view.style);
        }
    }
    for chart in CHARTS {
        let _ = document(&report, chart, 1);
    }
}

/// Returns the lines with one value changed; `None` if there is none.
pub fn changed(text: &[u8], seed: u32) -> Option<Vec<u8>> {
    let mut random = Random(u64::from(seed));
    let mut lines: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    // Half of the changes are in the header, which has the most to get wrong.
    let place = if random.below(2) == 0 { 0 } else { random.below(lines.len()) };
    match random.below(12) {
        0 => lines.insert(place, lines[place].clone()),
        1 if lines.len() > 2 => drop(lines.remove(place.max(1))),
        _ => {
            let mut line: Value = serde_json::from_slice(&lines[place]).ok()?;
            let mut numbers = 0;
            each_number(&mut line, &mut |_| numbers += 1);
            let mut left = random.below(numbers.max(1));
            each_number(&mut line, &mut |value| {
                if left == 0 {
                    *value = random.value(value);
                }
                left = left.wrapping_sub(1);
            });
            lines[place] = serde_json::to_vec(&line).ok()?;
        }
    }
    Some(lines.join(&b'\n'))
}

/// Calls `call` for every number in a value.
fn each_number(value: &mut Value, call: &mut impl FnMut(&mut Value)) {
    match value {
        Value::Number(_) => call(value),
        Value::Array(values) => values.iter_mut().for_each(|value| each_number(value, call)),
        Value::Object(values) => values.iter_mut().for_each(|(_, value)| each_number(value, call)),
        _ => {}
    }
}

/// Simple pseudorandom generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// Returns a value that tends to be at a limit.
    fn value(&mut self, old: &Value) -> Value {
        const WHOLE: [u64; 10] =
            [0, 1, 2, 7, 1000, 1 << 31, u32::MAX as u64, 1 << 53, i64::MAX as u64, u64::MAX];
        const REAL: [f64; 12] = [0.0, -0.0, -1.0, 1e-300, 1e-9, 0.5, 1.0, 1.5, 1e9, 1e19, 1e100, f64::MAX];
        match self.below(4) {
            0 => Value::from(WHOLE[self.below(WHOLE.len())]),
            1 => Value::from(old.as_u64().unwrap_or(1).wrapping_add(1)),
            2 => Value::from(old.as_u64().unwrap_or(1).wrapping_mul(10)),
            _ => Number::from_f64(REAL[self.below(REAL.len())]).map_or(Value::Null, Value::Number),
        }
    }
}
