//! Trees, a faulty backend and the conformance suite for testing megadir.
//!
//! Used from tests only. It must never know how a backend works inside: whatever it asserts holds for
//! every backend, present and future.
//!
//! * [`tree`]: flat directories of any size, deterministic by seed, in constant memory; the names in a directory.
//! * [`mount`]: private file systems on loop devices, unmounted when dropped (Linux, root).
//! * [`network`]: network file systems, their servers alone in a namespace (Linux, root, Debian's packages).
//! * [`output`]: what a program said and ended with; texts that are kept in files.
//! * [`require`](mod@require): tests that cannot run say so; `full` tells the long tier.
//! * [`seen`]: what a reader gave, owned and comparable, and the contract of a reader's end.
//! * [`faulty`]: a backend whose n-th call fails. [`untyped`]: one that tells no types.
//! * [`hanging`]: a mount that never answers (Linux, root).
//! * [`killed`]: a program killed before each of its system calls in turn (Linux, strace).
//! * [`leaks`]: descriptors and threads that are still there (Linux; handles on Windows).
//! * [`conformance`]: the suite that every backend passes (Linux, Windows). [`examining`]: the one for examiners (Linux).
//! * [`unprivileged`](mod@unprivileged): running as a user without privileges (Linux).
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

/// How long something is waited for that happens sooner or later: only what never does takes so long, on a machine however busy.
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
