//! One listing of a directory: the stages of the two programs under study, each switched on or off. Every
//! operation opens, allocates and releases everything: page faults are part of a large buffer's cost. All
//! arms hash every name (`name_hash`), which proves equal work.

use megadir::{Backend, Batch, Dir, ReadOptions};
use megadir_record::{Counted, Stage, Work};

use super::format_long::format_long;
use super::ls_stat::{self, StatCounts};
use super::output::{NameArena, Sink, format_raw, with_sink};
use crate::control::{COMPUTING, Result, RunControl, WorkError, marked};
use crate::kind::{WorkBlock, Workload, name_hash, repeat};
use crate::measure::Stopwatch;

pub(crate) struct Listing {
    backend: &'static dyn Backend,
    options: ReadOptions,
    stages: Vec<Stage>,
}

impl Listing {
    pub(crate) fn new(work: &Work) -> Result<Self> {
        let Work::List { backend, buffer_bytes, threads, shares, stages } = work else {
            let source = std::io::Error::from(std::io::ErrorKind::InvalidInput);
            return Err(WorkError::Stage { stage: "list", source });
        };
        let options =
            ReadOptions::serial(*buffer_bytes as usize).divided(*threads as usize, *shares as usize);
        Ok(Self { backend: megadir::backend(backend)?, options, stages: stages.clone() })
    }

    /// One operation: a listing with all its stages, and with the pipe, if output is written.
    pub(crate) fn once(&self, directory: &Dir, control: RunControl<'_>) -> Result<Counted> {
        with_sink(self.has(Stage::Write), |sink| self.run_into(directory, control, sink))
    }

    fn has(&self, stage: Stage) -> bool {
        self.stages.contains(&stage)
    }

    /// The stages run in the order of the programs, and each is chosen by the plan, not by the machine. The
    /// reader is closed before sorting, as the programs do. Entries that vanished are subtracted, so that the
    /// count differs from the expected one, and the block is not compared.
    fn run_into(&self, directory: &Dir, control: RunControl<'_>, sink: &mut Sink) -> Result<Counted> {
        let (keeps, formats_raw) = (self.has(Stage::Keep), self.has(Stage::FormatRaw));
        let (mut seen, mut arena) = (Seen::default(), NameArena::default());
        let mut reader = self.backend.open(directory, &self.options)?;
        while let Some(batch) = reader.next_batch()? {
            control.check()?;
            seen.add(&batch);
            if keeps {
                arena.add(&batch);
            } else if formats_raw {
                format_raw(&batch, sink)?;
            }
        }
        let read_calls = reader.calls();
        drop(reader);
        if self.has(Stage::Sort) {
            marked(control.heartbeat, COMPUTING, || arena.sort());
        }
        let mut counts = StatCounts::default();
        if self.has(Stage::Attributes) {
            counts.add(ls_stat::stat_names(directory, &mut arena, control)?);
        }
        if self.has(Stage::ExtendedAttributes) {
            counts.add(ls_stat::query_extended(directory, &mut arena, control)?);
        }
        if self.has(Stage::FormatLong) {
            format_long(&arena, control, sink)?;
        }
        if formats_raw || self.has(Stage::FormatLong) {
            sink.check_lines(seen.entries)?;
        }
        // Vanished entries make the block unequal.
        seen.entries -= counts.vanished.min(seen.entries);
        Ok(seen.counted(read_calls, counts.calls, sink))
    }
}

impl Workload for Listing {
    fn unavailable(&self, directory: &Dir) -> Option<String> {
        let lacking = self.stages.iter().find_map(|stage| ls_stat::lacks(*stage));
        lacking.or_else(|| self.backend.probe(directory).err().map(|error| error.reason()))
    }

    fn run(&mut self, block: &WorkBlock<'_>, _stopwatch: &mut Stopwatch) -> Result<Counted> {
        repeat(block.operations, || self.once(block.directory, block.control))
    }
}

/// Entries of a listing, and the sum of the hashes of their names.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    entries: u64,
    hash: u64,
}

impl Seen {
    #[inline]
    fn add(&mut self, batch: &Batch<'_>) {
        for entry in batch.entries() {
            self.entries += 1;
            self.hash = self.hash.wrapping_add(name_hash(entry.name));
        }
    }

    fn counted(self, read_calls: Option<u64>, calls: u64, sink: &Sink) -> Counted {
        Counted {
            entries: self.entries,
            hash: self.hash,
            calls: read_calls.map(|read| read + calls + sink.calls()),
            written_bytes: sink.written_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use super::*;

    /// Two backends of this system.
    const BACKENDS: [&str; 2] =
        if cfg!(windows) { ["by-handle", "find-first-file"] } else { ["getdents", "readdir"] };

    #[test]
    fn every_stage_sees_every_entry_and_every_line_arrives() {
        const FILES: u64 = 300;
        let parent = tempfile::tempdir().unwrap();
        let mut hash = 0_u64;
        for index in 0..FILES {
            let name = format!("file-{index}-\u{e4}");
            hash = hash.wrapping_add(name_hash(name.as_bytes()));
            std::fs::write(parent.path().join(name), "12345").unwrap();
        }
        let directory = Dir::open(parent.path()).unwrap();
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        let raw = [Stage::Read, Stage::FormatRaw, Stage::Write];
        let long = [
            Stage::Read,
            Stage::Keep,
            Stage::Sort,
            Stage::Attributes,
            Stage::ExtendedAttributes,
            Stage::FormatLong,
            Stage::Write,
        ];
        for backend in BACKENDS {
            for stages in [&[Stage::Read][..], &raw, &long] {
                let mut stages = stages.to_vec();
                let work = |stages: Vec<Stage>| Work::List {
                    backend: backend.into(),
                    buffer_bytes: 65_536,
                    threads: 1,
                    shares: 1,
                    stages,
                };
                let lacking = Listing::new(&work(stages.clone())).unwrap().unavailable(&directory);
                assert_eq!(lacking.is_some(), cfg!(windows) && stages.len() == long.len(), "{lacking:?}");
                if lacking.is_some() {
                    stages.retain(|stage| *stage != Stage::ExtendedAttributes);
                }
                let listing = Listing::new(&work(stages.clone())).unwrap();
                assert_eq!(listing.unavailable(&directory), None);
                let counted = listing.once(&directory, control).unwrap();
                assert_eq!((counted.entries, counted.hash), (FILES, hash), "{backend} {stages:?}");
                let names_bytes = FILES * 7;
                let written = counted.written_bytes > names_bytes;
                assert_eq!(written, stages.contains(&Stage::Write), "{backend} {stages:?} {counted:?}");
            }
        }
    }
}
