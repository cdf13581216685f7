//! Verdicts of several machines: the same everywhere, different, or open; times as quotients.

use megadir_record::Record;
use megadir_report::between::{MachineRuns, Machines, Travels, machines, render_machines};
use megadir_report::{Report, View};

use crate::between::{PLAIN, run};
use crate::golden::golden;
use crate::report_on;

/// On a machine that takes `times` as long, and with a study of this name.
fn on(seed: u64, times: f64, study: &str, ratios: &[(&'static str, f64)]) -> Record {
    let mut record = run(seed, ratios);
    record.header.plan.study = study.into();
    record.samples.iter_mut().for_each(|sample| {
        sample.elapsed_ns = (sample.elapsed_ns as f64 * times).round() as u64;
    });
    record
}

fn compare(sides: &[(&str, Vec<Record>)]) -> Machines {
    let reports: Vec<(&str, Vec<Report>)> = sides
        .iter()
        .map(|(name, records)| {
            (*name, records.iter().map(|record| report_on(record).expect("a record with samples")).collect())
        })
        .collect();
    let runs: Vec<MachineRuns<'_>> =
        reports.iter().map(|(name, reports)| MachineRuns { name, reports }).collect();
    machines(&runs)
}

fn three() -> Machines {
    compare(&[
        (
            "home",
            vec![on(1, 1.0, "one", &[("a", 0.5), ("b", 2.0), ("c", 1.0)]), on(2, 1.0, "two", &[("d", 3.0)])],
        ),
        (
            "work",
            vec![on(3, 4.0, "one", &[("a", 0.6), ("b", 0.5), ("c", 1.0)]), on(4, 4.0, "two", &[("d", 2.0)])],
        ),
        ("lab", vec![on(5, 0.5, "one", &[("a", 0.4), ("b", 2.0), ("c", 1.0), ("e", 2.0)])]),
    ])
}

#[test]
fn a_ratio_travels_if_every_machine_has_the_same_verdict() {
    let compared = three();
    let found: Vec<(&str, &str, Travels)> = compared
        .ratios
        .iter()
        .map(|ratio| (ratio.study.as_str(), ratio.arm.as_str(), ratio.travels))
        .collect();
    let expected = [
        ("one", "a", Travels::Yes),
        ("one", "b", Travels::No),
        ("one", "c", Travels::Yes),
        ("two", "d", Travels::Yes),
    ];
    assert_eq!(found, expected, "without the baseline itself, and without what one machine alone has");
    assert_eq!(compared.missing, ["two"]);
    assert!(compared.ratios[3].each[2].is_none());
}

#[test]
fn a_ratio_that_one_machine_could_not_decide_is_open() {
    let mut few = on(3, 1.0, "one", &[("a", 0.5)]);
    few.samples.retain(|sample| sample.round < 3);
    let compared = compare(&[("home", vec![on(1, 1.0, "one", &[("a", 0.5)])]), ("work", vec![few])]);
    assert_eq!(compared.ratios[0].travels, Travels::Undecided);
}

#[test]
fn times_are_quotients_with_the_first_machine() {
    let compared = three();
    assert_eq!(compared.times.len(), 1, "study two is missing on one machine");
    let [(low, high), (lab_low, _)] = compared.times[0].each[..] else { panic!("two other machines") };
    assert!((0.9..1.1).contains(&low), "b takes a quarter there: {low}");
    assert!((4.3..5.3).contains(&high), "a takes longer there: {high}");
    assert!((0.35..0.45).contains(&lab_low), "{lab_low}");
}

#[test]
fn the_formats_show_it_and_others_are_refused() {
    let compared = three();
    let view = View { width: 80, style: PLAIN };
    for format in ["screen", "table", "markdown"] {
        golden(&format!("machines.{format}.txt"), &render_machines(&compared, format, &view).expect("known"));
    }
    let screen = render_machines(&compared, "screen", &view).expect("known");
    assert!(
        screen.lines().count() <= 25 && screen.lines().all(|line| line.chars().count() <= 80),
        "{screen}"
    );
    let json = render_machines(&compared, "json", &view).expect("known");
    let data: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(data["ratios"][1]["travels"], "no");
    assert_eq!(render_machines(&compared, "csv", &view), Err("screen, table, markdown, json".into()));
}
