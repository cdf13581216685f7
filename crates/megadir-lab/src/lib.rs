//! File systems made and mounted for a run or a test, each on its own image or device. Dropping a value releases what it holds.
//!
//! The engine adds a directory that the next run removes after a kill (`megadir_bench::lab`), the tests add
//! recipes (`megadir_testkit::mount`).
//!
//! | file | subject |
//! |---|---|
//! | `spec.rs`, `table.rs` | `ext4:block=1k`, and one row per file system |
//! | `disk_spec.rs` | `memory:limit=4G`, and one row per kind of disk below an image |
//! | `disk.rs`, `image.rs`, `device.rs` | an image on a loop device; checks that a user's device may be erased |
//! | `memory.rs`, `memory.sh` | devices in memory, which a keeper removes when the run ends |
//! | `rotating/` | a model of a rotating disk: its timing, and the process that serves it |
//! | `mount.rs`, `mounted.rs` | mounts in a private namespace; a mounted file system, removed on drop |
//! | `patience.rs` | attempts that are repeated while other programs hold a device or a mount |
//! | `program.rs`, `keeper.sh` | mkfs and FUSE servers that end with the run |
//! | `control.rs`, `error.rs` | cancellation and heartbeat; errors of one line |
//!
//! Life of a file system on an image. Every layer is released by the drop of the value that owns it, in the
//! reverse order, so that an early return or a panic leaves nothing; a kill leaves only what the kernel
//! releases without us.
//!
//! ```text
//!  sparse file        loop device        mkfs            mount in a namespace of the run
//!  make_image ------> Disk::attach ----> format -------> attach ------------------> work on it
//!  (no name)          (or zram)             ^               ^                          |
//!                                           |               +--- remount: cold cache --+
//!                                           +------------------- reformat: new life ---+
//!  drop: unmount, end the FUSE server, remove the mount point, detach the device, free the image
//! ```

pub mod control;
#[cfg(target_os = "linux")]
pub mod device;
#[cfg(target_os = "linux")]
mod disk;
mod disk_spec;
mod error;
#[cfg(target_os = "linux")]
mod image;
#[cfg(target_os = "linux")]
pub mod memory;
#[cfg(target_os = "linux")]
pub mod mount;
#[cfg(target_os = "linux")]
mod mounted;
#[cfg(target_os = "linux")]
mod patience;
#[cfg(target_os = "linux")]
pub mod program;
#[cfg(target_os = "linux")]
pub mod rotating;
mod spec;
mod table;

pub use control::RunControl;
#[cfg(target_os = "linux")]
pub use disk::{Cold, Disk};
pub use disk_spec::{DISKS, DiskKind, DiskSpec, Measure, Parameter, disks_in_words};
pub use error::LabError;
#[cfg(target_os = "linux")]
pub use image::make_image;
#[cfg(target_os = "linux")]
pub use mounted::Mounted;
#[cfg(target_os = "linux")]
pub use program::{missing, tool};
pub use spec::{Backing, Spec};
pub use table::{Changes, Entry, FILE_SYSTEMS, LABEL, Takes, Variant};
