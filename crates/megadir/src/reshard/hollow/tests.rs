//! Each state that other programs can leave at the exchange, settled at once and by a second run after a kill.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;

const NOTHING: fn(Error) = |_| {};
const STATES: [State; 3] = [State::Kept, State::Removed, State::Other];

/// Change of a name in one of the two directories. `Kept` is nothing, so a name that was not in `base` is still missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Kept,
    Removed,
    Other,
}

/// A name for each pair of states, for names that were there before and ones that were not.
struct Case {
    name: String,
    in_base: bool,
    old: State,
    new: State,
}

fn cases() -> Vec<Case> {
    let pairs = STATES.into_iter().flat_map(|old| STATES.map(|new| (old, new)));
    pairs
        .flat_map(|(old, new)| [true, false].map(|in_base| (in_base, old, new)))
        .filter(|(in_base, old, new)| *in_base || (*old != State::Removed && *new != State::Removed))
        .map(|(in_base, old, new)| Case { name: format!("{in_base}-{old:?}-{new:?}"), in_base, old, new })
        .collect()
}

/// Contents of the name in the new directory, and whether it stays in the old one: the table of the module.
fn expected(case: &Case) -> (Option<&'static str>, bool) {
    let base = case.in_base.then_some("base");
    match (case.old, case.new) {
        (State::Kept, State::Kept) => (base, false),
        (State::Kept | State::Removed, State::Other) => (Some("new"), false),
        (State::Kept, State::Removed) | (State::Removed, State::Kept | State::Removed) => (None, false),
        (State::Other, State::Kept | State::Removed) => (Some("old"), false),
        (State::Other, State::Other) => (Some("new"), true),
    }
}

fn change(at: &Path, name: &str, state: State, contents: &str) {
    match state {
        State::Kept => {}
        State::Removed => std::fs::remove_file(at.join(name)).unwrap(),
        State::Other => {
            std::fs::write(at.join("../other"), contents).unwrap();
            std::fs::rename(at.join("../other"), at.join(name)).unwrap();
        }
    }
}

fn contents(at: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = std::fs::read_dir(at) else { return BTreeMap::new() };
    let entries = entries.map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap_or_else(|_| "directory".into()))
        })
        .collect()
}

/// The directory `t` after the exchange, with the changes of all cases; calls `killed` with what a run has open then.
fn exchanged(at: &Path, cases: &[Case], killed: impl FnOnce(&Sets)) {
    let old = at.join("t");
    std::fs::create_dir(&old).unwrap();
    for case in cases.iter().filter(|case| case.in_base) {
        std::fs::write(old.join(&case.name), "base").unwrap();
    }
    let parent = Dir::open(at).unwrap();
    let hollow = Hollow::new(&parent, b"t").unwrap();
    let (sets, _) = hollow.prepare(hollow.open_locked().unwrap(), &Progress::new()).unwrap().unwrap();
    hollow.exchange(&sets).unwrap();
    for case in cases {
        change(&at.join(&hollow.place.hidden), &case.name, case.old, "old");
        change(&old, &case.name, case.new, "new");
    }
    killed(&sets);
}

fn complete(at: &Path) -> Result<Option<FilesRenewed>> {
    let parent = Dir::open(at).unwrap();
    complete_files(&parent, b"t", &mut FilesOptions { on_failure: &NOTHING, goes_on: &mut |_| false })
}

fn beside(at: &Path) -> Vec<String> {
    contents(at).into_keys().filter(|name| name.starts_with(".megadir")).collect()
}

/// Compares with the table; then the files that stay are removed, and the same call ends.
fn check(at: &Path, cases: &[Case], moment: &str) {
    let renewed = complete(at).unwrap().unwrap();
    let hidden = beside(at).into_iter().find(|name| name.starts_with(BESIDE));
    let (new, old) = (contents(&at.join("t")), hidden.map(|name| at.join(name)));
    let left = old.as_ref().map(|old| contents(old)).unwrap_or_default();
    for case in cases {
        let (expected, stays) = expected(case);
        assert_eq!(new.get(&case.name).map(String::as_str), expected, "{moment}: {}", case.name);
        let stayed = stays.then_some("old");
        assert_eq!(left.get(&case.name).map(String::as_str), stayed, "{moment}: {}", case.name);
    }
    assert_eq!(renewed.stay, left.len() as u64, "{moment}");
    for name in left.keys() {
        std::fs::remove_file(old.as_ref().unwrap().join(name)).unwrap();
    }
    let again = complete(at).unwrap();
    assert_eq!(again.map(|renewed| renewed.stay), (!left.is_empty()).then_some(0), "{moment}");
    assert_eq!((beside(at), contents(&at.join("t"))), (Vec::new(), new), "{moment}");
}

#[test]
fn changes_at_the_exchange_are_settled_as_the_table_has_it() {
    let scratch = tempfile::tempdir().unwrap();
    let cases = cases();
    assert_eq!(cases.len(), 13);
    exchanged(scratch.path(), &cases, |_| {});
    check(scratch.path(), &cases, "at once");
}

