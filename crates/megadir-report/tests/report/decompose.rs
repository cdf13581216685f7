//! Injected costs are recovered as shares, and the claim about the buffer follows from them.

use megadir_report::summary::{Claim, Decomposition, GroupReading};
use megadir_report::{FindingKind, Report};

use crate::listing::{share, study};
use crate::report_on;
use crate::synthetic::Synthetic;

fn decomposition(report: &Report) -> &Decomposition {
    match &report.summary.groups[0].reading {
        GroupReading::Decompose(decomposition) => decomposition,
        other => panic!("{other:?}"),
    }
}

fn text_of(report: &Report) -> &str {
    &report
        .findings
        .iter()
        .find(|finding| finding.kind == FindingKind::Decomposition)
        .expect("a decomposition is found")
        .text
}

#[test]
fn injected_shares_are_recovered() {
    let report = report_on(&study().record()).unwrap();
    let decomposition = decomposition(&report);
    let mut sum = 0.0;
    for factor in &decomposition.factors {
        let found = factor.share.unwrap();
        let interval = found.interval.unwrap();
        let truth = share(&factor.name);
        assert!((found.value - truth).abs() < 0.015, "{}: {found:?}, not {truth}", factor.name);
        assert!(interval.low - 0.01 < truth && truth < interval.high + 0.01, "{}: {found:?}", factor.name);
        sum += found.value;
    }
    assert!((sum - 1.0).abs() < 0.02, "{sum}");
    assert!((decomposition.difference_ns.value - 1780.0).abs() < 40.0);
    assert!(decomposition.factors[0].common && decomposition.factors[0].cost_ns.value == 0.0);
}

#[test]
fn a_buffer_that_makes_little_is_not_the_cause() {
    let report = report_on(&study().record()).unwrap();
    let reading = decomposition(&report).reading.clone().unwrap();
    assert_eq!(reading.factors, ["buffer", "readdir call"]);
    assert_eq!(reading.claim, Claim::Falls);
    let text = text_of(&report);
    assert!(text.starts_with("On ext4, of the 1.7"), "{text}");
    assert!(
        text.contains("an entry between `ls -l, rebuilt` and `getdents with a buffer of 5 MiB`, 50 % ["),
        "{text}"
    );
    assert!(text.contains("goes into attributes, 17 % ["), "{text}");
    assert!(text.ends_with("the buffer is not the cause, contrary to the article."), "{text}");
}

/// Adds this cost in milliseconds to 32 KiB reads, in all arms of the slow program.
fn slow_buffer(ms: f64) -> Synthetic {
    let mut study = study();
    for arm in study.arms.iter_mut().filter(|arm| arm.buffer_bytes == 32_768) {
        arm.ns += ms * 1e6;
    }
    study
}

#[test]
fn claim_holds_where_the_buffer_explains_most() {
    let report = report_on(&slow_buffer(400.0).record()).unwrap();
    assert_eq!(decomposition(&report).reading.as_ref().unwrap().claim, Claim::Holds);
    let text = text_of(&report);
    assert!(text.contains("] goes into buffer, "), "{text}");
    assert!(text.ends_with("the buffer or its call is the cause, as claimed by the article."), "{text}");
}

#[test]
fn claim_is_undecided_at_one_half() {
    let report = report_on(&slow_buffer(174.0).record()).unwrap();
    assert_eq!(decomposition(&report).reading.as_ref().unwrap().claim, Claim::Undecided);
    assert!(
        text_of(&report).ends_with("this run does not show if the buffer is the cause."),
        "{}",
        text_of(&report)
    );
}

#[test]
fn without_a_difference_there_is_nothing_to_take_apart() {
    let mut equal = study();
    equal.arms.iter_mut().for_each(|arm| arm.ns = 40e6);
    let report = report_on(&equal.record()).unwrap();
    assert!(decomposition(&report).factors.iter().all(|factor| factor.share.is_none()));
    assert!(text_of(&report).contains("are not distinguishable"), "{}", text_of(&report));
}

#[test]
fn faster_slow_program_is_reported() {
    let mut reversed = study();
    let last = reversed.arms.len() - 1;
    reversed.arms[last].ns = 500e6;
    let report = report_on(&reversed.record()).unwrap();
    assert_eq!(decomposition(&report).reading.as_ref().unwrap().claim, Claim::Undecided);
    assert!(text_of(&report).contains("`ls -l, rebuilt` is the faster of the two"), "{}", text_of(&report));
}
