//! Paths that are never removed; a refusal comes before anything is touched.

use std::os::unix::fs::symlink;
use std::path::Path;

use megadir_testkit::mount::{Mount, TMPFS, run as run_tool, unmount};
use megadir_testkit::require;
use std::process::Command;

use crate::support::{fill, run, scratch};

#[track_caller]
fn refused(directory: &Path, path: &str, words: &[&str]) {
    run(directory, &["remove", "--yes", path]).complains(2, &[&["refused to remove"], words].concat());
}

#[test]
fn protected_paths_are_refused() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["x/", "x/f", "here/", "here/below/", "file"]);
    symlink("x", at.join("link")).unwrap();
    for (path, words) in [
        ("/", &["'/'", "root"][..]),
        ("//", &["root"]),
        (".", &["'.' is never removed"]),
        ("./", &["'.' is never removed"]),
        ("x/.", &["'x/.'"]),
        ("..", &["'..' is never removed"]),
        ("../", &["'..' is never removed"]),
        ("x/..", &["'x/..'"]),
        ("x/../..", &["'..' is never removed"]),
        ("", &["the path is empty"]),
        ("link/", &["'link/'", "a symbolic link is not followed"]),
    ] {
        refused(at, path, words);
    }
    // By any path.
    let absolute = at.to_str().unwrap();
    refused(&at.join("here/below"), absolute, &["the current directory lies below it"]);
    refused(&at.join("here/below"), &format!("{absolute}/here"), &["the current directory lies below it"]);
    refused(&at.join("here"), &format!("{absolute}/here"), &["it is the current directory"]);
    refused(&at.join("here"), "../../../../../../../..", &["'..' is never removed"]);
    run(&at.join("here"), &["remove", "--yes", "--contents", &format!("{absolute}/here")])
        .complains(2, &["it is the current directory"]);
    run(at, &["remove", "--yes", "--contents", "file"]).complains(2, &["--contents: not a directory"]);
    run(at, &["remove", "--yes", "--contents", "link"]).complains(2, &["--contents: not a directory"]);
    for name in ["x/f", "here/below", "file", "link"] {
        assert!(at.join(name).symlink_metadata().is_ok(), "{name}");
    }
}

#[test]
fn one_refused_path_prevents_the_removal_of_all_others() {
    let scratch = scratch();
    fill(scratch.path(), &["a/", "b/"]);
    symlink("a", scratch.path().join("link")).unwrap();
    for bad in ["b/..", "/", "link/", ""] {
        let ran = run(scratch.path(), &["remove", "--yes", "a", bad, "b"]);
        ran.complains(2, &["refused"]);
    }
    // A missing path does not prevent the removal of the others.
    let ran = run(scratch.path(), &["remove", "--yes", "a", "missing", "b"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.starts_with("megadir: remove 'missing': No such file or directory\n"), "{ran:?}");
    assert!(!scratch.path().join("a").exists() && !scratch.path().join("b").exists());
    run(scratch.path(), &["remove", "--yes", "a"]).complains(3, &["remove 'a': No such file or directory"]);
    let mut many: Vec<String> = (0..200).map(|index| format!("m{index}")).collect();
    fill(scratch.path(), &many.iter().map(String::as_str).collect::<Vec<_>>());
    many.push("link/".to_owned());
    let words: Vec<&str> = ["remove", "--yes"].into_iter().chain(many.iter().map(String::as_str)).collect();
    run(scratch.path(), &words).complains(2, &["'link/'"]);
    assert!((0..200).all(|index| scratch.path().join(format!("m{index}")).exists()));
    assert_eq!(run(scratch.path(), &words[..202]).code, Some(0));
    assert!((0..200).all(|index| !scratch.path().join(format!("m{index}")).exists()));
}

#[test]
fn mount_points_are_emptied_only_on_request() {
    let mount = require!(Mount::make(&TMPFS));
    let root = mount.path();
    let (above, name) = (root.parent().unwrap(), "root");
    fill(&root, &["d/", "d/f", "g", "source", "target", "inner/", "inner/deep/", "bound/", "bound/kept"]);
    run(above, &["remove", "--yes", name]).complains(2, &["it is a mount point", "--contents"]);
    run(above, &["remove", "--yes", "root/"]).complains(2, &["it is a mount point"]);
    // A file may be a mount point too, and so may a directory of the same file system.
    let bind = |from: &str, to: &str| {
        run_tool(Command::new("mount").arg("--bind").arg(root.join(from)).arg(root.join(to)))
    };
    require!(bind("source", "target"));
    require!(bind("bound", "inner/deep"));
    run(&root, &["remove", "--yes", "target"]).complains(2, &["it is a mount point (umount it first)"]);
    run(&root, &["remove", "--yes", "inner/deep"]).complains(2, &["it is a mount point"]);
    let ran = run(&root, &["remove", "--yes", "inner"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("'inner/deep': another file system is mounted there"), "{ran:?}");
    assert!(root.join("bound/kept").exists());
    for point in ["target", "inner/deep"] {
        unmount(&root.join(point)).unwrap();
    }
    let ran = run(above, &["remove", "--yes", "--contents", name]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
}

#[test]
fn current_directory_is_recognized_by_inode_rather_than_path() {
    let mount = require!(Mount::make(&TMPFS));
    let root = mount.path();
    fill(&root, &["real/", "real/here/", "view/", "real/f"]);
    require!(run_tool(Command::new("mount").arg("--bind").arg(&root).arg(root.join("view"))));
    // The same directory through another mount.
    run(&root.join("view/real/here"), &["remove", "--yes", root.join("real").to_str().unwrap()])
        .complains(2, &["the current directory lies below it"]);
    unmount(&root.join("view")).unwrap();
    assert!(root.join("real/f").exists());
}

#[test]
fn bind_mount_of_a_parent_does_not_hide_its_ancestors() {
    let mount = require!(Mount::make(&TMPFS));
    let root = mount.path();
    fill(&root, &["x/", "x/a/", "x/a/b/", "x/a/f", "x/f"]);
    let (directory, point) = (root.join("x/a"), root.join("x/a/b"));
    require!(run_tool(Command::new("mount").arg("--bind").arg(&directory).arg(&point)));
    // `..` of a mounted directory is the directory itself, not a root.
    for path in ["x", "x/a"] {
        let path = root.join(path);
        run(&point, &["remove", "--yes", path.to_str().unwrap()]).complains(2, &["refused to remove"]);
        run(&point, &["remove", "--yes", "--contents", path.to_str().unwrap()])
            .complains(2, &["refused to remove"]);
    }
    unmount(&point).unwrap();
    assert!(root.join("x/f").exists() && root.join("x/a/f").exists());
}
