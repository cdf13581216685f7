//! Record with all kinds of lines, as written by a run.

use megadir_record::{
    Arm, ArmId, Axes, Built, BuiltAged, BuiltSet, CacheState, Counted, Data, DataId, DataSource, Delay,
    DiskCounts, End, Epoch, FileSystem, Group, GroupRule, Header, Latency, Line, Machine, Made, NameScheme,
    Note, Order, Phase, Plan, Preset, Pressure, Published, Role, Rules, Sample, SelfCheck, Since, Stage,
    Stop, Used, UsedByArms, VoidReason, Work, Writer,
};

fn pressure() -> Pressure {
    Pressure {
        load_1m: Some(0.5),
        cpu_some_10s_percent: Some(1.25),
        io_some_10s_percent: None,
        memory_some_10s_percent: None,
        dirty_bytes: Some(4096),
        others_busy_percent: None,
        taken_percent: None,
    }
}

fn machine() -> Machine {
    Machine {
        host: None,
        kernel: "Linux 6.18.44".into(),
        // Two-byte characters, so that some cuts fall inside one.
        processor: Some("Größenwahn™ 9000".into()),
        processors: 2,
        memory_bytes: Some(8 << 30),
        memory_limit_bytes: None,
        processor_limit: None,
        hypervisor: None,
        emulator: None,
        wine: None,
        governor: None,
        power_plan: None,
        mitigations: vec!["meltdown: Not affected".into()],
        clock_source: None,
        file_system: FileSystem {
            kind: "ext4".into(),
            mount_options: None,
            device: None,
            block_bytes: Some(4096),
            blocks: Some((100, 50)),
            inodes: None,
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

fn arm(id: u32, role: Role) -> Arm {
    let work = Work::List {
        backend: "getdents".into(),
        buffer_bytes: 131_072,
        threads: 1,
        shares: 1,
        stages: vec![Stage::Read, Stage::Sort],
    };
    let (name, groups) = (format!("arm {id}"), vec!["buffer".into()]);
    Arm {
        id: ArmId(id),
        name,
        groups,
        role,
        data: DataId(0),
        work,
        cache: CacheState::Warm,
        operations: None,
        rate_per_s: None,
        chain: 0,
        step: 0,
        axes: Axes { label: Some(format!("arm {id}")), ..Axes::default() },
    }
}

fn data() -> Vec<Data> {
    vec![
        Data {
            id: DataId(0),
            entries: 10,
            hash: None,
            on: None,
            source: DataSource::Existing { path: "/data".into() },
        },
        Data {
            id: DataId(1),
            entries: 20,
            hash: Some(u64::MAX),
            on: None,
            source: DataSource::Made(Made::flat(NameScheme::Hex, 3)),
        },
    ]
}

fn groups() -> Vec<Group> {
    vec![
        Group {
            name: "buffer".into(),
            of: None,
            title: "?".into(),
            answers: true,
            rule: GroupRule::Compare { baseline: ArmId(0) },
        },
        Group {
            name: "growth".into(),
            of: None,
            title: "?".into(),
            answers: false,
            rule: GroupRule::Grow { series: vec![("all".into(), vec![ArmId(1)])] },
        },
    ]
}

fn plan() -> Plan {
    Plan {
        study: "listing".into(),
        question: "Why?".into(),
        source: "An article".into(),
        reproduces: vec!["all".into()],
        fixes: Vec::new(),
        claims: None,
        preset: Preset::Quick,
        seed: u64::MAX,
        rules: Rules {
            epochs: 5,
            stop: Stop::Ratio { half_width: 0.01, rounds_min: 30 },
            rounds: 2,
            warm_up_rounds_min: 1,
            warm_up_ns_max: 1,
            order: Order::BalancedLatinSquare,
            fresh_mounts: true,
            equivalence_band: 0.03,
            confidence: 0.95,
            stolen_fraction_max: 0.02,
            redone_fraction_max: 0.2,
        },
        file_systems: Vec::new(),
        unavailable: Vec::new(),
        data: data(),
        groups: groups(),
        arms: vec![arm(0, Role::Baseline), arm(1, Role::Control)],
        published: vec![Published {
            quantity: "ls".into(),
            value: 5.8,
            unit: "s".into(),
            group: None,
            ours: None,
            unlike: None,
            entries: None,
            content: None,
        }],
    }
}

pub(super) fn header() -> Header {
    let command = vec!["megadir".into(), "bench".into()];
    Header {
        version: megadir_record::FORMAT_VERSION,
        started_unix_s: 1,
        command,
        directory: Some("/data".into()),
        plan: plan(),
        machine: machine(),
        file_systems: Vec::new(),
        ranks: None,
    }
}

pub(super) fn sample(round: u32, attempt: u32, arm: u32) -> Sample {
    Sample {
        epoch: 0,
        round,
        attempt,
        place: arm,
        arm: ArmId(arm),
        phase: Phase::Measure,
        start_ns: 10,
        operations: 1,
        elapsed_ns: 1_000,
        user_ns: 400,
        system_ns: 500,
        read_bytes: None,
        peak_bytes: None,
        disk: Some(Box::new(DiskCounts {
            requests: 7,
            seeks: 3,
            read_bytes: 8192,
            written_bytes: 0,
            busy_ns: 25_000_000,
        })),
        ranks: None,
        counted: Counted { entries: 10, hash: u64::MAX, calls: None, written_bytes: 0 },
        latency: (arm == 1).then(|| Box::new(latency())),
        voided: None,
        refused: None,
    }
}

pub(super) fn end() -> End {
    End {
        complete: true,
        reason: None,
        elapsed_ns: 99,
        pressure: pressure(),
        null_loop_ns: Some(12.5),
        disks: Vec::new(),
    }
}

fn latency() -> Latency {
    Latency {
        sub_buckets: 128,
        ns_per_tick: 0.476_190_476_190_476_2,
        since: Since::IntendedStart,
        sum_ticks: 1540,
        min_ticks: 500,
        max_ticks: 540,
        gap_ticks: 7,
        buckets: Latency::pack([(378, 2), (391, 1)]),
    }
}

pub(super) fn epoch() -> Epoch {
    Epoch { epoch: 1, seed: 9, hashes: vec![None, Some(4)] }
}

pub(super) fn built() -> Built {
    let used = Used { files: 20, directories: 1, inodes: 21, content_bytes: 60, bytes: 86_016 };
    let aged = Some(BuiltAged { files: 6, directory_bytes: 7, removed_ns: 8 });
    let (directories_ns, directory_bytes) = (None, Some(7));
    let set = BuiltSet { data: DataId(1), used, directories_ns, files_ns: 5, directory_bytes, aged };
    Built { sets: vec![set], file_system_inodes: None, file_system_bytes: -4096 }
}

pub(super) fn used() -> UsedByArms {
    let used = Used { files: 1, directories: 2, inodes: 3, content_bytes: 4, bytes: 5 };
    UsedByArms { data: DataId(1), used }
}

pub(super) fn self_check() -> SelfCheck {
    SelfCheck {
        cycle_counter: true,
        ns_per_tick: 0.476_190_476_190_476_2,
        timer_ns: 9.5,
        null_loop_ns: 14.5,
        operations: 1000,
        untimed_ns: vec![400_000, 401_000],
        timed_ns: vec![415_000, 414_000],
        accounted: 0.999,
        delays: vec![Delay { injected_ns: 2000, injected: 10, found: 9, found_ns: 2030.5 }],
    }
}

pub(super) fn lines() -> Vec<Line> {
    let warm_up = Sample { phase: Phase::WarmUp, ..sample(1, 0, 0) };
    vec![
        Line::SelfCheck(self_check()),
        Line::Built(built()),
        Line::Used(used()),
        Line::Epoch(epoch()),
        Line::Sample(warm_up),
        Line::Sample(sample(0, 0, 0)),
        Line::Sample(sample(0, 0, 1)),
        Line::Sample(sample(1, 0, 0)),
        Line::Sample(sample(1, 0, 1)),
        Line::Void { epoch: 0, round: 1, attempt: 0, reason: VoidReason::StolenTime },
        Line::Note(Note { kind: "stolen-time".into(), text: "4 % of a round, größer als erlaubt".into() }),
        Line::Sample(sample(1, 1, 0)),
        Line::Sample(sample(1, 1, 1)),
        Line::End(end()),
    ]
}

/// Returns the file that a run writes.
pub(super) fn file() -> Vec<u8> {
    let mut writer = Writer::start(Vec::new(), header()).expect("memory takes it");
    lines().iter().for_each(|line| writer.write(line).expect("memory takes it"));
    writer.into_inner()
}

/// Returns the file of an older program without checksums.
pub(super) fn old_file() -> Vec<u8> {
    let mut writer = Writer::resume(Vec::new(), None);
    let header = Line::Header(Box::new(Header { version: 3, ..header() }));
    let lines = [header].into_iter().chain(lines());
    lines.for_each(|line| writer.write(&line).expect("memory takes it"));
    writer.into_inner()
}
