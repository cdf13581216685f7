//! Complete runs with arms that work on files: generations on a populated directory, and chains on files that
//! the arms make.
#![cfg(target_os = "linux")]

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir_bench::{
    Event, Listener, Program, Recorder, RunEnd, RunError, RunRequest, WorkerCommand, run, serve,
};
use megadir_record::{
    Access, Arm, ArmId, Axes, CacheState, ContentKind, Data, DataId, DataSource, End, FileOperation,
    FileOrder, FileWork, Line, Made, MakeDirectories, NAME_LENGTHS, NameScheme, Order, Plan, Preset, Record,
    Role, Rules, Sample, Sharing, SizeLaw, Spread, Stop, SyncPolicy, UsedByArms, When, Work, WorkerKind,
    Workers,
};
use megadir_testkit::mount::{EXT4, EXT4_1K, Mount, Recipe};
use megadir_testkit::require;

/// Environment variable that turns this program into a worker.
const ROLE: &str = "MEGADIR_TEST_ROLE";
const POPULATION: u64 = 5000;
const ROUNDS: u32 = 4;

#[test]
fn this_program_as_a_worker() {
    match std::env::var_os(ROLE) {
        Some(_) => serve().unwrap(),
        // Started by hand or by the test harness: there is no run to serve.
        None => assert_eq!(worker().arguments.len(), 5),
    }
}

fn worker() -> WorkerCommand {
    let program = std::env::current_exe().expect("this program has a path").display().to_string();
    let words = [format!("{ROLE}=worker"), program, "--exact".into(), "this_program_as_a_worker".into()];
    let arguments = words.into_iter().chain(["--nocapture".to_owned()]).map(Into::into).collect();
    WorkerCommand { program: "env".into(), arguments }
}

const ALONE: Workers = Workers { count: 1, kind: WorkerKind::Thread, sharing: Sharing::Same };
const BY_NAME: Access = Access::Name { order: FileOrder::AsWritten };

fn work(operation: FileOperation, range: std::ops::Range<u64>, access: Access, workers: Workers) -> FileWork {
    let (from, to) = (range.start, range.end);
    FileWork { operation, from, to, access, sync: SyncPolicy::Never, owner_and_mode: false, workers }
}

/// A plan of chains, each working on the data set with its index.
fn plan(data: Vec<DataSource>, entries: u64, chains: Vec<Vec<FileWork>>) -> Plan {
    let data = data.into_iter().enumerate().map(|(number, source)| Data {
        id: DataId(number as u32),
        entries,
        hash: None,
        on: None,
        source,
    });
    let mut arms: Vec<Arm> = Vec::new();
    for (chain, works) in chains.into_iter().enumerate() {
        for (step, work) in works.into_iter().enumerate() {
            arms.push(Arm {
                id: ArmId(arms.len() as u32),
                name: format!("{chain} {:?} {:?}", work.operation, work.access),
                groups: Vec::new(),
                role: Role::Arm,
                data: DataId(chain as u32),
                work: Work::Files(work),
                cache: CacheState::Warm,
                operations: None,
                rate_per_s: None,
                chain: chain as u32,
                step: step as u32,
                axes: Axes::default(),
            });
        }
    }
    let rules = Rules {
        epochs: 1,
        rounds: ROUNDS,
        stop: Stop::Rounds,
        warm_up_rounds_min: 0,
        warm_up_ns_max: 0,
        order: Order::Chains,
        fresh_mounts: false,
        equivalence_band: 0.03,
        confidence: 0.95,
        stolen_fraction_max: 1.0,
        redone_fraction_max: 0.0,
    };
    Plan {
        study: "files".into(),
        question: "Does it work?".into(),
        source: "none".into(),
        reproduces: Vec::new(),
        fixes: Vec::new(),
        claims: None,
        preset: Preset::Quick,
        seed: 7,
        rules,
        file_systems: Vec::new(),
        unavailable: Vec::new(),
        data: data.collect(),
        groups: Vec::new(),
        arms,
        published: Vec::new(),
    }
}

#[derive(Default)]
struct Observed {
    samples: Vec<Sample>,
    notes: Vec<String>,
    used: Vec<UsedByArms>,
    ended: Option<End>,
    /// Called once after this number of measured blocks.
    after: Option<(usize, Box<dyn Fn()>)>,
    /// The run is aborted after this number of blocks.
    breaks_after: Option<usize>,
}

impl Listener for Observed {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Recorded(Line::Sample(sample)) => {
                self.samples.push(sample.clone());
                if let Some((_, act)) =
                    self.after.as_ref().filter(|(blocks, _)| *blocks == self.samples.len())
                {
                    act();
                }
                if self.breaks_after == Some(self.samples.len()) {
                    return Err(io::Error::other("as asked for"));
                }
            }
            Event::Recorded(Line::End(end)) => self.ended = Some(end.clone()),
            Event::Recorded(Line::Used(used)) => self.used.push(*used),
            Event::Recorded(Line::Note(note)) => self.notes.push(note.text.clone()),
            _ => {}
        }
        Ok(())
    }
}

