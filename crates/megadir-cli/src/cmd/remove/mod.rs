//! `megadir remove`: huge directories and trees, removed relative to descriptors.
//!
//! ```text
//! paths or a list -> target (parent's descriptor, name) -> guards -> question -> megadir::remove -> summary
//! ```
//!
//! What is here is about being asked and telling; how entries go is the library's.

mod advice;
mod args;
mod aside;
mod guards;
mod listed;
mod progress;
mod question;
mod refusal;
mod run;
mod source;
mod summary;
mod system;
mod target;

pub(crate) use self::args::Args;
use self::guards::Here;
use self::question::Chosen;
use self::source::Source;
use crate::cmd::interrupt::interruptible;
use crate::exit::{self, CliError};

/// Removes what is named, or tells what would go.
pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    args.check()?;
    let chosen = Chosen::new(args)?;
    let here = Here::find();
    let source = Source::open(args, &here)?;
    // A Ctrl-C up to here ends the program at once: nothing has been touched.
    if !args.dry_run && !args.yes && !source.may_go(args, &here, &chosen)? {
        eprintln!("megadir: nothing was removed");
        return Ok(exit::INTERRUPTED);
    }
    interruptible(|interrupt| run::run(args, source, &here, &chosen, interrupt))
}
