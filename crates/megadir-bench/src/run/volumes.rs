//! Volumes of a run: the given directory, directories of the user, or file systems made for it. Each has a
//! workspace of its own.
//!
//! ```text
//!  plan without file systems      one volume    (`named`)         not unmounted
//!  directories of the user        one for each  (`directories`)   not unmounted
//!  file systems made for the run  one for each  (`mount`)         remounted for fs-cold and for lives
//! ```
//!
//! **Any open descriptor on a mounted file system makes unmounting fail with `EBUSY`.** The ones that
//! outlast a block are the volume's, and the run's list of data directories, which `remount` is given: it
//! points them to `NOWHERE` before, and to the new mount after.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use megadir::Dir;
use megadir_record::{Data, DataId, DiskCounts, DiskUse, FsId, LabFileSystem, LabMount, Note, Place, Plan};

use super::RunError;
use crate::control::RunControl;
use crate::host;
use crate::kind::WorkerCommand;
use crate::lab::{Backing, DiskSpec, Lab, LabError, Mounted, Spec};
use crate::note::NoteKind;
use crate::os::{At, write_back};
use crate::plan::{estimate_on, without};
use crate::workspace::{Leftovers, Workspace};

/// Stands for directories of an unmounted file system: nothing can be created or removed in it.
const NOWHERE: &str = "/proc";

/// `ItIs` keeps the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MountedAs {
    ItIs,
    /// Reformatted; empty except for the directories in which arms make their files.
    Another,
}

#[derive(Debug)]
pub(crate) struct Volumes {
    pub(crate) all: Vec<Volume>,
    /// Closed after its file systems.
    lab: Option<Lab>,
}

/// One place on which data sets lie. `number` is the device's: directories on one file system are
/// recognized by it, and their files kept in one workspace each. `mounted` is present if the run mounted
/// the file system, and unmounts it when it is dropped; the order of removal is workspace, descriptors,
/// mount.
#[derive(Debug)]
pub(crate) struct Volume {
    /// `None` for the only directory of a run without file systems.
    pub(crate) on: Option<FsId>,
    pub(crate) path: PathBuf,
    pub(crate) directory: Dir,
    pub(crate) kind: String,
    /// The same for all directories on one file system.
    number: Option<u64>,
    workspace: Option<Workspace>,
    mounted: Option<Mounted>,
}

/// A file system of the plan in the lab's terms. Sizes come from the plan, so that a resumed run makes the
/// same image.
pub(crate) fn wanted(
    plan: &Plan,
    file_system: &LabFileSystem,
    erase_device: bool,
) -> Result<(Spec, Backing), RunError> {
    let unknown = |reason| RunError::Arm { arm: format!("--fs {}", file_system.name), reason };
    let spec = Spec::parse(&file_system.name).map_err(unknown)?;
    let disk = match &file_system.disk {
        Some(disk) => DiskSpec::parse(&disk.name).map_err(unknown)?.without_zram(disk.no_zram.clone()),
        None => DiskSpec::default(),
    };
    let memory_bytes = file_system.disk.as_ref().and_then(|disk| disk.memory_bytes);
    let backing = match &file_system.place {
        Place::Image { bytes, .. } | Place::Memory { bytes } => {
            // If the files of all rounds do not fit, the image is smaller.
            let (inodes, space_bytes) = estimate_on(plan, [file_system.id]).with_kept();
            let written_bytes =
                memory_bytes.unwrap_or_else(|| spec.written_bytes(*bytes, inodes, space_bytes));
            Backing::Image { bytes: *bytes, written_bytes, disk }
        }
        Place::Device { path } => Backing::Device { path: path.into(), erase: erase_device },
        Place::Directory { .. } => return Err(unknown("it is a directory, which is not made".into())),
    };
    Ok((spec, backing))
}

pub(crate) fn data_name(data: DataId) -> String {
    format!("data{}", data.0)
}

impl Volumes {
    pub(crate) fn named(path: &Path, directory: Dir) -> Self {
        Self { all: vec![Volume::new(None, path.to_owned(), directory)], lab: None }
    }

