//! Conditions: the same in every command, and as an independent evaluation in Python says.

use megadir_testkit::require;

use crate::support::{fill, have, named, program, run, scratch, set, shell};

#[test]
fn every_command_selects_the_same_entries_as_the_oracle() {
    require!(have("python3"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/conditions/oracle.py");
    for seed in 0..12 {
        let scratch = scratch();
        let ran = std::process::Command::new("python3")
            .args([script, program().to_str().unwrap(), scratch.path().to_str().unwrap(), &seed.to_string()])
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
}

#[test]
fn dates_and_reference_files_select_the_same_entries_as_find() {
    require!(have("find"));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/d/"]);
    let files = [
        ("before", "2026-10-31 23:59:59.999999999 -0400"),
        ("begins", "2026-11-01 00:00:00.000000001 -0400"),
        ("d/reference", "2026-11-01 12:30:00.123456789 -0500"),
        ("d/after", "2026-11-01 12:30:00.12345679 -0500"),
        ("twin", "2026-11-01 12:30:00.123456789 -0500"),
        // Clocks were set back at two o'clock: the hour from one to two is there twice.
        ("winter", "2026-11-01 12:31:00 -0500"),
    ];
    for (name, time) in files {
        let line = format!("touch -d '{time}' t/{name}");
        assert_eq!(shell(at, &line).code, Some(0), "{line}");
    }
    let count = |line: &str| {
        let ran = shell(at, &format!("TZ=America/New_York {line}"));
        assert!(ran.code == Some(0) && ran.err.is_empty(), "{line}: {ran:?}");
        set(ran
            .out
            .split(|byte| *byte == b'\n')
            .filter(|name| !name.is_empty())
            .map(<[u8]>::to_vec)
            .collect())
    };
    for (ours, of_find) in [
        ("--newer-than t/d/reference", "-newer t/d/reference"),
        ("--older-than t/d/reference", "! -newer t/d/reference ! -name reference ! -name twin"),
        ("--newer-than 2026-11-01", "-newermt 2026-11-01"),
        ("--older-than 2026-11-01", "! -newermt 2026-11-01"),
        ("--newer-than 2026-11-01T12:30", "-newermt '2026-11-01 12:30'"),
        ("--newer-than '2026-11-01 12:30:30'", "-newermt '2026-11-01 12:30:30'"),
        ("--newer-than 2026-11-01T16:31:00Z", "-newermt '2026-11-01 16:31:00Z'"),
    ] {
        let found = count(&format!("find t -type f {of_find}"));
        assert!((1..6).contains(&found.len()), "{of_find}: {found:?}");
        assert_eq!(count(&format!("$M list -r --type f {ours} t")), found, "{ours}");
    }
    // One o'clock is there twice: times between are neither older nor newer.
    assert_eq!(shell(at, "touch -d '2026-11-01 01:30:00 -0400' t/twice").code, Some(0));
    for option in ["--older-than", "--newer-than"] {
        let found = count(&format!("$M list -r --type f {option} 2026-11-01T01:15 t"));
        assert!(!found.contains(b"t/twice".as_slice()) && !found.is_empty(), "{option}: {found:?}");
    }
    std::fs::remove_file(at.join("t/twice")).unwrap();
    let times =
        shell(at, "TZ=America/New_York $M list --time-style local --fields mtime,name t/d --sort name");
    let expected =
        "2026-11-01T12:30:00.123456790-05:00\tafter\n2026-11-01T12:30:00.123456789-05:00\treference\n";
    assert_eq!(String::from_utf8(times.out).unwrap().replace("  ", "\t"), expected);
    run(at, &["remove", "--older-than", "none", "t"]).complains(2, &["no file 'none'", "30d", "2026-11-01"]);
    run(at, &["remove", "--older-than", "30", "t"]).complains(2, &["'30'", "30d", "2026-11-01"]);
}

/// The same help in every command, so that the same words have the same meaning.
#[test]
fn the_options_are_described_alike() {
    let scratch = scratch();
    let about = |command: &str, option: &str| {
        let help = String::from_utf8(run(scratch.path(), &[command, "--help"]).quiet()).unwrap();
        let start = help.find(&format!("--{option} <")).unwrap_or_else(|| panic!("{command}: no {option}"));
        let lines = help[start..].lines();
        // The description is indented by ten columns.
        let text = lines.skip(1).take_while(|line| line.is_empty() || line.starts_with("          "));
        text.collect::<Vec<_>>().join("\n").trim_end().to_owned()
    };
    for option in ["exclude", "path-match", "max-depth", "older-than", "newer-than", "by", "owner"] {
        let first = about("list", option);
        for command in ["scan", "changes", "usage", "remove"] {
            assert!(first.len() > 30);
            assert_eq!(about(command, option), first, "{command} --{option}");
        }
    }
}

/// Inventory of a version that recorded no access times.
const OLD: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../megadir-inventory/tests/data/before-atime.parquet");

#[test]
fn conditions_without_a_meaning_are_refused_in_one_line() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/a", "t/d/", "t/d/b"]);
    run(at, &["scan", "--quiet", "--output", "all.parquet", "t"]).quiet();
    run(at, &["scan", "--quiet", "--output", "some.parquet", "--exclude", "d", "t"]).quiet();
    run(at, &["scan", "--quiet", "--output", "new.parquet", "--newer-than", "1d", "t"]).quiet();
    run(at, &["list", "--older-than", "5d", "--newer-than", "all.parquet", "t"]).quiet();
    let cases: [(&[&str], &[&str]); 24] = [
        (
            &["remove", "--older-than", "10d", "--newer-than", "5d", "t"],
            &["no entry is that old and that new"],
        ),
        (
            &["list", "-r", "--larger-than", "5M", "--smaller-than", "1M", "t"],
            &["no entry is that large and"],
        ),
        (&["list", "--by", "atime", "t"], &["--by needs --older-than or --newer-than"]),
        (&["list", "--max-depth", "1", "t"], &["--max-depth needs --recursive"]),
        (&["list", "-r", "--max-depth", "0", "t"], &["--max-depth", "level 1"]),
        (&["list", "--reverse", "t"], &["--reverse needs --sort"]),
        (&["list", "--older-than", "1d", "--by", "mtme", "t"], &["mtime"]),
        (&["scan", "--dry-run", "--path-match", "a/", "t"], &["--path-match 'a/'", "no path ends"]),
        (&["scan", "--dry-run", "--exclude", "../a", "t"], &["--exclude '../a'", "'..'"]),
        (&["remove", "--exclude", "t/d", "t"], &["--exclude 't/d'", "begin below 't'", "write '/d'"]),
        (&["remove", "--path-match", "t/*", "./x", "t/"], &["--path-match 't/*'", "write '/*'"]),
        (&["changes", "all.parquet", "--update", "--exclude", "d"], &["--exclude", "--update"]),
        (&["changes", "some.parquet", "--update"], &["made with conditions", "megadir scan"]),
        (&["changes", "new.parquet"], &["conditions on time, size or owner", "count as added"]),
        (&["changes", OLD, "--older-than", "1d", "--by", "atime"], &["no access times", "scan again"]),
        (&["remove", "--type", "unknown", "t"], &["--type unknown"]),
        (&["list", "-r", "--by", "entries", "t"], &["'entries'", "ctime"]),
        (&["usage", "--by", "atime", "t"], &["--by needs --older-than or --newer-than"]),
        (&["usage", "--by", "newst", "t"], &["'newst'", "newest"]),
        (&["usage", "--by", "newest", "--by", "oldest", "t"], &["--by newest and --by oldest", "one figure"]),
        (&["usage", "--by", "newest", "--sort", "entries", "t"], &["--sort entries --by newest"]),
        (&["usage", "--older-than", "1d", "--by", "atime", OLD], &["no access times", "scan again"]),
        (&["usage", "--exclude", "t/d", "t"], &["--exclude 't/d'", "write '/d'"]),
        (
            &["list", "--stat-backend", "fstatat", "--older-than", "1d", "--by", "btime", "t"],
            &["never returns btime"],
        ),
    ];
    for (arguments, words) in cases {
        let ran = run(at, arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        for word in words {
            assert!(ran.err.contains(word), "{arguments:?}: nothing about {word:?} in {:?}", ran.err);
        }
        assert!(at.join("t/d/b").exists(), "{arguments:?}");
    }
}

#[test]
fn an_excluded_directory_is_not_opened_by_any_command() {
    require!(have("strace"));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/a", "t/secret/", "t/secret/below/", "t/secret/below/x", "t/d/", "t/d/secret/"]);
    run(at, &["scan", "--quiet", "--output", "all.parquet", "t"]).quiet();
    for arguments in [
        &["list", "-r", "t"][..],
        &["scan", "--dry-run", "t"],
        &["changes", "--list-all", "all.parquet"],
        &["usage", "t"],
        &["remove", "--dry-run", "t"],
        &["remove", "--yes", "--quiet", "t"],
    ] {
        let trace = at.join("trace");
        let mut command = std::process::Command::new("strace");
        command.args(["-f", "-qq", "-e", "trace=openat,openat2,open", "-o"]).arg(&trace).arg(program());
        let ran =
            crate::support::finish(command.args(arguments).args(["--exclude", "secret"]).current_dir(at));
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        let opened = std::fs::read_to_string(&trace).unwrap();
        assert!(opened.contains("\"t\"") || opened.contains("/t\""), "{arguments:?}: {opened}");
        assert!(!opened.contains("secret"), "{arguments:?}: {opened}");
        assert!(at.join("t/secret/below/x").exists() && at.join("t/d/secret").exists(), "{arguments:?}");
    }
    assert!(!at.join("t/a").exists(), "entries that are not excluded went");
}

#[test]
fn a_path_that_is_named_and_excluded_stays() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["keep1", "keep2/", "keep2/x", "go1", "go2/", "go2/x", "go2/keep3/", "go2/keep3/y"]);
    let names = ["keep1", "keep2", "go1", "go2"];
    let arguments = [&["remove", "--yes", "--quiet", "--exclude", "keep*"][..], &names].concat();
    run(at, &arguments).quiet();
    let left = run(at, &["list", "-r", "--sort", "name", "."]).lines();
    assert_eq!(
        set(left),
        named(&["./go2", "./go2/keep3", "./go2/keep3/y", "./keep1", "./keep2", "./keep2/x"])
    );
}

#[test]
fn the_best_entries_are_the_first_of_all_and_reversed_is_backwards() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/d/", "t/d/e/"]);
    for number in 0..300_u64 {
        let directory = ["t", "t/d", "t/d/e"][number as usize % 3];
        let file = at.join(directory).join(format!("f{number}"));
        std::fs::write(&file, vec![b'x'; (number * 7919 % 97) as usize]).unwrap();
    }
    for sort in ["name", "inode", "size", "allocated", "mtime", "atime"] {
        for long in [&["--fields", "size,name"][..], &[]] {
            let run = |more: &[&str]| {
                let arguments = [&["list", "-r", "--sort", sort][..], long, more, &["t"]].concat();
                run(at, &arguments).lines()
            };
            let all = run(&[]);
            let backwards: Vec<_> = all.iter().rev().cloned().collect();
            assert_eq!(all.len(), 302);
            assert_eq!(run(&["--reverse"]), backwards, "{sort}");
            assert_eq!(run(&["--reverse", "--memory", "1M"]), backwards, "{sort}");
            for count in [1, 7, 301, 400] {
                let first = &all[..count.min(all.len())];
                let count = count.to_string();
                assert_eq!(run(&["-n", &count]), first, "{sort} -n {count}");
                let last = &backwards[..first.len()];
                assert_eq!(run(&["-n", &count, "--reverse"]), last, "{sort} -n {count}");
                assert_eq!(run(&["-n", &count, "--memory", "1M"]), first, "{sort} -n {count}");
            }
        }
    }
}

