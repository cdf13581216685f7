//! Scans, sums and removals by ranks: the result is the same as of one process, also if a rank is killed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use megadir_testkit::{PATIENCE, require};

use super::{MPICH, Mpi, OPEN_MPI, refuses, with_library};
use crate::support::{Ran, finish, have, megadir, root, scratch};

pub(super) const PLAIN: &str = r#"exec "$@""#;
/// Each rank lists slowly, so that a small tree is many tasks, and `pid.N` has its process.
pub(super) const SLOW: &str = r#"exec strace -f -qq -o /dev/null -e trace=getdents64 -e inject=getdents64:delay_enter=4000 \
    sh -c 'echo $$ > pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exec "$@"' - "$@""#;
const SCAN: &str = "scan tree --engine mpi -q -o parts";
const REMOVE: &str = "remove tree --engine mpi --yes -q";

/// 1400 entries in `tree`, with links that lead to `witness`.
pub(super) fn tree(at: &Path) {
    fs::create_dir(at.join("witness")).unwrap();
    fs::write(at.join("witness/file"), "stays").unwrap();
    (0..7).for_each(|index| fs::create_dir_all(at.join(format!("tree/{index}"))).unwrap());
    for (index, name) in ["a", "a-b", "g\u{f6} x", "a,\"b\""].iter().cycle().take(120).enumerate() {
        let below = at.join(format!("tree/{}/{name}{index}/d", index % 7));
        fs::create_dir_all(&below).unwrap();
        (0..7).for_each(|file| fs::write(below.join(format!("f{file}")), vec![b'x'; file * 999]).unwrap());
        if index % 9 == 0 {
            symlink("../../../../witness", below.join("link")).unwrap();
            fs::hard_link(below.join("f3"), at.join(format!("tree/{}/linked{index}", (index + 1) % 7)))
                .unwrap();
        }
    }
    (0..300).for_each(|file| fs::write(at.join(format!("tree/3/{file}")), "").unwrap());
}

pub(super) fn alone(at: &Path, words: &str) -> String {
    let ran = finish(&mut megadir(at, &words.split(' ').collect::<Vec<_>>()));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    out(&ran).to_owned()
}

fn out(ran: &Ran) -> &str {
    std::str::from_utf8(&ran.out).unwrap()
}

/// Access times change with the first reading.
pub(super) fn scanned_alone(at: &Path) -> String {
    alone(at, "scan tree --csv -q");
    alone(at, "scan tree --csv -q")
}

#[track_caller]
fn done(ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// Number of finished parts in a folder; 0 if it is absent.
pub(super) fn parts(folder: &Path) -> usize {
    let names = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.file_name()));
    names.filter(|name| name.to_string_lossy().starts_with("part-")).count()
}

fn jobs_of(mpi: &Mpi, ranks: &str) {
    let scratch = scratch();
    let at = scratch.path();
    tree(at);
    let (whole, used) = (scanned_alone(at), alone(at, "usage tree --depth 3 --csv"));
    let run = |words: &str| finish(&mut mpi.command_of(ranks, at, SLOW, words));
    let ran = run(SCAN);
    done(&ran);
    assert!(parts(&at.join("parts")) >= 4, "{} parts", parts(&at.join("parts")));
    assert_eq!(alone(at, "scan --merge parts --csv -q"), whole);
    done(&run(&format!("{SCAN} --resume")));
    refuses(&run(SCAN), 3, &["'parts'", "--resume"]);

    let ran = run("usage tree --engine mpi --depth 3 --csv -n 1000");
    done(&ran);
    assert_eq!(out(&ran), used);
    let ran = run("usage tree --engine mpi");
    // Open MPI gives it a terminal.
    assert!(out(&ran).contains("'tree' has 1") && !out(&ran).contains("owner"), "{ran:?}");

    let ran = run("remove tree --engine mpi --yes --json");
    done(&ran);
    let removed = format!("\"removed\":{},", whole.lines().count() - 1);
    assert!(out(&ran).contains(&removed) && out(&ran).contains("\"failures\":0"), "{removed} {ran:?}");
    assert!(!at.join("tree").exists() && at.join("witness/file").exists());
}

