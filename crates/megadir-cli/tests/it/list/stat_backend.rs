//! `--stat-backend`: the same lines from every backend, flat and recursive, and one line if a backend is
//! unavailable.

use std::path::Path;
use std::process::Command;

use megadir_testkit::mount::{BTRFS, EXT4, Mount, TMPFS, XFS, run as run_program, unmount};
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Kinds, Names};

use crate::support::{fill, root, run, run_as_nobody, scratch, set, unprivileged};

/// Lists all fields of a directory.
fn list(directory: &Path, options: &[&str]) -> std::collections::BTreeSet<Vec<u8>> {
    let fields = "type,size,mtime,ctime,btime,mode,user,group,links,inode,device,mount,name";
    let all = [&["list", "--fields", fields, "--time-style", "epoch"], options].concat();
    let ran = run(directory, &all);
    // A line counts the entries without a mount, which std never returns.
    assert!(ran.code == Some(0) && (ran.err.is_empty() || ran.err.contains("std never returns")), "{ran:?}");
    set(crate::support::split(&ran.out, b'\n'))
}

#[test]
fn lines_do_not_depend_on_the_backends() {
    for (name, recipe) in [("xfs-bulkstat", &XFS), ("btrfs-search", &BTRFS), ("ext4-device", &EXT4)] {
        let mount = require!(Mount::make(recipe));
        let flat = Flat { entries: 30_000, names: Names::Plain, kinds: Kinds::Mixed, seed: 1 };
        flat.build(&mount.path().join("large"));
        fill(&mount.path(), &["small/below/", "small/a", "small/below/b"]);
        // Entries younger than a second are not read in bulk.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        for directory in ["large", "small"] {
            let expected = list(&mount.path(), &["--stat-backend", "statx", directory]);
            for options in [
                &["-j", "1"][..],
                &["-j", "3"],
                &["--backend", "split", "-j", "2"],
                &["--backend", "getdents"],
            ] {
                // A directory of ext4 is divided if it has an index.
                if options.contains(&"split") && (name, directory) == ("ext4-device", "small") {
                    continue;
                }
                let all = [&["--stat-backend", name, directory], options].concat();
                assert_eq!(list(&mount.path(), &all), expected, "{all:?}");
            }
        }
        let expected = list(&mount.path(), &["--stat-backend", "std", "-r", "small"]);
        let without_mount = |lines: std::collections::BTreeSet<Vec<u8>>| -> Vec<Vec<Vec<u8>>> {
            let fields =
                |line: Vec<u8>| line.split(|byte| *byte == b'\t').map(<[u8]>::to_vec).collect::<Vec<_>>();
            let lines = lines.into_iter().map(fields).map(|mut line| {
                line.remove(11);
                line
            });
            lines.collect()
        };
        let lines = list(&mount.path(), &["--stat-backend", name, "-r", "small"]);
        assert_eq!(without_mount(lines), without_mount(expected));
        assert_eq!(
            list(&mount.path(), &["--stat-backend", name, "-r", "."]),
            list(&mount.path(), &["-r", "."])
        );
    }
}

#[test]
fn explain_names_the_attribute_backend() {
    let scratch = scratch();
    fill(scratch.path(), &["a"]);
    for name in ["std", "statx", "fstatat"] {
        let ran = run(scratch.path(), &["list", "-l", "--explain", "--stat-backend", name]);
        assert!(ran.err.contains(&format!(": {name} at once")) && ran.code == Some(0), "{ran:?}");
        let ran = run(scratch.path(), &["list", "-lr", "--explain", "--stat-backend", name]);
        assert!(ran.err.contains(&format!("examined with {name} by")) && ran.code == Some(0), "{ran:?}");
    }
    for options in [&[][..], &["--recursive"], &["--sort", "name"], &["--match", "a"]] {
        let ran = run(scratch.path(), &[&["list", "--fields", "name", "--explain"], options].concat());
        assert!(!ran.err.contains("statx") && ran.out.ends_with(b"a\n") && ran.code == Some(0), "{ran:?}");
    }
}

