//! End-to-end tests of the studies of lookups, removal and filling.

use megadir_testkit::tree::names;

use crate::support::megadir;

/// Runs a built-in study with almost no warm-up; returns the exit code, the report and the messages.
fn run(study: &str, text: &str) -> (Option<i32>, String, String) {
    let here = tempfile::tempdir().unwrap();
    assert!(text.contains("warm_up_s_max = "), "{study}");
    let short = text.lines().map(|line| match line.starts_with("warm_up_s_max = ") {
        true => "warm_up_s_max = 1\n".to_owned(),
        false => format!("{line}\n"),
    });
    std::fs::write(here.path().join("own.toml"), short.collect::<String>()).unwrap();
    let words = ["bench", "run", "own.toml", "-v", "--quick", "--entries", "40", "--rounds", "1", "-o", "r"];
    let (code, report, complaint) = megadir(here.path(), &words);
    let mut left = names(here.path());
    let expected = if code == Some(0) { &["own.toml", "r", "r.html"][..] } else { &["own.toml"] };
    left.retain(|name| code == Some(0) || name != "r");
    assert_eq!(left, expected, "{study}: {complaint}");
    (code, report, complaint)
}

#[test]
fn asking_for_some_files_is_held_against_listing_all() {
    let (code, report, complaint) =
        run("stat-or-list", include_str!("../../../megadir-bench/studies/stat-or-list.toml"));
    assert_eq!(code, Some(0), "{complaint}");
    // Both all 40 names and a single one were looked up, and each block found the expected number.
    assert!(report.contains("100 %") && report.contains("break-even"), "{report}");
    assert!(!report.contains("unequal"), "{report}");
}

#[test]
fn trees_are_removed_by_a_loop_and_by_the_library() {
    let (code, report, complaint) = run("remove", include_str!("../../../megadir-bench/studies/remove.toml"));
    assert_eq!(code, Some(0), "{complaint}");
    assert!(report.contains("library, 4 workers") && report.contains("plain loop"), "{report}");
    assert!(complaint.contains("rm -rf needs Linux"), "{complaint}");
}

#[test]
fn a_directory_that_is_never_full_is_not_filled() {
    let (code, report, complaint) = run("limits", include_str!("../../../megadir-bench/studies/limits.toml"));
    assert_eq!((code, report.as_str()), (Some(3), ""), "{complaint}");
    assert!(complaint.contains("have no index that fills up"), "{complaint}");
}
