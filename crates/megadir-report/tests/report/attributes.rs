//! Methods of finding out attributes: speed-ups, and whether the claims of their source stand.

use megadir_record::{CellId, ExpectedFiles, Published, Record, Role, Work};
use megadir_report::{FindingKind, Report, Style, Summary, View, format_named, summarize};

use crate::synthetic::{ENTRIES, Synthetic};

/// Returns a record of methods that take so many times what the baseline takes.
pub(crate) fn record(ratios: &[(&'static str, f64)]) -> Record {
    let mut record = Synthetic::ratios(ratios).record();
    let plan = &mut record.header.plan;
    plan.study = "attributes".into();
    let published = |what: &str, value, group: &str| Published {
        what: what.into(),
        value,
        unit: "x".into(),
        group: Some(group.into()),
        ours: None,
        unlike: None,
    };
    plan.published = vec![published("FindFirstFileEx, Basic, cached", 45.0, "buffer")];
    for cell in &mut plan.cells {
        let method = if cell.role == Role::Arm { cell.name.clone() } else { "readdir-lstat".into() };
        let expected = Some(ExpectedFiles { files: ENTRIES, hash: 9 });
        cell.work = Work::Attributes { method, buffer_bytes: None, threads: 1, keeps: true, expected };
    }
    record.samples.iter_mut().for_each(|sample| sample.counted.hash = 9);
    record
}

fn claims(summary: &Summary) -> Vec<&str> {
    let told = summary.findings.iter().filter(|finding| finding.kind == FindingKind::Claim);
    told.map(|finding| finding.text.as_str()).collect()
}

fn claims_of(ratios: &[(&'static str, f64)]) -> [String; 2] {
    let summary = summarize(&record(ratios)).expect("a record that can be read");
    let [bulk, cpp] = claims(&summary)[..] else { panic!("{:?}", claims(&summary)) };
    [bulk.to_owned(), cpp.to_owned()]
}

#[test]
fn claims_about_calls_that_are_not_to_be_had_cannot_be_told() {
    let [bulk, cpp] = claims_of(&[("getdents-statx", 0.9)]);
    assert!(bulk.contains("cannot be told here: its calls exist on Windows only"), "{bulk}");
    assert!(cpp.ends_with("cannot be told here: C++ was not to be had or is not judged."), "{cpp}");
}

#[test]
fn claims_about_calls_in_kind_stand_or_fall_by_their_intervals() {
    let [bulk, cpp] = claims_of(&[("xfs-bulkstat", 0.02), ("cpp-filesystem", 1.0)]);
    assert!(
        bulk.contains("tested on xfs-bulkstat") && bulk.contains(": stands here in kind; time"),
        "{bulk}"
    );
    assert!(cpp.contains(" stands here; time against that: 0.999x ["), "{cpp}");
    let [bulk, cpp] = claims_of(&[("btrfs-search", 0.4), ("cpp-filesystem", 1.5)]);
    assert!(bulk.contains("stands here in its direction, not in its size (0 of 1 as fast)"), "{bulk}");
    assert!(cpp.contains(" falls here; time against that: 1.498x ["), "{cpp}");
    let [bulk, cpp] = claims_of(&[("xfs-bulkstat", 1.3), ("cpp-filesystem", 0.8)]);
    assert!(bulk.contains("falls here in kind"), "{bulk}");
    assert!(cpp.contains(" falls here; "), "{cpp}");
}

#[test]
fn another_study_makes_no_such_claims() {
    let mut record = record(&[("xfs-bulkstat", 0.02)]);
    record.header.plan.study = "own".into();
    assert!(claims(&summarize(&record).unwrap()).is_empty());
}

#[test]
fn a_method_that_finds_other_files_is_not_compared() {
    let mut record = record(&[("getdents-statx", 0.9), ("xfs-bulkstat", 0.1)]);
    for sample in record.samples.iter_mut().filter(|sample| sample.cell == CellId(3)) {
        sample.counted.entries -= 1;
        sample.counted.hash = 8;
    }
    let summary = summarize(&record).unwrap();
    let loud: Vec<_> = summary.findings.iter().filter(|finding| finding.loud).collect();
    assert_eq!(loud.len(), 1);
    assert!(
        loud[0].text.contains("`xfs-bulkstat` did NOT list what its data set holds in 30 rounds"),
        "{}",
        loud[0].text
    );
    assert!(claims(&summary)[0].contains("cannot be told here"));
}

#[test]
fn speed_ups_stand_beside_ratios_where_the_source_tells_them() {
    let table = |record: &Record| {
        let summary = summarize(record).unwrap();
        let view = View { width: 100, style: Style { color: false, unicode: true } };
        format_named("table").unwrap().render(&Report { record, summary: &summary }, &view)
    };
    let mut record = record(&[("getdents-statx", 0.5)]);
    let text = table(&record);
    let row = text.lines().find(|line| line.trim_start().starts_with("getdents-statx")).unwrap();
    assert!(text.contains("speed-up") && row.contains("  1.99x [1.97, 2.00]  "), "{row}");
    record.header.plan.published.clear();
    assert!(!table(&record).contains("speed-up"));
}
