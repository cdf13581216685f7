//! End-to-end tests of `megadir changes`.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::fs;
use std::io::Read;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use megadir_inventory::{GROUP_ROWS, Inventory, Metadata, Rows, ScanOptions, WriteOptions, Writer, scan};
use megadir_testkit::killed::{CHANGING_CALLS, before_each_call};
use megadir_testkit::require;
use megadir_testkit::require::have;
use tempfile::TempDir;

use crate::support::{program, root, run, shell};

/// A tree below a temporary directory, and the path of its inventory.
struct Lab {
    scratch: TempDir,
}

impl Lab {
    /// Creates a tree and, once its times are conclusive, an inventory of it.
    fn new() -> Self {
        let lab = Self { scratch: tempfile::tempdir().unwrap() };
        fs::set_permissions(lab.scratch.path(), PermissionsExt::from_mode(0o755)).unwrap();
        fs::create_dir_all(lab.tree().join("d/below")).unwrap();
        for (path, text) in [("a", "1"), ("b", "22"), ("d/c", "3"), ("d/below/e", "4")] {
            fs::write(lab.tree().join(path), text).unwrap();
        }
        std::thread::sleep(Duration::from_millis(150));
        lab.scan(|_| {});
        lab
    }

    fn tree(&self) -> PathBuf {
        self.scratch.path().join("tree")
    }

    fn inventory(&self) -> PathBuf {
        self.scratch.path().join("inventory.parquet")
    }

    fn scan(&self, change: impl FnOnce(&mut Metadata)) {
        write_inventory(&self.tree(), &self.inventory(), change);
    }

    fn changes(&self, options: &[&str]) -> Output {
        self.command(options).output().unwrap()
    }

    fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.arg("changes").arg(self.inventory()).args(options).current_dir(self.scratch.path());
        command
    }

    /// Lines of standard output without the path of the tree.
    fn lines(&self, options: &[&str]) -> Vec<String> {
        let output = self.changes(options);
        assert!(output.status.success(), "{output:?}");
        let tree = format!("{}/", self.tree().display());
        let text = String::from_utf8(output.stdout).unwrap().replace(&tree, "");
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    /// Asserts one line on standard error and an exit code.
    fn refused(&self, options: &[&str], code: i32) -> String {
        let output = self.changes(options);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(output.stdout.is_empty());
        text
    }
}

fn write_inventory(tree: &Path, inventory: &Path, change: impl FnOnce(&mut Metadata)) {
    let options = WriteOptions { threads: 0, level: 1, group_rows: GROUP_ROWS };
    let roots = vec![tree.as_os_str().as_encoded_bytes().to_vec()];
    // Only an inventory is replaced.
    let _ = fs::remove_file(inventory);
    let mut writer = Writer::create(inventory, roots, options).unwrap();
    let options = ScanOptions {
        threads: 1,
        threads_max: 1,
        attributes: true,
        cross_mounts: false,
        stat_backend: None,
        read_ahead: megadir::ReadAhead::Auto,
        buffer_bytes: 32 << 10,
        queue_directories_max: 256,
        memory_bytes: 64 << 20,
        spill_directory: std::env::temp_dir(),
        exclude: writer.excluded(),
        conditions: None,
        entries_per_second_max: None,
    };
    let scanned = scan(&[tree.to_owned()], &options, &mut |_| ControlFlow::Continue(()), &mut writer);
    let mut metadata = scanned.unwrap().unwrap();
    change(&mut metadata);
    writer.finish(&metadata).unwrap();
}

fn change(tree: &Path) {
    fs::write(tree.join("a"), "changed").unwrap();
    fs::remove_file(tree.join("b")).unwrap();
    fs::rename(tree.join("d"), tree.join("moved")).unwrap();
    fs::write(tree.join("new\nline"), "").unwrap();
    fs::remove_file(tree.join("moved/c")).unwrap();
    fs::create_dir(tree.join("moved/c")).unwrap();
}

