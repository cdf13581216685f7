//! `megadir remove`: confirms and reports; the library removes.

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
    let here = guards();
    let source = Source::open(args, &here)?;
    // Until here Ctrl-C ends the program at once.
    if !args.dry_run && !args.change.yes && !source.may_go(args, &here, &conditions)? {
        eprintln!("megadir: nothing was removed");
        return Ok(exit::INTERRUPTED);
    }
    interruptible(|interrupt| run::run(args, source, &here, &conditions, interrupt))
}

/// On Windows also the user's profile and the Windows directory.
fn guards() -> Guards {
    let guards = Guards::find();
    #[cfg(windows)]
    let guards = {
        let windows = std::env::var_os("SystemRoot").or_else(|| std::env::var_os("windir"));
        let others = [
            (
                std::env::home_dir(),
                "it is your profile directory (give the paths in it)",
                "your profile directory lies below it (give the paths in it)",
            ),
            (
                windows.map(std::path::PathBuf::from),
                "it is the Windows directory (give the paths in it)",
                "the Windows directory lies below it (give the paths in it)",
            ),
        ];
        others.into_iter().fold(guards, |guards, (folder, itself, above)| match folder {
            Some(folder) => guards.and(&folder, itself, above),
            None => guards,
        })
    };
    guards
}
