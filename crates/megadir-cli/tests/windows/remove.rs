//! `megadir remove`: entries removed and kept, refusals, and continuing after a kill.

use std::fs;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use megadir_testkit::require;

use crate::support::{megadir, tree};

fn runs(directory: &Path, words: &[&str], expected: i32) -> (String, String) {
    let (code, text, complaint) = megadir(directory, words);
    assert_eq!(code, Some(expected), "{words:?}: {text}{complaint}");
    (text, complaint)
}

fn entries(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}

#[test]
fn a_tree_is_counted_and_then_removed() {
    let scratch = tree();
    let (text, complaint) = runs(scratch.path(), &["remove", "--dry-run", "tree"], 0);
    assert!(text.starts_with("would remove 54 entries (3 directories)"), "{text}");
    assert_eq!((complaint.as_str(), entries(&scratch.path().join("tree"))), ("", 51));
    let (text, complaint) = runs(scratch.path(), &["remove", "--yes", r".\tree\"], 0);
    assert_eq!(text, "");
    assert!(complaint.starts_with("megadir: removed 54 entries (3 directories)"), "{complaint}");
    assert_eq!(entries(scratch.path()), 0);
    runs(scratch.path(), &["remove", "--yes", "tree"], 3);
    // The current directory of a drive.
    let drive = scratch.path().to_str().unwrap().get(..2).unwrap();
    fs::write(scratch.path().join("one"), "").unwrap();
    runs(scratch.path(), &["remove", "--yes", &format!("{drive}one")], 0);
    assert_eq!(entries(scratch.path()), 0);
}

#[test]
fn conditions_contents_and_json() {
    let scratch = tree();
    let words = ["remove", "--yes", "--json", "--match", "file 4?", "--type", "f", "tree"];
    let (text, _) = runs(scratch.path(), &words, 0);
    assert!(text.contains("\"removed\":10,\"directories\":0,"), "{text}");
    assert_eq!(entries(&scratch.path().join("tree")), 41);
    runs(scratch.path(), &["remove", "--yes", "--older-than", "1d", "tree"], 0);
    assert_eq!(entries(&scratch.path().join("tree")), 41);
    runs(scratch.path(), &["remove", "--yes", "--contents", "tree"], 0);
    assert_eq!(entries(&scratch.path().join("tree")), 0);
    let (_, complaint) = runs(scratch.path(), &["remove", "--yes", "--contents", "none"], 3);
    assert!(complaint.contains("remove 'none'"), "{complaint}");
}

#[test]
fn protected_paths_are_refused_and_nothing_is_removed() {
    let scratch = tree();
    let below = scratch.path().join("tree").join("below");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let above = text(scratch.path());
    let all = [&["--yes"][..], &["--yes", "--contents"], &["--dry-run"]];
    let refused = |directory: &Path, path: &str, reason: &str, ways: &[&[&str]]| {
        let other = text(&below.join("empty"));
        for more in ways {
            let words = [&["remove"], *more, &[&other, path]].concat();
            let (output, complaint) = runs(directory, &words, 2);
            assert!(complaint.contains(reason) && output.is_empty(), "{words:?}: {complaint}");
            assert_eq!(complaint.lines().count(), 1, "{complaint}");
        }
    };
    for (path, reason) in [
        (".", "'.' is never removed"),
        (r"..\below\.", "'.' is never removed"),
        ("..", "'..' is never removed"),
        (r"\", "the root of a volume"),
        (r"C:\", "the root of a volume"),
        ("C:", "the root of a volume"),
        (r"\\?\C:\", "the root of a volume"),
        (r"\\server\share\", "the root of a volume"),
        ("file:stream", "stream"),
        ("", "the path is empty"),
    ] {
        // Refused by path alone, whatever the options.
        refused(&below, path, reason, &all[..1]);
    }
    for (path, reason) in [
        (text(&below).as_str(), "it is the current directory"),
        (r"..\..\tree", "the current directory lies below"),
        (above.as_str(), "the current directory lies below"),
    ] {
        refused(&below, path, reason, &all);
    }
    // Otherwise the working directory is in the user's folder, if scratch directories are.
    let root = Path::new(r"C:\");
    let windows = std::env::var("SystemRoot").unwrap();
    let own = std::env::var("USERPROFILE").unwrap();
    refused(root, &own, "your profile directory (", &all);
    refused(
        root,
        Path::new(&own).parent().unwrap().to_str().unwrap(),
        "your profile directory lies below",
        &all,
    );
    refused(root, &windows, "it is the Windows directory", &all);
    refused(root, &windows.to_uppercase(), "it is the Windows directory", &all);
    assert!(below.join("empty").exists(), "nothing is touched where anything is refused");
}

#[test]
fn options_without_windows_support_are_refused_in_one_line() {
    let scratch = tree();
    for (words, reason) in [
        (&["--contents", "--renew"][..], "cannot exchange two directories"),
        (&["--cross-mounts"], "junction"),
    ] {
        let words = [&["remove", "--yes", "tree"], words].concat();
        let (_, complaint) = runs(scratch.path(), &words, 2);
        assert!(complaint.contains(reason) && complaint.lines().count() == 1, "{complaint}");
    }
    assert_eq!(entries(&scratch.path().join("tree")), 51);
}

#[test]
fn directory_is_put_aside_and_its_leftover_is_found() {
    let scratch = tree();
    let kept = scratch.path().join("tree").join("below").join("held");
    fs::write(&kept, "").unwrap();
    let (_, complaint) = {
        // With this share mode it can be renamed, but the file cannot be removed.
        let held = fs::OpenOptions::new().read(true).share_mode(3).open(&kept).unwrap();
        let ran = megadir(scratch.path(), &["remove", "--yes", "--detach", "tree"]);
        drop(held);
        (ran.0, ran.2)
    };
    if complaint.contains("rename 'tree'") {
        // On Windows, a directory with open files in it cannot be renamed.
        assert_eq!(entries(&scratch.path().join("tree")), 51, "{complaint}");
    } else {
        assert!(complaint.contains("the rest of 'tree' is in"), "{complaint}");
        assert!(!scratch.path().join("tree").exists());
        assert_eq!(entries(scratch.path()), 1);
    }
    runs(scratch.path(), &["remove", "--yes", "--detach", "tree"], 0);
    assert_eq!(entries(scratch.path()), 0);
}

#[test]
fn file_held_open_is_one_line_and_the_rest_is_removed() {
    let scratch = tree();
    let below = scratch.path().join("tree").join("below");
    let held = fs::OpenOptions::new().read(true).share_mode(3).open(below.join("é漢😀")).unwrap();
    let (_, complaint) = runs(scratch.path(), &["remove", "--yes", "tree"], 1);
    let lines: Vec<_> = complaint.lines().collect();
    assert_eq!(lines.len(), 2, "{complaint}");
    assert!(lines[0].starts_with(r"megadir: remove 'tree\below\é漢😀': "), "{complaint}");
    assert!(lines[1].contains("1 could not be removed; 2 directories stay"), "{complaint}");
    drop(held);
    runs(scratch.path(), &["remove", "--yes", "tree"], 0);
    assert_eq!(entries(scratch.path()), 0);
}

#[test]
fn a_list_of_paths_is_worked_on() {
    let scratch = tree();
    let (listed, _) = runs(scratch.path(), &["list", "-0", "--recursive", "--match", "file 1*", "tree"], 0);
    fs::write(scratch.path().join("list"), format!("{listed}tree\\below\0.\0cut")).unwrap();
    let (_, complaint) = runs(scratch.path(), &["remove", "--yes", "--files0-from", "list"], 1);
    assert!(
        complaint.contains("'.' is never removed") && complaint.contains("no NUL terminator"),
        "{complaint}"
    );
    assert_eq!(entries(&scratch.path().join("tree")), 51 - 11 - 1);
}

#[test]
fn others_may_use_the_disk_first() {
    let scratch = tree();
    let (code, _, complaint) = megadir(scratch.path(), &["remove", "--yes", "--idle", "tree"]);
    if code == Some(3) && require::is_wine() {
        require::unavailable("others_may_use_the_disk_first", complaint.trim());
        assert!(complaint.contains("I/O priority") && complaint.lines().count() == 1, "{complaint}");
        assert_eq!(entries(&scratch.path().join("tree")), 51);
    } else {
        assert_eq!((code, entries(scratch.path())), (Some(0), 0), "{complaint}");
    }
}

#[test]
fn read_only_files_and_long_paths_go() {
    let scratch = tree();
    let mut long = scratch.path().join("tree");
    for _ in 0..10 {
        long.push("a directory with a name of some length, forty-nine");
    }
    let long = format!(r"\\?\{}", long.display());
    fs::create_dir_all(&long).unwrap();
    let marked = Path::new(&long).join("read-only");
    fs::write(&marked, "").unwrap();
    let mut permissions = fs::metadata(&marked).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&marked, permissions).unwrap();
    assert!(long.len() > 400);
    // By a path longer than most programs accept.
    runs(scratch.path(), &["remove", "--yes", &long], 0);
    assert!(!Path::new(&long).exists() && Path::new(&long).parent().unwrap().exists());
    runs(scratch.path(), &["remove", "--yes", "tree"], 0);
    assert_eq!(entries(scratch.path()), 0);
}

#[test]
fn killed_removal_resumes() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("tree");
    for directory in 0..20 {
        let below = root.join(format!("{directory}"));
        fs::create_dir_all(&below).unwrap();
        (0..40).for_each(|file| fs::write(below.join(format!("{file}")), "").unwrap());
    }
    fs::write(scratch.path().join("beside"), "").unwrap();
    let removed = || (0..20).filter(|directory| !root.join(format!("{directory}")).exists()).count();
    let mut was_killed = false;
    for wanted in [1, 5, 10] {
        // Slow enough to be still running once it is seen to have begun.
        let mut child = Command::new(env!("CARGO_BIN_EXE_megadir"))
            .args(["remove", "--yes", "--threads", "2", "--rate", "400/s", "tree"])
            .current_dir(scratch.path())
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while removed() < wanted && begun.elapsed() < megadir_testkit::PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        was_killed |= child.try_wait().unwrap().is_none();
        let _ = child.kill();
        child.wait().unwrap();
        assert!(removed() >= wanted, "nothing goes");
    }
    assert!(was_killed || !root.exists());
    if root.exists() {
        runs(scratch.path(), &["remove", "--yes", "tree"], 0);
    }
    assert!(!root.exists() && scratch.path().join("beside").exists());
}
