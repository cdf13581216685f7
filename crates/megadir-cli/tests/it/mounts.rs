//! Trust in mounts: the facts that `doctor` prints, listed inode numbers, clocks, and inode numbers that change, on
//! overlayfs, SquashFS, EROFS and FUSE servers from Debian.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use megadir_inventory::Rows;
use megadir_testkit::mount::{EXT4, Mount, run as run_tool, unmount};
use megadir_testkit::require;
use megadir_testkit::require::have;
use serde_json::Value;
use tempfile::TempDir;

use crate::remove::witness::scratch_in_memory;
use crate::support::{caches_are_dropped, root, run, shell, text};

/// A file system that shows `below` at `here`, mounted by a shell script and unmounted at the end.
pub(crate) struct Shown {
    folder: TempDir,
    script: &'static str,
}

pub(crate) const SSHFS: (&str, &str) = (
    "sshfs",
    "printf '#!/bin/sh\\nexec /usr/lib/openssh/sftp-server\\n' >pipe && chmod 755 pipe && \
     sshfs -o ssh_command=\"$PWD/pipe\" host:\"$PWD/below\" here",
);
/// Under a name that the table of mounts does not have.
const UNLISTED: (&str, &str) = (
    "sshfs",
    "printf '#!/bin/sh\\nexec /usr/lib/openssh/sftp-server\\n' >pipe && chmod 755 pipe && \
     sshfs -o subtype=unlisted -o ssh_command=\"$PWD/pipe\" host:\"$PWD/below\" here",
);
pub(crate) const MERGERFS: (&str, &str) =
    ("mergerfs", "mkdir -p other && mergerfs -o minfreespace=1M \"$PWD/below:$PWD/other\" here");
pub(crate) const UNIONFS: (&str, &str) = ("unionfs", "unionfs \"$PWD/below=RW\" here");
pub(crate) const BINDFS: (&str, &str) = ("bindfs", "bindfs below here");
pub(crate) const ENCFS: (&str, &str) =
    ("encfs", "echo secret | encfs --standard -S \"$PWD/below\" \"$PWD/here\" >/dev/null 2>&1");
pub(crate) const OVERLAY: (&str, &str) = (
    "mount",
    "mkdir -p upper work && mount -t overlay overlay -o lowerdir=below,upperdir=upper,workdir=work here",
);
const SQUASHFS: (&str, &str) = (
    "mksquashfs",
    "test -e image || mksquashfs below image -quiet -no-progress >/dev/null && mount -t squashfs -o loop image here",
);
const EROFS: (&str, &str) = (
    "mkfs.erofs",
    "test -e image || mkfs.erofs image below >/dev/null 2>&1 && mount -t erofs -o loop,ro image here",
);

const FUSE_ZIP: (&str, &str) =
    ("fuse-zip", "test -e a.zip || python3 -m zipfile -c a.zip below/* && fuse-zip -r a.zip here");

