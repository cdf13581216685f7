//! Words that people type first, from `ls`, `find`, `du` and `rm`: one line says what to write instead.

use megadir_testkit::require;

use crate::support::{fill, have, run, scratch, shell};

#[test]
fn words_of_other_programs_lead_to_the_command() {
    let scratch = scratch();
    fill(scratch.path(), &["spool/", "du/"]);
    for (word, instead) in [
        ("du", "'megadir usage DIR'"),
        ("find", "'megadir list --recursive DIR'"),
        ("df", "'megadir limits DIR'"),
        ("stat", "'megadir list -l DIR'"),
        ("diff", "'megadir compare A B' for two directories"),
        ("status", "'megadir changes FILE.parquet'"),
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
    // A directory that was given is in the line; `/` and what a shell reads otherwise are not.
    for (words, instead) in [
        (&["du", "-sh", "spool"][..], "'megadir usage spool'"),
        (&["rm", "-rf", "spool"], "'megadir remove spool'"),
        (&["rm", "-rf", "/"], "'megadir remove PATH'"),
        (&["rm", "-rf", "//"], "'megadir remove PATH'"),
        (&["rm", "spool/.."], "'megadir remove PATH'"),
        (&["purge", "--exclude", "spool", "du"], "'megadir remove --older-than 30d DIR'"),
        (&["du", "missing"], "'megadir usage DIR'"),
    ] {
        run(scratch.path(), words).complains(2, &[instead]);
    }
    run(scratch.path(), &["bench", "run", "listing", "--time", "5s"])
        .complains(2, &["--quick", "--rounds N"]);
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
        (&["--mtime", "+30"], "write --older-than 31d"),
        (&["-mtime", "-7"], "write --newer-than 7d"),
        (&["-mtime", "5"], "write --older-than 5d --newer-than 6d"),
        (&["-mmin", "+5"], "write --older-than 5m"),
        (&["-atime", "+5"], "write --older-than 6d --by atime"),
        (&["-mtime", "soon"], "write --older-than 30d or --newer-than 30d"),
        (&["--size", "+1M"], "write --larger-than 1M"),
        (&["-size", "-100c"], "write --smaller-than 100"),
        (&["-size", "7"], "write --larger-than 3072 --smaller-than 3585"),
        (&["-size", "7x"], "write --larger-than SIZE or --smaller-than SIZE"),
        (&["-type", "d"], "write --type d"),
        (&["-iname", "*.Log"], "write --match '*.[lL][oO][gG]'"),
        (&["-newer", "2stamp"], "write --newer-than './2stamp'"),
        (&["-L"], "symbolic links are never followed"),
        (&["-maxdepth", "2"], "write --max-depth 2"),
        (&["-print0"], "write -0"),
        (&["-delete"], "'megadir remove'"),
    ] {
        for command in ["list", "usage", "remove", "changes"] {
            let ran = run(scratch.path(), &[&[command, "."], words].concat());
            ran.complains(2, &[instead, &format!("{command} has no ")]);
        }
    }
    // `find` enters directories.
    run(scratch.path(), &["list", ".", "-name", "x"]).complains(2, &["write --match 'x' --recursive\n"]);
    run(scratch.path(), &["list", "-r", ".", "-name", "x"]).complains(2, &["write --match 'x'\n"]);
    run(scratch.path(), &["list", ".", "-maxdepth", "1"]).complains(2, &["without --recursive, one level"]);
    // What megadir has keeps its own message.
    run(scratch.path(), &["list", "--type", "x"]).complains(2, &["--type", "expected one of"]);
    run(scratch.path(), &["list", "--older-than", "+30"]).complains(2, &["--older-than", "30d"]);
}

