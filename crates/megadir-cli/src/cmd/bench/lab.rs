//! File systems that `megadir bench run` creates and mounts: options and messages.
//!
//! The lab is described in three places of a run, all by the text built here: the dry run, the announcement
//! of a run, and the refusal to erase a device.

use std::path::{Path, PathBuf};

use megadir_bench::lab::{DISKS, DiskSpec, LabError, Spec, disks_in_words};
use megadir_bench::plan::{CacheFact, FileSystemFact};
use megadir_bench::{LabFacts, file_system_facts};
use megadir_record::{CacheState, LabDisk, LabFileSystem, Place, Plan};

use super::work::given;
use crate::cmd::interrupt::Interrupt;
use crate::exit::{CliError, refuse_if};
use crate::ui::sizes;

#[derive(Clone, clap::Args)]
pub(crate) struct LabArgs {
    /// Create these file systems and measure on each, e.g. ext4,xfs,ext4:block=1k
    ///
    /// The arms of all file systems alternate. Each file system is an image in the directory of --dir, mounted in a private mount namespace
    /// and removed after the run. Needs Linux and root. 'megadir bench filesystems' lists names, variants and availability.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = Spec::parse)]
    pub(crate) fs: Vec<Spec>,
    /// Disk below the images: image, memory [default: image]
    #[arg(
        long,
        value_name = "KIND",
        requires = "fs",
        conflicts_with = "device",
        value_parser = DiskSpec::parse,
        help = disks_short(),
        long_help = disks_long()
    )]
    pub(crate) disk: Option<DiskSpec>,
    /// Use this device instead of an image; all its data is lost
    ///
    /// Give it once for each file system of --fs, in the same order.
    #[arg(long, value_name = "DEVICE", requires = "fs")]
    device: Vec<PathBuf>,
    /// Allow --device to be erased
    ///
    /// A device with a file system that this program did not create is never erased.
    #[arg(long)]
    pub(crate) erase_device: bool,
}

fn disks_short() -> String {
    let names: Vec<&str> = DISKS.iter().map(|kind| kind.name).collect();
    format!("Disk below the images: {} [default: {}]", names.join(", "), names[0])
}

fn disks_long() -> String {
    format!(
        "{}\n\nKIND[:NAME=VALUE,...]. The record has the kind and every parameter.\n\n{}",
        disks_short(),
        disks_in_words()
    )
}

impl LabArgs {
    pub(crate) fn given(&self) -> Option<&'static str> {
        let (fs, device) = (!self.fs.is_empty(), !self.device.is_empty());
        let erase = ("--erase-device", self.erase_device);
        given(&[("--fs", fs), ("--disk", self.disk.is_some()), ("--device", device), erase]).first().copied()
    }

    pub(crate) fn facts(&self, directory: &Path, interrupt: &Interrupt) -> Result<LabFacts, CliError> {
        let (names, devices) = (self.fs.len(), self.device.len());
        refuse_if(&[(self.erase_device && devices == 0, "--erase-device: no --device is given")])?;
        if names == 0 {
            return Ok(LabFacts { file_systems: Vec::new(), room_bytes: 0 });
        }
        if devices > 0 && devices != names {
            let times = if devices == 1 { "once".to_owned() } else { format!("{devices} times") };
            return Err(CliError::usage(format!(
                "--device is given {times} and --fs names {names}; each file system needs its own device"
            )));
        }
        let reason = "--device: all its data would be lost; allow that with --erase-device";
        refuse_if(&[(devices > 0 && !self.erase_device, reason)])?;
        let devices = self.device.iter().map(|path| Some(path.as_path())).chain(std::iter::repeat(None));
        let requested: Vec<(Spec, Option<&Path>)> = self.fs.iter().cloned().zip(devices).collect();
        let disk = self.disk.clone().unwrap_or_default();
        file_system_facts(directory, &requested, &disk, interrupt.control()).map_err(|error| match error {
            LabError::Interrupted => CliError::interrupted(error),
            error => CliError::nothing_ran(error),
        })
    }
}

