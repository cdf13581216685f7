//! Injected exponents are recovered and named.

use megadir_report::summary::{GroupReading, Series, Shape};
use megadir_report::{FindingKind, Report};

use crate::listing::study;
use crate::report_on;

/// Summary of the study with these times for the small directories, nanoseconds.
fn grown(of_1000: f64, of_10000: f64) -> Report {
    let mut study = study();
    (study.arms[5].ns, study.arms[6].ns) = (of_1000, of_10000);
    report_on(&study.record()).expect("the study can be summarised")
}

fn series(report: &Report) -> &Series {
    match &report.summary.groups[3].reading {
        GroupReading::Grow(growth) => &growth.series[0],
        other => panic!("{other:?}"),
    }
}

fn text_of(report: &Report) -> &str {
    &report
        .findings
        .iter()
        .find(|finding| finding.kind == FindingKind::Growth)
        .expect("the study can be summarised")
        .text
}

#[test]
fn a_line_is_linear() {
    let report = grown(0.412e6, 4.12e6);
    assert_eq!(series(&report).shape, Shape::Linear);
    let text = text_of(&report);
    assert!(text.starts_with("On ext4, from 1 000 to 100 000 entries, the time of read grows"), "{text}");
    assert!(text.ends_with(": linear, as the article says."), "{text}");
}

#[test]
fn a_square_is_more_than_linear() {
    let report = grown(0.004_12e6, 0.412e6);
    let series = series(&report);
    assert_eq!(series.shape, Shape::MoreThanLinear);
    assert!((series.exponent.unwrap().value - 2.0).abs() < 0.01);
    assert_eq!(series.steps.len(), 2);
    assert!(text_of(&report).contains("more than linear, which the article calls linear"));
}

#[test]
fn fixed_cost_bends_the_curve_and_shows_in_the_last_step() {
    let report = grown(4.0e6, 7.0e6);
    assert_eq!(series(&report).shape, Shape::LessThanLinear);
    assert!(text_of(&report).contains("; from 10 000 to 100 000 alone, 0.7"), "{}", text_of(&report));
}

#[test]
fn a_wide_interval_that_includes_one_is_no_proof() {
    let mut noisy = study();
    noisy.noise = 0.2;
    let report = report_on(&noisy.record()).unwrap();
    assert_eq!(series(&report).shape, Shape::PerhapsLinear);
    assert!(text_of(&report).contains("perhaps linear"), "{}", text_of(&report));
}
