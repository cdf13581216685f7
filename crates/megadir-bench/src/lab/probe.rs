//! What this machine can have: told from what is installed by anybody, proven by making it by who may.

use std::path::Path;

use megadir_record::FsId;

use super::table::Entry;
use super::{Fact, Ground, Lab, LabError, Mounted, Spec, program};
use crate::workload::Signals;

/// Of an image that is only made, mounted and looked at a part is written: of 1 GiB 1 MiB (ext2), 5 (btrfs), 33 (ext4) or 65 (XFS); the rest
/// stays a hole.
const WRITTEN_SHARE: u64 = 4;

/// Makes and mounts a small image of each and looks at it while it is mounted.
///
/// What one is not to be had for is in its [`Fact`]; `look` gives what the caller wants to know besides.
///
/// # Errors
///
/// [`LabError::Interrupted`], and where one cannot be unmounted.
pub fn probe<T>(
    lab: &Lab,
    specs: &[Spec],
    signals: Signals<'_>,
    mut look: impl FnMut(&Mounted) -> T,
) -> Result<Vec<(Fact, Option<T>)>, LabError> {
    let mut facts = Vec::with_capacity(specs.len());
    for spec in specs {
        let bytes = spec.entry.smallest_bytes;
        let ground = Ground::Image { bytes, written_bytes: bytes / WRITTEN_SHARE };
        let mut fact = Fact { spec: spec.clone(), unavailable: None, proven: None, tool: None };
        let seen = match lab.make(spec, &ground, signals) {
            Ok(mounted) => {
                let file_system = mounted.describe(FsId(0));
                fact.tool.clone_from(&file_system.tool);
                fact.proven = Some(file_system);
                let seen = look(&mounted);
                mounted.unmount(signals)?;
                Some(seen)
            }
            Err(error @ (LabError::Interrupted | LabError::Privileges)) => return Err(error),
            Err(error) => {
                fact.unavailable = Some(match error {
                    LabError::Unavailable { reason, .. } => reason,
                    error => error.to_string(),
                });
                fact.tool = tool(spec, signals)?;
                None
            }
        };
        facts.push((fact, seen));
    }
    Ok(facts)
}

/// Returns what can be told of each without making it.
///
/// # Errors
///
/// [`LabError::Interrupted`].
pub fn facts(specs: &[Spec], signals: Signals<'_>) -> Result<Vec<Fact>, LabError> {
    let fact = |spec: &Spec| {
        let tool = tool(spec, signals)?;
        Ok(Fact { spec: spec.clone(), unavailable: missing(spec), proven: None, tool })
    };
    specs.iter().map(fact).collect()
}

/// Returns what a file system needs and is not there: a driver, a program, a device.
pub(super) fn missing(spec: &Spec) -> Option<String> {
    let entry = spec.entry;
    let programs = entry.make.first().into_iter().chain(entry.server.and_then(<[&str]>::first));
    let no_program = programs.copied().find(|name| program::find(name).is_none());
    let no_program = no_program.map(|name| format!("no {name} (Debian package {})", entry.package));
    let no_driver = (!has_driver(entry)).then(|| no_driver(entry));
    match (no_driver, no_program) {
        (Some(driver), Some(program)) => Some(format!("{driver}; {program}")),
        (driver, program) => driver.or(program),
    }
}

/// Says that the kernel has no driver, and why where that is known.
pub(super) fn no_driver(entry: &Entry) -> String {
    match entry.gone {
        Some(why) => format!("this kernel has no driver for it: {why}"),
        None => format!("this kernel has no driver for it (its option CONFIG_{})", entry.config),
    }
}

/// Returns whether the kernel has a driver, or a module that it would load.
fn has_driver(entry: &Entry) -> bool {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if known.lines().any(|line| line.split_whitespace().last() == Some(entry.kind)) {
        return true;
    }
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    let folder = Path::new("/lib/modules").join(kernel);
    let module = if entry.server.is_some() { "fuse" } else { entry.kind };
    let read = |list: &str| std::fs::read_to_string(folder.join(list)).unwrap_or_default();
    ["modules.dep", "modules.builtin"].iter().any(|list| is_module(&read(list), module))
        || is_alias(&read("modules.alias"), entry.kind)
}

/// Returns whether a list of modules, a path a line, has this one.
fn is_module(list: &str, module: &str) -> bool {
    list.lines().any(|line| {
        let path = line.split(':').next().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default();
        file.split(".ko").next() == Some(module) && file.contains(".ko")
    })
}

/// Returns whether a list of aliases has a module for this type of file system, as that of ext4 is for ext2.
fn is_alias(list: &str, kind: &str) -> bool {
    let alias = format!("fs-{kind}");
    list.lines().any(|line| line.split_whitespace().nth(1) == Some(alias.as_str()))
}

/// Returns the program that makes it with its version, as it says itself; `None` where there is none.
pub(super) fn tool(spec: &Spec, signals: Signals<'_>) -> Result<Option<String>, LabError> {
    let Some(name) = spec.entry.make.first().filter(|name| program::find(name).is_some()) else {
        return Ok(None);
    };
    let ended = program::run(name, &[spec.entry.version], signals)?;
    Ok(ended.said.into_iter().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_are_not_loaded_are_known_by_their_files_and_aliases() {
        let dep = "kernel/fs/ext4/ext4.ko.xz: kernel/lib/crc16.ko.xz\nkernel/fs/xfs/xfs.ko:\n";
        assert!(is_module(dep, "ext4") && is_module(dep, "xfs"));
        assert!(!is_module(dep, "crc16") && !is_module(dep, "ext"));
        let alias = "alias fs-ext4 ext4\nalias fs-ext3 ext4\nalias devname:fuse fuse\n";
        assert!(is_alias(alias, "ext3") && !is_alias(alias, "ext") && !is_alias(alias, "fuse"));
    }
}