fn carry_out(plan: &Plan, directory: &Path, observed: &mut Observed) -> Result<RunEnd, RunError> {
    go_on(plan, directory, None, &mut [observed])
}

/// Runs a plan, continuing at the end of a record.
fn go_on(
    plan: &Plan,
    directory: &Path,
    resume: Option<Record>,
    listeners: &mut [&mut dyn Listener],
) -> Result<RunEnd, RunError> {
    let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
    let request = RunRequest {
        plan: plan.clone(),
        notes: Vec::new(),
        directory: directory.to_owned(),
        command: Vec::new(),
        program: Program { commit: None, by: None },
        erase_device: false,
        stop: &stop,
        heartbeat: &heartbeat,
        worker: Some(worker()),
        ranks: None,
        resume,
    };
    let end = run(request, listeners);
    let left =
        std::fs::read_dir(directory).expect("readable").map(|entry| entry.expect("readable").file_name());
    let ours = left.filter(|name| name.to_string_lossy().starts_with("megadir"));
    assert_eq!(ours.count(), 0, "the run's own directory is left");
    end
}

/// Runs a plan in which every block must succeed.
fn carry_out_well(plan: &Plan, directory: &Path) {
    let mut observed = Observed::default();
    let end = carry_out(plan, directory, &mut observed).expect("the run ends well");
    assert!(end.complete && end.unequal_blocks == 0, "{:?}", observed.notes);
    assert_eq!(observed.samples.len(), plan.arms.len() * ROUNDS as usize, "{:?}", observed.notes);
    for sample in &observed.samples {
        let Work::Files(work) = &plan.arms[sample.arm.0 as usize].work else { panic!() };
        assert_eq!(
            (sample.operations, sample.counted.entries, sample.counted.hash),
            (work.files(), work.files(), 0)
        );
        let latency = sample.latency.as_ref().expect("operations are timed");
        assert_eq!(latency.operations(), work.files());
        assert!(sample.elapsed_ns > 0 && sample.user_ns + sample.system_ns > 0);
    }
}

#[test]
fn generations_on_a_populated_directory() {
    let mount = require!(Mount::make(&EXT4));
    let beyond = POPULATION..POPULATION + POPULATION / 100;
    let generation = vec![
        work(FileOperation::Create, beyond.clone(), BY_NAME, ALONE),
        work(FileOperation::Unlink, beyond, Access::Name { order: FileOrder::Random }, ALONE),
        work(FileOperation::Stat, 0..POPULATION, Access::Name { order: FileOrder::Inode }, ALONE),
        work(FileOperation::Read, 0..POPULATION, Access::Directory, ALONE),
    ];
    let made = DataSource::Made(Made::flat(NameScheme::Md5, 10));
    carry_out_well(&plan(vec![made], POPULATION, vec![generation]), &mount.path());
}

#[test]
fn chains_on_files_that_the_arms_make() {
    let mount = require!(Mount::make(&EXT4));
    let made = DataSource::Made(Made {
        names: NameScheme::Md5,
        size_bytes: 2000,
        sizes: SizeLaw::LogNormal { sigma: 1.0 },
        content: ContentKind::Pseudorandom,
        spread: Spread::PerDirectory { files: 50 },
        directories: MakeDirectories::OnDemand,
        when: When::ByArms,
        aged_files: 0,
    });
    let chain = |workers: Workers| -> Vec<FileWork> {
        let operations = [
            FileOperation::Create,
            FileOperation::Stat,
            FileOperation::Read,
            FileOperation::Rewrite,
            FileOperation::Unlink,
        ];
        let work_of = |operation| FileWork {
            owner_and_mode: matches!(operation, FileOperation::Create | FileOperation::Rewrite),
            sync: match operation {
                FileOperation::Stat | FileOperation::Read => SyncPolicy::Never,
                _ => SyncPolicy::AtEnd,
            },
            ..work(operation, 0..500, Access::Directory, workers)
        };
        operations.map(work_of).into()
    };
    let kinds = [(1, WorkerKind::Process), (2, WorkerKind::Process), (2, WorkerKind::Thread)];
    let chains = kinds.map(|(count, kind)| chain(Workers { count, kind, sharing: Sharing::Own }));
    let data = vec![made.clone(), made.clone(), made];
    carry_out_well(&plan(data, 500, chains.into()), &mount.path());
}

