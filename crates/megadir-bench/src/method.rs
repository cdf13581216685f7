//! Methods of reading name, size and time of every file of a directory: one table per system. A method by an
//! existing backend and stat backend is one row; `kind/stat_all/run/mod.rs` implements them.

use megadir::Dir;
use megadir::nearest::choices;

/// The first is the baseline.
#[cfg(not(windows))]
pub static METHODS: &[Method] = linux::METHODS;
#[cfg(windows)]
pub static METHODS: &[Method] = windows::METHODS;

/// Their names are known, so that one study file works on every system.
static ELSEWHERE: &[(&str, &[Method])] =
    if cfg!(windows) { &[("Linux", linux::METHODS)] } else { &[("Windows", windows::METHODS)] };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    pub name: &'static str,
    pub what: &'static str,
    pub needs: Option<&'static str>,
    /// Buffer of one listing call, bytes; `None` if the library chooses.
    pub buffer_bytes: Option<u64>,
    pub threads: Threads,
    pub tells: Tells,
    pub(crate) way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    SizesAndTimes,
    Times,
    Seconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    One,
    Asked,
    /// At most one per processor; the library decides.
    Processors,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Path,
    Examined { backend: &'static str, stat_backend: &'static str, order: AskingOrder },
    Policy,
    StdFs,
    CppFilesystem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskingOrder {
    Listing,
    Chunks,
    Inode,
}

const fn method(name: &'static str, what: &'static str, buffer_bytes: Option<u64>, way: Way) -> Method {
    Method { name, what, needs: None, buffer_bytes, threads: Threads::One, tells: Tells::SizesAndTimes, way }
}

impl Method {
    const fn needs(self, what: &'static str) -> Self {
        Self { needs: Some(what), ..self }
    }

    const fn tells(self, tells: Tells) -> Self {
        Self { tells, ..self }
    }

    const fn threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }
}

/// The error lists the methods of this system.
pub(crate) fn method_named(name: &str) -> Result<&'static Method, String> {
    let elsewhere = || ELSEWHERE.iter().flat_map(|(_, methods)| methods.iter());
    METHODS.iter().chain(elsewhere()).find(|method| method.name == name).ok_or_else(|| {
        let choices = choices(name, METHODS.iter().map(|method| method.name));
        format!("unknown method `{name}`: {choices}")
    })
}

pub(crate) fn system_of(name: &str) -> Option<&'static str> {
    let of = |methods: &[Method]| methods.iter().any(|method| method.name == name);
    let elsewhere = || ELSEWHERE.iter().find(|(_, methods)| of(methods)).map(|(system, _)| *system);
    if of(METHODS) { None } else { elsewhere() }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodFact {
    pub method: &'static Method,
    pub unavailable: Option<String>,
    pub processors: u32,
}

pub fn method_facts(directory: &Dir) -> Vec<MethodFact> {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let fact = |method| MethodFact { method, unavailable: unavailable(method, directory), processors };
    METHODS.iter().map(fact).collect()
}

pub(crate) fn unavailable(method: &Method, directory: &Dir) -> Option<String> {
    if let Some(system) = system_of(method.name) {
        return Some(format!("a method for {system}"));
    }
    match method.way {
        Way::Path | Way::StdFs | Way::Policy => None,
        Way::CppFilesystem => {
            megadir_sys::cpp_filesystem::unavailable_on(directory.path()).map(str::to_owned)
        }
        Way::Examined { backend, stat_backend, .. } => {
            let listed = megadir::backend(backend).and_then(|backend| backend.probe(directory));
            let asked = listed.and_then(|()| megadir::stat_backend(stat_backend)?.probe(directory));
            asked.err().map(|error| error.reason())
        }
    }
}

mod linux {
    //! Linux: all but root's method ask for each file, and differ in the call and in the order.

    use super::{AskingOrder, Method, Tells, Threads, Way, method};

    const C_LIBRARY: Option<u64> = Some(32 << 10);
    const GETDENTS: Option<u64> = Some(128 << 10);
    const CHUNK: Option<u64> = Some(megadir::attribute_policy::CHUNK_BYTES as u64);

    const fn examined(stat_backend: &'static str, order: AskingOrder) -> Way {
        Way::Examined { backend: "getdents", stat_backend, order }
    }

    pub(super) static METHODS: &[Method] = &[
        method("readdir-lstat", "readdir, then lstat of each entry by path", C_LIBRARY, Way::Path),
        method(
            "readdir-fstatat",
            "readdir, then fstatat of each entry relative to the directory",
            C_LIBRARY,
            Way::Examined { backend: "readdir", stat_backend: "fstatat", order: AskingOrder::Listing },
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
        method(
            "threads",
            "getdents64; each thread takes a buffer and calls statx for its entries",
            CHUNK,
            examined("statx", AskingOrder::Chunks),
        )
        .threads(Threads::Asked),
        method("std-fs", "Rust's std::fs::read_dir, then DirEntry::metadata", C_LIBRARY, Way::StdFs),
        method(
            "cpp-filesystem",
            "C++'s std::filesystem::directory_iterator, then last_write_time, in C++",
            C_LIBRARY,
            Way::CppFilesystem,
        )
        .needs("cargo feature cpp, and a C++ compiler at build time")
        .tells(Tells::Times),
        method("policy", "the library's choice for the directory", None, Way::Policy)
            .threads(Threads::Processors),
        method(
            "xfs-bulkstat",
            "getdents64, then the inodes by number, hundreds per call",
            GETDENTS,
            examined("xfs-bulkstat", AskingOrder::Listing),
        )
        .needs("root, and XFS"),
        method(
            "btrfs-search",
            "getdents64, then the inodes from the subvolume's tree, hundreds per call",
            GETDENTS,
            examined("btrfs-search", AskingOrder::Listing),
        )
        .needs("root, and btrfs"),
        method(
            "ext4-device",
            "getdents64, then the inodes from the device's page cache, in inode order",
            GETDENTS,
            examined("ext4-device", AskingOrder::Inode),
        )
        .needs("root, and ext4 with checksums"),
    ];
}

mod windows {
    //! Methods on Windows, where listings include times and sizes: six of the published source, and ours.

