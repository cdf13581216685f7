//! On Windows: which methods must be there.

use super::compare;
use crate::method::METHODS;

/// The backend that fills a buffer a call.
pub(super) const BUFFERED: &str = "by-handle";
/// Names that are hard to write; longer ones are not for the C library, which C++ asks.
pub(super) const ODD_NAMES: &[&[u8]] = &[&[b'n'; 120], "\u{e4}\u{65e5}\u{1f600}".as_bytes(), b"two  blanks"];
/// Whether times before 1970 are told by all: C++ has none on Windows.
pub(super) const BEFORE_1970: bool = false;

/// Makes what is no file: nothing that needs no privilege but directories, which are made anyway.
pub(super) fn others(_directory: &std::path::Path) {}

#[test]
fn the_methods_of_the_source_are_all_there() {
    let parent = tempfile::tempdir().unwrap();
    let refused = compare(parent.path());
    for method in METHODS {
        let refused = refused.iter().find(|(name, _)| *name == method.name);
        match refused {
            Some((_, reason)) => {
                assert!(method.needs.is_some(), "{}: {reason}", method.name);
                megadir_testkit::note_not_run!(reason);
            }
            None => {}
        }
    }
}
