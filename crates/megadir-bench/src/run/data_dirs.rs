//! The directories of data sets while arms work on them.
//!
//! Data that arms make start empty in every round. After use they are set aside and removed at the end of the run (or at once,
//! with a note, if space is short): at every create ext4 skips, one by one, the inodes deleted in the last 60 s, or 300 s if
//! not on disk yet (`recently_deleted`). After 190 000 removals a create took 160 µs instead of 6 µs. If arms themselves remove
//! files, each life begins on a remounted or reformatted file system, because ext4 without a journal reads deletion times from
//! disk. Files for a later arm are written back first, so that no arm pays for another.
//!
//! ```text
//!  round:   enter -> block -> leave -> enter -> block -> leave ...
//!           |                  |
//!           |                  +-- no later arm needs the files: set aside as `usedN`, or removed
//!           +-- other work begins: write back; a new chain: remount or reformat (a life)
//! ```

use megadir::Dir;
use megadir_record::{Arm, ArmId, DataId, DiskCounts, FileOperation, Order, Place, Plan, UsedByArms, Work};

use super::RunError;
use crate::cache::Directories;
use crate::control::{RunControl, WorkError};
use crate::lab::LabError;
use crate::os::{self, At, write_back};
use crate::run::data_sets::tree_usage;
use crate::run::expected::recreate_files;
use crate::run::volumes::{MountedAs, Volumes, data_name};

pub(crate) struct DataDirs<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) volumes: &'a mut Volumes,
    pub(crate) directories: &'a mut [Dir],
    pub(crate) control: RunControl<'a>,
}

impl DataDirs<'_> {
    /// Remounts the data set's file system, so that memory has nothing of earlier lives; reformats it if the disk has it too.
    pub(crate) fn begin_life(&mut self, data: DataId) -> Result<(), WorkError> {
        if self.plan.file_system_of(data).is_some_and(|on| on.reformatted) {
            self.mount_again(data, MountedAs::Another)?;
        }
        // All lives begin with the same cache.
        self.remount(data)
    }

    fn mount_again(&mut self, data: DataId, mounted_as: MountedAs) -> Result<(), WorkError> {
        let Self { plan, volumes, directories, control } = self;
        match volumes.remount(plan, data, directories, mounted_as, *control) {
            Ok(()) => Ok(()),
            Err(LabError::Interrupted) => Err(WorkError::Stopped),
            Err(error) => Err(WorkError::Remount(error.to_string())),
        }
    }
}

impl Directories for DataDirs<'_> {
    fn of(&self, data: DataId) -> &Dir {
        &self.directories[data.0 as usize]
    }

    fn remount(&mut self, data: DataId) -> Result<(), WorkError> {
        self.mount_again(data, MountedAs::ItIs)
    }

    fn reopen(&mut self, data: DataId) -> Result<(), WorkError> {
        const REOPENING: &str = "reopening the data set";
        let of_plan = &self.plan.data[data.0 as usize];
        if !of_plan.is_made_before_run() {
            return Ok(());
        }
        let workspace = self.volumes.of(of_plan).own();
        let workspace = workspace.map_err(|error| WorkError::other(REOPENING, error.to_string()))?;
        let name = data_name(data);
        // Without it the command fails, and says why.
        if let Some(opened) =
            os::if_there(workspace.open_data_directory(&name)).map_err(WorkError::at(REOPENING))?
        {
            self.directories[data.0 as usize] = Dir::from_descriptor(opened, workspace.path().join(name));
        }
        Ok(())
    }

    fn recreate_files(&mut self, data: DataId) -> Result<(), WorkError> {
        recreate_files(self.plan, data, self.of(data), self.control)
    }
}

/// Directories of the round that is running. `keeps` is `true` if the space suffices to set all used
/// directories aside until the end; `aside` numbers them. `known` are the data sets whose use of space is
/// already recorded: it is the same in every round.
pub(crate) struct RoundDirs<'a> {
    plan: &'a Plan,
    pub(crate) data_dirs: DataDirs<'a>,
    keeps: bool,
    aside: u64,
    known: Vec<DataId>,
}

impl<'a> RoundDirs<'a> {
    pub(crate) fn new(data_dirs: DataDirs<'a>, keeps: bool) -> Self {
        Self { plan: data_dirs.plan, data_dirs, keeps, aside: 0, known: Vec::new() }
    }

    pub(crate) fn of(&self, arm: ArmId) -> &Dir {
        self.data_dirs.of(self.data_of(arm))
    }

    /// Counts of the modelled disk below an arm's data, once everything that earlier blocks left to the kernel is on it; `None` on another
    /// disk. Untimed, and without it a block would have the seeks of the arm before.
    pub(crate) fn settled_disk(&self, arm: ArmId) -> Result<Option<DiskCounts>, WorkError> {
        if self.disk_counts(arm).is_none() {
            return Ok(None);
        }
        let heartbeat = self.data_dirs.control.heartbeat;
        write_back(self.of(arm), heartbeat).map_err(WorkError::at("writing the data back"))?;
        Ok(self.disk_counts(arm))
    }

