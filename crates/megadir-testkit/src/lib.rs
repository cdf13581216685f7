//! Trees, a faulty backend and conformance suites for testing megadir; a development dependency only.
//!
//! The suites do not know how a backend works inside: each assertion holds for every backend, present and
//! future.
//!
//! * [`tree`]: flat directories of any size, deterministic by seed, in constant memory.
//! * [`mount`]: private file systems on loop devices, unmounted on drop (Linux, root).
//! * [`network`]: network file systems with their servers in a namespace (Linux, root, Debian packages).
//! * [`output`]: output and exit codes of programs; golden files.
//! * [`require`](mod@require): reports tests that cannot run; `full` selects the long tier.
//! * [`seen`]: collected entries of a reader, and the contract at its end.
//! * [`faulty`]: a backend whose n-th call fails. [`untyped`]: one without file types.
//! * [`hanging`]: a mount that never answers (Linux, root).
//! * [`killed`]: kills a program before each of its system calls in turn (Linux, strace).
//! * [`leaks`]: leaked descriptors and threads (Linux; handles on Windows).
//! * [`conformance`]: the suite for backends (Linux, Windows). [`examining`]: the suite for examiners (Linux).
//! * [`unprivileged`](mod@unprivileged): runs code as a user without privileges (Linux).
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

/// Time limit for events that must happen eventually, long enough for a very busy machine.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(600);

#[cfg(any(target_os = "linux", windows))]
pub mod conformance;
#[cfg(target_os = "linux")]
pub mod examining;
pub mod faulty;
#[cfg(target_os = "linux")]
pub mod hanging;
#[cfg(target_os = "linux")]
pub mod killed;
#[cfg(any(target_os = "linux", windows))]
pub mod leaks;
#[cfg(target_os = "linux")]
pub mod mount;
#[cfg(target_os = "linux")]
pub mod network;
pub mod output;
pub mod require;
pub mod rng;
pub mod seen;
pub mod tree;
#[cfg(target_os = "linux")]
pub mod unprivileged;
pub mod untyped;