#[test]
fn fresh_attributes_are_queried_from_the_server() {
    require!(crate::support::have("strace"));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["tree/", "tree/a", "tree/b/", "tree/b/c"]);
    run(at, &["scan", "-q", "tree", "-o", "before"]).quiet();
    let program = crate::support::program().display().to_string();
    for words in [
        "list -lr --stat-backend statx-fresh tree",
        "scan --fresh -q tree -o x",
        "usage --fresh tree",
        "changes --fresh before tree",
        "changes --fresh --update before tree",
    ] {
        let line = format!("strace -f -qq -e trace=statx,newfstatat -o trace {program} {words}");
        assert_eq!(crate::support::shell(at, &line).code, Some(0), "{words}");
        let trace = std::fs::read_to_string(at.join("trace")).unwrap();
        for name in ["\"a\"", "\"c\""] {
            let mut calls = trace.lines().filter(|line| line.contains(name));
            assert!(
                calls.clone().count() > 0 && calls.all(|line| line.contains("AT_STATX_FORCE_SYNC")),
                "{words}: {trace}"
            );
        }
    }
}

#[test]
fn attributes_are_queried_as_by_stat_so_that_a_client_returns_its_own_writes() {
    require!(crate::support::have("strace"));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["tree/", "tree/a", "tree/b/", "tree/b/c"]);
    run(at, &["scan", "-q", "tree", "-o", "before"]).quiet();
    let program = crate::support::program().display().to_string();
    for words in [
        "list -l tree",
        "list -lr tree",
        "scan -q tree -o x",
        "usage tree",
        "changes before tree",
        "changes --list-all before tree",
        "changes --update before tree",
    ] {
        let line = format!("strace -f -qq -e trace=statx,newfstatat -o trace {program} {words}");
        assert_eq!(crate::support::shell(at, &line).code, Some(0), "{words}");
        let trace = std::fs::read_to_string(at.join("trace")).unwrap();
        let name = if words.starts_with("list -l tree") { "\"a\"" } else { "\"c\"" };
        let mut calls = trace.lines().filter(|line| line.contains(name));
        assert!(calls.clone().count() > 0, "{words}: {trace}");
        assert!(calls.all(|line| !line.contains("AT_STATX_DONT_SYNC")), "{words}: {trace}");
    }
}

#[test]
fn unavailable_attribute_backends_are_refused_in_one_line() {
    let scratch = scratch();
    fill(scratch.path(), &["a"]);
    let refused = |options: &[&str], code, words: &[&str]| {
        run(scratch.path(), &[&["list"], options].concat()).complains(code, words);
    };
    refused(&["-l", "--stat-backend", "statq"], 2, &["'statq'", "did you mean 'statx'?"]);
    refused(&["-l", "--stat-backend", "bulkstat"], 2, &["did you mean 'xfs-bulkstat'?"]);
    refused(&["-l", "--stat-backend", "xyz"], 2, &["expected one of std, statx, statx-fresh, fstatat"]);
    refused(&["--stat-backend", "statx"], 2, &["--stat-backend needs --long"]);
    refused(&["--stat-backend", "statx", "--fields", "name"], 2, &["--fields name needs no attributes"]);
    refused(&["--stat-backend", "statx", "--estimate"], 2, &["--stat-backend"]);
    // The option's name of earlier versions.
    refused(&["-l", "--examiner", "statq"], 2, &["'statq'", "did you mean 'statx'?"]);
    let mount = require!(Mount::make(&TMPFS));
    let path = mount.path();
    for options in [&["list", "-l"][..], &["list", "-lr"], &["list", "--count", "--larger-than", "1"]] {
        for (name, words) in
            [("xfs-bulkstat", "is for XFS, and this is tmpfs"), ("btrfs-search", "is for btrfs")]
        {
            let ran = run(&path, &[options, &["--stat-backend", name]].concat());
            ran.complains(3, &["examine '.'", name, words, "(omit --stat-backend or choose another)"]);
        }
    }
}

