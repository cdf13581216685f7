//! Tests of the program on Windows, by subject.
#![cfg(windows)]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod bench;
mod files;
mod limits;
mod list;
mod machine;
mod make;
mod names;
mod refused;
mod remove;
mod scan;
mod studies;
mod support;
mod work;
