//! Lists, summarises and removes directories with millions of entries, in batches, by the fastest method of each file system.
//!
//! ```
//! let mut listing = megadir::Listing::with_threads(".", 2)?;
//! while let Some(batch) = listing.next_batch()? {
//!     for entry in batch {
//!         println!("{} {}", entry.inode, String::from_utf8_lossy(entry.name));
//!     }
//! }
//! println!("read by {}", listing.choice());
//! # Ok::<(), megadir::Error>(())
//! ```
//!
//! A tree, by several threads:
//!
//! ```
//! use megadir::{Dir, Walk, WalkItem, WalkOptions};
//!
//! let mut walk = Walk::new(Dir::open(".")?, &WalkOptions::new(2))?;
//! while let Some(item) = walk.next_item() {
//!     match item {
//!         WalkItem::Batch { directory, batch, .. } => println!("{}: {} entries", directory.display(), batch.len()),
//!         WalkItem::Error(error) => eprintln!("{error}"),
//!         WalkItem::OtherMount(path) => eprintln!("{}: not entered", path.display()),
//!         WalkItem::End { .. } => {}
//!     }
//! }
//! # Ok::<(), megadir::Error>(())
//! ```
//!
//! It is not on crates.io yet; with a clone next to your own package, in `Cargo.toml`:
//!
//! ```toml
//! [dependencies]
//! megadir = { path = "../megadir/crates/megadir" }
//! ```
//!
//! | task | API |
//! |---|---|
//! | names in one directory | [`Listing`] |
//! | entries with their attributes | [`AttributeListing`] |
//! | a tree, by several threads | [`Walk`] |
//! | a part of a tree, until a budget is spent | [`PartialWalk`] |
//! | number of entries, in milliseconds | `estimate()` (Linux) |
//! | figures about a directory or a tree | [`mod@summary`] |
//! | entries and bytes of every subtree | [`usage`] |
//! | a random sample of entries | [`sample`] |
//! | space left in a directory, and the limit behind a failed create | [`limits`] |
//! | paths of files that are spread over directories | [`layout`] |
//! | removing trees and huge directories | [`remove`] |
//! | moving the files of a tree to another layout | `reshard` (Linux) |
//! | choice of methods, with reasons | [`policy`], [`attribute_policy`] |
//! | all methods | [`BACKENDS`], [`STAT_BACKENDS`] |
//! | user input: counts, sizes, ages, misspelt words | [`quantity`], [`nearest`] |
//! | sizes as `ls -h` prints them | [`sizes`] |
//!
//! | files | subject |
//! |---|---|
//! | `dir.rs`, `dir/`, `dir_path.rs`, `tree_path.rs`, `names.rs`, `error.rs` | open directories, their paths, names as bytes, the one error type |
//! | `batch.rs`, `decode.rs`, `file_type.rs`, `options.rs` | entries borrowed from a buffer, and their record format |
//! | `backend/`, `policy.rs`, `listing.rs`, `estimate.rs`, `read_ahead.rs`, `inodes_ahead/` | ways to read a directory, their choice, and one listing; counts without listing; blocks that the device reads early |
//! | `stat/`, `attributes/`, `attribute_listing/`, `ext4_disk.rs`, `directory_information.rs` | ways to read attributes, their choice, and two decoders |
//! | `walk/`, `conditions/`, `summary/`, `usage/`, `sample.rs` | trees, conditions on entries, figures, samples |
//! | `mount_traits/`, `mounts.rs`, `file_system.rs`, `block_device.rs` | what a mount can be trusted with; mount table, devices |
//! | `limits/`, `layout/` | capacity of a directory; names to paths |
//! | `remove/`, `reshard/`, `likeness.rs`, `pace.rs`, `io_priority.rs`, `threads.rs` | removal, moves to another layout, and what they share |
//! | `quantity.rs`, `nearest.rs`, `sizes.rs` | user input and output of numbers and words |
//!
//! Names are bytes ([`names`]). A reader's memory is bounded by its buffers. Everything below a [`Dir`] is
//! reached relative to its descriptor or handle, and symbolic links are not followed. The library does not
//! print, does not read the environment, and starts no threads unless requested.

#![warn(missing_docs)]

mod attribute_listing;
mod attributes;
mod backend;
mod batch;
#[cfg(target_os = "linux")]
mod block_device;
mod conditions;
#[doc(hidden)]
pub mod decode;
mod dir;
mod dir_path;
#[doc(hidden)]
pub mod directory_information;
mod error;
#[cfg(target_os = "linux")]
mod estimate;
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub mod ext4_disk;
mod file_system;
mod file_type;
#[cfg(any(target_os = "linux", windows))]
#[cfg(target_os = "linux")]
mod inodes_ahead;
pub mod io_priority;
pub mod layout;
#[cfg(target_os = "linux")]
mod likeness;
pub mod limits;
mod listing;
pub mod mount_traits;
#[cfg(target_os = "linux")]
mod mounts;
pub mod names;
pub mod nearest;
mod options;
pub mod pace;
pub mod policy;
pub mod quantity;
#[cfg(target_os = "linux")]
mod read_ahead;
pub mod remove;
#[cfg(target_os = "linux")]
pub mod reshard;
pub mod sample;
pub mod sizes;
mod stat;
pub mod summary;
mod threads;
mod tree_path;
pub mod usage;
mod walk;

pub use attribute_listing::AttributeListing;
pub use attribute_listing::policy::{self as attribute_policy, AttributeChoice, Strategy};
pub use attributes::{Attributes, StatMask, Time, Utc};
#[cfg(unix)]
pub use backend::resolve::Resolving;
pub use backend::{BACKENDS, Backend, Reader, by_name as backend};
pub use batch::{Batch, BatchBuilder, Entries, Entry};
#[cfg(target_os = "linux")]
pub use block_device::block_device;
pub use conditions::{BadGlob, Conditions, Globs, Place, TimeKind};
pub use dir::{Dir, DirId};
pub use dir_path::DirPath;
pub use error::{Error, ErrorKind, Result, reason_of};
#[cfg(target_os = "linux")]
pub use estimate::{Estimate, estimate};
pub use file_system::FileSystem;
pub use file_type::FileType;
pub use listing::Listing;
#[cfg(windows)]
pub use megadir_sys::windows::access_list::AccessList;
pub use mount_traits::MountTraits;
#[cfg(target_os = "linux")]
pub use mounts::mount_id;
pub use options::{
    BUFFER_BYTES_MAX, BUFFER_BYTES_MIN, PositionRange, ReadAhead, ReadOptions, SHARES_MAX, THREADS_MAX,
};
pub use stat::{AttributeBatch, Examine, STAT_BACKENDS, StatBackend, by_name as stat_backend};
pub use summary::{DirectorySummary, Summary};
pub use tree_path::TreePath;
#[doc(hidden)]
pub use walk::collect;
pub use walk::{
    PartialLimits, PartialWalk, TreeEvent, Unvisited, Walk, WalkContext, WalkItem, WalkOptions, WalkPart,
};
