//! The ways of finding out name, size and time of every file of a directory that a study can compare.
//!
//! Plain data: what each way is and needs, a table for each system. Adding one that the library's backends and examiners can do is a row there;
//! the study `attributes`, its help and its tests follow. How they work is in `kind/stat_all/run/mod.rs`.

mod linux;
mod windows;

use megadir::Dir;
use megadir::nearest::choices;

/// Every method of this system, the one that others are compared with first.
#[cfg(not(windows))]
pub static METHODS: &[Method] = linux::METHODS;
/// Every method of this system, the one that others are compared with first.
#[cfg(windows)]
pub static METHODS: &[Method] = windows::METHODS;

/// The methods of other systems: known by name, so that one study is for all.
static ELSEWHERE: &[(&str, &[Method])] =
    if cfg!(windows) { &[("Linux", linux::METHODS)] } else { &[("Windows", windows::METHODS)] };

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
    /// What it tells beside names.
    pub tells: Tells,
    pub(crate) way: Way,
}

/// What a method tells of each file beside its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// Its size, and its time as finely as the file system keeps it.
    SizesAndTimes,
    /// Its time as finely as the file system keeps it.
    Times,
    /// Its time in whole seconds.
    Seconds,
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

/// Returns a method that one thread does everywhere.
const fn method(name: &'static str, what: &'static str, buffer_bytes: Option<u64>, way: Way) -> Method {
    Method { name, what, needs: None, buffer_bytes, threads: Threads::One, tells: Tells::SizesAndTimes, way }
}

/// Returns the method with a name, of this system or another; the error says which there are on this one.
///
/// # Errors
///
/// The reason, in words.
pub(crate) fn method_named(name: &str) -> Result<&'static Method, String> {
    let elsewhere = || ELSEWHERE.iter().flat_map(|(_, methods)| methods.iter());
    METHODS.iter().chain(elsewhere()).find(|method| method.name == name).ok_or_else(|| {
        let choices = choices(name, METHODS.iter().map(|method| method.name));
        format!("there is no method `{name}`: {choices}")
    })
}

/// Returns the system that a method is of, if it is not of this one.
pub(crate) fn system_of(name: &str) -> Option<&'static str> {
    let of = |methods: &[Method]| methods.iter().any(|method| method.name == name);
    let elsewhere = || ELSEWHERE.iter().find(|(_, methods)| of(methods)).map(|(system, _)| *system);
    if of(METHODS) { None } else { elsewhere() }
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

/// Returns the reason why a method cannot be used on a directory, if it cannot.
pub(crate) fn unavailable(method: &Method, directory: &Dir) -> Option<String> {
    if let Some(system) = system_of(method.name) {
        return Some(format!("a method of {system}"));
    }
    match method.way {
        Way::Path | Way::StdFs | Way::Policy => None,
        Way::CppFilesystem => {
            megadir_sys::cpp_filesystem::unavailable_on(directory.path()).map(str::to_owned)
        }
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
            error.starts_with(&format!("there is no method `{}`: did you mean '{name}'?", &name[1..])),
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
                reasons.iter().all(|reason| *reason == Some(format!("a method of {system}"))),
                "{reasons:?}"
            );
        }
        assert_eq!(system_of("no-such-method"), None);
    }
}