#[test]
fn ranks_of_open_mpi_give_the_result_of_one_process() {
    require!(have("mpirun.openmpi").and_then(|()| have("strace")));
    jobs_of(&OPEN_MPI, "4");
}

#[test]
fn ranks_of_mpich_give_the_result_of_one_process() {
    require!(have("mpirun.mpich").and_then(|()| have("strace")));
    jobs_of(&MPICH, "4");
}

#[test]
fn a_single_rank_does_all_work() {
    require!(have("mpirun.mpich").and_then(|()| have("strace")));
    jobs_of(&MPICH, "1");
}

/// Kills a rank after a while. `false` if the job had ended.
fn killed(at: &Path, mut run: Child, rank: u32, after: Duration) -> bool {
    let begun = Instant::now();
    let pid = at.join(format!("pid.{rank}"));
    while begun.elapsed() < after && run.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let pid = fs::read_to_string(&pid).unwrap_or_default();
    let is_killed = match run.try_wait().unwrap() {
        Some(_) => false,
        None => {
            Command::new("kill").args(["-9", pid.trim()]).stderr(Stdio::null()).status().unwrap().success()
        }
    };
    assert!(begun.elapsed() < PATIENCE);
    run.wait().unwrap();
    is_killed
}

#[test]
fn a_job_continues_after_a_rank_was_killed_at_any_moment() {
    require!(have("mpirun.mpich").and_then(|()| have("strace")));
    let times = if std::env::var_os("MEGADIR_FULL").is_some() { 20 } else { 3 };
    let scratch = scratch();
    let at = scratch.path();
    tree(at);
    let whole = scanned_alone(at);
    let started = Instant::now();
    done(&MPICH.run(at, SLOW, SCAN));
    let (mut took, mut kills) = (started.elapsed(), 0);
    let mut time = 0;
    while time < times || kills == 0 {
        assert!(time < 10 * times, "no rank was killed");
        fs::remove_dir_all(at.join("parts")).unwrap();
        (0..4).for_each(|rank| drop(fs::remove_file(at.join(format!("pid.{rank}")))));
        let run = MPICH.command(at, SLOW, SCAN).stderr(Stdio::null()).spawn().unwrap();
        // Moments that divide the time evenly, each another rank.
        let after = took.mul_f64((f64::from(time % times) + 1.0) / (f64::from(times) + 1.0));
        match killed(at, run, time % 4, after) {
            true => kills += 1,
            // The first job may have been slow because of other work.
            false => took = took.mul_f64(0.7),
        }
        time += 1;
        let again = if at.join("parts/megadir-journal.jsonl").exists() { " --resume" } else { "" };
        done(&MPICH.run(at, PLAIN, &format!("{SCAN}{again}")));
        assert_eq!(alone(at, "scan --merge parts --csv -q"), whole, "killed after {after:?}");
        let hidden = fs::read_dir(at.join("parts")).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(hidden.filter(|name| name.to_string_lossy().contains(".part-")).count(), 0);
    }
    let run = MPICH.command(at, SLOW, REMOVE).stderr(Stdio::null()).spawn().unwrap();
    killed(at, run, 1, took / 2);
    let ran = MPICH.run(at, PLAIN, REMOVE);
    assert!(ran.code == Some(0) || !at.join("tree").exists(), "{ran:?}");
    assert!(!at.join("tree").exists() && at.join("witness/file").exists());
}

