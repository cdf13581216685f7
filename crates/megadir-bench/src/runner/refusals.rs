//! Before directories are filled until one file is refused: what is predicted, and whether the index is what will refuse it.

use megadir::Dir;
use megadir::limits::{Asked, Ceiling, Limit, NameLengths, limits};
use megadir_record::{Plan, Predicted, Work};

use super::RunError;
use super::sites::Site;
use crate::dataset::{NAME_BYTES_MAX, Names};

/// A size is meant for directories that take from half as many entries as it says to twice as many.
const FACTOR: f64 = 2.0;

/// Writes into the plan what is predicted for the arms that fill directories in a place.
pub(super) fn predict(plan: &mut Plan, site: &Site) -> Result<(), RunError> {
    let Site { on, path, directory, .. } = site;
    let (seed, data) = (plan.seed, &plan.data);
    for cell in plan.cells.iter_mut().filter(|cell| data[cell.data.0 as usize].on == *on) {
        let Work::FillUntilRefused { entries_about, predicted } = &mut cell.work else { continue };
        let Some(made) = data[cell.data.0 as usize].source.made() else { continue };
        let bytes = Names { scheme: made.names, seed }.write(*entries_about, &mut [0; NAME_BYTES_MAX]).len();
        let refused = |reason| RunError::Arm { arm: format!("'{}'", path.display()), reason };
        *predicted = Some(prediction(directory, bytes as u16, *entries_about).map_err(refused)?);
    }
    Ok(())
}

/// Returns what is predicted, or why directories there are not what the size is meant for.
fn prediction(directory: &Dir, name_bytes: u16, entries_about: u64) -> Result<Predicted, String> {
    let lengths = NameLengths::of(name_bytes);
    let asked = Asked { names: Some(&lengths), contents_bytes: Some(0), ..Asked::MORE_OF_THE_SAME };
    let found = limits(directory, &asked).map_err(|error| error.to_string())?;
    let of_index = |ceiling: &&Ceiling| ceiling.limit == Limit::DirectoryIndex;
    let (Some(_), Some(capacity)) = (found.ceilings.iter().find(of_index), &found.judgement.capacity) else {
        return Err(format!(
            "directories of {} have no index that fills up; those of ext4 have",
            found.facts.file_system
        ));
    };
    let all = capacity.value;
    let block_bytes = found.facts.space.block_bytes;
    let fits = entries_about as f64 / all.likely.max(1) as f64;
    if !(1.0 / FACTOR..=FACTOR).contains(&fits) {
        return Err(format!(
            "with blocks of {block_bytes} bytes a directory takes about {} such names, and this size of the study is meant for \
             about {entries_about}: take another size (--published is for blocks of 4096 bytes), say --entries {}, or \
             another file system",
            all.likely, all.likely
        ));
    }
    // Where it holds something already, that tells nothing of new directories: what runs out first in those must be the index.
    let sooner = found.ceilings.iter().find(|ceiling| !of_index(ceiling) && ceiling.more.low < all.high);
    if let Some(sooner) = sooner {
        let (limit, low, high) = (sooner.limit, sooner.more.low, all.high);
        return Err(format!(
            "{limit} may run out before the index is full: enough for {low} files, up to {high} are needed"
        ));
    }
    let basis = format!(
        "{}, {}, blocks of {block_bytes} bytes, names of {name_bytes} bytes",
        capacity.basis, found.facts.file_system
    );
    Ok(Predicted { entries: all.likely, low: all.low, high: all.high, basis })
}
