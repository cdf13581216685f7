//! `megadir remove`: removes huge directories and trees. This module confirms and reports; the library removes.

mod args;
mod aside;
mod confirm;
mod listed;
mod log;
mod run;
mod source;
mod summary;

use std::path::Path;
use std::sync::Arc;

use megadir::remove::target::Guards;

pub(crate) use self::args::Args;
use self::source::Source;
use crate::cmd::interrupt::interruptible;
use crate::exit::{self, CliError};

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    args.check()?;
    let named = args.paths.iter().map(Path::new);
    let conditions = Arc::new(args.conditions.conditions(named, args.keep_newest.is_some())?);
    let here = Guards::find();
    let source = Source::open(args, &here)?;
    // Until here Ctrl-C ends the program at once: nothing has been changed.
    if !args.dry_run && !args.yes && !source.may_go(args, &here, &conditions)? {
        eprintln!("megadir: nothing was removed");
        return Ok(exit::INTERRUPTED);
    }
    interruptible(|interrupt| run::run(args, source, &here, &conditions, interrupt))
}
