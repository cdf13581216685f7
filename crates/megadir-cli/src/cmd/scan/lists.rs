//! `megadir scan --lists`: lists of paths for programs that copy in parallel.

use std::path::{Path, PathBuf};
use std::time::Instant;

use megadir_bench::control::{WRITING_BACK, marked};
use megadir_inventory::Lists;

use super::args::{Args, spill_directory};
use super::{Asked, Found, concluded, scanned};
use crate::cmd::interrupt::Interrupt;
use crate::cmd::list::examined::MEMORY_BYTES;
use crate::cmd::values::ListLimits;
use crate::exit::CliError;
use crate::ui::message::{counted, quoted};
use crate::ui::new_file::folder_of;

pub(super) fn check(args: &Args, directory: &Path) -> Result<(), CliError> {
    let [tree] = &args.paths[..] else {
        return Err(CliError::usage("--lists: paths are relative to the tree, so name a single PATH"));
    };
    let real = |path: &Path| -> PathBuf { std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()) };
    match real(folder_of(directory)).starts_with(real(tree)) {
        true => Err(CliError::usage(format!(
            "--lists {}: it is below {}, whose entries it would list: name a directory outside",
            quoted(directory),
            quoted(tree)
        ))),
        false => Ok(()),
    }
}

pub(super) fn write(
    args: &Args,
    (directory, limits): (&Path, ListLimits),
    conditions: Asked,
    interrupt: &Interrupt,
) -> Result<u8, CliError> {
    let memory_bytes = args.reading.memory.unwrap_or(MEMORY_BYTES) / 2;
    let spill = spill_directory(Some(directory));
    let mut options = args.reading.options(&args.paths, Some(directory), Vec::new(), conditions)?;
    options.memory_bytes = memory_bytes;
    let mut lists = Lists::create(directory, limits, memory_bytes, spill)?;
    let started = Instant::now();
    let metadata = scanned(args, &options, interrupt, &mut lists)?;
    let done = marked(&interrupt.beat, WRITING_BACK, || lists.finish())?;
    let written = format!("{} in {}", counted(done.lists, "list", "lists"), quoted(directory));
    Ok(concluded(args, &Found::of(&metadata), started.elapsed(), Some(written)))
}
