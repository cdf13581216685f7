//! Prepares, measures one file system after the other, and reports.

use super::arms::{self, Arm, Part, Proof, Section, Sink};
use super::child::{Bench, Floor};
use super::fill::{self, Content};
use super::interrupt::Interrupt;
use super::lab::{self, Kind, Lab};
use super::remove;
use super::report::{self, Compared, Measured};
use super::rounds::{self, Plan, Results};
use super::scratch::Scratch;
use super::targets::{self, Judged};
use super::tools::{Choices, Program, Tools};
use super::{inventory, machine, namespace, verify};
use crate::process;
use crate::workspace::Workspace;
use megadir_stats::permutation::SplitMix64;
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Parts to measure
    #[arg(value_enum, default_value = "all")]
    parts: Vec<Part>,
    /// Number of files in the directory, e.g. 100k
    #[arg(long, value_name = "N", default_value = "1M", value_parser = count)]
    entries: u64,
    /// File systems
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "ext4,xfs,btrfs", value_parser = lab::kind)]
    fs: Vec<&'static Kind>,
    /// Warm runs of each contender
    #[arg(long, value_name = "N", default_value = "21")]
    rounds: usize,
    /// Cold runs of each contender
    #[arg(long, value_name = "N", default_value = "15")]
    cold_rounds: usize,
    /// Removals by each contender
    #[arg(long, value_name = "N", default_value = "7")]
    remove_rounds: usize,
    /// Measure only contenders with this in their names, and their references (repeatable)
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Scans or comparisons by each contender
    #[arg(long, value_name = "N", default_value = "15")]
    scan_rounds: usize,
    /// Seed of the orders
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Also write the report to this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Fail if a target is missed
    #[arg(long)]
    check: bool,
    /// Folder for images [default: below the target folder]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    /// Measure this `megadir` instead of building one
    #[arg(long, value_name = "PATH")]
    megadir: Option<PathBuf>,
    /// Also measure this bfs
    #[arg(long, value_name = "PATH")]
    bfs: Option<PathBuf>,
}

/// Measures; the error lists failed runs, or with `--check` the number of missed targets.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    namespace::enter()?;
    let workspace = Workspace::find()?;
    let shapes = remove::chosen(&args.parts);
    let choices = Choices {
        megadir: args.megadir.as_deref(),
        bfs: args.bfs.as_deref(),
        lists: arms::any_asked(&args.parts),
        removes: !shapes.is_empty(),
        scans: inventory::is_asked(&args.parts),
    };
    let tools = Tools::prepare(&workspace, &choices)?;
    let chosen = arms::choose(&args.parts, &args.only, &tools);
    if chosen.is_empty() && shapes.is_empty() && !choices.scans {
        return Err("these options leave no contender".to_owned());
    }
    let interrupt = Interrupt::register()?;
    let base = args.work_dir.clone().unwrap_or_else(|| workspace.target.join("speed"));
    let scratch = Scratch::make(&base)?;
    let floor_bytes = Floor::bytes()?;
    let load = machine::load();
    let (mut measured, mut failed) = (Vec::new(), Vec::new());
    let listed_on = if chosen.is_empty() { &[] } else { &args.fs[..] };
    for &kind in listed_on {
        let one = measure(kind, args, &tools, &chosen, &scratch, &interrupt);
        // A program that was killed by the same signal is not a failure.
        interrupt.check()?;
        match one {
            Ok(one) => {
                println!("\n{}", report::file_system(&one, floor_bytes));
                measured.push(one);
            }
            Err(why) => failed.push(format!("{}: {why}", kind.name)),
        }
    }
    let setup = Setup { args, tools: &tools, scratch: &scratch, interrupt: &interrupt, floor_bytes };
    let mut compared = removing(&shapes, &setup, &mut failed)?;
    if choices.scans {
        compared.extend(scanning(&setup, &mut failed)?);
    }
    let mut head = head(args, &workspace, &tools, floor_bytes, &load);
    head.extend(failed.iter().map(|line| format!("* FAILED {line}\n")));
    let targets = report::targets(&judged(&measured, &compared), args.entries);
    println!("{head}\n{targets}");
    if let Some(file) = &args.markdown {
        let middle = measured.iter().map(|one| report::file_system(one, floor_bytes));
        let middle = middle.chain(compared.iter().map(|one| one.text.clone()));
        let parts: Vec<String> = std::iter::once(head).chain(middle).chain([targets]).collect();
        std::fs::write(file, parts.join("\n"))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    let missed = judged(&measured, &compared).iter().filter(|(_, judged)| !judged.met).count();
    if args.check && missed > 0 {
        failed.push(format!("{missed} targets missed"));
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// Shared setup of all comparisons.
struct Setup<'a> {
    args: &'a Args,
    tools: &'a Tools,
    scratch: &'a Scratch,
    interrupt: &'a Interrupt,
    floor_bytes: u64,
}

/// Measures removal; failures are added to `failed`.
fn removing(
    shapes: &[&'static remove::Shape],
    setup: &Setup<'_>,
    failed: &mut Vec<String>,
) -> Result<Vec<Compared>, String> {
    let args = setup.args;
    let plan = setup.plan(args.remove_rounds);
    let mut removed = Vec::new();
    for (shape, kind) in shapes.iter().flat_map(|shape| args.fs.iter().map(move |kind| (shape, kind))) {
        if shape.file_systems.contains(&kind.name) {
            let one = remove::measure(kind, shape, &plan, setup.scratch, setup.interrupt);
            setup.take(one, &format!("{}, removing {}", kind.name, shape.name), &mut removed, failed)?;
        }
    }
    Ok(removed)
}

/// Measures inventories; failures are added to `failed`.
fn scanning(setup: &Setup<'_>, failed: &mut Vec<String>) -> Result<Vec<Compared>, String> {
    let args = setup.args;
    let plan = setup.plan(args.scan_rounds);
    let mut scanned = Vec::new();
    for &kind in args.fs.iter().filter(|kind| inventory::FILE_SYSTEMS.contains(&kind.name)) {
        let one = inventory::measure(kind, &plan, setup.scratch, setup.interrupt);
        setup.take(one, &format!("{}, inventories", kind.name), &mut scanned, failed)?;
    }
    Ok(scanned)
}

impl Setup<'_> {
    /// Returns the parameters for this number of runs.
    fn plan(&self, rounds: usize) -> Plan<'_> {
        let Args { only, entries, seed, .. } = self.args;
        let (entries, seed) = (*entries, *seed);
        Plan { tools: self.tools, only, entries, rounds, seed, floor_bytes: self.floor_bytes }
    }

    /// Prints the result of a comparison, or notes its failure.
    fn take(
        &self,
        one: Result<Compared, String>,
        what: &str,
        compared: &mut Vec<Compared>,
        failed: &mut Vec<String>,
    ) -> Result<(), String> {
        // A program that was killed by the same signal is not a failure.
        self.interrupt.check()?;
        match one {
            Ok(one) => {
                println!("\n{}", one.text);
                compared.push(one);
            }
            Err(why) => failed.push(format!("{what}: {why}")),
        }
        Ok(())
    }
}

