//! `megadir pack extract`

use std::path::{Path, PathBuf};

use megadir::Error;
use megadir_pack::{ExtractOptions, Extracted, extract, index_path};

use crate::cmd::conditions::ConditionOptions;
use crate::cmd::error_limiter::ErrorLimiter;
use crate::cmd::interrupt::{Interrupt, interruptible};
use crate::cmd::list::source::raise_descriptor_limit;
use crate::cmd::progress::Progress;
use crate::exit::{self, CliError, describe, kind};
use crate::ui::message::{counted, quoted};
use crate::ui::sizes;

/// Write the files of a pack into a new or empty directory
///
/// Modes, modification times, extended attributes, links and holes are restored, and as root owners. Contents are compared with their SHA-256: a damaged
/// file is named and not written. Nothing is written outside DIR, whatever the pack holds. If it is interrupted, remove DIR and extract again.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 done; 1 no entry meets the conditions, or some could not be extracted, or not with all attributes; 2 usage, or DIR is not empty; 3 the pack cannot be opened, or DIR cannot be created; \
130 interrupted. Errors go to standard error, one line each, at most ten of each kind and then a count.")]
pub(crate) struct Args {
    /// Directory of the pack, or its index.parquet
    #[arg(value_name = "PACK")]
    pack: PathBuf,
    /// Directory to write into, new or empty
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    conditions: ConditionOptions,
    /// Print every error (default: the first ten of each kind, then a count)
    #[arg(long)]
    all_errors: bool,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    raise_descriptor_limit();
    interruptible(|interrupt| extracted(args, interrupt))
}

/// An interrupted extraction cannot be continued, unlike packing, so the message has the way out. Failures are
/// reported as they occur, limited for each kind, and the summary is printed even with `--quiet` if there were any.
fn extracted(args: &Args, interrupt: &Interrupt) -> Result<u8, CliError> {
    let conditions = args.conditions.conditions(std::iter::empty::<&Path>(), false)?;
    let conditions = (!conditions.is_none()).then_some(&conditions);
    let mut complaints = ErrorLimiter::new(args.all_errors);
    let progress = Progress::new("entries extracted", args.quiet);
    let mut watch = |failure: Option<&Error>, entries| {
        interrupt.beats();
        progress.counter().set(entries);
        if let Some(failure) = failure {
            complaints.print(&kind(failure), 1, || describe(failure));
        }
        interrupt.flow()
    };
    let extracted = extract(&args.pack, &args.directory, &ExtractOptions { conditions }, &mut watch);
    drop(progress);
    complaints.print_rest();
    let path = quoted(&args.directory);
    let Some(extracted) = extracted? else {
        return Err(CliError::interrupted(format!(
            "interrupted; {path} is incomplete: remove it and extract again"
        )));
    };
    let Extracted { entries, selected, bytes, failed } = extracted;
    if conditions.is_some() && selected == 0 {
        let (pack, index) = (quoted(&args.pack), quoted(&index_path(&args.pack)));
        eprintln!(
            "megadir: no entry of {pack} meets the conditions: megadir list -r {index} lists its entries"
        );
        return Ok(exit::SOME_FAILED);
    }
    if !args.quiet || failed > 0 {
        eprintln!(
            "megadir: {} with {} extracted into {path}",
            counted(entries, "entry", "entries"),
            sizes::text(bytes)
        );
    }
    match failed {
        0 => Ok(exit::DONE),
        failed => {
            eprintln!("megadir: incomplete: {}", counted(failed, "failure", "failures"));
            Ok(exit::SOME_FAILED)
        }
    }
}
