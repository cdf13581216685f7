//! The names of records, from the second at which a run started.

use megadir::{Time, Utc};

/// Returns the name of the record of a run that started then, e.g. `megadir-listing-20260102-030405.jsonl`.
pub fn record_file_name(study: &str, started_unix_s: u64) -> String {
    let seconds = i64::try_from(started_unix_s).unwrap_or(i64::MAX);
    let Utc { year, month, day, hour, minute, second } = Time { seconds, nanoseconds: 0 }.utc();
    format!("megadir-{study}-{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}.jsonl")
}

#[cfg(test)]
mod tests {
    use super::record_file_name;

    #[test]
    fn records_are_named_by_study_and_start() {
        assert_eq!(record_file_name("listing", 1_767_323_045), "megadir-listing-20260102-030405.jsonl");
    }
}
