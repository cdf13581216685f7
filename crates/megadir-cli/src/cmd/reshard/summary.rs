//! Summary as text or JSON, and the exit code.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use megadir::reshard::Counts;

use super::Work;
use super::args::Args;
use super::expected::Expected;
use crate::cmd::limits::amount::{amount, plural, seconds};
use crate::cmd::mass_change::{Failure, KEPT_MAX, list_failures};
use crate::exit::{self, CliError};
use crate::ui::escape;
use crate::ui::output::print;

const RATE_FROM_S: f64 = 0.1;
const SEEN_MAX: usize = 100_000;

#[derive(Debug)]
pub(super) struct Summary {
    json: bool,
    quiet: bool,
    from: String,
    to: String,
    counts: Counts,
    kept: Vec<Failure>,
    reported: u64,
    seen: HashSet<u64>,
    hasher: RandomState,
    passes: u64,
    expected: Option<Expected>,
    elapsed: Duration,
    interrupted: bool,
}

impl Summary {
    pub(super) fn new(args: &Args, work: &Work) -> Self {
        Self {
            json: args.change.json,
            quiet: args.change.quiet,
            from: work.from.to_string(),
            to: work.to.to_string(),
            counts: Counts::default(),
            kept: Vec::new(),
            reported: 0,
            seen: HashSet::new(),
            hasher: RandomState::new(),
            passes: 0,
            expected: None,
            elapsed: Duration::ZERO,
            interrupted: false,
        }
    }

    /// Failures of the last pass count; the failures of all passes are printed.
    pub(super) fn begin_pass(&mut self) {
        self.passes += 1;
        self.kept.clear();
        self.reported = 0;
    }

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

    pub(super) fn expect(&mut self, expected: Expected, interrupted: bool) {
        self.counts = expected.survey.stay;
        (self.expected, self.interrupted) = (Some(expected), interrupted);
    }

    pub(super) fn finish(&mut self, counts: Counts, elapsed: Duration, interrupted: bool) {
        (self.counts, self.elapsed, self.interrupted) = (counts, elapsed, interrupted);
    }

    /// Something was changed or has failed.
    pub(super) fn has_begun(&self) -> bool {
        let Counts { moved, conflicts, failures, directories_made, directories_removed, .. } = self.counts;
        self.reported + moved + conflicts + failures + directories_made + directories_removed > 0
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
        match &self.expected {
            _ if self.json => print(&self.object())?,
            Some(expected) => {
                let moved = files(expected.survey.to_move);
                let headline = format!("would move {moved} from {} to {}", self.from, self.to);
                print(&expected.text(&headline, &self.stay()))?;
            }
            None if self.quiet && self.code() == exit::DONE => {}
            None => eprintln!("megadir: {}", self.line()),
        }
        if self.interrupted {
            let more = match self.expected {
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
        for stay in self.stay() {
            let _ = write!(line, "; {stay}");
        }
        line
    }

    fn stay(&self) -> Vec<String> {
        let counts = &self.counts;
        let mut rows = Vec::new();
        for (number, why) in [
            (counts.conflicts, "because their new paths are taken"),
            (counts.failures, "because the system refused"),
            (counts.unplaced, "because the new layout cannot place their names"),
            (counts.foreign, "where neither layout has files"),
            (counts.excluded, "because of --exclude"),
        ] {
            if number > 0 {
                let stay = if number == 1 { "stays" } else { "stay" };
                rows.push(format!("{} {stay} {why}", files(number)));
            }
        }
        if counts.others > 0 {
            rows.push(format!("{} no files", plural(counts.others, "entry is", "entries are")));
        }
        if counts.directories > 0 {
            let are = plural(counts.directories, "directory is", "directories are");
            rows.push(format!("{are} of neither layout"));
        }
        rows
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
        let mut rest = match &self.expected {
            None => format!(",\"dry_run\":false,\"moved\":{}", counts.moved),
            Some(Expected { survey, room, .. }) => format!(
                ",\"dry_run\":true,\"to_move\":{},\"in_place\":{},\"target_directories\":{},\"until_full\":{},\"new_directory_until_full\":{}",
                survey.to_move,
                survey.in_place,
                escape::json_or_null(survey.target_directories),
                escape::json_or_null(room.here.map(|span| span.likely)),
                escape::json_or_null(room.new.map(|span| span.likely)),
            ),
        };
        if let Some(expected) = &self.expected {
            let expected_s = expected.elapsed_s().map(|elapsed_s| format!("{elapsed_s:.3}"));
            let _ = write!(rest, ",\"expected_s\":{}", escape::json_or_null(expected_s));
        }
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
        list_failures(&mut text, &self.kept);
        let left_out = self.reported - self.kept.len() as u64;
        text.extend_from_slice(format!("],\"failed_left_out\":{left_out}}}\n").as_bytes());
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn files(number: u64) -> String {
    plural(number, "file", "files")
}
