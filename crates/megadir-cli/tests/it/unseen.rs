//! Changes that `megadir changes` cannot see: unreadable directories, and writes that change no time.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use megadir_testkit::PATIENCE;
use megadir_testkit::mount::{EXT4, Mount, TMPFS};
use megadir_testkit::require;
use megadir_testkit::require::have;
use megadir_testkit::unprivileged::NOBODY;

use crate::support::megadir;

#[test]
fn renamed_unreadable_directories_are_never_reported_removed() {
    if !rustix::process::geteuid().is_root() {
        return require::not_run("what_was_renamed_and_cannot_be_read", "only root can change its user");
    }
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let (tree, inventory) = (scratch.path().join("tree"), scratch.path().join("inventory"));
    fs::create_dir_all(tree.join("d/below")).unwrap();
    for path in ["a", "b", "d/c", "d/below/e"] {
        fs::write(tree.join(path), path).unwrap();
    }
    std::thread::sleep(Duration::from_millis(150));
    let nobody = |words: &[&str], paths: &[&Path]| {
        megadir(".", words).args(paths).uid(NOBODY).gid(NOBODY).output().unwrap()
    };
    assert_eq!(nobody(&["scan", "--output"], &[&inventory, &tree]).status.code(), Some(0));
    let before = fs::read(&inventory).unwrap();
    // d is renamed with its contents, and a is in a new directory.
    let (moved, new) = (tree.join("moved"), tree.join("new"));
    fs::rename(tree.join("d"), &moved).unwrap();
    fs::create_dir(&new).unwrap();
    fs::rename(tree.join("a"), new.join("a")).unwrap();
    for mode in [0o700, 0o744, 0o711] {
        for directory in [&moved, &new] {
            fs::set_permissions(directory, PermissionsExt::from_mode(mode)).unwrap();
        }
        let update = nobody(&["changes", "--update"], &[&inventory]);
        let printed = String::from_utf8(update.stdout.clone()).unwrap();
        assert_eq!(update.status.code(), Some(1), "{update:?}");
        assert!(printed.contains("tree/d -> "), "{printed}");
        assert!(
            !printed.lines().any(|line| line.starts_with("removed") && line.contains("/tree/d/")),
            "{printed}"
        );
        assert_eq!(fs::read(&inventory).unwrap(), before, "{update:?}");
        assert!(String::from_utf8_lossy(&update.stderr).contains("is unchanged"), "{update:?}");
        for directory in [&moved, &new] {
            fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let printed = megadir(".", &["changes"]).arg(&inventory).output().unwrap();
        let printed = String::from_utf8(printed.stdout).unwrap().replace(&format!("{}/", tree.display()), "");
        let lines: Vec<String> =
            printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(lines, ["renamed d -> moved", "added new", "renamed a -> new/a"]);
    }
    // A directory recorded as unreadable may stay so.
    fs::set_permissions(&moved, PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(nobody(&["scan", "--output"], &[&inventory, &tree]).status.code(), Some(1));
    fs::remove_file(tree.join("b")).unwrap();
    let recorded = fs::read(&inventory).unwrap();
    let update = nobody(&["changes", "--update"], &[&inventory]);
    assert_eq!(update.status.code(), Some(1), "{update:?}");
    assert_ne!(fs::read(&inventory).unwrap(), recorded, "{update:?}");
}

/// A file that another process has mapped.
struct Mapped {
    path: PathBuf,
    process: Child,
    commands: ChildStdin,
}

impl Mapped {
    fn new(path: &Path) -> Self {
        let mut command = Command::new("xfs_io");
        let mut process = command.arg(path).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut commands = process.stdin.take().unwrap();
        writeln!(commands, "mmap -rw 0 4096").unwrap();
        Self { path: path.to_owned(), process, commands }
    }

    /// Writes through the mapping; returns once that is done.
    fn write(&mut self, byte: u8) {
        writeln!(self.commands, "mwrite -S {byte} 0 4").unwrap();
        let deadline = Instant::now() + PATIENCE;
        while fs::read(&self.path).unwrap()[..4] != [byte; 4] {
            assert!(Instant::now() < deadline, "nothing was written");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn end(mut self) {
        drop(self.commands);
        assert!(self.process.wait().unwrap().success());
    }
}

#[test]
fn writes_through_a_mapping_are_found_if_sync_preceded_the_scan_and_tmpfs_is_warned_of() {
    require!(have("xfs_io"));
    for recipe in [EXT4, TMPFS] {
        let mount = require!(Mount::make(&recipe));
        let (tree, scratch) = (mount.path(), tempfile::tempdir().unwrap());
        let (file, inventory) = (tree.join("file"), scratch.path().join("inventory"));
        fs::write(&file, [0; 4096]).unwrap();
        let mut mapped = Mapped::new(&file);
        mapped.write(1);
        assert!(Command::new("sync").arg("-f").arg(&tree).status().unwrap().success());
        std::thread::sleep(Duration::from_millis(130));
        let scanned = megadir(".", &["scan", "--output"]).args([&inventory, &tree]).output().unwrap();
        assert!(scanned.status.success(), "{scanned:?}");
        mapped.write(2);
        let output = megadir(".", &["changes"]).arg(&inventory).output().unwrap();
        mapped.end();
        assert_eq!(fs::read(&file).unwrap()[..4], [2; 4]);
        let (printed, notes) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let is_tmpfs = recipe.kind == "tmpfs";
        assert_eq!(printed.starts_with("modified"), !is_tmpfs, "{output:?}");
        assert_eq!(notes.matches("tmpfs").count(), usize::from(is_tmpfs), "{output:?}");
    }
}
