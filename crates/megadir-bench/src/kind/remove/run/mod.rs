//! Removing everything in a directory: by a plain loop, by the library or by a process `rm -rf`. The directory
//! itself stays. For every remover the run counts the files before and after.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

use std::time::Instant;

use megadir::Dir;
use megadir::remove::{Failures, Progress, RemoveOptions, remove_contents};
use megadir_record::{Counted, RemoveWork, Remover};
use megadir_sys::usage::{Usage, process_usage};

use crate::control::{RunControl, WRITING_BACK, WorkError, marked};
use crate::kind::{BlockKey, BlockUsage, Workload};
use crate::measure::Stopwatch;
use crate::os::At;
use crate::os::removal::remove_content;
#[cfg(target_os = "linux")]
use linux as process;
#[cfg(windows)]
use windows as process;

const STAGE: &str = "removing";

pub(crate) struct Removal {
    work: RemoveWork,
    /// Names in the directory, as arguments of `rm`.
    names: Vec<std::ffi::OsString>,
    taken: Option<BlockUsage>,
}

impl Removal {
    pub(crate) fn new(work: RemoveWork) -> Self {
        Self { work, names: Vec::new(), taken: None }
    }

    fn by_library(&self, directory: &Dir, control: RunControl<'_>) -> Result<u64, WorkError> {
        let failures = Failures::new(1);
        let progress = Progress::new();
        let options = RemoveOptions {
            workers: self.work.workers as usize,
            cross_mounts: false,
            conditions: None,
            name: None,
            dry_run: false,
            keep: None,
            entries_per_second_max: None,
            order: None,
            // A thread's own descriptor table outlives `join` for a moment, and would make the unmount fail
            // with EBUSY.
            own_tables: false,
            on_failure: &|failure| failures.add(failure),
        };
        let removed =
            remove_contents(directory, &options, &progress).map_err(|error| failed(error.into()))?;
        control.check()?;
        match failures.take().pop() {
            Some(failure) => Err(failed(failure.into())),
            None => Ok(removed.counts.entries),
        }
    }
}

fn failed(source: std::io::Error) -> WorkError {
    WorkError::Stage { stage: STAGE, source }
}

impl Workload for Removal {
    fn unavailable(&self, _directory: &Dir) -> Option<String> {
        if self.work.by == Remover::Rm { process::unavailable() } else { None }
    }

    fn setup(
        &mut self,
        directory: &Dir,
        _block: BlockKey,
        _operations: u64,
        _signals: RunControl<'_>,
    ) -> Result<(), WorkError> {
        let by_process = self.work.by == Remover::Rm;
        self.names = if by_process { process::names(directory)? } else { Vec::new() };
        Ok(())
    }

    fn run(
        &mut self,
        directory: &Dir,
        _operations: u64,
        _stopwatch: &mut Stopwatch,
        control: RunControl<'_>,
    ) -> Result<Counted, WorkError> {
        let (before, of_children) = (process_usage(), process::usage());
        let started = Instant::now();
        let entries = match self.work.by {
            Remover::PlainLoop => {
                let own = directory.reopen().map_err(|error| failed(error.into()))?;
                remove_content(own.at(), b"", control.heartbeat).map_err(failed)?;
                self.work.files
            }
            // Neither increments the heartbeat meanwhile; both take as long as the disk needs.
            Remover::Library => {
                marked(control.heartbeat, WRITING_BACK, || self.by_library(directory, control))?
            }
            Remover::Rm => {
                marked(control.heartbeat, WRITING_BACK, || process::remove(directory, &self.names))?;
                self.work.files
            }
        };
        let elapsed_ns = started.elapsed().as_nanos() as u64;
        let (own, children) = (process_usage().since(before), process::usage().since(of_children));
        let usage = Usage {
            user_ns: own.user_ns + children.user_ns,
            system_ns: own.system_ns + children.system_ns,
            read_bytes: own.read_bytes.zip(children.read_bytes).map(|(own, children)| own + children),
        };
        self.taken = Some(BlockUsage { elapsed_ns, usage, peak_bytes: None });
        Ok(Counted { entries, hash: 0, calls: None, written_bytes: 0 })
    }

    fn usage(&self) -> Option<BlockUsage> {
        self.taken
    }
}

#[cfg(test)]
mod tests;
