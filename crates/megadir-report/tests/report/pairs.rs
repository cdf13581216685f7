//! Contrasts between two arms are recovered, and the source's claim about them is judged by them.

use megadir_record::{ArmId, Group, GroupRule, Keys, LookupCall, Pair, Presence, Record, Work};
use megadir_report::summary::{GroupReading, Outcome, Verdict};
use megadir_report::{FindingKind, Report};

use crate::report_on;
use crate::synthetic::{Synthetic, arm};

/// A record of look-ups in which absent names cost these multiples of present ones.
pub(crate) fn record(ratios: [f64; 2]) -> Record {
    let arms: Vec<_> = [("a", 1.0), ("b", ratios[0]), ("c", 2.0), ("d", 2.0 * ratios[1])]
        .map(|(name, times)| arm(name, 1e6 * times))
        .into();
    let mut synthetic = Synthetic::ratios(&[]);
    synthetic.arms = arms;
    let mut record = synthetic.record();
    let plan = &mut record.header.plan;
    plan.study = "lookup".into();
    plan.claims = megadir_record::claims::of_earlier("lookup");
    let pair = |arm: u32, at: &str| Pair {
        subject: "absent names".into(),
        than: "present ones".into(),
        at: at.into(),
        wall_time: false,
        arm: ArmId(arm),
        to: ArmId(arm - 1),
    };
    let pairs = vec![pair(1, "one name of 100 000"), pair(3, "any name of 100 000")];
    let rule = GroupRule::Pairs { pairs };
    plan.groups = vec![Group::new("absent", "Do they?", false, rule)];
    for planned in &mut plan.arms {
        planned.groups = vec!["absent".into()];
        let presence = if planned.id.0 % 2 == 0 { Presence::Present } else { Presence::Absent };
        planned.work = Work::Lookup { presence, keys: Keys::Random, call: LookupCall::Fstatat };
    }
    for sample in &mut record.samples {
        (sample.counted.entries, sample.counted.hash) = (u64::from(sample.arm.0 % 2 == 0), 0);
    }
    record
}

fn texts_of(report: &Report) -> Vec<&str> {
    let pairs = report.findings.iter().filter(|finding| finding.kind == FindingKind::Pair);
    pairs.map(|finding| finding.text.as_str()).collect()
}

#[test]
fn ratios_are_recovered_and_the_claim_holds_where_all_agree() {
    let report = report_on(&record([1.8, 1.2])).unwrap();
    let GroupReading::Pairs(pairs) = &report.summary.groups[0].reading else { panic!("not pairs") };
    for (row, truth) in pairs.rows.iter().zip([1.8, 1.2]) {
        let Outcome::Judged { ratio, adjusted, verdict, .. } = &row.outcome else { panic!("not judged") };
        assert!((ratio.value - truth).abs() < 0.02, "{ratio:?}");
        assert!(adjusted.unwrap().low < truth && truth < adjusted.unwrap().high);
        assert_eq!(*verdict, Verdict::Slower { negligible: false });
    }
    let texts = texts_of(&report);
    let claim = "The claim of the article that absent names cost more than present ones stands here in all 2 comparisons.";
    assert_eq!(texts[0], claim);
    assert_eq!(texts.len(), 1, "each is in the answer");
    let answer = &report.findings[0];
    assert_eq!(answer.kind, FindingKind::Answer);
    assert!(answer.text.starts_with("On ext4, one name of 100 000: present ones takes "), "{}", answer.text);
    assert!(answer.text.contains("; of that absent names 1.80x ["), "{}", answer.text);
    // If another group answers the question, they are listed one by one.
    let mut beside = record([1.8, 1.2]);
    let groups = &mut beside.header.plan.groups;
    let rule = GroupRule::Grow { series: vec![("all".into(), vec![ArmId(0)])] };
    groups.push(Group::new("growth", "How?", true, rule));
    let beside = report_on(&beside).unwrap();
    let texts = texts_of(&beside);
    assert!(texts[1].starts_with("On ext4, one name of 100 000: absent names cost 1.80x ["), "{}", texts[1]);
    assert_eq!(texts.len(), 3);
}

#[test]
fn claim_fails_where_none_agrees_and_holds_partly_where_some_do() {
    let falls = report_on(&record([0.7, 1.0])).unwrap();
    assert!(texts_of(&falls)[0].contains("falls here: not shown in any of 2 comparisons, excluded in 2"));
    assert!(falls.findings[0].text.contains(": 1 of 2 faster, 1 the same."), "{}", falls.findings[0].text);
    let partly = report_on(&record([0.7, 1.5])).unwrap();
    assert!(texts_of(&partly)[0].contains("stands here in 1 of 2 comparisons and is excluded in 1"));
}

#[test]
fn look_up_with_unexpected_hits_is_not_compared() {
    let mut record = record([1.8, 1.2]);
    for sample in record.samples.iter_mut().filter(|sample| sample.arm == ArmId(1)) {
        sample.counted.hash = 3;
    }
    let report = report_on(&record).unwrap();
    let GroupReading::Pairs(pairs) = &report.summary.groups[0].reading else { panic!("not pairs") };
    assert_eq!(pairs.rows[0].outcome, Outcome::Unequal);
    assert!(matches!(pairs.rows[1].outcome, Outcome::Judged { .. }));
    let loud = report.findings.iter().find(|finding| finding.loud).unwrap();
    assert!(loud.text.contains("it found names that were never created"), "{}", loud.text);
}
