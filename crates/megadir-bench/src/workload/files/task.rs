//! What one worker is to do in one block, as plain data that can be handed to a process.

use std::io;

use megadir::Dir;
use megadir_record::{FileWork, Made, Sharing};
use serde::{Deserialize, Serialize};

use super::failed;
use crate::at::{self, At};
use crate::dataset::{Files, FilesError};
use crate::workload::ListError;

/// A worker's part of a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) work: FileWork,
    pub(super) made: Made,
    /// How many files the data set has, for each worker.
    pub(super) entries: u64,
    /// The seed of names, sizes and contents.
    pub(super) seed: u64,
    /// The seed of what is drawn for this block.
    pub(super) block_seed: u64,
    /// Which worker, from 0.
    pub(super) worker: u32,
}

/// The files that a worker works on, by their number in its range.
#[derive(Clone, Debug)]
pub(super) struct Set {
    pub(super) files: Files,
    from: u64,
    count: u64,
    stride: u64,
    offset: u64,
}

impl Set {
    /// Returns how many there are.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns whether others work in the same directories.
    pub(super) fn shared(&self) -> bool {
        self.stride > 1
    }

    /// Returns the number in the data set of the `nth` file.
    #[inline]
    pub(super) fn index(&self, nth: u64) -> u64 {
        (self.from + nth) * self.stride + self.offset
    }
}

impl Task {
    /// Returns the worker's files.
    ///
    /// In one tree the workers take turns file by file, so that their files never meet, however far the range reaches.
    pub(super) fn set(&self) -> Result<Set, FilesError> {
        let FileWork { from, to, workers, .. } = &self.work;
        let (from, count) = (*from, to.saturating_sub(*from));
        match workers.sharing {
            Sharing::Own => {
                let files = Files::new(&self.made, self.seed, self.entries)?.of_worker(self.worker);
                Ok(Set { files, from, count, stride: 1, offset: 0 })
            }
            Sharing::Same => {
                let stride = u64::from(workers.count.max(1));
                let files = Files::new(&self.made, self.seed, self.entries.saturating_mul(stride))?;
                Ok(Set { files, from, count, stride, offset: u64::from(self.worker) })
            }
        }
    }

    /// Opens the top of the worker's tree, which is made if it is missing and `make` says so.
    pub(super) fn top(&self, data: &Dir, make: bool) -> Result<Dir, ListError> {
        let name = match self.work.workers.sharing {
            Sharing::Own => Files::worker_directory(self.worker),
            Sharing::Same => return Ok(data.again()?),
        };
        if make {
            match at::make_directory(data.at(), name.as_str()) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed("making a worker's directory")(error));
                }
                _ => {}
            }
        }
        Ok(data.open_below(name.as_bytes())?)
    }
}
