//! Data sets that programs work on: each is looked at after every round, and made again if a program
//! changed it.
//!
//! ```text
//!             look           a program that may change it         make_ready
//!  unknown ----------> seen ------------------------------> used up ---------> made again, unknown
//!                       |
//!                       +-- after a round: a program changed it without permission -> note, made again
//! ```
//!
//! Only data sets that programs work on are examined: a program may do anything, and its counts of entries
//! prove nothing about the files that it leaves behind.

use megadir_record::{Arm, ArmId, DataId, Note, Plan, Work};

use crate::control::WorkError;
use crate::kind::{Fingerprint, fingerprint};
use crate::note::NoteKind;
use crate::os::At;
use crate::run::RunError;
use crate::run::data_dirs::DataDirs;
use crate::run::data_sets::rebuild;

/// One state for each data set of the plan, at the index of its number.
pub(crate) struct Intact(Vec<Set>);

#[derive(Clone, Copy, Default)]
struct Set {
    programs: bool,
    seen: Option<Fingerprint>,
    /// A program that may change the data set has run since it was made.
    used_up: bool,
}

impl Intact {
    pub(crate) fn new(plan: &Plan) -> Self {
        let of = |data: &megadir_record::Data| {
            let program = |planned: &Arm| planned.data == data.id && matches!(planned.work, Work::Command(_));
            Set { programs: plan.arms.iter().any(program), ..Set::default() }
        };
        Self(plan.data.iter().map(of).collect())
    }

    /// Makes sure, before a block, that the data set is complete and its fingerprint known. Untimed.
    pub(crate) fn make_ready(&mut self, data: DataId, dirs: &mut DataDirs<'_>) -> Result<(), WorkError> {
        let set = &mut self.0[data.0 as usize];
        if !set.programs {
            return Ok(());
        }
        if set.used_up {
            remake(data, dirs)?;
            *set = Set { programs: true, seen: None, used_up: false };
        }
        if set.seen.is_none() {
            set.seen = Some(look(data, dirs)?);
        }
        Ok(())
    }

    pub(crate) fn after_block(&mut self, planned: &Arm) {
        self.0[planned.data.0 as usize].used_up |= planned.work.is_changing_command();
    }

    /// Looks once for all arms of the round, because a walk after every block would multiply the time of a
    /// round. So the note can only name the candidates. A changed directory of the user is an error:
    /// nothing may be made again there.
    pub(crate) fn after_round(
        &mut self,
        order: &[ArmId],
        round: u32,
        dirs: &mut DataDirs<'_>,
    ) -> Result<Vec<Note>, WorkError> {
        let mut notes = Vec::new();
        for data in &dirs.plan.data {
            let set = self.0[data.id.0 as usize];
            let used = order.iter().any(|planned| dirs.plan.arms[planned.0 as usize].data == data.id);
            let (true, true, false, Some(before)) = (set.programs, used, set.used_up, set.seen) else {
                continue;
            };
            let Some(change) = changed(before, data.id, dirs)? else { continue };
            let arms = order.iter().map(|planned| &dirs.plan.arms[planned.0 as usize]);
            let names: Vec<String> = arms
                .filter(|planned| planned.data == data.id)
                .map(|planned| format!("`{}`", planned.name))
                .collect();
            let text = format!("one of {} changed the data set in round {round}: {change}", names.join(", "));
            if data.source.made().is_none() {
                return Err(WorkError::Program(text));
            }
            notes.push(NoteKind::DataChanged.note(format!("{text}; it was recreated")));
            self.0[data.id.0 as usize].used_up = true;
            self.make_ready(data.id, dirs)?;
        }
        Ok(notes)
    }
}

/// First difference between a data set now and its fingerprint, in words, from the coarsest to the finest.
pub(crate) fn changed(
    before: Fingerprint,
    data: DataId,
    dirs: &DataDirs<'_>,
) -> Result<Option<String>, WorkError> {
    let now = look(data, dirs)?;
    let (entries_before, entries_now) = (before.entries, now.entries);
    Ok(match now {
        now if now == before => None,
        _ if entries_before != entries_now => {
            Some(format!("it had {entries_before} files and directories and now has {entries_now}"))
        }
        now if now.paths != before.paths => Some("names have changed".into()),
        _ => Some("sizes, modes or modification times have changed".into()),
    })
}

/// Fingerprint of a data set, by a new description of its directory: a listing would move the position of
/// the open one.
pub(crate) fn look(data: DataId, dirs: &DataDirs<'_>) -> Result<Fingerprint, WorkError> {
    let own = dirs.directories[data.0 as usize].reopen();
    fingerprint(own.map_err(WorkError::at("checking the data set"))?.at(), dirs.control)
}

pub(crate) fn remake(data: DataId, dirs: &mut DataDirs<'_>) -> Result<(), WorkError> {
    let failed = |error: RunError| match error {
        RunError::Interrupted => WorkError::Stopped,
        error => WorkError::other("recreating the data set", error.to_string()),
    };
    let of_plan = &dirs.plan.data[data.0 as usize];
    let workspace = dirs.volumes.of(of_plan).own().map_err(failed)?;
    dirs.directories[data.0 as usize] =
        rebuild(dirs.plan, of_plan, workspace, dirs.control).map_err(failed)?;
    Ok(())
}