#[test]
fn who_may_not_is_refused_in_one_line() {
    let scratch = scratch();
    let program = require!(unprivileged(&scratch));
    let mount = require!(Mount::make(&XFS));
    for options in [&["list", "-l"][..], &["list", "-lr"]] {
        let ran =
            run_as_nobody(&program, &mount.path(), &[options, &["--stat-backend", "xfs-bulkstat"]].concat());
        ran.complains(3, &["XFS_IOC_BULKSTAT needs root"]);
    }
}

/// The kernel translates the numbers of users, the device does not.
#[test]
fn a_user_namespace_is_refused_though_the_device_could_be_read() {
    let mount = require!(Mount::make(&EXT4));
    let mut program = Command::new("unshare");
    program.args(["--user", "--map-root-user", env!("CARGO_BIN_EXE_megadir"), "list", "-l"]);
    let output = program.args(["--stat-backend", "ext4-device"]).arg(mount.path()).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("user namespace"), "{message}");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0));
}

#[test]
fn another_file_system_in_a_tree_is_refused_once_and_the_rest_listed() {
    require!(root());
    let mount = require!(Mount::make(&XFS));
    fill(&mount.path(), &["a", "other/", "below/deep/", "below/deep/b"]);
    let other = mount.path().join("other");
    run_program(Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&other)).unwrap();
    fill(&other, &["one/", "two/three/", "file"]);
    let options = [
        "list",
        "-r",
        "--cross-mounts",
        "--fields",
        "links,name",
        "--stat-backend",
        "xfs-bulkstat",
        "-j",
        "2",
    ];
    let ran = run(&mount.path(), &options);
    unmount(&other).unwrap();
    let names = set(crate::support::split(&ran.out, b'\n'));
    assert_eq!(names.len(), 5, "{ran:?}");
    ran.complains(1, &["examine './other'", "xfs-bulkstat is for XFS, and this is tmpfs"]);
}

/// Neither call of the two file systems returns the space on disk or the time of the last access.
#[test]
fn an_order_by_attributes_that_the_stat_backend_never_returns_is_refused() {
    let scratch = scratch();
    fill(scratch.path(), &["t/", "t/a"]);
    for name in ["xfs-bulkstat", "btrfs-search"] {
        for (command, figure) in [("list", "allocated"), ("list", "atime"), ("usage", "allocated")] {
            let ran = run(scratch.path(), &[command, "--sort", figure, "--stat-backend", name, "t"]);
            ran.complains(2, &[name, "never returns", figure, "--sort needs", "leave --stat-backend out"]);
        }
        run(scratch.path(), &["usage", "--by", "allocated", "--stat-backend", name, "t"])
            .complains(2, &[name, "never returns allocated"]);
    }
}

#[test]
fn a_line_counts_the_entries_without_a_field_that_the_stat_backend_never_returns() {
    let mount = require!(Mount::make(&XFS));
    let at = mount.path();
    Flat { entries: 5_000, names: Names::Plain, kinds: Kinds::Files, seed: 1 }.build(&at.join("t"));
    // Entries younger than a second are not read in bulk.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    for options in [&[][..], &["-r"], &["--sort", "size"]] {
        let fields = ["list", "--fields", "allocated,size,atime,name", "t", "--stat-backend"];
        let with = |stat_backend| run(&at, &[&fields[..], &[stat_backend], options].concat());
        let ran = with("xfs-bulkstat");
        let without = ran.out.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"\t")).count();
        assert!(without > 1_000, "{options:?}: {without}");
        let line = format!("allocated and atime: missing for {without} of 5000 entries: xfs-bulkstat never");
        ran.complains(0, &[&line, "leave --stat-backend out"]);
        with("statx").quiet();
    }
}
