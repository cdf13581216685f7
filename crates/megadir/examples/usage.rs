//! The directories of a tree with the most entries: `cargo run --release -p megadir --example usage -- DIRECTORY`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::ops::ControlFlow;

use megadir::usage::{By, Item, Usage, UsageOptions, read};
use megadir::{Dir, TreeEvent, WalkOptions, attribute_policy};

fn main() -> megadir::Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| ".".into());
    let root = Dir::open(path)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let stat_backend = attribute_policy::choose(&root, Item::WANT, 1)?.stat_backend;
    let options = WalkOptions { examine: Some((stat_backend, Item::WANT)), ..WalkOptions::new(threads) };
    let mut usage = Usage::new(UsageOptions { top: 10, depth: None, by: By::Entries, now_s: 0 });
    let mut watch = |event: TreeEvent<'_>| {
        if let TreeEvent::Failed(error) = event {
            eprintln!("{error}");
        }
        ControlFlow::Continue(())
    };
    let _ = read(&mut usage, root, options, &mut watch)?;
    let report = usage.finish();
    println!("{} entries, {} bytes on disk", report.total.amount.entries, report.total.amount.allocated);
    for directory in &report.directories {
        println!("{:>12}  {}", directory.sum.amount.entries, directory.path);
    }
    Ok(())
}
