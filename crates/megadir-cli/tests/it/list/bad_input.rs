//! Bad input: one clear line each, and the documented exit code.

use std::os::unix::fs::PermissionsExt;

use megadir_testkit::mount::{Mount, TMPFS};
use megadir_testkit::require;

use crate::support::{fill, named, path, run, run_as_nobody, scratch, set, split, unprivileged};

#[test]
fn unopenable_directory_is_reported_with_the_reason() {
    let scratch = scratch();
    fill(scratch.path(), &["file", "d/"]);
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        scratch.path().join("fifo"),
        rustix::fs::Mode::from_raw_mode(0o644),
    )
    .unwrap();
    std::os::unix::fs::symlink("loop", scratch.path().join("loop")).unwrap();
    std::os::unix::fs::symlink("file", scratch.path().join("to-file")).unwrap();
    let long = "n".repeat(256);
    for (name, reason) in [
        ("missing", "open 'missing': No such file or directory"),
        ("file/", "open 'file/': Not a directory (expected a directory)"),
        ("d/missing/below", "open 'd/missing/below': No such file or directory"),
        ("fifo/", "open 'fifo/': Not a directory"),
        ("to-file/", "open 'to-file/': Not a directory"),
        ("loop", "open 'loop': Too many levels of symbolic links"),
        (long.as_str(), "File name too long"),
    ] {
        for options in
            [&["list"][..], &["list", "-r"], &["list", "--count"], &["list", "--estimate"], &["backends"]]
        {
            let options: Vec<&str> = options.iter().copied().chain([name]).collect();
            let ran = run(scratch.path(), &options);
            ran.complains(3, &[reason]);
            assert_eq!(ran.out, b"");
        }
    }
    // Options that need a directory refuse a file; the others list the file.
    for options in [&["list", "--estimate"][..], &["list", "--raw"], &["backends"]] {
        for name in ["file", "fifo", "to-file"] {
            let ran = run(scratch.path(), &[options, &[name]].concat());
            ran.complains(3, &[&format!("open '{name}': Not a directory (expected a directory)")]);
        }
    }
}

#[test]
fn missing_permission_is_reported_with_exit_code_3() {
    let scratch = scratch();
    let copy = require!(unprivileged(&scratch));
    fill(scratch.path(), &["locked/", "locked/a", "open/", "open/b"]);
    std::fs::set_permissions(scratch.path().join("locked"), std::fs::Permissions::from_mode(0o700)).unwrap();
    for options in [
        &["list", "locked"][..],
        &["list", "-r", "locked"],
        &["list", "--sort", "name", "locked"],
        &["backends", "locked"],
    ] {
        run_as_nobody(&copy, scratch.path(), options).complains(3, &["open 'locked': Permission denied"]);
    }
    let some = run_as_nobody(&copy, scratch.path(), &["list", "open", "locked"]);
    some.complains(1, &["open 'locked': Permission denied"]);
    assert_eq!(some.out, b"open/b\n");
}

#[test]
fn some_failed_is_1_and_all_failed_is_3() {
    let scratch = scratch();
    fill(scratch.path(), &["a/", "a/1", "b/", "b/2", "empty/", "file"]);
    for (options, code, listed) in [
        (&["list", "missing", "a", "file/", "b"][..], 1, &["a/1", "b/2"][..]),
        (&["list", "a", "missing"], 1, &["a/1"]),
        (&["list", "empty", "missing"], 1, &[]),
        (&["list", "missing", "file/"], 3, &[]),
        (&["list", "-r", "missing", "a"], 1, &["a/1"]),
        (&["list", "--sort", "name", "b", "missing", "a"], 1, &["a/1", "b/2"]),
        (&["list", "--count", "b", "missing"], 1, &["1\tb"]),
    ] {
        let ran = run(scratch.path(), options);
        assert_eq!(ran.code, Some(code), "{options:?}");
        assert_eq!(set(split(&ran.out, b'\n')), named(listed), "{options:?}");
        let failed = options.iter().filter(|name| ["missing", "file/"].contains(name)).count();
        assert_eq!(ran.err.lines().count(), failed, "a line each: {}", ran.err);
    }
}

