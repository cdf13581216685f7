//! Names and paths of every form.

use megadir::{BACKENDS, Dir, ErrorKind, Walk, WalkItem, WalkOptions};
use megadir_testkit::require;
use megadir_testkit::seen::{assert_same, identities, list, oracle};
use megadir_testkit::tree::{Flat, Kinds, Names};

use super::support::{STANDARD, assert_same as same_rows, bringing, choice, examined, truth};

#[test]
fn names_with_unpaired_surrogates_are_listed_and_opened() {
    let scratch = tempfile::tempdir().unwrap();
    let flat = Flat { entries: 40, names: Names::Surrogates, kinds: Kinds::Mixed, seed: 1 };
    let name = flat.name(0);
    if require::is_wine() {
        let test = "names_with_unpaired_surrogates_are_listed_and_opened";
        return require::unavailable(test, "Wine keeps names as UTF-8");
    }
    drop(std::fs::File::create(scratch.path().join(megadir::names::to_os(&name).unwrap())).unwrap());
    let kept = std::fs::read_dir(scratch.path()).unwrap().next().unwrap().unwrap().file_name();
    assert_eq!(kept.as_encoded_bytes(), name);
    let path = flat.ensure(scratch.path());
    let directory = Dir::open(&path).unwrap();
    let mut made: Vec<_> = (0..flat.entries).map(|index| (flat.name(index), 0, flat.kind(index))).collect();
    made.sort_unstable();
    for backend in bringing(&directory) {
        let way = choice(&directory, backend, "listed", 4 << 10);
        assert_same(
            &identities(&list(backend, &directory, &way.listing.options).unwrap()),
            &made,
            "surrogates",
        );
        same_rows(&examined(&path, &way).unwrap(), &truth(&path), STANDARD, "surrogates");
    }
    for (name, _, kind) in made {
        assert_eq!(directory.kind_of(&name).unwrap(), kind);
        assert_eq!(directory.open_below(&name).is_ok(), kind == megadir::FileType::Directory);
    }
}

#[test]
fn paths_beyond_260_characters_are_listed_opened_and_walked() {
    let scratch = tempfile::tempdir().unwrap();
    let level = "directory-with-a-name-of-fifty-characters-01234567";
    let mut deep = scratch.path().to_owned();
    (0..8).for_each(|_| deep.push(level));
    assert!(deep.as_os_str().len() > 400);
    std::fs::create_dir_all(&deep).unwrap();
    for index in 0..20 {
        std::fs::write(deep.join(format!("file-{index}")), "x").unwrap();
    }
    let directory = Dir::open(&deep).unwrap();
    for backend in BACKENDS.iter().filter(|backend| backend.probe(&directory).is_ok()) {
        let way = choice(&directory, *backend, "open-each", 4 << 10);
        let found = list(*backend, &directory, &way.listing.options).unwrap();
        assert_same(&identities(&found), &oracle(&directory), backend.name());
        assert_eq!(found.len(), 20);
        same_rows(&examined(&deep, &way).unwrap(), &truth(&deep), STANDARD, backend.name());
    }
    for stat_backend in super::support::asking() {
        let way = choice(&directory, BACKENDS[0], stat_backend.name(), 4 << 10);
        same_rows(&examined(&deep, &way).unwrap(), &truth(&deep), STANDARD, stat_backend.name());
    }
    let options = WalkOptions {
        buffer_bytes: 4 << 10,
        threads: 1,
        threads_max: 1,
        read_ahead: megadir::ReadAhead::Auto,
        queue_directories_max: 9,
        cross_mounts: false,
        examine: None,
        report_ends: false,
        looks_again: false,
        conditions: None,
    };
    let mut walk = Walk::new(Dir::open(scratch.path()).unwrap(), &options).unwrap();
    let mut entries = 0;
    while let Some(item) = walk.next_item() {
        let WalkItem::Batch { batch, .. } = item else { panic!("{item:?}") };
        entries += batch.len();
    }
    assert_eq!(entries, 8 + 20);
}

#[test]
fn a_directory_is_read_wherever_it_has_been_moved() {
    let scratch = tempfile::tempdir().unwrap();
    let (before, after) = (scratch.path().join("before"), scratch.path().join("after"));
    Flat::plain(50).build(&before);
    let directory = Dir::open(&before).unwrap();
    std::fs::rename(&before, &after).unwrap();
    std::fs::create_dir(&before).unwrap();
    for backend in BACKENDS.iter().filter(|backend| backend.probe(&directory).is_ok()) {
        let options = choice(&directory, *backend, "open-each", 4 << 10).listing.options;
        match list(*backend, &directory, &options) {
            // An error, instead of the directory that lies at the path now.
            Err(error) if error.kind() == ErrorKind::NotFound && require::is_wine() => {
                let label = format!("reading a moved directory with {}", backend.name());
                require::unavailable(&label, "Wine does not report the new path");
            }
            found => assert_eq!(found.unwrap().len(), 50, "{}", backend.name()),
        }
    }
    assert_eq!(directory.id().unwrap(), Dir::open(&after).unwrap().id().unwrap());
    assert_ne!(directory.id().unwrap(), Dir::open(&before).unwrap().id().unwrap());
}

#[test]
fn names_that_lead_elsewhere_are_not_opened() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(scratch.path().join("a").join("b")).unwrap();
    std::fs::write(scratch.path().join("file"), "").unwrap();
    let directory = Dir::open(scratch.path().join("a")).unwrap();
    assert!(directory.open_below(b"b").is_ok());
    for name in [&b""[..], b".", b"..", b"b\\..", b"..\\a"] {
        let error = directory.open_below(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadOption, "{error}");
    }
    assert_eq!(directory.open_below(b"missing").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(directory.open_below(b"\xff").unwrap_err().kind(), ErrorKind::Unavailable, "not WTF-8");
    let parent = Dir::open(scratch.path()).unwrap();
    assert_eq!(parent.open_below(b"file").unwrap_err().kind(), ErrorKind::NotADirectory);
    assert_eq!(Dir::open(scratch.path().join("file")).unwrap_err().kind(), ErrorKind::NotADirectory);
    assert_eq!(Dir::open(scratch.path().join("missing")).unwrap_err().kind(), ErrorKind::NotFound);
}
