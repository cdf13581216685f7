//! Run and machine, as lines for table and Markdown.
//!
//! Facts that a machine does not have are left out of their lines, and never guessed. What makes the whole
//! run something else than it seems (Wine, an emulator, disks in memory) is printed before any figure.

use std::collections::BTreeSet;

use megadir_record::{
    CacheState, DiskCounts, DiskUse, FILE_SYSTEM_GROUP, FileSystem, FsId, LabDisk, LabFileSystem, Machine,
    Place, Stop, Work,
};

use super::data::data_sets;
use crate::finding::passes_over_removed;
use crate::report::Report;
use crate::summary::{Ending, GroupReading, GroupSummary, PairRow, Resolution, Summary, rounds_for_interval};
use crate::text;

pub(crate) fn run_line(report: &Report) -> String {
    let summary = &report.summary;
    let progress = &summary.progress;
    // Rounds that count, of all planned ones; with a stopping rule the plan has a maximum.
    let rounds = format!(
        "{} of {}{}{}, {} of warm-up, {} voided",
        progress.rounds_used,
        if summary.rules.stop == Stop::Rounds { "" } else { "at most " },
        text::counted(u64::from(progress.rounds_planned), "round"),
        if summary.rules.epochs > 1 { format!(" in {} epochs", summary.rules.epochs) } else { String::new() },
        progress.rounds_warm_up,
        progress.rounds_voided
    );
    let ending = match progress.ending {
        Ending::Complete => "",
        Ending::Early { .. } | Ending::Killed { .. } => " (INCOMPLETE)",
    };
    format!(
        "Study {} ({} size) on {}; {}; {rounds}{ending}{}; seed {}.",
        report.record.header.plan.study,
        summary.preset.name(),
        data_sets(summary),
        caches(summary),
        stopping(summary.rules.stop),
        summary.seed
    )
}

fn stopping(stop: Stop) -> String {
    match stop {
        Stop::Rounds => String::new(),
        Stop::Ratio { half_width, .. } => {
            format!(", to stop once every ratio is known to {}", text::chosen(half_width))
        }
        Stop::Difference { half_width_ns, .. } => {
            format!(", to stop once every difference is known to {}", text::time(half_width_ns))
        }
    }
}

/// Printed before any figure, because the machine is not what its description suggests.
pub(crate) fn stand_in_lines(summary: &Summary) -> impl Iterator<Item = String> {
    let Machine { wine, emulator, .. } = &summary.machine;
    let wine = wine.as_ref().map(|version| {
        format!("Measured under Wine {version}, which is not Windows: this says nothing of Windows.")
    });
    let emulator = emulator.as_ref().map(|emulator| {
        format!(
            "Measured on an emulated processor ({emulator}): times are the emulator's; only decided ratios between arms mean something, and \
             they may differ on a machine."
        )
    });
    let disks = || summary.file_systems.iter().filter_map(|of| of.disk.as_ref());
    let model = disks().find(|disk| disk.is_model).map(|disk| {
        format!(
            "Measured on a MODEL of a disk, not on a disk ({}): ratios and seeks mean something, seconds only as far as the model holds.",
            // Lines are broken between words.
            disk.name.replace(',', ", ")
        )
    });
    let disk = disks().any(|disk| !disk.is_model).then(|| {
        "Measured on disks in memory: no figure contains the time of a device, and uncached files are read from memory.".to_owned()
    });
    wine.into_iter().chain(emulator).chain(model).chain(disk)
}

