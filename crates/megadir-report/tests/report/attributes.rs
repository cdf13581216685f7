//! Methods of reading attributes: speed-ups, and the verdict on the source's claims.

use megadir_record::{
    Arm, ArmId, CacheState, ExpectedFiles, Group, GroupRule, Pressure, Published, Record, Role, Sample, Work,
};
use megadir_report::{FindingKind, Report, Style, View, format_named};

use crate::report_on;
use crate::synthetic::{ENTRIES, Synthetic};

/// A record of methods with these ratios to the baseline's time.
pub(crate) fn record(ratios: &[(&'static str, f64)]) -> Record {
    let mut record = Synthetic::ratios(ratios).record();
    let plan = &mut record.header.plan;
    plan.study = "attributes".into();
    plan.claims = megadir_record::claims::of_earlier("attributes");
    let published = |quantity: &str, value, group: &str| Published {
        quantity: quantity.into(),
        value,
        unit: "x".into(),
        group: Some(group.into()),
        ours: None,
        unlike: None,
        entries: None,
        content: None,
    };
    plan.published = vec![published("FindFirstFileEx, Basic, cached", 45.0, "buffer")];
    for planned in &mut plan.arms {
        let method = if planned.role == Role::Arm { planned.name.clone() } else { "readdir-lstat".into() };
        let expected = Some(ExpectedFiles { files: ENTRIES, hash: 9 });
        planned.work = Work::Attributes { method, buffer_bytes: None, threads: 1, keeps: true, expected };
    }
    record.samples.iter_mut().for_each(|sample| sample.counted.hash = 9);
    record
}

fn claims(report: &Report) -> Vec<&str> {
    let claims = report.findings.iter().filter(|finding| finding.kind == FindingKind::Claim);
    claims.map(|finding| finding.text.as_str()).collect()
}

fn claims_of(ratios: &[(&'static str, f64)]) -> [String; 2] {
    let report = report_on(&record(ratios)).expect("a record that can be read");
    let [bulk, cpp] = claims(&report)[..] else { panic!("{:?}", claims(&report)) };
    [bulk.to_owned(), cpp.to_owned()]
}

#[test]
fn claims_about_unavailable_calls_are_undecided() {
    let [bulk, cpp] = claims_of(&[("getdents-statx", 0.9)]);
    assert!(bulk.contains("is undecided here: its calls exist on Windows only"), "{bulk}");
    assert!(cpp.ends_with("is undecided here: C++ was unavailable or is not judged."), "{cpp}");
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
fn a_run_disturbed_by_other_work_judges_no_claim() {
    let mut disturbed = record(&[("xfs-bulkstat", 0.02), ("cpp-filesystem", 1.0)]);
    disturbed.header.machine.pressure =
        Pressure { taken_percent: Some(23.5), cpu_some_10s_percent: Some(55.0), ..Pressure::default() };
    let report = report_on(&disturbed).expect("a record that can be read");
    let who = &disturbed.header.plan.claims.expect("claims").who;
    assert_eq!(
        claims(&report),
        [format!("The claims of {who} are not judged here: this run must not be used.")]
    );
}

#[test]
fn claims_about_the_sources_calls_are_judged_where_measured() {
    let [own, cpp] =
        claims_of(&[("find-first-file-basic", 0.02), ("by-handle-full", 0.5), ("cpp-filesystem", 1.0)]);
    assert!(
        own.contains("(21 to 69 times when cached): by find-first-file-basic it stands here (0.02"),
        "{own}"
    );
    assert!(
        own.contains("; by by-handle-full it stands here in its direction, not in its size (0 of 1 as fast)"),
        "{own}"
    );
    assert!(!own.contains("Windows only") && cpp.contains(" stands here; "), "{own} {cpp}");
}

#[test]
fn claims_are_about_cached_directories() {
    let mut record = record(&[("xfs-bulkstat", 0.02)]);
    for planned in &mut record.header.plan.arms {
        planned.cache = CacheState::Unseen;
    }
    let report = report_on(&record).unwrap();
    assert!(claims(&report)[0].contains("is undecided here"), "{:?}", claims(&report));
}

#[test]
fn first_and_second_runs_stand_in_one_table_as_the_source_has_them() {
    let table = |record: &Record| {
        let report = report_on(record).unwrap();
        let view = View { width: 100, style: Style { color: false, unicode: true } };
        format_named("table").unwrap().render(&report, &view)
    };
    let mut record = record(&[("find-first-file", 0.5), ("by-handle", 0.1)]);
    let text = table(&record);
    assert!(
        text.contains("The source's table, measured here") && text.contains("--cache warm,unseen"),
        "{text}"
    );
    let row = |text: &str, start: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(start)).expect(start);
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row(&text, "find-first-file")[3..], ["2.00x"]);
    assert_eq!(row(&text, "readdir-lstat")[3..], ["1"]);
    // The same arms again, in their own state and group.
    let (arms, groups) = (record.header.plan.arms.len() as u32, record.header.plan.groups.clone());
    for planned in record.header.plan.arms.clone() {
        let groups = planned.groups.iter().map(|name| format!("{name}-unseen")).collect();
        let name = format!("{}, unseen", planned.name);
        let id = ArmId(planned.id.0 + arms);
        record.header.plan.arms.push(Arm { id, name, groups, cache: CacheState::Unseen, ..planned });
    }
    for group in groups {
        let GroupRule::Compare { baseline } = group.rule else { continue };
        let rule = GroupRule::Compare { baseline: ArmId(baseline.0 + arms) };
        record.header.plan.groups.push(Group { name: format!("{}-unseen", group.name), rule, ..group });
    }
    for sample in record.samples.clone() {
        let elapsed_ns = sample.elapsed_ns * 3;
        record.samples.push(Sample { arm: ArmId(sample.arm.0 + arms), elapsed_ns, ..sample });
    }
    let text = table(&record);
    let first =
        text.lines().find(|line| line.contains("find-first-file") && line.contains("first, unseen")).unwrap();
    let second =
        text.lines().find(|line| line.contains("find-first-file") && line.contains("second")).unwrap();
    assert!(first.contains("2.00x") && second.contains("2.00x"), "{first}\n{second}");
    assert!(text.find(first) < text.find(second) && !text.contains("--cache warm,unseen"));
}

#[test]
fn another_study_makes_no_such_claims() {
    let mut record = record(&[("xfs-bulkstat", 0.02)]);
    record.header.plan.study = "own".into();
    record.header.plan.claims = None;
    assert!(claims(&report_on(&record).unwrap()).is_empty());
}

#[test]
fn a_method_that_finds_other_files_is_not_compared() {
    let mut record = record(&[("getdents-statx", 0.9), ("xfs-bulkstat", 0.1)]);
    for sample in record.samples.iter_mut().filter(|sample| sample.arm == ArmId(3)) {
        sample.counted.entries -= 1;
        sample.counted.hash = 8;
    }
    let report = report_on(&record).unwrap();
    let loud: Vec<_> = report.findings.iter().filter(|finding| finding.loud).collect();
    assert_eq!(loud.len(), 1);
    assert!(
        loud[0].text.contains("`xfs-bulkstat` did NOT list its data set in 30 rounds"),
        "{}",
        loud[0].text
    );
    assert!(claims(&report)[0].contains("is undecided here"));
}

#[test]
fn speed_ups_accompany_ratios_where_the_source_has_them() {
    let table = |record: &Record| {
        let report = report_on(record).unwrap();
        let view = View { width: 100, style: Style { color: false, unicode: true } };
        format_named("table").unwrap().render(&report, &view)
    };
    let mut record = record(&[("getdents-statx", 0.5)]);
    let text = table(&record);
    let of_group = |line: &&str| line.trim_start().starts_with("getdents-statx") && line.contains('[');
    let row = text.lines().find(of_group).unwrap();
    assert!(text.contains("speed-up") && row.contains("  1.99x [1.97, 2.00]  "), "{row}");
    record.header.plan.published.clear();
    assert!(!table(&record).contains("speed-up"));
}
