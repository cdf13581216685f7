//! What the command says of what is not there yet.

use crate::support::{megadir, tree};

#[test]
fn what_is_not_there_yet_is_refused_in_one_line() {
    let scratch = tree();
    let (code, text, complaint) = megadir(scratch.path(), &["list", "--estimate", "tree"]);
    assert_eq!((code, text.as_str()), (Some(3), ""), "{complaint}");
    assert!(complaint.contains("not on Windows yet"), "{complaint}");
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
}
