//! How a directory is read: what the policy picks, changed by what was asked for.

use megadir::policy::{self, Choice};
use megadir::{Backend, Dir, WalkOptions};

use super::Args;
use crate::exit::CliError;

/// The most threads used unless more are asked for: beyond, one directory gains nothing.
const THREADS_DEFAULT_MAX: usize = 8;
/// The buffer for one directory of a tree, bytes: most directories are small.
const WALK_BUFFER_BYTES: usize = 32 << 10;
/// Directories that may wait in a walk; each may hold a descriptor.
const WALK_QUEUE_MAX: usize = 256;

/// Returns a thread for each processor that may be used, up to a limit.
pub(in crate::cmd) fn threads_default() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_DEFAULT_MAX)
}

/// Returns backend and options for a directory.
pub(super) fn choose(
    directory: &Dir,
    args: &Args,
    threads: usize,
    needs_types: bool,
) -> Result<Choice, CliError> {
    let mut choice = policy::choose(directory, threads)?;
    if let Some(backend) = args.backend {
        choice = backend_asked_for(choice, backend, args, threads);
    }
    let name = choice.backend.name();
    if let Some(buffer_bytes) = args.buffer {
        if !choice.backend.uses_buffer() {
            return Err(CliError::usage(format!("--buffer: {name}, which fits here, has none to choose")));
        }
        choice.options.buffer_bytes = buffer_bytes;
    }
    if args.raw && !choice.backend.is_raw() {
        let reason = format!("--raw: {name}, which fits here, knows neither record length nor offset");
        return Err(CliError::usage(reason));
    }
    choice.options.resolve_types = needs_types || args.json;
    Ok(choice)
}

fn backend_asked_for(choice: Choice, backend: &'static dyn Backend, args: &Args, threads: usize) -> Choice {
    let mut options = choice.options;
    if backend.uses_threads() {
        options.threads = threads;
        options.shares = threads * policy::row(choice.file_system).shares_per_thread.max(8);
    } else {
        // A number that was typed is passed on: that it is 1 has been checked, and the backend checks again.
        options.threads = args.threads.unwrap_or(1);
        options.shares = 1;
    }
    Choice { backend, options, reason: "asked for with --backend", ..choice }
}

pub(super) fn walk_options(args: &Args, threads: usize) -> WalkOptions {
    raise_descriptor_limit();
    WalkOptions {
        buffer_bytes: args.buffer.unwrap_or(WALK_BUFFER_BYTES),
        threads,
        queue_directories_max: WALK_QUEUE_MAX,
        cross_mounts: args.cross_mounts,
        examine: None,
    }
}

pub(super) fn explain_walk(options: &WalkOptions) -> String {
    let (threads, why) = match options.threads {
        1 => ("one thread".to_owned(), "one was asked for"),
        several => (format!("{several} threads"), "threads gain across directories"),
    };
    format!(
        "walked by {threads}, each directory read with getdents, buffer {} KiB, at most {} directories waiting: {why}",
        options.buffer_bytes >> 10,
        options.queue_directories_max
    )
}

/// Raises the soft limit of open descriptors to the hard one: deep, wide trees need one a level.
fn raise_descriptor_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current != limit.maximum {
            limit.current = limit.maximum;
            // Without it the walk works as far as the limit reaches, and says where it did not.
            let _ = setrlimit(Resource::Nofile, limit);
        }
    }
}
