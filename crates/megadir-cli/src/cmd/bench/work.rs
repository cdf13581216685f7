//! Options of `megadir bench run` for some studies: workers, order, durability, layout, groups of commands.

use megadir_bench::dataset::parse_spread;
use megadir_bench::has_shares;
use megadir_bench::study::{CommandGroup, Kind, Study};
use megadir_record::{
    AccessBy, FileOperation, FileOrder, OutputTo, Sharing, Spread, SyncPolicy, WorkerKind, Workers,
};
use serde::de::DeserializeOwned;

use crate::exit::{CliError, refuse_if};

/// Parts of studies; options not given are the study's.
#[derive(clap::Args)]
pub(crate) struct FileWorkArgs {
    /// Layouts of the files: flat, per-directory:200, prefix:2/2, git, ...
    ///
    /// For studies with many directories; study layout compares several with the first. 'megadir make --help' explains layouts.
    #[arg(long, value_name = "LAYOUT,...", value_delimiter = ',', value_parser = layout)]
    layout: Vec<String>,
    /// Orders of reading files back (study layout): as-written, random, listing, inode
    #[arg(long, value_name = "ORDER,...", value_delimiter = ',', value_parser = word::<FileOrder>)]
    order: Vec<FileOrder>,
    /// Durability of written data: never, each-file, file-and-directory, at-end
    ///
    /// each-file calls fsync on every file, at-end calls syncfs once. Study smallfile compares several with the first.
    #[arg(long, value_name = "POLICY,...", value_delimiter = ',', value_parser = word::<SyncPolicy>)]
    sync: Vec<SyncPolicy>,
    /// Numbers of workers to compare
    ///
    /// For study smallfile, where each worker has the number of files of --entries, and study remove. With --engine mpi, ranks
    /// are the workers; multiples of their number are several threads in each.
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    workers: Vec<u32>,
    /// Kind of workers: process, thread
    #[arg(long, value_name = "KIND", value_parser = word::<WorkerKind>)]
    worker_kind: Option<WorkerKind>,
    /// Method of finding files (study smallfile): directory (list, then work on each entry), name (known in advance)
    #[arg(long, value_name = "HOW,...", value_delimiter = ',', value_parser = word::<AccessBy>)]
    access: Vec<AccessBy>,
    /// Operations on each file (studies of small files): create, any of stat, read and rewrite, and unlink
    #[arg(long, value_name = "OPERATION,...", value_delimiter = ',', value_parser = word::<FileOperation>)]
    operation: Vec<FileOperation>,
    /// Directories of the workers: own, or same (shared, with contention)
    #[arg(long, value_name = "HOW", value_parser = word::<Sharing>)]
    sharing: Option<Sharing>,
    /// Groups of commands to measure [default: all of the study's]
    ///
    /// For study peers and study files with [command], e.g. --group names,usage.
    #[arg(long, value_name = "GROUP,...", value_delimiter = ',')]
    group: Vec<String>,
}

