//! The claim about layouts is judged by its own layout, and figures of equal contents are next to each other.

use megadir_record::{
    ArmId, ContentKind, DataSource, FileOperation, Group, GroupRule, Pair, Phase, Published, Record, Refused,
    Spread,
};
use megadir_report::summary::{GroupReading, Outcome};
use megadir_report::{FindingKind, Style, render};

use crate::fill::{files, work_on_files};
use crate::report_on;
use crate::synthetic::{Synthetic, arm};

/// A record of writing flat, one level deep (half the time) and two levels deep (twice), and of creating the
/// directories for two levels (half of flat).
fn record(content: ContentKind) -> Record {
    let arms = [("flat", 0, 1e6), ("one", 1, 0.5e6), ("two", 2, 2e6), ("make directories, two", 2, 1e6)];
    let mut synthetic = Synthetic::ratios(&[]);
    synthetic.entries = vec![1000; 3];
    synthetic.arms = arms
        .map(|(name, data, ns)| crate::synthetic::ArmSummary { data, groups: &["write"], ..arm(name, ns) })
        .into();
    let layouts = ["prefix:2", "prefix:2/2"].map(|layout| Spread::Layout { layout: layout.into() });
    let pair = |subject: &str, arm| Pair {
        subject: subject.into(),
        than: "flat".into(),
        at: "writing all files".into(),
        wall_time: false,
        arm: ArmId(arm),
        to: ArmId(0),
    };
    let pairs =
        vec![pair("prefix:2, directories on demand", 1), pair("prefix:2/2, directories made before", 2)];
    synthetic.groups = vec![Group {
        name: "write".into(),
        of: None,
        title: "Does it?".into(),
        answers: false,
        rule: GroupRule::Pairs { pairs },
    }];
    let mut record = synthetic.record();
    work_on_files(&mut record, |id| {
        files(if id == 3 { FileOperation::MakeDirectories } else { FileOperation::Create }, (0, 1000), 1)
    });
    let plan = &mut record.header.plan;
    plan.study = "layout".into();
    plan.claims = megadir_record::claims::of_earlier("layout");
    for data in &mut plan.data {
        let DataSource::Made(made) = &mut data.source else { continue };
        made.content = content;
        if let Some(layout) = data.id.0.checked_sub(1) {
            made.spread = layouts[layout as usize].clone();
        }
    }
    let figure = |quantity: &str, value| Published {
        quantity: quantity.into(),
        value,
        unit: "ratio".into(),
        group: Some("write".into()),
        ours: None,
        unlike: None,
        entries: None,
        content: None,
    };
    plan.published = vec![figure("digests", 1.44), figure("JSON documents", 1.2)];
    record
}

fn texts_of(record: &Record) -> Vec<String> {
    let findings = report_on(record).expect("it can be summarised").findings;
    let pairs = findings.into_iter().filter(|finding| finding.kind == FindingKind::Pair);
    pairs.map(|finding| finding.text).collect()
}

#[test]
fn two_levels_are_judged_by_two_levels_and_figures_by_contents() {
    let claim = "The claim of the article that directories two levels deep take longer to write than one flat directory \
                 (judged by `prefix:2/2`) stands here.";
    let digests = texts_of(&record(ContentKind::HexDigest));
    assert_eq!(digests[0], format!("{claim} Published: 1.44x (digests)."));
    let json = texts_of(&record(ContentKind::Json));
    assert_eq!(json[0], format!("{claim} Published: 1.20x (JSON documents)."));
}

