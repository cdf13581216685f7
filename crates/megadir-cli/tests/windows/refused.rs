//! What the command says of what is not there yet.

use crate::support::{megadir, tree};

#[test]
fn what_is_not_there_yet_is_refused_in_one_line() {
    let scratch = tree();
    for words in [&["remove", "--yes", "tree"][..], &["list", "--estimate", "tree"]] {
        let (code, text, complaint) = megadir(scratch.path(), words);
        assert_eq!((code, text.as_str()), (Some(3), ""), "{words:?}: {complaint}");
        assert!(complaint.contains("not on Windows yet"), "{words:?}: {complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
    }
    assert_eq!(std::fs::read_dir(scratch.path().join("tree")).unwrap().count(), 51, "nothing went");
}
