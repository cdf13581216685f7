//! File systems made and mounted for a run, on real loop devices.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod conformance;
mod device;
mod made;
mod memory_disk;
mod support;
