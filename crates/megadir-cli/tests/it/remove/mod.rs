//! End-to-end tests of `megadir remove`, in normal use and under attack (Linux).
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod aside;
mod budget;
mod conditions;
mod faults;
mod interrupted;
mod killed;
mod listed;
mod network;
mod options;
mod packed;
mod permissions;
mod purge;
mod question;
mod race;
mod refused;
mod still_open;
pub(crate) mod witness;
