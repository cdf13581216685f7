//! What is promised on Windows: every way of reading brings the attributes that the standard library tells, names and paths of any
//! form, and nothing is followed that stands for another path.
#![cfg(windows)]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod attributes;
mod links;
mod names;
mod remove;
mod support;
