//! Measures comparisons, one file system at a time.

use super::super::arms::{DIRECTORY, Part};
use super::super::child::{Bench, Sample, to_null};
use super::super::interrupt::Interrupt;
use super::super::lab::Kind;
use super::super::report::{self, Compared, Row};
use super::super::rounds::{Plan, Results, orders};
use super::super::scratch::Scratch;
use super::contenders::{AGAIN, Contender, OURS, RM, choose};
use super::ground::Ground;
use super::judge::judge;
use super::shapes::{SHAPES, Shape};
use megadir_stats::permutation::SplitMix64;
use std::time::Instant;

/// Returns the requested comparisons: all if all parts are requested.
pub(crate) fn chosen(parts: &[Part]) -> Vec<&'static Shape> {
    let asked = |shape: &&Shape| {
        parts.iter().any(|part| matches!(part, Part::All | Part::Remove) || *part == shape.part)
    };
    SHAPES.iter().filter(asked).collect()
}

/// Measures one comparison on one file system.
pub(crate) fn measure(
    kind: &'static Kind,
    shape: &Shape,
    plan: &Plan<'_>,
    scratch: &Scratch,
    interrupt: &Interrupt,
) -> Result<Compared, String> {
    println!("\n== {}: removing {}", kind.name, shape.name);
    let started = Instant::now();
    let mut ground = Ground::make(kind, scratch.path(), shape, plan.entries, interrupt)?;
    println!("{} created in {:.0} s", shape.about(plan.entries), started.elapsed().as_secs_f64());
    let mut contenders = choose(plan.only, plan.tools);
    // Other programs recurse or use whole paths, which are too long here.
    contenders.retain(|one| !shape.is_chain || [OURS, AGAIN, RM].contains(&one.name));
    let mut results = Results::default();
    let mut random = SplitMix64::new(plan.seed);
    for order in orders(&contenders, plan.rounds, &mut random) {
        for contender in order {
            ground.restore(shape)?;
            results.add(contender.name, remove(&ground, contender, plan)?);
            interrupt.check()?;
        }
    }
    println!("measured in {:.0} s in total", started.elapsed().as_secs_f64());
    let direct = if ground.lab().direct_io { "with" } else { "WITHOUT" };
    let mut text = format!(
        "## {}, removing {}\n\n* {}; before each run the image is copied back, mounted {direct} direct I/O and {}\n",
        kind.name,
        shape.name,
        shape.about(plan.entries),
        if shape.is_cold { "dropped from all caches" } else { "read: names, inodes and contents" },
    );
    text += &report::resolution(&results, OURS, AGAIN).unwrap_or_default();
    let rows: Vec<Row> =
        contenders.iter().map(|one| report::row(one.name, &results, OURS, plan.floor_bytes)).collect();
    text += &format!("\n{}", report::table(&rows));
    Ok(Compared { file_system: kind.name, judged: judge(shape, &results), text })
}

/// Runs a contender once; the tree must be gone, and nothing else.
fn remove(ground: &Ground, contender: &Contender, plan: &Plan<'_>) -> Result<Sample, String> {
    let root = ground.lab().path();
    let bench = Bench { tools: plan.tools, root, entries: plan.entries };
    bench.touch(contender.program)?;
    let mut command = bench.program(contender.program)?;
    command.args(contender.options).arg(DIRECTORY).args(contender.expression);
    // Summaries on standard output are discarded.
    command.stderr(std::process::Stdio::null());
    let sample = to_null(&mut command)?;
    let left = std::fs::symlink_metadata(root.join(DIRECTORY));
    match left {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(sample),
        _ => Err(format!("{} did not remove the whole tree", contender.name)),
    }
}
