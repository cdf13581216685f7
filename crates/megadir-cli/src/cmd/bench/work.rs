//! Options of `megadir bench run` about work on files: who does it, in which order, how it is made durable, in which layouts.

use megadir_bench::dataset::parse_spread;
use megadir_bench::study::{AccessSpec, Kind, Study};
use megadir_record::{FileOrder, Sharing, Spread, SyncPolicy, WorkerKind};
use serde::de::DeserializeOwned;

use crate::exit::CliError;

/// What is chosen of work on files; what is left out is the study's.
#[derive(clap::Args)]
pub(crate) struct FileWorkArgs {
    /// Spread files over directories, for studies that work in many: flat, per-directory:200, prefix:2/2, git ('megadir make --help' explains layouts); study layout compares several with the first.
    #[arg(long, value_name = "LAYOUT,...", value_delimiter = ',', value_parser = layout)]
    layout: Vec<String>,
    /// Read files back in these orders, for study layout: as-written, random, listing, inode.
    #[arg(long, value_name = "ORDER,...", value_delimiter = ',', value_parser = word::<FileOrder>)]
    order: Vec<FileOrder>,
    /// Make what is written durable: never, each-file (fsync), file-and-directory, at-end (syncfs); study smallfile compares several with the first.
    #[arg(long, value_name = "POLICY,...", value_delimiter = ',', value_parser = word::<SyncPolicy>)]
    sync: Vec<SyncPolicy>,
    /// Compare these numbers of workers, for study smallfile, where each has as many files as --entries says, and study remove.
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    workers: Vec<u32>,
    /// Have workers be processes or threads: process, thread.
    #[arg(long, value_name = "KIND", value_parser = word::<WorkerKind>)]
    worker_kind: Option<WorkerKind>,
    /// Find files so, for study smallfile: directory (each is listed, and each entry worked on), name (known beforehand).
    #[arg(long, value_name = "HOW,...", value_delimiter = ',', value_parser = word::<AccessSpec>)]
    access: Vec<AccessSpec>,
    /// Give each worker files of its own (own), or have all work in the same directories (same), where they contend.
    #[arg(long, value_name = "HOW", value_parser = word::<Sharing>)]
    sharing: Option<Sharing>,
}

impl FileWorkArgs {
    /// Returns the names of the options that were given.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let all = [
            ("--layout", !self.layout.is_empty()),
            ("--order", !self.order.is_empty()),
            ("--sync", !self.sync.is_empty()),
            ("--workers", !self.workers.is_empty()),
            ("--worker-kind", self.worker_kind.is_some()),
            ("--access", !self.access.is_empty()),
            ("--sharing", self.sharing.is_some()),
        ];
        all.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }

    /// Returns the one layout of a study that does not compare several.
    pub(crate) fn spread(&self, study: &Study) -> Result<Option<Spread>, CliError> {
        match self.layout.as_slice() {
            _ if matches!(study.kind, Kind::Layout(_)) => Ok(None),
            [] => Ok(None),
            [one] => parse_spread(one).map(Some).map_err(CliError::usage),
            _ => Err(CliError::usage(format!(
                "--layout has several values, and study `{}` does not compare layouts: name one",
                study.meta.name
            ))),
        }
    }

    /// Writes what was chosen into a study; an option that the study has no use for is an error.
    pub(crate) fn apply(&self, study: &mut Study) -> Result<(), CliError> {
        let mut unused = self.given();
        let mut uses = |name: &str| unused.retain(|given| *given != name);
        uses("--layout");
        match &mut study.kind {
            Kind::Layout(layout) => {
                take(&mut layout.layouts, &self.layout);
                take(&mut layout.read_orders, &self.order);
                layout.sync = one(&self.sync, layout.sync)?;
                ["--order", "--sync"].into_iter().for_each(&mut uses);
            }
            Kind::Fill(fill) => {
                fill.sync = one(&self.sync, fill.sync)?;
                uses("--sync");
            }
            Kind::SmallFiles(small) => {
                take(&mut small.sync, &self.sync);
                take(&mut small.workers, &self.workers);
                take(&mut small.access, &self.access);
                small.workers.sort_unstable();
                small.worker_kind = self.worker_kind.unwrap_or(small.worker_kind);
                small.sharing = self.sharing.unwrap_or(small.sharing);
                ["--sync", "--workers", "--worker-kind", "--access", "--sharing"]
                    .into_iter()
                    .for_each(&mut uses);
            }
            Kind::Remove(remove) => {
                if !self.layout.is_empty() {
                    let reason = "study `remove` has shapes of its own, so --layout has no use";
                    return Err(CliError::usage(reason));
                }
                take(&mut remove.workers, &self.workers);
                remove.workers.sort_unstable();
                uses("--workers");
            }
            _ => {}
        }
        match unused.first() {
            None => Ok(()),
            Some(name) => Err(CliError::usage(format!(
                "study `{}` has no use for {name}: 'megadir bench run --help' says which study takes it",
                study.meta.name
            ))),
        }
    }
}

/// Takes what was chosen, each value once, in the place of what a study says.
fn take<T: Clone + PartialEq>(of_study: &mut Vec<T>, chosen: &[T]) {
    if chosen.is_empty() {
        return;
    }
    of_study.clear();
    for value in chosen {
        if !of_study.contains(value) {
            of_study.push(value.clone());
        }
    }
}

/// Returns the one value that was chosen, or the study's.
fn one(chosen: &[SyncPolicy], of_study: SyncPolicy) -> Result<SyncPolicy, CliError> {
    match chosen {
        [] => Ok(of_study),
        [one] => Ok(*one),
        _ => Err(CliError::usage(
            "--sync has several values, and only study smallfile compares them: name one",
        )),
    }
}

/// Checks a layout and leaves it as it was typed.
fn layout(text: &str) -> Result<String, String> {
    parse_spread(text).map(|_| text.to_owned())
}

/// Reads a word of a closed set as records have it.
fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned()))
        .map_err(|error| megadir_bench::study::plain(&error.to_string()))
}
