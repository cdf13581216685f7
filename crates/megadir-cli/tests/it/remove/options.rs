//! Options of `remove`: the effect of each, and conflicts.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use megadir_testkit::require;

use crate::support::{Ran, by_std, fill, finish, have, named, program, run, scratch, shell};

/// Asserts success; returns the messages.
#[track_caller]
fn done(ran: &Ran) -> &str {
    assert_eq!((ran.code, ran.out.as_slice()), (Some(0), &b""[..]), "{ran:?}");
    &ran.err
}

#[test]
fn named_trees_files_and_links_are_removed_and_nothing_else() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/a/b/", "t/a/f", "t/g", "file", "-rf", "outside/", "outside/f"]);
    symlink("../../outside", at.join("t/a/link")).unwrap();
    symlink("outside", at.join("link")).unwrap();
    symlink("nowhere", at.join("dangling")).unwrap();
    let ran = run(at, &["remove", "--yes", "t/", "file", "link", "dangling", "--", "-rf"]);
    assert!(done(&ran).starts_with("megadir: removed 10 entries (3 directories), in "), "{ran:?}");
    assert_eq!(by_std(at), named(&["outside"]));
    assert_eq!(by_std(&at.join("outside")), named(&["f"]));
}

#[test]
fn a_dry_run_counts_and_touches_nothing() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/a/b/", "t/a/f", "t/g"]);
    std::fs::write(at.join("t/big"), vec![1; 10_000]).unwrap();
    std::fs::hard_link(at.join("t/g"), at.join("other")).unwrap();
    let before = times(at);
    let ran = run(at, &["remove", "--dry-run", "--rate", "2/s", "t"]);
    let summary = String::from_utf8(ran.quiet()).unwrap();
    assert!(summary.starts_with("would remove 6 entries (3 directories), "), "{summary}");
    assert!(summary.ends_with(" on disk (excluding 1 with other links), in at least 3.00 s\n"), "{summary}");
    let ran = run(at, &["remove", "--dry-run", "--json", "--yes", "--contents", "t"]);
    let result: serde_json::Value = serde_json::from_slice(&ran.quiet()).unwrap();
    assert_eq!((&result["v"], &result["dry_run"], &result["removed"]), (&1.into(), &true.into(), &5.into()));
    assert!(result["bytes"].as_u64().unwrap() >= 10_000, "{result}");
    assert_eq!(times(at), before);
}

#[test]
fn paths_in_each_other_are_counted_and_removed_once() {
    let orders: [&[&str]; 6] = [
        &["a", "a/b"],
        &["a/b", "a"],
        &["a", "a"],
        &["to-a/b", "a", "./a/c/../b/f", "a/b/"],
        &["a", "to-a/b/f", "to-a/c"],
        &["a/b/f", "a/c/f", "a/c", "a"],
    ];
    for (paths, is_listed) in orders.iter().flat_map(|paths| [(paths, false), (paths, true)]) {
        let scratch = scratch();
        let at = scratch.path();
        fill(at, &["a/b/", "a/b/f", "a/c/"]);
        std::fs::hard_link(at.join("a/b/f"), at.join("a/c/f")).unwrap();
        symlink("a", at.join("to-a")).unwrap();
        // Links on the way are refused in a list.
        let paths: Vec<&str> =
            paths.iter().copied().filter(|path| !is_listed || !path.starts_with("to-a")).collect();
        let list: String = paths.iter().map(|path| format!("{path}\0")).collect();
        std::fs::write(at.join("list"), list).unwrap();
        let which: &[&str] = if is_listed { &["--files0-from", "list"] } else { &paths };
        let ran = run(at, &[&["remove", "--dry-run"], which].concat());
        let line = String::from_utf8(ran.quiet()).unwrap();
        assert!(line.starts_with("would remove 5 entries (3 directories), "), "{which:?}: {line}");
        assert!(!line.contains("other links"), "{which:?}: {line}");
        let ran = run(at, &[&["remove", "--yes", "--log", "log"], which].concat());
        assert!(
            done(&ran).starts_with("megadir: removed 5 entries (3 directories), in "),
            "{which:?}: {ran:?}"
        );
        assert_eq!(by_std(at), named(&["list", "log", "to-a"]));
        assert_eq!(std::fs::read_to_string(at.join("log")).unwrap().lines().count(), 5, "{which:?}");
    }
}

