//! Differences between the environments of two runs, and the warnings of the runs.
//!
//! ```text
//! machine, file system, lists, made file systems, ranks -> differences: printed above every table; no refusal
//! warnings and pressure of each run                     -> doubts: refuse a gate, unless waived
//! notes about other work                                -> disturbances: printed
//! ```

use megadir_record::{FileSystem, LabFileSystem, Machine, Ranks, Record};
use serde::{Deserialize, Serialize};

use crate::between::Run;
use crate::between::matched::Side;
use crate::warning::{Advisory, DISTURBING, Warning, displayed};
use crate::{Report, text};

/// Phrases; none for two runs of the same study on the same machine and file system. Program version, seed
/// and number of rounds may differ: they are compared, or irrelevant.
pub fn differences(old: &Record, new: &Record) -> Vec<String> {
    let (before, after) = (&old.header.machine, &new.header.machine);
    let mut found = Vec::new();
    let mut differ = |name: &str, old: Option<String>, new: Option<String>| {
        if old != new {
            let text = |value: Option<String>| {
                value.filter(|value| !value.is_empty()).unwrap_or_else(|| "unknown".into())
            };
            found.push(format!("{name}: {} against {}", text(old), text(new)));
        }
    };
    differ("study", Some(old.header.plan.study.clone()), Some(new.header.plan.study.clone()));
    // Two different machines are called different once, by name; a shared record has no name.
    if let (Some(old), Some(new)) = (&before.host, &after.host) {
        differ("host", Some(old.clone()), Some(new.clone()));
    }
    for (name, of) in MACHINE {
        differ(name, of(before), of(after));
    }
    for (name, of) in FILE_SYSTEM {
        differ(name, of(&before.file_system), of(&after.file_system));
    }
    for (name, of) in LISTS {
        let (old, new) = (of(before), of(after));
        // Lists are compared only if both records have them: an older version did not record all. Only the
        // lines that differ are printed.
        if !old.is_empty() && !new.is_empty() {
            let lacking = |lines: &[String], lacking_in: &[String]| {
                let lines: Vec<String> =
                    lines.iter().filter(|line| !lacking_in.contains(line)).cloned().collect();
                Some(lines.join(", ")).filter(|lines| !lines.is_empty()).or(Some("none of these".to_owned()))
            };
            differ(name, lacking(&old, &new), lacking(&new, &old));
        }
    }
    let made = |record: &Record| {
        let made = record.header.plan.file_systems.iter();
        let disk = |of: &LabFileSystem| match of.disk.as_ref().map(|disk| (&disk.name, &disk.compression)) {
            Some((name, Some(algorithm))) => format!(" on disk {name} ({algorithm})"),
            Some((name, None)) => format!(" on disk {name}"),
            None => String::new(),
        };
        made.map(|of| format!("{} ({}){}", of.label, of.mount_options, disk(of)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let ranks = |record: &Record| record.header.ranks.as_ref().map_or_else(|| "none".into(), Ranks::words);
    differ("ranks", Some(ranks(old)), Some(ranks(new)));
    differ("file systems made", Some(made(old)), Some(made(new)));
    // The profile is the last part of the description of the build.
    let profile = |machine: &Machine| {
        machine.build.as_ref().and_then(|build| build.rsplit(", ").next().map(str::to_owned))
    };
    differ("profile that megadir was built with", profile(before), profile(after));
    found
}

/// Everything against the first old run. Versions may differ between the sides, which is the subject, but
/// not within a side.
pub(super) fn of_all(old: &[Run<'_>], new: &[Run<'_>]) -> Vec<String> {
    let others = old.iter().skip(1).chain(new);
    let found = others.flat_map(|run| differences(&old[0].report.record, &run.report.record));
    let versions = [("old", old), ("new", new)].into_iter().filter_map(|(which, runs)| {
        let program = |run: &Run<'_>| {
            let Machine { version, commit, .. } = &run.report.record.header.machine;
            commit.as_ref().map_or(version.clone(), |at| format!("{version} ({at})"))
        };
        let other = runs.iter().map(program).find(|other| *other != program(&runs[0]))?;
        Some(format!("version among the {which} runs: {} against {other}", program(&runs[0])))
    });
    text::distinct(found.chain(versions))
}

/// Name of a fact and the function that reads it.
type Fact<Of, As> = (&'static str, fn(&Of) -> As);

const LISTS: [Fact<Machine, Vec<String>>; 4] = [
    ("mitigations", |machine| machine.mitigations.clone()),
    ("settings", |machine| machine.settings.clone()),
    ("who watches the files", |machine| machine.watchers.clone()),
    ("devices below the file system", |machine| {
        // The system renumbers loop devices and disks at every boot.
        let kind =
            |device: &String| device.split_once('(').map_or(device.clone(), |(_, kind)| format!("({kind}"));
        machine.file_system.block_stack.iter().map(kind).collect()
    }),
];

const MACHINE: [Fact<Machine, Option<String>>; 12] = [
    ("kernel", |machine| Some(machine.kernel.clone())),
    ("processor", |machine| machine.processor.clone()),
    ("processors", |machine| Some(machine.processors.to_string())),
    ("memory", |machine| machine.memory_bytes.map(text::bytes)),
    ("limit of memory", |machine| machine.memory_limit_bytes.map(text::bytes)),
    ("limit of processors", |machine| machine.processor_limit.map(|limit| format!("{limit:.2}"))),
    ("hypervisor", |machine| machine.hypervisor.clone()),
    ("emulator", |machine| machine.emulator.clone()),
    ("Wine", |machine| machine.wine.clone()),
    ("clock source", |machine| machine.clock_source.clone()),
    ("governor", |machine| machine.governor.clone()),
    ("power plan", |machine| machine.power_plan.clone()),
];

const FILE_SYSTEM: [Fact<FileSystem, Option<String>>; 5] = [
    ("file system", |system| Some(system.kind.clone())),
    ("mount options", |system| system.mount_options.clone()),
    ("size of blocks", |system| system.block_bytes.map(text::bytes)),
    ("attributes of the directory", |system| {
        Some(system.directory.join(", ")).filter(|names| !names.is_empty())
    }),
    ("features of the file system", |system| system.features.as_ref().map(|features| features.join(" "))),
];

/// In the ten seconds before a run, per cent.
const PRESSURE_MAX_PERCENT: f64 = 10.0;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Doubt {
    pub run: String,
    /// [`Warning::kind`], or `pressure`.
    pub kind: String,
    pub text: String,
}

/// Reasons that forbid a verdict on a run, by run.
pub(super) fn doubts(side: &Side<'_>) -> Vec<Doubt> {
    side.runs.iter().flat_map(|run| doubts_of(run.report, &side.name_of(run))).collect()
}

pub(super) fn doubts_of(report: &Report, name: &str) -> Vec<Doubt> {
    let warned: Vec<Advisory> =
        // Warnings are merged first, so that a noisy run is one reason for each kind and not one for each
        // arm.
        report.warnings.iter().filter(|advisory| speaks_against(advisory)).cloned().collect();
    let warned = displayed(&warned).into_iter().map(|displayed| (displayed.kind, displayed.text));
    // A report of one run compares within rounds, so it has no warning for this pressure; two runs share no
    // rounds.
    let before = report.summary.machine.pressure.cpu_some_10s_percent;
    let waited = before.filter(|percent| *percent > PRESSURE_MAX_PERCENT).map(|percent| {
        let text = format!(
            "CPU pressure was {} over the last 10 s before it. Wait until other tasks are done and run it again.",
            text::percent(percent)
        );
        ("pressure".to_owned(), text)
    });
    let doubt = |(kind, text)| Doubt { run: name.to_owned(), kind, text };
    warned.chain(waited).map(doubt).collect()
}

/// Warnings about single arms are handled by arm.
/// `Unaccounted` is not loud in a report, whose ratios it does not affect; between runs it refuses a verdict.
fn speaks_against(advisory: &Advisory) -> bool {
    match &advisory.warning {
        Warning::UnequalWork { .. } => false,
        Warning::Unaccounted { .. } => true,
        Warning::PressureRose { resource, .. } => resource == "the processor",
        _ => advisory.loud,
    }
}

/// Other work on the machine that one side's runs noted: the ratios include it.
pub(super) fn disturbances(side: &Side<'_>) -> Vec<String> {
    let mut found: Vec<(&str, String, usize)> = Vec::new();
    for run in side.runs {
        let name = text::capital(&side.name_of(run));
        for note in run.report.record.notes.iter().filter(|note| DISTURBING.contains(&note.kind.as_str())) {
            // One text for each kind of note, with the number of the others, if a side has several runs.
            match found.iter_mut().find(|(kind, ..)| *kind == note.kind && side.runs.len() > 1) {
                Some((.., more)) => *more += 1,
                None => found.push((&note.kind, format!("{name}: {}", note.text), 0)),
            }
        }
    }
    let line = |(_, text, more): (&str, String, usize)| match more {
        0 => text,
        more => format!("{}. And {more} more notes like this.", text.strip_suffix('.').unwrap_or(&text)),
    };
    found.into_iter().map(line).collect()
}