    fn disk_counts(&self, arm: ArmId) -> Option<DiskCounts> {
        self.data_dirs.volumes.disk_counts(&self.plan.data[self.data_of(arm).0 as usize])
    }

    /// Work of that disk since it had the counts `before`.
    pub(crate) fn disk_work(&self, arm: ArmId, before: Option<DiskCounts>) -> Option<DiskCounts> {
        Some(self.disk_counts(arm)?.since(before?))
    }

    /// Prepares the file systems for the next block. Between arms with the same operation nothing is
    /// written back: an arm would otherwise pay differently for its place in the round.
    pub(crate) fn enter(&mut self, order: &[ArmId], place: usize) -> Result<(), RunError> {
        let arm = |place: usize| &self.plan.arms[order[place].0 as usize];
        let goes_on = |before: &Arm, after: &Arm| match (&before.work, &after.work) {
            (Work::Files(left), Work::Files(right)) => {
                left.operation == right.operation
                    && (before.chain == after.chain || self.plan.rules.order == Order::Phases)
            }
            _ => false,
        };
        if !self.plan.rules.order.depends() || place > 0 && goes_on(arm(place - 1), arm(place)) {
            return Ok(());
        }
        self.data_dirs.volumes.write_back(self.data_dirs.control.heartbeat)?;
        let begins = place == 0 || arm(place - 1).chain != arm(place).chain;
        if begins && self.plan.rules.fresh_mounts && self.can_be_mounted_again(arm(place).data) {
            let arm = arm(place);
            self.data_dirs.begin_life(arm.data).map_err(|error| RunError::of_arm(&arm.name, error))?;
        }
        Ok(())
    }

    /// File systems in memory do not survive a remount.
    fn can_be_mounted_again(&self, data: DataId) -> bool {
        let on = self.plan.file_system_of(data);
        on.is_some_and(|on| !matches!(on.place, Place::Memory { .. } | Place::Directory { .. }))
    }

    /// Removes or sets aside the files that no arm after `place` needs.
    pub(crate) fn leave(&mut self, order: &[ArmId], place: usize) -> Result<(), RunError> {
        let data = self.data_of(order[place]);
        let volume = self.data_dirs.volumes.of(&self.plan.data[data.0 as usize]);
        let Some(workspace) = volume.workspace().filter(|_| self.is_made_by_arms(data)) else {
            return Ok(());
        };
        if order[place + 1..].iter().any(|later| self.data_of(*later) == data) {
            return Ok(());
        }
        let name = data_name(data);
        let path = workspace.path().join(&name);
        let directory = &mut self.data_dirs.directories[data.0 as usize];
        // On Windows an open directory could keep its name.
        let own = os::again(workspace.at()).map_err(RunError::unusable(&path))?;
        *directory = Dir::from_descriptor(own, workspace.path());
        let renewed = match self.keeps {
            true => {
                self.aside += 1;
                workspace.set_aside_data_directory(&name, &format!("used{}", self.aside))
            }
            false => workspace.renew_data_directory(&name, self.data_dirs.control.heartbeat),
        };
        // Its path may lead elsewhere now.
        *directory = Dir::from_descriptor(renewed.map_err(RunError::unusable(&path))?, path);
        Ok(())
    }

    /// Inodes and bytes of the files of a chain, measured once, when they are complete: after the block, if
    /// the next arm on them removes them or none follows.
    pub(crate) fn used(&mut self, order: &[ArmId], place: usize) -> Result<Option<UsedByArms>, RunError> {
        let data = self.data_of(order[place]);
        if !self.is_made_by_arms(data) || self.known.contains(&data) {
            return Ok(None);
        }
        let unlinks = |arm: &ArmId| match &self.plan.arms[arm.0 as usize].work {
            Work::Files(work) => work.operation == FileOperation::Unlink,
            work => matches!(work, Work::Remove(_)),
        };
        let next = order[place + 1..].iter().find(|later| self.data_of(**later) == data);
        if next.is_some_and(|next| !unlinks(next)) {
            return Ok(None);
        }
        let (directory, control) = (self.data_dirs.of(data), self.data_dirs.control);
        let unusable = RunError::unusable(directory.path());
        // Some file systems allocate blocks only at write-back.
        write_back(directory, control.heartbeat).map_err(&unusable)?;
        let found = match tree_usage(directory.at(), control) {
            Ok(found) => found,
            Err(WorkError::Stopped) => return Ok(None),
            Err(error) => return Err(unusable(std::io::Error::other(error.to_string()))),
        };
        self.known.push(data);
        Ok(Some(UsedByArms { data, used: found.used }))
    }

    fn data_of(&self, arm: ArmId) -> DataId {
        self.plan.arms[arm.0 as usize].data
    }

    fn is_made_by_arms(&self, data: DataId) -> bool {
        self.plan.data[data.0 as usize].is_made_by_arms()
    }
}
