//! Studies of other kinds than small files: ranks share the work on files, or each does all of it.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;

use megadir_record::{FileOperation, Record, Remover, Sample, Work, WorkerKind};
use megadir_testkit::require;

use super::{MPICH, Mpi, OPEN_MPI, TWO_HOSTS, record, refuses};
use crate::support::{Ran, have, notes, root, scratch};

const LISTERS: &str = r#"
name = "listers"
question = "Which lists faster?"
source = "none"
reproduces = []
fixes = []

[size.quick]
entries = 300
rounds = 2

[size.default]
entries = 300
rounds = 9

[size.published]
entries = 300
rounds = 9

[data]
names = "md5"
size_bytes = 0

[rules]
warm_up_rounds_min = 1
warm_up_s_max = 1
equivalence_band = 0.03
confidence = 0.95
stolen_fraction_max = 0.05
redone_fraction_max = 0.2

[command]

[[command.groups]]
name = "lists"
title = "Which lists faster?"
shell = true
arms = [
    { name = "megadir", run = "{megadir} list {dir}; touch SEEN.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" },
    { name = "ls", run = "ls -f {dir} | grep -vx '[.]*'" },
]

[[command.groups]]
name = "ranks"
title = "Do ranks print the same?"
shell = true
arms = [
    { name = "echo", run = "echo ${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" },
    { name = "printf", run = "printf '%s\\n' ${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" },
]

[[command.groups]]
name = "removals"
title = "Which removes faster?"
changes = true
arms = [{ name = "rm", run = "rm -r {dir}" }, { name = "find", run = "find {dir} -delete" }]
"#;

fn run_of(mpi: &Mpi, at: &Path, words: &str) -> (Ran, Record) {
    let _ = fs::remove_file(at.join("r.jsonl"));
    let words = format!("bench run {words} --engine mpi --dir shared --quick -q -o r.jsonl");
    let ran = mpi.run(at, TWO_HOSTS, &words);
    assert!(ran.code == Some(0) && ran.out.is_empty(), "{words}: {ran:?}");
    let record = record(&at.join("r.jsonl"));
    assert!(record.end.as_ref().unwrap().complete, "{words}");
    assert_eq!(megadir_record::contradictions(&record), Vec::<String>::new(), "{words}");
    assert_eq!(fs::read_dir(at.join("shared")).unwrap().count(), 0, "{words}");
    (ran, record)
}

fn note<'r>(record: &'r Record, kind: &str) -> Option<&'r str> {
    notes(record, kind).first().copied()
}

fn each_rank_does_all_of_the_work(mpi: &Mpi) {
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("shared")).unwrap();
    let seen = at.join("seen").display().to_string();
    fs::write(at.join("listers.toml"), LISTERS.replace("SEEN", &seen)).unwrap();
    let small = "--rounds 2 --warm-up 1";
    // Two sizes of lookup: ranks change from one data set to the other and back.
    let studies = ["listing --entries 300", "lookup --entries 30,300", "listers.toml --group lists"];
    for study in studies {
        let words = &format!("{study} {small}");
        let (_, record) = run_of(mpi, at, words);
        assert!(note(&record, "ranks").unwrap().contains("each rank did the whole work"), "{words}");
        assert_eq!(note(&record, "unequal-work"), None, "{words}");
        assert!(!record.samples.is_empty());
        for sample in &record.samples {
            let times = sample.ranks.as_ref().unwrap();
            let is_last = times.first_done_ns <= times.last_done_ns && times.last_rank < 4;
            assert!(is_last && sample.elapsed_ns == times.last_done_ns, "{words}: {sample:?}");
        }
        if study.starts_with("lookup") {
            let timed = |sample: &&Sample| sample.latency.is_some();
            let timed = record.samples.iter().filter(timed);
            let is_of_one = |sample: &Sample| {
                sample.latency.as_ref().is_some_and(|latency| latency.operations() == sample.operations)
            };
            assert!(timed.clone().count() > 0 && timed.clone().all(is_of_one), "{words}");
        }
    }
    (0..4).for_each(|rank| assert!(Path::new(&format!("{seen}.{rank}")).exists(), "rank {rank}"));
}

