//! `megadir reshard`: every file has one of its two paths at all times, and nothing outside is touched.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod faults;
mod follow;
mod full;
mod killed;
mod layout;
mod offline;
mod options;
mod race;
mod readers;
mod refused;
mod renewal_race;
mod renewed;
mod support;
mod without_noreplace;
