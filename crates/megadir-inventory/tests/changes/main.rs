//! Compares the output of `changes` with an oracle that compares full listings of the standard library.
#![cfg(any(target_os = "linux", windows))]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod granule;
#[cfg(target_os = "linux")]
mod keep;
mod operations;
mod oracle;
mod property;
#[cfg(target_os = "linux")]
mod removed;
mod replay;
#[cfg(target_os = "linux")]
mod skipping;
#[cfg(target_os = "linux")]
mod snapshot;
#[cfg(target_os = "linux")]
mod subvolumes;

/// Options of a comparison without conditions.
fn options(threads: usize, skip_unchanged: bool) -> megadir_inventory::changes::CompareOptions {
    use megadir_inventory::changes::CompareOptions;
    CompareOptions { skip_unchanged, ..CompareOptions::new(threads) }
}
