//! Summary as text or JSON, and the exit code.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use megadir::reshard::{Counts, Survey};

use super::Work;
use super::args::Args;
use super::capacity::Room;
use crate::cmd::failure::{self, Failure, KEPT_MAX};
use crate::cmd::limits::amount::{amount, grouped, interval, plural, seconds};
use crate::exit::{self, CliError};
use crate::ui::escape;
use crate::ui::output::print;

/// Shorter runs are too noisy, seconds.
const RATE_FROM_S: f64 = 0.1;
/// Failures that are recognised in later passes.
const SEEN_MAX: usize = 100_000;

#[derive(Debug)]
pub(super) struct Summary {
    json: bool,
    quiet: bool,
    rate: Option<u32>,
    from: String,
    to: String,
    is_into: bool,
    counts: Counts,
    kept: Vec<Failure>,
    /// Failures reported in this pass.
    reported: u64,
    /// Digests of failures of earlier passes.
    seen: HashSet<u64>,
    hasher: RandomState,
    passes: u64,
    counted: Option<(Survey, Room)>,
    elapsed: Duration,
    interrupted: bool,
}

impl Summary {
    pub(super) fn new(args: &Args, work: &Work) -> Self {
        Self {
            json: args.json,
            quiet: args.quiet,
            rate: args.rate.map(std::num::NonZeroU32::get),
            from: work.from.to_string(),
            to: work.to.to_string(),
            is_into: work.into.is_some(),
            counts: Counts::default(),
            kept: Vec::new(),
            reported: 0,
            seen: HashSet::new(),
            hasher: RandomState::new(),
            passes: 0,
            counted: None,
            elapsed: Duration::ZERO,
            interrupted: false,
        }
    }

    /// Failures of the last pass count, and those of all passes are printed.
    pub(super) fn begin_pass(&mut self) {
        self.passes += 1;
        self.kept.clear();
        self.reported = 0;
    }

    /// `true` if no earlier pass had the same failure.
    pub(super) fn failed(&mut self, failure: Failure) -> bool {
        self.reported += 1;
        let is_new = self.passes == 0 || {
            let digest = self.hasher.hash_one(&failure);
            !self.seen.contains(&digest) && (self.seen.len() >= SEEN_MAX || self.seen.insert(digest))
        };
        if self.kept.len() < KEPT_MAX {
            self.kept.push(failure);
        }
        is_new
    }

    pub(super) fn counted(&mut self, counted: Survey, room: Room, interrupted: bool) {
        self.counts = counted.stay;
        (self.counted, self.interrupted) = (Some((counted, room)), interrupted);
    }

    pub(super) fn finish(&mut self, counts: Counts, elapsed: Duration, interrupted: bool) {
        (self.counts, self.elapsed, self.interrupted) = (counts, elapsed, interrupted);
    }

    pub(super) fn code(&self) -> u8 {
        match (self.interrupted, self.counts.conflicts + self.counts.failures) {
            (true, _) => exit::INTERRUPTED,
            (_, 0) => exit::DONE,
            _ => exit::SOME_FAILED,
        }
    }

    /// JSON and dry runs on standard output, others on standard error.
    pub(super) fn print(&self) -> Result<(), CliError> {
        match self.counted {
            _ if self.json => print(&self.object())?,
            Some((counted, room)) => print(&self.plan(&counted, &room))?,
            None if self.quiet && self.code() == exit::DONE => {}
            None => eprintln!("megadir: {}", self.line()),
        }
        if self.interrupted {
            let more = match self.counted {
                Some(_) => "the count is incomplete",
                None => "run the same command to continue",
            };
            eprintln!("megadir: interrupted; {more}");
        }
        Ok(())
    }

    fn line(&self) -> String {
        let moved = self.counts.moved;
        let elapsed_s = self.elapsed.as_secs_f64();
        let mut line = format!("moved {} from {} to {}", files(moved), self.from, self.to);
        let _ = write!(line, ", in {}", seconds(elapsed_s));
        if moved > 0 && elapsed_s >= RATE_FROM_S {
            let _ = write!(line, " ({}/s)", amount((moved as f64 / elapsed_s) as u64));
        }
        let directories =
            [("made", self.counts.directories_made), ("removed", self.counts.directories_removed)];
        for (what, number) in directories.iter().filter(|(_, number)| *number > 0) {
            let _ = write!(line, "; {what} {}", plural(*number, "directory", "directories"));
        }
        line + &self.stay()
    }