#[test]
fn every_kind_of_change_has_its_line() {
    let lab = Lab::new();
    assert!(lab.lines(&[]).is_empty());
    change(&lab.tree());
    let expected = [
        "modified a (size, mtime, ctime)",
        "removed b",
        "removed d/c",
        "renamed d -> moved",
        "added moved/c",
        "added new",
        "line",
    ];
    assert_eq!(lab.lines(&[]), expected);
    assert_eq!(lab.lines(&["--list-all", "-j", "3"]), expected);
    let output = lab.changes(&["-0"]);
    let records: Vec<String> =
        output.stdout.split(|byte| *byte == 0).map(|record| String::from_utf8_lossy(record).into()).collect();
    let tree = lab.tree().display().to_string();
    assert_eq!(records[0], format!("modified\t{tree}/a"));
    assert_eq!(records[3..5], [format!("renamed\t{tree}/moved"), format!("from\t{tree}/d")]);
    assert_eq!(records[6], format!("added\t{tree}/new\nline"));
    let json = String::from_utf8(lab.changes(&["--json"]).stdout).unwrap();
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&first["v"], &first["change"]), (&1.into(), &"modified".into()));
    assert_eq!(first["fields"], serde_json::json!(["size", "mtime", "ctime"]));
    assert_eq!((&first["old"]["size"], &first["new"]["size"]), (&1.into(), &7.into()));
}

#[test]
fn quiet_reports_by_the_exit_code() {
    let lab = Lab::new();
    let output = lab.changes(&["--quiet"]);
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{output:?}");
    fs::write(lab.tree().join("d/below/e"), "5").unwrap();
    let output = lab.changes(&["--quiet"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(10), 0), "{output:?}");
}

#[test]
fn exit_code_prints_the_changes_and_reports_them() {
    let lab = Lab::new();
    assert_eq!(lab.changes(&["--exit-code"]).status.code(), Some(0));
    fs::write(lab.tree().join("d/below/e"), "5").unwrap();
    for (options, code) in [
        (&["--exit-code"][..], 10),
        (&["--exit-code", "--json"], 10),
        (&["--exit-code", "--only", "modified"], 10),
        (&["--exit-code", "--quiet"], 10),
        (&["--exit-code", "--only", "removed"], 0),
        (&[], 0),
    ] {
        let output = lab.changes(options);
        assert_eq!(output.status.code(), Some(code), "{options:?} {output:?}");
        let is_silent = ["removed", "--quiet"].iter().any(|word| options.contains(word));
        assert_eq!(output.stdout.is_empty(), is_silent, "{options:?} {output:?}");
    }
}

#[test]
fn update_is_the_next_base_and_the_inventory_is_no_change() {
    let lab = Lab::new();
    // In the tree itself.
    let inside = lab.tree().join("inventory");
    write_inventory(&lab.tree(), &inside, |_| {});
    let changes = |options: &[&str]| {
        let output = Command::new(program()).arg("changes").arg(&inside).args(options).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().lines().count()
    };
    assert_eq!(changes(&[]), 0);
    change(&lab.tree());
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(changes(&["--update"]), 7);
    assert_eq!(changes(&["--update"]), 0);
    assert_eq!(changes(&["--list-all"]), 0);
    let names: Vec<_> = fs::read_dir(lab.tree()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with("partial")), "{names:?}");
}

/// Repeats a step that must happen within one clock tick until it does: a busy machine takes longer.
fn at_last(step: impl FnMut() -> bool) {
    assert!(
        std::iter::repeat_with(step).take(500).any(|is_done| is_done),
        "never within a step of the clock"
    );
}

