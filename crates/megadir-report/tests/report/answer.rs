//! The report first answers the study's question: the group that the study declares leads, in one sentence with
//! intervals.

use megadir_record::{ArmId, Group, GroupRule, Pair, Record};
use megadir_report::chart::{Width, main_picture};
use megadir_report::{FindingKind, Style, render};

use crate::listing::study;
use crate::report_on;
use crate::synthetic::{Synthetic, arm};

fn first(record: &Record) -> (FindingKind, Option<String>, String) {
    let report = report_on(record).expect("it can be summarised");
    let main = report.findings.iter().find(|finding| !finding.loud).expect("something is said");
    let picture = main_picture(&report, Width::Wide).expect("a picture");
    assert_eq!(picture.group, main.group, "the picture shows the answer");
    let table = render::table(&report, 2000, Style { color: false, unicode: true });
    assert_eq!(table.lines().nth(2), Some(main.text.as_str()), "the terminal says the same");
    (main.kind, main.group.clone(), main.text.clone())
}

#[test]
fn the_group_that_a_study_declares_leads_whatever_it_is() {
    let mut record = study().record();
    for group in 0..record.header.plan.groups.len() {
        let groups = &mut record.header.plan.groups;
        for (place, other) in groups.iter_mut().enumerate() {
            other.answers = place == group;
        }
        let name = groups[group].name.clone();
        assert_eq!(first(&record).1, Some(name));
    }
}

#[test]
fn growth_compares_the_largest_with_the_smallest() {
    let mut record = study().record();
    let groups = &mut record.header.plan.groups;
    groups.iter_mut().for_each(|group| group.answers = matches!(group.rule, GroupRule::Grow { .. }));
    let (kind, _, text) = first(&record);
    assert_eq!(kind, FindingKind::Answer);
    assert!(text.starts_with("On ext4, the largest directory takes "), "{text}");
    assert!(text.contains("x [") && text.contains("(read, 100 000 entries against 1 000): slower"), "{text}");
}

/// A record of several workers compared with one, in one directory and in a hundred.
fn workers(ratios: &[f64]) -> Record {
    let mut synthetic = Synthetic::ratios(&[]);
    let names = ["two in 1", "four in 1", "two in 100", "four in 100", "eight in 1", "eight in 100"];
    let arms = ratios.iter().zip(names).map(|(ratio, name)| arm(name, 1e6 * ratio));
    synthetic.arms = std::iter::once(arm("one", 1e6)).chain(arms).collect();
    let pair = |(number, name): (u32, &str)| {
        let (subject, at) = name.split_once(" in ").expect("two words");
        Pair {
            subject: format!("{subject} workers"),
            than: "1 worker".into(),
            at: format!("{at} directories"),
            wall_time: true,
            arm: ArmId(number),
            to: ArmId(0),
        }
    };
    let pairs = (1..).zip(names).take(ratios.len()).map(pair).collect();
    let rule = GroupRule::Pairs { pairs };
    synthetic.groups = vec![Group::new("buffer", "Do they help?", true, rule)];
    synthetic.record()
}

#[test]
fn few_pairs_are_listed_and_many_are_given_by_range() {
    let (kind, _, text) = first(&workers(&[0.5, 0.4, 1.0, 2.0]));
    assert_eq!(kind, FindingKind::Answer);
    assert!(text.starts_with("On ext4, 1 directories: 1 worker takes "), "{text}");
    assert!(text.contains(" a file; of that two workers 0.50"), "{text}");
    assert!(text.ends_with(": 1 of 4 slower, 2 faster, 1 the same."), "{text}");
    let (_, _, text) = first(&workers(&[0.5, 0.4, 1.0, 2.0, 0.3, 4.0]));
    assert!(text.contains("; the others from 0.30"), "{text}");
    assert!(text.contains("(eight workers, 1 directories) to 4.0"), "{text}");
    assert!(
        text.ends_with("of that (eight workers, 100 directories): 2 of 6 slower, 3 faster, 1 the same."),
        "{text}"
    );
}

#[test]
fn undeclared_records_lead_with_the_most_informative_rule() {
    let mut record = study().record();
    record.header.plan.groups.iter_mut().for_each(|group| group.answers = false);
    assert_eq!(first(&record).1.as_deref(), Some("decomposition"));
    record.header.plan.groups.retain(|group| !matches!(group.rule, GroupRule::Decompose { .. }));
    assert_eq!(first(&record).1.as_deref(), Some("growth"));
}
