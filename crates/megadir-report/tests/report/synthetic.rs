//! Records made from a plan and known effects, with seeded noise; never from a real run.

use megadir_record::{
    Arm, ArmId, Axes, CacheState, Counted, Data, DataId, DataSource, End, FileSystem, Group, GroupRule,
    Header, Machine, Made, NameScheme, Note, Order, Phase, Plan, Preset, Pressure, Published, Record, Role,
    Rules, Sample, Stage, Stop, Work,
};
use megadir_stats::permutation::SplitMix64;

/// Entries of the first data set.
pub(crate) const ENTRIES: u64 = 100_000;

/// An arm and its true effects.
#[derive(Clone)]
pub(crate) struct ArmSummary {
    pub(crate) name: &'static str,
    pub(crate) groups: &'static [&'static str],
    pub(crate) role: Role,
    pub(crate) data: u32,
    pub(crate) backend: &'static str,
    pub(crate) buffer_bytes: u64,
    pub(crate) threads: u32,
    pub(crate) stages: &'static [Stage],
    /// True time of an operation, nanoseconds.
    pub(crate) ns: f64,
    pub(crate) calls: Option<u64>,
}

/// Source of a record.
pub(crate) struct Synthetic {
    pub(crate) seed: u64,
    pub(crate) rounds: u32,
    /// Standard deviation of the times, as a fraction.
    pub(crate) noise: f64,
    pub(crate) arms: Vec<ArmSummary>,
    pub(crate) groups: Vec<Group>,
    pub(crate) entries: Vec<u64>,
}

/// An arm in the group `buffer` that reads 128 KiB at a time.
pub(crate) fn arm(name: &'static str, ns: f64) -> ArmSummary {
    ArmSummary {
        name,
        groups: &["buffer"],
        role: Role::Arm,
        data: 0,
        backend: "getdents",
        buffer_bytes: 131_072,
        threads: 1,
        stages: &[Stage::Read],
        ns,
        calls: Some(32),
    }
}

/// A group that compares with arm 0.
pub(crate) fn compare(name: &str, title: &str) -> Group {
    let rule = GroupRule::Compare { baseline: ArmId(0) };
    Group::new(name, title, false, rule)
}

