//! Removes the content of a directory of the run's own: relative to the open directory, never through links, never across mounts.
//!
//! `remove_content` is also the plain loop that studies of removing measure: it makes no more system calls than it needs.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

use std::sync::atomic::AtomicU64;

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// The deepest tree that is removed; layouts, with the directories of workers and rounds above them, are not as deep.
const DEPTH_MAX: u32 = 64;
/// A directory is read again from its start at most this often, for names that came while it was read.
const PASSES_MAX: u32 = 1_000;

/// The sign of life that long work gives, so that a watcher can tell work from a hang.
pub(crate) type Beat = AtomicU64;
