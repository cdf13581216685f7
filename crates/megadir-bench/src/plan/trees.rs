//! Trees of a data set: one in total, or one per worker. Pure.

use megadir_record::{Data, Plan, Sharing, When};

use crate::dataset::{Files, FilesError};
use crate::kind::files::workers_max;

/// Trees of a data set, each with its subdirectory (`None`: the data set's own directory). Existing data have
/// none. If several workers share one tree, it has the data set's number of files for each of them.
pub(crate) fn trees(plan: &Plan, data: &Data) -> Result<Vec<(Option<String>, Files)>, FilesError> {
    let Some(made) = data.source.made() else { return Ok(Vec::new()) };
    let most = |sharing| workers_max(plan, data, sharing);
    match (most(Sharing::Own), most(Sharing::Same)) {
        (Some(_), Some(_)) => Err(FilesError::Contradiction(
            "workers with their own files and workers that share files cannot use the same data set".into(),
        )),
        (Some(own), None) => {
            let files = Files::new(made, plan.seed, data.entries)?;
            let of = |worker| (Some(Files::worker_directory(worker)), files.of_worker(worker));
            Ok((0..own).map(of).collect())
        }
        (None, shared) => {
            let entries = data.entries.saturating_mul(u64::from(shared.unwrap_or(1)));
            Ok(vec![(None, Files::new(made, plan.seed, entries)?)])
        }
    }
}

/// All files are in the top directory before the first block.
pub(crate) fn in_one_directory(plan: &Plan, data: &Data) -> bool {
    match data.source.made() {
        None => true,
        Some(made) => {
            let flat = |trees: Vec<(Option<String>, Files)>| {
                trees.iter().all(|(below, files)| below.is_none() && files.is_flat())
            };
            made.when == When::BeforeRun && trees(plan, data).is_ok_and(flat)
        }
    }
}