/// A line with a part of the conditions would remove what the other part was to keep.
#[test]
fn no_word_of_find_is_left_out_of_the_hint() {
    let scratch = scratch();
    fill(scratch.path(), &["d/", "d/roup", "d/id", "d/keep", "staff/"]);
    for (words, parts) in [
        (
            &["-name", "*.log", "-mtime", "+30", "-delete"][..],
            &["--match '*.log' --older-than 31d ", "megadir remove"][..],
        ),
        (
            &["!", "-name", "keep"],
            &["has no ! -name", "--exclude 'keep'", "left out with everything below it"],
        ),
        (&["-type", "f", "-not", "-name", "keep"], &["--type f --exclude 'keep'"]),
        (&["!", "-mtime", "+3"], &["has no ! -mtime: conditions cannot be negated"]),
        (
            &["-name", "a", "-o", "-name", "b"],
            &["--match 'a' --match 'b'", "-o: only globs are alternatives"],
        ),
        (
            &["-name", "a", "-links", "+2"],
            &["has no -name, -links; write --match 'a'", "-links: no condition does this"],
        ),
        (&["-name", "a", "-empty"], &["--match 'a' --smaller-than 1 --type file"]),
        (
            &["-name", "a", "-exec", "rm", "-name", "{}", ";", "-print"],
            &[
                "no -name, -exec, -print; write --match 'a'",
                "-exec: pipe the list, as 'megadir list -r -0 DIR",
            ],
        ),
        (
            &["-ok", "rm", "{}", ";"],
            &["has no -ok: pipe the list, as 'megadir list -r -0 DIR | xargs -0 -p "],
        ),
        (&["-perm", "644"], &["has no -perm: ", "--fields mode,name"]),
        (&["-newermt", "2026-01-01", "-user", "bob"], &["--newer-than DATE", "--owner bob"]),
    ] {
        for command in ["list", "usage", "remove", "changes"] {
            run(scratch.path(), &[&[command, "d"], words].concat()).complains(2, parts);
        }
    }
    // The parser takes these for the globs `roup` and `id`.
    for words in [&["-group", "staff"][..], &["-gid", "50"], &["--group", "staff"]] {
        for command in [&["list"][..], &["usage"], &["remove", "--yes"], &["scan", "--csv"]] {
            run(scratch.path(), &[command, words, &["d"]].concat()).complains(2, &["--fields group,name"]);
        }
    }
    assert!(["roup", "id", "keep"].iter().all(|name| scratch.path().join("d").join(name).exists()));
    assert_eq!(run(scratch.path(), &["list", "-g", "roup", "d"]).quiet(), b"roup\n");
    assert_eq!(run(scratch.path(), &["list", "d", "-group*"]).quiet(), b"roup\n");
}

/// Ages and sizes are chosen around the limits, where `find` rounds.
#[test]
fn options_for_words_of_find_select_the_same_files() {
    require!(have("find"));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["d/"]);
    let now = std::time::SystemTime::now();
    for size in [0, 1, 511, 512, 513, 1023, 1024, 1025, 2048, 2049, 1 << 20, (1 << 20) + 1] {
        let file = std::fs::File::create(at.join(format!("d/size-{size}"))).unwrap();
        file.set_len(size).unwrap();
        // Ages have whole seconds: what was modified in this one is not older than `0m` yet, for find it is.
        file.set_modified(now - std::time::Duration::from_secs(2)).unwrap();
    }
    for minutes in [3, 4, 5, 6, 24 * 60, 2 * 24 * 60, 3 * 24 * 60, 4 * 24 * 60] {
        for (name, seconds) in [("before", minutes * 60 - 40), ("after", minutes * 60 + 40)] {
            let file = std::fs::File::create(at.join(format!("d/age-{minutes}-{name}"))).unwrap();
            file.set_modified(now - std::time::Duration::from_secs(seconds)).unwrap();
        }
    }
    let lines = |out: &[u8]| {
        let mut lines: Vec<String> = String::from_utf8_lossy(out).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let mut selective = 0;
    for word in ["mtime", "mmin", "size"] {
        let units = if word == "size" { &["", "b", "c", "w", "k", "M"][..] } else { &[""] };
        for (sign, number, unit) in ["+", "-", ""].iter().flat_map(|sign| {
            (1..5).flat_map(move |number| units.iter().map(move |unit| (sign, number, unit)))
        }) {
            let value = format!("{sign}{number}{unit}");
            let found = shell(at, &format!("find d -type f -{word} {value} -printf '%f\\n'"));
            let hint = run(at, &["list", "d", &format!("-{word}"), &value, "-maxdepth", "1"]);
            let options = hint.err.split_once("; write ").unwrap().1.trim();
            let selected = shell(at, &format!("$M list --type f {options} d"));
            assert_eq!(
                (selected.code, lines(&selected.out)),
                (Some(0), lines(&found.out)),
                "{word} {value}: {options}"
            );
            selective += usize::from(!found.out.is_empty());
        }
    }
    assert!(selective > 40, "{selective}");
}

