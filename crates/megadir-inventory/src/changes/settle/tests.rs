//! Rename detection on plain values.

use super::super::proof::Proof;
use super::*;
use megadir::FileType;

fn file(inode: u64) -> Facts {
    Facts {
        kind: FileType::File,
        size_bytes: Some(1),
        modified_ns: Some(2),
        changed_ns: Some(3),
        born_ns: Some(inode as i64),
        inode: Some(inode),
        device: Some(6),
        mode: Some(0o644),
        links: Some(1),
        ..Facts::NOTHING
    }
}

fn directory(inode: u64) -> Facts {
    Facts { kind: FileType::Directory, ..file(inode) }
}

fn at(path: &str, facts: Facts) -> Entry {
    Entry { root: 0, path: path.into(), facts, suspect: false }
}

/// Settles and returns one line for each change.
fn lines(missing: &[Entry], came: &[Entry], replaced: &[(Entry, Facts)]) -> Vec<String> {
    let (missing, came, replaced) = (missing.to_vec(), came.to_vec(), replaced.to_vec());
    lines_of(Seen { missing, came, replaced, ..Seen::default() })
}

fn lines_of(seen: Seen) -> Vec<String> {
    lines_by(Proof { directory_times: true, stubs: true, ..Proof::COMMON }, seen)
}

fn lines_by(proof: Proof, seen: Seen) -> Vec<String> {
    settle(seen, &Proofs::new(vec![proof])).iter().map(line).collect()
}

fn line(change: &Change) -> String {
    let from = change.from.as_ref().map(|from| format!("{from} -> ")).unwrap_or_default();
    let fields: Vec<&str> = change.fields.names().collect();
    let fields = if fields.is_empty() { String::new() } else { format!(" ({})", fields.join(" ")) };
    let suspect = if change.suspect && change.kind != ChangeKind::Suspect { " ?" } else { "" };
    format!("{} {from}{}{fields}{suspect}", change.kind.name(), change.path)
}

#[test]
fn the_same_file_at_another_path_is_renamed_and_another_is_not() {
    assert_eq!(lines(&[at("a", file(1))], &[at("b", file(1))], &[]), ["renamed a -> b"]);
    assert_eq!(lines(&[at("a", file(1))], &[at("b", file(2))], &[]), ["removed a", "added b"]);
    // A number that was given again has another time of birth.
    let again = Facts { born_ns: Some(9), ..file(1) };
    assert_eq!(lines(&[at("a", file(1))], &[at("b", again)], &[]), ["removed a", "added b"]);
    let other_type = Facts { kind: FileType::Fifo, ..file(1) };
    assert_eq!(lines(&[at("a", file(1))], &[at("b", other_type)], &[]), ["removed a", "added b"]);
    let changed = Facts { size_bytes: Some(9), changed_ns: Some(9), ..file(1) };
    assert_eq!(lines(&[at("a", file(1))], &[at("b", changed)], &[]), ["renamed a -> b (size)"]);
    let suspect = Entry { suspect: true, ..at("a", file(1)) };
    assert_eq!(lines(&[suspect], &[at("b", file(1))], &[]), ["renamed a -> b ?"]);
}

#[test]
fn without_a_time_of_birth_size_and_mtime_must_be_the_same() {
    let unborn = Facts { born_ns: None, ..file(1) };
    assert_eq!(lines(&[at("a", unborn)], &[at("b", unborn)], &[]), ["renamed a -> b"]);
    let changed = Facts { modified_ns: Some(9), ..unborn };
    assert_eq!(lines(&[at("a", unborn)], &[at("b", changed)], &[]), ["removed a", "added b"]);
}

#[test]
fn renamed_directory_is_one_change_without_its_contents() {
    let missing = [at("d", directory(1)), at("d/s", directory(2)), at("d/s/x", file(3)), at("d/y", file(4))];
    let came = [at("e", directory(1)), at("e/s", directory(2)), at("e/s/x", file(3)), at("e/y", file(4))];
    assert_eq!(lines(&missing, &came, &[]), ["renamed d -> e"]);
    // Other changes, under the new path.
    let mut changed = came.to_vec();
    changed[2].facts.size_bytes = Some(7);
    changed[3].facts.inode = Some(9);
    changed.push(at("e/z", file(5)));
    let expected =
        ["removed d/y", "renamed d -> e", "modified d/s/x -> e/s/x (size)", "added e/y", "added e/z"];
    assert_eq!(lines(&missing, &changed, &[]), expected);
    // Moved within, and out.
    let moved = [at("e", directory(1)), at("e/t", directory(2)), at("e/t/x", file(3)), at("y", file(4))];
    assert_eq!(lines(&missing, &moved, &[]), ["renamed d -> e", "renamed d/s -> e/t", "renamed d/y -> y"]);
    let mut suspect = missing.clone();
    suspect[2].suspect = true;
    assert_eq!(lines(&suspect, &came, &[]), ["renamed d -> e", "suspect d/s/x -> e/s/x"]);
}

