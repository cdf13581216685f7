//! Present and absent names, their distributions, and that a block allocates nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use megadir_record::{NameScheme, Phase};

use megadir_testkit::require;

use super::*;
use crate::dataset::{NAME_BYTES_MAX, Names};
use crate::kind::lookup::system_calls;
use crate::measure::Calibration;

const CALL: LookupCall = if cfg!(windows) { LookupCall::AttributesByPath } else { LookupCall::Fstatat };

const NAMES: Names = Names { scheme: NameScheme::Md5, seed: 3 };

fn key(round: u32) -> BlockKey {
    BlockKey { phase: Phase::Measure, round, attempt: 0, distinct: false, salt: 0 }
}

fn made(entries: u64) -> NameSource {
    NameSource::Made { names: NAMES, entries }
}

#[test]
fn present_names_are_found_and_absent_ones_are_not() {
    let parent = tempfile::tempdir().unwrap();
    let mut buffer = [0; NAME_BYTES_MAX];
    for index in 0..300 {
        let name = String::from_utf8(NAMES.write(index, &mut buffer).to_vec()).unwrap();
        std::fs::write(parent.path().join(name), "").unwrap();
    }
    let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
    let control = RunControl { stop: &stop, heartbeat: &heartbeat };
    let directory = Dir::open(parent.path()).unwrap();
    let listed = NameSource::sample(&directory, 5, SAMPLE_MAX, control).unwrap();
    let mut stopwatch = Stopwatch::new(Calibration::over(Duration::from_millis(1)));
    for source in [made(300), listed] {
        for presence in [Presence::Present, Presence::Absent] {
            let all = [Keys::Fixed, Keys::Random, Keys::Zipf].into_iter();
            let calls = system_calls().into_iter();
            for (keys, call) in all.flat_map(|keys| calls.clone().map(move |call| (keys, call))) {
                let mut lookup = Lookup::new(presence, keys, call, &source, 9);
                if let Some(reason) = lookup.unavailable(&directory) {
                    let may_be_missing = require::is_wine() && call == LookupCall::AttributesByHandle;
                    assert!(may_be_missing, "{call:?}: {reason}");
                    require::unavailable(call.name(), &reason);
                    continue;
                }
                let block = WorkBlock { directory: &directory, key: key(1), operations: 5000, control };
                lookup.setup(&block).unwrap();
                let counted = lookup.run(&block, &mut stopwatch).unwrap();
                let found = u64::from(presence == Presence::Present);
                assert_eq!((counted.entries, counted.hash), (found, 0), "{presence:?} {keys:?} {call:?}");
                assert_eq!(stopwatch.latency().unwrap().operations(), 5000);
                stopwatch.clear();
            }
        }
    }
    // A missing file is detected: the source claims 301 files, and there are 300.
    let source = made(301);
    let mut lookup = Lookup::new(Presence::Present, Keys::Random, CALL, &source, 9);
    let block = WorkBlock { directory: &directory, key: key(1), operations: 4096, control };
    lookup.setup(&block).unwrap();
    let counted = lookup.run(&block, &mut stopwatch).unwrap();
    assert_eq!(counted.entries, 0);
    assert!(counted.hash > 3900, "{}", counted.hash);
}

#[test]
fn a_block_allocates_nothing() {
    let parent = tempfile::tempdir().unwrap();
    std::fs::write(parent.path().join("here"), "").unwrap();
    let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
    let control = RunControl { stop: &stop, heartbeat: &heartbeat };
    let directory = Dir::open(parent.path()).unwrap();
    let mut stopwatch = Stopwatch::new(Calibration::over(Duration::from_millis(1)));
    for (presence, source) in
        [(Presence::Present, NameSource::Listed(vec![c"here".into()])), (Presence::Absent, made(1000))]
    {
        for call in system_calls() {
            let mut lookup = Lookup::new(presence, Keys::Random, call, &source, 9);
            let mut allocated = Vec::new();
            for operations in [1, 20_000] {
                let block = WorkBlock { directory: &directory, key: key(1), operations, control };
                lookup.setup(&block).unwrap();
                stopwatch.clear();
                let counted = allocation_counter::measure(|| {
                    lookup.run(&block, &mut stopwatch).unwrap();
                });
                allocated.push(counted.count_total);
            }
            assert_eq!(allocated, [0, 0], "{presence:?} {call:?}");
        }
    }
    // The counter does detect an allocation.
    assert!(allocation_counter::measure(|| drop(std::hint::black_box(vec![0_u8; 9]))).count_total > 0);
}

#[test]
fn blocks_draw_their_own_names_and_the_same_ones_again() {
    let source = made(1_000_000);
    let lookup = Lookup::new(Presence::Present, Keys::Random, CALL, &source, 9);
    assert_eq!(lookup.draw(key(1), 100), lookup.draw(key(1), 100));
    assert_ne!(lookup.draw(key(1), 100), lookup.draw(key(2), 100));
    let all: HashSet<u64> = (0..40).flat_map(|round| lookup.draw(key(round), 1000)).collect();
    // 40 000 draws of 1 000 000 hit 39 211 different names on average, with a deviation of 28.
    assert!((39_000..39_400).contains(&all.len()), "{}", all.len());
    let fixed = Lookup::new(Presence::Absent, Keys::Fixed, CALL, &source, 9);
    assert_eq!(fixed.draw(key(1), 100), fixed.draw(key(7), 100));
}

#[test]
fn no_name_is_looked_up_twice_after_a_drop() {
    let source = made(5000);
    for keys in [Keys::Random, Keys::Zipf] {
        let lookup = Lookup::new(Presence::Present, keys, CALL, &source, 9);
        let cold = |round| lookup.draw(BlockKey { distinct: true, ..key(round) }, 50);
        let names: HashSet<u64> = cold(1).into_iter().collect();
        assert!(names.len() == 50 && names.iter().all(|index| *index < 5000), "{keys:?}");
        assert_eq!(cold(1), cold(1));
        assert_ne!(cold(1), cold(2));
    }
    let single = made(1);
    for keys in [Keys::Fixed, Keys::Random, Keys::Zipf] {
        let lookup = Lookup::new(Presence::Present, keys, CALL, &single, 9);
        assert_eq!(lookup.draw(BlockKey { distinct: true, ..key(1) }, 1), [0], "{keys:?}");
    }
}

#[test]
fn popular_names_are_popular() {
    let source = made(1000);
    let lookup = Lookup::new(Presence::Present, Keys::Zipf, CALL, &source, 9);
    let mut counts: HashMap<u64, u64> = HashMap::new();
    for index in (0..50).flat_map(|round| lookup.draw(key(round), 2000)) {
        assert!(index < 1000);
        *counts.entry(index).or_default() += 1;
    }
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    // 100 000 draws; the harmonic number of 1000 is 7.4855, so the first name has 13 360 on average, the tenth 1336.
    assert!((12_800..13_900).contains(&counts[0]), "{}", counts[0]);
    assert!((1150..1550).contains(&counts[9]), "{}", counts[9]);
}
