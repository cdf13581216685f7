//! Methods of reading name, size and time of every file of a directory: plain data, one table per system. A
//! method by an existing backend and examiner is one row; `kind/stat_all/run/mod.rs` implements them.

mod linux;
mod windows;

use megadir::Dir;
use megadir::nearest::choices;

/// Every method of this system; the first is the baseline.
#[cfg(not(windows))]
pub static METHODS: &[Method] = linux::METHODS;
/// Every method of this system; the first is the baseline.
#[cfg(windows)]
pub static METHODS: &[Method] = windows::METHODS;

/// Methods of other systems: their names are known, so that one study file works on every system.
static ELSEWHERE: &[(&str, &[Method])] =
    if cfg!(windows) { &[("Linux", linux::METHODS)] } else { &[("Windows", windows::METHODS)] };

/// Method of reading name, size and time of every regular file of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    pub name: &'static str,
    pub what: &'static str,
    /// Requirement that not every system meets.
    pub needs: Option<&'static str>,
    /// Buffer of one listing call, bytes; `None` if the library chooses.
    pub buffer_bytes: Option<u64>,
    pub threads: Threads,
    pub tells: Tells,
    pub(crate) way: Way,
}

/// Attributes that a method reports for each file in addition to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// Size, and time at the file system's resolution.
    SizesAndTimes,
    Times,
    /// Time in whole seconds.
    Seconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// Only the caller's thread.
    One,
    Asked,
    /// At most one per processor; the library decides.
    Processors,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Listed by the library, then one `stat` by path for each entry.
    Path,
    /// Listed by a backend of the library; attributes read by one of its examiners.
    Examined {
        backend: &'static str,
        examiner: &'static str,
        order: AskingOrder,
    },
    Policy,
    /// Rust's standard library only.
    StdFs,
    /// C++'s standard library only.
    CppFilesystem,
}

/// Order in which the attributes of entries are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskingOrder {
    /// Listing order, in the listing thread.
    Listing,
    /// Listing order, by several threads.
    Chunks,
    /// Inode order within a window, by one thread.
    Inode,
}

/// Returns a single-threaded method that is available everywhere.
const fn method(name: &'static str, what: &'static str, buffer_bytes: Option<u64>, way: Way) -> Method {
    Method { name, what, needs: None, buffer_bytes, threads: Threads::One, tells: Tells::SizesAndTimes, way }
}

/// By name, of any system; the error lists the methods here.
pub(crate) fn method_named(name: &str) -> Result<&'static Method, String> {
    let elsewhere = || ELSEWHERE.iter().flat_map(|(_, methods)| methods.iter());
    METHODS.iter().chain(elsewhere()).find(|method| method.name == name).ok_or_else(|| {
        let choices = choices(name, METHODS.iter().map(|method| method.name));
        format!("unknown method `{name}`: {choices}")
    })
}

/// Returns the system that a method belongs to; `None` for this system.
pub(crate) fn system_of(name: &str) -> Option<&'static str> {
    let of = |methods: &[Method]| methods.iter().any(|method| method.name == name);
    let elsewhere = || ELSEWHERE.iter().find(|(_, methods)| of(methods)).map(|(system, _)| *system);
    if of(METHODS) { None } else { elsewhere() }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodFact {
    pub method: &'static Method,
    pub unavailable: Option<String>,
    /// Processors that the process may use.
    pub processors: u32,
}

/// Returns the availability of every method in `directory` and below.
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
        // This examiner exists only in builds with the feature.
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
