//! System calls, clocks and counters without a safe wrapper in a well-kept crate.
//!
//! The only crate of the workspace with `unsafe` code; its interface is safe. Each module wraps one thing and
//! knows nothing of entries, batches or benchmarks:
//!
//! * [`getdents`]: the raw call, into a caller's buffer (Linux).
//! * [`xfs_bulkstat`], [`btrfs_search`]: attributes of many inodes in one call, for privileged users (Linux);
//!   [`directory_on`] makes them safe.
//! * [`ext4_features`], [`xfs_geometry`], [`btrfs_info`], [`quota`]: properties of a file system (Linux).
//! * [`page_cache`]: share of a file in the page cache (Linux).
//! * `uring` (optional feature `io-uring`): statx for many names in one call (Linux).
//! * [`cpp_filesystem`]: directory listing by the C++ library (optional feature `cpp`).
//! * [`io_priority`]: idle class (Linux).
//! * [`descriptors`]: a descriptor table per thread (Linux).
//! * [`mount_namespace`], [`loop_device`], [`child`]: mounts, devices and programs that end with their process
//!   (Linux).
//! * [`readdir`]: the C library's directory stream (Unix).
//! * `windows`: directories and files by handle, ways of reading a directory, system properties (Windows).
//! * `standard_streams` (feature of that name): streams that were closed at program start (Linux).
//! * [`clock`]: cycle counter and monotonic clock.
//! * [`processor`]: the hypervisor's name.
//! * [`usage`]: processor time of this process.
//!
//! Calls with a safe wrapper in rustix (openat, statx, lseek, ioctls) are used from there by the other crates.
#![expect(unsafe_code, reason = "the one crate where system interfaces without a safe wrapper are called")]

#[cfg(target_os = "linux")]
pub mod btrfs_info;
#[cfg(target_os = "linux")]
pub mod btrfs_search;
#[cfg(target_os = "linux")]
pub mod child;
pub mod clock;
pub mod cpp_filesystem;
#[cfg(target_os = "linux")]
pub mod descriptors;
#[cfg(target_os = "linux")]
pub mod directory_on;
#[cfg(target_os = "linux")]
pub mod ext4_features;
#[cfg(target_os = "linux")]
pub mod getdents;
#[cfg(target_os = "linux")]
pub mod io_priority;
#[cfg(target_os = "linux")]
pub mod loop_device;
#[cfg(target_os = "linux")]
pub mod mount_namespace;
#[cfg(target_os = "linux")]
pub mod page_cache;
pub mod processor;
#[cfg(target_os = "linux")]
pub mod quota;
#[cfg(target_os = "linux")]
pub mod readdir;
#[cfg(all(target_os = "linux", feature = "standard-streams"))]
pub mod standard_streams;
#[cfg(all(target_os = "linux", feature = "io-uring"))]
pub mod uring;
pub mod usage;
#[cfg(windows)]
pub mod windows;
#[cfg(target_os = "linux")]
pub mod xfs_bulkstat;
#[cfg(target_os = "linux")]
pub mod xfs_geometry;
