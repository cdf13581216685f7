//! Before anything is made: is there room for it?

use std::os::fd::AsFd;
use std::path::Path;

use megadir::Dir;
use megadir::limits::{Asked, NameLengths, limits};
use megadir_record::{NameScheme, Plan};

use super::RunError;
use crate::dataset::{Files, FillError, NAME_BYTES_MAX};
use crate::plan::{estimate, trees};

/// Refuses a plan that the file system has no room for.
pub(super) fn check_room(plan: &Plan, path: &Path, directory: &Dir) -> Result<(), RunError> {
    let needed = estimate(plan);
    let Ok(space) = rustix::fs::fstatvfs(directory.as_fd()) else {
        return Ok(());
    };
    let room = |what, needed, free| Err(RunError::Room { path: path.to_owned(), what, needed, free });
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    if free_bytes < needed.space_bytes {
        return room("space", needed.space_bytes, free_bytes);
    }
    if space.f_files > 0 && space.f_favail < needed.inodes {
        return room("inodes", needed.inodes, space.f_favail);
    }
    for data in &plan.data {
        for (_, files) in trees(plan, data).map_err(FillError::Files)? {
            let fullest = files.files_in_one_directory_max();
            if let Some(fit) = fit_directory(&files, directory).filter(|fit| *fit < fullest) {
                return room("room for names in one directory (see 'megadir limits')", fullest, fit);
            }
        }
    }
    Ok(())
}

/// Returns whether what arms make may stay until the run's end: three quarters of the
/// free inodes and half of the free space do.
pub(super) fn keeps_all_rounds(plan: &Plan, directory: &Dir) -> bool {
    let needed = estimate(plan);
    let Ok(space) = rustix::fs::fstatvfs(directory.as_fd()) else { return false };
    let (bytes, inodes) = (needed.kept_space_bytes, needed.kept_inodes);
    let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
    bytes <= free_bytes / 2 && (space.f_files == 0 || inodes <= space.f_favail / 4 * 3)
}

/// Returns how many names of these files a new directory is sure to take; `None` if it has no limit that is known.
fn fit_directory(files: &Files, directory: &Dir) -> Option<u64> {
    let lengths = match files.made().names {
        NameScheme::Lengths { bytes } => NameLengths::counted(bytes.map(|bytes| (u16::from(bytes), 1)))?,
        _ => {
            let mut name = [0; NAME_BYTES_MAX];
            let last = files.names().write(files.entries().saturating_sub(1), &mut name);
            NameLengths::of(u16::try_from(last.len()).ok()?)
        }
    };
    let asked = Asked { names: Some(&lengths), contents_bytes: Some(0), ..Asked::MORE_OF_THE_SAME };
    Some(limits(directory, &asked).ok()?.judgement.capacity?.value.low)
}
