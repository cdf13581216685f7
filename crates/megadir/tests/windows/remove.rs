//! Removing: everything requested is removed, read-only or not, and nothing else.

use std::fs;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use megadir::remove::aside::{detach, leftovers, renew};
use megadir::remove::{Counts, Failures, Progress, RemoveOptions, Removed, remove_contents, remove_tree};
use megadir::{Conditions, Dir, ErrorKind, FileType, names};
use megadir_testkit::require;

/// Options that remove everything and panic on failure.
fn options(workers: usize) -> RemoveOptions<'static> {
    RemoveOptions::new(workers, &|failure| panic!("{failure}"))
}

fn remove(path: &Path, options: &RemoveOptions<'_>) -> megadir::Result<Removed> {
    let parent = Dir::open(path.parent().unwrap())?;
    remove_tree(&parent, names::from_os(path.file_name().unwrap()), options, &Progress::new())
}

/// Removes; returns the reports as lines.
fn failing(path: &Path) -> (Removed, Vec<String>) {
    let failures = Failures::new(100);
    let on_failure = |failure| failures.add(failure);
    let removed = remove(path, &RemoveOptions { on_failure: &on_failure, ..options(2) }).unwrap();
    let lines: Vec<_> = failures.take().iter().map(ToString::to_string).collect();
    assert_eq!((removed.counts.failures, removed.complete), (lines.len() as u64, lines.is_empty()));
    (removed, lines)
}

/// Creates `wide` directories with `files` files, and one directory with a file each; returns the number of
/// entries and directories.
fn tree(root: &Path, wide: u64, files: u64) -> (u64, u64) {
    for directory in 0..wide {
        let below = root.join(format!("directory {directory}"));
        fs::create_dir_all(below.join("é漢😀")).unwrap();
        fs::write(below.join("é漢😀").join("last"), "").unwrap();
        (0..files).for_each(|file| fs::write(below.join(format!("ß{file}")), "text").unwrap());
    }
    (wide * (files + 1), 1 + 2 * wide)
}

fn only(entries: u64, directories: u64) -> Counts {
    Counts { entries, directories, ..Counts::default() }
}

#[test]
fn a_tree_is_removed_and_counted() {
    for workers in [1, 2, 5] {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("root");
        let (entries, directories) = tree(&root, 12, 20);
        fs::write(scratch.path().join("beside"), "").unwrap();
        let dry = remove(&root, &RemoveOptions { dry_run: true, ..options(workers) }).unwrap();
        assert_eq!((dry.counts.entries, dry.counts.directories), (entries, directories));
        assert!(root.join("directory 3").join("ß7").exists());
        let removed = remove(&root, &options(workers)).unwrap();
        assert_eq!((removed.counts, removed.complete), (only(entries, directories), true));
        assert!(!root.exists() && scratch.path().join("beside").exists());
        let error = remove(&root, &options(workers)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
}

/// With this number of workers each has space for few names, and names that were read cannot be put back.
#[test]
fn more_directories_than_there_is_room_for_go() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("root");
    for directory in 0..300 {
        fs::create_dir_all(root.join(format!("{directory:-<60}")).join("below")).unwrap();
    }
    assert_eq!(remove(&root, &options(256)).unwrap().counts, only(0, 601));
}

#[test]
fn a_directory_of_3000_files_is_emptied_and_stays() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("root");
    fs::create_dir(&root).unwrap();
    (0..3000).for_each(|file| fs::write(root.join(format!("a name of some length {file}")), "").unwrap());
    fs::create_dir(root.join("kept")).unwrap();
    let directory = Dir::open(&root).unwrap();
    let keep = RemoveOptions { keep: Some(b"kept"), ..options(1) };
    let removed = remove_contents(&directory, &keep, &Progress::new()).unwrap();
    assert_eq!((removed.counts, removed.complete), (only(3000, 0), true));
    assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
}

#[test]
fn read_only_files_are_removed_and_unremovable_ones_stay_unchanged() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("root");
    tree(&root, 1, 3);
    let below = root.join("directory 0");
    for name in ["ß0", "ß1", "é漢😀"] {
        let path = below.join(name);
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
    }
    // Sharing without delete: no other handle may remove the file.
    let held = fs::OpenOptions::new().read(true).share_mode(3).open(below.join("ß1")).unwrap();
    let (removed, failures) = failing(&root);
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(failures[0].starts_with(&format!("remove '{}'", below.join("ß1").display())), "{failures:?}");
    let counts = Counts { entries: 3, directories: 1, failures: 1, directories_kept: 2, ..Counts::default() };
    assert_eq!(removed.counts, counts);
    assert!(fs::metadata(below.join("ß1")).unwrap().permissions().readonly());
    drop(held);
    let other = scratch.path().join("other name");
    fs::hard_link(below.join("ß1"), &other).unwrap();
    assert_eq!(remove(&root, &options(1)).unwrap().counts, only(1, 2));
    assert!(fs::metadata(&other).unwrap().permissions().readonly(), "it is the file's, whatever its name");
}