/// Returns all targets with their file systems.
fn judged<'a>(measured: &'a [Measured], compared: &'a [Compared]) -> Vec<(&'a str, &'a Judged)> {
    let listed = measured.iter().flat_map(|one| one.judged.iter().map(|judged| (one.file_system, judged)));
    let others = compared.iter().flat_map(|one| one.judged.iter().map(|judged| (one.file_system, judged)));
    listed.chain(others).collect()
}

/// Creates one file system, measures on it and removes it.
fn measure(
    kind: &'static Kind,
    args: &Args,
    tools: &Tools,
    chosen: &[&'static Arm],
    scratch: &Scratch,
    interrupt: &Interrupt,
) -> Result<Measured, String> {
    println!("\n== {}", kind.name);
    let chosen: Vec<&'static Arm> = chosen.iter().copied().filter(|arm| arm.runs_on(kind.name)).collect();
    let started = Instant::now();
    let mut lab = Lab::make(kind, scratch.path(), args.entries)?;
    let root = lab.path().to_owned();
    let content = fill::fill(&root.join(arms::DIRECTORY), args.entries, interrupt)?;
    // From here on the caches hold nothing from the creation.
    lab.cool()?;
    println!("{} files created in {:.0} s", args.entries, started.elapsed().as_secs_f64());
    let bench = Bench { tools, root: &root, entries: args.entries };
    let mut notes = vec![made(&lab)];
    notes.extend(prove(&bench, &chosen, &content, interrupt)?);
    let mut random = SplitMix64::new(args.seed);
    let mut results = Results::default();
    let (cold, warm): (Vec<&Arm>, Vec<&Arm>) = chosen.iter().copied().partition(|arm| arm.section.is_cold());
    rounds::warm(&bench, &warm, args.rounds, &mut random, interrupt, &mut results)?;
    if !cold.is_empty() {
        rounds::cold(&bench, &mut lab, &cold, args.cold_rounds, &mut random, interrupt, &mut results)?;
    }
    println!("measured in {:.0} s in total", started.elapsed().as_secs_f64());
    let judged = targets::judge(kind.name, &results, args.entries);
    Ok(Measured { file_system: kind.name, notes, results, judged })
}

/// Runs every arm one time, also as a warm-up, and checks its output; returns remarks.
fn prove(
    bench: &Bench<'_>,
    chosen: &[&'static Arm],
    content: &Content,
    interrupt: &Interrupt,
) -> Result<Vec<String>, String> {
    let examined = match chosen.iter().any(|arm| arm.proof == Proof::SizeTimeName) {
        true => verify::examined(&bench.root.join(arms::DIRECTORY))?,
        false => Content::default(),
    };
    // Arms into wc are verified by their twins with other sinks, except for attributes.
    for arm in chosen.iter().filter(|arm| arm.sink != Sink::Wc || arm.proof == Proof::SizeTimeName) {
        let expected = if arm.proof == Proof::SizeTimeName { &examined } else { content };
        verify::content(bench, arm, expected)?;
        interrupt.check()?;
    }
    let mut notes = vec![format!("each contender printed the {} names (verified before)", content.entries)];
    let sorted: Vec<&Arm> = chosen.iter().copied().filter(|arm| arm.section == Section::Sort).collect();
    if let &[ours, theirs] = sorted.as_slice() {
        if !verify::same(bench, [ours, theirs])? {
            return Err(format!("{} and {} have different output", ours.name, theirs.name));
        }
        notes.push(format!("`{}` and `{}` have identical output", ours.name, theirs.name));
    }
    if examined.entries > 0 {
        notes.push("sizes and times match the standard library to the nanosecond".to_owned());
    }
    let explained =
        [&["list"][..], &["list", "--backend", "split", "-j2"][..], &["list", "--larger-than=0"][..]];
    for options in explained {
        notes.push(format!("`megadir {}`: {}", options.join(" "), explain(bench, options)?));
    }
    Ok(notes)
}

/// Returns the output of `--explain`: the way in which the directory is read.
fn explain(bench: &Bench<'_>, options: &[&str]) -> Result<String, String> {
    let tool = bench.tools.get(Program::Megadir).ok_or("no megadir")?;
    let mut command = std::process::Command::new(&tool.path);
    command.args(options).args(["--explain", "--count", arms::DIRECTORY]).current_dir(bench.root);
    let (_, said) = process::outputs(&mut command)?;
    let line = said.lines().next().unwrap_or_default();
    Ok(line.trim_start_matches("megadir: ").to_owned())
}

/// Describes how the file system was created.
fn made(lab: &Lab) -> String {
    let direct = if lab.direct_io { "with" } else { "WITHOUT" };
    format!(
        "{} with default mkfs and mount options, on a sparse image through a loop device {direct} direct I/O",
        lab.kind.name
    )
}

/// Writes the part that holds for all file systems.
fn head(args: &Args, workspace: &Workspace, tools: &Tools, floor_bytes: u64, load_before: &str) -> String {
    let mut lines = machine::describe(workspace);
    if args.megadir.is_some() {
        lines.push("The measured `megadir` was built elsewhere, possibly from another commit".to_owned());
    }
    lines.push(format!("Load average: {load_before} before, {} after", machine::load()));
    lines.push(format!("Versions: {}", tools.versions().join("; ")));
    if !tools.missing.is_empty() {
        lines.push(format!("Missing: {}", tools.missing.join("; ").replace('\n', " ")));
    }
    lines.push(format!(
        "Listing: one directory of {} empty files, names of {} characters; each run a fresh process, in random order in each round \
         (seed {}), LC_ALL=C for all; median of the rounds, ratios paired by round (Hodges-Lehmann, Wilcoxon's interval)",
        args.entries, fill::NAME_BYTES, args.seed
    ));
    lines.push(format!(
        "Peak RSS is the largest of all rounds; a process that does nothing has {:.1} MiB",
        floor_bytes as f64 / f64::from(1 << 20)
    ));
    let lines: Vec<String> = lines.iter().map(|line| format!("* {line}\n")).collect();
    format!("# Speed and memory of `megadir`\n\n{}", lines.concat())
}

/// Parses a number such as `100k` or `1M`.
fn count(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>().ok().filter(|&number| number > 0);
    let number = number.and_then(|number| number.checked_mul(factor));
    number.ok_or_else(|| "expected a number of files, such as 100k or 1M".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_suffixes() {
        assert_eq!(count("1M"), Ok(1_000_000));
        assert_eq!(count("100k"), Ok(100_000));
        assert_eq!(count("7"), Ok(7));
        for wrong in ["", "k", "0", "-1", "1G", "99999999999999999M"] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
    }
}