impl FileWorkArgs {
    pub(crate) fn given(&self) -> Vec<&'static str> {
        given(&[
            ("--layout", !self.layout.is_empty()),
            ("--order", !self.order.is_empty()),
            ("--sync", !self.sync.is_empty()),
            ("--workers", !self.workers.is_empty()),
            ("--worker-kind", self.worker_kind.is_some()),
            ("--access", !self.access.is_empty()),
            ("--operation", !self.operation.is_empty()),
            ("--sharing", self.sharing.is_some()),
            ("--group", !self.group.is_empty()),
        ])
    }

    pub(crate) fn spread(&self, study: &Study) -> Result<Option<Spread>, CliError> {
        match self.layout.as_slice() {
            _ if matches!(study.kind, Kind::Layout(_)) => Ok(None),
            [] => Ok(None),
            [text] => parse_spread(text).map(Some).map_err(CliError::usage),
            _ => Err(CliError::usage(format!(
                "--layout has several values, and study `{}` does not compare layouts: name one",
                study.meta.name
            ))),
        }
    }

    /// Ranks share the work, or each does all of it. By default `smallfile` and `remove` compare one rank with all.
    pub(crate) fn use_ranks(&self, study: &mut Study, ranks: u32) -> Result<(), CliError> {
        let refused = |reason: &str| {
            let name = &study.meta.name;
            Err(CliError::usage(format!("--engine mpi: study `{name}` {reason}")))
        };
        let share_out = |workers: &mut Vec<u32>| {
            if self.workers.is_empty() {
                *workers = if ranks == 1 { vec![1] } else { vec![1, ranks] };
            }
            match workers.iter().find(|count| !has_shares(**count, ranks)) {
                Some(count) => Err(CliError::usage(format!(
                    "--workers {count}: the launcher started {ranks} ranks; use at most {ranks}, or a multiple of {ranks} (several threads in each rank)"
                ))),
                None => Ok(()),
            }
        };
        match &mut study.kind {
            Kind::SmallFiles(small) => {
                share_out(&mut small.workers)?;
                (small.worker_kind, small.ranks) = (WorkerKind::Rank, ranks);
                small.cold.clear();
            }
            Kind::Remove(remove) => {
                share_out(&mut remove.workers)?;
                remove.ranks = Some(ranks);
                for directories in remove.directories.iter_mut().filter(|number| **number > 1) {
                    *directories = directories.next_multiple_of(ranks.into());
                }
                remove.directories.dedup();
            }
            Kind::Fill(fill) => {
                fill.workers = Workers { count: ranks, kind: WorkerKind::Rank, ..fill.workers };
            }
            Kind::Layout(layout) if layout.writers > 1 => {
                return refused("sets `writers`, the number of threads; remove it");
            }
            Kind::Layout(layout) => (layout.writers, layout.worker_kind) = (ranks, WorkerKind::Rank),
            Kind::List(_) | Kind::Lookup(_) | Kind::StatAll(_) | Kind::StatSome(_) => {}
            Kind::Command(spec) => {
                let is_alone = |group: &&CommandGroup| {
                    let names_out = group.arms.iter().any(|arm| arm.run.contains("{out}"));
                    group.changes || group.prepare.is_some() || group.output == OutputTo::File || names_out
                };
                if let Some(group) = spec.groups.iter().find(is_alone) {
                    let name = &group.name;
                    return refused(&format!(
                        "has group `{name}`, whose programs write: ranks would disturb each other; choose others with --group"
                    ));
                }
            }
            Kind::FillUntilFull(_) => {
                return refused("fills one directory until a file is refused, which one process does");
            }
        }
        Ok(())
    }

    /// Replaces lists of the study by lists that options give. Each kind of study names the options that it
    /// uses; any other option that was given is refused afterwards, so a new kind that is forgotten here
    /// refuses all options instead of ignoring them. `--layout` is checked elsewhere.
    pub(crate) fn apply(&self, study: &mut Study) -> Result<(), CliError> {
        let uses: &[&str] = match &mut study.kind {
            Kind::Layout(layout) => {
                take(&mut layout.layouts, &self.layout);
                take(&mut layout.read_orders, &self.order);
                layout.sync = single_sync(&self.sync, layout.sync)?;
                &["--order", "--sync"]
            }
            Kind::Fill(fill) => {
                fill.sync = single_sync(&self.sync, fill.sync)?;
                &["--sync"]
            }
            Kind::SmallFiles(small) => {
                take(&mut small.sync, &self.sync);
                take(&mut small.workers, &self.workers);
                take(&mut small.access, &self.access);
                take(&mut small.operations, &self.operation);
                small.workers.sort_unstable();
                let by_rank = self.worker_kind == Some(WorkerKind::Rank);
                refuse_if(&[(by_rank, "--worker-kind rank: use --engine mpi instead")])?;
                small.worker_kind = self.worker_kind.unwrap_or(small.worker_kind);
                small.sharing = self.sharing.unwrap_or(small.sharing);
                &["--sync", "--workers", "--worker-kind", "--access", "--operation", "--sharing"]
            }
            Kind::Remove(remove) => {
                let reason = "study `remove` has its own shapes and takes no --layout";
                refuse_if(&[(!self.layout.is_empty(), reason)])?;
                take(&mut remove.workers, &self.workers);
                remove.workers.sort_unstable();
                &["--workers"]
            }
            Kind::Command(commands) => {
                if !self.group.is_empty() {
                    commands.keep_groups(&self.group).map_err(CliError::usage)?;
                }
                if !self.layout.is_empty() {
                    commands.groups.iter_mut().for_each(|group| group.spread = None);
                }
                &["--group"]
            }
            _ => &[],
        };
        match self.given().into_iter().find(|name| *name != "--layout" && !uses.contains(name)) {
            None => Ok(()),
            Some(name) => Err(CliError::usage(format!(
                "study `{}` does not take {name}; see 'megadir bench run --help'",
                study.meta.name
            ))),
        }
    }
}

/// The names of the options that were given.
pub(super) fn given(options: &[(&'static str, bool)]) -> Vec<&'static str> {
    options.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| *name).collect()
}

fn take<T: Clone + PartialEq>(of_study: &mut Vec<T>, chosen: &[T]) {
    if !chosen.is_empty() {
        let firsts = chosen.iter().enumerate().filter(|(place, value)| !chosen[..*place].contains(value));
        *of_study = firsts.map(|(_, value)| value.clone()).collect();
    }
}

fn single_sync(chosen: &[SyncPolicy], of_study: SyncPolicy) -> Result<SyncPolicy, CliError> {
    match chosen {
        [] => Ok(of_study),
        [sync] => Ok(*sync),
        _ => Err(CliError::usage(
            "--sync has several values, and only study smallfile compares them: name one",
        )),
    }
}

fn layout(text: &str) -> Result<String, String> {
    parse_spread(text).map(|_| text.to_owned())
}

pub(super) fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned()))
        .map_err(|error| megadir_bench::study::plain(&error.to_string()))
}
