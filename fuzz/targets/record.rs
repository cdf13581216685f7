//! The reader of records, over arbitrary bytes: it never panics, and what it read can be written and read again.
#![no_main]

use megadir_record::jsonl::{Line, Record, Writer, read};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    match read(bytes) {
        Ok(record) => write_and_read(&record),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

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
        "what was read is a record"
    );
}
