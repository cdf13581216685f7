//! `megadir pack create`

use std::path::PathBuf;
use std::time::Instant;

use megadir::TreeEvent;
use megadir_pack::{PackEvent, PackOptions, Packed, pack};

use crate::cmd::amount::grouped;
use crate::cmd::error_limiter::ErrorLimiter;
use crate::cmd::interrupt::{Interrupt, interruptible};
use crate::cmd::list::source::raise_descriptor_limit;
use crate::cmd::progress::{Progress, TreeProgress};
use crate::cmd::values;
use crate::exit::{self, CliError, describe, kind};
use crate::ui::message::{counted, quoted};
use crate::ui::sizes;

const OTHER_MOUNT: &str = "is on another mount: what is in it is not packed";
const SHARD_BYTES: u64 = 1 << 30;
const SHARD_BYTES_MIN: u64 = 64 << 10;

/// Pack a tree into a new directory
///
/// Files are read in the order of their inodes, which is the order of the disk on ext4, XFS and btrfs. A file that changes while it is read is read
/// again, and after three times named and left out, as is a file that cannot be read; the exit code is then 1. Sockets, named pipes and devices
/// are named and left out. Mounted file systems below are not entered. The tree is not changed. Writes of other programs
/// through memory maps change no times and are not noticed: end such programs first.
///
/// Safe to interrupt or kill at any time: the index is written last, and the same command continues. It keeps finished shards as long as their
/// files are unchanged.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 done; 1 some entries are not in the pack, and their rows in the index have an error; 2 usage, or a refused directory; 3 the tree cannot be opened, or the \
pack cannot be written; 130 interrupted. Errors go to standard error, one line each, at most ten of each kind and then a count.")]
pub(crate) struct Args {
    /// Directory to pack, with everything below it; a symbolic link to one is followed
    #[arg(value_name = "SOURCE", value_parser = exit::directory_parser())]
    source: PathBuf,
    /// Directory of the pack: new, empty, or with an interrupted pack of SOURCE, and not in SOURCE
    #[arg(value_name = "PACK")]
    pack: PathBuf,
    /// Largest size of a tar file, e.g. 256MiB [default: 1GiB]
    ///
    /// A larger file has a tar file of its own.
    #[arg(long, value_name = "SIZE", value_parser = shard_bytes, default_value_t = SHARD_BYTES, hide_default_value = true)]
    shard_size: u64,
    /// Number of threads, 1 to 256 [default: one per processor, up to 8]
    #[arg(short = 'j', long, value_name = "N", value_parser = values::threads)]
    threads: Option<usize>,
    /// Print every error (default: the first ten of each kind, then a count)
    #[arg(long)]
    all_errors: bool,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
}

fn shard_bytes(text: &str) -> Result<u64, String> {
    match values::bytes(text)? {
        bytes if bytes < SHARD_BYTES_MIN => Err("too small (write 64KiB or more)".into()),
        bytes => Ok(bytes),
    }
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    raise_descriptor_limit();
    interruptible(|interrupt| packed(args, interrupt))
}

/// Two phases have a progress each: the scan, whose number of entries is unknown, and packing. The first ends with
/// the first packed entry. `pack` returns `None` after an interrupt; the shards so far stay, and the same command
/// continues with them. Mounts that are not entered are named but do not count as failures.
fn packed(args: &Args, interrupt: &Interrupt) -> Result<u8, CliError> {
    let threads = args.threads.unwrap_or_else(megadir::policy::processors);
    let options = PackOptions { shard_bytes: args.shard_size, threads };
    let mut scanning = Some(TreeProgress::new(args.all_errors, args.quiet));
    let mut packing = None;
    let mut complaints = ErrorLimiter::new(args.all_errors);
    let started = Instant::now();
    let mut watch = |event: PackEvent<'_>| {
        interrupt.beats();
        match event {
            PackEvent::Scan(TreeEvent::OtherMount(path)) => {
                complaints.print(OTHER_MOUNT, 1, || format!("{} {OTHER_MOUNT}", quoted(path)));
            }
            PackEvent::Scan(event) => scanning.iter_mut().for_each(|progress| progress.report(&event)),
            PackEvent::Kept(shards) if !args.quiet => {
                eprintln!(
                    "megadir: {} of an interrupted run kept",
                    counted(u64::from(shards), "tar file", "tar files")
                );
            }
            PackEvent::Kept(_) => {}
            PackEvent::Packed(entries) => {
                if let Some(progress) = scanning.take() {
                    progress.finish();
                }
                let progress = packing.get_or_insert_with(|| Progress::new("entries packed", args.quiet));
                progress.counter().set(entries);
            }
            PackEvent::Failed(error) => complaints.print(&kind(error), 1, || describe(error)),
        }
        interrupt.flow()
    };
    let packed = pack(&args.source, &args.pack, &options, &mut watch);
    if let Some(progress) = scanning.take() {
        progress.finish();
    }
    drop(packing.take());
    complaints.print_rest();
    let Some(packed) = packed? else {
        let path = quoted(&args.pack);
        return Err(CliError::interrupted(format!(
            "interrupted; {path} has no index yet: the same command continues"
        )));
    };
    Ok(conclude(args, &packed, started))
}

fn conclude(args: &Args, packed: &Packed, started: Instant) -> u8 {
    let Packed { entries, shards, bytes, failed, was_finished, .. } = *packed;
    if !args.quiet || failed > 0 {
        let entries = counted(entries, "entry", "entries");
        let files = counted(u64::from(shards), "tar file", "tar files");
        let elapsed = started.elapsed().as_secs_f64();
        let (path, size) = (quoted(&args.pack), sizes::text(bytes));
        let done = match was_finished {
            true => "were packed before".to_owned(),
            false => format!("packed in {elapsed:.2} s"),
        };
        eprintln!("megadir: {entries} {done}; {path}, {files}, {size}");
    }
    if failed == 0 {
        return exit::DONE;
    }
    let verb = if failed == 1 { "is" } else { "are" };
    eprintln!(
        "megadir: incomplete: {} of the tree {verb} not in the pack, or not completely",
        grouped(failed)
    );
    exit::SOME_FAILED
}
