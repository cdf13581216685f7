//! Backend and options for a directory: the policy's choice, overridden by command-line options.

use std::sync::Arc;

use megadir::policy::{self, Choice, processors};
use megadir::{
    AttributeChoice, Backend, Conditions, Dir, ReadOptions, StatMask, Strategy, WalkOptions, attribute_policy,
};

use super::Args;
use super::args::Of;
use crate::exit::CliError;

/// Most directories of a tree are small.
pub(in crate::cmd) const WALK_BUFFER_BYTES: usize = 32 << 10;
/// Each may hold a descriptor.
pub(in crate::cmd) const WALK_QUEUE_MAX: usize = 256;

/// As requested, or one per processor, and the most while reading waits for the device.
pub(in crate::cmd) fn walk_threads(root: &Dir, requested: Option<usize>) -> (usize, usize) {
    let file_system = root.file_system();
    match requested {
        Some(threads) => (threads, threads),
        None => (
            attribute_policy::threads(file_system, processors()),
            attribute_policy::threads_max(file_system, processors()),
        ),
    }
}

pub(super) fn choose(directory: &Dir, args: &Args, needs_types: bool) -> Result<Choice, CliError> {
    let choice = match args.threads {
        Some(threads) => policy::choose(directory, threads)?,
        None => policy::choose_freely(directory)?,
    };
    overridden(choice, args, needs_types)
}

fn overridden(mut choice: Choice, args: &Args, needs_types: bool) -> Result<Choice, CliError> {
    if let Some(backend) = args.backend {
        choice = with_backend(choice, backend, args.threads);
    }
    let name = choice.backend.name();
    if let Some(buffer_bytes) = args.buffer {
        if !choice.backend.uses_buffer() {
            let reason = format!("--buffer: {name}, the backend chosen here, has no configurable buffer");
            return Err(CliError::usage(reason));
        }
        choice.options.buffer_bytes = buffer_bytes;
    }
    if args.raw && !choice.backend.is_raw() {
        let reason =
            format!("--raw: {name}, the backend chosen here, returns neither record length nor offset");
        return Err(CliError::usage(reason));
    }
    choice.options.resolve_types = needs_types || args.json;
    choice.options.read_ahead = args.read_ahead.choice();
    Ok(choice)
}

fn with_backend(choice: Choice, backend: &'static dyn Backend, requested: Option<usize>) -> Choice {
    let mut options = choice.options;
    if !backend.uses_threads() {
        // Only 1 passes the option check here; the backend checks again.
        options = options.divided(requested.unwrap_or(1), 1);
    } else if options.threads_max == 1 {
        // The policy would not use this backend here.
        let most = requested.unwrap_or_else(|| policy::threads(choice.file_system, processors()));
        let shares = most * policy::row(choice.file_system).shares_per_thread.max(8);
        options =
            ReadOptions { threads: requested.unwrap_or_else(processors), ..options.divided(most, shares) };
    }
    Choice { backend, options, reason: "chosen with --backend", ..choice }
}

/// Begins with the policy's choice and replaces what the user has chosen. With another backend, strategies that
/// divide a directory may be impossible, and the strategy becomes the nearest one that the backend has. The stat
/// backend is replaced last and probed first, since a chosen one that this system lacks is an error and never
/// replaced in silence.
pub(super) fn choose_examined(
    directory: &Dir,
    args: &Args,
    want: StatMask,
) -> Result<AttributeChoice, CliError> {
    let mut choice = match args.threads {
        Some(threads) => attribute_policy::choose(directory, want, threads)?,
        None => attribute_policy::choose_freely(directory, want)?,
    };
    let threads = choice.listing.options.threads_max;
    if args.backend.is_some() || args.buffer.is_some() {
        choice.listing = overridden(choice.listing, args, false)?;
        choice.stat_backend = attribute_policy::fitting(choice.stat_backend, choice.listing.backend)?;
        choice.strategy = match (choice.listing.backend.name(), choice.strategy) {
            ("split", _) => Strategy::Shares,
            (_, Strategy::Shares) if threads > 1 => Strategy::Chunks { threads },
            (_, Strategy::Shares) => Strategy::AtOnce,
            (_, picked) => picked,
        };
        choice.reason = match args.backend {
            Some(_) => "as fits the backend chosen with --backend",
            None => "as fits the listing with the buffer of --buffer",
        };
    }
    choice.listing.options.read_ahead = args.read_ahead.choice();
    if let Some(stat_backend) = args.stat_backend {
        stat_backend.probe(directory)?;
        choice = match args.backend.is_some() || args.buffer.is_some() {
            true => AttributeChoice { stat_backend, ..choice },
            false => choice.with_stat_backend(stat_backend),
        };
    }
    Ok(choice)
}

pub(super) fn walk_options(
    root: &Dir,
    args: &Args,
    want: Option<StatMask>,
    conditions: &Arc<Conditions>,
) -> Result<WalkOptions, CliError> {
    raise_descriptor_limit();
    let examine = match want {
        Some(want) => Some((attribute_policy::stat_backend(root, want, args.stat_backend)?, want)),
        None => None,
    };
    let (threads, threads_max) = walk_threads(root, args.threads);
    Ok(WalkOptions {
        buffer_bytes: args.buffer.unwrap_or(WALK_BUFFER_BYTES),
        threads,
        threads_max,
        queue_directories_max: WALK_QUEUE_MAX,
        cross_mounts: args.cross_mounts,
        examine,
        read_ahead: args.read_ahead.choice(),
        report_ends: args.summary == Some(Of::Directories),
        looks_again: false,
        conditions: conditions.limits_sight().then(|| Arc::clone(conditions)),
    })
}

pub(super) fn explain_walk(options: &WalkOptions) -> String {
    let threads = match options.threads {
        1 => "one thread".to_owned(),
        several => format!("{several} threads"),
    };
    let (most, why) = match options.threads_max {
        1 => (String::new(), "only one thread is allowed"),
        most if most > options.threads => (
            format!(", by up to {most} while it waits for the device"),
            "threads read different directories, and more of them help where these are not cached",
        ),
        _ => (String::new(), "threads read different directories"),
    };
    let examined = match options.examine {
        Some((stat_backend, _)) => format!(" and examined with {} by the same thread", stat_backend.name()),
        None => String::new(),
    };
    let backend = if cfg!(windows) { "by-handle" } else { "getdents" };
    format!(
        "walked by {threads}{most}, each directory read with {backend}{examined}, buffer {} KiB, at most {} directories waiting: {why}",
        options.buffer_bytes >> 10,
        options.queue_directories_max
    )
}

/// Deep, wide trees need one descriptor a level, `reshard` one a target directory of a group.
pub(in crate::cmd) fn raise_descriptor_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current != limit.maximum {
            limit.current = limit.maximum;
            let _ = setrlimit(Resource::Nofile, limit);
        }
    }
}
