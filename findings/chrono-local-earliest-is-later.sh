#!/bin/sh
# Wrong guess: `earliest()` of an ambiguous local time is the earlier moment. When clocks are set back, chrono's `Local` returns the later
# moment as the earliest and the earlier one as the latest. Who is hurt: conditions on ages and dates take an hour too much or too little.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
cargo init -q --name f . && cargo add -q chrono@=0.4.45
cat >src/main.rs <<'R'
use chrono::{Local, NaiveDate, TimeZone};
fn main() {
    let twice = NaiveDate::from_ymd_opt(2026, 11, 1).unwrap().and_hms_opt(1, 15, 0).unwrap();
    let local = Local.from_local_datetime(&twice);
    println!("earliest {} latest {}", local.earliest().unwrap().to_rfc3339(), local.latest().unwrap().to_rfc3339());
}
R
cargo build -q
out=$(TZ=America/New_York target/debug/f); echo "chrono 0.4.45: $out"
test "$out" = "earliest 2026-11-01T01:15:00-05:00 latest 2026-11-01T01:15:00-04:00"