/// A line for each file system or volume, then the requested ones that are unavailable, with the reason,
/// since a plan goes on without them.
pub(crate) fn described(plan: &Plan) -> String {
    let mut text = String::new();
    for of in &plan.file_systems {
        let made = if of.make.is_empty() { String::new() } else { format!(", {}", of.make.join(" ")) };
        let mounted = &of.mount_options;
        let (noun, kind) = match of.place.is_directory() {
            true => ("volume", format!(", {}", of.kind)),
            false => ("file system", String::new()),
        };
        text.push_str(&format!("{noun} {}: {}{kind}{made}, mounted {mounted}\n", of.label, place(of)));
    }
    for missing in &plan.unavailable {
        text.push_str(&format!("unavailable: {}: {}\n", missing.name, missing.reason));
    }
    text
}

pub(crate) fn list(plan: &Plan) -> String {
    let named = |of: &LabFileSystem| format!("{} ({})", of.label, place(of));
    plan.file_systems.iter().map(named).collect::<Vec<_>>().join(", ")
}

fn place(of: &LabFileSystem) -> String {
    match &of.place {
        Place::Image { bytes, .. } => format!("image of {}{}", sizes::text(*bytes), disk(of.disk.as_ref())),
        Place::Device { path } => format!("device '{path}'"),
        Place::Memory { bytes } => format!("at most {} of memory", sizes::text(*bytes)),
        Place::Directory { path } => format!("'{path}'"),
    }
}

/// Memory is named only for a disk that takes it: the amount that the plan expects, and the largest that it
/// allows. `?` is for an amount that is not in the plan.
fn disk(disk: Option<&LabDisk>) -> String {
    let Some(disk) = disk else { return String::new() };
    if disk.is_model {
        return format!(" on a MODEL of a disk, {}", disk.name);
    }
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "?".into(), sizes::text);
    let how = match (&disk.compression, &disk.no_zram) {
        (Some(algorithm), _) => format!(", zram with {algorithm}"),
        (None, Some(reason)) => format!(", a file in a tmpfs ({reason})"),
        (None, None) => String::new(),
    };
    let (expected, most) = (bytes(disk.expected_bytes), bytes(disk.memory_bytes));
    match disk.memory_bytes {
        Some(_) => format!(" on disk {}{how}, about {expected} of memory, at most {most}", disk.name),
        None => format!(" on disk {}", disk.name),
    }
}

/// File systems with the same answer share a line, as there are several cache states on each of them.
pub(super) fn caches(facts: &[FileSystemFact]) -> String {
    let mut answers: Vec<(&str, String, Vec<&str>)> = Vec::new();
    for found in facts.iter().filter_map(|fact| fact.found.as_ref().ok()) {
        for fact in &found.caches {
            let answer = availability(fact);
            match answers.iter_mut().find(|(name, known, _)| *name == fact.name && *known == answer) {
                Some((.., on)) => on.push(&found.file_system.label),
                None => answers.push((&fact.name, answer, vec![&found.file_system.label])),
            }
        }
    }
    let lines = answers.iter();
    lines.map(|(name, answer, on)| format!("cache {name} on {}: {answer}\n", on.join(", "))).collect()
}

pub(super) fn availability(fact: &CacheFact) -> String {
    match &fact.unavailable {
        Some(reason) => format!("unavailable: {reason}"),
        None if fact.state == CacheState::VfsCold => "available with --drop-caches".to_owned(),
        None => "available".to_owned(),
    }
}

/// Asked again for a resumed run, because a permission is no part of the record, and the path may be
/// another disk by then.
pub(crate) fn check_erase(plan: &Plan, allowed: bool) -> Result<(), CliError> {
    let device = plan.file_systems.iter().find_map(|of| match &of.place {
        Place::Device { path } => Some(path),
        Place::Image { .. } | Place::Memory { .. } | Place::Directory { .. } => None,
    });
    match (device, allowed) {
        (Some(path), false) => Err(CliError::usage(format!(
            "the run reformats '{path}' and erases all its data; allow it again with --erase-device"
        ))),
        (None, true) => Err(CliError::usage("--erase-device: the run of this record uses no device")),
        _ => Ok(()),
    }
}
