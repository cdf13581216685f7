//! Every option of `megadir list`: its effect and its conflicts.

use megadir::BACKENDS;
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Kinds, Names as Scheme};

use crate::support::{by_std, fill, have, named, run, scratch, set, shell, split};

#[test]
fn without_arguments_the_current_directory_is_listed() {
    let scratch = scratch();
    fill(scratch.path(), &["a", ".hidden", "sub/", "sub/below"]);
    let names = set(run(scratch.path(), &["list"]).lines());
    assert_eq!(names, named(&["a", ".hidden", "sub"]));
    assert_eq!(set(run(scratch.path(), &["list", "."]).lines()), names);
}

#[test]
fn an_empty_directory_prints_nothing() {
    let scratch = scratch();
    for options in
        [&["list"][..], &["list", "-0"], &["list", "--json"], &["list", "-r"], &["list", "--sort", "name"]]
    {
        assert_eq!(run(scratch.path(), options).quiet(), b"");
    }
}

#[test]
fn several_directories_have_their_paths_before_the_names() {
    let scratch = scratch();
    fill(scratch.path(), &["one/", "one/a", "two/", "two/b", "two/c"]);
    assert_eq!(
        set(run(scratch.path(), &["list", "one", "two/"]).lines()),
        named(&["one/a", "two/b", "two/c"])
    );
    let lines = run(scratch.path(), &["list", "one", "one"]).lines();
    assert_eq!(lines, [b"one/a", b"one/a"], "a directory named twice is listed twice");
}

#[test]
fn a_directory_may_be_a_link_have_a_slash_at_the_end_or_be_the_root() {
    let scratch = scratch();
    fill(scratch.path(), &["real/", "real/x"]);
    std::os::unix::fs::symlink("real", scratch.path().join("link")).unwrap();
    for path in ["real", "real/", "real//", "link", "link/", "./real/../link"] {
        assert_eq!(set(run(scratch.path(), &["list", path]).lines()), named(&["x"]), "{path}");
    }
    assert_eq!(run(scratch.path(), &["list", "-r", "link/"]).lines(), [b"link/x"]);
    assert_eq!(set(run(scratch.path(), &["list", "/"]).lines()), by_std("/".as_ref()));
    let both = run(scratch.path(), &["list", "/", "real"]).lines();
    assert!(both.contains(&b"/usr".to_vec()) && both.contains(&b"real/x".to_vec()));
}

#[test]
fn null_ends_each_name_with_a_zero_byte() {
    let scratch = scratch();
    fill(scratch.path(), &["a\nb", "c"]);
    for option in ["-0", "--null"] {
        assert_eq!(set(split(&run(scratch.path(), &["list", option]).quiet(), 0)), named(&["a\nb", "c"]));
    }
}

#[test]
fn count_counts_with_and_without_filters() {
    let scratch = scratch();
    fill(scratch.path(), &["a.tmp", "b.tmp", "c", "d.tmp/", "d.tmp/below.tmp", "empty/"]);
    let count = |options: &[&str]| {
        let all: Vec<&str> = ["list", "--count"].iter().chain(options).copied().collect();
        String::from_utf8(run(scratch.path(), &all).quiet()).unwrap()
    };
    assert_eq!(count(&[]), "5\n");
    assert_eq!(count(&["--type", "f"]), "3\n");
    assert_eq!(count(&["--match", "*.tmp"]), "3\n");
    assert_eq!(count(&["--match", "*.tmp", "--type", "f"]), "2\n");
    assert_eq!(count(&["-r"]), "6\n");
    assert_eq!(count(&["-r", "-g", "*.tmp"]), "4\n");
    assert_eq!(count(&[".", "empty", "d.tmp"]), "5\t.\n0\tempty\n1\td.tmp\n");
    assert_eq!(count(&["-r", ".", "empty", "d.tmp"]), "6\t.\n0\tempty\n1\td.tmp\n");
    assert_eq!(count(&["--json"]), "{\"v\":1,\"dir\":\".\",\"count\":5}\n");
    assert_eq!(
        count(&["--json", "empty", "."]),
        "{\"v\":1,\"dir\":\"empty\",\"count\":0}\n{\"v\":1,\"dir\":\".\",\"count\":5}\n"
    );
    for backend in BACKENDS.iter().filter(|backend| backend.name() != "split") {
        assert_eq!(count(&["--backend", backend.name(), "--type", "directory"]), "2\n");
    }
}

