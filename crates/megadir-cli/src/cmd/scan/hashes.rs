//! Hashes of contents in a scan.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::SystemTime;

use megadir::Dir;
use megadir_inventory::changes::{HashCounts, Hashed, Hashing, JournalEnd, ReadOptions};
use megadir_inventory::{Excluded, Sink};

use super::args::Args;
use crate::cmd::error_limiter::ErrorLimiter;
use crate::cmd::interrupt::Interrupt;
use crate::cmd::list::examined::MEMORY_BYTES;
use crate::cmd::progress::Progress;
use crate::exit::{self, CliError};
use crate::ui::message::{counted, with_outcomes};
use crate::ui::sizes;

/// State of a scan with hashes from its beginning to its end. Changes from `started_ns` on make a file suspect, so it is made before the
/// scan. Without `--hash`, rows pass through.
pub(super) struct Hashes<'a> {
    args: &'a Args,
    interrupt: &'a Interrupt,
    started_ns: i64,
    complaints: RefCell<ErrorLimiter>,
    read_bytes: Arc<AtomicU64>,
}

impl<'a> Hashes<'a> {
    pub(super) fn new(args: &'a Args, interrupt: &'a Interrupt) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let started_ns = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
        let complaints = RefCell::new(ErrorLimiter::new(args.all_errors));
        Self { args, interrupt, started_ns, complaints, read_bytes: Arc::default() }
    }

    pub(super) fn before<S: Sink>(&self, sink: S) -> Result<Hashing<'_, S>, CliError> {
        let args = self.args;
        let hashed = args.hashed();
        let roots = args.paths.iter().filter(|_| hashed.is_some()).map(|path| Dir::open(path).ok()).collect();
        let options = ReadOptions {
            threads: args.reading.readers.threads.unwrap_or(1),
            kib_per_second_max: args.read_rate,
            stop: Arc::clone(&self.interrupt.stop),
            read_bytes: Arc::clone(&self.read_bytes),
        };
        let hashing =
            Hashing::new(sink, hashed.unwrap_or(Hashed::Suspects), roots, self.started_ns, &options)?;
        Ok(hashing.reporting(|error| {
            self.complaints.borrow_mut().print(&exit::kind(&error), 1, || exit::describe(&error));
        }))
    }

    /// Takes over the hashes of the inventory that is replaced, and those of a scan to it that was interrupted. Returns a file to leave out.
    pub(super) fn continued<S: Sink>(
        &self,
        hashing: &mut Hashing<'_, S>,
        output: &Path,
        roots: &[Vec<u8>],
    ) -> Result<Option<Excluded>, CliError> {
        let memory_bytes = self.args.reading.memory.unwrap_or(MEMORY_BYTES) / 4;
        let (continued, excluded) = hashing.continue_from(output, roots, memory_bytes)?;
        if continued > 0 && !self.args.quiet {
            let hashes = counted(continued, "hash", "hashes");
            eprintln!("megadir: continues an interrupted scan, which has made {hashes}");
        }
        Ok(excluded)
    }

    /// Hashes the last files, and prints the counts. Files that could not be read make the exit code 1 if all should have a hash.
    pub(super) fn after<S: Sink>(&self, hashing: Hashing<'_, S>) -> Result<(S, u8, JournalEnd), CliError> {
        let progress = Progress::new("bytes of contents read", self.args.quiet);
        let finished = progress.of(&self.read_bytes, || hashing.finish());
        if self.interrupt.is_requested() {
            return Err(super::interrupted(self.args));
        }
        let (sink, counts, journal) = finished?;
        self.complaints.borrow().print_rest();
        let HashCounts { changed, unreadable, .. } = counts;
        let is_all = self.args.hashed() == Some(Hashed::All);
        if self.args.hashed().is_some() && (!self.args.quiet || changed + unreadable > 0) {
            eprintln!("megadir: {}", if is_all { of_all(&counts) } else { of_suspects(&counts) });
        }
        Ok((sink, if is_all && unreadable > 0 { exit::SOME_FAILED } else { exit::DONE }, journal))
    }
}

fn of_suspects(counts: &HashCounts) -> String {
    let lost = match counts.changed + counts.unreadable {
        0 => String::new(),
        lost => format!(", {lost} could not be read or changed meanwhile"),
    };
    format!("{} suspects hashed{lost}", counts.hashed)
}

fn of_all(counts: &HashCounts) -> String {
    let HashCounts { hashed, known, changed, unreadable, read_bytes } = *counts;
    let line = format!("{} hashed, {} read", counted(hashed, "file", "files"), sizes::text(read_bytes));
    with_outcomes(
        line,
        [
            (known, "unchanged since they were hashed"),
            (changed, "changed meanwhile and have no hash"),
            (unreadable, "could not be read"),
        ],
    )
}
