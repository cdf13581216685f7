//! Files are moved to the places of another layout: all of them, once, and nothing else.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use megadir::layout::{Layout, PathBuffer};
use megadir::reshard::{Counts, Fit, Progress, ReshardOptions, reshard, survey, verify};
use megadir::{Dir, ErrorKind, FileType, Globs, names};
use megadir_testkit::unprivileged::unprivileged;
use proptest::prelude::*;

fn layout(text: &str) -> Layout {
    text.parse().unwrap()
}

/// Moves everything; returns the counts and the messages.
fn moved(at: &Path, change: impl Fn(&mut ReshardOptions<'_>)) -> (Counts, Vec<String>) {
    let failures = RefCell::new(Vec::new());
    let on_failure = |error: megadir::Error| failures.borrow_mut().push(error.to_string());
    let mut options = ReshardOptions::new(Layout::FLAT, Layout::FLAT, &on_failure);
    change(&mut options);
    let counts = reshard(&Dir::open(at).unwrap(), &options, &Progress::new()).unwrap();
    (counts, failures.into_inner())
}

/// Moves everything without a failure.
#[track_caller]
fn all(at: &Path, from: &str, to: &str) -> Counts {
    let (counts, failures) = moved(at, |options| (options.from, options.to) = (layout(from), layout(to)));
    assert!(failures.is_empty() && counts.failures + counts.conflicts == 0, "{failures:?}");
    counts
}

/// Relative path of each entry, its inode, and if it is a directory.
fn tree(at: &Path) -> BTreeMap<Vec<u8>, (u64, bool)> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![at.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let status = path.symlink_metadata().unwrap();
            let relative = path.strip_prefix(at).unwrap().as_os_str().as_bytes().to_vec();
            found.insert(relative, (status.ino(), status.is_dir()));
            if status.is_dir() {
                folders.push(path);
            }
        }
    }
    found
}

/// Files only: by name or path, with their inodes.
fn files(at: &Path) -> BTreeMap<Vec<u8>, u64> {
    tree(at).into_iter().filter(|(_, (_, is_dir))| !is_dir).map(|(path, (inode, _))| (path, inode)).collect()
}

/// Creates a file for each name that the layout accepts; returns the names.
fn fill(at: &Path, layout: &Layout, wanted: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (mut buffer, placer) = (PathBuffer::new(), layout.at(wanted.len() as u64));
    let mut made = Vec::new();
    for name in wanted {
        let Ok(placed) = placer.place(name, &mut buffer) else { continue };
        let path = at.join(names::to_os(placed.path()).unwrap());
        // Names that another name's directory has cannot be made.
        if fs::create_dir_all(path.parent().unwrap()).is_ok() && fs::File::create_new(&path).is_ok() {
            made.push(name.clone());
        }
    }
    made
}

const LAYOUTS: &[&str] = &[
    "flat",
    "prefix:2",
    "prefix:2+rest",
    "prefix:1/1",
    "prefix:2/2+rest",
    "suffix:1/2",
    "next-to-last:2",
    "digest:1",
    "digest:2",
    "digest:1/1",
    "digest:2/2",
    "digest:1/1+label=d-",
    "prefix:1/1+from=0+under=9",
    "prefix:1/1/1+rest+from=1+under=4",
];

fn any_name() -> impl Strategy<Value = Vec<u8>> {
    let letters = prop_oneof![b'a'..=b'c', Just(b'.'), Just(b'\n'), Just(0xff), 1_u8..=255];
    let letters = letters.prop_filter("no separator", |byte| *byte != b'/');
    prop_oneof![
        prop::collection::vec(letters, 1..12),
        "[0-9a-f]{8,40}".prop_map(String::into_bytes),
        // Names of directories too.
        "[0-9a-f]{1,2}".prop_map(String::into_bytes),
        Just(vec![b'x'; 255]),
    ]
}