#[test]
fn a_path_in_another_is_no_error_if_the_run_has_emptied_it() {
    for option in ["--contents", "--detach", "--match=[bf]"] {
        let scratch = scratch();
        let at = scratch.path();
        fill(at, &["a/b/", "a/b/f"]);
        let dry = run(at, &["remove", "--dry-run", option, "a", "a/b"]);
        let entries = if option == "--detach" { 3 } else { 2 };
        let line = String::from_utf8(dry.quiet()).unwrap();
        assert!(line.starts_with(&format!("would remove {entries} entries ")), "{option}: {line}");
        let ran = run(at, &["remove", "--yes", option, "a", "a/b"]);
        assert!(done(&ran).starts_with(&format!("megadir: removed {entries} entries ")), "{option}: {ran:?}");
    }
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["a/b/", "a/b/f"]);
    // What never existed is an error.
    let ran = run(at, &["remove", "--yes", "a", "a/x", "x"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("'x'") && ran.err.contains("removed 3 entries"), "{ran:?}");
}

#[test]
fn matching_directories_with_other_entries_come_with_the_line_that_removes_them() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["w/", "w/p1/node_modules/a/node_modules/", "w/p1/node_modules/a/i.js", "w/p2/node_modules/"]);
    fill(at, &["w/p2/keep", "w/p2/node_modules/b"]);
    let tip = "megadir: 2 directories with a matching name still hold other entries; to remove all of it (--yes instead of \
               --dry-run):\n  megadir list -r -0 --type d --match='node_modules' -- 'w' | megadir remove --dry-run --files0-from -\n";
    let dry = run(at, &["remove", "--dry-run", "--match", "node_modules", "w"]);
    let line = String::from_utf8(dry.out.clone()).unwrap();
    // The one without entries goes.
    assert!(line.starts_with("would remove 1 entry (1 directory)") && dry.err == tip, "{dry:?}");
    let ran = run(at, &["remove", "--yes", "--match", "node_modules", "w"]);
    assert!(ran.code == Some(0) && ran.err.ends_with(tip), "{ran:?}");
    assert!(done(&run(at, &["remove", "--yes", "--quiet", "--match", "node_modules", "w"])).is_empty());
    let line = tip.lines().nth(1).unwrap().replace("megadir ", "$M ").replace("--dry-run", "--yes");
    let removed = shell(at, &line);
    assert!(done(&removed).starts_with("megadir: removed 5 entries (3 directories), in "), "{removed:?}");
    assert_eq!(by_std(&at.join("w/p2")), named(&["keep"]));
    // What is excluded would go too, and a shell could read such a name as commands.
    fill(at, &["o'/", "o'/x.d/", "o'/x.d/keep"]);
    for words in [&["--exclude", "keep", "o'"][..], &["o'"]] {
        let dry = run(at, &[&["remove", "--dry-run", "--match", "*.d"], words].concat());
        assert!(dry.code == Some(0) && !dry.err.contains("list -r"), "{dry:?}");
    }
    std::fs::remove_dir_all(at.join("o'")).unwrap();
    // Conditions on attributes select entries, not trees.
    let aged = run(at, &["remove", "--dry-run", "--match", "p*", "--newer-than", "1d", "w"]);
    assert_eq!(aged.err, "", "{aged:?}");
}

/// Change times of directories and files below a path.
fn times(at: &std::path::Path) -> Vec<std::time::SystemTime> {
    ["", "t", "t/a", "t/a/b", "t/a/f", "t/g", "t/big"]
        .map(|name| at.join(name).metadata().unwrap().modified().unwrap())
        .to_vec()
}

#[test]
fn contents_keep_the_directory() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/a/b/", "u/", "t/f", "u/g"]);
    let inode = |name: &str| std::os::unix::fs::MetadataExt::ino(&at.join(name).metadata().unwrap());
    let before = [inode("t"), inode("u")];
    let ran = run(at, &["remove", "--yes", "--contents", "t", "u/"]);
    assert!(done(&ran).starts_with("megadir: removed 4 entries (2 directories)"), "{ran:?}");
    assert_eq!([inode("t"), inode("u")], before);
    assert!(by_std(&at.join("t")).is_empty() && by_std(&at.join("u")).is_empty());
}

#[test]
fn json_has_removals_and_failures() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/f"]);
    let ran = run(at, &["remove", "--yes", "--json", "t", "no\nne"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.err, "megadir: remove 'no\\nne': No such file or directory\n");
    let result: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    let of = |key: &str| result[key].clone();
    assert_eq!(
        [of("v"), of("removed"), of("directories"), of("failures")],
        [1, 2, 1, 1].map(serde_json::Value::from)
    );
    assert_eq!([of("bytes"), of("linked")], [const { serde_json::Value::Null }; 2]);
    assert_eq!([of("dry_run"), of("interrupted")], [false, false].map(serde_json::Value::from));
    assert!(result["elapsed_s"].as_f64().unwrap() > 0.0);
    assert_eq!(result["failed"][0]["path"], "no\nne", "{result}");
    assert_eq!(result["failed"][0]["reason"], "remove: No such file or directory", "{result}");
}

