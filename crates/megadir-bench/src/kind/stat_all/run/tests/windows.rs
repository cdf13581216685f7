//! Windows: methods that must be available.

use megadir_testkit::require;

use super::{compare, hold};
use crate::method::method_named;

/// Backend that fills one buffer per call.
pub(crate) const BUFFERED: &str = "by-handle";
/// Unusual names; longer ones exceed the limit of the C library, which C++ uses.
pub(crate) const ODD_NAMES: &[&[u8]] = &[&[b'n'; 120], "\u{e4}\u{65e5}\u{1f600}".as_bytes(), b"two  blanks"];
/// `false`: C++ reports no times before 1970 on Windows.
pub(crate) const BEFORE_1970: bool = false;

/// Creates nothing: without privileges there are only directories, which exist anyway.
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
    // The published source's methods have no requirements; C++ needs a compiler.
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

/// Maximum size of directories created by the test; larger ones take minutes.
const MADE_MAX: u64 = 5000;
/// Maximum directory size for methods with a call per file; larger ones are left to the long tests.
const EACH_MAX: u64 = 2000;

#[test]
fn methods_match_the_oracle_in_directories_of_published_and_other_sizes() {
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
            // Existing test files have times up to 2116; Wine's C library supports years up to 2106.
            "cpp-filesystem" => !ready,
            _ => true,
        };
        let (files, _) = hold(&path, &[true], |method| wanted(method.name));
        assert_eq!(files, entries);
    }
}
