//! Creates the directories of a layout before the first file: one mkdirat (NtCreateFile, CloseHandle) each,
//! parents first.

use super::explained;
use super::file::make_directories;
use super::task::Set;
use crate::control::{RunControl, WorkError};
use crate::dataset::{self, PlaceBuffer};
use crate::measure::Operation;
use crate::os::Borrowed;

pub(crate) struct Directories<'a> {
    top: Borrowed<'a>,
    all: dataset::Directories<'a>,
    first: u64,
    step: u64,
    buffer: PlaceBuffer,
    control: RunControl<'a>,
}

impl<'a> Directories<'a> {
    /// Selects every `step`-th directory from number `first`; `None` if only a pass over all names reveals
    /// them.
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
        Ok(self.control.check()?)
    }
}

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
