//! The confirmation: when it appears, its text, and that nothing is removed without a yes.

use std::path::Path;

use megadir_testkit::require;

use crate::support::{fill, have, run, scratch, shell};

/// Runs the program with a terminal on all streams and `typed` as input; returns the exit code and the screen, a question as one line.
#[track_caller]
fn on_terminal(at: &Path, typed: &str, options: &str) -> (Option<i32>, String) {
    let line = format!("(printf '{typed}'; sleep 1) | script -qec \"$M remove {options}\" /dev/null");
    let ran = shell(at, &line);
    let shown = String::from_utf8(ran.out).unwrap().replace("\r\n", "\n");
    let question = shown.split_inclusive("[y/N]").filter(|text| text.ends_with("[y/N]"));
    let mut lines = question.flat_map(str::lines).filter(|line| !line.starts_with('\u{1b}'));
    assert!(lines.all(|line| line.chars().count() < 80), "{shown}");
    (ran.code, shown.replace("\n  ", " "))
}

fn filled(at: &Path, entries: usize) {
    fill(at, &["t/"]);
    for index in 0..entries {
        fill(at, &[&format!("t/{index}")]);
    }
}

#[test]
fn many_entries_are_removed_only_after_a_yes() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    filled(at, 1200);
    for no in ["n\\n", "\\n", "yo\\n", "\\004"] {
        let (code, shown) = on_terminal(at, no, "t");
        assert_eq!(code, Some(130), "{no}: {shown}");
        assert!(
            shown.contains("megadir: remove 't' (about ") && shown.contains(" entries)? [y/N] "),
            "{shown}"
        );
        assert!(shown.contains("megadir: nothing was removed\n"), "{shown}");
        assert_eq!(std::fs::read_dir(at.join("t")).unwrap().count(), 1200);
    }
    let (code, shown) = on_terminal(at, "y\\n", "t");
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("removed 1 201 entries (1 directory)"), "{shown}");
    assert!(!at.join("t").exists());
}

#[test]
fn the_question_has_the_entries_of_all_paths() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    for (directory, entries) in [("few", 10), ("a", 3000), ("b", 3000)] {
        fill(at, &[&format!("{directory}/")]);
        for index in 0..entries {
            std::fs::write(at.join(format!("{directory}/{index}")), "").unwrap();
        }
    }
    let about = |paths: &str| {
        let (code, shown) = on_terminal(at, "n\n", paths);
        assert_eq!(code, Some(130), "{shown}");
        let about = shown.split("(about ").nth(1).unwrap().split(" entries").next().unwrap();
        let digits: String = about.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u64>().unwrap()
    };
    for paths in ["few a b", "b a few"] {
        assert!((5000..7200).contains(&about(paths)), "{paths}: {}", about(paths));
    }
    assert!((2500..3600).contains(&about("a few")));
    assert_eq!(shell(at, "printf 'a\\0b\\0' > list").code, Some(0));
    let (code, shown) = on_terminal(at, "n\\n", "--files0-from list");
    assert_eq!(code, Some(130), "{shown}");
    assert!(shown.contains("the paths listed in 'list' (more than 1000 entries)?"), "{shown}");
}

#[test]
fn few_entries_are_removed_without_a_question() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    filled(at, 999);
    let (code, shown) = on_terminal(at, "", "t");
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("[y/N]") && !at.join("t").exists(), "{shown}");
    filled(at, 1100);
    fill(at, &["t/one.tmp"]);
    // Few of them match.
    let (code, shown) = on_terminal(at, "", "--match '*.tmp' t");
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("[y/N]") && shown.contains("removed 1 entry"), "{shown}");
    assert_eq!(std::fs::read_dir(at.join("t")).unwrap().count(), 1100);
    let (code, shown) = on_terminal(at, "n\\n", "--type f t");
    assert_eq!(code, Some(130), "{shown}");
    assert!(
        shown.contains(
            "remove 1 100 entries at and below 't' that meet --type=file, but not the directory itself? [y/N]"
        ),
        "{shown}"
    );
}

