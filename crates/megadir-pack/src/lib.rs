//! Packs: a tree with very many files as tar files of bounded size, which any tar reads, and an inventory as their index.
//!
//! * [`pack`] writes a pack, and continues one that was interrupted.
//! * [`verify`] reads it again, and compares it with the tree if one is given.
//! * [`select_packed`] selects the files of the tree that the pack holds, and which are unchanged; [`PackedSelection::remove`] removes them.
//! * [`Pack`] reads single members, [`Members`] many of them in any order, and [`extract`] writes them into a directory.
//!
//! The index is a Parquet file that every reader of inventories reads; its further columns have the place of each member in the shards. It is
//! written last: without it there is no pack. Nothing but the removal changes the tree. Linux only.
//!
//! | file | subject |
//! |---|---|
//! | `layout.rs` | names of the files of a pack, and what its index says about the shards |
//! | `entry.rs` | rows as bytes: in the order of inodes, in the order of paths, and in the journal of a shard |
//! | `member.rs` | headers of a member: ustar and pax, written and read |
//! | `below.rs` | open directories below a tree, by path |
//! | `source.rs` | reads entries of the tree, and again if they change meanwhile |
//! | `shard.rs`, `journal.rs` | shards as they are written; what makes a finished one worth keeping |
//! | `write.rs`, `order.rs`, `unfinished.rs` | the whole of packing; the scan, sorted by inode; packs that were interrupted |
//! | `read.rs`, `members.rs` | members of a finished pack, by the index and by a table in memory |
//! | `remove.rs`, `own_files.rs` | files of the tree that the pack holds, removed; the files of the pack, which never are |
//! | `verify.rs`, `extract.rs` | the pack compared with its index and its tree; members as files |

#![cfg(target_os = "linux")]
#![warn(missing_docs)]

mod below;
mod entry;
mod extract;
mod journal;
mod layout;
mod member;
mod members;
mod order;
mod own_files;
mod read;
mod remove;
mod shard;
mod source;
mod unfinished;
mod verify;
mod write;

pub use extract::{ExtractOptions, ExtractWatch, Extracted, extract};
pub use layout::{INDEX, index_path};
pub use members::{MemberPaths, MemberPlace, Members};
pub use read::{Pack, PackedEntry};
pub use remove::{
    PackedSelection, RemoveEvent, RemoveWatch, Selected, Stay, Stays, packed_directory, select_packed,
};
pub use verify::{Verified, VerifyOptions, VerifyWatch, verify};
pub use write::{PackEvent, PackOptions, PackWatch, Packed, pack};
