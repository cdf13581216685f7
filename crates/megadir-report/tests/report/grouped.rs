//! Remarks about many arms appear once: their number, the worst, and all of them if there is space.

use megadir_record::{GroupRule, Record, Role};
use megadir_report::{Style, page, render};

use crate::report_on;
use crate::synthetic::{ArmSummary, Synthetic, arm, note};
use crate::warnings::stretch;

const NAMES: [&str; 6] = ["one", "two", "three", "four", "five", "six"];

/// A record of six baselines compared with themselves, with intervals of at least 5 %; the fifth is worst.
fn wide() -> Record {
    let mut synthetic = Synthetic::ratios(&[]);
    synthetic.entries = (1..=6).map(|n| 1_000 * n).collect();
    let both = |(data, name): (u32, &&'static str)| {
        let baseline = ArmSummary { role: Role::Baseline, data, groups: &[], ..arm(name, 1e6) };
        let control = ArmSummary { role: Role::Control, name: "itself", ..baseline.clone() };
        [baseline, control]
    };
    synthetic.arms = (0..).zip(&NAMES).flat_map(both).collect();
    synthetic.groups.clear();
    let mut record = synthetic.record();
    for place in 0..6 {
        let width = if place == 4 { 2.0 } else { 1.0 };
        stretch(&mut record, Some(2 * place + 1), |round| {
            1.0 + width * 0.3 * (f64::from(round * 7 % 30) / 29.0 - 0.5)
        });
    }
    record
}

fn table(record: &Record) -> String {
    let report = report_on(record).expect("it can be summarised");
    render::table(&report, 200, Style { color: false, unicode: true })
}

#[test]
fn note_appears_once_for_all_arms_with_the_worst() {
    let record = wide();
    let report = report_on(&record).expect("it can be summarised");
    let wide = report.warnings.iter().filter(|advisory| advisory.warning.kind() == "resolution-wide").count();
    assert_eq!(wide, 6, "the summary keeps each: {:?}", report.warnings);
    let table = table(&record);
    let lines = |part: &str| table.lines().filter(|line| line.contains(part)).collect::<Vec<_>>();
    let printed = lines("to see how far equal work differs");
    assert_eq!(printed.len(), 1, "{table}");
    assert!(
        printed[0].starts_with("Note: 6 arms were measured twice in every round")
            && printed[0].contains("`five` most"),
        "{printed:?}"
    );
    let resolution = lines("Resolution: ");
    assert_eq!(resolution.len(), 1, "{table}");
    assert!(
        resolution[0].contains("6 arms against themselves") && resolution[0].contains("(five, "),
        "{resolution:?}"
    );
    for text in [render::markdown(&report), page::html(&report)] {
        for name in NAMES {
            assert!(text.contains(&format!("{name}: ")), "each by itself, {name}: {text}");
        }
    }
    // A single one is reported as before.
    let mut record = wide_but_one();
    assert!(
        self::table(&record).contains("Note: `five` was measured twice in every round"),
        "{}",
        self::table(&record)
    );
    record.notes =
        (0..5).map(|n| note("cold-without-reads", &format!("ArmSummary {n} read nothing."))).collect();
    let printed = self::table(&record);
    assert!(
        printed.contains("ArmSummary 0 read nothing. ArmSummary 1 read nothing. ArmSummary 2 read nothing. And 2 more like these."),
        "{printed}"
    );
    assert_eq!(printed.matches("What the arm needs").count(), 1, "what to do is said once: {printed}");
}

/// A record in which only the fifth baseline has a wide interval.
fn wide_but_one() -> Record {
    let mut record = wide();
    for sample in record.samples.iter_mut().filter(|sample| sample.arm.0 != 9) {
        sample.elapsed_ns = 1_000_000 + u64::from(sample.round % 3);
    }
    record
}

#[test]
fn file_systems_on_ground_of_their_own_leave_no_empty_table() {
    let mut record = crate::file_systems::record();
    let title = |record: &Record| {
        let report = report_on(record).expect("it can be summarised");
        (report.summary.groups.len(), render::markdown(&report))
    };
    assert_eq!(title(&record).0, 1);
    // Only tmpfs is contrasted with an image.
    let GroupRule::Pairs { pairs } = &mut record.header.plan.groups[0].rule else { panic!("not pairs") };
    pairs.retain(|pair| pair.subject == "tmpfs");
    assert!(!pairs.is_empty());
    let (groups, page) = title(&record);
    assert!(groups == 0 && !page.contains("## What of it?"), "{page}");
    assert!(page.contains("tmpfs lies on memory"), "the reason is printed: {page}");
}
