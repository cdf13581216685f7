//! System calls, clocks and counters without a safe wrapper in a well-kept crate; rustix covers the rest.
//!
//! The only crate of the workspace with `unsafe` code, but for one call. Its interface is safe, except for
//! `unshare::own_descriptors`.
#![expect(unsafe_code, reason = "the one crate where system interfaces without a safe wrapper are called")]

#[cfg(target_os = "linux")]
pub mod btrfs_search;
#[cfg(target_os = "linux")]
pub mod child;
pub mod clock;
pub mod cpp_filesystem;
#[cfg(target_os = "linux")]
pub mod directory_on;
#[cfg(target_os = "linux")]
pub mod ext4;
#[cfg(target_os = "linux")]
pub mod extents;
#[cfg(target_os = "linux")]
pub mod io_priority;
#[cfg(target_os = "linux")]
pub mod kernel_calls;
#[cfg(target_os = "linux")]
pub mod loop_device;
#[cfg(target_os = "linux")]
pub mod mapping;
pub mod mpi;
#[cfg(target_os = "linux")]
pub mod page_cache;
pub mod processor;
#[cfg(target_os = "linux")]
pub mod quota;
#[cfg(target_os = "linux")]
pub mod readdir;
#[cfg(target_os = "linux")]
pub mod resident;
#[cfg(target_os = "linux")]
pub mod signals;
#[cfg(all(target_os = "linux", feature = "standard-streams"))]
pub mod standard_streams;
#[cfg(target_os = "linux")]
pub mod unshare;
pub mod usage;
#[cfg(windows)]
pub mod windows;
#[cfg(target_os = "linux")]
pub mod xfs_bulkstat;

#[cfg(target_os = "linux")]
fn succeeded(result: impl Into<libc::c_long>) -> std::io::Result<()> {
    if result.into() == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
