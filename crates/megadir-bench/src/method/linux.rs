//! Linux: all but root's method ask for each file, and differ in the call and in the order.

use super::AskingOrder::{Chunks, Inode, Listing};
use super::{Method, Tells, Threads, Way, examined, method};

const C_LIBRARY: Option<u64> = Some(32 << 10);
const GETDENTS: Option<u64> = Some(128 << 10);
const CHUNK: Option<u64> = Some(megadir::attribute_policy::CHUNK_BYTES as u64);

pub(super) static METHODS: &[Method] = &[
    method("readdir-lstat", C_LIBRARY, Way::Path).what("readdir, then lstat of each entry by path"),
    method("readdir-fstatat", C_LIBRARY, examined("readdir", "fstatat", Listing))
        .what("readdir, then fstatat of each entry relative to the directory"),
    method("getdents-statx", GETDENTS, examined("getdents", "statx", Listing))
        .what("getdents64, then statx of each entry, only type, size and time"),
    method("getdents-statx-inode", GETDENTS, examined("getdents", "statx", Inode))
        .what("the same in inode order, in windows of 100 000 entries, by a separate thread"),
    method("threads", CHUNK, examined("getdents", "statx", Chunks))
        .what("getdents64; each thread takes a buffer and calls statx for its entries")
        .threads(Threads::Asked),
    method("std-fs", C_LIBRARY, Way::StdFs).what("Rust's std::fs::read_dir, then DirEntry::metadata"),
    method("cpp-filesystem", C_LIBRARY, Way::CppFilesystem)
        .what("C++'s std::filesystem::directory_iterator, then last_write_time, in C++")
        .needs("cargo feature cpp, and a C++ compiler at build time")
        .tells(Tells::Times),
    method("policy", None, Way::Policy)
        .what("the library's choice for the directory")
        .threads(Threads::Processors),
    method("xfs-bulkstat", GETDENTS, examined("getdents", "xfs-bulkstat", Listing))
        .what("getdents64, then the inodes by number, hundreds per call")
        .needs("root, and XFS"),
    method("btrfs-search", GETDENTS, examined("getdents", "btrfs-search", Listing))
        .what("getdents64, then the inodes from the subvolume's tree, hundreds per call")
        .needs("root, and btrfs"),
    method("ext4-device", GETDENTS, examined("getdents", "ext4-device", Inode))
        .what("getdents64, then the inodes from the device's page cache, in inode order")
        .needs("root, and ext4 with checksums"),
];