#[test]
fn a_list_is_counted_before_it_is_worked_on() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    filled(at, 1100);
    assert_eq!(shell(at, "find t -type f -print0 > list").code, Some(0));
    let (code, shown) = on_terminal(at, "n\\n", "--files0-from list");
    assert_eq!(code, Some(130), "{shown}");
    assert!(shown.contains("remove the paths listed in 'list' (more than 1000 entries)? [y/N]"), "{shown}");
    let (code, shown) = on_terminal(at, "y\\n", "--files0-from list");
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(std::fs::read_dir(at.join("t")).unwrap().count(), 0);
}

#[test]
fn files_that_are_named_are_judged_and_counted() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    filled(at, 1100);
    assert_eq!(shell(at, "find t -type f -print0 > list").code, Some(0));
    for (conditions, words) in [("--type f", "--type=file"), ("--match '[0-9]*'", "--match=[0-9]*")] {
        let (code, shown) = on_terminal(at, "n\\n", &format!("{conditions} --files0-from list"));
        assert_eq!(code, Some(130), "{shown}");
        assert!(
            shown.contains(&format!(
                "remove at least 1 001 entries at and below the paths listed in 'list' that meet {words}, \
                 but not the directories themselves? [y/N]"
            )),
            "{shown}"
        );
        assert_eq!(std::fs::read_dir(at.join("t")).unwrap().count(), 1100);
    }
    // No entry is that old, and few match.
    for conditions in ["--type f --older-than 30d", "--match '1?'"] {
        let (code, shown) = on_terminal(at, "", &format!("{conditions} --files0-from list"));
        assert_eq!(code, Some(0), "{shown}");
        assert!(!shown.contains("[y/N]"), "{shown}");
    }
    assert_eq!(std::fs::read_dir(at.join("t")).unwrap().count(), 1090);
}

#[test]
fn entries_put_aside_are_counted() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    filled(at, 1100);
    let mut slow = crate::support::megadir(at, &["remove", "--yes", "--rate", "1/s", "--detach", "t"])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while at.join("t").exists() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    slow.kill().unwrap();
    slow.wait().unwrap();
    for is_made_again in [false, true] {
        if is_made_again {
            fill(at, &["t/", "t/few"]);
        }
        let (code, shown) = on_terminal(at, "n\\n", "--detach t");
        assert_eq!(code, Some(130), "{shown}");
        assert!(shown.contains("megadir: remove 't' (") && shown.contains("[y/N] "), "{shown}");
        assert_eq!(at.join("t").exists(), is_made_again);
    }
    let (code, shown) = on_terminal(at, "y\\n", "--detach t");
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("nothing was removed") && !at.join("t").exists(), "{shown}");
}

/// With too few descriptors for the count, a removal must not start unasked.
#[test]
fn uncountable_directories_lead_to_a_question() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    filled(at, 1100);
    let limits = "for n in 4 5 6 7 8 9; do \
        { (printf 'n\\n'; sleep 1) | script -qec \"ulimit -n $n; $M remove t\" /dev/null > screen.$n; echo $? > code.$n; } & \
        done; wait";
    assert_eq!(shell(at, limits).code, Some(0));
    let mut questions = 0;
    for limit in 4..=9 {
        let read = |file: &str| std::fs::read_to_string(at.join(format!("{file}.{limit}"))).unwrap();
        let (code, screen) = (read("code"), read("screen").replace("\r\n  ", " "));
        questions += usize::from(
            screen.contains("remove 't' (an unknown number of entries, because counting failed: "),
        );
        // With very few descriptors the program does not even start.
        assert!(code.trim() != "0" && !screen.contains("megadir: removed"), "{limit}: {code} {screen}");
    }
    assert!(questions > 0, "none of the limits was one at which only counting fails");
    assert_eq!(std::fs::read_dir(at.join("t")).unwrap().count(), 1100);
}

