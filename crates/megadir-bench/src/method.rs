//! Methods of reading name, size and time of every file of a directory: one table per system. A method by an
//! existing backend and stat backend is one row; `kind/stat_all/run/mod.rs` implements them.
//!
//! Both tables exist on every system: a study may name methods of both, methods of the other system are
//! left out with a note, and a misspelt name remains an error everywhere.

use megadir::Dir;
use megadir::nearest::choices;

/// The first is the baseline.
#[cfg(not(windows))]
pub static METHODS: &[Method] = LINUX;
#[cfg(windows)]
pub static METHODS: &[Method] = WINDOWS;

/// Their names are known, so that one study file works on every system.
static ELSEWHERE: (&str, &[Method]) = if cfg!(windows) { ("Linux", LINUX) } else { ("Windows", WINDOWS) };

/// A row of the table. `needs` is the requirement in words, if a machine may lack the method. `reported` is
/// which values it returns, which decides the hash that compares its work; `way` is how it is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    pub name: &'static str,
    pub description: &'static str,
    pub needs: Option<&'static str>,
    /// Buffer of one listing call, bytes; `None` if the library chooses.
    pub buffer_bytes: Option<u64>,
    pub threads: Threads,
    pub reported: Reported,
    pub(crate) way: Way,
}

/// Values that a method returns for each file, from most to least. Arms with different values have hashes
/// of their own, so that equal work can still be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    SizesAndTimes,
    Times,
    Seconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    One,
    Requested,
    /// At most one per processor; the library decides.
    Processors,
}

/// Implementation of a method: single calls by path, a pair of backends of the library, the library's own
/// choice, or the standard library of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Path,
    Examined { backend: &'static str, stat_backend: &'static str, order: QueryOrder },
    Policy,
    StdFs,
    CppFilesystem,
}

/// Order in which entries are examined: as they are listed, in chunks that threads take, or by inode
/// number, which turns random reads of inode tables into sequential ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryOrder {
    Listing,
    Chunks,
    Inode,
}

const fn method(name: &'static str, buffer_bytes: Option<u64>, way: Way) -> Method {
    let (threads, reported) = (Threads::One, Reported::SizesAndTimes);
    Method { name, description: "", needs: None, buffer_bytes, threads, reported, way }
}

const fn examined(backend: &'static str, stat_backend: &'static str, order: QueryOrder) -> Way {
    Way::Examined { backend, stat_backend, order }
}

impl Method {
    const fn description(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    const fn needs(self, needed: &'static str) -> Self {
        Self { needs: Some(needed), ..self }
    }

    const fn reported(self, reported: Reported) -> Self {
        Self { reported, ..self }
    }

    const fn threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }
}

const C_LIBRARY: Option<u64> = Some(32 << 10);
const GETDENTS: Option<u64> = Some(128 << 10);
const CHUNK: Option<u64> = Some(megadir::attribute_policy::CHUNK_BYTES as u64);

/// All but root's ask for each file, and differ in the call and in the order.
static LINUX: &[Method] = &[
    method("readdir-lstat", C_LIBRARY, Way::Path).description("readdir, then lstat of each entry by path"),
    method("readdir-fstatat", C_LIBRARY, examined("readdir", "fstatat", QueryOrder::Listing))
        .description("readdir, then fstatat of each entry relative to the directory"),
    method("getdents-statx", GETDENTS, examined("getdents", "statx", QueryOrder::Listing))
        .description("getdents64, then statx of each entry, only type, size and time"),
    method("getdents-statx-inode", GETDENTS, examined("getdents", "statx", QueryOrder::Inode))
        .description("the same in inode order, in windows of 100 000 entries, by a separate thread"),
    method("threads", CHUNK, examined("getdents", "statx", QueryOrder::Chunks))
        .description("getdents64; each thread takes a buffer and calls statx for its entries")
        .threads(Threads::Requested),
    method("std-fs", C_LIBRARY, Way::StdFs).description("Rust's std::fs::read_dir, then DirEntry::metadata"),
    method("cpp-filesystem", C_LIBRARY, Way::CppFilesystem)
        .description("C++'s std::filesystem::directory_iterator, then last_write_time, in C++")
        .needs("cargo feature cpp, and a C++ compiler at build time")
        .reported(Reported::Times),
    method("policy", None, Way::Policy)
        .description("the library's choice for the directory")
        .threads(Threads::Processors),
    method("xfs-bulkstat", GETDENTS, examined("getdents", "xfs-bulkstat", QueryOrder::Listing))
        .description("getdents64, then the inodes by number, hundreds per call")
        .needs("root, and XFS"),
    method("btrfs-search", GETDENTS, examined("getdents", "btrfs-search", QueryOrder::Listing))
        .description("getdents64, then the inodes from the subvolume's tree, hundreds per call")
        .needs("root, and btrfs"),
    method("ext4-device", GETDENTS, examined("getdents", "ext4-device", QueryOrder::Inode))
        .description("getdents64, then the inodes from the device's page cache, in inode order")
        .needs("root, and ext4 with checksums"),
];