#[test]
fn types_are_accepted_by_name_and_by_letter() {
    let scratch = scratch();
    let flat = Flat { entries: 50, names: Scheme::Plain, kinds: Kinds::Mixed, seed: 1 };
    let directory = scratch.path().join("mixed");
    flat.build(&directory);
    let of_kind = |wanted: &[&str]| {
        (0..flat.entries)
            .filter(|index| wanted.contains(&flat.kind(*index).name()))
            .map(|index| flat.name(index))
            .collect()
    };
    for (option, kinds) in [
        ("f", &["file"][..]),
        ("-", &["file"]),
        ("file", &["file"]),
        ("d", &["directory"]),
        ("l", &["symlink"]),
        ("p", &["fifo"]),
        ("s", &["socket"]),
        ("f,d", &["file", "directory"]),
        ("directory,symlink,p", &["directory", "symlink", "fifo"]),
        ("block-device,c", &[]),
        ("unknown", &[]),
        ("?,w", &[]),
    ] {
        assert_eq!(set(run(&directory, &["list", "--type", option]).lines()), of_kind(kinds), "{option}");
    }
    let several = run(&directory, &["list", "--type", "f", "--type", "socket"]).lines();
    assert_eq!(set(several), of_kind(&["file", "socket"]));
    let devices = run("/".as_ref(), &["list", "--type", "c", "/dev"]).lines();
    assert!(devices.contains(&b"null".to_vec()));
}

#[test]
fn globs_are_held_against_whole_names() {
    let scratch = scratch();
    fill(
        scratch.path(),
        &[
            "a.tmp",
            "ab.tmp",
            ".tmp",
            "a.tmpx",
            "A.TMP",
            "grün",
            "[x]",
            "back\\slash",
            "sub.tmp/",
            "sub.tmp/z",
        ],
    );
    for (glob, expected) in [
        ("*.tmp", &["a.tmp", "ab.tmp", ".tmp", "sub.tmp"][..]),
        ("?.tmp", &["a.tmp"]),
        ("[ab]*", &["a.tmp", "ab.tmp", "a.tmpx", "back\\slash"]),
        ("[!a]*", &[".tmp", "A.TMP", "grün", "[x]", "back\\slash", "sub.tmp"]),
        ("{a,ab}.tmp", &["a.tmp", "ab.tmp"]),
        ("gr??n", &["grün"]),
        ("\\[x\\]", &["[x]"]),
        ("back\\\\slash", &["back\\slash"]),
        ("z", &[]),
        ("**", &["a.tmp", "ab.tmp", ".tmp", "a.tmpx", "A.TMP", "grün", "[x]", "back\\slash", "sub.tmp"]),
    ] {
        assert_eq!(set(run(scratch.path(), &["list", "--match", glob]).lines()), named(expected), "{glob}");
    }
    // Directories that do not match are entered as well.
    assert_eq!(run(scratch.path(), &["list", "-r", "-g", "z"]).lines(), [b"./sub.tmp/z"]);
}

#[test]
fn limit_holds_for_all_directories_together() {
    let scratch = scratch();
    Flat::plain(1000).build(&scratch.path().join("a"));
    Flat::plain(10).build(&scratch.path().join("b"));
    for (limit, expected) in
        [("0", 0), ("1", 1), ("999", 999), ("1k", 1000), ("1005", 1005), ("1_010", 1010), ("10M", 1010)]
    {
        for extra in [&[][..], &["-r"], &["--sort", "name"], &["--json"], &["-j", "2"], &["--type", "f"]] {
            let options: Vec<&str> = ["list", "-n", limit, "a", "b"].iter().chain(extra).copied().collect();
            assert_eq!(run(scratch.path(), &options).lines().len(), expected, "{options:?}");
        }
    }
    let sorted = run(scratch.path(), &["list", "--sort", "name", "--limit", "5", "a"]).lines();
    assert_eq!(sorted, by_std(&scratch.path().join("a")).into_iter().take(5).collect::<Vec<_>>());
    assert_eq!(run(scratch.path(), &["list", "-n", "3", "-g", "*0", "a"]).lines().len(), 3);
}

