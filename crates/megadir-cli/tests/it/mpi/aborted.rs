//! The end of a job by `MPI_Abort`: its code, and what follows if the call returns.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use megadir_testkit::{PATIENCE, require};

use super::jobs::{SLOW, scanned_alone, tree};
use super::{MPICH, Mpi};
use crate::support::{have, scratch};

const SOURCE: &str = include_str!("returning_abort.c");
const LOG: &str = "aborts";

/// Builds MPICH with an `MPI_Abort` that returns.
fn library_whose_abort_returns(at: &Path) -> Result<PathBuf, String> {
    have("mpirun.mpich").and_then(|()| have("gcc")).and_then(|()| have("strace"))?;
    let (source, library) = (at.join("returning_abort.c"), at.join("returning_abort.so"));
    fs::write(&source, SOURCE).map_err(|error| error.to_string())?;
    let linked = |with: &str| {
        let mut gcc = Command::new("gcc");
        gcc.args(["-shared", "-fPIC", "-Wall", "-Werror", "-Wl,--no-as-needed", "-o"]);
        gcc.args([&library, &source])
            .arg(with)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    match ["-l:libmpich.so.12", "-l:libmpi.so.12"].into_iter().any(linked) {
        true => Ok(library),
        false => Err("no library of MPICH to link with".to_owned()),
    }
}

/// Codes of all calls of `MPI_Abort`, in this order; fails if a process ran on after its call.
#[track_caller]
fn codes(at: &Path) -> Vec<i32> {
    let log = fs::read_to_string(at.join(LOG)).unwrap_or_default();
    log.lines().map(|line| line.parse().unwrap_or_else(|_| panic!("{log}"))).collect()
}

fn command(mpi: &Mpi, at: &Path, library: &Path, words: &str) -> Command {
    let mut command = mpi.command(at, SLOW, words);
    command.env("MEGADIR_MPI", library).env("ABORTS", at.join(LOG));
    // A stopped process outlives its launcher, and would keep a pipe open.
    command.stderr(fs::File::create(at.join("messages")).unwrap()).stdout(Stdio::null());
    command
}

fn wait_for(event: &str, is_there: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < PATIENCE, "no {event}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn nothing_runs_on_after_an_interrupt_where_the_call_that_aborts_returns() {
    let scratch = scratch();
    let at = scratch.path();
    let library = require!(library_whose_abort_returns(at));
    tree(at);
    let words = "scan tree --engine mpi -o parts";
    let mut run = command(&MPICH, at, &library, words).spawn().unwrap();
    wait_for("parts", || super::jobs::parts(&at.join("parts")) > 1);
    assert!(super::signal(at, 0, "-INT"));
    let ended = run.wait().unwrap();
    let messages = fs::read_to_string(at.join("messages")).unwrap();
    assert_eq!(codes(at), [130], "{messages}");
    assert!(ended.code().is_some_and(|code| code != 0), "{ended:?} {messages}");
}

/// The library of a rank that was stopped waits for it in every call.
#[test]
fn a_rank_that_hangs_is_named_and_the_job_ends_without_it_and_not_with_success() {
    let scratch = scratch();
    let at = scratch.path();
    let library = require!(library_whose_abort_returns(at));
    tree(at);
    let whole = scanned_alone(at);
    let mut run = command(&MPICH, at, &library, "scan tree --engine mpi -o parts").spawn().unwrap();
    wait_for("parts", || super::jobs::parts(&at.join("parts")) >= 3);
    assert!(super::signal(at, 2, "-STOP"));
    let ended = run.wait().unwrap();
    super::signal(at, 2, "-9");
    let messages = fs::read_to_string(at.join("messages")).unwrap();
    assert!(ended.code().is_some_and(|code| code != 0), "{messages}");
    for (words, times) in [
        (" so far, ", 2..10),
        ("megadir: rank 2 on '", 1..2),
        (" s on a task of 2 s, first on '", 1..2),
        ("megadir: the job ends without the ranks that hang", 1..2),
    ] {
        assert!(times.contains(&messages.matches(words).count()), "{words}: {messages}");
    }
    assert_eq!(super::jobs::alone(at, "scan --merge parts --csv -q"), whole);
    // The scan is whole, but launchers would take 0, or a multiple of 256, for the success of all ranks.
    assert_eq!(codes(at), [1], "{messages}");
}
