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
        "FindFirstFileW, then GetFileAttributesExW of each entry by its path",
        SYSTEMS_OWN,
        Way::Examined {
            backend: "find-first-file",
            examiner: "attributes-each",
            order: AskingOrder::Listing,
        },
    ),
    method(
        "find-first-file-basic",
        "FindFirstFileExW(Basic), an entry a call, without short names",
        SYSTEMS_OWN,
        listed("find-first-file-basic"),
    ),
    method(
        "find-first-file",
        "FindFirstFileExW(Standard), an entry a call, with short names",
        SYSTEMS_OWN,
        listed("find-first-file"),
    ),
    method(
        "find-first-file-large",
        "FindFirstFileExW(Standard, LARGE_FETCH), an entry a call, larger buffers below",
        SYSTEMS_OWN,
        listed("find-first-file-large"),
    ),
    method(
        "find-first-file-basic-large",
        "FindFirstFileExW(Basic, LARGE_FETCH), an entry a call, larger buffers below",
        SYSTEMS_OWN,
        listed("find-first-file-basic-large"),
    ),
    Method {
        needs: Some("cargo feature cpp, and mingw's g++ when built"),
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
        "GetFileInformationByHandleEx(FileFullDirectoryInfo), a buffer of 64 KiB a call, all entries of each",
        BUFFER,
        listed("by-handle-full"),
    ),
    method("by-handle-full-1m", "the same with a buffer of 1 MiB", LARGE_BUFFER, listed("by-handle-full")),
    method(
        "by-handle",
        "GetFileInformationByHandleEx(FileIdBothDirectoryInfo), with file numbers and short names",
        BUFFER,
        listed("by-handle"),
    ),
    method(
        "nt-query",
        "NtQueryDirectoryFile(FileIdFullDirectoryInformation), a buffer of 64 KiB a call",
        BUFFER,
        listed("nt-query"),
    ),
    Method {
        needs: Some("Windows 8 or later, and a file system that knows it"),
        ..method(
            "nt-query-extended",
            "NtQueryDirectoryFile(FileIdExtdDirectoryInformation), file numbers of 128 bits",
            BUFFER,
            listed("nt-query-extended"),
        )
    },
    Method {
        needs: Some("Windows 10 1709 or later"),
        ..method(
            "nt-query-ex",
            "NtQueryDirectoryFileEx(FileIdFullDirectoryInformation), a buffer of 64 KiB a call",
            BUFFER,
            listed("nt-query-ex"),
        )
    },
    method(
        "std-fs",
        "Rust's std::fs::read_dir, then DirEntry::metadata, which the listing has told",
        SYSTEMS_OWN,
        Way::StdFs,
    ),
    // One thread: the listing has all attributes.
    method("policy", "what the library picks for the directory", None, Way::Policy),
];
