//! End-to-end tests of `megadir advise` (Linux).
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod answer;
mod full;
mod measured;
mod refused;
