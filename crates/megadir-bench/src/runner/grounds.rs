//! The directories of the data sets while arms work on them.
//!
//! What arms make themselves begins empty in every round, and is put aside, untimed, when the last arm of the round that
//! works on it is done; the run's end removes it. Removed at once it would make the next round another experiment: ext4
//! passes over inodes that were deleted in the last 60 s, or 300 s where that is not on the disk yet (`recently_deleted` in
//! `fs/ext4/ialloc.c`), one by one at every create: 6 µs became 160 µs after 190 000 files had been removed. Only where there is no room to keep it all does it go at once, with a note.
//!
//! Where arms themselves remove files, each life begins on a file system that was mounted again, or made anew (`LabFileSystem::made_anew`):
//! the times of removal are on the disk, and without a journal ext4's driver goes by those that it finds there.
//!
//! Where arms work on what others left, what those wrote is on the disk before the next operation begins, so that none pays
//! for another.

use std::path::Path;

use megadir::Dir;
use megadir_record::{
    Cell, CellId, DataId, FileOperation, FileWork, Order, Place, Plan, UsedByArms, When, Work,
};

use super::sites::{Places, data_name};
use super::survey::survey;
use super::{RunError, failed};
use crate::at::{self, At};
use crate::cache::Directories;
use crate::control::{RunControl, WorkError};
use crate::write_back::write_back;

/// The directories of a plan's data sets.
pub(super) struct Grounds<'a> {
    plan: &'a Plan,
    places: Places<'a>,
    /// Whether there is room for what arms make in all rounds.
    keeps: bool,
    /// How many data sets were put aside.
    aside: u64,
    control: RunControl<'a>,
    /// Data sets of the arms of which it is known what they use.
    known: Vec<DataId>,
}

impl<'a> Grounds<'a> {
    pub(super) fn new(places: Places<'a>, keeps: bool) -> Self {
        let (plan, control) = (places.plan, places.control);
        Self { plan, places, keeps, aside: 0, control, known: Vec::new() }
    }

    /// Returns the directories of all data sets.
    pub(super) fn places(&mut self) -> &mut Places<'a> {
        &mut self.places
    }

    /// Returns the directory of the data set that an arm works on.
    pub(super) fn of(&self, cell: CellId) -> &Dir {
        self.places.of(self.data_of(cell))
    }

    /// Makes ready for the arm at `place` of a round in this order; `false` if the run is to end.
    pub(super) fn enter(&mut self, order: &[CellId], place: usize) -> Result<bool, RunError> {
        let cell = |place: usize| &self.plan.cells[order[place].0 as usize];
        let goes_on = |before: &Cell, after: &Cell| match (&before.work, &after.work) {
            (Work::Files(one), Work::Files(other)) => {
                one.operation == other.operation
                    && (before.chain == after.chain || self.plan.rules.order == Order::Phases)
            }
            _ => false,
        };
        if !self.plan.rules.order.depends() || place > 0 && goes_on(cell(place - 1), cell(place)) {
            return Ok(true);
        }
        self.places.sites.write_back(self.control.heartbeat)?;
        let begins = place == 0 || cell(place - 1).chain != cell(place).chain;
        if begins && self.plan.rules.fresh_mounts && self.can_be_mounted_again(cell(place).data) {
            let cell = cell(place);
            if let Err(error) = self.places.begin_life(cell.data) {
                return failed(self.plan, cell.id, error).map_or(Ok(false), Err);
            }
        }
        Ok(true)
    }

    /// Tells whether the file system of a data set was made for the run, and not in memory, which it would lose.
    fn can_be_mounted_again(&self, data: DataId) -> bool {
        let on = self.plan.file_system_of(data);
        on.is_some_and(|on| !matches!(on.place, Place::Memory { .. }))
    }

    /// Takes away what nobody needs after the arm at `place` of a round in this order.
    pub(super) fn leave(&mut self, order: &[CellId], place: usize) -> Result<(), RunError> {
        let data = self.data_of(order[place]);
        let site = self.places.sites.of(&self.plan.data[data.0 as usize]);
        let Some(workspace) = site.workspace().filter(|_| self.is_made_by_arms(data)) else { return Ok(()) };
        if order[place + 1..].iter().any(|later| self.data_of(*later) == data) {
            return Ok(());
        }
        let name = data_name(data);
        let path = workspace.path().join(&name);
        let directory = &mut self.places.directories[data.0 as usize];
        // What is open could keep its name on Windows.
        let own = at::again(workspace.at()).map_err(|error| unusable(&path, error))?;
        *directory = Dir::from_descriptor(own, workspace.path());
        let renewed = match self.keeps {
            true => {
                self.aside += 1;
                workspace.set_aside_data_directory(&name, &format!("used{}", self.aside))
            }
            false => workspace.renew_data_directory(&name, self.control.heartbeat),
        };
        // What was made is what is worked on, whatever has become of its path.
        *directory = Dir::from_descriptor(renewed.map_err(|error| unusable(&path, error))?, path);
        Ok(())
    }

    /// Returns what the data set that the arm at `place` has worked on uses, where arms make it, once: when the next thing is
    /// that its files go.
    pub(super) fn used(&mut self, order: &[CellId], place: usize) -> Result<Option<UsedByArms>, RunError> {
        let data = self.data_of(order[place]);
        if !self.is_made_by_arms(data) || self.known.contains(&data) {
            return Ok(None);
        }
        let next = order[place + 1..].iter().find(|later| self.data_of(**later) == data);
        if next.is_some_and(|next| !self.unlinks(*next)) {
            return Ok(None);
        }
        let directory = self.places.of(data);
        // Blocks are counted when they are known: some file systems choose them when they write.
        write_back(directory, self.control.heartbeat).map_err(|error| unusable(directory.path(), error))?;
        let found = match survey(directory.at(), self.control) {
            Ok(found) => found,
            // The run ends at once for the same reason.
            Err(WorkError::Stopped) => return Ok(None),
            Err(error) => return Err(unusable(directory.path(), std::io::Error::other(error.to_string()))),
        };
        self.known.push(data);
        Ok(Some(UsedByArms { data, used: found.used }))
    }

    fn unlinks(&self, cell: CellId) -> bool {
        let work = &self.plan.cells[cell.0 as usize].work;
        matches!(work, Work::Files(FileWork { operation: FileOperation::Unlink, .. }) | Work::Remove(_))
    }

    fn data_of(&self, cell: CellId) -> DataId {
        self.plan.cells[cell.0 as usize].data
    }

    fn is_made_by_arms(&self, data: DataId) -> bool {
        self.plan.data[data.0 as usize].source.made().is_some_and(|made| made.when == When::ByArms)
    }
}

fn unusable(path: &Path, source: std::io::Error) -> RunError {
    RunError::Directory { path: path.to_owned(), source }
}