    pub(crate) fn directories(plan: &Plan) -> Result<Self, RunError> {
        let volume = |of: &LabFileSystem| {
            let Place::Directory { path } = &of.place else { return None };
            let directory = Dir::open(path).map_err(RunError::unusable(Path::new(path)));
            Some(directory.map(|directory| {
                let number = host::file_system_number(directory.at());
                Volume { number, ..Volume::new(Some(of.id), path.into(), directory) }
            }))
        };
        let all = plan.file_systems.iter().filter_map(volume).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { all, lab: None })
    }

    /// Records the properties of the file systems in the plan; file systems that fail are marked unavailable.
    ///
    /// All are made before the first is used, so that a run begins with the ones that it will have, and numbers of file systems
    /// in the plan change only here. The description of the disk comes from the made device; what the plan expected of it
    /// is kept too, for the report to compare.
    pub(crate) fn mount(
        plan: Plan,
        (path, worker): (&Path, Option<&WorkerCommand>),
        erase_device: bool,
        control: RunControl<'_>,
        notes: &mut Vec<Note>,
    ) -> Result<(Self, Plan), RunError> {
        let command = worker.map(|worker| (worker.program.clone(), worker.arguments.clone()));
        let mut lab = Lab::open(path, control)?;
        lab.set_server(command);
        notes.extend(notes_on(lab.leftovers()));
        let (mut mounts, mut unavailable) = (Vec::new(), Vec::new());
        for file_system in &plan.file_systems {
            let (spec, backing) = wanted(&plan, file_system, erase_device)?;
            match lab.make(&spec, &backing, control) {
                Ok(mounted) => mounts.push(mounted),
                Err(LabError::Unavailable { reason, .. }) => unavailable.push((file_system.id, reason)),
                Err(error) => return Err(error.into()),
            }
        }
        let mut plan = without(plan, &unavailable)?;
        let mut volumes = Self { all: Vec::new(), lab: Some(lab) };
        for (file_system, mounted) in plan.file_systems.iter_mut().zip(mounts) {
            let reformatted = file_system.reformatted;
            let expected_bytes = file_system.disk.as_ref().and_then(|disk| disk.expected_bytes);
            let mut described = LabFileSystem { reformatted, ..mounted.describe(file_system.id) };
            if let Some(disk) = &mut described.disk {
                disk.expected_bytes = expected_bytes;
            }
            *file_system = described;
            volumes.all.push(Volume::of(file_system.id, mounted)?);
        }
        Ok((volumes, plan))
    }

    /// Removes volumes and their part of the plan. The numbers of the others change in both, in the same
    /// order.
    pub(crate) fn leave_out(&mut self, plan: Plan, unavailable: &[(FsId, String)]) -> Result<Plan, RunError> {
        let plan = without(plan, unavailable)?;
        self.all.retain(|volume| !unavailable.iter().any(|(id, _)| volume.on == Some(*id)));
        for (volume, file_system) in self.all.iter_mut().zip(&plan.file_systems) {
            volume.on = Some(file_system.id);
        }
        Ok(plan)
    }

    /// File systems whose data a volume has to take: its own, and the file systems of other directories on the same one.
    pub(crate) fn sharing(&self, volume: &Volume) -> impl Iterator<Item = FsId> {
        let number = volume.number;
        let shares =
            move |other: &&Volume| other.on == volume.on || number.is_some() && other.number == number;
        self.all.iter().filter(shares).filter_map(|other| other.on)
    }

    pub(crate) fn of(&self, data: &Data) -> &Volume {
        // Planner and record reader guarantee a file system for each data set.
        self.all.iter().find(|volume| volume.on == data.on).unwrap_or(&self.all[0])
    }

    /// File systems as they are mounted now, for the header and for the comparison of a resumed run.
    pub(crate) fn describe(&self) -> Vec<LabMount> {
        let mount = |volume: &Volume| {
            Some(LabMount { on: volume.on?, file_system: host::file_system(volume.directory.at()) })
        };
        self.all.iter().filter_map(mount).collect()
    }

    pub(crate) fn disks(&self) -> Vec<DiskUse> {
        let used = |volume: &Volume| {
            let mounted = volume.mounted.as_ref()?;
            let (memory_bytes_max, counts) = (mounted.memory_used_max(), mounted.disk_counts());
            let is_known = memory_bytes_max.is_some() || counts.is_some();
            Some(DiskUse { on: volume.on.filter(|_| is_known)?, memory_bytes_max, counts })
        };
        self.all.iter().filter_map(used).collect()
    }

    /// Counts of the modelled disk below a data set since the disk was made; `None` on another disk.
    pub(crate) fn disk_counts(&self, data: &Data) -> Option<DiskCounts> {
        self.of(data).mounted.as_ref()?.disk_counts()
    }

    /// Fails if a disk that the run made has refused writes: the kernel reports that only to programs that wait for them.
    pub(crate) fn check_disks(&self) -> Result<(), RunError> {
        match self.failed_disk() {
            Some(fault) => Err(fault(None)),
            None => Ok(()),
        }
    }

    /// The error, with its cause if a disk that the run made has failed: file systems only report `EIO`.
    pub(crate) fn explained(&self, error: RunError) -> RunError {
        match (self.failed_disk(), error) {
            (
                _,
                error @ (RunError::Interrupted | RunError::MemoryFull { .. } | RunError::DiskLost { .. }),
            )
            | (None, error) => error,
            (Some(fault), error) => fault(Some(Box::new(error))),
        }
    }

    /// Makes an error of the first disk in memory that has exceeded its limit, or the first modelled disk without a server, and of the
    /// failure that it caused, if it did.
    fn failed_disk(&self) -> Option<impl FnOnce(Option<Box<RunError>>) -> RunError> {
        self.all.iter().find_map(|volume| {
            let mounted = volume.mounted.as_ref()?;
            let (name, exceeded) = (mounted.spec().to_string(), mounted.exceeded_memory());
            let fault = move |error| match exceeded {
                Some(limit_bytes) => RunError::MemoryFull { name, limit_bytes, error },
                None => RunError::DiskLost { name, error },
            };
            (exceeded.is_some() || mounted.has_lost_disk()).then_some(fault)
        })
    }

    /// Creates the run's own directory on each volume. If one fails, the caller removes the others with the
    /// volumes.
    pub(crate) fn make_workspaces(&mut self) -> Result<(), RunError> {
        for volume in &mut self.all {
            let made = Workspace::create(&volume.path);
            volume.workspace = Some(made.map_err(RunError::unusable(&volume.path))?);
        }
        Ok(())
    }

    pub(crate) fn write_back(&self, heartbeat: &AtomicU64) -> Result<(), RunError> {
        self.all.iter().try_for_each(|volume| {
            write_back(&volume.directory, heartbeat).map(drop).map_err(RunError::unusable(&volume.path))
        })
    }

    /// Remounts the file system of a data set, or a new one, and reopens the directories on it. Nothing else may be open there.
    pub(crate) fn remount(
        &mut self,
        plan: &Plan,
        data: DataId,
        directories: &mut [Dir],
        mounted_as: MountedAs,
        control: RunControl<'_>,
    ) -> Result<(), LabError> {
        let on = plan.data[data.0 as usize].on;
        let not_ours = || LabError::NotCold {
            name: "the given directory".into(),
            left: "only file systems created for the run are unmounted".into(),
        };
        let volume =
            self.all.iter_mut().find(|volume| volume.on == on && on.is_some()).ok_or_else(not_ours)?;
        let here = || plan.data.iter().filter(|data| data.on == on);
        if mounted_as == MountedAs::Another && !here().all(Data::is_made_by_arms) {
            let doing = "reformat a file system whose data is still needed";
            return Err(LabError::failed(doing)(io::ErrorKind::DirectoryNotEmpty));
        }
        let nowhere = || Dir::open(NOWHERE).map_err(LabError::failed("open /proc"));
        for data in here() {
            directories[data.id.0 as usize] = nowhere()?;
        }
        volume.remount(nowhere()?, mounted_as, control)?;
        let workspace = volume.workspace.as_ref().ok_or_else(not_ours)?;
        for other in here() {
            let name = data_name(other.id);
            let opened = match mounted_as {
                MountedAs::Another => workspace.data_directory(&name),
                MountedAs::ItIs => match workspace.open_data_directory(&name) {
                    // A program has removed it; its files are created again before its next block.
                    Err(error) if error.kind() == io::ErrorKind::NotFound && is_remade(plan, other.id) => {
                        workspace.data_directory(&name)
                    }
                    opened => opened,
                },
            };
            let opened = opened.map_err(LabError::failed("reopen a data set"))?;
            directories[other.id.0 as usize] = Dir::from_descriptor(opened, workspace.path().join(name));
        }
        Ok(())
    }

    /// `true` if the run created anything that has to be removed.
    pub(crate) fn are_ours(&self) -> bool {
        self.lab.is_some() || self.all.iter().any(|volume| volume.workspace.is_some())
    }

    /// Removes everything, each volume whatever happens to the others; the first error is returned. Files
    /// on a file system that the run made are not removed one by one: they vanish with it.
    pub(crate) fn remove(self, control: RunControl<'_>) -> Result<(), RunError> {
        let mut result = Ok(());
        for volume in self.all {
            let Volume { workspace, directory, mounted, .. } = volume;
            drop(directory);
            let removed = match (workspace, mounted) {
                (workspace, Some(mounted)) => {
                    drop(workspace);
                    mounted.unmount(control).map_err(RunError::from)
                }
                (Some(workspace), None) => {
                    let path = workspace.path().to_owned();
                    workspace.remove(control.heartbeat).map_err(|source| RunError::Clean { path, source })
                }
                (None, None) => Ok(()),
            };
            result = result.and(removed);
        }
        let closed = self.lab.map_or(Ok(()), |lab| lab.close(control).map_err(RunError::from));
        result.and(closed)
    }
}

