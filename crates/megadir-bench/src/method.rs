//! Methods of reading name, size and time of every file of a directory: one table per system. A method by an
//! existing backend and stat backend is one row; `kind/stat_all/run/mod.rs` implements them.

mod linux;
mod windows;

use megadir::Dir;
use megadir::nearest::choices;

/// The first is the baseline.
#[cfg(not(windows))]
pub static METHODS: &[Method] = linux::METHODS;
#[cfg(windows)]
pub static METHODS: &[Method] = windows::METHODS;

/// Their names are known, so that one study file works on every system.
static ELSEWHERE: (&str, &[Method]) =
    if cfg!(windows) { ("Linux", linux::METHODS) } else { ("Windows", windows::METHODS) };

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

const fn method(name: &'static str, buffer_bytes: Option<u64>, way: Way) -> Method {
    let (threads, tells) = (Threads::One, Tells::SizesAndTimes);
    Method { name, what: "", needs: None, buffer_bytes, threads, tells, way }
}

const fn examined(backend: &'static str, stat_backend: &'static str, order: AskingOrder) -> Way {
    Way::Examined { backend, stat_backend, order }
}

impl Method {
    const fn what(self, what: &'static str) -> Self {
        Self { what, ..self }
    }

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
