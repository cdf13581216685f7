//! Bulk stat backends return for every *name* what `std` and statx return: with mounts on files, below subvolumes,
//! for names that change hands, and without waiting for the disk.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

mod changing;
mod coherent;
mod ext4;
mod mounted;
mod refused;
mod settled;
mod support;
