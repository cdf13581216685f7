//! Output of `limits` about a directory's volume.

use crate::support::{megadir, tree};

#[test]
fn the_room_of_the_volume_bounds_a_directory() {
    let scratch = tree();
    let (code, text, complaint) = megadir(scratch.path(), &["limits", "--size", "100kB", "tree"]);
    assert_eq!((code, complaint.as_str()), (Some(0), ""), "{text}");
    for part in
        ["more entries fit before creating one fails", "51 (measured: counted)", "blocks", "per volume"]
    {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let (code, text, complaint) =
        megadir(scratch.path(), &["limits", "--json", "--warn-at", "0.000001%", "tree", "gone"]);
    assert!(
        code == Some(10) && text.starts_with("{\"v\":1,") && text.lines().count() == 1,
        "{text}{complaint}"
    );
    assert!(complaint.contains("'gone'"), "{complaint}");
}
