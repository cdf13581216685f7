//! Contradictions between plan, samples and end, in records without checksums.

use megadir_record::{Phase, Record, Sample, contradictions, jsonl};

use crate::example::{file, header, sample};

/// Returns a record of three complete rounds.
fn good() -> Record {
    let mut record = jsonl::read(&file()[..]).expect("the example is a whole record");
    record.header = header();
    (record.header.plan.rules.rounds, record.header.plan.rules.epochs) = (3, 1);
    let warm_up = [0, 1].map(|arm| Sample { phase: Phase::WarmUp, latency: None, ..sample(0, 0, arm) });
    let measured = (0..3).flat_map(|round| [sample(round, 0, 0), sample(round, 0, 1)]);
    let samples = warm_up.into_iter().chain(measured).enumerate();
    record.samples =
        samples.map(|(place, sample)| Sample { start_ns: 10 * place as u64, ..sample }).collect();
    record
}

/// Returns the sentences about a modified record.
fn about(spoil: impl FnOnce(&mut Record)) -> Vec<String> {
    let mut record = good();
    spoil(&mut record);
    contradictions(&record)
}

#[test]
fn a_record_as_a_run_writes_it_contradicts_nothing_wherever_it_was_killed() {
    let mut record = good();
    assert_eq!(contradictions(&record), Vec::<String>::new());
    record.end = None;
    while record.samples.pop().is_some() {
        assert_eq!(contradictions(&record), Vec::<String>::new(), "{} samples", record.samples.len());
    }
}

#[test]
fn each_contradiction_is_named() {
    type Spoil = fn(&mut Record);
    let cases: [(Spoil, &str); 10] = [
        (|record| record.samples.truncate(4), "is complete, but the record has 1 of 3 rounds."),
        (|record| record.header.plan.rules.rounds = 30, "is complete, but the record has 3 of 30 rounds."),
        (
            |record| {
                record.samples.remove(5);
            },
            "`arm 1` is missing from round 2.",
        ),
        (
            |record| {
                record.samples.remove(0);
            },
            "A sample is missing from warm-up round 1.",
        ),
        (
            |record| {
                record.samples.drain(4..6);
            },
            "Samples are missing before round 3.",
        ),
        (
            |record| record.samples.insert(5, record.samples[4].clone()),
            "`arm 0` is in round 2 more than once.",
        ),
        (|record| record.samples[4].arm = record.samples[5].arm, "`arm 1` is in round 2 more than once."),
        (
            |record| record.samples[4..].rotate_left(2),
            "The samples of round 2 follow the samples of round 3.",
        ),
        (|record| record.samples.swap(4, 5), "The samples of round 2 are out of order."),
        (
            |record| record.samples[5].latency = None,
            "`arm 1` lacks the times of its single operations in round 2.",
        ),
    ];
    for (spoil, expected) in cases {
        let sentences = about(spoil);
        // What follows a lost sample is still in order.
        assert!(sentences.len() == 1 || !expected.contains("is missing from"), "{expected}: {sentences:?}");
        assert!(
            sentences.iter().any(|sentence| sentence.contains(expected.trim_end_matches('.'))),
            "{expected}: {sentences:?}"
        );
    }
}

#[test]
fn a_hundred_of_a_kind_are_one_sentence() {
    let sentences = about(|record| record.samples.iter_mut().for_each(|sample| sample.latency = None));
    // An arm without further data than its samples.
    assert_eq!(sentences, Vec::<String>::new());
    let sentences = about(|record| {
        record.header.plan.arms[1].rate_per_s = Some(10);
        record.samples.iter_mut().for_each(|sample| sample.latency = None);
    });
    assert_eq!(sentences, ["`arm 1` lacks the times of its single operations in round 1 (and 2 more)."]);
}
