//! Ages a directory: files are made among its own, written back, and removed, so that it is as large as it was with them where its file system
//! does not shrink it.
//!
//! Their numbers begin far behind those of names that look-ups take for absent, which no file ever had.

use std::sync::atomic::Ordering;

use megadir_record::BuiltAged;
use megadir_sys::clock::monotonic_ns;

use super::RunError;
use crate::at::{self, Borrowed};
use crate::control::RunControl;
use crate::dataset::{Files, FillError, Filling, PlaceBuffer};
use crate::plan::ENTRIES_MAX;
use crate::workload::ABSENT_NAMES;
use crate::write_back::write_back;

/// The number of the first file: of twelve digits, as many as names in sequence have.
const FIRST: u64 = 500_000_000_000;
const _: () = assert!(FIRST > ENTRIES_MAX + ABSENT_NAMES);

/// A directory that is being aged.
pub(super) struct Aging<'a> {
    directory: Borrowed<'a>,
    of: &'a Files,
    filling: Filling<'a>,
    files: u64,
    /// The directory's size when it held them, bytes.
    full_bytes: u64,
    removed: u64,
    removed_ns: u64,
}

/// Returns what a directory says is its size, bytes.
pub(super) fn size_of(directory: Borrowed<'_>) -> std::io::Result<u64> {
    Ok(at::status_of(&directory)?.size_bytes)
}

fn failed(error: &std::io::Error) -> RunError {
    RunError::Arm { arm: "aging a directory".into(), reason: error.to_string() }
}

impl<'a> Aging<'a> {
    /// Returns nothing where the directory is to be fresh.
    pub(super) fn new(directory: Borrowed<'a>, of: &'a Files) -> Option<Self> {
        let files = of.made().aged_files;
        let filling = Filling::starting_at(directory, of, FIRST);
        (files > 0).then_some(Self {
            directory,
            of,
            filling,
            files,
            full_bytes: 0,
            removed: 0,
            removed_ns: 0,
        })
    }

    /// Makes as many files as belong beside the first `own` of `entries`; returns whether the run is to end.
    pub(super) fn make(&mut self, own: u64, entries: u64, control: RunControl<'_>) -> Result<bool, RunError> {
        let part = u128::from(self.files) * u128::from(own) / u128::from(entries.max(1));
        let mut heartbeat = |_| {
            control.heartbeat.fetch_add(1, Ordering::Relaxed);
        };
        self.filling.to(FIRST + part as u64, &mut heartbeat, control.stop)?;
        Ok(self.filling.filled.stopped)
    }

    /// Writes back what was made, and looks how large the directory has become.
    pub(super) fn filled(&mut self, control: RunControl<'_>) -> Result<(), RunError> {
        write_back(&self.directory, control.heartbeat).map_err(|error| failed(&error))?;
        self.full_bytes = size_of(self.directory).map_err(|error| failed(&error))?;
        Ok(())
    }

    /// Returns the share of the files that are still to be removed.
    pub(super) fn left(&self) -> f64 {
        (self.files - self.removed) as f64 / self.files.max(1) as f64
    }

    /// Removes the next so many files.
    pub(super) fn remove(&mut self, files: u64, control: RunControl<'_>) -> Result<(), RunError> {
        control.heartbeat.fetch_add(1, Ordering::Relaxed);
        if control.stop.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        let start_ns = monotonic_ns();
        let end = self.files.min(self.removed + files);
        let mut buffer = PlaceBuffer::new();
        for index in FIRST + self.removed..FIRST + end {
            let place = self.of.place(index, &mut buffer);
            let place = place.map_err(|reason| FillError::Files(self.of.refused(index, reason)))?;
            at::remove_file(self.directory, place.path()).map_err(|error| failed(&error))?;
        }
        self.removed = end;
        self.removed_ns += monotonic_ns() - start_ns;
        Ok(())
    }

    /// Returns what it took.
    pub(super) fn built(&self) -> BuiltAged {
        BuiltAged { files: self.files, directory_bytes: self.full_bytes, removed_ns: self.removed_ns }
    }
}