#[test]
fn new_fields_match_stat() {
    require!(have("stat"));
    let scratch = scratch();
    let at = scratch.path();
    std::fs::write(at.join("file"), vec![1; 10_000]).unwrap();
    std::fs::File::open(at.join("file")).unwrap().sync_all().unwrap();
    let fields = ["list", "--fields", "allocated,atime,rdev,name", "--time-style", "epoch", "file"];
    let ours = String::from_utf8(run(at, &fields).quiet()).unwrap();
    let theirs =
        std::process::Command::new("stat").args(["-c", "%b %.9X"]).arg(at.join("file")).output().unwrap();
    let theirs = String::from_utf8(theirs.stdout).unwrap();
    let (blocks, accessed) = theirs.trim().split_once(' ').unwrap();
    let allocated = blocks.parse::<u64>().unwrap() * 512;
    assert_eq!(ours, format!("{allocated}\t{accessed}\t\tfile\n"));
    let null = run("/dev".as_ref(), &["list", "--fields", "rdev,name", "null"]).quiet();
    assert_eq!(null, b"1:3\tnull\n");
}

/// `remove --exclude "$KEEP"` with an unset variable would otherwise remove what was to be kept.
#[test]
fn a_glob_that_no_entry_can_match_is_refused_before_anything_happens() {
    let scratch = scratch();
    std::fs::create_dir(scratch.path().join("d")).unwrap();
    fill(&scratch.path().join("d"), &["keep"]);
    for option in ["--exclude", "--match", "--path-match"] {
        for command in [&["remove", "--yes"][..], &["list"], &["usage"], &["scan", "--csv"]] {
            for glob in ["", "{,}"] {
                let ran = run(scratch.path(), &[command, &[option, glob, "d"]].concat());
                ran.complains(2, &[option, "empty glob", "variable unset"]);
            }
            for glob in [".", ".."] {
                run(scratch.path(), &[command, &[option, glob, "d"]].concat()).complains(2, &[option, glob]);
            }
        }
    }
    for glob in ["", ".", ".."] {
        let words = ["reshard", "--yes", "--to", "digest:1", "--exclude", glob, "d"];
        run(scratch.path(), &words).complains(2, &["--exclude", glob]);
    }
    assert!(scratch.path().join("d/keep").exists());
}
