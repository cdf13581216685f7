//! Windows: every method returns the standard library's attributes, for names and paths of any form, and
//! follows no reparse point that redirects.
#![cfg(windows)]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

mod attributes;
mod links;
mod names;
mod remove;
mod support;
