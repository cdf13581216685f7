//! Removing: everything requested is removed, and nothing else.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

mod aside;
mod bounded;
mod calls;
mod chains;
mod changing;
mod conditions;
mod plain;
mod stays;
mod support;
