//! End-to-end tests of `megadir limits` (Linux).
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod answer;
mod cost;
mod golden;
pub(crate) mod refused;
mod study;
mod watch;
