//! Removing: everything requested is removed, and nothing else.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod aside;
mod bounded;
mod calls;
mod chains;
mod changing;
mod conditions;
mod plain;
mod stays;
mod support;
