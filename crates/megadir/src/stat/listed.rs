//! Examiner `listed`: attributes that came with the listing. Entries of other batches, such as names of an
//! inventory, are opened one by one.

use crate::attributes::{Attributes, Want};
use crate::batch::Batch;
use crate::dir::Dir;
use crate::error::Result;
use crate::stat::windows_each::Opening;
use crate::stat::{Examine, Examiner};

pub(crate) struct Listed;

impl Examiner for Listed {
    fn name(&self) -> &'static str {
        "listed"
    }

    fn about(&self) -> &'static str {
        "attributes from the listing: types, sizes, times, file IDs; no links"
    }

    fn probe(&self, _directory: &Dir) -> Result<()> {
        Ok(())
    }

    fn is_listed(&self) -> bool {
        true
    }

    fn start(&self, _directory: &Dir, want: Want) -> Result<Box<dyn Examine>> {
        // Without link counts, which only opening yields.
        Ok(Box::new(Copying { otherwise: Opening::new(want.without(Want::LINKS)) }))
    }
}

struct Copying {
    otherwise: Opening,
}

impl Examine for Copying {
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()> {
        let Some(brought) = batch.attributes() else { return self.otherwise.examine(directory, batch, rows) };
        rows.clear();
        rows.extend_from_slice(brought);
        Ok(())
    }
}
