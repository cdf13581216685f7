//! Removes the content of one of the run's own directories: relative to the open directory, not following
//! links, not crossing mounts. Studies of removal measure `remove_content` as the plain loop, so it makes no
//! unnecessary system calls.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

use std::sync::atomic::AtomicU64;

#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;

/// Depth limit. The trees of layouts, including the directories of workers and rounds above them, are
/// shallower.
const DEPTH_MAX: u32 = 64;
/// Limit of passes over a directory, in case names are added while it is read.
const PASSES_MAX: u32 = 1_000;

/// Heartbeat of long work, so that a watchdog can distinguish progress from a hang.
pub(crate) type Beat = AtomicU64;
