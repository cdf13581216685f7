//! System calls, clocks and counters without a safe wrapper in a well-kept crate; rustix covers the rest.
//!
//! The only crate of the workspace with `unsafe` code, but for one call. Its interface is safe, except for `process::own_descriptors`.
//!
//! | file | subject |
//! |---|---|
//! | `clock.rs`, `usage.rs`, `processor.rs` | cycle counter; processor time and waiting; hypervisor |
//! | `process.rs`, `child.rs`, `standard_streams.rs` | this process and its threads; programs that end with it; closed streams |
//! | `directory_on.rs`, `readdir.rs`, `file_handle.rs`, `kernel_calls.rs` | directories, handles, and calls that a kernel may lack |
//! | `ext4.rs`, `xfs_bulkstat.rs`, `btrfs_search.rs`, `quota.rs` | ioctls of single file systems; quotas |
//! | `volume.rs` | UUID of any mounted file system |
//! | `extents.rs`, `page_cache.rs`, `loop_device.rs` | blocks of a file, cached pages, images as devices |
//! | `mpi.rs`, `sqlite.rs`, `loader.rs` | MPI and SQLite, loaded at run time |
//! | `cpp_filesystem.rs`, `windows/` | C++ for a benchmark; Windows |
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
pub mod file_handle;
#[cfg(target_os = "linux")]
pub mod kernel_calls;
mod loader;
#[cfg(target_os = "linux")]
pub mod loop_device;
pub mod mpi;
#[cfg(target_os = "linux")]
pub mod page_cache;
#[cfg(target_os = "linux")]
pub mod process;
pub mod processor;
#[cfg(target_os = "linux")]
pub mod quota;
#[cfg(target_os = "linux")]
pub mod readdir;
#[cfg(target_os = "linux")]
pub mod sqlite;
#[cfg(all(target_os = "linux", feature = "standard-streams"))]
pub mod standard_streams;
pub mod usage;
#[cfg(target_os = "linux")]
pub mod volume;
#[cfg(windows)]
pub mod windows;
#[cfg(target_os = "linux")]
pub mod xfs_bulkstat;

#[cfg(target_os = "linux")]
fn succeeded(result: impl Into<libc::c_long>) -> std::io::Result<()> {
    if result.into() == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
