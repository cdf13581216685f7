//! End-to-end tests of `megadir limits` (Linux).
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod answer;
mod cost;
mod golden;
mod refused;
mod study;
#[path = "../list/support.rs"]
#[expect(dead_code, reason = "what other suites need beside")]
mod support;
mod watch;
