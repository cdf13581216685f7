//! Linux: what is dropped, by which order to the kernel, and how it is verified.

mod contents;
mod facts;
mod held;
mod names;
mod own_pages;

use megadir_record::CacheState;

pub(crate) use facts::is_memory;
pub(super) use facts::refusals;
pub(super) use names::come_back_by_reading;

use super::{Cooled, Directories};
use crate::at::At;
use crate::control::{RunControl, WorkError};

/// What is known of the machine's caches from the drops so far.
#[derive(Clone, Debug, Default)]
pub(super) struct System {
    names: names::Names,
}

impl System {
    /// Drops what a state does not have in the cache, and verifies that it is gone.
    pub(super) fn cool(
        &mut self,
        state: CacheState,
        of: &Cooled<'_>,
        directories: &mut dyn Directories,
        control: RunControl<'_>,
    ) -> Result<(), WorkError> {
        let directory = directories.of(of.data).at();
        match state {
            CacheState::Warm | CacheState::Unseen => {}
            CacheState::DataCold => contents::drop_all(directory, of.deep, control)?,
            CacheState::VfsCold => {
                self.names.drop_all(directory, of.file_system, of.entries, of.sample, control)?;
                own_pages::touch();
            }
            CacheState::FsCold => {
                names::drain(state, directory, control)?;
                directories.remount(of.data)?;
                names::are_gone(directories.of(of.data).at(), of.sample)?;
                own_pages::touch();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