    /// Each kind of entry that stays.
    fn stay(&self) -> String {
        let counts = &self.counts;
        let mut text = String::new();
        for (number, why) in [
            (counts.conflicts, "because their new paths are taken"),
            (counts.failures, "because the system refused"),
            (counts.unplaced, "because the new layout cannot place their names"),
            (counts.foreign, "where neither layout has files"),
            (counts.excluded, "because they match --exclude"),
        ] {
            if number > 0 {
                let stay = if number == 1 { "stays" } else { "stay" };
                let _ = write!(text, "; {} {stay} {why}", files(number));
            }
        }
        if counts.others > 0 {
            let _ = write!(text, "; {} no files", plural(counts.others, "entry is", "entries are"));
        }
        if counts.directories > 0 {
            let are = plural(counts.directories, "directory is", "directories are");
            let _ = write!(text, "; {are} of neither layout");
        }
        text
    }

    fn plan(&self, counted: &Survey, room: &Room) -> String {
        let number = counted.to_move;
        let mut text = format!("would move {} from {} to {}", files(number), self.from, self.to);
        if number > 0 {
            let _ = match counted.target_directories {
                Some(into) => write!(
                    text,
                    ", into {} with {} files each on average",
                    plural(into, "directory", "directories"),
                    grouped(number.div_ceil(into.max(1)))
                ),
                None => write!(text, ", into more than a million directories"),
            };
            if let Some(rate) = self.rate {
                let _ = write!(text, ", in at least {}", seconds(number as f64 / f64::from(rate)));
            }
        }
        let _ = writeln!(text, "{}", self.stay());
        let whose = if self.is_into { "the other directory" } else { "the directory" };
        for (whose, span) in [(whose, room.here), ("a new directory", room.new)] {
            if let Some(span) = span {
                let _ = writeln!(
                    text,
                    "limits: {whose} takes {} entries more before a create fails",
                    interval(span)
                );
            }
        }
        text
    }

    fn object(&self) -> String {
        let counts = &self.counts;
        let mut text = b"{\"v\":1,\"from\":".to_vec();
        escape::json_string(&mut text, &self.from);
        text.extend_from_slice(b",\"to\":");
        escape::json_string(&mut text, &self.to);
        let numbers = [
            ("conflicts", counts.conflicts),
            ("failures", counts.failures),
            ("unplaced", counts.unplaced),
            ("foreign", counts.foreign),
            ("excluded", counts.excluded),
            ("others", counts.others),
            ("foreign_directories", counts.directories),
            ("directories_made", counts.directories_made),
            ("directories_removed", counts.directories_removed),
        ];
        let mut rest = match &self.counted {
            None => format!(",\"dry_run\":false,\"moved\":{}", counts.moved),
            Some((counted, room)) => format!(
                ",\"dry_run\":true,\"to_move\":{},\"in_place\":{},\"target_directories\":{},\"until_full\":{},\"new_directory_until_full\":{}",
                counted.to_move,
                counted.in_place,
                escape::json_or_null(counted.target_directories),
                escape::json_or_null(room.here.map(|span| span.likely)),
                escape::json_or_null(room.new.map(|span| span.likely)),
            ),
        };
        for (key, number) in numbers {
            let _ = write!(rest, ",\"{key}\":{number}");
        }
        let _ = write!(
            rest,
            ",\"interrupted\":{},\"elapsed_s\":{:.6},\"failed\":[",
            self.interrupted,
            self.elapsed.as_secs_f64()
        );
        text.extend_from_slice(rest.as_bytes());
        failure::list(&mut text, &self.kept);
        let left_out = self.reported - self.kept.len() as u64;
        text.extend_from_slice(format!("],\"failed_left_out\":{left_out}}}\n").as_bytes());
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn files(number: u64) -> String {
    plural(number, "file", "files")
}
