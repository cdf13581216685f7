//! Words that people type first, from `ls`, `find`, `du` and `rm`: one line says what to write instead.

use megadir_testkit::require;

use crate::support::{fill, have, run, scratch, shell};

#[test]
fn words_of_other_programs_lead_to_the_command() {
    let scratch = scratch();
    fill(scratch.path(), &["spool/", "du/"]);
    for (word, instead) in [
        ("du", "'megadir usage DIR'"),
        ("find", "'megadir list --recursive --match GLOB DIR'"),
        ("df", "'megadir limits DIR'"),
        ("stat", "'megadir list -l DIR'"),
        ("diff", "'megadir changes FILE.parquet'"),
        ("tree", "'megadir usage DIR'"),
        ("count", "'megadir list --count DIR'"),
        ("delete", "'megadir remove PATH'"),
        ("purge", "'megadir remove --older-than 30d DIR'"),
        ("clean", "'megadir bench clean DIR'"),
        ("top", "'megadir usage DIR'"),
        ("smallfile", "'megadir bench run smallfile'"),
        ("spool", "'megadir list spool' prints its entries, and 'megadir usage spool'"),
        (".", "'megadir usage .'"),
        ("missing/", "'megadir list missing/'"),
    ] {
        for more in [&[][..], &["x"]] {
            let ran = run(scratch.path(), &[&[word], more].concat());
            ran.complains(2, &[instead]);
            assert!(!ran.err.contains("similar"), "{}", ran.err);
        }
    }
    run(scratch.path(), &["lsit"]).complains(2, &["'list'"]);
    run(scratch.path(), &["bench", "smallfile"]).complains(2, &["'megadir bench run smallfile'"]);
    run(scratch.path(), &["bench", "run"]).complains(2, &["listing, ", "smallfile", "'megadir bench list'"]);
}

#[test]
fn words_of_find_lead_to_the_condition() {
    let scratch = scratch();
    for (words, instead) in [
        (&["--name", "*.log"][..], "write --match '*.log'"),
        (&["-name", "*.log"], "write --match '*.log'"),
        (&["--name=*.log"], "write --match '*.log'"),
        (&["--mtime", "+30"], "write --older-than 30d"),
        (&["-mtime", "-7"], "write --newer-than 7d"),
        (&["-mmin", "+5"], "write --older-than 5m"),
        (&["-atime", "+5"], "write --older-than 5d --by atime"),
        (&["--size", "+1M"], "write --larger-than 1M"),
        (&["-size", "-100c"], "write --smaller-than 100"),
        (&["-size", "7"], "write --larger-than SIZE or --smaller-than SIZE"),
        (&["-maxdepth", "2"], "write --max-depth 2"),
        (&["-print0"], "write -0"),
        (&["-delete"], "'megadir remove'"),
    ] {
        for command in ["list", "usage", "remove", "changes"] {
            let ran = run(scratch.path(), &[&[command, "."], words].concat());
            ran.complains(2, &[instead, &format!("{command} has no ")]);
        }
    }
    // What megadir has keeps its own message.
    run(scratch.path(), &["list", "--type", "x"]).complains(2, &["--type", "expected one of"]);
    run(scratch.path(), &["list", "--older-than", "+30"]).complains(2, &["--older-than", "30d"]);
}

#[test]
fn options_of_rm_and_ls_get_hints() {
    let scratch = scratch();
    fill(scratch.path(), &["d/", "d/f", "d/d/"]);
    for words in [&["-rf"][..], &["-r"], &["-f"], &["-R"], &["--recursive"], &["--force"]] {
        run(scratch.path(), &[&["remove", "d"], words].concat()).complains(2, &["no -r or -f", "--yes"]);
    }
    assert!(scratch.path().join("d/f").exists());
    // In `ls` it sorts by time. As --type it took the directory `d` for a type.
    for words in [&["-t", "d"][..], &["-lt", "d"], &["-t"], &["-ltr"]] {
        run(scratch.path(), &[&["list"], words].concat()).complains(2, &["--sort mtime", "--type TYPE"]);
    }
}

#[test]
fn missing_inventories_are_requested_with_the_command() {
    let scratch = scratch();
    fill(scratch.path(), &["src/", "src/f"]);
    run(scratch.path(), &["scan", "src"]).complains(2, &["'megadir scan src --output src.parquet'"]);
    run(scratch.path(), &["scan", "-q", "./src/"]).complains(2, &["--output src.parquet'"]);
    run(scratch.path(), &["scan", "src", "--split", "10"]).complains(2, &["--lists NEW"]);
    run(scratch.path(), &["changes"]).complains(2, &["'megadir scan DIR --output FILE.parquet'"]);
    run(scratch.path(), &["changes", "src"]).complains(2, &["'src' is a directory", "megadir scan DIR"]);
    run(scratch.path(), &["scan", "-q", "src", "--output", "i.parquet"]).quiet();
    run(scratch.path(), &["changes", "src", "i.parquet"])
        .complains(2, &["'src' is a directory", "'i.parquet' first"]);
}

#[test]
fn numbers_of_files_and_sizes_have_both_names() {
    let scratch = scratch();
    for (one, other) in [("--entries", "--size"), ("--files", "--sizes")] {
        for words in [
            &["make", "d", "--dry-run", one, "2k", other, "4KiB"][..],
            &["advise", "--time", "0s", one, "2k", other, "4KiB"],
            &["limits", other, "4KiB"],
            &["bench", "run", "smallfile", "--dry-run", "--quick", one, "2k", other, "4KiB"],
        ] {
            let ran = run(scratch.path(), words);
            assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.err);
        }
    }
    for age in ["30d", "30days", "30 days"] {
        run(scratch.path(), &["list", "--older-than", age]).quiet();
    }
}

#[test]
fn make_asks_before_millions_of_files() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    let needs = ["make", "d", "--entries", "10M", "--size", "5000", "--layout", "prefix:1"];
    run(at, &needs).complains(
        2,
        &["create 10 000 000 files in 'd' (77G on disk of ", "10.0 M inodes", "no terminal", "--yes"],
    );
    assert!(!at.join("d").exists());
    let asked = "(printf 'n\\n'; sleep 1) | script -qec '$M make d -n 10M --size 0' /dev/null";
    let ran = shell(at, asked);
    let shown = String::from_utf8_lossy(&ran.out);
    assert!(shown.contains("create 10 000 000 files in 'd'") && shown.contains("[y/N]"), "{shown}");
    assert!(shown.contains("nothing was created") && !at.join("d").exists(), "{shown}");
    // Up to a million is not asked.
    run(at, &["make", "d", "--dry-run", "--entries", "10M", "--size", "0"]).quiet();
    let stopped = "$M make d -n 2M --size 0 --yes & pid=$!; until [ -e d ]; do sleep 0.02; done; sleep 0.3; kill -INT $pid; wait $pid";
    let ran = shell(at, stopped);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let there = std::fs::read_dir(at.join("d")).unwrap().count();
    let says = format!("interrupted: 'd' has {there} of 2000000 files; run the same command to continue");
    assert!(ran.err.contains(&says), "{there}: {}", ran.err);
}
