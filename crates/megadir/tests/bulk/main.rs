//! The examiners that ask for inodes by number tell of every *name* what `std` and statx tell of it: where
//! something is mounted on a file, below a subvolume, where names change hands, and without waiting for the disk.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod changing;
mod mounted;
mod refused;
mod settled;
mod support;