#[test]
fn a_file_system_that_fills_up_meanwhile_is_explained() {
    let tiny = Recipe { image_bytes: 16 << 20, mkfs: &["mkfs.ext4", "-q", "-F", "-N", "400"], ..EXT4 };
    for kind in [WorkerKind::Thread, WorkerKind::Process] {
        let mount = require!(Mount::make(&tiny));
        let made = Made { when: When::ByArms, ..Made::flat(NameScheme::Md5, 0) };
        let workers = Workers { count: 2, kind, sharing: Sharing::Own };
        let operations = [FileOperation::Create, FileOperation::Unlink];
        let chain = operations.map(|operation| work(operation, 0..100, BY_NAME, workers));
        let plan = plan(vec![DataSource::Made(made)], 100, vec![chain.into()]);
        let top = mount.path();
        // Another process uses up the inodes after the first round.
        let take = move || {
            (0..300).for_each(|number| drop(std::fs::write(top.join(format!("other{number}")), "")));
        };
        let mut observed = Observed { after: Some((2, Box::new(take))), ..Observed::default() };
        let error = carry_out(&plan, &mount.path(), &mut observed).expect_err("there is no room").to_string();
        assert!(error.contains("inodes"), "{error}");
        // Earlier measurements are kept, and the record contains the reason for the end.
        assert_eq!(observed.samples.len(), 2);
        let ended = observed.ended.expect("the record is ended");
        assert_eq!((ended.complete, ended.reason), (false, Some(error)));
        assert_eq!(std::fs::read_dir(mount.path()).expect("readable").count(), 301);
    }
}

/// With names of maximum length and blocks of 1 KiB, a directory is full after about 20 000.
const TOO_MANY: u64 = 26_000;

/// One chain whose flat directory becomes full, and one that never does.
fn overfull(workers: Workers) -> Plan {
    let names = NameScheme::Lengths { bytes: [255; NAME_LENGTHS] };
    let made = |spread| DataSource::Made(Made { when: When::ByArms, spread, ..Made::flat(names, 0) });
    let life = |to| {
        let operations = [FileOperation::Create, FileOperation::Stat, FileOperation::Unlink];
        operations.map(|operation| work(operation, 0..to, BY_NAME, workers)).to_vec()
    };
    let data = vec![made(Spread::Flat), made(Spread::PerDirectory { files: 100 })];
    let mut plan = plan(data, TOO_MANY, vec![life(TOO_MANY), life(300)]);
    plan.rules.rounds = 3;
    plan
}

/// Checks the samples of a run of `overfull`: one refusal in the first arm, after which its chain never runs
/// again.
fn check_overfull(samples: &[Sample]) {
    let of = |arm| samples.iter().filter(move |sample| sample.arm == ArmId(arm));
    let counts: Vec<usize> = (0..6).map(|arm| of(arm).count()).collect();
    assert_eq!(counts, [1, 0, 0, 3, 3, 3]);
    let refused = of(0).next().and_then(|sample| sample.refused.as_ref()).expect("it was refused");
    assert!((15_000..TOO_MANY).contains(&refused.entries), "{refused:?}");
    assert!(refused.cause.contains("index"), "{refused:?}");
    assert!(of(0).all(|sample| sample.latency.is_none() && sample.operations >= refused.entries));
    assert_eq!(samples.iter().filter(|sample| sample.refused.is_some()).count(), 1);
}

#[test]
fn a_directory_whose_index_is_full_stops_its_arm_and_no_other() {
    for kind in [WorkerKind::Thread, WorkerKind::Process] {
        let mount = require!(Mount::make(&EXT4_1K));
        // The files are in the worker's own tree, so no other arm uses them.
        let workers = Workers { count: 1, kind, sharing: Sharing::Own };
        let mut observed = Observed::default();
        let end = carry_out(&overfull(workers), &mount.path(), &mut observed).expect("the run ends well");
        assert!(end.complete && end.unequal_blocks == 0, "{:?}", observed.notes);
        check_overfull(&observed.samples);
        let notes = observed.notes.iter().filter(|note| note.contains("directory index full at "));
        let notes: Vec<&String> = notes.collect();
        let [notes] = notes[..] else { panic!("{:?}", observed.notes) };
        assert!(
            notes.contains("not blocks and not inodes") && notes.contains("the 2 that need its files"),
            "{notes}"
        );
    }
}

#[test]
fn run_with_a_full_directory_resumes_from_its_record() {
    // After the refusal: within the round, at its end, and later.
    for breaks_after in [1, 5] {
        let mount = require!(Mount::make(&EXT4_1K));
        let plan = overfull(ALONE);
        let scratch = tempfile::tempdir().expect("scratch");
        let path = scratch.path().join("record");
        let mut recorder = Recorder::new(std::fs::File::create(&path).expect("a file"));
        let mut observed = Observed { breaks_after: Some(breaks_after), ..Observed::default() };
        let broken = go_on(&plan, &mount.path(), None, &mut [&mut recorder, &mut observed]);
        assert!(broken.is_err(), "{broken:?}");
        let mut record =
            megadir_record::jsonl::read(&std::fs::read(&path).expect("readable")[..]).expect("a record");
        assert_eq!(record.samples.len(), breaks_after);
        record.end = None;
        let before = record.samples.clone();
        let mut observed = Observed::default();
        let end = go_on(&record.header.plan.clone(), &mount.path(), Some(record), &mut [&mut observed]);
        assert!(end.expect("it goes on").complete);
        check_overfull(&before.into_iter().chain(observed.samples).collect::<Vec<_>>());
    }
}
