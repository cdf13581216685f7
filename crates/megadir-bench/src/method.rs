//! The ways of finding out name, size and time of every file of a directory that a study can compare.
//!
//! Plain data: what each way is and needs. Adding one that the library's backends and examiners can do is a row here; the study
//! `attributes`, its help and its tests follow. How they work is in `workload/file_attributes.rs`.

use megadir::Dir;
use megadir::nearest::choices;

/// A way of finding out name, size and time of every regular file of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name in studies and records.
    pub name: &'static str,
    /// What it does, one line.
    pub what: &'static str,
    /// What it needs that is not everywhere.
    pub needs: Option<&'static str>,
    /// The buffer of one call that lists, bytes; `None` where the library picks it.
    pub buffer_bytes: Option<u64>,
    /// Threads.
    pub threads: Threads,
    /// Whether it tells sizes; else names and times only.
    pub tells_sizes: bool,
    pub(crate) way: Way,
}

/// How many threads a method has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// The caller's alone.
    One,
    /// As many as the study or the user says.
    Asked,
    /// At most one a processor; the library decides.
    Processors,
}

/// How a method works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Listed by the library, each entry asked for by path.
    Path,
    /// Listed by a backend of the library, asked for by an examiner of its.
    Examined { backend: &'static str, examiner: &'static str, order: AskingOrder },
    /// As the library picks.
    Policy,
    /// Rust's standard library alone.
    StdFs,
    /// C++'s standard library alone.
    CppFilesystem,
}

/// In which order entries are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskingOrder {
    /// As listed, by the thread that lists.
    Listing,
    /// As listed, by threads that take turns.
    Chunks,
    /// By inode number, in windows, by one thread.
    Inode,
}

/// The buffer of the C library's directory stream, bytes.
const C_LIBRARY: Option<u64> = Some(32 << 10);
/// The buffer that is given to getdents64, bytes.
const GETDENTS: Option<u64> = Some(128 << 10);
const CHUNK: Option<u64> = Some(megadir::attribute_policy::CHUNK_BYTES as u64);

const fn examined(examiner: &'static str, order: AskingOrder) -> Way {
    Way::Examined { backend: "getdents", examiner, order }
}

const fn method(name: &'static str, what: &'static str, buffer_bytes: Option<u64>, way: Way) -> Method {
    Method { name, what, needs: None, buffer_bytes, threads: Threads::One, tells_sizes: true, way }
}

/// Every method, the one that others are compared with first.
pub static METHODS: &[Method] = &[
    method("readdir-lstat", "readdir, then lstat of each entry by its path", C_LIBRARY, Way::Path),
    method(
        "readdir-fstatat",
        "readdir, then fstatat of each entry relative to the directory",
        C_LIBRARY,
        Way::Examined { backend: "readdir", examiner: "fstatat", order: AskingOrder::Listing },
    ),
    method(
        "getdents-statx",
        "getdents64, then statx of each entry, asking for type, size and time only",
        GETDENTS,
        examined("statx", AskingOrder::Listing),
    ),
    method(
        "getdents-statx-inode",
        "the same in the order of inode numbers, in windows of 100 000 entries, by a thread of its own",
        GETDENTS,
        examined("statx", AskingOrder::Inode),
    ),
    Method {
        threads: Threads::Asked,
        ..method(
            "threads",
            "getdents64; threads take buffers in turns and ask for their entries by statx",
            CHUNK,
            examined("statx", AskingOrder::Chunks),
        )
    },
    Method {
        needs: Some("cargo feature io-uring, and a kernel that allows it"),
        ..method(
            "uring",
            "getdents64, then statx through io_uring, hundreds of entries a call",
            GETDENTS,
            examined("uring", AskingOrder::Listing),
        )
    },
    method("std-fs", "Rust's std::fs::read_dir, then DirEntry::metadata", C_LIBRARY, Way::StdFs),
    Method {
        needs: Some("cargo feature cpp, and a C++ compiler when built"),
        tells_sizes: false,
        ..method(
            "cpp-filesystem",
            "C++'s std::filesystem::directory_iterator, then last_write_time, in C++",
            C_LIBRARY,
            Way::CppFilesystem,
        )
    },
    Method {
        threads: Threads::Processors,
        ..method("policy", "what the library picks for the directory", None, Way::Policy)
    },
    Method {
        needs: Some("root, and XFS"),
        ..method(
            "xfs-bulkstat",
            "getdents64, then the inodes by number, hundreds a call",
            GETDENTS,
            examined("xfs-bulkstat", AskingOrder::Listing),
        )
    },
    Method {
        needs: Some("root, and btrfs"),
        ..method(
            "btrfs-search",
            "getdents64, then the inodes from the tree of the subvolume, hundreds a call",
            GETDENTS,
            examined("btrfs-search", AskingOrder::Listing),
        )
    },
];

/// Returns the method with a name; the error says which there are.
///
/// # Errors
///
/// The reason, in words.
pub fn method_named(name: &str) -> Result<&'static Method, String> {
    METHODS.iter().find(|method| method.name == name).ok_or_else(|| {
        let choices = choices(name, METHODS.iter().map(|method| method.name));
        format!("there is no method `{name}`: {choices}")
    })
}

/// What one method can do here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodFact {
    /// The method.
    pub method: &'static Method,
    /// Why it cannot be used here; `None` when it can.
    pub unavailable: Option<String>,
    /// Processors of this machine that the process may use.
    pub processors: u32,
}

/// Returns what every method can do on `directory` and those made below it.
pub fn method_facts(directory: &Dir) -> Vec<MethodFact> {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let fact = |method| MethodFact { method, unavailable: unavailable(method, directory), processors };
    METHODS.iter().map(fact).collect()
}

/// Tells why a method cannot be used on a directory, if it cannot.
#[cfg(target_os = "linux")]
pub(crate) fn unavailable(method: &Method, directory: &Dir) -> Option<String> {
    match method.way {
        Way::Path | Way::StdFs | Way::Policy => None,
        Way::CppFilesystem => megadir_sys::cpp_filesystem::unavailable().map(str::to_owned),
        // Only builds with the feature know this examiner.
        Way::Examined { examiner: "uring", .. } if megadir::examiner("uring").is_err() => {
            Some("this program was built without io_uring (cargo feature io-uring)".to_owned())
        }
        Way::Examined { backend, examiner, .. } => {
            let listed = megadir::backend(backend).and_then(|backend| backend.probe(directory));
            let asked = listed.and_then(|()| megadir::examiner(examiner)?.probe(directory));
            asked.err().map(|error| error.reason())
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn unavailable(_method: &Method, _directory: &Dir) -> Option<String> {
    Some("attributes are measured on Linux only".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{METHODS, method_named};

    #[test]
    fn every_method_has_a_name_of_its_own_and_says_what_it_is() {
        for (index, method) in METHODS.iter().enumerate() {
            assert_eq!(method_named(method.name).unwrap(), method);
            assert!(METHODS[..index].iter().all(|other| other.name != method.name), "{} twice", method.name);
            assert!(method.what.len() > 20 && !method.what.ends_with('.'), "{}", method.name);
        }
        let error = method_named("readdir-stat").unwrap_err();
        assert!(
            error.starts_with("there is no method `readdir-stat`: did you mean 'readdir-lstat'?"),
            "{error}"
        );
    }
}
