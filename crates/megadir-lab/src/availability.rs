//! Requirements of a file system on this machine: a driver and programs, checked without privileges.

use std::path::Path;

use crate::control::RunControl;
use crate::table::Entry;
use crate::{LabError, Spec, program};

/// Returns the missing driver and program, if any.
pub fn missing(spec: &Spec) -> Option<String> {
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

/// Reports that the kernel has no driver, with the cause if it is known.
pub(crate) fn no_driver(entry: &Entry) -> String {
    match entry.gone {
        Some(why) => format!("this kernel has no driver for it: {why}"),
        None => format!("this kernel has no driver for it (its option CONFIG_{})", entry.config),
    }
}

/// `true` if the kernel has the driver built in, loaded or as a loadable module.
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

/// `true` if `list` (one module path per line) contains `module`.
fn is_module(list: &str, module: &str) -> bool {
    list.lines().any(|line| {
        let path = line.split(':').next().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default();
        file.split(".ko").next() == Some(module) && file.contains(".ko")
    })
}

/// `true` if a list of module aliases covers this file system type, as the alias of ext4 covers ext2.
fn is_alias(list: &str, kind: &str) -> bool {
    let alias = format!("fs-{kind}");
    list.lines().any(|line| line.split_whitespace().nth(1) == Some(alias.as_str()))
}

/// Returns the mkfs program with the version that it reports; `None` if it is missing.
pub fn tool(spec: &Spec, control: RunControl<'_>) -> Result<Option<String>, LabError> {
    let Some(name) = spec.entry.make.first().filter(|name| program::find(name).is_some()) else {
        return Ok(None);
    };
    let ended = program::run(name, &[spec.entry.version], control)?;
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