/// Runs again while runs find something to do: only a directory that was in the way of a file, and was removed since, leaves something.
fn until_nothing_is_left(
    directory: &Dir,
    options: &ReshardOptions<'_>,
    mut last: Counts,
) -> Result<(), TestCaseError> {
    loop {
        let again = reshard(directory, options, &Progress::new()).unwrap();
        if again.moved == 0 {
            prop_assert_eq!(again.directories_made, 0);
            prop_assert_eq!((again.conflicts, again.failures), (last.conflicts, last.failures));
            return Ok(());
        }
        prop_assert!(last.conflicts > 0, "{:?}, then {:?}", last, again);
        prop_assert!(last.conflicts + last.failures > again.conflicts + again.failures);
        last = again;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if megadir_testkit::require::full() { 2000 } else { 150 }))]

    #[test]
    fn there_and_back_is_the_same_tree(
        names in prop::collection::btree_set(any_name(), 0..60),
        from in prop::sample::select(LAYOUTS), to in prop::sample::select(LAYOUTS),
        window_bytes in prop_oneof![Just(1), Just(2000), Just(1 << 20)], offline in any::<bool>(),
    ) {
        let (from, to) = (layout(from), layout(to));
        let scratch = tempfile::tempdir().unwrap();
        let at = scratch.path();
        // A growing layout's depth depends on the number of files: only names that it accepts count.
        let mut buffer = PathBuffer::new();
        let placer = from.at(names.len() as u64);
        let names: Vec<Vec<u8>> =
            names.into_iter().filter(|name| placer.place(name, &mut buffer).is_ok()).collect();
        let made = fill(at, &from, &names);
        let before = files(at);
        let (failures, blocked) = (RefCell::new(0), RefCell::new(0));
        let on_failure = |error: megadir::Error| {
            *failures.borrow_mut() += 1;
            *blocked.borrow_mut() += u64::from(error.kind() == ErrorKind::NotADirectory);
        };
        let mut options = ReshardOptions { window_bytes, offline, ..ReshardOptions::new(from, to, &on_failure) };
        let directory = Dir::open(at).unwrap();
        let foreseen = survey(&directory, &ReshardOptions { on_failure: &|_| {}, ..options }, &Progress::new());
        let there = match reshard(&directory, &options, &Progress::new()) {
            // Shortened names of two layouts on one level.
            Err(stopped) => {
                prop_assert_eq!(stopped.error.kind(), ErrorKind::BadOption);
                prop_assert_eq!(files(at), before);
                return Ok(());
            }
            Ok(there) => there,
        };
        let foreseen = foreseen.unwrap();
        // Directories that are in the way of files may be gone before these are moved.
        let stay = foreseen.stay.conflicts + foreseen.stay.failures;
        prop_assert!(foreseen.to_move <= there.moved && stay >= there.conflicts + there.failures);
        prop_assert_eq!(foreseen.to_move + stay, there.moved + there.conflicts + there.failures);
        let (reported, blocked) = (*failures.borrow(), *blocked.borrow());
        // A directory whose name is taken is reported once for all of its files, which all fail.
        let failed = there.conflicts + there.failures;
        prop_assert!(failed == reported || (failed > reported && (1..=there.failures).contains(&blocked)));
        let after = files(at);
        prop_assert_eq!(after.len(), before.len());
        // Every file is where one of the layouts has it.
        let mut buffer = megadir::layout::NameBuffer::new();
        for path in after.keys() {
            prop_assert!(
                from.name_of(path, &mut buffer).is_some() || to.name_of(path, &mut buffer).is_some()
            );
        }
        let changed = after.iter().filter(|(path, inode)| before.get(*path) != Some(inode)).count();
        prop_assert_eq!(changed as u64, there.moved);
        until_nothing_is_left(&directory, &options, there)?;
        (options.from, options.to) = (to, from);
        let back = reshard(&directory, &options, &Progress::new()).unwrap();
        until_nothing_is_left(&directory, &options, back)?;
        // Files that stayed have names that are in the way, or that the new layout refuses: they still do.
        if there.conflicts + there.failures + there.unplaced == 0 && made.len() == names.len() {
            prop_assert_eq!(files(at), before);
        }
    }
}

#[test]
fn flat_to_hashed_and_back_leaves_no_directory() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    let wanted: Vec<Vec<u8>> = (0..3000).map(|index| format!("x{index:08x}").into_bytes()).collect();
    fill(at, &Layout::FLAT, &wanted);
    let before = tree(at);
    let there = all(at, "flat", "digest:2");
    assert_eq!((there.moved, there.directories_made), (3000, 256));
    let deeper = all(at, "digest:2", "digest:2/2");
    assert_eq!((deeper.moved, deeper.directories_removed), (3000, 0), "directories of both layouts stay");
    assert_eq!(all(at, "digest:2/2", "squid").moved, 0, "not one name is of this layout");
    let back = all(at, "digest:2/2", "flat");
    assert_eq!(back.moved, 3000);
    assert_eq!(back.directories_removed, 256 + deeper.directories_made);
    assert_eq!(tree(at), before);
}

