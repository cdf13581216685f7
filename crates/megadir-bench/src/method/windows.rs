//! Methods on Windows, where listings include times and sizes: six of the published source, and ours.

use super::AskingOrder::Listing;
use super::{Method, Tells, Way, examined, method};

/// The source's; ours have it too, so that the call makes the difference.
const BUFFER: Option<u64> = Some(64 << 10);
const LARGE_BUFFER: Option<u64> = Some(1 << 20);
const SYSTEMS_OWN: Option<u64> = None;

/// By the backend of the same name.
const fn listed(backend: &'static str, buffer_bytes: Option<u64>) -> Method {
    method(backend, buffer_bytes, examined(backend, "listed", Listing))
}

/// The first, the source's slowest, is the baseline.
pub(super) static METHODS: &[Method] = &[
    method("find-and-ask-each", SYSTEMS_OWN, examined("find-first-file", "attributes-each", Listing))
        .what("FindFirstFileW, then GetFileAttributesExW of each entry by path"),
    listed("find-first-file-basic", SYSTEMS_OWN)
        .what("FindFirstFileExW(Basic), one entry per call, without short names"),
    listed("find-first-file", SYSTEMS_OWN)
        .what("FindFirstFileExW(Standard), one entry per call, with short names"),
    listed("find-first-file-large", SYSTEMS_OWN)
        .what("FindFirstFileExW(Standard, LARGE_FETCH), one entry per call, larger internal buffers"),
    listed("find-first-file-basic-large", SYSTEMS_OWN)
        .what("FindFirstFileExW(Basic, LARGE_FETCH), one entry per call, larger internal buffers"),
    method("cpp-filesystem", SYSTEMS_OWN, Way::CppFilesystem)
        .what("C++'s std::filesystem::directory_iterator, then last_write_time, in C++ (libstdc++)")
        .needs("cargo feature cpp, and mingw's g++ at build time")
        .tells(Tells::Seconds),
    listed("by-handle-full", BUFFER).what(
        "GetFileInformationByHandleEx(FileFullDirectoryInfo), a buffer of 64 KiB per call, all its entries",
    ),
    Method {
        name: "by-handle-full-1m",
        ..listed("by-handle-full", LARGE_BUFFER).what("the same with a buffer of 1 MiB")
    },
    listed("by-handle", BUFFER)
        .what("GetFileInformationByHandleEx(FileIdBothDirectoryInfo), with file IDs and short names"),
    listed("nt-query", BUFFER)
        .what("NtQueryDirectoryFile(FileIdFullDirectoryInformation), a buffer of 64 KiB per call"),
    listed("nt-query-extended", BUFFER)
        .what("NtQueryDirectoryFile(FileIdExtdDirectoryInformation), 128-bit file IDs")
        .needs("Windows 8 or later, and a file system that supports it"),
    listed("nt-query-ex", BUFFER)
        .what("NtQueryDirectoryFileEx(FileIdFullDirectoryInformation), a buffer of 64 KiB per call")
        .needs("Windows 10 1709 or later"),
    method("std-fs", SYSTEMS_OWN, Way::StdFs)
        .what("Rust's std::fs::read_dir, then DirEntry::metadata, which comes from the listing"),
    method("policy", None, Way::Policy).what("the library's choice for the directory"),
];