#[test]
fn usage_errors_are_found_before_anything_is_read() {
    let scratch = scratch();
    fill(scratch.path(), &["d/", "d/a"]);
    let backends = megadir::BACKENDS.iter().map(|backend| backend.name()).collect::<Vec<_>>().join(", ");
    for (options, words) in [
        (
            &["--backend", "getdent"][..],
            &["invalid value 'getdent' for '--backend <NAME>'", "did you mean 'getdents'?", &backends][..],
        ),
        (&["--backend", "zzzzzzzz"], &["'zzzzzzzz'", &backends]),
        (&["--backend", ""], &["invalid value ''", "expected one of std"]),
        (&["--buffer", "10"], &["'10'", "too small", "write 4KiB to 16MiB", "takes 280 bytes"]),
        (&["--buffer", "4095"], &["too small"]),
        (&["--buffer", "16777217"], &["too large", "write 4KiB to 16MiB"]),
        (&["--buffer", "17M"], &["too large"]),
        (&["--buffer", "1x"], &["'1x' is not a size: write 4096, 128KiB, 1MiB or 5MB"]),
        (&["--buffer", "-1"], &["-1"]),
        (&["--buffer", "99999999999999999999999"], &["is too large"]),
        (&["--threads", "0"], &["write a number from 1 to 256"]),
        (&["--threads", "257"], &["write a number from 1 to 256"]),
        (&["--threads", "two"], &["write a number from 1 to 256"]),
        (&["--type", "flie"], &["'flie'", "file, directory, symlink"]),
        (&["--type", "f,,d"], &["''"]),
        (&["--limit", "many"], &["'many' is not a count: write 250, 10k, 1.5M or 2G"]),
        (&["--limit", "1.5"], &["is not a count"]),
        (&["--sort", "sise"], &["'sise'", "none, name, inode, size, allocated, mtime, atime"]),
        (&["--match", "a["], &["--match 'a['", "unclosed character class"]),
        (&["--match", "{a"], &["--match '{a'"]),
        (&["--match", "a/b"], &["--match 'a/b'", "names, which contain no '/'"]),
        (&["--match", "[ä]"], &["one byte", "{ä,ö}"]),
        (&["--bogus"], &["unexpected argument '--bogus'"]),
        (&["--cuont"], &["--cuont", "'--count'"]),
        (&["--sort"], &["a value is required for '--sort <KEY>'", "none, name, inode"]),
        (&["--cross-mounts"], &["--recursive"]),
        (&["-c", "-c"], &["cannot be used multiple times"]),
        (&[""], &["the path is empty; use '.' for the current directory"]),
        (
            &["--backend", "getdents", "-j", "4"],
            &["--threads 4: getdents reads with one thread; split uses several"],
        ),
        (&["--backend", "std", "--buffer", "64k"], &["--buffer: std has no configurable buffer"]),
        (&["--backend", "readdir", "--buffer", "64k"], &["--buffer: readdir has no configurable buffer"]),
        (&["--backend", "std", "--raw"], &["--raw: std returns neither record length nor offset"]),
    ] {
        let all: Vec<&str> = ["list"].iter().chain(options).copied().chain(["d", "missing"]).collect();
        // A missing value would take the directory's name.
        let all = if options == ["--sort"] { vec!["list", "d", "--sort"] } else { all };
        let ran = run(scratch.path(), &all);
        ran.complains(2, words);
        assert_eq!(ran.out, b"", "{options:?}");
    }
    run(scratch.path(), &["backends", ""]).complains(2, &["the path is empty"]);
    run(scratch.path(), &["lst"]).complains(2, &["unrecognized subcommand 'lst'", "'list'"]);
    run(scratch.path(), &["backends", "d", "d"]).complains(2, &["unexpected argument 'd'"]);
    let glob = [std::ffi::OsStr::new("list"), "-g".as_ref(), path(b"\xff").as_os_str()]
        .map(std::ffi::OsStr::to_owned);
    run(scratch.path(), &glob).complains(2, &["--match '\\xff': a glob must be UTF-8"]);
}

#[test]
fn unsplittable_directory_is_refused_with_the_reason() {
    let mount = require!(Mount::make(&TMPFS));
    fill(&mount.path(), &["d/", "d/a"]);
    let ran = run(&mount.path(), &["list", "--backend", "split", "d"]);
    ran.complains(
        3,
        &["split 'd': tmpfs returns entries in descending positions", "(use --backend getdents)"],
    );
    run(&mount.path(), &["list", "--backend", "split", "/proc"]).complains(3, &["split '/proc': "]);
    let some = run(&mount.path(), &["list", "--backend", "split", "d", "missing"]);
    assert_eq!((some.code, some.err.lines().count()), (Some(3), 2));
}

#[test]
fn a_name_in_a_message_makes_no_second_line_and_moves_no_cursor() {
    let scratch = scratch();
    for (name, shown) in
        [(&b"a\nb"[..], "'a\\nb'"), (b"\x1b[31mred", "'\\x1b[31mred'"), (b"bad\xff", "'bad\\xff'")]
    {
        let name = path(name);
        let ran = run(scratch.path(), &["list".as_ref(), name.as_os_str()]);
        ran.complains(3, &[&format!("open {shown}: No such file or directory")]);
        run(scratch.path(), &["backends".as_ref(), name.as_os_str()]).complains(3, &[shown]);
    }
    run(scratch.path(), &["list", "--type", "\x1b[2J\nx"]).complains(2, &["expected one of unknown, file"]);
}