/// The source's; ours have it too, so that the call makes the difference.
const BUFFER: Option<u64> = Some(64 << 10);
const LARGE_BUFFER: Option<u64> = Some(1 << 20);
const SYSTEMS_OWN: Option<u64> = None;

/// By the Windows backend of the same name.
const fn listed(backend: &'static str, buffer_bytes: Option<u64>) -> Method {
    method(backend, buffer_bytes, examined(backend, "listed", QueryOrder::Listing))
}

/// Listings include times and sizes. Six are of the published source, its slowest first.
static WINDOWS: &[Method] = &[
    method(
        "find-and-ask-each",
        SYSTEMS_OWN,
        examined("find-first-file", "attributes-each", QueryOrder::Listing),
    )
    .description("FindFirstFileW, then GetFileAttributesExW of each entry by path"),
    listed("find-first-file-basic", SYSTEMS_OWN)
        .description("FindFirstFileExW(Basic), one entry per call, without short names"),
    listed("find-first-file", SYSTEMS_OWN)
        .description("FindFirstFileExW(Standard), one entry per call, with short names"),
    listed("find-first-file-large", SYSTEMS_OWN)
        .description("FindFirstFileExW(Standard, LARGE_FETCH), one entry per call, larger internal buffers"),
    listed("find-first-file-basic-large", SYSTEMS_OWN)
        .description("FindFirstFileExW(Basic, LARGE_FETCH), one entry per call, larger internal buffers"),
    method("cpp-filesystem", SYSTEMS_OWN, Way::CppFilesystem)
        .description("C++'s std::filesystem::directory_iterator, then last_write_time, in C++ (libstdc++)")
        .needs("cargo feature cpp, and mingw's g++ at build time")
        .reported(Reported::Seconds),
    listed("by-handle-full", BUFFER).description(
        "GetFileInformationByHandleEx(FileFullDirectoryInfo), a buffer of 64 KiB per call, all its entries",
    ),
    Method {
        name: "by-handle-full-1m",
        ..listed("by-handle-full", LARGE_BUFFER).description("the same with a buffer of 1 MiB")
    },
    listed("by-handle", BUFFER)
        .description("GetFileInformationByHandleEx(FileIdBothDirectoryInfo), with file IDs and short names"),
    listed("nt-query", BUFFER)
        .description("NtQueryDirectoryFile(FileIdFullDirectoryInformation), a buffer of 64 KiB per call"),
    listed("nt-query-extended", BUFFER)
        .description("NtQueryDirectoryFile(FileIdExtdDirectoryInformation), 128-bit file IDs")
        .needs("Windows 8 or later, and a file system that supports it"),
    listed("nt-query-ex", BUFFER)
        .description("NtQueryDirectoryFileEx(FileIdFullDirectoryInformation), a buffer of 64 KiB per call")
        .needs("Windows 10 1709 or later"),
    method("std-fs", SYSTEMS_OWN, Way::StdFs)
        .description("Rust's std::fs::read_dir, then DirEntry::metadata, which comes from the listing"),
    method("policy", None, Way::Policy).description("the library's choice for the directory"),
];

/// The error lists the methods of this system.
pub(crate) fn method_named(name: &str) -> Result<&'static Method, String> {
    METHODS.iter().chain(ELSEWHERE.1).find(|method| method.name == name).ok_or_else(|| {
        let choices = choices(name, METHODS.iter().map(|method| method.name));
        format!("unknown method `{name}`: {choices}")
    })
}

pub(crate) fn system_of(name: &str) -> Option<&'static str> {
    let of = |methods: &[Method]| methods.iter().any(|method| method.name == name);
    let (system, methods) = ELSEWHERE;
    (!of(METHODS) && of(methods)).then_some(system)
}

/// A method as this machine and directory provide it. `processors` bounds the threads of the library's own
/// choice.
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

/// Asks the backends themselves, on the directory in question: several depend on the file system and on
/// root, and the answer must be the same as in the measured block.
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
            let probed = listed.and_then(|()| megadir::stat_backend(stat_backend)?.probe(directory));
            probed.err().map(|error| error.reason())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ELSEWHERE, LINUX, METHODS, WINDOWS, method_named, system_of};

    #[test]
    fn methods_have_unique_names_and_descriptions() {
        for methods in [LINUX, WINDOWS] {
            for (index, method) in methods.iter().enumerate() {
                assert_eq!(method_named(method.name).unwrap().name, method.name);
                assert!(
                    methods[..index].iter().all(|other| other.name != method.name),
                    "{} twice",
                    method.name
                );
                assert!(
                    method.description.len() > 20 && !method.description.ends_with('.'),
                    "{}",
                    method.name
                );
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
    fn methods_of_other_systems_are_listed_as_unavailable() {
        let here = megadir::Dir::open(std::env::temp_dir()).unwrap();
        let (system, methods) = ELSEWHERE;
        let foreign = methods.iter().filter(|method| system_of(method.name).is_some());
        let reasons: Vec<_> = foreign.map(|method| super::unavailable(method, &here)).collect();
        assert!(reasons.len() > 5, "{system}");
        assert!(
            reasons.iter().all(|reason| *reason == Some(format!("a method for {system}"))),
            "{reasons:?}"
        );
        assert_eq!(system_of("no-such-method"), None);
    }
}