#[test]
fn every_backend_every_buffer_and_every_number_of_threads_gives_the_same_names() {
    let scratch = scratch();
    let directory = scratch.path().join("names");
    Flat { entries: 3000, names: Scheme::Varied, kinds: Kinds::Mixed, seed: 5 }.build(&directory);
    let expected = by_std(&directory);
    let listed = |options: &[&str]| {
        let all: Vec<&str> = ["list", "-0"].iter().chain(options).copied().collect();
        set(split(&run(&directory, &all).quiet(), 0))
    };
    for backend in BACKENDS {
        // The file system of the tests determines if this directory can be split.
        if backend.probe(&megadir::Dir::open(&directory).unwrap()).is_ok() {
            assert_eq!(listed(&["--backend", backend.name()]), expected, "{}", backend.name());
        }
    }
    for buffer in ["4096", "4KiB", "12345", "0.5M", "16MiB"] {
        assert_eq!(listed(&["--buffer", buffer]), expected, "{buffer}");
        assert_eq!(listed(&["--buffer", buffer, "--backend", "getdents"]), expected, "{buffer}");
    }
    for threads in ["1", "2", "3", "256"] {
        assert_eq!(listed(&["--threads", threads]), expected, "{threads}");
    }
    assert_eq!(listed(&["-j", "1", "--backend", "readdir"]), expected);
}

#[test]
fn explain_prints_the_chosen_backend_on_standard_error() {
    let scratch = scratch();
    fill(scratch.path(), &["sub/", "sub/a"]);
    for (options, words) in [
        (&["list", "--explain", "sub"][..], &["'sub': getdents on ", "buffer 128 KiB", "directory of "][..]),
        (&["list", "--explain", "--backend", "std", "sub"], &["'sub': std on ", "chosen with --backend"]),
        (&["list", "--explain", "--buffer", "8KiB", "sub"], &["buffer 8 KiB"]),
        (&["list", "--explain", "-j1", "sub"], &["getdents"]),
        (&["list", "--explain", "-r", "sub"], &["'sub': walked by ", "threads", "buffer 32 KiB"]),
        (
            &["list", "--explain", "-r", "-j", "1", "--buffer", "1M", "sub"],
            &["walked by one thread", "buffer 1024 KiB"],
        ),
        (&["list", "--explain", "--count", "sub"], &["'sub': getdents on "]),
    ] {
        let ran = run(scratch.path(), options);
        ran.complains(0, words);
        assert!(!ran.out.is_empty());
    }
    let two = run(scratch.path(), &["list", "--explain", ".", "sub"]);
    assert_eq!(two.err.lines().count(), 2, "a line a directory: {}", two.err);
}

#[test]
fn help_and_version_go_to_standard_output() {
    let scratch = scratch();
    for options in [
        &["--help"][..],
        &["list", "--help"],
        &["list", "-h"],
        &["help", "list"],
        &["backends", "--help"],
        &["--version"],
    ] {
        assert!(!run(scratch.path(), options).quiet().is_empty(), "{options:?}");
    }
    let nothing = run::<&str>(scratch.path(), &[]);
    assert_eq!((nothing.code, nothing.out.as_slice()), (Some(2), &b""[..]));
    assert!(nothing.err.contains("Usage: megadir <COMMAND>"));
}

/// `ls -U` and `find` use directory order too.
#[test]
fn one_thread_gives_the_order_of_the_directory() {
    require!(have("find"));
    let scratch = scratch();
    Flat::plain(2000).build(&scratch.path().join("d"));
    let by_find = shell(scratch.path(), "find d -mindepth 1 -printf '%f\\n'").lines();
    for options in ["", "-j 1", "--backend readdir", "--backend std", "--buffer 4k"] {
        assert_eq!(shell(scratch.path(), &format!("$M list d {options}")).lines(), by_find, "{options}");
    }
}