#[test]
fn each_rank_of_open_mpi_does_all_of_the_work() {
    require!(have("mpirun.openmpi").and_then(|()| root()));
    each_rank_does_all_of_the_work(&OPEN_MPI);
}

#[test]
fn each_rank_of_mpich_does_all_of_the_work() {
    require!(have("mpirun.mpich").and_then(|()| root()));
    each_rank_does_all_of_the_work(&MPICH);
}

#[test]
fn ranks_fill_a_directory_together() {
    require!(have("mpirun.mpich").and_then(|()| root()));
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("shared")).unwrap();
    let (_, record) = run_of(&MPICH, at, "fill --rounds 2 --entries 1999");
    let filled: Vec<_> = record
        .samples
        .iter()
        .filter_map(|sample| {
            let arm = &record.header.plan.arms[sample.arm.0 as usize];
            let Work::Files(work) = &arm.work else { panic!("{arm:?}") };
            let filled = arm.axes.filled?;
            assert_eq!((work.workers.count, work.workers.kind), (4, WorkerKind::Rank));
            assert!(arm.name.contains("4 ranks"), "{}", arm.name);
            Some((filled, sample.counted.entries))
        })
        .collect();
    assert!(
        filled.len() >= 20 && filled.iter().all(|((from, to), entries)| to - from == *entries),
        "{filled:?}"
    );
    assert_eq!(filled.iter().map(|((_, to), _)| *to).max(), Some(2000));
    assert_eq!(note(&record, "unequal-work"), None);
}

#[test]
fn ranks_write_a_layout_together_and_another_host_reads_it() {
    require!(have("mpirun.mpich").and_then(|()| root()));
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("shared")).unwrap();
    let (_, record) = run_of(&MPICH, at, "layout --rounds 2 --entries 400 --layout flat,per-directory:50");
    let mut seen = BTreeSet::new();
    for sample in &record.samples {
        let Work::Files(work) = &record.header.plan.arms[sample.arm.0 as usize].work else { panic!() };
        let times = sample.ranks.as_ref().unwrap();
        match work.operation {
            FileOperation::Create => assert_eq!((work.workers.count, sample.counted.entries), (4, 400)),
            FileOperation::Read => assert_eq!((times.last_rank, sample.counted.entries), (2, 400)),
            _ => {}
        }
        seen.insert(work.operation.word());
    }
    assert!(seen.contains("create") || seen.contains("write"), "{seen:?}");
    assert!(seen.contains("read"), "{seen:?}");
    assert_eq!(note(&record, "unequal-work"), None);
}

/// The rank that finished last, of removals by these numbers of workers from these numbers of directories.
fn removals(record: &Record) -> HashSet<(Remover, u32, u64, u32)> {
    let mut seen = HashSet::new();
    for sample in &record.samples {
        let arm = &record.header.plan.arms[sample.arm.0 as usize];
        let Work::Remove(work) = arm.work else { continue };
        let times = sample.ranks.as_ref().unwrap();
        assert_eq!((work.kind, sample.counted.entries), (WorkerKind::Rank, work.files), "{sample:?}");
        assert!(times.first_done_ns > 0 && sample.elapsed_ns == times.last_done_ns, "{times:?}");
        let of_hosts: Vec<(u32, u64)> =
            times.hosts.iter().map(|host| (host.first_rank, host.entries)).collect();
        let last = if work.workers == 1 {
            assert_eq!(times.first_done_ns, times.last_done_ns, "{}", arm.name);
            assert_eq!(of_hosts, [(times.last_rank / 2 * 2, work.files)], "{}", arm.name);
            times.last_rank
        } else {
            assert!(arm.name.contains("4 ranks") || arm.name.contains("8 workers"), "{}", arm.name);
            assert_eq!(of_hosts, [(0, work.files / 2), (2, work.files / 2)], "{}", arm.name);
            u32::MAX
        };
        seen.insert((work.by, work.workers, arm.axes.directory_count.unwrap(), last));
    }
    assert_eq!(note(record, "unequal-work"), None);
    seen
}