#[test]
fn unexplained_times_within_a_renamed_directory_are_reported() {
    let touched = Facts { modified_ns: Some(9), ..directory(2) };
    let missing = [at("d", directory(1)), at("d/s", directory(2)), at("d/s/x", file(3))];
    let came = [at("e", directory(1)), at("e/s", touched), at("e/s/x", file(3))];
    assert_eq!(lines(&missing, &came, &[]), ["renamed d -> e", "modified d/s -> e/s (mtime)"]);
    assert_eq!(lines(&missing, &came[..2], &[]), ["removed d/s/x", "renamed d -> e"]);
}

#[test]
fn replacement_is_modified_unless_either_file_has_another_name() {
    let a = |facts| at("a", facts);
    assert_eq!(lines(&[], &[], &[(a(file(1)), file(2))]), ["modified a (inode)"]);
    let link = Facts { kind: FileType::Symlink, size_bytes: Some(2), ..file(2) };
    assert_eq!(lines(&[], &[], &[(a(file(1)), link)]), ["type-changed a (size inode)"]);
    // mv b a
    assert_eq!(lines(&[at("b", file(2))], &[], &[(a(file(1)), file(2))]), ["renamed b -> a"]);
    // mv a a.1; echo > a
    assert_eq!(lines(&[], &[at("a.1", file(1))], &[(a(file(1)), file(2))]), ["added a", "renamed a -> a.1"]);
    // Swapped.
    let swapped = [(a(file(1)), file(2)), (at("b", file(2)), file(1))];
    assert_eq!(lines(&[], &[], &swapped), ["renamed b -> a", "renamed a -> b"]);
}

#[test]
fn hard_links_pair_first_within_the_renamed_directory() {
    let linked = Facts { links: Some(2), ..file(1) };
    let missing = [at("a", linked), at("b", linked)];
    let came = [at("c", linked), at("d", linked)];
    assert_eq!(lines(&missing, &came, &[]), ["renamed a -> c", "renamed b -> d"]);
    assert_eq!(lines(&missing, &came[..1], &[]), ["removed b", "renamed a -> c"]);
    assert_eq!(lines(&missing[..1], &came, &[]), ["renamed a -> c", "added d"]);
    // d -> y with an entry of the same name, and z -> c: paths alone would pair them crosswise.
    let missing = [at("d", directory(2)), at("d/a", linked), at("z", linked)];
    let came = [at("c", linked), at("y", directory(2)), at("y/a", linked)];
    assert_eq!(lines(&missing, &came, &[]), ["renamed z -> c", "renamed d -> y"]);
}

#[test]
fn entry_left_at_the_old_directory_is_renamed_to_its_own_path() {
    let at_d = |name: &str, facts| at(&format!("D/{name}"), facts);
    // mv D E; mkdir D; mv E/x D/x
    let replaced = vec![(at("D", directory(1)), directory(9))];
    let stayed = vec![(at_d("x", file(2)), file(2)), (at_d("s", directory(3)), directory(3))];
    let seen =
        Seen { came: vec![at("E", directory(1))], replaced, stayed: stayed.clone(), ..Seen::default() };
    let expected = ["added D", "renamed D/s -> D/s", "renamed D/x -> D/x", "renamed D -> E"];
    assert_eq!(lines_of(seen), expected);
    // `rm D` after an entry was moved to E, then `mv E D`.
    let replaced = vec![(at("D", directory(1)), directory(9))];
    let seen =
        Seen { missing: vec![at("E", directory(9))], replaced, stayed: stayed.clone(), ..Seen::default() };
    assert_eq!(lines_of(seen), ["renamed E -> D", "renamed D/s -> D/s", "renamed D/x -> D/x"]);
    // A directory replaced by another, and gone: nothing more is reported of their entries.
    let replaced = vec![(at("D", directory(1)), directory(9))];
    let seen = Seen { replaced, stayed, ..Seen::default() };
    assert_eq!(lines_of(seen), ["modified D (inode)"]);
}

#[test]
fn entry_moved_within_a_renamed_directory_is_removed_from_its_carried_path() {
    // mv D E; mkdir D; rm E/x; touch D/x
    let came = [at("E", directory(1))];
    let replaced = [(at("D", directory(1)), directory(9)), (at("D/x", file(2)), file(3))];
    assert_eq!(lines(&[], &came, &replaced), ["added D", "removed D/x", "added D/x", "renamed D -> E"]);
}

