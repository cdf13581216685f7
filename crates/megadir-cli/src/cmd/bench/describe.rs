//! Text form of a plan for `megadir bench run --dry-run`.

use megadir_bench::dataset::{Sizes, write_content, write_sizes, write_spread};
use megadir_bench::plan::{CacheFact, Estimate, estimate};
use megadir_bench::schedule;
use megadir_record::{Arm, ContentKind, Data, DataSource, Made, MakeDirectories, Plan, SizeLaw, Stop, When};

use megadir_report::text;

use super::lab;
use super::options::Resolved;
use crate::ui::message::counted;
use crate::ui::{escape, sizes};

/// Text of a dry run. Everything comes from the plan, the very one that a run would record, and from its estimate; no
/// number is computed here in another way. Words such as `at most` depend on the rules: with a limit of precision,
/// the rounds may end earlier. Notes are the parts of the study that this plan leaves out.
pub(super) fn describe(resolved: &Resolved) -> String {
    let plan = &resolved.planned.plan;
    let Estimate { files, inodes, space_bytes, blocks, elapsed_ns, .. } = estimate(plan);
    let mut text = format!("study {} (size {}), seed {}\n", plan.study, plan.preset.name(), plan.seed);
    let directory = escape::terminal_text(resolved.directory.as_os_str().as_encoded_bytes());
    text.push_str(&format!("directory: {directory}\n"));
    text.push_str(&lab::described(plan));
    text.push_str(&data_sets(plan));
    text.push_str(&format!(
        "needs: {}, {}, {} of space, {}\n",
        counted(files, "file", "files"),
        counted(inodes, "inode", "inodes"),
        sizes::text(space_bytes),
        time_of(plan, elapsed_ns),
    ));
    let rules = &plan.rules;
    let most = if rules.stop == Stop::Rounds { "" } else { "at most " };
    let least = if rules.warm_up_ns_max == 0 { "" } else { "at least " };
    text.push_str(&format!(
        "rounds: {least}{} to warm up, {most}{} measured; {}, {most}{}\n",
        rules.warm_up_rounds_min,
        rules.rounds,
        counted(plan.arms.len() as u64, "arm", "arms"),
        counted(blocks, "block", "blocks"),
    ));
    if rules.epochs > 1 {
        let epochs = rules.epochs;
        text.push_str(&format!(
            "epochs: {epochs}; each recreates the data and warms up again, and the rounds are split over them\n"
        ));
    }
    text.push_str(&staying(plan));
    text.push_str(&stopping(plan));
    text.push_str(&arms(plan));
    text.push_str(&caches(resolved));
    for note in &resolved.planned.notes {
        text.push_str(&format!("not in the plan: {}\n", note.text));
    }
    text
}

/// Data sets of the first file system only, since a plan gives each file system its own copy of the same
/// ones; equal lines are printed once with their number.
fn data_sets(plan: &Plan) -> String {
    let first = plan.data.first().and_then(|data| data.on);
    let line = |data: &Data| match &data.source {
        DataSource::Existing { .. } => {
            format!("data: the directory itself, {}, read-only\n", counted(data.entries, "entry", "entries"))
        }
        DataSource::Made(Made { names, .. }) if data.entries == 0 => {
            format!("data: directories filled until creating a file fails, {}\n", text::names(*names))
        }
        DataSource::Made(made) => format!("data: {}\n", described(made, data.entries)),
    };
    let lines: Vec<String> = plan.data.iter().filter(|data| data.on == first).map(line).collect();
    let times = |equal: &[String]| match equal.len() {
        1 => equal[0].clone(),
        times => equal[0].replacen("data:", &format!("data, {times} times:"), 1),
    };
    lines.chunk_by(|a, b| a == b).map(times).collect()
}

/// Arms that differ only in their file system share a line, with the labels of those file systems in `on`.
/// A study of ten methods on six file systems would print sixty lines otherwise.
struct ArmLine<'a> {
    arm: &'a Arm,
    name: String,
    on: Vec<&'a str>,
}

