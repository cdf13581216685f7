//! Engines: how the work of a command is spread over processes. With `mpi`, an MPI launcher started them. Without `--engine mpi` each copy would
//! do all of the work, so commands that write are refused. Only rank 0 prints.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use megadir_bench::RankWorkers;
use megadir_mpi::{Error, LIBRARY_VARIABLE, Launcher, Proof, World};

use crate::exit::{self, CliError};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Engine {
    /// Processes that an MPI launcher started
    Mpi,
}

/// Rank that uses the files of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shift {
    /// A rank on another host, if there are several
    #[default]
    Host,
    /// The same rank, whose cache may still hold them
    None,
}

/// Time for the lines of rank 0, which a launcher passes on: it may end all processes at once when one has failed.
pub(crate) const FIRST_WORD: Duration = Duration::from_millis(200);

const LINES: &[(&str, &str)] = &[
    ("scan", "scan DIR --engine mpi -o FOLDER"),
    ("usage", "usage DIR --engine mpi"),
    ("changes", "changes INVENTORY --engine mpi"),
    ("remove", "remove DIR --engine mpi --yes"),
    ("bench", "bench run smallfile --engine mpi --dir DIR"),
];

fn launcher() -> Option<Launcher> {
    Launcher::recognise(|name| std::env::var_os(name))
}

pub(crate) fn refuse_copies(writes: bool) -> Result<(), CliError> {
    match launcher().filter(|launcher| launcher.size > 1 && writes) {
        Some(Launcher { name, size, .. }) => Err(CliError::usage(format!(
            "{name} started {size} copies of this command, and each would do all of its work; start it once, or add \
             --engine mpi (scan, usage, changes, remove, bench run)"
        ))),
        None => Ok(()),
    }
}

/// On one rank only, if all ranks have the error.
pub(crate) fn print_error(error: &CliError, with_engine: bool) {
    let of_all = with_engine || error.code == exit::USAGE;
    match launcher().filter(|launcher| of_all && launcher.rank > 0) {
        Some(_) => std::thread::sleep(FIRST_WORD),
        None => eprintln!("megadir: {error}"),
    }
}

pub(crate) fn join() -> Result<World, CliError> {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let proof = std::env::current_exe().and_then(|program| Proof::of(&program, &words));
    let proof =
        proof.map_err(|error| CliError::nothing_ran(format!("cannot read the running program: {error}")))?;
    let library = std::env::var_os(LIBRARY_VARIABLE);
    World::join(launcher().as_ref(), library.as_deref().map(Path::new), proof).map_err(|error| match error {
        Error::NoLauncher => failed(format!("{error}; try: mpirun -np 4 megadir {}", line(&words))),
        error => failed(error),
    })
}

/// Line to type after the launcher, of the command that was typed without it.
fn line(words: &[OsString]) -> &'static str {
    let typed = words.iter().find_map(|word| LINES.iter().find(|(command, _)| word == command));
    typed.map_or("scan DIR --engine mpi -o FOLDER", |(_, line)| line)
}

/// Workers of a benchmark. Proves that all ranks see `directory`.
pub(crate) fn join_workers(
    directory: &Path,
    shift: Shift,
    heartbeat: &AtomicU64,
) -> Result<RankWorkers, CliError> {
    let mut world = join()?;
    world.report_absent(|line| eprintln!("megadir: {line}"));
    RankWorkers::share(world, directory, shift == Shift::Host, heartbeat).map_err(failed)
}

pub(crate) fn failed(error: impl std::fmt::Display) -> CliError {
    CliError::nothing_ran(format!("--engine mpi: {error}"))
}
