//! Creates the tree, verifies that all contenders see the same, and measures.

use super::super::arms::Part;
use super::super::child::{Bench, to_null};
use super::super::interrupt::Interrupt;
use super::super::lab::{Kind, Lab};
use super::super::report::{self, Compared, Row};
use super::super::rounds::{Plan, Results, orders};
use super::super::scratch::Scratch;
use super::super::tools::Program;
use super::contenders::{
    CHANGES, CHANGES_AGAIN, CONTENDERS, Contender, Group, KEPT, SCAN, SCAN_AGAIN, choose, first,
};
use super::judge::judge;
use super::tree;
use crate::process;
use megadir_stats::permutation::SplitMix64;
use std::process::Command;
use std::time::{Duration, Instant};

/// File systems for scans.
pub(crate) const FILE_SYSTEMS: &[&str] = &["ext4"];

/// Longer than any clock tick: older files are not suspect.
const STEP: Duration = Duration::from_millis(1500);

/// `true` if these parts (empty for all) include inventories.
pub(crate) fn is_asked(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::All | Part::Inventory))
}

pub(crate) fn measure(
    kind: &'static Kind,
    plan: &Plan<'_>,
    scratch: &Scratch,
    interrupt: &Interrupt,
) -> Result<Compared, String> {
    println!("\n== {}: inventories", kind.name);
    let started = Instant::now();
    let directories = tree::directories(plan.entries);
    let mut lab = Lab::make(kind, scratch.path(), plan.entries + directories)?;
    tree::make(lab.path(), plan.entries, interrupt)?;
    lab.cool()?;
    println!("{} files created in {:.0} s", plan.entries, started.elapsed().as_secs_f64());
    let bench = Bench { tools: plan.tools, root: lab.path(), entries: plan.entries };
    let contenders = choose(plan.only, plan.tools);
    let inventory_bytes = prove(&bench, &contenders, plan.entries + directories)?;
    let mut results = Results::default();
    for order in orders(&contenders, plan.rounds, &mut SplitMix64::new(plan.seed)) {
        for contender in order {
            results.add(contender.name, to_null(&mut command(&bench, contender)?)?);
            interrupt.check()?;
        }
    }
    println!("measured in {:.0} s in total", started.elapsed().as_secs_f64());
    let direct = if lab.direct_io { "with" } else { "WITHOUT" };
    let mut text = format!(
        "## {}, inventories\n\n* {} empty files, names of 32 characters, in {directories} directories; image mounted {direct} \
         direct I/O, read before, so warm\n\
         * the inventory is written to the same file system, on stable storage when `{SCAN}` ends; it has {:.1} MiB, {:.1} bytes \
         an entry; all others write to /dev/null\n\
         * all saw each entry; of one changed file `{CHANGES}` and find told, and of nothing else\n",
        kind.name,
        plan.entries,
        inventory_bytes as f64 / f64::from(1 << 20),
        inventory_bytes as f64 / (plan.entries + directories) as f64,
    );
    for (group, once, again) in [(Group::Scan, SCAN, SCAN_AGAIN), (Group::Changes, CHANGES, CHANGES_AGAIN)] {
        text += &report::resolution(&results, once, again).unwrap_or_default();
        let here =
            CONTENDERS.iter().filter(|one| one.group == group && !results.samples(one.name).is_empty());
        let rows: Vec<Row> =
            here.map(|one| report::row(one.name, &results, first(group), plan.floor_bytes)).collect();
        text += &format!("\n{}", report::table(&rows));
    }
    Ok(Compared { file_system: kind.name, judged: judge(&results), text })
}

fn command(bench: &Bench<'_>, contender: &Contender) -> Result<Command, String> {
    let mut command = bench.program(contender.program)?;
    command.args(contender.words);
    // Discard summaries on standard error.
    command.stderr(std::process::Stdio::null());
    Ok(command)
}

/// Runs every contender one time, also as a warm-up; each must see all entries, or the changed one. Returns the
/// size of the inventory, bytes.
fn prove(bench: &Bench<'_>, contenders: &[&'static Contender], entries: u64) -> Result<u64, String> {
    scan(bench, entries)?;
    std::thread::sleep(STEP);
    let changed = tree::file(bench.entries / 2);
    let cannot = |error: std::io::Error| format!("cannot change {}: {error}", changed.display());
    std::fs::write(bench.root.join(&changed), "x").map_err(cannot)?;
    for contender in contenders {
        let seen = process::output(&mut command(bench, contender)?)?;
        let told = match contender.program {
            Program::BareWalk => seen.trim() == entries.to_string(),
            // The root of the tree counts too.
            Program::Bfs => seen.lines().count() as u64 == entries + 1,
            _ if contender.group == Group::Scan => true,
            _ => seen.lines().count() == 1 && seen.contains(&*changed.to_string_lossy()),
        };
        if !told {
            return Err(format!("{} did not see the expected entries", contender.name));
        }
    }
    std::thread::sleep(STEP);
    scan(bench, entries)?;
    let size = std::fs::metadata(bench.root.join(KEPT)).map_err(|error| format!("no {KEPT}: {error}"))?;
    Ok(size.len())
}

/// Creates the inventory to compare with, of all entries and the root.
fn scan(bench: &Bench<'_>, entries: u64) -> Result<(), String> {
    let mut scan = bench.program(Program::Megadir)?;
    let (_, said) = process::outputs(scan.args(["scan", super::super::arms::DIRECTORY, "--output", KEPT]))?;
    match said.contains(&format!("{} entries", entries + 1)) {
        true => Ok(()),
        false => Err(format!("{SCAN} of {entries} entries and their root: {said}")),
    }
}