impl Shown {
    pub(crate) fn mount(
        (tool, script): (&'static str, &'static str),
        fill: impl FnOnce(&Path),
    ) -> Result<Self, String> {
        root()?;
        have(tool)?;
        let folder = scratch_in_memory();
        for name in ["below", "here"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        fill(&folder.path().join("below"));
        let shown = Self { folder, script };
        shown.again()?;
        Ok(shown)
    }

    fn again(&self) -> Result<(), String> {
        run_tool(Command::new("sh").args(["-c", self.script]).current_dir(self.at()))
    }

    pub(crate) fn remount(&self) {
        unmount(&self.here()).unwrap();
        self.again().unwrap();
    }

    pub(crate) fn at(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn here(&self) -> PathBuf {
        self.at().join("here")
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Err(why) = unmount(&self.here())
            && !std::thread::panicking()
        {
            panic!("{why}");
        }
    }
}

fn three_files(at: &Path) {
    for name in ["a", "b", "c"] {
        std::fs::write(at.join(name), name).unwrap();
    }
}

fn object(at: &Path, words: &[&str]) -> Value {
    serde_json::from_slice(&run(at, words).quiet()).unwrap()
}

#[test]
fn doctor_prints_the_trusted_facts_of_a_mount() {
    for (server, driver, inodes, listed) in [
        (SSHFS, "fuse.sshfs", "made up", "not as by stat"),
        (UNLISTED, "fuse.unlisted", "made up", "not as by stat"),
        (MERGERFS, "fuse.mergerfs", "made up", "not as by stat"),
        (UNIONFS, "fuse.unionfs", "made up", "not as by stat"),
        (BINDFS, "fuse", "lasting", "as by stat"),
        (OVERLAY, "overlay", "lasting", "as by stat"),
        (SQUASHFS, "squashfs", "lasting", "as by stat"),
    ] {
        let shown = require!(Shown::mount(server, three_files));
        let report = object(shown.at(), &["doctor", "--json", "here"]);
        let mount = &report["mount"];
        assert_eq!(mount["type"], driver, "{mount}");
        assert_eq!(
            (&mount["inode_numbers"], &mount["listed_inodes"]),
            (&inodes.into(), &listed.into()),
            "{mount}"
        );
        assert_eq!(mount["read_only"], if server == SQUASHFS { "yes" } else { "no" }, "{mount}");
        let printed = text(&run(shown.at(), &["doctor", "here"]).quiet());
        assert!(printed.contains(&format!("inode_numbers: {inodes}\n")), "{printed}");
    }
    let ext4 = require!(Mount::make(&EXT4));
    let mount = &object(&ext4.path(), &["doctor", "--json", "."])["mount"];
    assert_eq!((&mount["type"], &mount["inode_count"]), (&"ext4".into(), &"counted".into()), "{mount}");
    assert_eq!(
        (&mount["birth_times"], &mount["rename_noreplace"]),
        (&"yes".into(), &"yes".into()),
        "{mount}"
    );
}

#[test]
fn json_lists_leave_out_inode_numbers_that_stat_does_not_return() {
    for (server, has_inodes) in [(SSHFS, false), (MERGERFS, false), (BINDFS, true)] {
        let shown = require!(Shown::mount(server, three_files));
        for words in [
            &["list", "--json", "here"][..],
            &["list", "--json", "--sort", "name", "here"],
            &["list", "--json", "-r", "here"],
        ] {
            let lines = text(&run(shown.at(), words).quiet());
            assert_eq!(lines.lines().count(), 3, "{lines}");
            let rows = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            for row in rows {
                assert_eq!(row.get("inode").is_some(), has_inodes, "{words:?} {row}");
            }
        }
        let queried = object(shown.at(), &["list", "--json", "--fields", "inode", "-n", "1", "here"]);
        assert!(queried["inode"].is_u64() && queried["inode"] != u32::MAX, "{queried}");
    }
}

#[test]
fn sorting_by_inode_is_by_the_numbers_that_stat_returns() {
    for server in [SSHFS, MERGERFS, BINDFS] {
        let shown = require!(Shown::mount(server, |_| {}));
        let here = shown.here();
        (0..20).for_each(|file| std::fs::write(here.join(format!("f{}", file * 7 % 20)), "x").unwrap());
        for more in [&[][..], &["-n", "15"], &["--memory", "1MiB"], &["--json"], &["-r"]] {
            let listed =
                text(&run(shown.at(), &[&["list", "--sort", "inode", "here"], more].concat()).quiet());
            let numbers = listed.lines().map(|line| {
                let name = line.rsplit('f').next().unwrap();
                let digits: String = name.chars().filter(char::is_ascii_digit).collect();
                let name = if line.starts_with('{') {
                    serde_json::from_str::<Value>(line).unwrap()["name"].as_str().unwrap().to_owned()
                } else {
                    format!("f{digits}")
                };
                std::os::unix::fs::MetadataExt::ino(&here.join(name).symlink_metadata().unwrap())
            });
            let numbers: Vec<u64> = numbers.collect();
            assert!(numbers.is_sorted() && numbers.len() >= 15, "{} {more:?}: {listed}{numbers:?}", server.0);
        }
    }
}

#[test]
fn files_that_were_written_long_before_the_scan_are_no_suspects_on_overlayfs() {
    let shown = require!(Shown::mount(OVERLAY, three_files));
    let at = shown.at();
    std::fs::write(shown.here().join("upper"), "x").unwrap();
    std::thread::sleep(Duration::from_secs(3));
    run(at, &["scan", "-q", "-o", "i.parquet", "here"]).quiet();
    assert_eq!(text(&run(at, &["changes", "i.parquet"]).quiet()), "");
    run(at, &["changes", "--quiet", "i.parquet"]).quiet();
    // A file that is written right before a scan still is.
    std::fs::write(shown.here().join("late"), "x").unwrap();
    run(at, &["scan", "-q", "-o", "late.parquet", "here"]).quiet();
    assert_eq!(run(at, &["changes", "--quiet", "late.parquet"]).code, Some(10));
    std::fs::write(shown.here().join("a"), "another").unwrap();
    assert!(text(&run(at, &["changes", "i.parquet"]).quiet()).contains("here/a"));
}

#[test]
fn nothing_is_a_suspect_on_a_format_that_cannot_change() {
    for format in [SQUASHFS, EROFS] {
        let shown = require!(Shown::mount(format, three_files));
        let at = shown.at();
        run(at, &["scan", "-q", "-o", "i.parquet", "here"]).quiet();
        run(at, &["changes", "--quiet", "i.parquet"]).quiet();
        shown.remount();
        run(at, &["changes", "--quiet", "i.parquet"]).quiet();
        assert_eq!(text(&run(at, &["changes", "i.parquet"]).quiet()), "", "{}", format.0);
    }
}

/// Three directories of 20 files of other sizes each, all older than a scan.
fn three_directories(at: &Path) {
    for directory in 0..3 {
        let below = at.join(format!("d{directory}"));
        std::fs::create_dir(&below).unwrap();
        for file in 0..20 {
            std::fs::write(below.join(format!("f{file}")), vec![b'x'; 1 + 20 * directory + file]).unwrap();
        }
    }
    assert_eq!(shell(at, "find . -mindepth 1 -exec touch -d '2 hours ago' {} +").code, Some(0));
}

const ONLY: [&str; 3] = ["changes", "--only=added,removed,modified,renamed,type-changed", "i.parquet"];

/// Lines without the path of the tree and without columns; one line on standard error says why inode numbers do not count.
fn unnumbered(shown: &Shown, words: &[&str]) -> Vec<String> {
    let ran = run(shown.at(), words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.lines().count() == 1 && ran.err.contains("are made up and change"), "{ran:?}");
    let tree = format!("{}/", shown.here().display());
    let out = text(&ran.out).replace(&tree, "");
    out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn made_up_inode_numbers_are_no_change_after_a_remount_and_after_memory_pressure() {
    let _caches = caches_are_dropped();
    for server in [SSHFS, UNLISTED, MERGERFS, UNIONFS] {
        let shown = require!(Shown::mount(server, three_directories));
        let at = shown.at();
        run(at, &["scan", "-q", "-o", "i.parquet", "here"]).quiet();
        std::fs::write("/proc/sys/vm/drop_caches", "2").unwrap();
        // In another order.
        assert_eq!(shell(at, "ls -lr here/d2 here/d0 >/dev/null").code, Some(0));
        assert_eq!(unnumbered(&shown, &ONLY), [""; 0], "{}", server.0);
        shown.remount();
        assert_eq!(shell(at, "ls -lr here/d2/f7 here/d1/f3 >/dev/null").code, Some(0));
        assert_eq!(unnumbered(&shown, &ONLY), [""; 0], "{}", server.0);
        // Two inventories, too.
        run(at, &["scan", "-q", "-o", "now.parquet", "here"]).quiet();
        assert_eq!(unnumbered(&shown, &[&ONLY[..], &["now.parquet"]].concat()), [""; 0], "{}", server.0);

        let line = "cd here && echo longer than before >d0/f5 && rm d0/f6 && echo new >d0/new && mv d0/f7 d1/moved && mv d2 z";
        assert_eq!(shell(at, line).code, Some(0));
        shown.remount();
        let found = unnumbered(&shown, &ONLY);
        let kinds: Vec<&str> = found
            .iter()
            .map(|line| line.split(" (").next().unwrap())
            .filter(|line| *line != "modified d1")
            .collect();
        let expected = [
            "modified d0/f5",
            "removed d0/f6",
            "added d0/new",
            "renamed d0/f7 -> d1/moved",
            "renamed d2 -> z",
        ];
        assert_eq!(kinds, expected, "{}", server.0);
    }
}

#[test]
fn each_mount_in_a_tree_is_compared_by_its_own_trusted_facts() {
    // Made-up numbers below a root with lasting ones: the directory `here`.
    let shown = require!(Shown::mount(SSHFS, three_directories));
    let (at, outside) = (shown.at(), scratch_in_memory());
    let inventory = outside.path().join("i.parquet");
    let inventory = inventory.to_str().unwrap();
    run(at, &["scan", "-q", "--cross-mounts", "-o", inventory, "."]);
    shown.remount();
    assert_eq!(shell(at, "ls -lr here/d2/f7 here/d1/f3 >/dev/null").code, Some(0));
    let only = "--only=added,removed,modified,renamed,type-changed";
    let changes = |inventory: &str| {
        let ran = run(at, &["changes", only, inventory]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.err.contains("/here' (fuse.sshfs) are made up and change"), "{ran:?}");
        // Mounting rewrites the script `pipe`.
        text(&ran.out)
            .lines()
            .filter(|line| !line.contains("/pipe "))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    assert_eq!(changes(inventory), "");
    let now = outside.path().join("now.parquet");
    run(at, &["scan", "-q", "--cross-mounts", "-o", now.to_str().unwrap(), "."]);
    let two = run(at, &["changes", only, inventory, now.to_str().unwrap()]);
    assert!(two.code == Some(0) && text(&two.out).lines().all(|line| line.contains("/pipe ")), "{two:?}");
    std::fs::write(shown.here().join("d0/f5"), "longer than before, by far").unwrap();
    let found = changes(inventory);
    assert_eq!(found.lines().filter(|line| line.contains("/d0/f5")).count(), 2, "{found}");

    // Lasting numbers below a root with made-up ones.
    let local = shown.here().join("local");
    std::fs::create_dir(&local).unwrap();
    let mounted = run_tool(Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&local));
    mounted.unwrap();
    let replaced = std::panic::catch_unwind(|| {
        three_files(&local);
        run(at, &["scan", "-q", "--cross-mounts", "-o", inventory, "here"]);
        assert_eq!(changes_of(at, inventory), "");
        assert_eq!(shell(&local, "cp -p a copy && mv copy a").code, Some(0));
        changes_of(at, inventory)
    });
    unmount(&local).unwrap();
    let replaced = replaced.unwrap();
    assert!(replaced.lines().any(|line| line.contains("/local/a") && line.contains("inode")), "{replaced}");
}

#[test]
fn a_root_with_the_time_of_mounting_is_no_change_after_a_remount() {
    let shown = require!(Shown::mount(FUSE_ZIP, three_directories));
    let at = shown.at();
    run(at, &["scan", "-q", "-o", "i.parquet", "here"]).quiet();
    std::thread::sleep(Duration::from_millis(1100));
    shown.remount();
    assert_eq!(unnumbered(&shown, &ONLY), [""; 0]);
}

const SSHFS_OTHERWISE: &str = "sshfs -o ssh_command=\"$PWD/pipe\" HOST:\"$PWD/below/\" here";

#[test]
fn a_mount_whose_source_is_spelled_otherwise_is_the_same() {
    let mut shown = require!(Shown::mount(SSHFS, three_directories));
    let outside = scratch_in_memory();
    let inventory = outside.path().join("i.parquet");
    let inventory = inventory.to_str().unwrap();
    run(shown.at(), &["scan", "-q", "--cross-mounts", "-o", inventory, "."]);
    shown.script = SSHFS_OTHERWISE;
    shown.remount();
    assert_eq!(changes_of(shown.at(), inventory), "");
}

#[test]
fn an_update_records_the_newest_time_of_each_mount_separately() {
    let shown = require!(Shown::mount(SSHFS, |below| {
        three_directories(below);
        assert_eq!(shell(below, "touch -d '2 hours ago' .").code, Some(0));
    }));
    let (at, outside) = (shown.at(), scratch_in_memory());
    let inventory = outside.path().join("i.parquet");
    let path = inventory.to_str().unwrap();
    let newest = || {
        let metadata = megadir_inventory::Inventory::open(&inventory).unwrap().metadata().clone();
        let mounts = metadata.volumes.iter().flatten().filter_map(|volume| volume.mount.as_ref());
        let mounts: Vec<i64> = mounts.map(|mount| mount.newest_ns.unwrap()).collect();
        assert_eq!(mounts.len(), 1);
        (metadata.roots[0].newest_ns.unwrap(), mounts[0])
    };
    run(at, &["scan", "-q", "--cross-mounts", "-o", path, "."]);
    let (root, mount) = newest();
    assert!(root - mount > 7_000_000_000_000, "{root} {mount}");
    std::fs::write(at.join("local"), "x").unwrap();
    for _ in 0..2 {
        run(at, &["changes", "--update", path]);
        let (root_now, mount_now) = newest();
        assert!(root_now > root && mount_now == mount, "{root} {root_now} {mount} {mount_now}");
    }
    // The mount's newest file is a suspect still, because its server may be slow.
    let text = text(&run(at, &["changes", path]).out);
    assert!(text.lines().any(|line| line.starts_with("suspect") && line.contains("/here/d0/")), "{text}");
}

fn changes_of(at: &Path, inventory: &str) -> String {
    text(&run(at, &["changes", "--only=added,removed,modified,renamed,type-changed", inventory]).out)
}

#[test]
fn inode_numbers_that_last_still_show_that_a_file_was_replaced() {
    let shown = require!(Shown::mount(BINDFS, three_directories));
    let at = shown.at();
    run(at, &["scan", "-q", "-o", "i.parquet", "here"]).quiet();
    shown.remount();
    assert_eq!(text(&run(at, &ONLY).quiet()), "");
    let line = "cp -p d1/f3 d1/copy && mv d1/copy d1/f3";
    assert_eq!(shell(&shown.here(), line).code, Some(0));
    let found = text(&run(at, &ONLY).quiet());
    assert!(found.contains("here/d1/f3") && found.contains("inode"), "{found}");
}

#[test]
fn a_directory_that_was_renamed_on_encfs_is_renamed_with_all_it_holds() {
    let shown = require!(Shown::mount(ENCFS, |_| {}));
    let at = shown.at();
    three_directories(&shown.here());
    assert_eq!(shell(&shown.here(), "mkdir a && mv d0 d1 a").code, Some(0));
    run(at, &["scan", "-q", "-o", "i.parquet", "here"]).quiet();
    assert_eq!(shell(&shown.here(), "mv a z").code, Some(0));
    let found = text(&run(at, &ONLY).quiet());
    let renamed: Vec<&str> = found.lines().filter(|line| line.starts_with("renamed")).collect();
    assert_eq!(renamed.len(), 1, "{found}");
    assert!(
        renamed[0].ends_with("here/z") && !found.contains("added") && !found.contains("removed"),
        "{found}"
    );
}

/// Runs `work` while a thread replaces the files of `tree` by rename, one after the other.
fn beside_a_replacer(at: &Path, files: usize, work: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for file in (0..files).cycle().take_while(|_| !stop.load(Ordering::Relaxed)) {
                std::fs::write(at.join("new"), "y").unwrap();
                std::fs::rename(at.join("new"), at.join(format!("tree/f{file}"))).unwrap();
            }
        });
        let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        stop.store(true, Ordering::Relaxed);
        worked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Compares scans by `command` with the files that are there all the time.
fn scans_hold_every_file(command: &str) {
    const FILES: usize = 20_000;
    let scratch = scratch_in_memory();
    let at = scratch.path();
    std::fs::create_dir(at.join("tree")).unwrap();
    (0..FILES).for_each(|file| std::fs::write(at.join(format!("tree/f{file}")), "x").unwrap());
    beside_a_replacer(at, FILES, || {
        for _ in 0..5 {
            shell(at, &format!("{command} scan -q -o now.parquet tree"));
            assert_eq!(object(at, &["usage", "--json", "now.parquet"])["entries"], FILES);
        }
    });
}

#[test]
fn a_scan_holds_every_file_that_is_replaced_by_rename_meanwhile() {
    scans_hold_every_file("$M");
}

#[test]
fn a_scan_without_descriptors_for_a_second_listing_holds_every_file_that_is_replaced_meanwhile() {
    require!(have("strace"));
    // The directory is opened by its name, and again as `.`.
    scans_hold_every_file("strace -f -qq -o log -P . -e trace=openat -e inject=openat:error=EMFILE $M");
}

#[test]
fn nothing_is_called_removed_that_is_replaced_by_rename_during_the_comparison() {
    const FILES: usize = 20_000;
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let tree = at.join("tree");
    std::fs::create_dir(&tree).unwrap();
    (0..FILES).for_each(|file| std::fs::write(tree.join(format!("f{file}")), "x").unwrap());
    run(at, &["scan", "-q", "-o", "i.parquet", "tree"]);
    beside_a_replacer(at, FILES, || {
        for _ in 0..5 {
            let ran = run(at, &["changes", "--list-all", "--only=removed", "i.parquet"]);
            let text = text(&ran.out);
            assert!(ran.code == Some(0) && text.is_empty(), "{} lines: {text}", text.lines().count());
        }
    });
    std::fs::rename(tree.join("f7"), tree.join("F7")).unwrap();
    std::fs::remove_file(tree.join("f8")).unwrap();
    let left = text(&run(at, &["changes", "--only=removed,added", "i.parquet"]).out);
    assert!(left.contains("tree/f8") && left.contains("tree/F7"), "{left}");
}
