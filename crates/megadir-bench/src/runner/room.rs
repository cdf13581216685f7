//! Before anything is made: is there room for it?

use megadir::Dir;
use megadir::limits::{Asked, Limit, NameLengths, limits};
use megadir_record::{NameScheme, Note, Plan, When};

use super::RunError;
use super::sites::{Site, Sites};
use crate::at::{self, At};
use crate::dataset::{Files, FillError, NAME_BYTES_MAX};
use crate::note::NoteKind;
use crate::plan::{Estimate, estimate, estimate_on, trees};

/// Refuses what of a plan a place has no room for; returns what is noted of one that has.
///
/// What arms make in one directory may be more than that is sure to take where its index is what would refuse it: then the arm is stopped
/// and tells at how many entries.
pub(super) fn check_room(plan: &Plan, site: &Site) -> Result<Vec<Note>, RunError> {
    let Site { on, path, directory, .. } = site;
    let needed = needed(plan, site);
    let mut notes = Vec::new();
    let Ok(space) = at::space(directory.at()) else {
        return Ok(notes);
    };
    let room = |what, needed, free| Err(RunError::Room { path: path.clone(), what, needed, free });
    if space.free_bytes < needed.space_bytes {
        return room("space", needed.space_bytes, space.free_bytes);
    }
    if space.inodes > 0 && space.free_inodes < needed.inodes {
        return room("inodes", needed.inodes, space.free_inodes);
    }
    for data in plan.data.iter().filter(|data| data.on == *on) {
        for (_, files) in trees(plan, data).map_err(FillError::Files)? {
            let fullest = files.files_in_one_directory_max().saturating_add(files.made().aged_files);
            let Some(fit) = fit_directory(&files, directory).filter(|fit| fit.entries < fullest) else {
                continue;
            };
            if !(fit.by_index && files.made().when == When::ByArms) {
                let what = "room for names in one directory (see 'megadir limits')";
                return room(what, fullest, fit.entries);
            }
            let note = NoteKind::IndexFull.note(format!(
                "an arm is to make {fullest} files in one directory, which is sure to take {} such names only: it is stopped where it is full",
                fit.entries
            ));
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    Ok(notes)
}

/// Returns whether what arms make may stay until the run's end: three quarters of the
/// free inodes and half of the free space do.
pub(super) fn keeps_all_rounds(plan: &Plan, sites: &Sites) -> bool {
    sites.all().iter().all(|site| keeps_all(plan, site))
}

fn keeps_all(plan: &Plan, site: &Site) -> bool {
    let needed = needed(plan, site);
    let Ok(space) = at::space(site.directory.at()) else { return false };
    let (bytes, inodes) = (needed.kept_space_bytes, needed.kept_inodes);
    bytes <= space.free_bytes / 2 && (space.inodes == 0 || inodes <= space.free_inodes / 4 * 3)
}

/// Returns what a plan needs in a place.
fn needed(plan: &Plan, site: &Site) -> Estimate {
    site.on.map_or_else(|| estimate(plan), |on| estimate_on(plan, on))
}

/// How many names a new directory is sure to take.
struct Fit {
    entries: u64,
    /// Whether its index is what refuses more.
    by_index: bool,
}

/// Returns how many names of these files a new directory is sure to take; `None` if it has no limit that is known.
fn fit_directory(files: &Files, directory: &Dir) -> Option<Fit> {
    let lengths = match files.made().names {
        NameScheme::Lengths { bytes } => NameLengths::counted(bytes.map(|bytes| (u16::from(bytes), 1)))?,
        _ => {
            let mut name = [0; NAME_BYTES_MAX];
            let last = files.names().write(files.entries().saturating_sub(1), &mut name);
            NameLengths::of(u16::try_from(last.len()).ok()?)
        }
    };
    let asked = Asked { names: Some(&lengths), contents_bytes: Some(0), ..Asked::MORE_OF_THE_SAME };
    let found = limits(directory, &asked).ok()?;
    let by_index = found.ceilings.iter().any(|ceiling| ceiling.limit == Limit::DirectoryIndex);
    Some(Fit { entries: found.judgement.capacity?.value.low, by_index })
}
