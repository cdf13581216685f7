//! Entries at the first refusal are compared with predictions and published figures.

use megadir_record::{ArmId, Group, GroupRule, Predicted, Published, Record, Work};
use megadir_report::FindingKind;
use megadir_report::summary::{Ending, GroupReading};

use crate::report_on;
use crate::synthetic::{Synthetic, arm};

/// A record of fillings with these numbers of entries, the predicted number and the published ones.
pub(crate) fn record(entries: &[u64], predicted: u64, published: &[f64]) -> Record {
    let mut synthetic = Synthetic::ratios(&[]);
    synthetic.arms = vec![arm("fill until refused", 1e9)];
    synthetic.rounds = entries.len() as u32;
    let mut record = synthetic.record();
    let plan = &mut record.header.plan;
    plan.study = "limits".into();
    plan.claims = megadir_record::claims::of_earlier("limits");
    let rule = GroupRule::Refusal { arm: ArmId(0) };
    plan.groups = vec![Group::new("refusal", "How many?", false, rule)];
    plan.rules.equivalence_band = 0.05;
    let (low, high) = (predicted * 85 / 100, predicted * 115 / 100);
    let predicted = Some(Predicted { entries: predicted, low, high, basis: "given: a formula".into() });
    plan.arms[0].work = Work::FillUntilRefused { entries_about: 160_000, predicted };
    plan.arms[0].groups = vec!["refusal".into()];
    let figure = |value: &f64| Published {
        quantity: "files".into(),
        value: *value,
        unit: "entries".into(),
        group: Some("refusal".into()),
        ours: None,
        unlike: None,
        entries: None,
        content: None,
    };
    plan.published = published.iter().map(figure).collect();
    plan.data[0].entries = 0;
    plan.data[0].hash = Some(0);
    let measured = record.samples.iter_mut().filter(|sample| sample.phase == megadir_record::Phase::Measure);
    for (sample, entries) in measured.zip(entries) {
        (sample.counted.entries, sample.counted.hash) = (*entries, 0);
    }
    record
}

fn text_of(record: &Record) -> String {
    let report = report_on(record).expect("a record of rounds");
    assert_eq!(report.summary.progress.ending, Ending::Complete);
    assert!(report.findings.iter().all(|finding| !finding.loud), "{:?}", report.findings);
    let mut found = report.findings.into_iter().filter(|finding| finding.kind == FindingKind::Refusal);
    found.next().expect("a finding about refusals").text
}

#[test]
fn predictions_are_reported_whether_they_hold_or_fail() {
    let entries = [158_000, 160_000, 162_000];
    let record = record(&entries, 160_293, &[]);
    let GroupReading::Refusal(read) = &report_on(&record).unwrap().summary.groups[0].reading else {
        panic!()
    };
    assert_eq!((read.directories, read.mean, read.least, read.most), (3, 160_000.0, 158_000, 162_000));
    assert!((read.error.unwrap() - 293.0 / 160_000.0).abs() < 1e-9);
    assert_eq!(
        text_of(&record),
        "The first file was refused after 160 000 entries in the mean of 3 directories (158 000 to 162 000); 160 293 were \
         predicted, 0.18 % more: the prediction holds (within 5 %), and no directory was full before the lower bound of \
         136 249."
    );
    let text = text_of(&self::record(&entries, 140_000, &[]));
    assert!(text.contains("140 000 were predicted, 12 % fewer: the prediction does NOT hold"), "{text}");
    let text = text_of(&self::record(&[100_000, 160_000, 220_000], 160_293, &[]));
    assert!(text.contains("a directory was full BEFORE the lower bound"), "{text}");
}

#[test]
fn published_figures_are_compared_where_they_are_of_the_same_kind() {
    let published = [10_118_651.0, 10_233_706.0];
    let text = text_of(&record(&[10_139_668; 3], 10_057_042, &published));
    assert!(
        text.ends_with("The published figures are reproduced: 0.21 % and 0.93 % from the mean."),
        "{text}"
    );
    let text = text_of(&record(&[9_000_000; 3], 10_057_042, &published));
    assert!(text.contains("The published figures are NOT reproduced: 12 % and 14 %"), "{text}");
    let text = text_of(&record(&[160_000; 3], 160_293, &published));
    assert!(text.contains("--published is for them"), "{text}");
}

#[test]
fn a_figure_of_larger_directories_is_not_comparable() {
    let mut record = record(&[158_000; 3], 160_293, &[10_118_651.0]);
    record.header.plan.published[0].entries = Some(10_118_651);
    let markdown = megadir_report::render::markdown(&report_on(&record).unwrap());
    assert!(markdown.contains("| nothing: 160 000 files here, not 10 118 651 |"), "{markdown}");
}

#[test]
fn few_fillings_are_no_reason_not_to_use_them() {
    let report = report_on(&record(&[160_000; 3], 160_293, &[])).unwrap();
    assert!(report.warnings.iter().all(|warning| !warning.loud), "{:?}", report.warnings);
    let csv = crate::csv(&report);
    let lines: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert!(lines.iter().all(|columns| *columns == lines[0]), "{csv}");
}
