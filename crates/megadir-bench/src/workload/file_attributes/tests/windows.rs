//! On Windows: which methods must be there.

use megadir_testkit::require;

use super::compare;
use crate::method::method_named;

/// The backend that fills a buffer a call.
pub(super) const BUFFERED: &str = "by-handle";
/// Names that are hard to write; longer ones are not for the C library, which C++ asks.
pub(super) const ODD_NAMES: &[&[u8]] = &[&[b'n'; 120], "\u{e4}\u{65e5}\u{1f600}".as_bytes(), b"two  blanks"];
/// Whether times before 1970 are told by all: C++ has none on Windows.
pub(super) const BEFORE_1970: bool = false;

/// Makes what is no file: nothing that needs no privilege but directories, which are made anyway.
pub(super) fn others(_directory: &std::path::Path) {}

#[test]
fn only_methods_that_need_something_may_be_missing() {
    let parent = tempfile::tempdir().unwrap();
    let refused = compare(parent.path());
    for (name, reason) in &refused {
        assert!(method_named(name).unwrap().needs.is_some(), "{name}: {reason}");
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