/// A killed run has settled some names, or has taken them and not looked yet.
#[test]
fn a_run_killed_while_it_settles_decides_no_name_otherwise() {
    let cases = cases();
    for settled in 0..cases.len() {
        for only_taken in [false, true] {
            let scratch = tempfile::tempdir().unwrap();
            let moment = format!("{settled}, {only_taken}");
            exchanged(scratch.path(), &cases, |sets| {
                for case in &cases[..settled] {
                    Settler::new(sets).settle_name(case.name.as_bytes());
                }
                let next = cases[settled].name.as_bytes();
                if only_taken && pairs::inode(&sets.base, next).is_some() {
                    let _ = pairs::move_to(&sets.old, &sets.taken, next);
                }
            });
            check(scratch.path(), &cases, &moment);
        }
    }
}

#[test]
fn a_directory_and_a_renamed_file_of_the_instant_are_brought_over() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    let case = Case { name: "from".into(), in_base: true, old: State::Kept, new: State::Kept };
    exchanged(at, &[case], |_| {});
    let hidden = beside(at).into_iter().find(|name| name.starts_with(BESIDE)).unwrap();
    let old = at.join(hidden);
    std::fs::rename(old.join("from"), old.join("to")).unwrap();
    std::fs::create_dir(old.join("directory")).unwrap();
    std::fs::write(old.join("directory/file"), "").unwrap();
    assert_eq!(complete(at).unwrap().unwrap().stay, 0);
    let found = contents(&at.join("t"));
    assert_eq!(found.get("to").map(String::as_str), Some("base"));
    assert!(found.len() == 2 && at.join("t/directory/file").exists(), "{found:?}");
}

#[test]
fn a_renewal_that_is_cancelled_before_the_exchange_changes_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    let t = at.join("t");
    std::fs::create_dir(&t).unwrap();
    std::fs::write(t.join("file"), "base").unwrap();
    let (parent, progress) = (Dir::open(at).unwrap(), Progress::new());
    progress.cancel();
    let options = &mut FilesOptions { on_failure: &NOTHING, goes_on: &mut |_| false };
    assert_eq!(renew_files(&parent, b"t", options, &progress).unwrap(), None);
    assert_eq!((contents(at).len(), contents(&t).len()), (1, 1));
    assert_eq!(renew_files(&parent, b"t", options, &Progress::new()).unwrap().unwrap().stay, 0);
}

#[test]
fn changes_before_the_exchange_are_linked_again() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    let t = at.join("t");
    std::fs::create_dir(&t).unwrap();
    for name in ["kept", "gone", "other"] {
        std::fs::write(t.join(name), "base").unwrap();
    }
    let parent = Dir::open(at).unwrap();
    let hollow = Hollow::new(&parent, b"t").unwrap();
    let sets = Sets::make(&hollow.place, &hollow.sets, hollow.open_locked().unwrap()).unwrap();
    let watch = Watch::of(&sets.old).unwrap();
    let progress = Progress::new();
    assert!(hollow.link_changed(&sets, &Changed::All, &progress).unwrap());
    assert!(!hollow.link_changed(&sets, &Changed::All, &progress).unwrap());
    for (name, state) in [("gone", State::Removed), ("other", State::Other), ("new", State::Other)] {
        change(&t, name, state, "later");
    }
    let changed = watch.changed();
    let Changed::Names(names) = &changed else { panic!("all") };
    assert_eq!(names.len(), 3);
    assert!(hollow.link_changed(&sets, &changed, &progress).unwrap());
    assert_eq!(contents(&at.join(&hollow.place.hidden)), contents(&t));
    std::fs::create_dir(t.join("sub")).unwrap();
    let refused = hollow.link_changed(&sets, &watch.changed(), &progress).unwrap_err();
    assert!(refused.to_string().contains("it holds the directory 'sub', which cannot have two names"));
    hollow.undo().unwrap();
    assert_eq!((beside(at), contents(&t).len()), (Vec::new(), 4));
}

#[test]
fn a_state_that_another_user_left_or_that_belongs_elsewhere_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    exchanged(at, &[], |_| {});
    let sets = beside(at).into_iter().find(|name| name.starts_with(SETS)).unwrap();
    let chmod = |mode| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(at.join(&sets), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    chmod(0o750);
    assert!(complete(at).unwrap_err().to_string().contains("is of another user"));
    chmod(0o700);
    std::fs::rename(at.join("t"), at.join("elsewhere")).unwrap();
    std::fs::create_dir(at.join("t")).unwrap();
    assert!(complete(at).unwrap_err().to_string().contains("neither this directory nor"));
    std::fs::remove_dir(at.join("t")).unwrap();
    std::fs::rename(at.join("elsewhere"), at.join("t")).unwrap();
    assert!(complete(at).unwrap().is_some() && beside(at).is_empty());
}
