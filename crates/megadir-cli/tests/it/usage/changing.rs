//! Trees that vanish while they are read, and memory.

use std::process::{Command, Stdio};

use super::{make_tree, parsed};
use crate::remove::witness::scratch_in_memory;
use crate::support::{Ran, fill, finish, have, megadir, peak_of, program, run, scratch, text};
use megadir_testkit::require;

#[test]
fn a_tree_that_is_removed_meanwhile_is_no_catastrophe() {
    let scratch = scratch();
    let mut seen_less = false;
    for _ in 0..10 {
        let made =
            run(scratch.path(), &["make", "t", "--entries", "20k", "--layout", "per-directory:50", "-q"]);
        assert_eq!(made.code, Some(0), "{made:?}");
        let whole = parsed(&run(scratch.path(), &["usage", "--json", "t"]))["entries"].clone();
        let mut removing = megadir(scratch.path(), &["remove", "--yes", "--quiet", "t"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        for _ in 0..5 {
            let ran: Ran = run(scratch.path(), &["usage", "--json", "t"]);
            let is_missing = ran.code == Some(3) && ran.err.contains("No such file");
            if !is_missing {
                assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
                let left = parsed(&ran)["entries"].clone();
                assert!(left.as_u64() <= whole.as_u64(), "{left} of {whole}");
                seen_less |= left.as_u64() < whole.as_u64();
            }
        }
        removing.wait().unwrap();
        if seen_less {
            break;
        }
        let _ = std::fs::remove_dir_all(scratch.path().join("t"));
    }
    assert!(seen_less, "no run met the removal");
}

#[test]
fn a_tree_that_cannot_be_read_takes_no_figures_of_another() {
    require!(have("strace"));
    let scratch = scratch();
    fill(scratch.path(), &["one/", "one/d/", "one/d/a", "two/", "two/d/", "two/d/b"]);
    for (tree, other) in [("one", "\r\ntwo,0,2,"), ("two", "\r\none,0,2,")] {
        let path = scratch.path().canonicalize().unwrap().join(tree);
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-o", "/dev/null", "-P"]).arg(path);
        // As of a root that is removed meanwhile.
        strace.args(["-e", "inject=getdents64:error=ENOENT"]);
        strace.arg(program()).args(["usage", "--csv", "-j", "2", "--prometheus", "usage.prom", "one", "two"]);
        let ran = finish(strace.current_dir(scratch.path()));
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains(&format!("read '{tree}': No such file")), "{ran:?}");
        assert!(text(&ran.out).contains(other), "{ran:?}");
        let metrics = std::fs::read_to_string(scratch.path().join("usage.prom")).unwrap();
        let of_tree: Vec<&str> =
            metrics.lines().filter(|line| line.contains(&format!("tree=\"{tree}\""))).collect();
        assert_eq!(of_tree, [format!("megadir_usage_complete{{tree=\"{tree}\"}} 0")]);
    }
}

#[test]
fn the_memory_depends_on_the_list_and_not_on_the_tree() {
    let scratch = scratch_in_memory();
    let make = |name: &str, entries: &str| {
        let options = ["make", name, "--entries", entries, "--layout", "per-directory:20", "-q"];
        let made = run(scratch.path(), &options);
        assert_eq!(made.code, Some(0), "{made:?}");
        let output = format!("{name}.parquet");
        run(scratch.path(), &["scan", "--quiet", name, "-o", &output]).quiet();
    };
    make("small", "1k");
    make("large", "40k");
    for (small, large) in [("small", "large"), ("small.parquet", "large.parquet")] {
        let [before, after] = [small, large].map(|tree| peak_of(scratch.path(), &["usage", tree], 0));
        // Forty times as many directories, and for the inventory one row group instead of a part of one.
        let allowed = if large.ends_with("parquet") { 48 << 20 } else { 3 << 20 };
        assert!(after < before + allowed, "{large}: {before} and {after} bytes");
    }
}

#[test]
fn hard_links_count_where_the_first_name_is_whichever_thread_is_first() {
    require!(have("python3"));
    let scratch = scratch();
    make_tree(&scratch.path().join("t"), 3);
    let ran = |threads: &str| {
        let ran = finish(&mut megadir(scratch.path(), &["usage", "--csv", "-n", "500", "-j", threads, "t"]));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.out
    };
    let first = ran("1");
    for _ in 0..5 {
        assert_eq!(ran("4"), first);
    }
}

/// A metric of a release directory that was replaced would be zero.
#[test]
fn a_working_directory_that_was_removed_is_an_error_and_no_empty_tree() {
    for scratch in [scratch(), crate::support::scratch_in_memory()] {
        let at = scratch.path();
        std::fs::create_dir(at.join("other")).unwrap();
        std::fs::write(at.join("other/f"), "x").unwrap();
        let removed = |words: &str| {
            std::fs::create_dir(at.join("d")).unwrap();
            std::fs::write(at.join("d/f"), "x").unwrap();
            crate::support::shell(at, &format!("cd d && rm -r ../d && exec $M {words}"))
        };
        for words in [
            "usage .",
            "usage -j1 .",
            "usage --json .",
            "usage --csv .",
            "usage --max-depth 1 .",
            "list .",
            "list -r .",
            "list -rj1 .",
            "list -rc .",
            "list -rl .",
            "list --summary .",
            "list -r --summary .",
        ] {
            let ran = removed(words);
            ran.complains(3, &["read '.': No such file or directory"]);
            assert_eq!(ran.out, b"", "{words}");
        }
        let ran = removed("usage --csv . ../other");
        ran.complains(1, &["read '.': No such file or directory"]);
        let out = String::from_utf8(ran.out).unwrap();
        assert!(out.lines().count() == 2 && out.contains("\n../other,0,1,"), "{out}");
        removed("usage --prometheus ../metrics.prom .")
            .complains(3, &["read '.': No such file or directory"]);
        let metrics = std::fs::read_to_string(at.join("metrics.prom")).unwrap();
        assert!(metrics.contains("megadir_usage_complete{tree=\".\"} 0\n"), "{metrics}");
        assert!(!metrics.contains("megadir_usage_tree_entries{"), "{metrics}");
    }
}
