//! `megadir doctor`: what a bug report needs of program and machine, redacted as records for sharing: no host or user names and no paths.

use std::path::PathBuf;

use megadir::limits::AbsentNames;
use megadir::mount_traits::driver_of;
use megadir::{BACKENDS, Dir, MountTraits, STAT_BACKENDS, policy};
use megadir_record::{Machine, redact};
use serde::Serialize;

use super::amount::grouped;
use super::bench::program;
use super::version::Version;
use crate::exit::{self, CliError};
use crate::ui::message::{quoted, reason};
use crate::ui::output::{json_line, print};

/// Describe program, machine and file system for a bug report
///
/// Contains no host or user names and no paths. Reads only DIR itself and descriptions of the system.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory with the problem; only its file system is described
    #[arg(value_name = "DIR", default_value = ".", value_parser = exit::directory_parser())]
    directory: PathBuf,
    /// Print a JSON object
    ///
    /// Fields: v (format version, 1), program (as 'megadir version --json'), machine (as in records), root, open_files,
    /// absent_names (cached names of files that do not exist),
    /// mount (type in the mount table, and what the mount can be trusted with), backends, stat backends (name, missing: null or the reason), reads (what 'megadir list' would use).
    #[arg(long)]
    json: bool,
}

// The fields are the JSON output in this order, and the text is made from them, so both have the same facts. `root`
// and `open_files` are `None` where the system has no such notion or limit.
#[derive(Serialize)]
struct Findings {
    v: u8,
    program: Version,
    machine: Machine,
    root: Option<bool>,
    open_files: Option<u64>,
    absent_names: Option<u64>,
    mount: serde_json::Map<String, serde_json::Value>,
    backends: Vec<Way>,
    stat_backends: Vec<Way>,
    reads: String,
}

#[derive(Serialize)]
struct Way {
    name: &'static str,
    missing: Option<String>,
}

impl Way {
    fn of(name: &'static str, probed: megadir::Result<()>) -> Self {
        Self { name, missing: probed.err().map(|error| error.reason()) }
    }

    fn text(ways: &[Self]) -> String {
        let words = ways.iter().map(|way| match &way.missing {
            None => way.name.to_owned(),
            Some(reason) => format!("not {} ({reason})", way.name),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let directory = Dir::open(&args.directory)?;
    let mut machine = megadir_bench::machine(&args.directory, &program()).map_err(|error| {
        CliError::nothing_ran(format!("open {}: {}", quoted(&args.directory), reason(&error)))
    })?;
    redact::machine(&mut machine);
    let (root, open_files) = rights();
    let findings = Findings {
        v: 1,
        program: Version::of_this_program(),
        machine,
        root,
        open_files,
        absent_names: AbsentNames::now().map(|names| names.count),
        mount: mount(&directory),
        backends: BACKENDS.iter().map(|way| Way::of(way.name(), way.probe(&directory))).collect(),
        stat_backends: STAT_BACKENDS.iter().map(|way| Way::of(way.name(), way.probe(&directory))).collect(),
        reads: policy::choose_freely(&directory)?.to_string(),
    };
    print(&if args.json { json_line(&findings)? } else { text(&findings) })
}

/// Type of the mount, and its facts in words.
fn mount(directory: &Dir) -> serde_json::Map<String, serde_json::Value> {
    let driver = driver_of(directory).map(|driver| ("type", driver));
    let facts = MountTraits::of(directory).described();
    driver.into_iter().chain(facts).map(|(name, text)| (name.to_owned(), text.into())).collect()
}

/// One table of names and values instead of a line of code for each: facts that the machine does not have fall out
/// together, and all values begin in one column. The lines of the program come first.
fn text(found: &Findings) -> String {
    let (machine, file_system) = (&found.machine, &found.machine.file_system);
    let free = |(all, free): (u64, u64)| format!("{} of {} free", grouped(free), grouped(all));
    let facts = [
        ("kernel", Some(machine.kernel.clone())),
        ("processors", Some(processors(machine))),
        ("memory", Some(memory(machine))),
        ("emulator", machine.emulator.clone()),
        ("Wine", machine.wine.clone()),
        ("root", found.root.map(|root| if root { "yes".into() } else { "no".into() })),
        ("open files", Some(found.open_files.map_or("no limit".into(), |limit| format!("at most {limit}")))),
        ("absent names", found.absent_names.map(absent_names)),
        ("file system", Some(file_system.kind.clone())),
        ("options", file_system.mount_options.clone()),
        ("block size", file_system.block_bytes.map(|bytes| format!("{bytes} bytes"))),
        ("blocks", file_system.blocks.map(free)),
        ("inodes", file_system.inodes.map(free)),
        ("features", file_system.features.as_ref().map(|features| features.join(" "))),
    ];
    let methods = [
        ("read with", found.reads.clone()),
        ("backends", Way::text(&found.backends)),
        ("stat_backends", Way::text(&found.stat_backends)),
    ];
    let each = |name, values: &[String]| values.iter().map(|value| (name, value.clone())).collect::<Vec<_>>();
    let lines = facts.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let mount = found
        .mount
        .iter()
        .map(|(name, fact)| ("mount", format!("{name}: {}", fact.as_str().unwrap_or_default())));
    let lines = lines.chain(mount).chain(each("device", &file_system.block_stack)).chain(methods);
    let lines = lines.chain(each("setting", &machine.settings)).chain(each("watcher", &machine.watchers));
    found.program.text() + &lines.map(|(name, value)| format!("{name:<15} {value}\n")).collect::<String>()
}

fn absent_names(count: u64) -> String {
    let bytes = AbsentNames { count, memory_bytes: 0 }.bytes();
    format!("{} in the cache (negative dentries, at least {} bytes)", grouped(count), grouped(bytes))
}

fn processors(machine: &Machine) -> String {
    let mut text = machine.processors.to_string();
    for part in [&machine.processor, &machine.hypervisor].into_iter().flatten() {
        text.push_str(&format!(", {part}"));
    }
    if let Some(limit) = machine.processor_limit {
        text.push_str(&format!(", limited to {limit}"));
    }
    text
}

fn memory(machine: &Machine) -> String {
    let mut text =
        machine.memory_bytes.map_or("unknown".to_owned(), |bytes| format!("{} bytes", grouped(bytes)));
    if let Some(limit) = machine.memory_limit_bytes {
        text.push_str(&format!(", limited to {} bytes", grouped(limit)));
    }
    text
}

/// Root or not, and the most files that may be open.
#[cfg(unix)]
fn rights() -> (Option<bool>, Option<u64>) {
    use rustix::process::{Resource, geteuid, getrlimit};
    (Some(geteuid().is_root()), getrlimit(Resource::Nofile).current)
}

#[cfg(not(unix))]
fn rights() -> (Option<bool>, Option<u64>) {
    (None, None)
}
