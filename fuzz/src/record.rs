//! Reader of records on arbitrary bytes: it never panics, its result refers only to items of the plan, and can
//! be written and read again.

use megadir_record::jsonl::{Line, Record, Writer, read};

/// Panics if a promise is broken.
pub fn check(bytes: &[u8]) {
    match read(bytes) {
        Ok(record) => {
            follows_its_plan(&record);
            write_and_read(&record);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Checks the invariants on which resuming and reports rely.
fn follows_its_plan(record: &Record) {
    let (plan, samples) = (&record.header.plan, &record.samples);
    assert!(!plan.arms.is_empty());
    assert!(plan.arms.iter().enumerate().all(|(place, arm)| arm.id.0 as usize == place));
    assert!(plan.arms.iter().all(|arm| plan.data.get(arm.data.0 as usize).is_some()));
    assert!(samples.iter().all(|sample| plan.arms.get(sample.arm.0 as usize).is_some()));
    assert!(samples.is_sorted_by_key(|sample| sample.epoch));
}

fn write_and_read(record: &Record) {
    let Ok(mut writer) = Writer::start(Vec::new(), record.header.clone()) else { return };
    for sample in &record.samples {
        if writer.write(&Line::Sample(sample.clone())).is_err() {
            return;
        }
    }
    let again = read(&writer.into_inner()[..]);
    assert!(
        again.is_ok_and(|again| again.samples.len() == record.samples.len()),
        "a written record is read back"
    );
}
