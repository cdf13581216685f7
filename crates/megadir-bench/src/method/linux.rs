//! The methods of Linux: all but root's ask for each file, and differ in the call and in the order.

use super::{AskingOrder, Method, Tells, Threads, Way, method};

/// The buffer of the C library's directory stream, bytes.
const C_LIBRARY: Option<u64> = Some(32 << 10);
/// The buffer that is given to getdents64, bytes.
const GETDENTS: Option<u64> = Some(128 << 10);
const CHUNK: Option<u64> = Some(megadir::attribute_policy::CHUNK_BYTES as u64);

const fn examined(examiner: &'static str, order: AskingOrder) -> Way {
    Way::Examined { backend: "getdents", examiner, order }
}

/// Every method, the one that others are compared with first.
pub(super) static METHODS: &[Method] = &[
    method("readdir-lstat", "readdir, then lstat of each entry by path", C_LIBRARY, Way::Path),
    method(
        "readdir-fstatat",
        "readdir, then fstatat of each entry relative to the directory",
        C_LIBRARY,
        Way::Examined { backend: "readdir", examiner: "fstatat", order: AskingOrder::Listing },
    ),
    method(
        "getdents-statx",
        "getdents64, then statx of each entry, only type, size and time",
        GETDENTS,
        examined("statx", AskingOrder::Listing),
    ),
    method(
        "getdents-statx-inode",
        "the same in inode order, in windows of 100 000 entries, by a separate thread",
        GETDENTS,
        examined("statx", AskingOrder::Inode),
    ),
    Method {
        threads: Threads::Asked,
        ..method(
            "threads",
            "getdents64; each thread takes a buffer and calls statx for its entries",
            CHUNK,
            examined("statx", AskingOrder::Chunks),
        )
    },
    Method {
        needs: Some("cargo feature io-uring, and a kernel that permits it"),
        ..method(
            "uring",
            "getdents64, then statx through io_uring, hundreds of entries per call",
            GETDENTS,
            examined("uring", AskingOrder::Listing),
        )
    },
    method("std-fs", "Rust's std::fs::read_dir, then DirEntry::metadata", C_LIBRARY, Way::StdFs),
    Method {
        needs: Some("cargo feature cpp, and a C++ compiler at build time"),
        tells: Tells::Times,
        ..method(
            "cpp-filesystem",
            "C++'s std::filesystem::directory_iterator, then last_write_time, in C++",
            C_LIBRARY,
            Way::CppFilesystem,
        )
    },
    Method {
        threads: Threads::Processors,
        ..method("policy", "the library's choice for the directory", None, Way::Policy)
    },
    Method {
        needs: Some("root, and XFS"),
        ..method(
            "xfs-bulkstat",
            "getdents64, then the inodes by number, hundreds per call",
            GETDENTS,
            examined("xfs-bulkstat", AskingOrder::Listing),
        )
    },
    Method {
        needs: Some("root, and btrfs"),
        ..method(
            "btrfs-search",
            "getdents64, then the inodes from the subvolume's tree, hundreds per call",
            GETDENTS,
            examined("btrfs-search", AskingOrder::Listing),
        )
    },
];