    use super::{AskingOrder, Method, Tells, Way, method};

    /// The source's; ours have it too, so that the call makes the difference.
    const BUFFER: Option<u64> = Some(64 << 10);
    const LARGE_BUFFER: Option<u64> = Some(1 << 20);
    const SYSTEMS_OWN: Option<u64> = None;

    /// By the backend of the same name.
    const fn listed(backend: &'static str, what: &'static str, buffer_bytes: Option<u64>) -> Method {
        let way = Way::Examined { backend, stat_backend: "listed", order: AskingOrder::Listing };
        method(backend, what, buffer_bytes, way)
    }

    /// The first, the source's slowest, is the baseline.
    pub(super) static METHODS: &[Method] = &[
        method(
            "find-and-ask-each",
            "FindFirstFileW, then GetFileAttributesExW of each entry by path",
            SYSTEMS_OWN,
            Way::Examined {
                backend: "find-first-file",
                stat_backend: "attributes-each",
                order: AskingOrder::Listing,
            },
        ),
        listed(
            "find-first-file-basic",
            "FindFirstFileExW(Basic), one entry per call, without short names",
            SYSTEMS_OWN,
        ),
        listed(
            "find-first-file",
            "FindFirstFileExW(Standard), one entry per call, with short names",
            SYSTEMS_OWN,
        ),
        listed(
            "find-first-file-large",
            "FindFirstFileExW(Standard, LARGE_FETCH), one entry per call, larger internal buffers",
            SYSTEMS_OWN,
        ),
        listed(
            "find-first-file-basic-large",
            "FindFirstFileExW(Basic, LARGE_FETCH), one entry per call, larger internal buffers",
            SYSTEMS_OWN,
        ),
        method(
            "cpp-filesystem",
            "C++'s std::filesystem::directory_iterator, then last_write_time, in C++ (libstdc++)",
            SYSTEMS_OWN,
            Way::CppFilesystem,
        )
        .needs("cargo feature cpp, and mingw's g++ at build time")
        .tells(Tells::Seconds),
        listed(
            "by-handle-full",
            "GetFileInformationByHandleEx(FileFullDirectoryInfo), a buffer of 64 KiB per call, all its entries",
            BUFFER,
        ),
        Method {
            name: "by-handle-full-1m",
            ..listed("by-handle-full", "the same with a buffer of 1 MiB", LARGE_BUFFER)
        },
        listed(
            "by-handle",
            "GetFileInformationByHandleEx(FileIdBothDirectoryInfo), with file IDs and short names",
            BUFFER,
        ),
        listed(
            "nt-query",
            "NtQueryDirectoryFile(FileIdFullDirectoryInformation), a buffer of 64 KiB per call",
            BUFFER,
        ),
        listed(
            "nt-query-extended",
            "NtQueryDirectoryFile(FileIdExtdDirectoryInformation), 128-bit file IDs",
            BUFFER,
        )
        .needs("Windows 8 or later, and a file system that supports it"),
        listed(
            "nt-query-ex",
            "NtQueryDirectoryFileEx(FileIdFullDirectoryInformation), a buffer of 64 KiB per call",
            BUFFER,
        )
        .needs("Windows 10 1709 or later"),
        method(
            "std-fs",
            "Rust's std::fs::read_dir, then DirEntry::metadata, which comes from the listing",
            SYSTEMS_OWN,
            Way::StdFs,
        ),
        method("policy", "the library's choice for the directory", None, Way::Policy),
    ];
}

#[cfg(test)]
mod tests {
    use super::{ELSEWHERE, METHODS, linux, method_named, system_of, windows};

    #[test]
    fn every_method_has_a_name_of_its_own_and_says_what_it_is() {
        for methods in [linux::METHODS, windows::METHODS] {
            for (index, method) in methods.iter().enumerate() {
                assert_eq!(method_named(method.name).unwrap().name, method.name);
                assert!(
                    methods[..index].iter().all(|other| other.name != method.name),
                    "{} twice",
                    method.name
                );
                assert!(method.what.len() > 20 && !method.what.ends_with('.'), "{}", method.name);
            }
        }
        for method in METHODS {
            assert_eq!((method_named(method.name).unwrap(), system_of(method.name)), (method, None));
        }
        let name = METHODS[0].name;
        let error = method_named(&name[1..]).unwrap_err();
        assert!(
            error.starts_with(&format!("unknown method `{}`: did you mean '{name}'?", &name[1..])),
            "{error}"
        );
    }

    #[test]
    fn methods_of_other_systems_are_known_and_not_to_be_had() {
        let here = megadir::Dir::open(std::env::temp_dir()).unwrap();
        for (system, methods) in ELSEWHERE {
            let foreign = methods.iter().filter(|method| system_of(method.name).is_some());
            let reasons: Vec<_> = foreign.map(|method| super::unavailable(method, &here)).collect();
            assert!(reasons.len() > 5, "{system}");
            assert!(
                reasons.iter().all(|reason| *reason == Some(format!("a method for {system}"))),
                "{reasons:?}"
            );
        }
        assert_eq!(system_of("no-such-method"), None);
    }
}
