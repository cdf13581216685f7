//! The directories of a layout, made before the first file: one mkdirat (NtCreateFile, CloseHandle) each, those that hold others first.

use super::explained;
use super::file::make_directories;
use super::task::Set;
use crate::control::{RunControl, WorkError};
use crate::dataset::{self, PlaceBuffer};
use crate::measure::Operation;
use crate::os::Borrowed;

/// Makes some of the directories of a set, or all.
pub(crate) struct Directories<'a> {
    top: Borrowed<'a>,
    all: dataset::Directories<'a>,
    first: u64,
    step: u64,
    buffer: PlaceBuffer,
    control: RunControl<'a>,
}

impl<'a> Directories<'a> {
    /// Returns those from number `first` on, each `step`-th; `None` if they are known only by going through all names.
    pub(crate) fn new(
        top: Borrowed<'a>,
        set: &'a Set,
        first: u64,
        step: u64,
        control: RunControl<'a>,
    ) -> Option<Self> {
        let all = set.files.directories()?;
        Some(Self { top, all, first, step, buffer: PlaceBuffer::new(), control })
    }

    /// Returns how many they are.
    pub(crate) fn count(&self) -> u64 {
        self.all.count().saturating_sub(self.first).div_ceil(self.step)
    }
}

impl Operation for Directories<'_> {
    type Error = WorkError;

    fn run(&mut self, index: u64) -> Result<u64, WorkError> {
        let Some(path) = self.all.path(self.first + index * self.step, &mut self.buffer) else {
            return Ok(1);
        };
        match make_directories(self.top, path) {
            Ok(()) => Ok(0),
            Err(met) => Err(explained(self.top, b"", met)),
        }
    }

    fn between(&mut self) -> Result<(), WorkError> {
        self.control.check()
    }
}

/// Makes all directories of a set that are missing, outside the time.
pub(crate) fn make_all(top: Borrowed<'_>, set: &Set, control: RunControl<'_>) -> Result<(), WorkError> {
    let Some(mut directories) = Directories::new(top, set, 0, 1, control) else { return Ok(()) };
    for index in 0..directories.count() {
        if index % 256 == 0 {
            control.check()?;
        }
        directories.run(index)?;
    }
    Ok(())
}