pub(crate) fn machine_line(summary: &Summary) -> String {
    let machine = &summary.machine;
    let file_system = &machine.file_system;
    // With images the file system of the machine is the one below them.
    let images = if has_images_directory(summary) { "images on " } else { "" };
    let options = file_system.mount_options.as_ref().map(|options| format!(" ({options})"));
    let parts = [
        machine.host.clone(),
        Some(machine.kernel.clone()),
        machine.processor.clone(),
        Some(text::counted(u64::from(machine.processors), "processor")),
        machine.memory_bytes.map(|bytes| format!("{} of memory", text::bytes(bytes))),
        machine.hypervisor.as_ref().map(|hypervisor| format!("under {hypervisor}")),
        machine.governor.as_ref().map(|governor| format!("governor {governor}")),
        machine.power_plan.as_ref().map(|plan| format!("power plan {plan}")),
        Some(format!("{images}{}{}", file_system.kind, options.unwrap_or_default())),
        Some(format!("megadir {}", machine.version)),
        programs(summary),
    ];
    format!("Machine: {}.", parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

fn programs(summary: &Summary) -> Option<String> {
    let known = text::distinct(summary.arms.iter().filter_map(|arm| match &arm.planned.work {
        Work::Command(work) => work.version.as_deref(),
        _ => None,
    }));
    (!known.is_empty()).then(|| format!("programs: {}", known.join(", ")))
}

fn has_images_directory(summary: &Summary) -> bool {
    summary.file_systems.iter().any(|of| !of.place.is_directory())
}

pub(crate) fn file_system_lines(summary: &Summary) -> Vec<String> {
    let made = summary.file_systems.iter().filter(|of| !of.place.is_directory()).map(|of| {
        let how = match (of.make.is_empty(), &of.tool) {
            (true, _) => None,
            (false, None) => Some(format!("made by '{}'", of.make.join(" "))),
            (false, Some(tool)) => Some(format!("made by '{}' ({tool})", of.make.join(" "))),
        };
        // A disk in memory is described by its compression, and by the memory that it used, that was
        // expected and that was allowed.
        let disk = of.disk.as_ref().map_or_else(String::new, |disk| below(disk, &summary.disks, of.id));
        let place = format!("{}{disk}", place(&of.place));
        let parts = [how, Some(format!("mounted {}", of.mount_options)), Some(place)];
        format!("File system {}: {}.", of.label, parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
    });
    let unavailable = summary
        .unavailable
        .iter()
        .map(|unavailable| format!("Unavailable: {}: {}.", unavailable.name, unavailable.reason));
    made.chain(lives(summary)).chain(unavailable).collect()
}

/// A life is an epoch of files: how it began decides what creating files met, see `passes_over_removed`.
fn lives(summary: &Summary) -> Option<String> {
    let labels = |of: &dyn Fn(&LabFileSystem) -> bool| {
        let labels = text::list(
            summary
                .file_systems
                .iter()
                .filter(|file_system| of(file_system))
                .map(|file_system| &file_system.label),
        );
        Some(labels).filter(|labels| !labels.is_empty())
    };
    let reformatted = labels(&|of| of.reformatted).map(|labels| {
        format!(
            "; {labels} was reformatted before, because the disk records what others removed in the last minutes"
        )
    });
    let remembers = labels(&|of| passes_over_removed(of) && !of.reformatted).map(|remembers| {
        format!(
            "; but {remembers} depends on what others removed in the last minutes, which its disk records"
        )
    });
    let begun = "Each epoch began on a file system that was remounted, except in memory";
    let (reformatted, remembers) = (reformatted.unwrap_or_default(), remembers.unwrap_or_default());
    // Records of studies without remounts have no such line.
    summary.rules.fresh_mounts.then(|| format!("{begun}{reformatted}{remembers}."))
}

fn below(disk: &LabDisk, used: &[DiskUse], on: FsId) -> String {
    let used = used.iter().find(|used| used.on == on);
    if disk.is_model {
        let worked = |DiskCounts { requests, seeks, busy_ns, .. }: DiskCounts| {
            let (requests, seeks) = (text::count(requests), text::count(seeks));
            format!(
                "; in the run, with making the data, {requests} requests, {seeks} seeks, busy for {}",
                text::time(busy_ns as f64)
            )
        };
        let worked = used.and_then(|used| used.counts).map_or_else(String::new, worked);
        return format!(", on a MODEL of a disk ({}{worked})", disk.name);
    }
    let used = used.and_then(|used| used.memory_bytes_max);
    let bytes = |name: &str, bytes: Option<u64>| bytes.map(|bytes| format!("{name} {}", text::bytes(bytes)));
    let parts = [
        Some(match (&disk.compression, &disk.no_zram) {
            (Some(algorithm), _) => format!("zram, compressed with {algorithm}"),
            (None, Some(reason)) => format!("a file in a tmpfs, not compressed, because {reason}"),
            (None, None) => "not compressed".to_owned(),
        }),
        bytes("used at most", used),
        bytes("expected", disk.expected_bytes),
        bytes("allowed", disk.memory_bytes),
    ];
    format!(", on a disk in memory ({})", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn place(place: &Place) -> String {
    match place {
        Place::Image { bytes, direct_io } => {
            // Through the page cache an image costs nothing to read again; that must not be overlooked.
            let through = match direct_io {
                Some(true) => ", read and written past the page cache",
                Some(false) => ", read and written THROUGH THE PAGE CACHE, which hides what its device costs",
                None => "",
            };
            format!("on an image of {}{through}", text::bytes(*bytes))
        }
        Place::Device { path } => format!("on the device {path}"),
        Place::Memory { bytes } => format!("in at most {} of memory", text::bytes(*bytes)),
        Place::Directory { path } => format!("in the directory {path}"),
    }
}

pub(crate) fn machine_details(summary: &Summary) -> Vec<String> {
    let machine = &summary.machine;
    let limits = [
        machine.memory_limit_bytes.map(|bytes| format!("{} of memory", text::bytes(bytes))),
        machine.processor_limit.map(|limit| format!("{limit:.2} processors")),
    ];
    let built = [machine.commit.as_ref().map(|commit| format!("commit {commit}")), machine.build.clone()];
    let named = if has_images_directory(summary) { "File system of the images" } else { "File system" };
    let mut lines = file_system_details(&machine.file_system, summary.started_unix_s, named);
    for mount in &summary.mounted {
        let label = summary.file_systems.get(mount.on.0 as usize).map_or("?", |of| &of.label);
        // Facts that the machine has already, or that are the same by construction, are removed from the
        // mounted file system.
        let own = FileSystem {
            block_stack: Vec::new(),
            directory: Vec::new(),
            made_unix_s: None,
            ..mount.file_system.clone()
        };
        let name = format!("File system {label}, mounted {}", own.mount_options.as_deref().unwrap_or("?"));
        lines.extend(file_system_details(&own, summary.started_unix_s, &name));
    }
    let of_machine = [
        join(&limits.into_iter().flatten().collect::<Vec<_>>(), "Limits of the control group"),
        join(&machine.settings, "Settings"),
        join(&machine.watchers, "Who else sees accesses to files"),
        join(&built.into_iter().flatten().collect::<Vec<_>>(), "Built from"),
    ];
    lines.extend(of_machine.into_iter().flatten());
    lines
}

fn join(parts: &[String], of: &str) -> Option<String> {
    (!parts.is_empty()).then(|| format!("{of}: {}.", parts.join("; ")))
}

/// State in which the run found the file system: usage, age, features, and the devices below it.
fn file_system_details(file_system: &FileSystem, started_unix_s: u64, name: &str) -> Vec<String> {
    let used = |unit: &str, (all, free): (u64, u64)| {
        let percent = 100.0 * all.saturating_sub(free) as f64 / all.max(1) as f64;
        format!("{} of {} {unit} in use", text::percent(percent), text::count(all))
    };
    let facts = [
        file_system.block_bytes.map(|bytes| format!("blocks of {}", text::bytes(bytes))),
        file_system.blocks.map(|blocks| used("blocks", blocks)),
        file_system.inodes.map(|inodes| used("inodes", inodes)),
        file_system.made_unix_s.map(|made| {
            let days = started_unix_s.saturating_sub(made) / 86_400;
            format!("made {} before the run", text::counted(days, "day"))
        }),
        file_system.written_bytes.map(|bytes| format!("{} written to it so far", text::bytes(bytes))),
        file_system.features.as_ref().map(|features| format!("features {}", features.join(" "))),
    ];
    let lines = [
        join(&facts.into_iter().flatten().collect::<Vec<_>>(), name),
        join(&file_system.block_stack, "Devices below it"),
        join(&file_system.directory, "The directory's attributes"),
    ];
    lines.into_iter().flatten().collect()
}

/// More resolutions are summed up by the smallest and the largest.
const RESOLUTIONS_MAX: usize = 2;

pub(crate) fn resolution_lines(summary: &Summary) -> Vec<String> {
    if summary.resolution.len() <= RESOLUTIONS_MAX {
        return summary.resolution.iter().map(|resolution| resolution_line(summary, resolution)).collect();
    }
    let known =
        summary.resolution.iter().filter_map(|resolution| Some((resolution.half_width_percent?, resolution)));
    let mut known: Vec<(f64, &Resolution)> = known.collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some((least, best)), Some((most, worst))) = (known.first(), known.last()) else {
        return vec![format!(
            "Resolution: unknown, too few rounds ({} against themselves).",
            text::counted(summary.resolution.len() as u64, "arm")
        )];
    };
    // Arms without an interval are counted, since a resolution that is unknown is no good sign.
    let unknown = summary.resolution.len() - known.len();
    let unknown =
        if unknown > 0 { format!("; of {unknown} more unknown, too few rounds") } else { String::new() };
    vec![format!(
        "Resolution: from {} ({}) to {} ({}, {}), {} against themselves{unknown}: smaller differences cannot be seen.",
        text::percent(*least),
        summary.arm_name(best.baseline),
        text::percent(*most),
        summary.arm_name(worst.baseline),
        text::ratio(worst.ratio.value, worst.ratio.interval),
        text::counted(known.len() as u64, "arm"),
    )]
}

/// Fewer families of comparisons are not mentioned, unless there is a table of file systems.
const FAMILIES_MIN: usize = 5;

pub(crate) fn families_line(summary: &Summary) -> Option<String> {
    let families: usize = summary.groups.iter().map(families).sum();
    // Marks and headline of the table of file systems are one family; each pair over all rows is another.
    let overview = summary.overview.as_ref().filter(|overview| !overview.overall.is_empty());
    let families = families + overview.map_or(0, |_| 2);
    // With few families the expected number is far below one.
    let few = families < FAMILIES_MIN && overview.is_none();
    if few || summary.progress.rounds_used < rounds_for_interval(summary.rules.confidence) {
        return None;
    }
    // Expected number if nothing differed: families times the error level.
    let false_calls = (1.0 - summary.rules.confidence) * families as f64;
    let table = match overview {
        Some(_) => " The table of file systems is one family for its marks (*) and the name of a fastest.",
        None => "",
    };
    Some(format!(
        "False calls: verdicts are adjusted within each of {families} families of comparisons, not over all of them. If nothing differed anywhere, about \
         {false_calls:.1} of these {families} would still call something faster or slower.{table} \"Equivalent\" is judged for each comparison by itself."
    ))
}

fn families(group: &GroupSummary) -> usize {
    match &group.reading {
        GroupReading::Refusal(_) | GroupReading::Unreadable { .. } => 0,
        // Each pair of file systems is one family, in all its rows.
        GroupReading::Pairs(pairs) if group.name == FILE_SYSTEM_GROUP => {
            let of = |row: &PairRow| (row.pair.subject.clone(), row.pair.than.clone());
            pairs.rows.iter().map(of).collect::<BTreeSet<_>>().len()
        }
        _ => 1,
    }
}

pub(crate) fn resolution_details(summary: &Summary) -> Vec<String> {
    let line_of = |resolution: &Resolution| {
        let name = summary.arm_name(resolution.baseline);
        let half_width = resolution.half_width_percent.map_or_else(|| "unknown".into(), text::percent);
        format!("{name}: {half_width}, {}", text::ratio(resolution.ratio.value, resolution.ratio.interval))
    };
    let few = summary.resolution.len() <= RESOLUTIONS_MAX;
    if few { Vec::new() } else { summary.resolution.iter().map(line_of).collect() }
}

fn resolution_line(summary: &Summary, resolution: &Resolution) -> String {
    let name = summary.arm_name(resolution.baseline);
    let ratio = text::ratio(resolution.ratio.value, resolution.ratio.interval);
    match resolution.half_width_percent {
        Some(percent) => format!(
            "Resolution: {} ({name} against itself, {ratio}): smaller differences cannot be seen.",
            text::percent(percent)
        ),
        None => format!("Resolution: unknown, too few rounds ({name} against itself, {ratio})."),
    }
}

pub(crate) fn self_check_line(summary: &Summary) -> Option<String> {
    let Some(check) = &summary.self_check else {
        // Records before the self-check have the empty loop alone.
        let null_loop_ns = summary.null_loop_ns?;
        return Some(format!("Self-check: the empty loop takes {} an operation.", text::time(null_loop_ns)));
    };
    let linux = summary.machine.kernel.starts_with("Linux");
    let lengths = check.delays.iter().map(|delay| text::time(delay.injected_ns as f64));
    Some(format!(
        "Self-check: a read of the {} takes {}, the empty loop {}; timing adds {} to {} of {} ({}, {} pairs of blocks); delays of {} {}; histograms account for {:.2} % of the time.",
        if check.cycle_counter { "cycle counter" } else { "monotonic clock" },
        text::time(check.timer_ns),
        text::time(check.null_loop_ns),
        text::time_with_interval(&check.overhead_ns),
        if linux { "a cached fstatat" } else { "a question to an open directory" },
        text::time(check.untimed_ns),
        text::percent(100.0 * check.overhead_ns.value / check.untimed_ns),
        text::count(check.rounds as u64),
        text::list(lengths),
        if check.delays_found { "were found" } else { "were NOT FOUND" },
        100.0 * check.accounted,
    ))
}

fn caches(summary: &Summary) -> String {
    let states = summary.arms.iter().map(|arm| cache_name(summary, arm.planned.cache));
    format!("cache {}", text::list(text::distinct(states)))
}

fn cache_name(summary: &Summary, state: CacheState) -> String {
    // A dropped state is prefixed under a hypervisor, because the host may have kept the data.
    let guest = if state.drops() && summary.machine.hypervisor.is_some() { "guest-" } else { "" };
    format!("{guest}{}", state.name())
}

/// Each cache state of the run other than warm, with its meaning: names of arms contain it.
pub(crate) fn cache_lines(summary: &Summary) -> Vec<(String, String)> {
    let used = |state: &CacheState| summary.arms.iter().any(|arm| arm.planned.cache == *state);
    let line = |state: CacheState| {
        let meaning = match state {
            CacheState::Warm => return None,
            CacheState::Unseen => "files recreated before each block, and not listed or looked up since",
            CacheState::DataCold => "contents of files dropped from the cache before each block",
            CacheState::VfsCold => "names, inodes and contents dropped from the cache before each block",
            CacheState::FsCold => "remounted before each block, so nothing of the file system was cached",
        };
        let name = cache_name(summary, state);
        // A host has nothing of disks in its guest's memory.
        let in_memory = !summary.file_systems.is_empty()
            && summary
                .file_systems
                .iter()
                .all(|of| of.disk.is_some() || matches!(of.place, Place::Memory { .. }));
        let host = match name.starts_with("guest-") && !in_memory {
            true => "; the host of this virtual machine may cache it",
            false => "",
        };
        Some((name.clone(), format!("{name}: {meaning}{host}.")))
    };
    CacheState::ALL.into_iter().filter(used).filter_map(line).collect()
}