/// Directories of both layouts have two characters on the second level, but below other ones on the first.
#[test]
fn emptied_directories_go_if_only_their_own_names_fit_the_new_layout() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    let names: Vec<Vec<u8>> = (0..500).map(|number| format!("{number:08x}").into_bytes()).collect();
    fill(at, &layout("digest:1/2"), &names);
    let counts = all(at, "digest:1/2", "digest:2/2");
    assert_eq!(counts.moved, 500);
    assert!(counts.directories_removed > 16, "{counts:?}");
    let widths: Vec<usize> =
        fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name().len()).collect();
    assert!(widths.len() > 100 && widths.iter().all(|width| *width == 2), "{widths:?}");
}

#[test]
fn a_growing_layout_gets_the_depth_for_all_files() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    let wanted: Vec<Vec<u8>> =
        (0..300).map(|index| format!("{:08x}", index * 7_654_321_u32).into_bytes()).collect();
    fill(at, &Layout::FLAT, &wanted);
    let grows = "suffix:1/1/1+from=0+under=10";
    assert_eq!(all(at, "flat", grows).moved, 300);
    assert!(files(at).keys().all(|path| path.iter().filter(|byte| **byte == b'/').count() == 2));
    // A third of the files in their places, the others at the top: the number counts, not where they are.
    for (index, path) in files(at).into_keys().enumerate().filter(|(index, _)| index % 3 > 0) {
        fs::rename(at.join(names::to_os(&path).unwrap()), at.join(format!("{index:07}"))).unwrap();
    }
    assert_eq!(all(at, "flat", grows).moved, 200);
    assert_eq!(all(at, grows, "flat").moved, 300);
}

#[test]
fn counting_for_a_growing_layout_reports_each_failure_once() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    // A directory of the old layout, and one that only the new layout has.
    for name in ["ab", "x"] {
        fs::create_dir(at.join(name)).unwrap();
        fs::set_permissions(at.join(name), fs::Permissions::from_mode(0o000)).unwrap();
    }
    fs::set_permissions(at, fs::Permissions::from_mode(0o777)).unwrap();
    let directory = Dir::open(at).unwrap();
    unprivileged(|| {
        let failures = RefCell::new(Vec::new());
        let on_failure = |error: megadir::Error| failures.borrow_mut().push(error.to_string());
        let (from, to) = (layout("prefix:2"), layout("suffix:1/1/1+from=0+under=10"));
        let options = ReshardOptions::new(from, to, &on_failure);
        let counts = reshard(&directory, &options, &Progress::new()).unwrap();
        assert_eq!((counts.failures, failures.take().len()), (2, 2));
        let found = survey(&directory, &options, &Progress::new()).unwrap();
        assert_eq!((found.stay.failures, failures.take().len()), (2, 2));
    });
    for name in ["ab", "x"] {
        fs::set_permissions(at.join(name), fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn foreign_entries_stay_and_are_counted() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    fill(at, &Layout::FLAT, &[b"abcdef".to_vec(), b"abcdeg".to_vec(), b"a".to_vec(), b"abcd.tmp".to_vec()]);
    for directory in ["README", "ab", "ab/sub"] {
        fs::create_dir(at.join(directory)).unwrap();
    }
    fs::write(at.join("README/abcdeh"), "").unwrap();
    symlink("abcdef", at.join("abcdel")).unwrap();
    // The new path is taken.
    fs::write(at.join("ab/abcdeg"), "other").unwrap();
    let before = tree(at);
    let globs = Globs::of_names(&["*.tmp"]).unwrap();
    let on_failure = RefCell::new(Vec::new());
    let failed = |error: megadir::Error| on_failure.borrow_mut().push(error.to_string());
    let options = ReshardOptions {
        exclude: Some(&globs),
        ..ReshardOptions::new(Layout::FLAT, layout("prefix:2"), &failed)
    };
    let counts = reshard(&Dir::open(at).unwrap(), &options, &Progress::new()).unwrap();
    let expected = Counts {
        moved: 1,
        conflicts: 1,
        unplaced: 1,
        excluded: 1,
        others: 1,
        // README has too many letters.
        directories: 1,
        ..Counts::default()
    };
    assert_eq!(counts, expected);
    let path = at.join("abcdeg");
    assert_eq!(
        *on_failure.borrow(),
        [format!("rename '{}': another entry has its new path", path.display())]
    );
    let mut after = tree(at);
    let inode = after.remove(&b"ab/abcdef"[..]).unwrap();
    after.insert(b"abcdef".to_vec(), inode);
    assert_eq!(after, before);
    assert_eq!(fs::read(at.join("ab/abcdeg")).unwrap(), b"other");
}

#[test]
fn file_at_the_path_of_its_own_target_directory_stays() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    fill(at, &Layout::FLAT, &[b"ab".to_vec(), b"abcdef".to_vec(), b"abcdeg".to_vec(), b"cdef".to_vec()]);
    let (counts, mut failures) = moved(at, |options| options.to = layout("prefix:2"));
    assert_eq!((counts.moved, counts.failures, failures.len()), (1, 3, 2), "{failures:?}");
    failures.sort();
    let place = at.display();
    let start = format!("create '{place}/ab': an entry with this name is no directory and does not move: ");
    assert!(failures[0].starts_with(&start) && failures[0].ends_with("; 2 files stay"), "{failures:?}");
    let start = format!("rename '{place}/ab': its new directory would have the same path, ");
    assert!(failures[1].starts_with(&start), "{failures:?}");
    assert!(at.join("cd/cdef").exists() && at.join("ab").is_file() && at.join("abcdef").exists());
}

