//! Options, and refusals before anything is created.

use megadir_testkit::output::assert_output;
use megadir_testkit::tree::names;

use crate::support::{output_of, text};

#[test]
fn files_can_be_chosen_and_copied_in_shape() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = |more: &[&str]| {
        output_of(
            directory.path(),
            &[&["bench", "run", "listing", "--quick", "--dry-run"][..], more].concat(),
        )
    };
    let laws = ["--entries", "3000", "--sizes", "lognormal:50kB", "--content", "json"];
    assert_output(
        &run(&laws),
        0,
        "3000 files of 50000 bytes on average (lognormal:50000+sigma=1), md5 names, content json",
    );
    assert_output(&run(&["--sizes", "lognormla:5"]), 2, "did you mean 'lognormal'");
    assert_output(&run(&["--content", "jsn"]), 2, "did you mean 'json'");
    assert_output(&run(&["--layout", "prefix:2/2"]), 2, "works in one directory");
    let tree = directory.path().join("tree");
    let made = [
        "make",
        "tree",
        "-n",
        "3000",
        "--layout",
        "prefix:1",
        "--sizes",
        "uniform:0-8KiB",
        "--content",
        "json",
    ];
    assert_output(&output_of(directory.path(), &made), 0, "created 3000 files and 16 directories");
    let first =
        std::fs::read_dir(tree.join("0")).expect("readable").next().expect("a file").expect("readable");
    let document = std::fs::read(first.path()).expect("readable");
    assert!(serde_json::from_slice::<serde_json::Value>(&document).is_ok(), "{}", text(&document));
    assert_output(&run(&["--shape-of", "tree"]), 2, "17 directories on 2 levels");
    assert_output(&run(&["--shape-of", "tree", "--layout", "flat"]), 0, "3000 files of");
    assert_output(&run(&["--shape-of", "tree", "--layout", "flat"]), 0, "names of 32 to 32 bytes");
    assert_output(&run(&["--shape-of", "tree", "--entries", "5"]), 2, "cannot be used with");
    assert_output(&run(&["--shape-of", "none"]), 3, "none");
    assert_output(&run(&["--dir", "tree/0", "--shape-of", "tree", "--layout", "flat"]), 0, "3000 files of");
    let existing = ["make", "many", "-n", "1000", "--size", "0"];
    assert_output(&output_of(directory.path(), &existing), 0, "created 1000 files");
    assert_output(&run(&["--dir", "many", "--content", "json"]), 2, "add --entries");
}

#[test]
fn file_work_is_selectable_and_unused_options_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let dry = |arguments: &[&str]| {
        output_of(directory.path(), &[&["bench", "run"], arguments, &["--quick", "--dry-run"]].concat())
    };
    let layouts = dry(&["layout", "--layout", "flat,prefix:1/1", "--order", "inode", "--sync", "at-end"]);
    assert_output(&layouts, 0, "read by inode, prefix:1/1, directories made before");
    // Files that arms create take space until the end; data created once does not grow.
    assert_output(&layouts, 0, "space: the files that arms create stay until the end, up to ");
    assert!(!text(&dry(&["lookup"]).stdout).contains("stays to the end"));
    assert!(!text(&layouts.stdout).contains("prefix:2"));
    let workers = ["smallfile", "--workers", "3,1", "--worker-kind", "thread", "--sharing", "same"];
    assert_output(&dry(&workers), 0, "rewrite, 3 threads");
    let operations = dry(&["smallfile", "--operation", "create,stat,unlink"]);
    assert_output(&operations, 0, "unlink, 2 processes");
    assert!(!text(&operations.stdout).contains("rewrite"), "{}", text(&operations.stdout));
    assert_output(
        &dry(&["smallfile", "--operation", "stat"]),
        2,
        "the operations cannot be [stat]: expected create, any of",
    );
    assert_output(&dry(&["lookup", "--operation", "create"]), 2, "study `lookup` does not take --operation");
    assert_output(&dry(&["lookup", "--workers", "2"]), 2, "study `lookup` does not take --workers");
    assert_output(&dry(&["layout", "--sync", "never,at-end"]), 2, "name one");
    assert_output(&dry(&["lookup", "--layout", "flat,git"]), 2, "does not compare layouts");
    assert_output(&dry(&["smallfile", "--sync", "always"]), 2, "expected one of never, each-file");
    assert_output(&dry(&["layout", "--layout", "prefix:0"]), 2, "prefix:0");
    assert_output(&dry(&["smallfile", "--workers", "0"]), 2, "the number of workers cannot be 0");
}

#[test]
fn dry_run_reports_refusals() {
    let directory = tempfile::tempdir().expect("a directory");
    for more in [&[][..], &["--dry-run"]] {
        let run = ["bench", "run", "lookup", "--entries", "100000000", "--sizes", "1MiB"];
        let output = output_of(directory.path(), &[&run[..], more].concat());
        assert_output(&output, 3, "has not enough ");
    }
    assert!(names(directory.path()).is_empty());
}

#[test]
fn a_dry_run_touches_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = output_of(directory.path(), &["bench", "run", "listing", "--dry-run"]);
    assert_output(&output, 0, "needs: 111000 files");
    assert!(text(&output.stdout).contains("readdir to xattrs"));
    assert!(names(directory.path()).is_empty());
}

#[test]
fn bad_input_gets_one_line_and_its_exit_code() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    std::fs::write(at.join("file"), "x").expect("writable");
    std::fs::write(at.join("own.toml"), "name = 1\n").expect("writable");
    for (arguments, code, words) in [
        (&["bench", "run", "listnig"][..], 2, "did you mean 'listing'?"),
        (&["bench", "run", "own.toml"], 2, "own.toml:1:8: expected a string in quotes, found the number 1"),
        (&["bench", "run", "listing", "--backend", "getdent"], 2, "did you mean 'getdents'?"),
        (&["bench", "run", "listing", "--buffer", "1"], 2, "expected 4096 to 16777216 bytes"),
        (&["bench", "run", "listing", "--threads", "0"], 2, "expected 1 to 256"),
        (&["bench", "run", "listing", "--entries", "0"], 2, "expected 1 to"),
        (&["bench", "run", "listing", "--rounds", "0"], 2, "expected 1 to"),
        (&["bench", "run", "listing", "--dir", "missing"], 3, "No such file"),
        (&["bench", "run", "listing", "--dir", "file"], 3, "Not a directory"),
        (&["bench", "run", "listing", "--entries", "100M"], 3, "has not enough"),
        (&["bench", "report", "missing"], 3, "No such file"),
        (&["bench", "report", "own.toml"], 3, "not a megadir record"),
        (&["make", "missing/parent", "--entries", "1"], 3, "No such file"),
        (&["make", "file", "--entries", "1"], 3, "Not a directory"),
    ] {
        let output = output_of(at, arguments);
        assert_output(&output, code, words);
        assert_eq!(
            text(&output.stderr)
                .trim_end()
                .lines()
                .filter(|line| line.starts_with("megadir: creating"))
                .count()
                + 1,
            text(&output.stderr).trim_end().lines().count(),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
        assert_eq!(names(at), ["file", "own.toml"], "{arguments:?}");
    }
}

#[test]
fn worker_without_a_run_prints_how_it_is_started() {
    let directory = tempfile::tempdir().unwrap();
    let output = output_of(directory.path(), &["bench", "worker"]);
    assert_output(&output, 3, "is started by 'megadir bench run', not by hand");
    assert_eq!(text(&output.stderr).lines().count(), 1);
}
