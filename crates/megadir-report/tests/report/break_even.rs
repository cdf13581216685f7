//! The share from which listing beats asking is recovered, with its interval; if there is none, the report says
//! so.

use megadir_record::{ArmId, BreakEvenArms, DataId, ExpectedFiles, Group, GroupRule, Record, Work};
use megadir_report::summary::{BreakEven, GroupReading, Threshold};
use megadir_report::{FindingKind, Report};

use crate::report_on;
use crate::synthetic::{ArmSummary, Synthetic, arm};

const SHARES: [f64; 5] = [0.01, 0.03, 0.1, 0.3, 1.0];

/// A record of two directories in which looking up an entry takes this many times as long as listing one.
pub(crate) fn record(costs: [f64; 2]) -> Record {
    let sizes = [1_000_u64, 100_000];
    let mut arms: Vec<ArmSummary> = Vec::new();
    for (data, (entries, cost)) in (0..).zip(sizes.into_iter().zip(costs)) {
        let list_ns = 600.0 * entries as f64;
        let queries = SHARES.map(|share| ArmSummary { data, ..arm("ask", list_ns * share * cost) });
        arms.push(ArmSummary { data, ..arm("list", list_ns) });
        arms.extend(queries);
    }
    let mut synthetic = Synthetic { arms, entries: sizes.into(), ..Synthetic::ratios(&[]) };
    synthetic.rounds = 40;
    let mut record = synthetic.record();
    let plan = &mut record.header.plan;
    plan.study = "stat-or-list".into();
    plan.claims = megadir_record::claims::of_earlier("stat-or-list");
    let series = |first: u32| BreakEvenArms {
        name: "getdents-statx".into(),
        list: ArmId(first),
        stat_some: (first + 1..=first + 5).map(ArmId).collect(),
    };
    let rule = GroupRule::BreakEven { series: vec![series(0), series(6)] };
    let title = "From which share on does listing all beat asking for some?";
    plan.groups = vec![Group::new("break-even", title, false, rule)];
    plan.published.clear();
    for planned in &mut plan.arms {
        planned.groups = vec!["break-even".into()];
        let entries = sizes[planned.data.0 as usize];
        let place = planned.id.0 % 6;
        planned.work = match place {
            0 => Work::Attributes {
                method: "getdents-statx".into(),
                buffer_bytes: Some(131_072),
                threads: 1,
                keeps: false,
                expected: Some(ExpectedFiles { files: entries, hash: 7 }),
            },
            _ => Work::StatSome { files: (SHARES[place as usize - 1] * entries as f64).round() as u64 },
        };
        planned.name = match &planned.work {
            Work::StatSome { files } => format!("ask {files} of {entries}"),
            _ => format!("getdents-statx of {entries}"),
        };
    }
    for sample in &mut record.samples {
        let planned = &record.header.plan.arms[sample.arm.0 as usize];
        (sample.counted.entries, sample.counted.hash) = match planned.work {
            Work::StatSome { files } => (files, 0),
            _ => (sizes[planned.data.0 as usize], 7),
        };
    }
    record
}

fn read(report: &Report) -> &BreakEven {
    match &report.summary.groups[0].reading {
        GroupReading::BreakEven(read) => read,
        other => panic!("{other:?}"),
    }
}

fn texts(report: &Report) -> Vec<&str> {
    let findings = report.findings.iter().filter(|finding| finding.kind == FindingKind::BreakEven);
    findings.map(|finding| finding.text.as_str()).collect()
}

#[test]
fn the_share_is_recovered_with_an_interval_that_holds_it() {
    let report = report_on(&record([2.5, 5.0])).unwrap();
    for (series, truth) in read(&report).series.iter().zip([0.4, 0.2]) {
        let Threshold::At { share } = series.from else { panic!("{:?}", series.from) };
        assert!((share / truth - 1.0).abs() < 0.02, "{share} {truth}");
        let Some((Threshold::At { share: low }, Threshold::At { share: high })) = series.interval else {
            panic!()
        };
        assert!(low < truth && truth < high && high / low < 1.05, "{low} {high}");
        assert_eq!((series.rounds, series.points.len()), (40, 5));
        assert_eq!(series.points[2].share, 0.1);
    }
    let texts = texts(&report);
    assert_eq!(texts.len(), 3);
    let begin = "On ext4, listing 100 000 files with attributes (getdents-statx) beats asking for them one by one from 20.";
    assert!(texts[0].starts_with(begin), "{}", texts[0]);
    assert!(texts[2].starts_with("The share of 100 000 files is 0.50"), "{}", texts[2]);
    assert!(texts[2].ends_with(": it depends on the size of the directory."), "{}", texts[2]);
}

#[test]
fn equal_sizes_show_no_dependence() {
    let report = report_on(&record([4.0, 4.0])).unwrap();
    assert!(texts(&report)[2].ends_with("that it depends on the size of the directory is not shown."));
}

#[test]
fn never_and_always_are_stated_without_extrapolation() {
    let report = report_on(&record([0.5, 500.0])).unwrap();
    let series = &read(&report).series;
    assert_eq!(
        (series[0].from, series[0].interval),
        (Threshold::Never, Some((Threshold::Never, Threshold::Never)))
    );
    assert_eq!(series[1].from, Threshold::Always);
    assert!(read(&report).sizes.is_empty(), "no place, no ratio");
    let texts = texts(&report);
    assert!(texts[0].ends_with("even where only 1.0 % of them are asked for."), "{}", texts[0]);
    assert!(
        texts[1].ends_with("does not beat asking for them one by one, not even for all of them."),
        "{}",
        texts[1]
    );
}

#[test]
fn share_at_the_edge_has_a_one_sided_interval() {
    let report = report_on(&record([1.0, 1.001])).unwrap();
    let series = &read(&report).series[0];
    let Some((low, high)) = series.interval else { panic!() };
    assert!(matches!(low, Threshold::At { share } if share > 0.98), "{low:?}");
    assert_eq!(high, Threshold::Never);
}

#[test]
fn too_few_rounds_have_a_share_and_no_interval() {
    let mut record = record([2.5, 5.0]);
    record.samples.retain(|sample| sample.round < 4);
    let report = report_on(&record).unwrap();
    assert!(matches!(read(&report).series[0].from, Threshold::At { .. }));
    assert_eq!(read(&report).series[0].interval, None);
    assert!(texts(&report)[2].ends_with("is undecided."), "{}", texts(&report)[2]);
}

#[test]
fn arms_that_did_other_work_are_left_out_of_the_curve() {
    let mut record = record([2.5, 5.0]);
    let is_stat_some = |sample: &&mut megadir_record::Sample| sample.arm == ArmId(3);
    record.samples.iter_mut().filter(is_stat_some).for_each(|sample| sample.counted.entries -= 1);
    let list = |sample: &&mut megadir_record::Sample| sample.arm == ArmId(6);
    record.samples.iter_mut().filter(list).for_each(|sample| sample.counted.hash = 8);
    let report = report_on(&record).unwrap();
    let series = &read(&report).series;
    assert_eq!(
        (series.len(), series[0].points.len()),
        (1, 4),
        "a listing that saw something else is no measure"
    );
    assert!(matches!(series[0].from, Threshold::At { share } if (share - 0.4).abs() < 0.02));
    let loud: Vec<&str> = report.findings.iter().filter(|f| f.loud).map(|f| f.text.as_str()).collect();
    assert_eq!(loud.len(), 2, "{loud:?}");
    assert!(loud.iter().all(|text| text.contains("did NOT")), "{loud:?}");
    assert_eq!(record.header.plan.arms[3].data, DataId(0));
}
