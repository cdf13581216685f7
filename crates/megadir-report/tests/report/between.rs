//! Runs are compared arm by arm; incomparable runs are reported, and several runs per side are compared across
//! runs.

use megadir_record::Record;
use megadir_report::between::{
    Between, Condition, GateVerdict, Run, between, csv, html, markdown, screen, table,
};
use megadir_report::summary::{Outcome, Verdict};
use megadir_report::{Report, Style};

use crate::golden::golden;
use crate::report_on;
use crate::synthetic::{Synthetic, note};

pub(crate) const PLAIN: Style = Style { color: false, unicode: true };
/// A condition without waivers.
pub(crate) const STRICT: Condition =
    Condition { slower_by: Some(0.03), single_run: false, despite_warnings: false };
/// A condition for one run per side.
pub(crate) const SINGLE: Condition = Condition { single_run: true, ..STRICT };

pub(crate) fn run(seed: u64, ratios: &[(&'static str, f64)]) -> Record {
    Synthetic { seed, ..Synthetic::ratios(ratios) }.record()
}

/// Runs of one version; all times of each run are multiplied by its factor in `wholes`.
pub(crate) fn runs(seed: u64, wholes: &[f64], ratios: &[(&'static str, f64)]) -> Vec<Record> {
    let one_run = |(place, whole): (u64, &f64)| {
        let mut of = Synthetic { seed: seed + place, ..Synthetic::ratios(ratios) };
        of.arms.iter_mut().for_each(|arm| arm.ns *= whole);
        of.record()
    };
    (0..).zip(wholes).map(one_run).collect()
}

pub(crate) fn compare_all(old: &[Record], new: &[Record]) -> Between {
    let reports = |records: &[Record]| -> Vec<Report> {
        records.iter().map(|record| report_on(record).expect("a record with samples")).collect()
    };
    let (of_old, of_new) = (reports(old), reports(new));
    let names: Vec<String> = ('a'..='z').map(|letter| format!("{letter}.jsonl")).collect();
    let run = |(report, name)| Run { name, report };
    let old_runs: Vec<Run<'_>> = of_old.iter().zip(names.iter().map(String::as_str)).map(run).collect();
    let new_runs: Vec<Run<'_>> =
        of_new.iter().zip(names[old.len()..].iter().map(String::as_str)).map(run).collect();
    between(&old_runs, &new_runs).expect("runs on both sides")
}

pub(crate) fn compare(old: &Record, new: &Record) -> Between {
    compare_all(std::slice::from_ref(old), std::slice::from_ref(new))
}

/// Evaluates the gate; returns its result and its lines.
pub(crate) fn gate_of(mut compared: Between, condition: Condition) -> (GateVerdict, String) {
    compared.apply(condition);
    let gate = compared.gate.expect("asked for");
    (gate.verdict, gate.lines().join("\n"))
}

#[test]
fn changed_ratios_are_found_and_constant_ones_are_not() {
    let old = run(1, &[("a", 0.5), ("b", 2.0), ("gone", 1.0)]);
    let new = run(2, &[("b", 2.5), ("a", 0.5), ("come", 1.0)]);
    let compared = compare(&old, &new);
    assert!(compared.differences.is_empty(), "{:?}", compared.differences);
    let verdict = |arm: &str| {
        let row = compared.rows.iter().find(|row| row.arm == arm).unwrap();
        match &row.outcome {
            Outcome::Judged { ratio, verdict, .. } => (ratio.value, *verdict),
            other => panic!("{other:?}"),
        }
    };
    assert!((verdict("b").0 - 1.25).abs() < 0.03 && verdict("b").1 == Verdict::Slower { negligible: false });
    assert!(!matches!(
        verdict("a").1,
        Verdict::Slower { negligible: false } | Verdict::Faster { negligible: false }
    ));
    assert_eq!(
        (compared.only_old.as_slice(), compared.only_new.as_slice()),
        (&["gone".to_owned()][..], &["come".to_owned()][..])
    );
    let slower = |by: Option<f64>| {
        compared.rows.iter().filter(move |row| row.outcome.is_slower(by)).map(|row| row.arm.as_str())
    };
    assert_eq!(slower(None).collect::<Vec<_>>(), ["b"]);
    assert_eq!(slower(Some(0.3)).count(), 0);
    let mean = compared.geometric_mean.unwrap();
    assert!((mean - 1.25_f64.powf(1.0 / 3.0)).abs() < 0.02, "{mean}");
    golden("between.table.txt", &table(&compared, 80, PLAIN));
    golden("between.screen.txt", &screen(&compared, 80, PLAIN));
}

#[test]
fn differing_machines_file_systems_and_data_are_reported() {
    let old = run(1, &[("a", 0.5)]);
    let mut new = run(2, &[("a", 0.5)]);
    let machine = &mut new.header.machine;
    machine.kernel = "Linux 7.0".into();
    machine.file_system.kind = "xfs".into();
    machine.memory_bytes = None;
    let differences = compare(&old, &new).differences;
    assert_eq!(
        differences,
        [
            "kernel: Linux 6.18.44 against Linux 7.0",
            "memory: 8 GiB against unknown",
            "file system: ext4 against xfs"
        ]
    );
    // Vulnerability mitigations are compared line by line if both records have them.
    let mut new = run(2, &[("a", 0.5)]);
    let mut old = old;
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    old.header.machine.mitigations = words(&["retbleed: Mitigation", "spectre_v2: Mitigation"]);
    new.header.machine.mitigations = words(&["retbleed: Mitigation", "spectre_v2: Vulnerable"]);
    old.header.machine.settings = words(&[]);
    new.header.machine.settings = words(&["vm.dirty_ratio = 20"]);
    old.header.machine.file_system.block_stack = words(&["loop3 (2.0 GiB)", "sda (1.0 GiB)"]);
    new.header.machine.file_system.block_stack = words(&["loop0 (2.0 GiB)"]);
    let differences = compare(&old, &new).differences;
    assert_eq!(
        differences,
        [
            "mitigations: spectre_v2: Mitigation against spectre_v2: Vulnerable",
            "devices below the file system: (1.0 GiB) against none of these"
        ]
    );
    // Another data set makes arms of the same name different.
    let mut new = run(2, &[("a", 0.5)]);
    new.header.plan.data[0].entries += 1;
    let compared = compare(&old, &new);
    assert!(compared.rows.is_empty() && compared.only_new.len() == 2, "{compared:?}");
}

#[test]
fn differing_programs_within_one_version_are_reported() {
    let mut old = runs(1, &[1.0, 1.01, 0.99], &[("a", 0.5)]);
    old[2].header.machine.version = "0.2.0".into();
    old[1].header.machine.kernel = "Linux 7.0".into();
    let differences = compare_all(&old, &runs(11, &[1.0, 1.01, 0.99], &[("a", 0.5)])).differences;
    let expected =
        ["kernel: Linux 6.18.44 against Linux 7.0", "version among the old runs: 0.1.0 against 0.2.0"];
    assert_eq!(differences, expected);
}

#[test]
fn load_of_other_processes_is_reported() {
    let mut old = run(1, &[("a", 0.5)]);
    old.notes = vec![note("load", "The load was 5.07 on 2 processors."), note("arm-left-out", "No matter.")];
    let mut new = run(2, &[("a", 0.5)]);
    new.notes = vec![note("wine", "This ran under Wine 8.0: it says nothing of Windows.")];
    let compared = compare(&old, &new);
    let expected = [
        "The old run: The load was 5.07 on 2 processors.",
        "The new run: This ran under Wine 8.0: it says nothing of Windows.",
    ];
    assert_eq!(compared.disturbances, expected);
    let text = table(&compared, 80, PLAIN);
    assert!(text.contains("! The old run: The load was 5.07 on 2 processors."), "{text}");
}

/// The screen has room for three alarms.
#[test]
fn a_run_that_must_not_be_used_is_the_first_alarm() {
    let (mut old, mut new) = (run(1, &[("a", 0.5)]), run(2, &[("a", 0.5)]));
    old.notes = ["load", "stolen-time", "timer-gaps", "noisy"].map(|kind| note(kind, "Mild.")).to_vec();
    new.samples.iter_mut().filter(|sample| sample.arm.0 == 1).for_each(|sample| sample.elapsed_ns *= 2);
    let text = screen(&compare(&old, &new), 100, PLAIN);
    let alarms: Vec<&str> = text.lines().filter(|line| line.starts_with("! ")).collect();
    assert!(alarms[0].starts_with("! The new run: `base` against itself came out DIFFERENT"), "{text}");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.find("Do not use this run") < flat.find("Mild."), "{text}");
    let page = html(&compare(&old, &new));
    assert!(page.find("Do not use this run") < page.find("class=\"answer doubtful\""), "{page}");
}

#[test]
fn too_few_rounds_judge_nothing() {
    let few = |seed| Synthetic { rounds: 2, seed, ..Synthetic::ratios(&[]) }.record();
    let compared = compare(&few(1), &few(2));
    assert!(matches!(compared.rows[0].outcome, Outcome::TooFewRounds { .. }), "{:?}", compared.rows);
    assert_eq!(gate_of(compared, SINGLE).0, GateVerdict::NotJudged);
}

#[test]
fn variation_between_runs_is_no_difference_of_versions() {
    // Runs differ by 4 % as a whole and rounds by 1 %: compared across rounds, every pair of runs would differ.
    let (old, new) = ([1.0, 1.04, 0.96, 1.02], [1.03, 0.97, 1.05]);
    let arms = [("a", 0.5), ("b", 2.0)];
    let compared = compare_all(&runs(1, &old, &arms), &runs(11, &new, &arms));
    for row in &compared.rows {
        assert!(
            matches!(row.outcome, Outcome::Judged { verdict: Verdict::Inconclusive { .. }, .. }),
            "{row:?}"
        );
        assert_eq!((row.old_each_ns.len(), row.new_each_ns.len(), row.old_rounds), (4, 3, 120));
    }
    assert_eq!(gate_of(compared, STRICT).0, GateVerdict::Passed);
    let one_a_side = compare(&runs(1, &[0.96], &arms)[0], &runs(11, &[1.05], &arms)[0]);
    assert!(one_a_side.rows.iter().all(|row| row.outcome.is_slower(None)), "{:?}", one_a_side.rows);
    // A slow-down by a third is found.
    let slow = compare_all(&runs(1, &old, &arms), &runs(11, &new, &[("a", 0.5), ("b", 2.7)]));
    let (verdict, lines) = gate_of(slow.clone(), STRICT);
    assert_eq!((verdict, lines.lines().next()), (GateVerdict::Slower, Some("slower than before: b")));
    golden("between.runs.table.txt", &table(&slow, 80, PLAIN));
    let mut gated = slow;
    gated.apply(STRICT);
    golden("between.runs.csv", &csv(&gated));
    golden("between.runs.md", &markdown(&gated));
}