#[test]
fn files_of_list_and_times_to_sort_by_get_hints() {
    let scratch = scratch();
    fill(scratch.path(), &["d/", "d/f"]);
    for words in [&["--parquet"][..], &["-o", "x.parquet"], &["--output", "x.parquet"], &["--output=x.csv"]] {
        let ran = run(scratch.path(), &[&["list", "d"], words].concat());
        ran.complains(2, &["'megadir scan DIR --output FILE.parquet'", "'megadir list --json DIR > FILE'"]);
    }
    assert!(!scratch.path().join("x.parquet").exists());
    for words in [&["--sort", "time"][..], &["--sort=date"], &["--sort", "modified"], &["--sort", "newest"]] {
        run(scratch.path(), &[&["list", "d"], words].concat()).complains(2, &["write --sort mtime"]);
    }
    run(scratch.path(), &["list", "d", "--sort", "colour"]).complains(2, &["possible values"]);
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
fn options_of_neighbours_get_hints() {
    let scratch = scratch();
    fill(scratch.path(), &["d/", "d/f"]);
    for (words, instead) in [
        (&["list", "-lS", "d"][..], "write --sort size -l"),
        (&["usage", "-s", "d"], "--depth 0"),
        (&["usage", "-a", "d"], "'megadir list --recursive --sort size -l DIR'"),
        (&["limits", "--files", "10m", "d"], "'megadir advise DIR --files N'"),
        (&["limits", "--entries=10m", "d"], "'megadir advise DIR --files N'"),
        (&["bench", "commands", "--quick", "ls {dir}"], "write --rounds 6 --warm-up 1"),
        (&["usage", "--si", "d"], "--json and --csv print bytes"),
        (&["list", "--color=never", "d"], "list prints no colors"),
        (&["remove", "-i", "d"], "it asks once"),
        (&["list", "--sort", "-size", "d"], "--sort size;"),
        (&["usage", "--sort", "-entries", "d"], "--sort entries;"),
        (&["remove", "--older-than", "-5d", "d"], "--older-than takes no negative value: write 5d"),
        (&["make", "--entries", "-5", "new"], "--entries takes no negative value: write 5"),
        (&["list", "--older-than", "1month", "d"], "write days, such as 30d"),
        (&["reshard", "d"], "'megadir layout d'"),
        (&["remove", "--renew", "d"], "'megadir remove --contents --renew d'"),
    ] {
        run(scratch.path(), words).complains(2, &[instead]);
    }
    // What the hints say to type, and words of the tables.
    for words in [
        &["usage", "--sort", "size", "d"][..],
        &["usage", "--sort", "mtime", "d"],
        &["advise", "d", "--files", "1e3", "--time", "0s"],
        &["list", "--sort", "size", "-l", "d"],
        &["usage", "--depth", "0", "d"],
        &["list", "--recursive", "--sort", "size", "-l", "d"],
        &["advise", "d", "--files", "3", "--time", "0s"],
    ] {
        run(scratch.path(), words).quiet();
    }
}

#[test]
fn a_line_of_find_is_answered_with_the_whole_line() {
    let scratch = scratch();
    fill(scratch.path(), &["spool/"]);
    for (words, instead) in [
        (
            &["find", "spool", "-mtime", "+30", "-type", "f"][..],
            "megadir list --recursive --older-than 31d --type f 'spool'",
        ),
        (&["find", "spool", "-maxdepth", "1", "-name", "*.log"], "megadir list --match '*.log' 'spool'"),
        (&["find", "-name", "x", "-delete"], "megadir remove --match 'x' '.', first with --dry-run"),
        // No option means the same.
        (&["find", "spool", "-perm", "644"], "'megadir list --recursive DIR'"),
        (&["find", "spool", "-name", "x", "-exec", "cat", "{}", ";"], "'megadir list --recursive DIR'"),
        (&["find", "spool", "!", "-user", "root"], "'megadir list --recursive DIR'"),
    ] {
        run(scratch.path(), words).complains(2, &[instead]);
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
    for (number, size) in [("--entries", "--size"), ("--files", "--sizes")] {
        for words in [
            &["make", "d", "--dry-run", number, "2k", size, "4KiB"][..],
            &["advise", "--time", "0s", number, "2k", size, "4KiB"],
            &["limits", size, "4KiB"],
            &["bench", "run", "smallfile", "--dry-run", "--quick", number, "2k", size, "4KiB"],
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
fn make_prompts_before_creating_millions_of_files() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    let needs = ["make", "d", "--entries", "10M", "--size", "100", "--layout", "prefix:1"];
    run(at, &needs).complains(
        2,
        &["create 10 000 000 files in 'd' (39G on disk of ", "10.0 M inodes", "no terminal", "--yes"],
    );
    assert!(!at.join("d").exists());
    let command = "(printf 'n\\n'; sleep 1) | script -qec '$M make d -n 10M --size 0' /dev/null";
    let ran = shell(at, command);
    let shown = String::from_utf8_lossy(&ran.out);
    assert!(shown.contains("create 10 000 000 files in 'd'") && shown.contains("[y/N]"), "{shown}");
    assert!(shown.contains("nothing was created") && !at.join("d").exists(), "{shown}");
    // Up to a million is not asked.
    run(at, &["make", "d", "--dry-run", "--entries", "10M", "--size", "0"]).quiet();
    let stopped = "$M make d -n 2M --size 0 --yes & pid=$!; until [ -e d ]; do sleep 0.02; done; sleep 0.3; kill -INT $pid; wait $pid";
    let ran = shell(at, stopped);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let there = std::fs::read_dir(at.join("d")).unwrap().count();
    let expected = format!("interrupted: 'd' has {there} of 2000000 files; run the same command to continue");
    assert!(ran.err.contains(&expected), "{there}: {}", ran.err);
}