impl Synthetic {
    /// A comparison of a baseline with itself and with arms of the given true ratios.
    pub(crate) fn ratios(ratios: &[(&'static str, f64)]) -> Self {
        let base_ns = 40e6;
        let baseline = ArmSummary { role: Role::Baseline, ..arm("base", base_ns) };
        let control = ArmSummary { role: Role::Control, ..arm("base (itself)", base_ns) };
        let others = ratios.iter().map(|(name, ratio)| arm(name, base_ns * ratio));
        Self {
            seed: 5,
            rounds: 30,
            noise: 0.01,
            arms: [baseline, control].into_iter().chain(others).collect(),
            groups: vec![compare("buffer", "Does the buffer matter?")],
            entries: vec![ENTRIES],
        }
    }

    /// The record: one warm-up round, the measured rounds, and an end.
    pub(crate) fn record(&self) -> Record {
        let mut noise = Noise { bits: SplitMix64::new(self.seed) };
        let mut samples = Vec::new();
        let mut start_ns = 1_000;
        for (phase, round) in
            [(Phase::WarmUp, 0)].into_iter().chain((0..self.rounds).map(|r| (Phase::Measure, r)))
        {
            // All arms of a round share a common disturbance, so only pairing finds small effects.
            let weather = 1.0 + 3.0 * self.noise * noise.normal();
            for place in 0..self.arms.len() as u32 {
                let planned = (place + round) % self.arms.len() as u32;
                let arm = &self.arms[planned as usize];
                let elapsed_ns = (arm.ns * weather * (1.0 + self.noise * noise.normal())).round() as u64;
                let sample = self.sample(arm, ArmId(planned), elapsed_ns);
                samples.push(Sample { round, place, phase, start_ns, ..sample });
                start_ns += elapsed_ns + 1_000;
            }
        }
        let end = End {
            complete: true,
            reason: None,
            elapsed_ns: start_ns,
            pressure: pressure(),
            null_loop_ns: Some(25.0),
            disks: Vec::new(),
        };
        Record {
            header: self.header(),
            samples,
            self_check: None,
            built: None,
            used: Vec::new(),
            epochs: Vec::new(),
            notes: Vec::new(),
            resumed: Vec::new(),
            end: Some(end),
            cut: None,
            chain: None,
        }
    }

    fn sample(&self, arm: &ArmSummary, planned: ArmId, elapsed_ns: u64) -> Sample {
        let entries = self.entries[arm.data as usize];
        let writes = arm.stages.contains(&Stage::Write);
        Sample {
            epoch: 0,
            round: 0,
            attempt: 0,
            place: 0,
            arm: planned,
            phase: Phase::Measure,
            start_ns: 0,
            operations: 1,
            elapsed_ns,
            user_ns: elapsed_ns / 10,
            system_ns: elapsed_ns / 10 * 9,
            read_bytes: None,
            peak_bytes: None,
            disk: None,
            ranks: None,
            counted: Counted {
                entries,
                hash: 0x5eed_0000_0000_0000 + entries,
                calls: arm.calls,
                written_bytes: if writes { entries * 80 } else { 0 },
            },
            latency: None,
            voided: None,
            refused: None,
        }
    }

    fn header(&self) -> Header {
        let made = DataSource::Made(Made::flat(NameScheme::Md5, 0));
        let data = |(id, entries): (u32, &u64)| Data {
            id: DataId(id),
            entries: *entries,
            hash: None,
            on: None,
            source: made.clone(),
        };
        let plan = Plan {
            study: "listing".into(),
            question: "Why is ls slow on a directory of a million files?".into(),
            source: "An article that timed `ls -l | wc -l` against getdents".into(),
            reproduces: vec!["Both programs of the article.".into()],
            fixes: vec!["One thing is changed at a time.".into()],
            claims: megadir_record::claims::of_earlier("listing"),
            preset: Preset::Default,
            seed: self.seed,
            rules: rules(self.rounds),
            file_systems: Vec::new(),
            unavailable: Vec::new(),
            data: (0..).zip(&self.entries).map(data).collect(),
            groups: self.groups.clone(),
            arms: (0..).zip(&self.arms).map(|(id, arm)| planned(ArmId(id), arm)).collect(),
            published: published(),
        };
        let command = ["megadir", "bench", "run", "listing"].map(String::from).into();
        Header {
            version: 1,
            started_unix_s: 1_760_000_000,
            command,
            directory: None,
            plan,
            machine: machine(),
            file_systems: Vec::new(),
            ranks: None,
        }
    }
}

pub(crate) fn note(kind: &str, text: &str) -> Note {
    Note { kind: kind.into(), text: text.into() }
}

fn planned(id: ArmId, arm: &ArmSummary) -> Arm {
    Arm {
        id,
        name: arm.name.into(),
        groups: arm.groups.iter().map(|group| (*group).into()).collect(),
        role: arm.role,
        data: DataId(arm.data),
        work: Work::List {
            backend: arm.backend.into(),
            buffer_bytes: arm.buffer_bytes,
            threads: arm.threads,
            shares: if arm.backend == "split" { 16 } else { 1 },
            stages: arm.stages.into(),
        },
        cache: CacheState::Warm,
        operations: None,
        rate_per_s: None,
        chain: 0,
        step: 0,
        axes: Axes::default(),
    }
}

fn rules(rounds: u32) -> Rules {
    Rules {
        rounds,
        stop: Stop::Rounds,
        epochs: 1,
        warm_up_rounds_min: 1,
        warm_up_ns_max: 10_000_000_000,
        order: Order::SeededPermutation,
        fresh_mounts: false,
        equivalence_band: 0.03,
        confidence: 0.95,
        stolen_fraction_max: 0.02,
        redone_fraction_max: 0.2,
    }
}

fn published() -> Vec<Published> {
    let figure = |quantity: &str, value, ours: &str| Published {
        quantity: quantity.into(),
        value,
        unit: "s".into(),
        group: Some("decomposition".into()),
        ours: Some(ours.into()),
        unlike: None,
        entries: None,
        content: None,
    };
    vec![
        figure("ls -l | wc -l, 1 000 000 files", 5.8, "slow"),
        figure("getdents, 5 MiB, 1 000 000 files", 0.75, "fast"),
    ]
}

fn machine() -> Machine {
    Machine {
        host: None,
        kernel: "Linux 6.18.44".into(),
        processor: Some("Synthetic CPU".into()),
        processors: 2,
        memory_bytes: Some(8 << 30),
        memory_limit_bytes: None,
        processor_limit: None,
        hypervisor: Some("KVM".into()),
        emulator: None,
        wine: None,
        governor: None,
        power_plan: None,
        mitigations: vec!["spectre_v2: Mitigation: Retpolines".into()],
        clock_source: Some("tsc".into()),
        file_system: FileSystem {
            kind: "ext4".into(),
            mount_options: Some("rw,relatime".into()),
            device: None,
            block_bytes: Some(4096),
            blocks: Some((1_000_000, 500_000)),
            inodes: Some((250_000, 100_000)),
            features: Some(vec!["extent".into()]),
            made_unix_s: None,
            written_bytes: None,
            block_stack: Vec::new(),
            directory: Vec::new(),
        },
        settings: vec!["vm.dirty_ratio = 20".into()],
        watchers: Vec::new(),
        version: "0.1.0".into(),
        commit: None,
        build: None,
        pressure: pressure(),
    }
}

fn pressure() -> Pressure {
    Pressure {
        load_1m: Some(0.25),
        cpu_some_10s_percent: None,
        io_some_10s_percent: None,
        memory_some_10s_percent: None,
        dirty_bytes: Some(0),
        others_busy_percent: None,
        taken_percent: None,
    }
}

/// Source of standard normal numbers, using only functions that are identical on all machines.
struct Noise {
    bits: SplitMix64,
}

impl Noise {
    /// A sum of twelve uniform numbers less six, which is nearly normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.bits.unit()).sum::<f64>() - 6.0
    }
}