impl Volume {
    fn of(on: FsId, mounted: Mounted) -> Result<Self, LabError> {
        let path = mounted.path().to_owned();
        let root = mounted.open().map_err(LabError::failed("open a mounted file system"))?;
        let directory = Dir::from_descriptor(root, &path);
        Ok(Self { mounted: Some(mounted), ..Self::new(Some(on), path, directory) })
    }

    fn new(on: Option<FsId>, path: PathBuf, directory: Dir) -> Self {
        let kind = host::file_system(directory.at()).kind;
        Self { on, path, directory, kind, number: None, workspace: None, mounted: None }
    }

    pub(crate) fn workspace(&self) -> Option<&Workspace> {
        self.workspace.as_ref()
    }

    pub(crate) fn own(&self) -> Result<&Workspace, RunError> {
        self.workspace().ok_or_else(|| RunError::unusable(&self.path)(io::ErrorKind::NotFound))
    }

    /// `nowhere` replaces its root meanwhile.
    fn remount(
        &mut self,
        nowhere: Dir,
        mounted_as: MountedAs,
        control: RunControl<'_>,
    ) -> Result<(), LabError> {
        let Some(mounted) = &mut self.mounted else { return Ok(()) };
        let closed = self.workspace.take().map(Workspace::close);
        self.directory = nowhere;
        match mounted_as {
            MountedAs::ItIs => {
                let cold = mounted.remount(control)?;
                if !cold.is_cold() {
                    let left = format!("{} pages of its device are still cached", cold.device_pages);
                    return Err(LabError::NotCold { name: mounted.spec().to_string(), left });
                }
            }
            MountedAs::Another => mounted.reformat(control)?,
        }
        let open = || mounted.open().map_err(LabError::failed("reopen a file system"));
        self.directory = Dir::from_descriptor(open()?, &self.path);
        if let Some(closed) = closed {
            let opened = match mounted_as {
                MountedAs::ItIs => closed.open(open()?),
                MountedAs::Another => closed.make(open()?),
            };
            self.workspace = Some(opened.map_err(LabError::failed("reopen the run's directory"))?);
        }
        Ok(())
    }
}

/// Its files are created again after each block that changes them.
fn is_remade(plan: &Plan, data: DataId) -> bool {
    plan.arms.iter().any(|arm| arm.data == data && arm.work.is_changing_command())
}

pub(crate) fn kinds(volumes: &Volumes, plan: &Plan) -> Vec<String> {
    plan.data.iter().map(|data| volumes.of(data).kind.clone()).collect()
}

/// Removals are noted too: ext4 creates files slowly for minutes after many were removed.
pub(crate) fn notes_on(found: &Leftovers) -> Vec<Note> {
    let note = |text| NoteKind::Leftovers.note(text);
    let removed =
        found.removed.iter().map(|name| note(format!("removed {name}, a leftover of a killed run")));
    let left = found.left.iter().map(|(name, reason)| note(format!("left {name} alone: {reason}")));
    removed.chain(left).collect()
}