fn ranks_remove_shares_of_the_directories(mpi: &Mpi) {
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("shared")).unwrap();
    let all = u32::MAX;
    let of = |rank| {
        let alone = [Remover::PlainLoop, Remover::Rm, Remover::Library]
            .into_iter()
            .flat_map(move |by| [(by, 1, 1, rank), (by, 1, 100, rank)]);
        alone.chain([(Remover::Library, 4, 100, all), (Remover::Library, 8, 100, all)]).collect()
    };
    let words = "remove --rounds 1 --entries 400 --workers 1,4,8";
    assert_eq!(removals(&run_of(mpi, at, words).1), of(2), "what the first host created");
    assert_eq!(removals(&run_of(mpi, at, &format!("{words} --shift none")).1), of(0));
}

#[test]
fn ranks_of_open_mpi_remove_shares_of_the_directories() {
    require!(have("mpirun.openmpi").and_then(|()| root()));
    ranks_remove_shares_of_the_directories(&OPEN_MPI);
}

#[test]
fn ranks_of_mpich_remove_shares_of_the_directories() {
    require!(have("mpirun.mpich").and_then(|()| root()));
    ranks_remove_shares_of_the_directories(&MPICH);
}

#[test]
fn a_method_that_one_rank_lacks_is_left_out() {
    require!(have("mpirun.mpich"));
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("shared")).unwrap();
    let without_rm = r#"[ $PMI_RANK != 3 ] || export PATH=/nowhere; exec "$@""#;
    let words = "bench run remove --engine mpi --dir shared --quick --entries 200 --rounds 1 -q -o r.jsonl";
    let ran = MPICH.run(at, without_rm, words);
    let record = record(&at.join("r.jsonl"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let left_out = notes(&record, "arm-left-out");
    let is_of_rank = |text: &&str| text.contains("rank 3 on ") && text.contains("the program rm is missing");
    assert!(left_out.len() == 2 && left_out.iter().all(is_of_rank), "{left_out:?}");
    let works = record.header.plan.arms.iter().map(|arm| &arm.work);
    let removers: HashSet<Remover> = works
        .filter_map(|work| match work {
            Work::Remove(work) => Some(work.by),
            _ => None,
        })
        .collect();
    assert_eq!(removers, [Remover::PlainLoop, Remover::Library].into());
}

#[test]
fn programs_with_output_that_differs_by_rank_are_noted_and_writing_programs_refused() {
    require!(have("mpirun.mpich").and_then(|()| root()));
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("shared")).unwrap();
    fs::write(at.join("listers.toml"), LISTERS).unwrap();
    let words = "bench run listers.toml --group ranks --engine mpi --dir shared --quick -q -o r.jsonl";
    let ran = MPICH.run(at, TWO_HOSTS, words);
    let record = record(&at.join("r.jsonl"));
    assert!(ran.code == Some(1) && ran.err.contains("did not have the expected results"), "{ran:?}");
    assert!(note(&record, "unequal-work").is_some(), "{record:?}");
    for (study, reason) in [
        ("listers.toml --group removals", "group `removals`, whose programs write"),
        ("limits", "study `limits` fills one directory"),
        ("listing --shift none", "study `listing` does not take --shift"),
    ] {
        let words = format!("bench run {study} --engine mpi --dir shared --quick");
        refuses(&MPICH.run(at, TWO_HOSTS, &words), 2, &[reason]);
    }
    assert_eq!(fs::read_dir(at.join("shared")).unwrap().count(), 0);
}
