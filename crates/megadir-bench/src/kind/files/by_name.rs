//! Files by known names: one path per operation, relative to the top of the tree, so the kernel's resolution is
//! part of the cost. The path has no links: other users cannot enter the run's directory.

use super::explained;
use super::file::{FileOps, Outcome, make_directories};
use super::task::Set;
use crate::control::{RunControl, WorkError};
use crate::kind::files::order::Batch;
use crate::measure::Operation;
use crate::os::{self, At, Borrowed};

/// Processes the files of a batch, one after the other.
pub(crate) struct ByName<'a, 'b> {
    pub(crate) top: Borrowed<'a>,
    pub(crate) set: &'a Set,
    pub(crate) batch: &'a Batch,
    pub(crate) hand: &'a mut FileOps<'b>,
    /// `true` if missing parent directories are created before each file.
    pub(crate) make_directories: bool,
    pub(crate) control: RunControl<'b>,
}

impl ByName<'_, '_> {
    #[inline]
    fn one(&mut self, at: usize) -> Result<bool, Outcome> {
        let file = self.batch.get(at, &self.set.files);
        if self.make_directories && !file.directory().is_empty() {
            make_directories(self.top, file.directory())?;
        }
        let right = self.hand.work(self.top, os::name(file.path), file.size_bytes, file.content)?;
        if self.hand.syncs_directory() {
            self.sync(file.directory())?;
        }
        Ok(right)
    }

    fn sync(&self, directory: &[u8]) -> Result<(), Outcome> {
        if directory.is_empty() {
            return self.hand.sync_directory(self.top);
        }
        let opened = os::open_below(self.top, directory);
        let step = megadir::limits::Step::Create;
        let opened = opened.map_err(|error| Outcome { stage: "opening a directory", step, error })?;
        self.hand.sync_directory(opened.at())
    }
}

impl Operation for ByName<'_, '_> {
    type Error = WorkError;

    /// Returns 1 for a file that was not as expected.
    #[inline]
    fn run(&mut self, index: u64) -> Result<u64, WorkError> {
        match self.one(index as usize) {
            Ok(right) => Ok(u64::from(!right)),
            Err(met) => {
                let file = self.batch.get(index as usize, &self.set.files);
                Err(explained(self.top, file.directory(), met))
            }
        }
    }

    fn between(&mut self) -> Result<(), WorkError> {
        Ok(self.control.check()?)
    }
}
