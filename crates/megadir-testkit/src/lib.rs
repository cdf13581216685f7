//! Trees, a faulty backend and conformance suites for testing megadir; a development dependency only. Each
//! assertion holds for every backend, present and future.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

/// Long enough for a very busy machine.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(600);

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
