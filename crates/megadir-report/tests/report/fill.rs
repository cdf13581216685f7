//! The claim of a constant cost of filling is judged by every part of the filling.

use megadir_record::{
    Access, ArmId, FileOperation, FileOrder, FileWork, Group, GroupRule, Published, Record, Sharing, Stop,
    SyncPolicy, Work, WorkerKind, Workers,
};
use megadir_report::{FindingKind, Report, Warning};

use crate::report_on;
use crate::synthetic::{Synthetic, arm};

pub(crate) fn files(operation: FileOperation, (from, to): (u64, u64), count: u32) -> FileWork {
    FileWork {
        operation,
        from,
        to,
        access: Access::Name { order: FileOrder::AsWritten },
        sync: SyncPolicy::Never,
        owner_and_mode: false,
        workers: Workers { count, kind: WorkerKind::Process, sharing: Sharing::Own },
    }
}

/// Turns arms into valid work on files, one operation per sample.
pub(crate) fn work_on_files(record: &mut Record, work: impl Fn(u32) -> FileWork) {
    for planned in &mut record.header.plan.arms {
        planned.work = Work::Files(work(planned.id.0));
    }
    for sample in &mut record.samples {
        let planned = &record.header.plan.arms[sample.arm.0 as usize];
        let Work::Files(work) = &planned.work else { continue };
        (sample.counted.entries, sample.counted.hash) = (work.files(), 0);
    }
}

/// A record of a filling whose parts have these costs as multiples of the first part's.
pub(crate) fn filled(ratios: &[f64]) -> Record {
    let mut synthetic = Synthetic::ratios(&[]);
    let times = [1.0].iter().chain(ratios);
    synthetic.arms = times.map(|times| arm("part", 1e6 * times)).collect();
    synthetic.groups = Vec::new();
    let mut record = synthetic.record();
    work_on_files(&mut record, |id| {
        let from = 1000 * u64::from(id);
        files(FileOperation::Create, (from, from + 1000), 1)
    });
    let plan = &mut record.header.plan;
    plan.study = "fill".into();
    plan.claims = megadir_record::claims::of_earlier("fill");
    let arms = plan.arms.iter().map(|planned| planned.id).collect();
    plan.groups = vec![Group {
        name: "fill".into(),
        of: None,
        title: "What?".into(),
        answers: false,
        rule: GroupRule::Fill { arms },
    }];
    for planned in &mut plan.arms {
        planned.groups = vec!["fill".into()];
    }
    plan.published = vec![Published {
        quantity: "plotted".into(),
        value: 1.0,
        unit: "ratio".into(),
        group: Some("fill".into()),
        ours: None,
        unlike: None,
        entries: None,
        content: None,
    }];
    record
}

fn text_of(report: &Report) -> &str {
    &report.findings.iter().find(|finding| finding.kind == FindingKind::Fill).expect("it is found").text
}

#[test]
fn flat_claim_fails_by_one_part_and_holds_by_all() {
    let cases: [(&[f64], &str); 3] = [
        (
            &[1.5, 1.0],
            "is flat, falls here, for 1 of 2 parts after the first cost more. Published: 1.00x (plotted).",
        ),
        (&[1.0, 1.0], "is flat, stands here. Published: 1.00x (plotted)."),
        (&[0.5, 1.0], "is flat, stands here in that it does not grow. Published: 1.00x (plotted)."),
    ];
    for (ratios, end) in cases {
        let report = report_on(&filled(ratios)).unwrap();
        assert!(text_of(&report).ends_with(end), "{ratios:?}: {}", text_of(&report));
    }
}

#[test]
fn a_part_that_is_not_decided_leaves_the_claim_open() {
    let mut record = filled(&[1.0, 1.0]);
    for sample in record.samples.iter_mut().filter(|sample| sample.arm == ArmId(1)) {
        sample.elapsed_ns = sample.elapsed_ns * [7, 10, 14][sample.round as usize % 3] / 10;
    }
    let report = report_on(&record).unwrap();
    assert!(text_of(&report).contains("is undecided here: 1 of 2 parts"), "{}", text_of(&report));
}

#[test]
fn unreached_interval_width_of_a_filling_is_reported() {
    let mut record = filled(&[1.0, 1.0]);
    record.header.plan.rules.stop = Stop::Ratio { half_width: 1e-6, rounds_min: 10 };
    let warnings = report_on(&record).unwrap().warnings;
    let wide = |warning: &Warning| matches!(warning, Warning::WidthNotReached { comparisons: 2, .. });
    assert!(warnings.iter().any(|advisory| wide(&advisory.warning)), "{warnings:?}");
}