#[test]
fn entry_carried_into_an_unreadable_directory_is_not_removed() {
    let missing = [at("d", directory(1)), at("d/s", directory(2)), at("d/s/x", file(3)), at("d/y", file(4))];
    let came = [at("e", directory(1)), at("y", file(4))];
    let unread = |path: &[u8]| HashSet::from([(0, TreePath::from(path))]);
    let (missing, came) = (missing.to_vec(), came.to_vec());
    let seen = Seen { missing: missing.clone(), came: came.clone(), unread: unread(b"e"), ..Seen::default() };
    assert_eq!(lines_of(seen), ["renamed d -> e", "renamed d/y -> y"]);
    let seen = Seen { missing, came, unread: unread(b"e/s"), ..Seen::default() };
    assert_eq!(lines_of(seen), ["renamed d -> e", "renamed d/y -> y"]);
}

#[test]
fn stubs_of_subvolumes_go_along_and_pair_in_no_other_way() {
    let stub = Facts { inode: Some(2), size_bytes: Some(0), born_ns: None, ..directory(2) };
    let made_again = Facts { device: None, modified_ns: None, changed_ns: None, ..stub };
    let missing = [at("c", directory(1)), at("c/n", stub)];
    assert_eq!(lines(&missing, &[at("d", directory(1)), at("d/n", made_again)], &[]), ["renamed c -> d"]);
    let other = [at("d", directory(9)), at("d/n", made_again)];
    assert_eq!(lines(&missing, &other, &[]), ["removed c", "removed c/n", "added d", "added d/n"]);
}

/// As on NILFS2: no birth times, and a rename sets the mtime of a directory.
fn lines_where_renames_set_mtime(missing: &[Entry], came: &[Entry], unread: &[&str]) -> Vec<String> {
    let directory_rename = DirectoryRename::SetsMtime;
    let proof = Proof { directory_times: true, directory_rename, ..Proof::COMMON };
    let unread = unread.iter().map(|path| (0, TreePath::from(*path))).collect();
    let unborn = |entries: &[Entry]| {
        let facts = |entry: &Entry| Facts { born_ns: None, ..entry.facts };
        entries.iter().map(|entry| Entry { facts: facts(entry), ..entry.clone() }).collect()
    };
    lines_by(proof, Seen { missing: unborn(missing), came: unborn(came), unread, ..Seen::default() })
}

fn touched(facts: Facts) -> Facts {
    Facts { modified_ns: Some(9), ..facts }
}

#[test]
fn a_directory_with_another_mtime_is_renamed_if_one_of_its_entries_is_the_same() {
    let lines = |missing: &[Entry], came: &[Entry]| lines_where_renames_set_mtime(missing, came, &[]);
    let missing = [at("d", directory(1)), at("d/s", directory(2)), at("d/s/x", file(3)), at("d/y", file(4))];
    let renamed = touched(directory(1));
    let came = [at("e", renamed), at("e/s", directory(2)), at("e/s/x", file(3)), at("e/y", file(4))];
    assert_eq!(lines(&missing, &came), ["renamed d -> e"]);
    // One file was written, one came.
    let written = [at("e", renamed), at("e/s", directory(2)), at("e/s/x", file(3)), at("e/z", file(5))];
    assert_eq!(lines(&missing, &written), ["removed d/y", "renamed d -> e", "added e/z"]);
    // Only a directory below is the same.
    assert_eq!(lines(&missing[..2], &came[..2]), ["renamed d -> e"]);
}

#[test]
fn a_new_directory_with_the_number_of_a_removed_one_is_not_renamed() {
    let lines = |missing: &[Entry], came: &[Entry]| lines_where_renames_set_mtime(missing, came, &[]);
    let missing = [at("d", directory(1)), at("d/x", file(3))];
    let new = at("e", touched(directory(1)));
    let expected = ["removed d", "removed d/x", "added e", "added e/x"];
    assert_eq!(lines(&missing, &[new.clone(), at("e/x", file(4))]), expected);
    // The numbers of its entries were given again as well, in the same order.
    assert_eq!(lines(&missing, &[new.clone(), at("e/x", touched(file(3)))]), expected);
    let missing = [at("d", directory(1)), at("d/s", directory(2))];
    let again = [new, at("e/s", touched(directory(2)))];
    assert_eq!(lines(&missing, &again), ["removed d", "removed d/s", "added e", "added e/s"]);
}

#[test]
fn an_empty_directory_is_renamed_only_with_the_same_mtime() {
    let lines = |came: Facts| lines_where_renames_set_mtime(&[at("d", directory(1))], &[at("e", came)], &[]);
    assert_eq!(lines(directory(1)), ["renamed d -> e"]);
    assert_eq!(lines(touched(directory(1))), ["removed d", "added e"]);
}

#[test]
fn a_directory_that_cannot_be_read_is_renamed_by_its_number() {
    let missing = [at("d", directory(1)), at("d/x", file(3))];
    let came = [at("e", touched(directory(1)))];
    assert_eq!(lines_where_renames_set_mtime(&missing, &came, &["e"]), ["renamed d -> e"]);
}

#[test]
fn trees_are_kept_apart() {
    let other = Entry { root: 1, ..at("b", file(1)) };
    assert_eq!(lines(&[at("a", file(1))], &[other], &[]), ["removed a", "added b"]);
}
