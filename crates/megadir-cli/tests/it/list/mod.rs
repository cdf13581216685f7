//! End-to-end tests of `megadir list` and `megadir backends` (Linux).
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod backends;
mod bad_input;
mod estimate;
mod explained;
mod golden;
mod habits;
mod hang;
mod long;
mod memory;
mod names;
mod numbers;
mod options;
mod output;
mod raw;
mod recorded;
mod recursive;
mod sample;
mod sort;
mod stat_backend;
mod streaming;
mod summary;
mod terminal;
mod vanishing;