#[test]
fn files_with_names_of_directories_move_before_these_are_made() {
    let names =
        (0..100).map(|number| format!("{number:02}")).chain((0..2000).map(|number| format!("{number:05}")));
    let names: Vec<Vec<u8>> = names.map(String::into_bytes).collect();
    let to = layout("digest:2");
    for (window_bytes, offline) in [(1, false), (1 << 20, false), (1 << 20, true)] {
        let scratch = tempfile::tempdir().unwrap();
        let at = scratch.path();
        fill(at, &Layout::FLAT, &names);
        let mut before: Vec<u64> = files(at).into_values().collect();
        let (counts, failures) = moved(at, |options| {
            (options.to, options.window_bytes, options.offline) = (to, window_bytes, offline);
        });
        assert_eq!(
            (counts.moved, counts.failures + counts.conflicts, failures.len()),
            (2100, 0, 0),
            "{failures:?}"
        );
        for name in &names {
            assert!(at.join(to.path_for(name).unwrap()).is_file(), "{}", name.escape_ascii());
        }
        let mut after: Vec<u64> = files(at).into_values().collect();
        before.sort_unstable();
        after.sort_unstable();
        assert_eq!(after, before);
        assert_eq!(all(at, "flat", "digest:2"), Counts::default());
    }
}

/// Each of these has the name of the next one's directory: one path cannot be both at any moment.
#[test]
fn files_in_the_way_of_each_other_stay() {
    let ring = ["25", "40", "8b", "b7", "d5", "e1"];
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    fill(at, &Layout::FLAT, &ring.map(|name| name.as_bytes().to_vec()));
    fill(at, &Layout::FLAT, &[b"abcdef".to_vec()]);
    let (counts, failures) = moved(at, |options| options.to = layout("digest:2"));
    assert_eq!((counts.moved, counts.failures, failures.len()), (1, 6, 6), "{failures:?}");
    assert!(failures.iter().all(|line| line.contains("does not move: rename it")), "{failures:?}");
    // With one of them renamed, all have a way.
    fs::rename(at.join("25"), at.join("twenty-five")).unwrap();
    assert_eq!(all(at, "flat", "digest:2").moved, 6);
}

#[test]
fn a_directory_in_the_way_of_a_file_is_named_and_the_next_run_moves_the_file() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    let old = layout("digest:2");
    // The other one lies in the directory 'be'.
    fill(at, &old, &[b"be".to_vec(), b"abcdef".to_vec()]);
    let (counts, failures) = moved(at, |options| options.from = old);
    assert_eq!((counts.moved, counts.conflicts), (1, 1), "{failures:?}");
    assert!(failures[0].contains("/be': a directory has its new path"), "{failures:?}");
    assert_eq!(all(at, "digest:2", "flat").moved, 1);
    assert!(at.join("be").is_file() && at.join("abcdef").is_file());
}

#[test]
fn new_directories_are_like_the_top() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    for mode in [0o2770, 0o755, 0o1777] {
        let top = at.join(format!("{mode:o}"));
        fs::create_dir(&top).unwrap();
        fill(&top, &Layout::FLAT, &[b"abcdef".to_vec(), b"abcdeg".to_vec()]);
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&top, Some(1234), Some(5678)).unwrap();
        }
        fs::set_permissions(&top, fs::Permissions::from_mode(mode)).unwrap();
        all(&top, "flat", "digest:2/2");
        let wanted = top.metadata().unwrap();
        let mut directories = 0;
        for path in tree(&top).into_iter().filter(|(_, (_, is_dir))| *is_dir).map(|(path, _)| path) {
            let status = top.join(names::to_os(&path).unwrap()).metadata().unwrap();
            let known = |status: &fs::Metadata| (status.mode(), status.uid(), status.gid());
            assert_eq!(known(&status), known(&wanted), "{}", path.escape_ascii());
            directories += 1;
        }
        assert_eq!(directories, 4);
    }
}

