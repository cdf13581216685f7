//! A run's description of its machine, and cache states that are unavailable there.

use megadir_testkit::require;

use crate::support::megadir;

#[test]
fn record_has_its_machine_and_reports_state_wine() {
    let scratch = tempfile::tempdir().unwrap();
    let small = ["--quick", "--rounds=6", "--warm-up=1", "--entries=200"];
    let words = [&["bench", "run", "lookup", "-v"], &small[..], &["-o", "r.jsonl"]].concat();
    let (code, table, complaint) = megadir(scratch.path(), &words);
    assert_eq!(code, Some(0), "{complaint}");
    let record = std::fs::read_to_string(scratch.path().join("r.jsonl")).unwrap();
    let header = record.lines().next().unwrap();
    for part in [
        "\"kernel\":\"",
        "Windows",
        "\"file_system\":{\"kind\":\"",
        "\"watchers\":[\"Windows Defender: ",
        "QueryPerformanceCounter",
    ] {
        assert!(header.contains(part), "no {part}: {header}");
    }
    let (code, markdown, complaint) =
        megadir(scratch.path(), &["bench", "report", "r.jsonl", "--format", "markdown"]);
    assert_eq!(code, Some(0), "{complaint}");
    assert!(markdown.contains("Who else sees accesses to files: Windows Defender: "), "{markdown}");
    let page = std::fs::read_to_string(scratch.path().join("r.html")).unwrap();
    assert_eq!(header.contains("\"wine\":"), require::is_wine(), "{header}");
    if !require::is_wine() {
        return assert!(!markdown.contains("Wine"), "{markdown}");
    }
    for (of, text) in [("table", table), ("markdown", markdown), ("page", page)] {
        assert!(text.replace('\n', " ").contains("so the results do not hold for Windows"), "{of}: {text}");
    }
}

#[test]
fn cache_states_are_reached_or_refused_with_the_reason() {
    let scratch = tempfile::tempdir().unwrap();
    let words = ["bench", "run", "attributes", "--quick", "--dry-run", "--cache", "warm,data-cold,fs-cold"];
    let (code, plan, complaint) = megadir(scratch.path(), &words);
    assert_eq!(code, Some(0), "{complaint}");
    let text = format!("{plan}{complaint}");
    assert!(text.contains("only a volume created for the run could be dismounted"), "{text}");
    let refused = text.contains("the volume does not report how much is read from it");
    assert!(refused || text.contains("data-cold: available"), "{text}");
    // No other state is measured instead.
    let words = ["bench", "run", "attributes", "--quick", "--dry-run", "--cache", "fs-cold"];
    let (code, plan, complaint) = megadir(scratch.path(), &words);
    assert_eq!(code, Some(3), "{plan}{complaint}");
    assert!(complaint.contains("nothing is left to compare"), "{complaint}");
}
