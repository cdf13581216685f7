//! Methods on Windows, where listings include times and sizes: six of the published source, and ours.

use super::{AskingOrder, Method, Tells, Way, method};

/// The source's buffer, bytes; ours have it too, so that the call makes the difference.
const BUFFER: Option<u64> = Some(64 << 10);
const LARGE_BUFFER: Option<u64> = Some(1 << 20);
/// The system chooses the buffer.
const SYSTEMS_OWN: Option<u64> = None;

/// Listed by a backend that brings attributes along.
const fn listed(backend: &'static str) -> Way {
    Way::Examined { backend, examiner: "listed", order: AskingOrder::Listing }
}

/// Every method, the one that others are compared with first: the source's slowest.
pub(super) static METHODS: &[Method] = &[
    method(
        "find-and-ask-each",
        "FindFirstFileW, then GetFileAttributesExW of each entry by path",
        SYSTEMS_OWN,
        Way::Examined {
            backend: "find-first-file",
            examiner: "attributes-each",
            order: AskingOrder::Listing,
        },
    ),
    method(
        "find-first-file-basic",
        "FindFirstFileExW(Basic), one entry per call, without short names",
        SYSTEMS_OWN,
        listed("find-first-file-basic"),
    ),
    method(
        "find-first-file",
        "FindFirstFileExW(Standard), one entry per call, with short names",
        SYSTEMS_OWN,
        listed("find-first-file"),
    ),
    method(
        "find-first-file-large",
        "FindFirstFileExW(Standard, LARGE_FETCH), one entry per call, larger internal buffers",
        SYSTEMS_OWN,
        listed("find-first-file-large"),
    ),
    method(
        "find-first-file-basic-large",
        "FindFirstFileExW(Basic, LARGE_FETCH), one entry per call, larger internal buffers",
        SYSTEMS_OWN,
        listed("find-first-file-basic-large"),
    ),
    Method {
        needs: Some("cargo feature cpp, and mingw's g++ at build time"),
        tells: Tells::Seconds,
        ..method(
            "cpp-filesystem",
            "C++'s std::filesystem::directory_iterator, then last_write_time, in C++ (libstdc++)",
            SYSTEMS_OWN,
            Way::CppFilesystem,
        )
    },
    method(
        "by-handle-full",
        "GetFileInformationByHandleEx(FileFullDirectoryInfo), a buffer of 64 KiB per call, all its entries",
        BUFFER,
        listed("by-handle-full"),
    ),
    method("by-handle-full-1m", "the same with a buffer of 1 MiB", LARGE_BUFFER, listed("by-handle-full")),
    method(
        "by-handle",
        "GetFileInformationByHandleEx(FileIdBothDirectoryInfo), with file IDs and short names",
        BUFFER,
        listed("by-handle"),
    ),
    method(
        "nt-query",
        "NtQueryDirectoryFile(FileIdFullDirectoryInformation), a buffer of 64 KiB per call",
        BUFFER,
        listed("nt-query"),
    ),
    Method {
        needs: Some("Windows 8 or later, and a file system that supports it"),
        ..method(
            "nt-query-extended",
            "NtQueryDirectoryFile(FileIdExtdDirectoryInformation), 128-bit file IDs",
            BUFFER,
            listed("nt-query-extended"),
        )
    },
    Method {
        needs: Some("Windows 10 1709 or later"),
        ..method(
            "nt-query-ex",
            "NtQueryDirectoryFileEx(FileIdFullDirectoryInformation), a buffer of 64 KiB per call",
            BUFFER,
            listed("nt-query-ex"),
        )
    },
    method(
        "std-fs",
        "Rust's std::fs::read_dir, then DirEntry::metadata, which comes from the listing",
        SYSTEMS_OWN,
        Way::StdFs,
    ),
    // One thread: the listing has all attributes.
    method("policy", "the library's choice for the directory", None, Way::Policy),
];
