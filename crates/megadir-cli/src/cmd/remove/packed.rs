//! `--packed`: the pack is verified and compared with the directory, then the question, and the removal.
//!
//! ```text
//! pack ── verified ──┐
//!                    ├─► PackedSelection ─► question ─► removed, each entry compared once more
//! tree ── compared ──┘        └─► Stayed: changed, not in the pack, damaged, could not be read
//! ```
//!
//! An entry goes only if the pack has it whole and unchanged. All else stays and is counted with its
//! reason, because a file that is in no pack would be lost.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use megadir::remove;
use megadir::remove::target::{Guards, Target};
use megadir::{Error, TreeEvent, names};
use megadir_pack::{PackedSelection, RemoveEvent, Selected, Stay, packed_directory, select_packed};

use super::args::Args;
use super::confirm::ALTERNATIVES;
use super::run::{Results, options, reported};
use super::source::Source;
use super::stayed::{Reason, Stayed};
use super::summary::{Part, Summary};
use super::unread::Unread;
use crate::cmd::amount::plural;
use crate::cmd::error_limiter::ErrorLimiter;
use crate::cmd::interrupt::interruptible;
use crate::cmd::list::source::raise_descriptor_limit;
use crate::cmd::mass_change::{Failure, UNCONFIRMED_MAX, request_confirmation};
use crate::cmd::progress::Progress;
use crate::exit::{CliError, describe};
use crate::ui::message::quoted;
use crate::ui::sizes;

/// Selection, question, removal. Before the removal Ctrl-C ends the program at once, as nothing was changed. Problems of
/// the pack and directories that cannot be read are failures of the run, though all that is whole and was
/// read is removed.
pub(super) fn run(args: &Args, pack: &Path, here: &Guards) -> Result<u8, CliError> {
    raise_descriptor_limit();
    let path = match args.paths.first() {
        Some(path) => PathBuf::from(path),
        None => packed_directory(pack)?,
    };
    let target = Source::target(args, here, &path)?;
    if !target.is_directory {
        return Err(CliError::usage(format!(
            "--packed: {} is not a directory; name the one that was packed",
            quoted(&target.path)
        )));
    }
    if args.idle {
        megadir::io_priority::make_idle()?;
    }
    let mut found = Found::new(args);
    let Some(selection) = selected(args, pack, &target, &mut found)? else {
        return Err(CliError::interrupted("nothing was removed"));
    };
    if !args.dry_run && !args.change.yes && !may_go(pack, &target, &selection, &found)? {
        return Err(CliError::interrupted("nothing was removed"));
    }
    let mut summary = Summary::new(args);
    summary.attempted = 1;
    found.stayed.problems = selection.selected().problems;
    summary.failed_before((std::mem::take(&mut found.unread.kept), found.unread.count));
    interruptible(|interrupt| {
        reported(args, summary, interrupt, |results, progress| {
            removed(args, selection, &mut found, results, progress);
            Ok(Part::Packed(found.stayed))
        })
    })
}

/// Entries that stay and failures, as they are found.
struct Found {
    quiet: bool,
    stayed: Stayed,
    stays: ErrorLimiter,
    unread: Unread,
}

impl Found {
    fn new(args: &Args) -> Self {
        let all = args.change.all_errors;
        // In JSON, they are members of the object.
        let quiet = args.change.quiet || args.change.json;
        let (stayed, stays) = (Stayed::default(), ErrorLimiter::new(all));
        Self { quiet, stayed, stays, unread: Unread::new(all) }
    }

    fn stays(&mut self, path: &Path, stay: Stay) {
        let reason = match stay {
            Stay::Changed => Reason::Changed,
            Stay::NotPacked => Reason::NotPacked,
            Stay::Damaged => Reason::Damaged,
            Stay::Unread => Reason::Unread,
        };
        self.stayed.add(names::from_os(path.as_os_str()), reason);
        if !self.quiet {
            let sentence = reason.sentence();
            self.stays.print(sentence, 1, || format!("{} {sentence}", quoted(path)));
        }
    }
}

/// Two phases with a progress each: the pack, which is read as a whole, and the tree. Problems of both are
/// failures, printed as they occur; the entries that stay are named in the order of the tree.
fn selected(
    args: &Args,
    pack: &Path,
    target: &Target,
    found: &mut Found,
) -> Result<Option<PackedSelection>, CliError> {
    let directory = target.open()?;
    let threads = args.threads.unwrap_or_else(megadir::policy::processors);
    // The progress of the pack ends with the first event of the tree; two lines of progress would overwrite
    // each other.
    let mut verifying = Some(Progress::new("entries of the pack verified", args.change.quiet));
    let mut reading = None;
    let mut watch = |event: RemoveEvent<'_>| {
        match event {
            RemoveEvent::Verified(entries) => {
                verifying.iter().for_each(|shown| shown.counter().set(entries));
            }
            RemoveEvent::Problem(error) => found.unread.add(Failure::of(error), 1, || describe(error)),
            RemoveEvent::Scan(TreeEvent::Read(read)) => {
                verifying.take();
                let shown = reading.get_or_insert_with(|| Progress::new("entries read", args.change.quiet));
                shown.counter().set(read);
            }
            RemoveEvent::Scan(event) => found.unread.note(&event),
            RemoveEvent::Stays(path, stay) => found.stays(path, stay),
        }
        ControlFlow::Continue(())
    };
    let selection = select_packed(pack, &directory, threads, &mut watch);
    drop((verifying.take(), reading.take()));
    found.unread.complaints.print_rest();
    Ok(selection?)
}

/// Asks if many entries go.
fn may_go(
    pack: &Path,
    target: &Target,
    selection: &PackedSelection,
    found: &Found,
) -> Result<bool, CliError> {
    let Selected { entries, bytes, .. } = selection.selected();
    if entries <= UNCONFIRMED_MAX {
        return Ok(true);
    }
    let stay = found.stayed.words().map_or(Cow::Borrowed(""), |words| format!("; {words}").into());
    let action = format!(
        "remove {} ({} on disk) in {} that {} holds unchanged{stay}; the directory itself stays",
        plural(entries, "entry", "entries"),
        sizes::text(bytes),
        quoted(&target.path),
        quoted(pack)
    );
    request_confirmation(&action, ALTERNATIVES)
}

/// Entries that changed after the selection are found here and stay, too.
fn removed(
    args: &Args,
    selection: PackedSelection,
    found: &mut Found,
    results: &Results,
    progress: &remove::Progress,
) {
    let announce = |path: &Path, kind| results.log.goes(path, kind);
    let on_stay = |path: &Path, why: &str| results.log.stayed(path, why);
    let on_failure = |error: Error| results.failed(&error);
    let options = options(args, &on_failure, &announce, (&on_stay, &results.log));
    let mut watch = |event: RemoveEvent<'_>| {
        if let RemoveEvent::Stays(path, stay) = event {
            found.stays(path, stay);
        }
        ControlFlow::Continue(())
    };
    if let Err(error) = selection.remove(&options, progress, &mut watch) {
        results.failed(&error);
    }
    found.stays.print_rest();
}
