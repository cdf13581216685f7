//! Limits of directories on real file systems: predictions held against fills, refusals explained by what was met; Linux, root.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod churn;
mod explained;
mod fill;
mod image;
