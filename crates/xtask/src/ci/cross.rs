//! Decoders, records and inventories on other processors, tested in QEMU's user mode. s390x is big-endian. Debian's cross
//! compilers link and compile Zstandard; rustup brings the standard library.
//!
//! ```text
//! cargo test --target s390x-unknown-linux-gnu: gcc of Debian links, qemu-s390x-static runs each test
//! ```
//!
//! A big-endian processor finds each number that is written in the order of the machine.

use crate::ci::stage::{Context, Report};
use crate::process;

/// As Debian's packages and QEMU name them.
const ARCHITECTURES: [&str; 2] = ["s390x", "aarch64"];

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

/// strace cannot start a program of another processor.
const UNTRACED: [&str; 2] = ["--skip", "look_ups_make_no_system_call"];

const TESTS: [(&[&str], &[&str]); 2] = [
    // The library's own tests by name; records and inventories as a whole, since they are files that move
    // between machines.
    (&["--package=megadir", "--lib"], DECODERS),
    (&["--package=megadir-record", "--package=megadir-inventory", "--lib", "--tests"], &UNTRACED),
];

pub(crate) fn run(context: &Context) -> Result<Report, String> {
    let mut report = Report::default();
    for architecture in ARCHITECTURES {
        match lacking(architecture) {
            Some(lacking) => report.not_run.push(format!("cross: {lacking}")),
            None => report.failures.extend(test(context, architecture).err()),
        }
    }
    Ok(report)
}

fn target(architecture: &str) -> String {
    format!("{architecture}-unknown-linux-gnu")
}

fn compiler(architecture: &str) -> String {
    format!("{architecture}-linux-gnu-gcc")
}

fn lacking(architecture: &str) -> Option<String> {
    let tools = [compiler(architecture), format!("qemu-{architecture}-static")];
    if let Some(tool) = tools.iter().find(|tool| process::find_tool(tool).is_none()) {
        return Some(format!("no {tool}"));
    }
    let target = target(architecture);
    let is_there = process::has_or_adds_library(&target);
    (!is_there).then(|| format!("no standard library for {target} (rustup target add)"))
}

fn test(context: &Context, architecture: &str) -> Result<(), String> {
    let (target, compiler) = (target(architecture), compiler(architecture));
    // Settings of cargo for a target are variables with its name.
    let variable = target.to_uppercase().replace('-', "_");
    let runner = format!("qemu-{architecture}-static -L /usr/{architecture}-linux-gnu");
    for (packages, names) in TESTS {
        let mut command = context.cargo(&["test", "--locked", "--target", &target]);
        command.args(packages).args(["--no-fail-fast", "--"]).args(names);
        command.env(format!("CARGO_TARGET_{variable}_LINKER"), &compiler);
        command.env(format!("CARGO_TARGET_{variable}_RUNNER"), &runner);
        command.env(format!("CC_{}", target.replace('-', "_")), &compiler);
        // Without debug information, which no one reads here.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        process::run(&mut command)?;
    }
    Ok(())
}
