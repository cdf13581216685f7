//! The system calls, clocks and counters that megadir needs and no well-kept crate gives safely.
//!
//! The only crate of the workspace with `unsafe` code; everything that leaves it is safe. Each module
//! wraps one thing and knows nothing of entries, batches or benchmarks:
//!
//! * [`getdents`]: the raw call, into a caller's buffer (Linux).
//! * [`xfs_bulkstat`], [`btrfs_search`]: the attributes of many inodes in one call, for who may (Linux);
//!   [`directory_on`]: what makes them safe.
//! * [`ext4_features`], [`xfs_geometry`], [`btrfs_info`], [`quota`]: what a file system tells of itself (Linux).
//! * [`page_cache`]: how much of a file is cached (Linux).
//! * `uring` (optional feature `io-uring`): statx for many names in one call (Linux).
//! * [`cpp_filesystem`]: C++'s own way of listing a directory (optional feature `cpp`).
//! * [`io_priority`]: the idle class (Linux).
//! * [`descriptors`]: a table of descriptors of a thread's own (Linux).
//! * [`mount_namespace`], [`loop_device`], [`child`]: mounts, devices and programs that go when their process goes (Linux).
//! * [`readdir`]: the C library's directory stream, as the programs under study use it (Unix).
//! * `windows`: directories and files by handle, the ways of reading a directory, and what the system tells of itself (Windows).
//! * `standard_streams` (feature of that name): which of them were closed when the process began (Linux).
//! * [`clock`]: the cycle counter and the monotonic clock.
//! * [`processor`]: what the processor tells of a hypervisor.
//! * [`usage`]: the processor time of this process.
//!
//! What rustix already offers safely (openat, statx, lseek, ioctls) is used from there by the crates
//! above and is not wrapped again.
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