fn arms(plan: &Plan) -> String {
    let mut lines: Vec<ArmLine<'_>> = Vec::new();
    for planned in &plan.arms {
        let label = plan.file_system_of(planned.data).map_or("", |of| of.label.as_str());
        let name = planned.bare_name();
        match lines.iter_mut().find(|line| line.name == name && !label.is_empty()) {
            Some(line) => line.on.push(label),
            None => lines.push(ArmLine { arm: planned, name, on: vec![label] }),
        }
    }
    let width = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0);
    // A group made from parts of the study is printed under the name that the study gives it.
    let of_study = |name: &String| {
        let group = plan.groups.iter().find(|group| group.name == *name);
        group.and_then(|group| group.of.clone()).unwrap_or_else(|| name.clone())
    };
    let line = |ArmLine { arm, name, on }: &ArmLine<'_>| {
        let all = plan.file_systems.len() < 2 || on.len() == plan.file_systems.len();
        let on = if all { String::new() } else { format!("  on {}", on.join(", ")) };
        let groups: Vec<String> = arm.groups.iter().map(of_study).collect();
        let line = format!("  {:3}  {name:width$}  {}{on}", arm.id.0, groups.join(", "));
        format!("{}\n", line.trim_end())
    };
    let several = match plan.file_systems.len() {
        0 | 1 => String::new(),
        count => format!("arms, on each of the {count} file systems unless noted otherwise:\n"),
    };
    several + &lines.iter().map(line).collect::<String>()
}

fn caches(resolved: &Resolved) -> String {
    if !resolved.planned.plan.file_systems.is_empty() {
        return lab::caches(&resolved.file_systems);
    }
    let line = |fact: &CacheFact| format!("cache {}: {}\n", fact.name, lab::availability(fact));
    resolved.caches.iter().map(line).collect()
}

/// The engine decides by the fractions in this text; they are words here,
/// because the free inodes and the free space are known only once the run begins.
fn staying(plan: &Plan) -> String {
    let Estimate { kept_inodes, kept_space_bytes, .. } = estimate(plan);
    if kept_inodes == 0 {
        return String::new();
    }
    let rounds = plan.rules.rounds;
    format!(
        "space: the files that arms create stay until the end, up to {} and {} after {}, if that is at most three quarters \
         of the free inodes and half of the free space; otherwise they are removed after each round\n",
        counted(kept_inodes, "inode", "inodes"),
        sizes::text(kept_space_bytes),
        counted(rounds.into(), "round", "rounds"),
    )
}

/// The correction for several checks is named, since a reader who compares the interval with one of an
/// ordinary run finds it wider.
fn stopping(plan: &Plan) -> String {
    let Some(looks) = schedule::looks(&plan.rules) else { return String::new() };
    let width = match plan.rules.stop {
        Stop::Rounds => return String::new(),
        Stop::Ratio { half_width, .. } => format!("each ratio is known to {} %", 100.0 * half_width),
        Stop::Difference { half_width_ns, .. } => format!("each difference is known to {half_width_ns} ns"),
    };
    let rounds: Vec<String> = looks.rounds().iter().map(u32::to_string).collect();
    format!(
        "stops: when {width} ({} comparisons); checked after {} rounds, intervals corrected for {} checks\n",
        plan.contrasts().len(),
        rounds.join(", "),
        looks.count()
    )
}

fn described(made: &Made, entries: u64) -> String {
    let sizes = Sizes { size_bytes: made.size_bytes, law: made.sizes.clone() };
    let files = counted(entries, "file", "files");
    let mut text = match sizes.law {
        SizeLaw::Fixed => format!("{files} of {}", counted(made.size_bytes, "byte", "bytes")),
        _ => format!("{files} of {} bytes on average ({})", made.size_bytes, write_sizes(&sizes)),
    };
    text.push_str(&format!(", {}", text::names(made.names)));
    if made.content != ContentKind::Pseudorandom {
        text.push_str(&format!(", content {}", write_content(made.content)));
    }
    if !made.spread.is_flat() {
        text.push_str(&format!(", spread {}", write_spread(&made.spread)));
        if made.directories == MakeDirectories::Before {
            text.push_str(", directories created first");
        }
    }
    if made.when == When::ByArms {
        text.push_str(", created by the arms");
    }
    if made.aged_files > 0 {
        let aged_by = counted(made.aged_files, "file", "files");
        text.push_str(&format!(", aged by {aged_by} created among them and removed"));
    }
    text
}

/// Seeks depend on where the file system puts the files, and are no part of an estimate.
pub(super) fn time_of(plan: &Plan, elapsed_ns: u64) -> String {
    let is_modelled = plan.file_systems.iter().any(|of| of.disk.as_ref().is_some_and(|disk| disk.is_model));
    about(elapsed_ns) + if is_modelled { " and the seeks of the disk" } else { "" }
}

/// The cost of files was measured on Linux only.
pub(super) fn about(elapsed_ns: u64) -> String {
    let linux = if cfg!(windows) { " (measured on Linux, probably longer on Windows)" } else { "" };
    format!("about {}{linux}", seconds(elapsed_ns))
}

/// Rounded up in both units: an estimate should not promise less than it knows.
fn seconds(ns: u64) -> String {
    match ns.div_ceil(1_000_000_000) {
        s @ 0..100 => format!("{s} s"),
        s => format!("{} min", s.div_ceil(60)),
    }
}