#[test]
fn figures_are_compared_with_ours_on_like_data_only() {
    let mut of_digests = record(ContentKind::HexDigest);
    for figure in &mut of_digests.header.plan.published {
        figure.ours = Some("prefix:2/2".into());
    }
    let report = |record: &Record| {
        let report = report_on(record).expect("it can be summarised");
        render::table(&report, 1000, Style { color: false, unicode: true })
    };
    let page = report(&of_digests);
    assert!(
        page.contains("JSON documents: 1.20x (not comparable: hex digests here, not JSON documents)"),
        "{page}"
    );
    assert!(page.contains("digests: 1.44x (here "), "{page}");
    let entries = of_digests.header.plan.data[0].entries;
    of_digests.header.plan.published[0].entries = Some(20 * entries);
    let page = report(&of_digests);
    assert!(page.contains("digests: 1.44x (not comparable: 1 000 files here, not 20 000)"), "{page}");
    let markdown = render::markdown(&report_on(&of_digests).unwrap());
    assert!(markdown.contains("| nothing: 1 000 files here, not 20 000 |"), "{markdown}");
    let claim = texts_of(&of_digests).remove(0);
    assert!(claim.ends_with("Published: 1.44x (digests; 1 000 files here, not 20 000)."), "{claim}");
}

#[test]
fn a_layout_that_was_not_measured_judges_nothing() {
    let mut record = record(ContentKind::HexDigest);
    let GroupRule::Pairs { pairs } = &mut record.header.plan.groups[0].rule else { panic!("not pairs") };
    pairs.pop();
    assert!(
        texts_of(&record)[0].contains("is undecided here: nothing is judged."),
        "{:?}",
        texts_of(&record)
    );
}

#[test]
fn directories_created_beforehand_are_reported() {
    let texts = texts_of(&record(ContentKind::HexDigest));
    let last = texts.last().unwrap();
    assert!(last.starts_with("Making the directories beforehand took 1.0"), "{last}");
    assert!(last.contains(" a file more (50 % of writing) for `prefix:2/2`."), "{last}");
}

/// Makes the arms in `refused` fail in their first block, after which they have no more blocks.
fn refuse(record: &mut Record, refused: &[u32]) {
    record.samples.retain(|sample| {
        !refused.contains(&sample.arm.0) || (sample.round == 0 && sample.phase == Phase::Measure)
    });
    for sample in record.samples.iter_mut().filter(|sample| refused.contains(&sample.arm.0)) {
        let entries = 161_000 + u64::from(sample.arm.0);
        let cause = "the index is full (9.5 MB of 9.5 MB)".into();
        sample.refused = Some(Box::new(Refused { entries, cause }));
    }
}

#[test]
fn arm_with_a_full_directory_is_reported_and_not_judged() {
    let mut record = record(ContentKind::HexDigest);
    refuse(&mut record, &[0]);
    let report = report_on(&record).expect("the others can be summarised");
    let text = &report.findings[0].text;
    assert!(
        text.starts_with("A directory took no more names at 161 000 entries: its index was full"),
        "{text}"
    );
    assert!(text.ends_with("flat at 161 000."), "{text}");
    assert!(report.summary.arms[0].timing.is_none() && report.summary.arms[1].timing.is_some());
    assert!(report.summary.progress.rounds_used > 1, "rounds count without it");
    let GroupReading::Pairs(pairs) = &report.summary.groups[0].reading else { panic!() };
    assert!(pairs.rows.iter().all(|row| row.outcome == Outcome::NotMeasured), "{:?}", pairs.rows);
    let csv = crate::csv(&report_on(&record).unwrap());
    let rows = csv.lines().filter(|row| row.contains(",161000,"));
    assert_eq!(rows.count(), 1);
}

#[test]
fn a_run_in_which_every_directory_was_full_is_reported() {
    let mut record = record(ContentKind::HexDigest);
    refuse(&mut record, &[0, 1, 2, 3]);
    let report = report_on(&record).expect("it can be summarised");
    let text = &report.findings[0].text;
    assert!(text.contains("at 161 000 to 161 003 entries"), "{text}");
    assert!(render::table(&report, 80, Style { color: false, unicode: true }).contains("took no more names"));
    assert!(render::markdown(&report).contains("took no more names"));
}