#[test]
fn temporarily_unreadable_directory_leads_to_a_question() {
    require!(have("script").and_then(|()| have("strace")));
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/a/", "t/a/f"]);
    let strace = "strace -f -qq -o /dev/null";
    for (inject, options) in [
        ("getdents64:error=EIO:when=1", ""),
        // The second directory. One that cannot be opened for want of descriptors is opened later.
        ("openat2:error=EIO:when=1", ""),
        ("getdents64:error=EIO:when=1", "--type f"),
    ] {
        let line = format!(
            "(printf 'n\\n'; sleep 1) | script -qec \"{strace} -e inject={inject} $M remove {options} t\" /dev/null"
        );
        let ran = shell(at, &line);
        let screen = String::from_utf8_lossy(&ran.out).replace("\r\n  ", " ");
        assert_eq!(ran.code, Some(130), "{inject} {options}: {screen}");
        assert!(
            screen.contains("an unknown number of entries, because counting failed: "),
            "{inject} {options}: {screen}"
        );
        assert!(at.join("t/a/f").exists());
    }
}

#[test]
fn without_a_terminal_few_entries_are_removed_and_many_need_the_option_yes() {
    let scratch = scratch();
    let at = scratch.path();
    filled(at, 1000);
    run(at, &["remove", "t"])
        .complains(2, &["remove 't' (", " entries", ": there is no terminal", "--yes", "--dry-run"]);
    let ran = shell(at, "echo y | $M remove t");
    ran.complains(2, &["no terminal"]);
    let ran = shell(at, "printf 't\\0' | $M remove --files0-from -");
    ran.complains(2, &["cannot be counted", "--yes"]);
    let ran = run(at, &["remove", "none", "t"]);
    ran.complains(2, &["no terminal"]);
    assert_eq!(std::fs::read_dir(at.join("t")).unwrap().count(), 1000);
    // With one entry fewer, there would be no question on a terminal either.
    let ran = shell(at, "$M remove t/0 t/1 </dev/null && $M remove t </dev/null");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("removed 2 entries") && ran.err.contains("removed 999 entries"), "{ran:?}");
    assert!(!at.join("t").exists());
    run(at, &["remove", "none"]).complains(3, &["remove 'none': No such file or directory"]);
}

#[test]
fn a_quiet_removal_prints_errors_only() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/f", "u/", "u/f"]);
    let ran = run(at, &["remove", "--quiet", "t"]);
    assert_eq!((ran.code, ran.err.as_str(), ran.out.as_slice()), (Some(0), "", &b""[..]));
    let ran = run(at, &["remove", "-q", "none", "u"]);
    assert!(ran.code == Some(1) && ran.err.contains("remove 'none'"), "{ran:?}");
    assert!(ran.err.contains("removed 2 entries"), "{ran:?}");
    run(at, &["remove", "-q", "--json", "none"]).complains(2, &["--quiet", "--json"]);
}

/// Paths and depths begin below the directory that was named, in the count as in the removal.
#[test]
fn conditions_on_paths_and_depths_are_counted_for_the_question() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/d/"]);
    for index in 0..1200 {
        std::fs::write(at.join(format!("t/d/{index}")), "").unwrap();
    }
    for options in [&["--path-match", "d/*"][..], &["--max-depth", "2", "--type", "f"]] {
        let refused = run(at, &[&["remove"], options, &["t"]].concat());
        refused.complains(2, &["remove 1 200 entries", "there is no terminal to ask on"]);
        assert_eq!(std::fs::read_dir(at.join("t/d")).unwrap().count(), 1200, "{options:?}");
    }
    assert_eq!(run(at, &["remove", "--exclude", "/d", "--type", "f", "t"]).code, Some(0));
    assert_eq!(std::fs::read_dir(at.join("t/d")).unwrap().count(), 1200);
}
