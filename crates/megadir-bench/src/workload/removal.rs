//! Removing everything in a directory at once: by a plain loop, by the library or by a process `rm -rf`.
//!
//! The directory itself stays. What was there is counted before and after by the runner, whoever removes.

use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::time::Instant;

use megadir::Dir;
use megadir::remove::{Conditions, Failures, Progress, RemoveOptions, remove_contents};
use megadir_record::{Counted, RemoveWork, Remover};
use megadir_sys::usage::{Usage, children_usage, process_usage};
use rustix::fs::RawDir;

use super::{BlockKey, ListError, Signals, Taken, Workload};
use crate::beat::{WRITING_BACK, marked};
use crate::measure::Stopwatch;
use crate::remove::remove_content;

const STAGE: &str = "removing";
/// More directories would not go onto one command line.
const NAMES_MAX: usize = 50_000;

/// One arm's removals.
pub(super) struct Removal {
    work: RemoveWork,
    /// The names in the directory, for a process that is told them.
    names: Vec<std::ffi::OsString>,
    taken: Option<Taken>,
}

impl Removal {
    pub(super) fn new(work: RemoveWork) -> Self {
        Self { work, names: Vec::new(), taken: None }
    }

    fn by_library(&self, directory: &Dir, signals: Signals<'_>) -> Result<u64, ListError> {
        let failures = Failures::new(1);
        let progress = Progress::new();
        let options = RemoveOptions {
            workers: self.work.workers as usize,
            cross_mounts: false,
            conditions: Conditions::NONE,
            dry_run: false,
            keep: None,
            entries_per_second_max: None,
            order: None,
            // A copy of the table lives a moment longer than its thread is waited for, and would keep what is to be unmounted busy.
            own_tables: false,
            on_failure: &|failure| failures.add(failure),
        };
        let removed =
            remove_contents(directory, &options, &progress).map_err(|error| failed(error.into()))?;
        signals.check()?;
        match failures.take().pop() {
            Some(failure) => Err(failed(failure.into())),
            None => Ok(removed.counts.entries),
        }
    }

    fn by_rm(&self, directory: &Dir) -> Result<u64, ListError> {
        // The directory that is open, whatever has its path by now; /proc/self is the child's own, which has a copy of the descriptor.
        let own = directory.reopen().map_err(|error| failed(error.into()))?;
        let mut rm = rm();
        rm.args(["-rf", "--"]).args(&self.names).current_dir(format!("/proc/self/fd/{}", own.as_raw_fd()));
        let output = rm.stdin(Stdio::null()).stdout(Stdio::null()).output().map_err(failed)?;
        match output.status.success() {
            true => Ok(self.work.files),
            false => Err(failed(std::io::Error::other(format!(
                "rm -rf: {}: {}",
                output.status,
                String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default()
            )))),
        }
    }
}

fn rm() -> Command {
    Command::new("rm")
}

fn failed(source: std::io::Error) -> ListError {
    ListError::Stage { stage: STAGE, source }
}

impl Workload for Removal {
    fn unavailable(&self, _directory: &Dir) -> Option<String> {
        if self.work.by != Remover::Rm {
            return None;
        }
        let found = rm().arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.err().map(|error| format!("no program rm: {error}"))
    }

