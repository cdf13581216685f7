//! End-to-end tests of the two studies whose published sources measured on Windows.

use megadir_testkit::require;
use megadir_testkit::tree::names;

use crate::support::megadir;

/// The six methods in the source of the study `attributes`, slowest first.
const OF_THE_SOURCE: [&str; 6] = [
    "find-and-ask-each",
    "find-first-file-basic",
    "find-first-file",
    "find-first-file-large",
    "cpp-filesystem",
    "by-handle-full",
];

/// Runs a built-in study with a short warm-up; returns the report, the messages and the record.
fn run(study: &str, words: &[&str]) -> (String, String, String) {
    let here = tempfile::tempdir().unwrap();
    let text = match study {
        "attributes" => include_str!("../../../megadir-bench/studies/attributes.toml"),
        _ => include_str!("../../../megadir-bench/studies/lookup.toml"),
    };
    assert!(text.contains("warm_up_s_max = 10"));
    let short = text.replace("warm_up_s_max = 10", "warm_up_s_max = 1");
    std::fs::write(here.path().join("own.toml"), short).unwrap();
    let all = [&["bench", "run", "own.toml", "-v", "--quick", "-o", "record.jsonl"], words].concat();
    let (code, report, complaint) = megadir(here.path(), &all);
    assert_eq!(code, Some(0), "{report}{complaint}");
    let record = std::fs::read_to_string(here.path().join("record.jsonl")).unwrap();
    assert_eq!(names(here.path()), ["own.toml", "record.html", "record.jsonl"], "{complaint}");
    (report, complaint, record)
}

/// Rows of the source's table, field by field.
fn rows(report: &str) -> Vec<Vec<String>> {
    let start = report.find("The source's table, measured here").expect(report);
    let rows = report[start..].lines().skip(1).take_while(|line| !line.is_empty());
    rows.map(|row| row.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn methods_of_finding_out_attributes_find_the_same_in_both_runs_of_the_source() {
    let (report, complaint, record) = run("attributes", &["--entries", "20", "--cache", "warm,unseen"]);
    // The standard library counted the expected entries before the first block; an unavailable method has a
    // reason.
    assert!(record.contains("\"expected\":{\"files\":20,"), "{record}");
    assert!(!record.contains("unequal-work"), "{report}{complaint}");
    let rows = rows(&report);
    for method in OF_THE_SOURCE.into_iter().chain([
        "by-handle",
        "nt-query",
        "nt-query-extended",
        "nt-query-ex",
        "std-fs",
    ]) {
        let runs = rows.iter().filter(|row| row[0] == method).collect::<Vec<_>>();
        let refused = complaint.lines().find(|line| line.contains(&format!("Method {method}: ")));
        match refused {
            Some(reason) => {
                let needs = !OF_THE_SOURCE.contains(&method) && require::is_wine()
                    || method == "cpp-filesystem" && cfg!(not(feature = "cpp"));
                assert!(needs && runs.is_empty(), "{reason}");
                require::unavailable(&format!("bench run attributes: {method}"), reason);
            }
            None => {
                let order: Vec<&str> = runs.iter().map(|row| row[1].as_str()).collect();
                assert_eq!(order, ["first,", "second"], "{method}: {report}");
            }
        }
    }
    let baseline = rows.iter().find(|row| row[0] == OF_THE_SOURCE[0] && row[1] == "second").unwrap();
    assert_eq!(baseline.last().unwrap(), "1", "{report}");
}

#[test]
fn look_ups_have_the_rows_of_the_source() {
    let (report, complaint, record) = run("lookup", &["--entries", "1,30", "--rounds", "6"]);
    assert!(!record.contains("unequal-work"), "{report}{complaint}");
    let rows = rows(&report);
    assert_eq!(rows[0].join(" "), "looked up Mean Error StdDev Median Ratio");
    for of in [
        "present, one name of 1",
        "absent, one name of 1",
        "present, one name of 30",
        "absent, one name of 30",
    ] {
        let row = rows.iter().find(|row| row.join(" ").starts_with(&format!("{of} ")));
        let row = row.unwrap_or_else(|| panic!("{of}: {report}"));
        // Each figure is a number and a unit.
        assert!(row.len() > 5 + 2 * 4, "{row:?}");
    }
}
