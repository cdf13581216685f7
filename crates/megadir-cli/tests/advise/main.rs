//! End-to-end tests of `megadir advise` (Linux).
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod answer;
mod full;
mod measured;
mod refused;
#[path = "../list/support.rs"]
#[expect(dead_code, reason = "what other suites need beside")]
mod support;