#[test]
fn entries_opened_for_removal_by_others_are_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("file"), "text").unwrap();
    let held = fs::OpenOptions::new().read(true).share_mode(7).open(root.join("file")).unwrap();
    let failures = Failures::new(9);
    let on_failure = |failure| failures.add(failure);
    let removed = remove(&root, &RemoveOptions { on_failure: &on_failure, ..options(1) }).unwrap();
    if !removed.complete && require::is_wine() {
        require::unavailable(
            "entries_opened_for_removal_by_others_are_removed",
            "removal with POSIX semantics",
        );
        assert_eq!((removed.counts.directories, removed.counts.failures), (0, 1));
        assert!(failures.take()[0].to_string().contains("holds removed entries open"));
        drop(held);
        assert_eq!(remove(&root, &options(1)).unwrap().counts.directories, 1);
    }
    assert!(!root.exists(), "{:?}", failures.take());
}

/// Paths of maximum length, longer than most programs accept.
#[test]
fn long_paths_and_deep_trees_go() {
    let scratch = tempfile::tempdir().unwrap();
    let long = PathBuf::from(format!("\\\\?\\{}", scratch.path().join("root").display()));
    let mut path = long.clone();
    for level in 0..40 {
        path.push(format!("{level:-<50}"));
    }
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("file"), "").unwrap();
    assert!(path.as_os_str().len() > 2000);
    let removed = remove(&scratch.path().join("root"), &options(2)).unwrap();
    assert_eq!(removed.counts, only(1, 41));
    assert!(!long.exists());
}

#[test]
fn a_tree_of_many_levels_is_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let root = PathBuf::from(format!("\\\\?\\{}", scratch.path().join("root").display()));
    let mut path = root.clone();
    (0..120).for_each(|_| path.push("d"));
    fs::create_dir_all(&path).unwrap();
    let removed = remove(&scratch.path().join("root"), &options(2)).unwrap();
    assert_eq!((removed.counts, root.exists()), (only(0, 121), false));
}

#[test]
fn only_entries_that_meet_the_conditions_are_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("root");
    tree(&root, 2, 5);
    let accepts = |name: &[u8]| name.ends_with(b"3");
    let files = Conditions { types: vec![FileType::File], ..Conditions::default() };
    let remove_options = RemoveOptions { conditions: Some(&files), name: Some(&accepts), ..options(2) };
    let removed = remove(&root, &remove_options).unwrap();
    assert_eq!((removed.counts, removed.complete), (only(2, 0), true));
    let past = Some(megadir::Time { seconds: 1, nanoseconds: 0 });
    let old = Conditions { before: past, ..Conditions::default() };
    let remove_options = RemoveOptions { conditions: Some(&old), ..options(2) };
    assert_eq!(remove(&root, &remove_options).unwrap().counts, only(0, 0));
    assert!(root.join("directory 1").join("ß4").exists());
}

#[test]
fn cancelled_job_resumes() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("root");
    let (entries, _) = tree(&root, 10, 30);
    let parent = Dir::open(scratch.path()).unwrap();
    let mut total = 0;
    for _ in 0..1000 {
        let progress = Progress::new();
        let seen = std::sync::atomic::AtomicU64::new(0);
        let accepts = |_: &[u8]| {
            if seen.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 40 {
                progress.cancel();
            }
            true
        };
        let remove_options = RemoveOptions { name: Some(&accepts), ..options(2) };
        let removed = remove_tree(&parent, b"root", &remove_options, &progress).unwrap();
        total += removed.counts.entries;
        if !removed.cancelled {
            break;
        }
        assert!(!removed.complete);
    }
    assert_eq!(total, entries);
    assert_eq!(remove(&root, &options(2)).unwrap().counts, only(0, 1));
}

#[test]
fn invalid_names_and_options_that_windows_lacks_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("file"), "text").unwrap();
    let parent = Dir::open(scratch.path()).unwrap();
    let refused = |name: &[u8], options: &RemoveOptions<'_>| {
        remove_tree(&parent, name, options, &Progress::new()).unwrap_err()
    };
    for name in [&b""[..], b".", b"..", b"a\\b", b"a/b", b"file:stream", b"file::$DATA", b"a\0b"] {
        assert_eq!(refused(name, &options(1)).kind(), ErrorKind::BadOption, "{}", name.escape_ascii());
    }
    let crossing = refused(b"file", &RemoveOptions { cross_mounts: true, ..options(1) });
    assert!(crossing.kind() == ErrorKind::BadOption && crossing.to_string().contains("junction"));
    assert_eq!(refused(b"none", &options(1)).kind(), ErrorKind::NotFound);
    assert!(scratch.path().join("file").exists());
    assert_eq!(remove(&scratch.path().join("file"), &options(1)).unwrap().counts, only(1, 0));
}