    fn ready(
        &mut self,
        directory: &Dir,
        _block: BlockKey,
        _operations: u64,
        _signals: Signals<'_>,
    ) -> Result<(), ListError> {
        use std::os::unix::ffi::OsStrExt;
        self.names.clear();
        if self.work.by != Remover::Rm {
            return Ok(());
        }
        let own = directory.reopen().map_err(|error| failed(error.into()))?;
        let mut buffer = Vec::with_capacity(64 << 10);
        let mut entries = RawDir::new(&own, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|error| failed(error.into()))?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                self.names.push(std::ffi::OsStr::from_bytes(name).to_owned());
            }
        }
        if self.names.len() > NAMES_MAX {
            return Err(failed(std::io::Error::other("too many directories for one rm -rf")));
        }
        Ok(())
    }

    fn run(
        &mut self,
        directory: &Dir,
        _operations: u64,
        _stopwatch: &mut Stopwatch,
        signals: Signals<'_>,
    ) -> Result<Counted, ListError> {
        let (before, of_children) = (process_usage(), children_usage());
        let started = Instant::now();
        let entries = match self.work.by {
            Remover::PlainLoop => {
                use std::os::fd::AsFd;
                let own = directory.reopen().map_err(|error| failed(error.into()))?;
                remove_content(own.as_fd(), b"", signals.beat).map_err(failed)?;
                self.work.files
            }
            // Neither gives signs of life meanwhile, and neither hangs for as long as the disk works.
            Remover::Library => marked(signals.beat, WRITING_BACK, || self.by_library(directory, signals))?,
            Remover::Rm => marked(signals.beat, WRITING_BACK, || self.by_rm(directory))?,
        };
        let elapsed_ns = started.elapsed().as_nanos() as u64;
        let (own, children) = (process_usage().since(before), children_usage().since(of_children));
        let usage = Usage {
            user_ns: own.user_ns + children.user_ns,
            system_ns: own.system_ns + children.system_ns,
            read_bytes: own.read_bytes.zip(children.read_bytes).map(|(own, children)| own + children),
        };
        self.taken = Some(Taken { elapsed_ns, usage });
        Ok(Counted { entries, hash: 0, calls: None, written_bytes: 0 })
    }

    fn taken(&self) -> Option<Taken> {
        self.taken
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use megadir_record::Phase;

    use super::*;
    use crate::measure::Calibration;

    #[test]
    fn everyone_removes_everything_and_keeps_the_directory() {
        for by in [Remover::PlainLoop, Remover::Library, Remover::Rm] {
            let scratch = tempfile::tempdir().unwrap();
            let at = scratch.path().join("data");
            for directory in 0..5 {
                std::fs::create_dir_all(at.join(format!("d{directory}"))).unwrap();
                (0..7).for_each(|file| std::fs::write(at.join(format!("d{directory}/{file}")), "").unwrap());
            }
            std::fs::write(scratch.path().join("beside"), "").unwrap();
            std::os::unix::fs::symlink("../beside", at.join("-link")).unwrap();
            let directory = Dir::open(&at).unwrap();
            let (stop, beat) = (AtomicBool::new(false), AtomicU64::new(0));
            let signals = Signals { stop: &stop, beat: &beat };
            let mut stopwatch = Stopwatch::new(Calibration::over(std::time::Duration::from_millis(1)));
            let mut removal = Removal::new(RemoveWork { by, workers: 2, files: 36 });
            assert_eq!(removal.unavailable(&directory), None);
            let block = BlockKey { phase: Phase::Measure, round: 0, attempt: 0, distinct: false };
            removal.ready(&directory, block, 36, signals).unwrap();
            let counted = removal.run(&directory, 36, &mut stopwatch, signals).unwrap();
            assert_eq!(counted.entries, 36, "{by:?}");
            assert!(removal.taken().is_some_and(|taken| taken.elapsed_ns > 0));
            assert_eq!(std::fs::read_dir(&at).unwrap().count(), 0, "{by:?}");
            assert!(scratch.path().join("beside").exists());
        }
    }

    #[test]
    fn what_takes_the_path_of_the_directory_meanwhile_stays() {
        for by in [Remover::PlainLoop, Remover::Library, Remover::Rm] {
            let scratch = tempfile::tempdir().unwrap();
            let (at, victim) = (scratch.path().join("data"), scratch.path().join("victim"));
            for directory in [&at, &victim] {
                std::fs::create_dir(directory).unwrap();
                std::fs::write(directory.join("file"), "").unwrap();
            }
            let directory = Dir::open(&at).unwrap();
            let (stop, beat) = (AtomicBool::new(false), AtomicU64::new(0));
            let signals = Signals { stop: &stop, beat: &beat };
            let mut stopwatch = Stopwatch::new(Calibration::over(std::time::Duration::from_millis(1)));
            let mut removal = Removal::new(RemoveWork { by, workers: 1, files: 1 });
            let block = BlockKey { phase: Phase::Measure, round: 0, attempt: 0, distinct: false };
            removal.ready(&directory, block, 1, signals).unwrap();
            std::fs::rename(&at, scratch.path().join("moved")).unwrap();
            std::os::unix::fs::symlink("victim", &at).unwrap();
            removal.run(&directory, 1, &mut stopwatch, signals).unwrap();
            assert!(victim.join("file").exists(), "{by:?}");
            assert!(!scratch.path().join("moved/file").exists(), "{by:?}");
        }
    }
}
