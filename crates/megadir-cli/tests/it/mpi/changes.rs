//! Comparisons by ranks: the output is the same as one process prints, and no part stays behind.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use megadir_testkit::{PATIENCE, require};

use super::jobs::{PLAIN, SLOW, alone, parts, tree};
use super::{MPICH, Mpi, OPEN_MPI, refuses};
use crate::support::{Ran, finish, have, megadir, root, scratch};

const WORK: &str = "changes shared/inventory tree";

/// A tree, inventories of it in `shared`, and changes of every kind.
fn changed_tree(at: &Path) {
    tree(at);
    fs::create_dir(at.join("shared")).unwrap();
    (0..40).for_each(|index| fs::write(at.join(format!("tree/5/old{index}")), "old").unwrap());
    std::thread::sleep(Duration::from_millis(300));
    // Suspects, more than a terminal lists: the scan has to begin at once.
    let has_suspects = (0..100).any(|_| {
        let _ = fs::remove_file(at.join("shared/inventory"));
        (0..12).for_each(|index| fs::write(at.join(format!("tree/4/fresh{index}")), "fresh").unwrap());
        alone(at, "scan tree -q -o shared/inventory");
        one_process(at, WORK).out.windows(7).filter(|word| word == b"suspect").count() == 12
    });
    assert!(has_suspects, "no scan of 100 began soon enough");
    alone(at, "scan tree -q -o shared/some --match f* --exclude 2");
    let below = |path: &str| at.join("tree").join(path);
    fs::rename(below("0"), below("moved")).unwrap();
    fs::rename(below("5/old1"), below("1/new1")).unwrap();
    fs::remove_dir_all(below("2")).unwrap();
    fs::create_dir_all(below("9/8/7")).unwrap();
    (0..50).for_each(|index| fs::write(below(&format!("9/8/7/f{index}")), "new").unwrap());
    fs::write(below("5/old2"), "longer than before").unwrap();
    fs::set_permissions(below("5/old3"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(below("5/old4")).unwrap();
    fs::create_dir(below("5/old4")).unwrap();
    fs::remove_file(below("5/old5")).unwrap();
    symlink("old6", below("5/old5")).unwrap();
    fs::hard_link(below("5/old6"), below("6/linked")).unwrap();
}

/// Private directories next to the inventories.
fn left_behind(at: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(at.join("shared")).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.file_name().unwrap().as_encoded_bytes().starts_with(b"megadir-bench-")).collect()
}

fn parts_beside(at: &Path) -> usize {
    left_behind(at).iter().map(|private| parts(&private.join("files"))).sum()
}

fn one_process(at: &Path, words: &str) -> Ran {
    finish(&mut megadir(at, &words.split(' ').collect::<Vec<_>>()))
}

#[track_caller]
fn equals_one_process(mpi: &Mpi, ranks: &str, at: &Path, (script, words): (&str, &str)) {
    let (whole, divided) = (
        one_process(at, words),
        finish(&mut mpi.command_of(ranks, at, script, &format!("{words} --engine mpi"))),
    );
    assert_eq!(divided.code, whole.code, "{words}: {divided:?}");
    assert!(divided.out == whole.out, "{words}: {divided:?} instead of {whole:?}");
    assert_eq!(left_behind(at), Vec::<PathBuf>::new(), "{words}");
}

fn changes_of(mpi: &Mpi, ranks: &str) {
    let scratch = scratch();
    let at = scratch.path();
    changed_tree(at);
    let printed = String::from_utf8(one_process(at, WORK).out).unwrap();
    for kind in ["added ", "removed ", "modified ", "renamed ", "type-changed ", "suspect "] {
        assert!(printed.lines().any(|line| line.starts_with(kind)), "{kind}: {printed}");
    }
    let words = format!("{WORK} --json");
    equals_one_process(mpi, ranks, at, (SLOW, &words));
    for options in [
        " --null",
        "",
        " --only added,renamed,suspect --json",
        " --match f* --json",
        " --exclude 9 --max-depth 2 --json",
        " --gains=apparent --json",
        " --paths --null",
        " --quiet",
    ] {
        equals_one_process(mpi, ranks, at, (PLAIN, &format!("{WORK}{options}")));
    }
    // The path that was scanned, and an inventory made with conditions.
    equals_one_process(mpi, ranks, at, (PLAIN, "changes shared/inventory --json"));
    equals_one_process(mpi, ranks, at, (PLAIN, "changes shared/some tree --json"));
    // A folder of parts.
    fs::rename(at.join("tree/moved"), at.join("tree/0")).unwrap();
    let scan = finish(&mut mpi.command_of(ranks, at, SLOW, "scan tree --engine mpi -q -o shared/parts"));
    assert_eq!(scan.code, Some(0), "{scan:?}");
    fs::rename(at.join("tree/0"), at.join("tree/moved")).unwrap();
    fs::write(at.join("tree/new"), "new").unwrap();
    equals_one_process(mpi, ranks, at, (SLOW, "changes shared/parts/ tree --json"));
    fs::remove_dir_all(at.join("tree")).unwrap();
}

#[test]
fn ranks_of_open_mpi_print_the_changes_that_one_process_prints() {
    require!(have("mpirun.openmpi").and_then(|()| have("strace")));
    changes_of(&OPEN_MPI, "4");
}

#[test]
fn ranks_of_mpich_print_the_changes_that_one_process_prints() {
    require!(have("mpirun.mpich").and_then(|()| have("strace")));
    changes_of(&MPICH, "4");
}

#[test]
fn a_single_rank_prints_the_same_changes() {
    require!(have("mpirun.mpich").and_then(|()| have("strace")));
    changes_of(&MPICH, "1");
}

#[test]
fn directories_that_cannot_be_read_fail_as_for_one_process() {
    require!(have("mpirun.mpich").and_then(|()| have("setpriv")).and_then(|()| root()));
    let scratch = scratch();
    let at = scratch.path();
    changed_tree(at);
    for path in ["", "shared"] {
        fs::set_permissions(at.join(path), fs::Permissions::from_mode(0o777)).unwrap();
    }
    fs::set_permissions(at.join("tree/3"), fs::Permissions::from_mode(0o700)).unwrap();
    let words = format!("{WORK} --json");
    let program = crate::support::program();
    let user = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    let mut whole = Command::new("sh");
    whole.args(["-c", &format!("exec {user} \"$@\""), "-"]).arg(program);
    let whole = finish(whole.args(words.split(' ')).current_dir(at));
    let script = format!("exec {user} \"$@\"");
    let divided = MPICH.run(at, &script, &format!("{words} --engine mpi"));
    assert!(whole.code == Some(1) && divided.code == Some(1), "{whole:?} {divided:?}");
    assert!(!whole.out.is_empty() && divided.out == whole.out, "{divided:?} instead of {whole:?}");
    let of_directory = |ran: &Ran| ran.err.lines().filter(|line| line.contains("tree/3'")).count();
    assert_eq!((of_directory(&whole), of_directory(&divided)), (1, 1), "{divided:?}");
    let last = "incomplete: 1 entry or directory could not be compared";
    assert!(whole.err.contains(last) && divided.err.contains(last), "{whole:?} {divided:?}");
    assert_eq!(left_behind(at), Vec::<PathBuf>::new());
}

fn wait_for_parts(at: &Path, run: &mut Child, number: usize) {
    let begun = Instant::now();
    while parts_beside(at) < number {
        assert!(
            begun.elapsed() < PATIENCE && run.try_wait().unwrap().is_none(),
            "{} parts",
            parts_beside(at)
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends a signal to some ranks of a comparison once it has written parts; returns its messages.
fn signalled(mpi: &Mpi, at: &Path, signal: &str, of: &[u32]) -> String {
    (0..4).for_each(|rank| drop(fs::remove_file(at.join(format!("pid.{rank}")))));
    let mut run = mpi.command(at, SLOW, &format!("{WORK} --json --engine mpi"));
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_parts(at, &mut run, 3);
    let pid = |rank: &u32| fs::read_to_string(at.join(format!("pid.{rank}"))).unwrap();
    let pids: Vec<String> = of.iter().map(pid).collect();
    let pids = pids.iter().map(|pid| pid.trim());
    assert!(Command::new("kill").arg(signal).args(pids).status().unwrap().success());
    let run = run.wait_with_output().unwrap();
    assert!(!run.status.success());
    String::from_utf8_lossy(&run.stderr).into_owned()
}

#[test]
fn interrupted_comparison_leaves_no_parts_and_removes_the_parts_of_a_killed_one() {
    require!(have("mpirun.mpich").and_then(|()| have("mpirun.openmpi")).and_then(|()| have("strace")));
    let scratch = scratch();
    let at = scratch.path();
    changed_tree(at);
    let all: &[u32] = &[0, 1, 2, 3];
    for (mpi, ranks) in [(&MPICH, &all[..1]), (&MPICH, all), (&OPEN_MPI, all)] {
        let ran = signalled(mpi, at, "-INT", ranks);
        assert_eq!(left_behind(at), Vec::<PathBuf>::new(), "{} {ranks:?}: {ran}", mpi.library);
    }
    signalled(&MPICH, at, "-KILL", &[2]);
    assert_eq!(left_behind(at).len(), 1);
    // What a living run has stays.
    let mut other = MPICH.command(at, SLOW, &format!("{WORK} --json --engine mpi"));
    let mut other = other.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_parts(at, &mut other, 1);
    let words = format!("{WORK} --json");
    let ran = MPICH.run(at, PLAIN, &format!("{words} --engine mpi"));
    assert!(ran.code == Some(0) && ran.out == one_process(at, &words).out, "{ran:?}");
    let other = other.wait_with_output().unwrap();
    assert!(other.status.success() && other.stdout == one_process(at, &words).out, "{other:?}");
    assert_eq!(left_behind(at), Vec::<PathBuf>::new());
}

#[test]
fn comparisons_are_refused_before_anything_is_written() {
    require!(have("mpirun.mpich").and_then(|()| root()));
    let scratch = scratch();
    let at = scratch.path();
    changed_tree(at);
    alone(at, "scan tree -q -o shared/newer");
    alone(at, "scan tree -q -o tree/inside");
    alone(at, "scan tree -q -o shared/crossed --cross-mounts");
    let elsewhere = r#"[ $PMI_RANK != 1 ] || exec unshare -m sh -c 'cp -a shared/inventory . && mount -t tmpfs none shared &&
        cp -a inventory shared && exec "$@"' - "$@"; exec "$@""#;
    refuses(
        &MPICH.run(at, elsewhere, &format!("{WORK} --engine mpi")),
        3,
        &["share", "with the inventory in it"],
    );
    for (words, code, reason) in [
        ("changes shared/inventory tree --engine mpi --update", 2, "--update"),
        ("changes shared/inventory tree --engine mpi --verify", 2, "--verify"),
        ("changes shared/inventory tree --engine mpi --list-all", 2, "--list-all"),
        ("changes shared/inventory tree --engine mpi --files0-from list", 2, "--files0-from"),
        ("changes shared/inventory tree --engine mpi -j 2", 2, "--threads"),
        ("changes shared/inventory shared/newer --engine mpi", 2, "cannot be used with two inventories"),
        ("changes shared/inventory witness --engine mpi", 2, "not the directory that was scanned"),
        ("changes shared/inventory absent --engine mpi", 3, "absent"),
        ("changes shared/absent tree --engine mpi", 3, "absent"),
        ("changes tree/inside tree --engine mpi", 2, "'tree/inside' is in the tree 'tree'"),
        ("changes shared/crossed tree --engine mpi", 2, "--cross-mounts"),
    ] {
        refuses(&MPICH.run(at, PLAIN, words), code, &[reason]);
        assert_eq!(left_behind(at), Vec::<PathBuf>::new(), "{words}");
    }
    let alone = one_process(at, &format!("{WORK} --engine mpi"));
    assert!(alone.code == Some(3), "{alone:?}");
}
