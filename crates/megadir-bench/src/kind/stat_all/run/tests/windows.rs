//! On Windows: which methods must be there.

use megadir_testkit::require;

use super::{compare, hold};
use crate::method::method_named;

/// The backend that fills a buffer a call.
pub(crate) const BUFFERED: &str = "by-handle";
/// Names that are hard to write; longer ones are not for the C library, which C++ asks.
pub(crate) const ODD_NAMES: &[&[u8]] = &[&[b'n'; 120], "\u{e4}\u{65e5}\u{1f600}".as_bytes(), b"two  blanks"];
/// `true` if times before 1970 are told by all: C++ has none on Windows.
pub(crate) const BEFORE_1970: bool = false;

/// Makes what is no file: nothing that needs no privilege but directories, which are made anyway.
pub(crate) fn others(_directory: &std::path::Path) {}

#[test]
fn only_methods_that_need_something_may_be_missing() {
    let parent = tempfile::tempdir().unwrap();
    let refused = compare(parent.path());
    for (name, reason) in &refused {
        let needs = method_named(name).unwrap().needs.is_some();
        assert!(needs && (require::is_wine() || *name == "cpp-filesystem"), "{name}: {reason}");
        require::unavailable(&format!("attributes by {name}"), reason);
    }
    // Those of the published source, which need nothing; C++ needs a compiler.
    for name in [
        "find-and-ask-each",
        "find-first-file-basic",
        "find-first-file",
        "find-first-file-large",
        "by-handle-full",
    ] {
        assert!(refused.iter().all(|(refused, _)| *refused != name), "{refused:?}");
    }
    let cpp = refused.iter().any(|(name, _)| *name == "cpp-filesystem");
    assert_eq!(cpp, megadir_sys::cpp_filesystem::unavailable().is_some(), "{refused:?}");
}

/// Directories of these sizes are made where none are ready; larger ones take minutes.
const MADE_MAX: u64 = 5000;
/// Who asks for each file does so in directories up to this size, larger ones are for the long tier.
const EACH_MAX: u64 = 2000;

#[test]
fn methods_find_what_the_oracle_finds_in_directories_of_the_sources_sizes_and_others() {
    let parent = tempfile::tempdir().unwrap();
    for entries in [0, 1, 2000, 5000, 100_000] {
        let ready = std::env::var_os("MEGADIR_TREES").is_some();
        if entries > MADE_MAX && !ready && !require::full() {
            require::not_run(
                "methods of attributes on 100 000 files",
                "none are ready; MEGADIR_FULL=1 makes them",
            );
            continue;
        }
        let path = megadir_testkit::tree::Flat::plain(entries).ensure(parent.path());
        let wanted = |name: &str| match name {
            "find-and-ask-each" => entries <= EACH_MAX || require::full(),
            // Files that are ready are of times up to 2116; the C library of Wine knows those to 2106.
            "cpp-filesystem" => !ready,
            _ => true,
        };
        let (files, _) = hold(&path, &[true], |method| wanted(method.name));
        assert_eq!(files, entries);
    }
}
