//! Records for charts: one with known effects for each chart.

use megadir_record::{
    ArmId, CacheState, DataSource, FileOperation, Group, GroupRule, Keys, LookupCall, Pair, Presence, Record,
    Spread, SyncPolicy, Work,
};

use crate::fill::{files, work_on_files};
use crate::synthetic::{ArmSummary, Synthetic, arm};

/// The charts, each with a record that contains its data.
pub(crate) fn records() -> Vec<(&'static str, Record)> {
    vec![
        ("shares", crate::listing::study().record()),
        ("refusal", crate::refusal::record(&[9_600, 10_100, 10_400], 10_000, &[10_118.0])),
        ("break-even", crate::break_even::record([2.5, 0.5])),
        ("fill", crate::fill::filled(&[1.0, 1.1, 1.3, 1.02, 2.0])),
        ("overall", crate::file_systems::record()),
        ("overview", crate::file_systems::record()),
        ("heatmap", layouts()),
        ("dumbbell", caches()),
        ("scaling", workers()),
        ("durability", durable()),
        ("forest", Synthetic::ratios(&[("half", 0.5), ("the same", 1.0), ("a little more", 1.08)]).record()),
        ("growth", crate::listing::study().record()),
        ("main-effects", factors()),
        ("nines", crate::single::lookups()),
        ("stalls", crate::single::lookups()),
        ("run-order", crate::listing::study().record()),
    ]
}

/// A record of arms with these names and times, each on its own data set, contrasted with the arm before.
fn pairs(
    arms: &[(&'static str, f64)],
    entries: Vec<u64>,
    contrasts: &[(&str, &str, &str, u32, u32)],
) -> Record {
    let mut synthetic = Synthetic::ratios(&[]);
    synthetic.entries = entries;
    let last = synthetic.entries.len() as u32 - 1;
    let made = |(place, (name, ns)): (usize, &(&'static str, f64))| ArmSummary {
        data: (place as u32).min(last),
        groups: &["contrasts"],
        ..arm(name, *ns)
    };
    synthetic.arms = arms.iter().enumerate().map(made).collect();
    let pair = |(subject, than, at, arm, to): &(&str, &str, &str, u32, u32)| Pair {
        subject: (*subject).into(),
        than: (*than).into(),
        at: (*at).into(),
        wall_time: false,
        arm: ArmId(*arm),
        to: ArmId(*to),
    };
    let rule = GroupRule::Pairs { pairs: contrasts.iter().map(pair).collect() };
    synthetic.groups = vec![Group::new("contrasts", "Does it matter?", false, rule)];
    synthetic.record()
}

/// Flat and two layouts among 1000, 10 000 and 100 000 files: sharding loses first and wins last.
fn layouts() -> Record {
    let sizes = [1_000, 10_000, 100_000];
    let (mut arms, mut contrasts) = (Vec::new(), Vec::new());
    for (place, factor) in [1.0, 10.0, 100.0].into_iter().enumerate() {
        let flat = 3 * place as u32;
        arms.extend([
            ("flat", 1e5 * factor),
            ("prefix:2", 1e5 * factor * [1.6, 1.0, 0.5][place]),
            ("prefix:2/2", 1e5 * factor * [3.0, 1.3, 0.8][place]),
        ]);
        contrasts.extend([
            ("prefix:2", "flat", "creating", flat + 1, flat),
            ("prefix:2/2", "flat", "creating", flat + 2, flat),
        ]);
    }
    let entries = sizes.iter().flat_map(|size| [*size; 3]).collect();
    let mut record = pairs(&arms, entries, &contrasts);
    work_on_files(&mut record, |id| files(FileOperation::Create, (0, sizes[id as usize / 3]), 1));
    for data in &mut record.header.plan.data {
        let DataSource::Made(made) = &mut data.source else { continue };
        made.spread = match data.id.0 % 3 {
            0 => Spread::Flat,
            1 => Spread::Layout { layout: "prefix:2".into() },
            _ => Spread::Layout { layout: "prefix:2/2".into() },
        };
    }
    record
}

fn caches() -> Record {
    let arms = [("listing", 1e6), ("listing, cold", 4e7), ("asking", 3e5), ("asking, cold", 9e7)];
    let contrasts = [
        ("guest-vfs-cold", "warm", "listing", 1, 0),
        ("guest-vfs-cold", "warm", "asking for one of the files by name", 3, 2),
    ];
    let mut record = pairs(&arms, vec![1_000], &contrasts);
    for planned in record.header.plan.arms.iter_mut().filter(|planned| planned.id.0 % 2 == 1) {
        planned.cache = CacheState::VfsCold;
    }
    record
}

fn workers() -> Record {
    let arms = [
        ("write, 1 process", 4e6),
        ("write, 2 processes", 2.2e6),
        ("write, 4 processes", 1.9e6),
        ("stat, 1 process", 1e6),
        ("stat, 2 processes", 0.5e6),
        ("stat, 4 processes", 0.26e6),
    ];
    let contrasts = [
        ("2 processes", "1 process", "write", 1, 0),
        ("4 processes", "1 process", "write", 2, 0),
        ("2 processes", "1 process", "stat", 4, 3),
        ("4 processes", "1 process", "stat", 5, 3),
    ];
    let mut record = pairs(&arms, vec![1_000; 6], &contrasts);
    let operation = |id| if id < 3 { FileOperation::Create } else { FileOperation::Stat };
    work_on_files(&mut record, |id| files(operation(id), (0, 1_000), 1 << (id % 3)));
    megadir_record::axes::complete(&mut record.header.plan);
    record
}

fn durable() -> Record {
    let arms = [("write", 2e4), ("write with fsync", 3e6), ("rewrite", 5e4), ("rewrite with fsync", 4e6)];
    let contrasts = [
        ("fsync of each file", "no sync", "write, 1 process", 1, 0),
        ("fsync of each file", "no sync", "rewrite, 1 process", 3, 2),
    ];
    let mut record = pairs(&arms, vec![1_000; 4], &contrasts);
    let sync = |id| if id % 2 == 1 { SyncPolicy::EachFile } else { SyncPolicy::Never };
    work_on_files(&mut record, |id| megadir_record::FileWork {
        sync: sync(id),
        ..files(FileOperation::Create, (0, 1_000), 1)
    });
    record
}

/// Present and absent names in two patterns: the pattern triples the time, absence adds a half.
fn factors() -> Record {
    let arms = [("present, one", 1e3), ("absent, one", 1.5e3), ("present, any", 3e3), ("absent, any", 4.5e3)];
    let mut record = pairs(&arms, vec![1_000], &[("absent", "present", "one", 1, 0)]);
    for planned in &mut record.header.plan.arms {
        let presence = if planned.id.0 % 2 == 0 { Presence::Present } else { Presence::Absent };
        let keys = if planned.id.0 < 2 { Keys::Fixed } else { Keys::Random };
        planned.work = Work::Lookup { presence, keys, call: LookupCall::Fstatat };
    }
    for sample in &mut record.samples {
        (sample.counted.entries, sample.counted.hash) = (u64::from(sample.arm.0 % 2 == 0), 0);
    }
    record
}