#[test]
fn another_directory_may_receive_the_files_even_if_paths_are_ambiguous() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    let (old, new) = (at.join("old"), at.join("old/new"));
    fs::create_dir_all(&new).unwrap();
    let wanted: Vec<Vec<u8>> = (0..100).map(|index| format!("{index:08x}ff").into_bytes()).collect();
    fill(&old, &layout("git"), &wanted);
    let before: Vec<u64> = files(&old).into_values().collect();
    let into = Dir::open(&new).unwrap();
    let failures = |error: megadir::Error| panic!("{error}");
    let options = ReshardOptions {
        into: Some(&into),
        ..ReshardOptions::new(layout("git"), layout("prefix:3"), &failures)
    };
    let counts = reshard(&Dir::open(&old).unwrap(), &options, &Progress::new()).unwrap();
    assert_eq!((counts.moved, counts.directories_removed), (100, 1));
    let mut after: Vec<u64> = files(&new).into_values().collect();
    after.sort_unstable();
    let mut before = before;
    before.sort_unstable();
    assert_eq!(after, before);
    assert_eq!(fs::read_dir(&old).unwrap().count(), 1);
    // The directory itself is no other one.
    let same = Dir::open(&old).unwrap();
    let options = ReshardOptions { into: Some(&same), ..options };
    let error = reshard(&Dir::open(&old).unwrap(), &options, &Progress::new()).unwrap_err().error;
    assert_eq!(error.kind(), ErrorKind::BadOption);
}

#[test]
fn the_deepest_layout_takes_files_and_gives_them_back() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    let names: Vec<Vec<u8>> = (0..50).map(|number| format!("{number:040}").into_bytes()).collect();
    fill(at, &Layout::FLAT, &names);
    let before = tree(at);
    let deepest = format!("suffix:1{}", "/1".repeat(megadir::layout::LEVELS_MAX - 1));
    assert_eq!(all(at, "flat", &deepest).moved, 50);
    let levels = |path: &Vec<u8>| path.iter().filter(|byte| **byte == b'/').count();
    assert!(files(at).keys().all(|path| levels(path) == megadir::layout::LEVELS_MAX));
    assert_eq!(all(at, &deepest, "flat").moved, 50);
    assert_eq!(tree(at), before);
}

#[test]
fn a_check_ends_when_it_is_cancelled() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    let names: Vec<Vec<u8>> = (0..100).map(|number| format!("{number:08}").into_bytes()).collect();
    fill(at, &Layout::FLAT, &names);
    let progress = Progress::new();
    let on_failure = |error: megadir::Error| panic!("{error}");
    let check = || {
        let on_misfit = |_: &[u8], _: FileType| progress.cancel();
        verify(&Dir::open(at).unwrap(), &layout("digest:2"), &progress, &on_misfit, &on_failure).unwrap()
    };
    assert_eq!(check(), Fit { misfits: 1, ..Fit::default() });
    assert_eq!(check(), Fit::default());
}

#[test]
fn hard_links_keep_their_other_names_and_open_files_stay_open() {
    use std::io::{Read, Write};
    let scratch = tempfile::tempdir().unwrap();
    let (at, other) = (scratch.path().join("t"), scratch.path().join("other"));
    fs::create_dir(&at).unwrap();
    fill(&at, &Layout::FLAT, &[b"abcdef".to_vec(), b"bcdefg".to_vec()]);
    fs::hard_link(at.join("abcdef"), &other).unwrap();
    fs::hard_link(at.join("abcdef"), at.join("second")).unwrap();
    let mut open = fs::File::options().append(true).open(at.join("abcdef")).unwrap();
    assert_eq!(all(&at, "flat", "prefix:2").moved, 3);
    open.write_all(b"still").unwrap();
    for path in [at.join("ab/abcdef"), at.join("se/second"), other] {
        let mut text = String::new();
        fs::File::open(&path).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), path.metadata().unwrap().nlink()), ("still", 3), "{}", path.display());
    }
}

#[test]
fn one_run_at_a_time() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = Dir::open(scratch.path()).unwrap();
    let lock = directory.again().unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let on_failure = |error: megadir::Error| panic!("{error}");
    let options = ReshardOptions::new(Layout::FLAT, layout("digest:2"), &on_failure);
    let error = reshard(&directory, &options, &Progress::new()).unwrap_err().error;
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}
