//! `megadir remove`: confirms and reports; the library removes.
//!
//! ```text
//! args ─► check ─┬─► ranked        --engine mpi, which requires --yes
//!                ├─► packed        --packed: paths inside of a pack
//!                └─► Source ─┬─► within     --keep-within: the oldest files until a budget is met
//!                            └─► may_go ─► run ─► Summary ─► text or JSON, exit code
//! ```
//!
//! Nothing is removed before the question is answered, and with Ctrl-C before that the program ends at
//! once.

mod args;
mod aside;
mod budget;
mod confirm;
mod log;
#[cfg(target_os = "linux")]
mod packed;
mod run;
mod source;
mod stayed;
mod summary;
#[cfg(target_os = "linux")]
mod unread;
#[cfg(target_os = "linux")]
mod within;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use megadir::remove::target::Guards;
use megadir_tasks::{Kind, Request};

pub(crate) use self::args::Args;
use self::source::Source;
use self::summary::Summary;
use crate::cmd::engine::Engine;
use crate::cmd::interrupt::interruptible;
use crate::cmd::ranked::{self, Parts, Work};
use crate::exit::CliError;
use crate::ui::new_file::folder_of;

/// As Linux (path_resolution(7)).
const LINKS_MAX: u32 = 40;

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    args.check()?;
    if let Some(Engine::Mpi) = args.engine {
        return ranked(args);
    }
    let named = args.paths.iter().map(Path::new);
    let uses_by = args.keep_newest.is_some() || args.keep_within.is_some();
    let conditions = args.conditions.conditions(named, uses_by)?;
    let here = guards(args);
    #[cfg(target_os = "linux")]
    if let Some(pack) = &args.packed {
        return packed::run(args, pack, &here);
    }
    let source = Source::open(args, &here)?;
    #[cfg(target_os = "linux")]
    if let Some(budget) = args.keep_within {
        let by = args.conditions.time().unwrap_or(megadir::TimeKind::Used);
        return within::run(args, budget, &source, megadir::Conditions { by, ..conditions });
    }
    let conditions = Arc::new(conditions);
    // Until here Ctrl-C ends the program at once.
    if !args.dry_run && !args.change.yes && !source.may_go(&conditions)? {
        return Err(CliError::interrupted("nothing was removed"));
    }
    interruptible(|interrupt| run::run(args, source, &conditions, interrupt))
}

fn ranked(args: &Args) -> Result<u8, CliError> {
    let request = ranked::request(Kind::Remove, args.paths.iter().map(Into::into).collect());
    let request = Request { contents: args.contents, ..request };
    let work = Work { request, parts: Parts::New, idle: args.idle, quiet: args.change.quiet };
    ranked::run(&work, |schedule, elapsed, _| {
        let mut summary = Summary::new(args);
        summary.ranked(schedule.removal(), schedule.messages(), elapsed);
        summary.print()?;
        Ok(summary.code())
    })
}

/// Also the log, and on Windows the user's profile and the Windows directory.
fn guards(args: &Args) -> Guards {
    let mut guards = Guards::find();
    if let Some(log) = args.log.as_deref().and_then(real_path) {
        let reason = "it is the log (name another file with --log)";
        guards = guards.and_file(&log, reason, "the log lies below it (name a file elsewhere with --log)");
    }
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
                windows.map(PathBuf::from),
                "it is the Windows directory (give the paths in it)",
                "the Windows directory lies below it (give the paths in it)",
            ),
        ];
        others.into_iter().fold(guards, |guards, (folder, reason, above)| match folder {
            Some(folder) => guards.and(&folder, reason, above),
            None => guards,
        })
    };
    guards
}

/// Path of the file that is opened, which need not exist yet; `None` if its directory does not exist.
fn real_path(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(to) = std::fs::read_link(&path) else { break };
        path = path.parent()?.join(to);
    }
    Some(folder_of(&path).canonicalize().ok()?.join(path.file_name()?))
}
