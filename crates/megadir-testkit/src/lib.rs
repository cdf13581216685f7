//! Trees, a faulty backend and conformance suites for testing megadir; a development dependency only.
//!
//! | file | subject |
//! |---|---|
//! | `conformance/`, `stat_conformance/` | what every backend and stat backend must do |
//! | `faulty.rs`, `killed.rs`, `leaks.rs` | failing calls, programs killed at every call, leaked descriptors and threads |
//! | `mount.rs`, `network.rs`, `namespace.rs`, `slurm.rs` | file systems, servers and clusters for one test |
//! | `tree.rs`, `rng.rs`, `seen.rs` | directories of any size, random numbers, collected entries |
//! | `output.rs`, `require.rs`, `unprivileged.rs` | output of a program, tests that cannot run, users without privileges |
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::time::{Duration, Instant};

/// Long enough for a very busy machine.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// Repeats an attempt until it succeeds or [`PATIENCE`] ends; returns its last result.
/// The limit is no expectation: on a machine under load a short one would fail tests that are right.
pub fn patiently<T, E>(mut attempt: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match attempt() {
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            ended => return ended,
        }
    }
}

#[cfg(any(target_os = "linux", windows))]
pub mod conformance;
pub mod faulty;
#[cfg(target_os = "linux")]
pub mod killed;
#[cfg(any(target_os = "linux", windows))]
pub mod leaks;
#[cfg(target_os = "linux")]
pub mod mount;
#[cfg(target_os = "linux")]
pub mod namespace;
#[cfg(target_os = "linux")]
pub mod network;
pub mod output;
pub mod require;
pub mod rng;
pub mod seen;
#[cfg(target_os = "linux")]
pub mod slurm;
#[cfg(target_os = "linux")]
pub mod stat_conformance;
pub mod tree;
#[cfg(target_os = "linux")]
pub mod unprivileged;
