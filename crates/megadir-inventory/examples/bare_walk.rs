//! Lower bound for scanning a tree: its walk, with the attributes that a scan asks for. `bare_walk DIRECTORY
//! [THREADS]` prints the number of entries. docs/speed.md has the command that compares them.

#![expect(clippy::print_stdout, reason = "an example talks to the terminal")]

use megadir::{Dir, Walk, WalkItem, WalkOptions, attribute_policy};
use megadir_inventory::Facts;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args_os().skip(1);
    let path = words.next().ok_or("usage: bare_walk DIRECTORY [THREADS]")?;
    let threads = match words.next() {
        Some(word) => word.to_string_lossy().parse()?,
        None => std::thread::available_parallelism()?.get().min(8),
    };
    let directory = Dir::open(Path::new(&path))?;
    let stat_backend = attribute_policy::choose(&directory, Facts::WANT, 1)?.stat_backend;
    let options = WalkOptions { examine: Some((stat_backend, Facts::WANT)), ..WalkOptions::new(threads) };
    let mut walk = Walk::new(directory, &options)?;
    let mut entries = 0;
    while let Some(item) = walk.next_item() {
        match item {
            WalkItem::Batch { attributes, .. } => entries += attributes.len(),
            WalkItem::Error(error) => return Err(error.into()),
            WalkItem::End { .. } | WalkItem::OtherMount(_) => {}
        }
    }
    println!("{entries}");
    Ok(())
}