#[test]
fn entries_put_aside_are_found_by_name_and_locked() {
    let scratch = tempfile::tempdir().unwrap();
    tree(&scratch.path().join("root"), 2, 2);
    fs::write(scratch.path().join("file"), "").unwrap();
    let parent = Dir::open(scratch.path()).unwrap();
    let no_directory = detach(&parent, b"file").unwrap_err();
    assert_eq!(no_directory.kind(), ErrorKind::NotADirectory, "{no_directory}");
    assert_eq!(renew(&parent, b"root").unwrap_err().kind(), ErrorKind::Unavailable);
    let aside = detach(&parent, b"root").unwrap();
    assert!(!scratch.path().join("root").exists());
    assert_eq!(leftovers(&parent, b"root").unwrap().len(), 0, "it is locked");
    drop(aside);
    assert_eq!(leftovers(&parent, b"other").unwrap().len(), 0);
    let left = leftovers(&parent, b"root").unwrap();
    assert_eq!(left.len(), 1);
    let removed = left[0].remove(&options(2), &Progress::new()).unwrap();
    assert_eq!(removed.counts, only(6, 5));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
}

/// Creates `inside` with a junction to `outside`, which has a file.
fn junction(scratch: &Path) {
    fs::create_dir(scratch.join("inside")).unwrap();
    fs::create_dir(scratch.join("outside")).unwrap();
    fs::write(scratch.join("outside").join("file"), "stays").unwrap();
    let mut command = Command::new("cmd");
    command.args(["/c", "mklink", "/J"]).arg(scratch.join("inside").join("junction"));
    let made = command.arg(scratch.join("outside")).stdin(Stdio::null()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    assert!(fs::symlink_metadata(scratch.join("inside").join("junction")).unwrap().is_symlink());
}

#[test]
fn junctions_are_removed_and_their_targets_stay() {
    if require::is_wine() {
        return require::unavailable("junctions_are_removed_and_their_targets_stay", "Wine shows none");
    }
    let scratch = tempfile::tempdir().unwrap();
    junction(scratch.path());
    assert_eq!(remove(&scratch.path().join("inside"), &options(2)).unwrap().counts, only(1, 1));
    assert!(!scratch.path().join("inside").exists());
    assert!(scratch.path().join("outside").join("file").exists());
}

/// Wine reports a host link as its target.
#[test]
fn links_of_the_system_below_wine_lead_no_removal_outside() {
    let test = "links_of_the_system_below_wine_lead_no_removal_outside";
    if !require::is_wine() {
        return require::unavailable(test, "this is no Wine");
    }
    let scratch = tempfile::tempdir().unwrap();
    let (inside, outside) = (scratch.path().join("inside"), scratch.path().join("outside"));
    fs::create_dir_all(outside.join("below")).unwrap();
    fs::write(outside.join("file"), "stays").unwrap();
    fs::write(outside.join("below").join("file"), "stays").unwrap();
    fs::create_dir_all(inside.join("empty")).unwrap();
    fs::write(inside.join("plain"), "").unwrap();
    for (to, link) in [("../outside", "to-folder"), ("../outside/file", "to-file")] {
        let mut command = Command::new("Z:\\bin\\ln");
        let _ = command.args(["-s", to, link]).current_dir(&inside).stdin(Stdio::null()).status();
        // Wine starts host programs, but reports no result and does not wait for them.
        let begun = Instant::now();
        while !inside.join(link).exists() {
            assert!(begun.elapsed() < megadir_testkit::PATIENCE, "no link was made");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    let directory = Dir::open(&inside).unwrap();
    assert_eq!(directory.open_below(b"to-folder").unwrap_err().kind(), ErrorKind::NotADirectory);
    let (removed, failures) = failing(&inside);
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert!(
        failures.iter().all(|line| line.contains("Wine would follow this symbolic link")),
        "{failures:?}"
    );
    assert_eq!((removed.counts.entries, removed.counts.directories), (1, 1), "{failures:?}");
    assert!(outside.join("file").exists() && outside.join("below").join("file").exists());
    let refused = remove(&inside.join("to-folder"), &options(1)).unwrap_err();
    assert!(refused.to_string().contains("Wine would follow this symbolic link"), "{refused}");
    assert_eq!(failing(&inside.join("to-file")).1.len(), 1);
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"stays");
}