#[test]
fn a_rate_is_kept() {
    let scratch = scratch();
    let at = scratch.path();
    let names: Vec<String> = (0..60).map(|index| format!("t/{index}")).collect();
    fill(at, &["t/"]);
    fill(at, &names.iter().map(String::as_str).collect::<Vec<_>>());
    let started = Instant::now();
    done(&run(at, &["remove", "--yes", "--rate", "100/s", "t"]));
    // 61 entries; the first few may be removed at once.
    assert!(started.elapsed() > Duration::from_millis(350), "{:?}", started.elapsed());
    assert!(!at.join("t").exists());
    // The rate applies to all paths of a list together.
    fill(at, &["t/"]);
    fill(at, &names.iter().map(String::as_str).collect::<Vec<_>>());
    std::fs::write(at.join("list"), names.iter().flat_map(|name| [name.as_str(), "\0"]).collect::<String>())
        .unwrap();
    let started = Instant::now();
    done(&run(at, &["remove", "--yes", "--rate", "100/s", "--files0-from", "list"]));
    assert!(started.elapsed() > Duration::from_millis(350), "{:?}", started.elapsed());
    assert!(by_std(&at.join("t")).is_empty());
}

#[test]
fn idle_sets_the_io_priority() {
    require!(have("strace"));
    let scratch = scratch();
    fill(scratch.path(), &["t/", "t/f"]);
    let log = scratch.path().join("log");
    let mut command = std::process::Command::new("strace");
    command.args(["-f", "-e", "trace=ioprio_set,unlinkat", "-o"]).arg(&log).arg(program());
    command.args(["remove", "--yes", "--idle", "t"]).current_dir(scratch.path());
    done(&finish(&mut command));
    let log = std::fs::read_to_string(log).unwrap();
    let (idle, first) =
        (log.find("ioprio_set(IOPRIO_WHO_PROCESS, 0, ").unwrap(), log.find("unlinkat(").unwrap());
    assert!(log[idle..first].contains("IOPRIO_CLASS_IDLE") && log[idle..first].contains("= 0\n"), "{log}");
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/f"]);
    for (options, words) in [
        (&["t", "--files0-from", "list"][..], &["cannot be used with"][..]),
        (&[], &["required arguments were not provided"]),
        (&["t", "--one-file-system", "--cross-mounts"], &["cannot be used with"]),
        (&["t", "--contents", "--match", "*"], &["--contents", "redundant with"]),
        (&["t", "--contents", "--older-than", "1d"], &["--contents", "redundant with"]),
        (&["t", "--contents", "--type", "f"], &["--contents", "redundant with"]),
        (&["t", "--type", "unknown"], &["--type unknown"]),
        (&["t", "--type", "flie"], &["flie"]),
        (&["t", "--older-than", "30"], &["not a length of time"]),
        (&["t", "--older-than", "1M"], &["not a length of time"]),
        (&["t", "--rate", "0"], &["--rate", "entries per second"]),
        (&["t", "--rate", "5/min"], &["--rate", "entries per second"]),
        (&["t", "--threads", "0"], &["1 to 256"]),
        (&["t", "--match", "a/b"], &["--match", "'/'"]),
        (&["t", "--match", "["], &["--match"]),
    ] {
        let words_of_command: Vec<&str> = ["remove", "--yes"].iter().chain(options).copied().collect();
        run(at, &words_of_command).complains(2, words);
        assert!(at.join("t/f").exists(), "{options:?}");
    }
}

#[test]
fn one_thread_and_many_remove_the_same() {
    let scratch = scratch();
    let at = scratch.path();
    for threads in ["1", "2", "7", "256"] {
        for index in 0..40 {
            fill(at, &[&format!("t/{index}/x/"), &format!("t/{index}/f"), &format!("t/{index}/x/g")]);
        }
        let ran = run(at, &["remove", "--yes", "--threads", threads, "t"]);
        assert!(done(&ran).starts_with("megadir: removed 161 entries (81 directories)"), "{ran:?}");
        assert!(by_std(at).is_empty());
    }
}

#[test]
fn few_descriptors_are_enough() {
    let scratch = scratch();
    let at = scratch.path();
    let deep: String = "d/".repeat(200);
    fill(at, &[&format!("t/{deep}")]);
    let many: Vec<String> = (0..300).map(|index| format!("p/{index}/f")).collect();
    for index in 0..300 {
        fill(at, &[&format!("p/{index}/")]);
    }
    fill(at, &many.iter().map(String::as_str).collect::<Vec<_>>());
    let mut command = std::process::Command::new("prlimit");
    require!(have("prlimit"));
    // Paths in 300 directories, all opened.
    command.arg("--nofile=24").arg(program()).args(["remove", "--yes", "t"]).args(&many).current_dir(at);
    done(&finish(&mut command));
    assert!(!at.join("t").exists() && many.iter().all(|path| !at.join(path).exists()));
}
