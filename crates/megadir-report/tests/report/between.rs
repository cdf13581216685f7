//! Two runs are compared arm by arm; what does not belong together is told.

use megadir_record::Record;
use megadir_report::between::{Between, Run, between, table};
use megadir_report::summary::{Outcome, Verdict};
use megadir_report::{Style, summarize};

use crate::golden::golden;
use crate::synthetic::Synthetic;

fn run(seed: u64, ratios: &[(&'static str, f64)]) -> Record {
    Synthetic { seed, ..Synthetic::ratios(ratios) }.record()
}

fn compare(old: &Record, new: &Record) -> Between {
    let (of_old, of_new) =
        (summarize(old).expect("a record with samples"), summarize(new).expect("a record with samples"));
    between(Run { record: old, summary: &of_old }, Run { record: new, summary: &of_new })
}

#[test]
fn changes_are_found_and_what_stayed_is_not_called_changed() {
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
    assert_eq!(compared.slower(0.0).iter().map(|row| row.arm.as_str()).collect::<Vec<_>>(), ["b"]);
    assert!(compared.slower(0.3).is_empty());
    let mean = compared.geometric_mean.unwrap();
    assert!((mean - 1.25_f64.powf(1.0 / 3.0)).abs() < 0.02, "{mean}");
    golden("between.table.txt", &table(&compared, 80, Style { color: false, unicode: true }));
}

#[test]
fn other_machines_file_systems_and_data_are_told() {
    let old = run(1, &[("a", 0.5)]);
    let mut new = run(2, &[("a", 0.5)]);
    let machine = &mut new.header.machine;
    machine.kernel = "Linux 7.0".into();
    machine.file_system.kind = "xfs".into();
    machine.memory_bytes = None;
    let told = compare(&old, &new).differences;
    assert_eq!(
        told,
        [
            "kernel: Linux 6.18.44 against Linux 7.0",
            "memory: 8 GiB against unknown",
            "file system: ext4 against xfs"
        ]
    );
    // What is in force is told where both know of it, by the lines that differ.
    let mut new = run(2, &[("a", 0.5)]);
    let mut old = old;
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    old.header.machine.mitigations = words(&["retbleed: Mitigation", "spectre_v2: Mitigation"]);
    new.header.machine.mitigations = words(&["retbleed: Mitigation", "spectre_v2: Vulnerable"]);
    old.header.machine.settings = words(&[]);
    new.header.machine.settings = words(&["vm.dirty_ratio = 20"]);
    old.header.machine.file_system.block_stack = words(&["loop3 (2.0 GiB)", "sda (1.0 GiB)"]);
    new.header.machine.file_system.block_stack = words(&["loop0 (2.0 GiB)"]);
    let told = compare(&old, &new).differences;
    assert_eq!(
        told,
        [
            "mitigations: spectre_v2: Mitigation against spectre_v2: Vulnerable",
            "devices below the file system: (1.0 GiB) against none of these"
        ]
    );
    // Another data set makes other arms of the same names.
    let mut new = run(2, &[("a", 0.5)]);
    new.header.plan.data[0].entries += 1;
    let compared = compare(&old, &new);
    assert!(compared.rows.is_empty() && compared.only_new.len() == 2, "{compared:?}");
}

#[test]
fn others_work_on_the_machine_is_told() {
    let mut old = run(1, &[("a", 0.5)]);
    let note = |kind: &str, text: &str| megadir_record::Note { kind: kind.to_owned(), text: text.to_owned() };
    old.notes = vec![note("load", "The load was 5.07 on 2 processors."), note("arm-left-out", "No matter.")];
    let mut new = run(2, &[("a", 0.5)]);
    new.notes = vec![note("wine", "This ran under Wine 8.0: it says nothing of Windows.")];
    let compared = compare(&old, &new);
    let told = [
        "The old run: The load was 5.07 on 2 processors.",
        "The new run: This ran under Wine 8.0: it says nothing of Windows.",
    ];
    assert_eq!(compared.disturbances, told);
    let text = table(&compared, 80, Style { color: false, unicode: true });
    assert!(text.contains("! The old run: The load was 5.07 on 2 processors."), "{text}");
}

#[test]
fn too_few_rounds_judge_nothing() {
    let few = |seed| Synthetic { rounds: 2, seed, ..Synthetic::ratios(&[]) }.record();
    let compared = compare(&few(1), &few(2));
    assert!(matches!(compared.rows[0].outcome, Outcome::TooFewRounds { .. }), "{:?}", compared.rows);
}
