//! How lives begin on file systems whose driver goes by what was removed on them minutes ago, see
//! [`Spec::remembers_removed`](crate::lab::Spec::remembers_removed): there mounting again is not enough.

use std::collections::BTreeSet;

use megadir_record::{Cell, FileOperation, FsId, Note, Plan, When, Work};

use super::Part;
use crate::note::NoteKind;
use crate::request::Ground;

/// A device up to this size, bytes, is made anew before each life; of a larger one writing the tables of inodes would take longer than
/// what is measured.
const DEVICE_BYTES_MAX: u64 = 64 << 30;

/// Decides which file systems are made anew before each life, and returns what is to be said of those that would have to be and
/// cannot.
pub(super) fn begin(plan: &mut Plan, parts: &[Part<'_>]) -> Vec<Note> {
    let mut notes = Vec::new();
    for index in 0..plan.file_systems.len() {
        let of = &plan.file_systems[index];
        let (id, label) = (of.id, of.label.clone());
        let part = parts.iter().find(|part| part.spec.to_string() == of.name);
        let Some(part) = part.filter(|part| part.spec.remembers_removed(&of.driver)) else { continue };
        match why_not(plan, id, &part.found.ground) {
            None => plan.file_systems[index].made_anew = true,
            Some(why) if makes_after_removing(plan, id) => {
                let text = format!(
                    "Without a journal the driver of {label} passes one by one over files removed in the last minutes whenever it makes one, \
                     and a new file system for each life, which alone would keep them apart, cannot be had: {why}"
                );
                notes.push(NoteKind::RemovedRemembered.note(text));
            }
            Some(_) => {}
        }
    }
    notes
}

/// Tells why a file system cannot be made anew before each life; `None` if it can.
fn why_not(plan: &Plan, on: FsId, ground: &Ground) -> Option<String> {
    if !plan.rules.fresh_mounts {
        return Some("what was made on it must stay".into());
    }
    let here = plan.data.iter().filter(|data| data.on == Some(on));
    let stays = here.clone().any(|data| {
        let chains = plan.cells.iter().filter(|cell| cell.data == data.id).map(|cell| cell.chain);
        let by_arms = data.source.made().is_some_and(|made| made.when == When::ByArms);
        !by_arms || chains.collect::<BTreeSet<u32>>().len() > 1
    });
    match ground {
        _ if stays => Some("what was made on it must stay".into()),
        Ground::Device { path, bytes } if *bytes > DEVICE_BYTES_MAX => {
            Some(format!("'{path}' is larger than {} GiB", DEVICE_BYTES_MAX >> 30))
        }
        Ground::Device { .. } | Ground::Image | Ground::Memory { .. } => None,
    }
}

/// Tells whether files are made on a file system where arms have removed others.
fn makes_after_removing(plan: &Plan, on: FsId) -> bool {
    let works = || {
        let on_it = |cell: &&Cell| plan.data[cell.data.0 as usize].on == Some(on);
        plan.cells.iter().filter(on_it).map(|cell| &cell.work)
    };
    let makes = |work: &Work| match work {
        Work::Files(work) => matches!(work.operation, FileOperation::Create | FileOperation::Rewrite),
        Work::FillUntilRefused { .. } => true,
        Work::Remove(_)
        | Work::List { .. }
        | Work::Lookup { .. }
        | Work::Attributes { .. }
        | Work::Ask { .. } => false,
    };
    let removes = |work: &Work| match work {
        Work::Files(work) => matches!(work.operation, FileOperation::Unlink | FileOperation::Rewrite),
        Work::Remove(_) | Work::FillUntilRefused { .. } => true,
        Work::List { .. } | Work::Lookup { .. } | Work::Attributes { .. } | Work::Ask { .. } => false,
    };
    works().any(makes) && works().any(removes)
}
