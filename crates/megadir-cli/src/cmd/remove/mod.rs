//! `megadir remove`: removes huge directories and trees. This module confirms and reports; the library removes.

mod args;
mod aside;
mod confirm;
mod guards;
mod listed;
mod log;
mod refusal;
mod run;
mod source;
mod summary;
mod system;
mod target;

use std::path::Path;
use std::sync::Arc;

pub(crate) use self::args::Args;
use self::guards::Guards;
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
    if !args.dry_run && !args.change.yes && !source.may_go(args, &here, &conditions)? {
        eprintln!("megadir: nothing was removed");
        return Ok(exit::INTERRUPTED);
    }
    interruptible(|interrupt| run::run(args, source, &here, &conditions, interrupt))
}
