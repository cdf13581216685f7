//! Limits on real file systems: predictions compared with fills, and refusals explained. Linux, root.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

mod churn;
mod explained;
mod fill;
mod image;
mod predicted;