#[test]
fn jobs_are_refused_before_anything_is_written() {
    require!(have("mpirun.mpich").and_then(|()| root()));
    let scratch = scratch();
    let at = scratch.path();
    tree(at);
    fs::create_dir(at.join("shared")).unwrap();
    let elsewhere = |directory: &str| {
        format!(
            r#"[ $PMI_RANK != 1 ] || exec unshare -m sh -c 'mount -t tmpfs none {directory} && exec "$@"' - "$@"; exec "$@""#
        )
    };
    for (script, words, reason) in [
        (elsewhere("tree"), SCAN, "not the directory that the job began with"),
        (elsewhere("tree"), REMOVE, "not the directory that the job began with"),
        (elsewhere("tree"), "usage tree --engine mpi", "not the directory that the job began with"),
        (elsewhere("shared"), "scan tree --engine mpi -o shared/parts", "cannot use 'shared/parts'"),
        (r#"[ $PMI_RANK != 1 ] || set -- "$@" -q; exec "$@""#.to_owned(), REMOVE_LOUD, "arguments"),
        (with_library("libmpi.so.40"), SCAN, "libmpi.so.40"),
    ] {
        refuses(&MPICH.run(at, &script, words), 3, &[reason]);
    }
    for (words, code, reason) in [
        ("scan tree --engine mpi -o tree/parts", 2, "in the tree 'tree'"),
        ("scan tree --engine mpi -o parts --match f1", 2, "--match"),
        ("scan tree --engine mpi -o -", 2, "name one"),
        ("scan tree --engine mpi -o parts --resume", 3, "no journal"),
        ("scan tree --engine mpi -o absent/parts", 3, "absent"),
        ("scan absent --engine mpi -o parts", 3, "absent"),
        ("usage absent --engine mpi", 3, "absent"),
        ("usage tree --engine mpi --json", 2, "--json"),
        ("remove tree --engine mpi", 2, "--yes"),
        ("remove tree --engine mpi --yes --rate 5/s", 2, "--rate"),
        ("remove / --engine mpi --yes", 2, "never removed"),
        ("remove witness/file --engine mpi --yes", 3, "not a directory"),
    ] {
        refuses(&MPICH.run(at, PLAIN, words), code, &[reason]);
    }
    assert!(!at.join("parts").exists() && fs::read_dir(at.join("shared")).unwrap().count() == 0);
    assert_eq!(alone(at, "list tree -r --count"), "1415\n");
    assert!(at.join("witness/file").exists());
    for (words, line) in [
        ("usage tree --engine mpi", "mpirun -np 4 megadir usage DIR --engine mpi"),
        ("scan tree --engine mpi -o parts", "mpirun -np 4 megadir scan DIR --engine mpi -o FOLDER"),
        ("remove tree --engine mpi --yes", "mpirun -np 4 megadir remove DIR --engine mpi --yes"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        finish(&mut megadir(at, &words)).complains(3, &["no MPI launcher", line]);
    }
}

const REMOVE_LOUD: &str = "remove tree --engine mpi --yes";

#[test]
fn a_slow_rank_of_a_scan_and_its_host_are_named() {
    require!(have("mpirun.mpich").and_then(|()| have("strace")).and_then(|()| root()));
    let scratch = scratch();
    let at = scratch.path();
    tree(at);
    let slow = r#"delay=10000; [ $PMI_RANK != 3 ] || { delay=60000; hostname slow-host; }
        exec strace -f -qq -o /dev/null -e trace=getdents64 -e inject=getdents64:delay_enter=$delay "$@""#;
    let script = format!("exec unshare --uts sh -c '{slow}' - \"$@\"");
    let ran = MPICH.run(at, &script, "scan tree --engine mpi -o parts");
    done(&ran);
    assert!(ran.err.contains("rank 3 on 'slow-host' was slow"), "{ran:?}");
}

#[test]
fn every_rank_queries_fresh_attributes_from_the_server() {
    require!(have("mpirun.mpich").and_then(|()| have("strace")));
    let scratch = scratch();
    let at = scratch.path();
    tree(at);
    let traced = r#"exec strace -f -qq -e trace=statx -o trace.$PMI_RANK "$@""#;
    done(&MPICH.run(at, traced, "scan tree --engine mpi --fresh -q -o parts"));
    let calls: String =
        (0..4).map(|rank| fs::read_to_string(at.join(format!("trace.{rank}"))).unwrap()).collect();
    let of_files: Vec<&str> = calls.lines().filter(|line| line.contains("\"f3\"")).collect();
    assert!(of_files.len() >= 120, "{} calls", of_files.len());
    assert!(of_files.iter().all(|line| line.contains("AT_STATX_FORCE_SYNC")), "{of_files:?}");
    let again = "scan tree --engine mpi -q -o parts --resume";
    refuses(&MPICH.run(at, PLAIN, again), 3, &["the journal is of another job"]);
}
