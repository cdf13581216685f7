//! Decoders, records and inventories on other processors: cross-compiled, tested in QEMU's user mode. s390x is
//! big-endian. Debian's cross compilers link and compile Zstandard; rustup brings the standard library.

use std::process::Command;

use crate::ci::drive::{Context, Report};
use crate::process;

struct Target {
    name: &'static str,
    gcc: &'static str,
    qemu: &'static str,
    libraries: &'static str,
}

const TARGETS: [Target; 2] = [
    Target {
        name: "s390x-unknown-linux-gnu",
        gcc: "s390x-linux-gnu-gcc",
        qemu: "qemu-s390x-static",
        libraries: "/usr/s390x-linux-gnu",
    },
    Target {
        name: "aarch64-unknown-linux-gnu",
        gcc: "aarch64-linux-gnu-gcc",
        qemu: "qemu-aarch64-static",
        libraries: "/usr/aarch64-linux-gnu",
    },
];

/// Other tests of the library need mounts, or ioctls that QEMU's user mode does not translate.
const DECODERS: &[&str] = &[
    "decode::",
    "directory_information::",
    "ext4_disk::",
    "layout::",
    "limits::ext4::",
    "limits::others::",
    "summary::",
];

const TESTS: [(&[&str], &[&str]); 2] = [
    (&["--package=megadir", "--lib"], DECODERS),
    (&["--package=megadir-record", "--package=megadir-inventory", "--lib", "--tests"], &[]),
];

pub(crate) fn run(context: &Context) -> Result<Report, String> {
    if !context.named && !context.full {
        return Ok(Report::line("cross: runs by name (--only cross) and with --full"));
    }
    let mut report = Report::default();
    for target in &TARGETS {
        match lacking(target) {
            Some(lacking) => report.not_run.push(format!("cross: {lacking}")),
            None => report.failures.extend(test(context, target).err()),
        }
    }
    Ok(report)
}

fn lacking(target: &Target) -> Option<String> {
    let tool = [target.gcc, target.qemu].into_iter().find(|tool| process::find_tool(tool).is_none());
    if let Some(tool) = tool {
        return Some(format!("no {tool}"));
    }
    let install = || process::run(Command::new("rustup").args(["target", "add", target.name])).is_ok();
    let has_library = || process::has_library(target.name);
    let is_there = has_library() || (install() && has_library());
    (!is_there).then(|| format!("no standard library for {} (rustup target add)", target.name))
}

fn test(context: &Context, target: &Target) -> Result<(), String> {
    let variable = target.name.to_uppercase().replace('-', "_");
    for (packages, names) in TESTS {
        let mut command = context.cargo(&["test", "--locked", "--target", target.name]);
        command.args(packages).args(["--no-fail-fast", "--"]).args(names);
        command.env(format!("CARGO_TARGET_{variable}_LINKER"), target.gcc);
        command.env(
            format!("CARGO_TARGET_{variable}_RUNNER"),
            format!("{} -L {}", target.qemu, target.libraries),
        );
        command.env(format!("CC_{}", target.name.replace('-', "_")), target.gcc);
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        process::run(&mut command)?;
    }
    Ok(())
}
