//! Options of `megadir bench run` about file systems that are made and mounted for the run, and what is said of them.

use std::path::{Path, PathBuf};

use megadir_bench::lab::{LabError, Spec};
use megadir_bench::plan::{CacheFact, FileSystemFact};
use megadir_bench::{LabFacts, file_system_facts};
use megadir_record::{CacheState, LabFileSystem, Place, Plan};

use crate::cmd::interrupt::Interrupt;
use crate::exit::{self, CliError};

/// Which file systems are made, and on what.
#[derive(clap::Args)]
pub(crate) struct LabArgs {
    /// Make these file systems and measure on each, arms of all in turns: ext4, xfs, ext4:block=1k ('megadir bench filesystems' lists names, variants
    /// and what can be had here). Each lies in an image file in the directory that --dir names, seen by nobody else and gone after the run; Linux and root only.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = Spec::parse)]
    pub(crate) fs: Vec<Spec>,
    /// Make the file system on this device instead of an image; once for each name of --fs, in the same order. All that it holds is lost.
    #[arg(long, value_name = "DEVICE", requires = "fs")]
    device: Vec<PathBuf>,
    /// Allow --device to be erased; one that carries a file system that this program has not made is left alone all the same.
    #[arg(long)]
    pub(crate) erase_device: bool,
}

impl LabArgs {
    /// Finds out what can be done on the file systems that were asked for; none in the directory as it was named.
    pub(crate) fn facts(&self, directory: &Path, interrupt: &Interrupt) -> Result<LabFacts, CliError> {
        if self.fs.is_empty() {
            return match self.erase_device {
                true => Err(CliError::usage("--erase-device: there is no --device to be erased")),
                false => Ok(LabFacts { file_systems: Vec::new(), room_bytes: 0 }),
            };
        }
        let (names, devices) = (self.fs.len(), self.device.len());
        if devices > 0 && devices != names {
            let times = if devices == 1 { "once".to_owned() } else { format!("{devices} times") };
            return Err(CliError::usage(format!(
                "--device is given {times} and --fs names {names}: each file system needs a device of its own"
            )));
        }
        if self.erase_device != (devices > 0) {
            return Err(CliError::usage(match devices {
                0 => "--erase-device: there is no --device to be erased",
                _ => "--device: all that it holds would be lost; allow that with --erase-device",
            }));
        }
        let devices = self.device.iter().map(|path| Some(path.as_path())).chain(std::iter::repeat(None));
        let asked: Vec<(Spec, Option<&Path>)> = self.fs.iter().cloned().zip(devices).collect();
        file_system_facts(directory, &asked, &interrupt.stop, &interrupt.beat).map_err(|error| match error {
            LabError::Interrupted => CliError { message: error.to_string(), code: exit::INTERRUPTED },
            error => CliError::nothing_ran(error.to_string()),
        })
    }
}

/// Returns the file systems of a plan, a line each, and those that cannot be had.
pub(crate) fn described(plan: &Plan) -> String {
    let mut text = String::new();
    for of in &plan.file_systems {
        let made = if of.make.is_empty() { String::new() } else { format!(", {}", of.make.join(" ")) };
        let mounted = &of.mount_options;
        text.push_str(&format!("file system {}: {}{made}, mounted {mounted}\n", of.label, place(of)));
    }
    for gone in &plan.unavailable {
        text.push_str(&format!("unavailable: {}: {}\n", gone.name, gone.reason));
    }
    text
}

/// Returns the file systems of a plan in a few words.
pub(crate) fn list(plan: &Plan) -> String {
    let one = |of: &LabFileSystem| format!("{} ({})", of.label, place(of));
    plan.file_systems.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn place(of: &LabFileSystem) -> String {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    match &of.place {
        Place::Image { bytes, .. } => format!("image of {} MiB", mib(*bytes)),
        Place::Device { path } => format!("device '{path}'"),
        Place::Memory { bytes } => format!("at most {} MiB of memory", mib(*bytes)),
    }
}

/// Returns which states of the cache can be had, a line for each answer with the file systems that it is given for.
pub(super) fn caches(facts: &[FileSystemFact]) -> String {
    let mut answers: Vec<(&str, String, Vec<&str>)> = Vec::new();
    for found in facts.iter().filter_map(|fact| fact.found.as_ref().ok()) {
        for fact in &found.caches {
            let had = had(fact);
            match answers.iter_mut().find(|(name, answer, _)| *name == fact.name && *answer == had) {
                Some((.., on)) => on.push(&found.label),
                None => answers.push((&fact.name, had, vec![&found.label])),
            }
        }
    }
    answers.iter().map(|(name, had, on)| format!("cache {name} on {}: {had}\n", on.join(", "))).collect()
}

/// Says whether a state of the cache can be had.
pub(super) fn had(fact: &CacheFact) -> String {
    match &fact.unavailable {
        Some(reason) => format!("cannot be had here: {reason}"),
        None if fact.state == CacheState::VfsCold => "can be had, with --drop-caches".to_owned(),
        None => "can be had".to_owned(),
    }
}

/// Refuses to go on with a run that erases what this command has not allowed, and a permission that nothing needs.
pub(crate) fn check_erase(plan: &Plan, allowed: bool) -> Result<(), CliError> {
    let device = plan.file_systems.iter().find_map(|of| match &of.place {
        Place::Device { path } => Some(path),
        Place::Image { .. } | Place::Memory { .. } => None,
    });
    match (device, allowed) {
        (Some(path), false) => Err(CliError::usage(format!(
            "the run makes a file system on '{path}' anew, and all that it holds is lost; allow it again with --erase-device"
        ))),
        (None, true) => Err(CliError::usage("--erase-device: the run of this record has no device")),
        _ => Ok(()),
    }
}
