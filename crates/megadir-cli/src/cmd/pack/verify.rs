//! `megadir pack verify`

use std::path::PathBuf;

use megadir::Error;
use megadir_pack::{Verified, VerifyOptions, verify};

use crate::cmd::error_limiter::ErrorLimiter;
use crate::cmd::interrupt::{Interrupt, interruptible};
use crate::cmd::list::source::raise_descriptor_limit;
use crate::cmd::progress::Progress;
use crate::cmd::values;
use crate::exit::{self, CliError, describe, kind};
use crate::ui::message::{counted, quoted};
use crate::ui::sizes;

/// Read a pack again and compare it with its index, and with the tree
///
/// Reads every entry by its place in the index, compares contents with their SHA-256, and checks that the tar files hold nothing else. With SOURCE, also
/// checks that every entry of the tree is in the pack and unchanged since, by inode, size, mtime, ctime, mode and owner.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 all is as packed; 1 problems, one line each, at most ten of each kind and then a count; 2 usage; 3 the pack or SOURCE cannot be opened; 130 interrupted.")]
pub(crate) struct Args {
    /// Directory of the pack, or its index.parquet
    #[arg(value_name = "PACK")]
    pack: PathBuf,
    /// Tree to compare with
    #[arg(value_name = "SOURCE", value_parser = exit::directory_parser())]
    source: Option<PathBuf>,
    /// Number of threads that read SOURCE, 1 to 256 [default: one per processor, up to 8]
    #[arg(short = 'j', long, value_name = "N", value_parser = values::threads, requires = "source")]
    threads: Option<usize>,
    /// Print every problem (default: the first ten of each kind, then a count)
    #[arg(long)]
    all_errors: bool,
    /// Print only problems
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    raise_descriptor_limit();
    interruptible(|interrupt| verified(args, interrupt))
}

/// Reads all shards, and the source too if one is given. Problems do not end the command, but its exit code shows
/// them. The last line is printed only if everything agrees.
fn verified(args: &Args, interrupt: &Interrupt) -> Result<u8, CliError> {
    let threads = args.threads.unwrap_or_else(megadir::policy::processors);
    let options = VerifyOptions { source: args.source.as_deref(), threads };
    let mut complaints = ErrorLimiter::new(args.all_errors);
    let progress = Progress::new("entries verified", args.quiet);
    let mut watch = |problem: Option<&Error>, entries| {
        interrupt.beats();
        progress.counter().set(entries);
        if let Some(problem) = problem {
            complaints.print(&kind(problem), 1, || describe(problem));
        }
        interrupt.flow()
    };
    let verified = verify(&args.pack, &options, &mut watch);
    drop(progress);
    complaints.print_rest();
    let Some(verified) = verified? else {
        return Err(CliError::interrupted("interrupted; not all was verified"));
    };
    let Verified { entries, bytes, problems } = verified;
    if problems > 0 {
        eprintln!("megadir: {} in {}", counted(problems, "problem", "problems"), quoted(&args.pack));
        return Ok(exit::SOME_FAILED);
    }
    if !args.quiet {
        let entries = counted(entries, "entry", "entries");
        let source =
            args.source.as_deref().map_or(String::new(), |source| format!(", and so is {}", quoted(source)));
        eprintln!(
            "megadir: {entries} with {} are as packed in {}{source}",
            sizes::text(bytes),
            quoted(&args.pack)
        );
    }
    Ok(exit::DONE)
}