#[test]
fn suspect_is_reported_and_decided_by_its_hash() {
    let lab = Lab::new();
    at_last(|| {
        fs::write(lab.tree().join("a"), "2").unwrap();
        lab.scan(|_| {});
        lab.lines(&[]) == ["suspect a"]
    });
    let output = lab.changes(&["--verify"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 suspect cannot be decided"), "{output:?}");
    assert_eq!(lab.changes(&["--quiet"]).status.code(), Some(10));
    at_last(|| {
        fs::write(lab.tree().join("a"), "3").unwrap();
        assert_eq!(lab.lines(&["--update", "--verify"]), ["modified a (mtime, ctime)"]);
        // Its hash is in the inventory now.
        lab.lines(&[]) == ["suspect a"]
    });
    assert!(lab.lines(&["--verify"]).is_empty());
    let mut inventory = Inventory::open(&lab.inventory()).unwrap();
    let mut hashes = 0;
    while let Some(row) = inventory.next_row().unwrap() {
        hashes += u64::from(row.facts.hash.is_some());
    }
    assert_eq!(hashes, 1);
}

#[test]
fn terminal_shows_that_nothing_changed() {
    require!(have("script"));
    let lab = Lab::new();
    lab.scan(|metadata| metadata.started_ns = i64::MAX);
    assert_eq!(lab.lines(&[]).len(), 0);
    for (options, expected) in [
        ("", "megadir: no changes since the inventory\r\n"),
        ("--only added", "megadir: no changes of these kinds since the inventory\r\n"),
        ("--json", ""),
        ("--quiet", ""),
    ] {
        let line = format!("script -qec \"$M changes inventory.parquet {options}\" /dev/null < /dev/null");
        let ran = shell(lab.scratch.path(), &line);
        assert_eq!(String::from_utf8(ran.out).unwrap(), expected, "{options}");
    }
}

#[test]
fn many_suspects_are_one_line_on_a_terminal_unless_requested() {
    require!(have("script"));
    let lab = Lab::new();
    (0..11).for_each(|file| fs::write(lab.tree().join(file.to_string()), "1").unwrap());
    lab.scan(|metadata| metadata.started_ns = 1);
    let suspects = lab.lines(&[]).len();
    assert!(suspects > 11 && lab.lines(&["--only", "suspect"]).len() == suspects);
    let on_terminal = |options: &str| {
        let line = format!("script -qec \"$M changes inventory.parquet {options}\" /dev/null < /dev/null");
        let ran = shell(lab.scratch.path(), &line);
        String::from_utf8(ran.out).unwrap()
    };
    let text = on_terminal("");
    assert!(text.lines().count() == 1 && text.contains("--only suspect lists them"), "{text}");
    assert!(text.contains("; to decide, scan with --hash suspects"), "{text}");
    assert_eq!(on_terminal("--only suspect").lines().count(), suspects + 1);
}

#[test]
fn a_scan_that_hashes_suspects_lets_the_first_comparison_decide() {
    let lab = Lab::new();
    let link = lab.tree().join("link");
    at_last(|| {
        fs::write(lab.tree().join("a"), "2").unwrap();
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink("b", &link).unwrap();
        let output = Command::new(program())
            .args(["scan", "--hash-suspects", "tree", "--output"])
            .arg(lab.inventory())
            .current_dir(lab.scratch.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        // On a busy machine the scan may begin so late that it hashes with a margin what is no suspect any more.
        String::from_utf8_lossy(&output.stderr).contains("2 suspects hashed")
            && lab.lines(&[]) == ["suspect a", "suspect link"]
    });
    assert!(lab.lines(&["--verify"]).is_empty());
    assert!(lab.refused(&["--gains", "--verify"], 2).contains("--gains prints no suspects"));
    assert!(lab.changes(&["--gains", "--verify", "--update"]).status.success());
    fs::write(lab.tree().join("a"), "3").unwrap();
    assert_eq!(lab.lines(&["--verify"]).len(), 1, "{:?}", lab.lines(&["--verify"]));
}

#[test]
fn a_list_of_paths_is_all_that_is_looked_at() {
    let lab = Lab::new();
    change(&lab.tree());
    let list = lab.scratch.path().join("list");
    let tree = lab.tree().display().to_string();
    fs::write(&list, format!("{tree}/b\0tree/d/below/e\0{tree}/d/c\0tree/moved/c/\0")).unwrap();
    assert_eq!(
        lab.lines(&["--files0-from", "list"]),
        ["removed b", "removed d/below/e", "removed d/c", "added moved/c"]
    );
    // Relative to the current directory, whatever it is.
    let mut below = lab.command(&["--files0-from", "../../list"]);
    fs::write(&list, "c\0../d/c\0../b\0").unwrap();
    let output = below.current_dir(lab.tree().join("moved")).output().unwrap();
    let changed = String::from_utf8(output.stdout).unwrap().replace(&format!("{tree}/"), "");
    let changed: Vec<_> = changed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(changed, [["removed", "b"], ["removed", "d/c"], ["added", "moved/c"]]);
    fs::write(&list, "tree/d/../a\0tree/a\0").unwrap();
    let output = lab.changes(&["--files0-from", "list"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("'..' after a name may lead anywhere"));
    fs::write(&list, "tree/a\0/elsewhere\0tree/nothing\0").unwrap();
    let output = lab.changes(&["--files0-from", "list"]);
    assert_eq!(output.status.code(), Some(1));
    let complaints = String::from_utf8(output.stderr).unwrap();
    assert!(complaints.contains("not below a tree of the inventory"), "{complaints}");
    assert!(complaints.contains("neither in the inventory nor in the tree"), "{complaints}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 1);
    // A part of a path may name another one.
    fs::write(&list, "tree/a\0tree/b").unwrap();
    let output = lab.changes(&["--files0-from", "list"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let complaints = String::from_utf8(output.stderr).unwrap();
    assert!(complaints.contains("path 2, 'tree/b', has no NUL terminator"), "{complaints}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 1);
    fs::write(&list, "").unwrap();
    lab.refused(&["--files0-from", "list"], 2);
}

#[test]
fn a_terminal_shows_how_many_have_been_compared_and_how_fast() {
    require!(have("script"));
    let lab = Lab::new();
    fs::write(lab.tree().join("a"), "changed").unwrap();
    // The list comes through a pipe, so the program waits as long as the test needs.
    let list = lab.scratch.path().join("list");
    rustix::fs::mknodat(rustix::fs::CWD, &list, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let line = "$M changes inventory.parquet --files0-from list";
    let mut script = Command::new("script");
    script.args(["-qefc", line, "/dev/null"]).env("M", program());
    script.current_dir(lab.scratch.path()).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut script = script.spawn().unwrap();
    let mut shown = script.stdout.take().unwrap();
    let (mut text, mut bytes) = (String::new(), [0; 4096]);
    while !(text.contains("0 entries compared, ") && text.contains("/s")) {
        let read = shown.read(&mut bytes).unwrap();
        assert!(read > 0, "it ended without showing progress: {text:?}");
        text.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    fs::write(&list, "tree/a\0tree/b\0").unwrap();
    text.clear();
    shown.read_to_string(&mut text).unwrap();
    assert!(script.wait().unwrap().success(), "{text:?}");
    assert!(text.contains("modified") && text.contains("/tree/a (size, mtime, ctime)"), "{text:?}");
}

#[test]
fn bad_inventories_and_trees_are_refused_in_a_line() {
    let lab = Lab::new();
    let whole = fs::read(lab.inventory()).unwrap();
    for bytes in [&b""[..], b"text", &whole[..whole.len() - 9], &whole[..100]] {
        fs::write(lab.inventory(), bytes).unwrap();
        lab.refused(&[], 3);
    }
    lab.scan(|metadata| metadata.version = 999);
    assert!(lab.refused(&[], 3).contains("version 999"));
    fs::write(lab.inventory(), whole).unwrap();
    let other = lab.scratch.path().join("other");
    fs::create_dir(&other).unwrap();
    assert!(lab.refused(&["other"], 2).contains("not the directory that was scanned"));
    assert!(lab.lines(&["other", "--any-root"]).iter().any(|line| line == &format!("removed {}/a", "other")));
    lab.refused(&["nowhere"], 3);
    // A file is taken for a second inventory.
    fs::write(other.join("text"), "text").unwrap();
    lab.refused(&["other/text"], 3);
    fs::rename(lab.tree(), lab.scratch.path().join("elsewhere")).unwrap();
    assert!(lab.refused(&[], 3).contains("No such file"));
    // The tree was moved; its new path is given.
    assert_eq!(
        lab.lines(&["elsewhere"]),
        ["modified elsewhere (ctime)"],
        "renaming changes the ctime of the root"
    );
}

#[test]
fn unreadable_directories_are_not_reported_removed() {
    let lab = Lab::new();
    let before = fs::read(lab.inventory()).unwrap();
    fs::set_permissions(lab.inventory(), PermissionsExt::from_mode(0o644)).unwrap();
    fs::set_permissions(lab.tree().join("d/below"), PermissionsExt::from_mode(0o700)).unwrap();
    fs::write(lab.tree().join("a"), "changed").unwrap();
    if !rustix::process::geteuid().is_root() {
        return require::not_run("what_may_not_be_read", "only root can change its user");
    }
    let nobody = |options: &[&str]| lab.command(options).uid(65534).gid(65534).output().unwrap();
    let output = nobody(&[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let (printed, complaints) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(printed.lines().count(), 2, "{printed}");
    assert!(!printed.contains("removed"), "{printed}");
    assert!(complaints.contains("Permission denied") && complaints.contains("incomplete"), "{complaints}");
    fs::set_permissions(lab.scratch.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let output = nobody(&["--update"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("is unchanged"), "{output:?}");
    assert_eq!(fs::read(lab.inventory()).unwrap(), before);
}

#[test]
fn entries_without_permission_keep_their_rows() {
    if !rustix::process::geteuid().is_root() {
        return require::not_run("what_may_not_be_examined", "only root can change its user");
    }
    let lab = Lab::new();
    fs::set_permissions(lab.scratch.path(), PermissionsExt::from_mode(0o777)).unwrap();
    fs::set_permissions(lab.inventory(), PermissionsExt::from_mode(0o644)).unwrap();
    std::os::unix::fs::chown(lab.inventory(), Some(65534), Some(65534)).unwrap();
    fs::create_dir(lab.tree().join("e")).unwrap();
    let file = lab.tree().join("e/file");
    fs::write(&file, "contents").unwrap();
    // No entry is suspect any more.
    std::thread::sleep(Duration::from_millis(200));
    assert!(lab.changes(&["--update"]).status.success());
    // Its names can be read, but its entries cannot be examined.
    fs::set_permissions(lab.tree().join("e"), PermissionsExt::from_mode(0o744)).unwrap();
    let before = fs::read(lab.inventory()).unwrap();
    let update = lab.command(&["--update"]).uid(65534).gid(65534).output().unwrap();
    assert_eq!(update.status.code(), Some(1), "{update:?}");
    assert_eq!(fs::read(lab.inventory()).unwrap(), before, "{update:?}");
    fs::set_permissions(lab.tree().join("e"), PermissionsExt::from_mode(0o755)).unwrap();
    fs::write(&file, "other contents than before").unwrap();
    let printed = String::from_utf8(lab.changes(&[]).stdout).unwrap();
    assert!(
        printed.lines().any(|line| line.starts_with("modified") && line.contains("tree/e/file")),
        "{printed}"
    );
}

#[test]
fn killed_at_any_moment_an_update_leaves_a_whole_inventory() {
    require!(have("strace"));
    let lab = Lab::new();
    let rows = || {
        let mut inventory = Inventory::open(&lab.inventory()).unwrap();
        let mut rows = 0;
        while inventory.next_row().unwrap().is_some() {
            rows += 1;
        }
        assert_eq!(rows, inventory.metadata().rows);
        rows
    };
    let (whole, before) = (fs::read(lab.inventory()).unwrap(), rows());
    fs::write(lab.tree().join("d/new"), "").unwrap();
    let command = || {
        fs::write(lab.inventory(), &whole).unwrap();
        lab.command(&["--update"])
    };
    let (mut old, mut new) = (0, 0);
    let look = |call: &str| {
        let now = rows();
        assert!(now == before || now == before + 1, "before {call}: {now} rows, {before} before");
        if now == before { old += 1 } else { new += 1 }
    };
    before_each_call(CHANGING_CALLS, 1, command, look);
    assert!(old >= 4 && new >= 1, "{old} times the old one was left, {new} times the new one");
    let output = lab.changes(&["--update"]);
    assert!(output.status.success(), "a killed run blocks no later run: {output:?}");
}

/// A device node has no contents that could change unseen. Upper layers of overlayfs are full of whiteouts.
#[test]
fn device_nodes_and_whiteouts_are_no_suspects() {
    require!(root());
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    let made = shell(at, "mkdir d && mknod d/whiteout c 0 0 && mknod d/block b 7 200 && mkfifo d/pipe");
    assert_eq!(made.code, Some(0), "{made:?}");
    run(at, &["scan", "-q", "--hash-suspects", "d", "-o", "d.parquet"]).quiet();
    for words in [&["changes", "d.parquet"][..], &["changes", "--verify", "d.parquet"]] {
        assert_eq!(run(at, words).quiet(), b"", "{words:?}");
    }
    run(at, &["changes", "-q", "d.parquet"]).quiet();
}

#[test]
fn ignored_fields_leave_the_true_differences_of_a_copy_and_after_chmod() {
    let lab = Lab::new();
    let copy = lab.scratch.path().join("copy");
    let line =
        "cp -a tree copy; echo 55 > copy/d/c; rm copy/b; echo new > copy/d/below/new; chmod 600 copy/a";
    shell(lab.scratch.path(), line).quiet();
    let words = |options: &[&str]| {
        let output = lab.changes(&[&["copy", "--any-root"], options].concat());
        let text = String::from_utf8(output.stdout).unwrap().replace("copy/", "");
        let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        (lines.collect::<Vec<_>>(), output.status.code())
    };
    let expected = ["modified a (mode)", "removed b", "modified d/c (size, mtime)", "added d/below/new"];
    let (mut found, code) = words(&["--ignore", "ctime,inode,links"]);
    // The time of a directory that is another one and has a new entry.
    found.retain(|line| line != "modified d/below (mtime)");
    found.sort();
    let mut expected = expected.map(str::to_owned);
    expected.sort();
    assert_eq!((found, code), (expected.to_vec(), Some(0)));
    let all = words(&[]).0;
    assert!(all.len() > 4 && all.iter().any(|line| line.contains("inode")), "{all:?}");
    fs::remove_dir_all(copy).unwrap();
    shell(lab.scratch.path(), "chmod -R go-rwx tree").quiet();
    assert!(lab.changes(&["--quiet"]).status.code() == Some(10));
    assert_eq!(lab.changes(&["--quiet", "--ignore", "ctime,mode"]).status.code(), Some(0));
    assert_eq!(lab.changes(&["--quiet", "--ignore", "mode"]).status.code(), Some(10));
    lab.refused(&["--ignore", "atime"], 2);
    lab.refused(&["--ignore", "ctime", "--update"], 2);
}
