//! Summary as text or JSON, and the exit code.
//!
//! Every file found ends in exactly one count, so that the counts explain a tree that is not empty
//! afterwards:
//!
//! ```text
//! file ─┬─► moved
//!       ├─► in place (dry run only)
//!       └─► stays: conflict, failure, unplaced, foreign, excluded
//! entry other than a file: others; directory of neither layout: directories
//! ```

use std::collections::HashSet;
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use megadir::reshard::Counts;

use super::Work;
use super::args::Args;
use super::expected::Expected;
use crate::cmd::amount::plural;
use crate::cmd::mass_change::{Failure, KEPT_MAX, in_time, list_failures};
use crate::exit::{self, CliError};
use crate::ui::object::Object;
use crate::ui::output::print;

/// Hashes kept; after that, failures may be printed again.
const SEEN_MAX: usize = 100_000;

/// `counts` are of the last complete pass, with moves of all. `seen` has hashes of the failures that were
/// printed, up to `SEEN_MAX`, so that a file which stays in every pass is reported once; `hasher` makes these hashes,
/// with keys of this process. `reported` counts the failures of the present pass.
#[derive(Debug, Default)]
pub(super) struct Summary {
    json: bool,
    quiet: bool,
    from: String,
    /// Found by a sample, which may be too small after most files were moved.
    from_is_found: bool,
    to: String,
    counts: Counts,
    kept: Vec<Failure>,
    reported: u64,
    seen: HashSet<u64>,
    hasher: RandomState,
    passes: u64,
    expected: Option<Expected>,
    /// Sampled files, if all are where the new layout has them.
    finished: Option<u64>,
    elapsed: Duration,
    interrupted: bool,
}

impl Summary {
    pub(super) fn new(args: &Args, work: &Work) -> Self {
        Self {
            json: args.change.json,
            quiet: args.change.quiet,
            from: work.from.to_string(),
            from_is_found: args.from.is_none(),
            to: work.to.to_string(),
            ..Self::default()
        }
    }

    /// Failures of the last pass count; the failures of all passes are printed.
    pub(super) fn begin_pass(&mut self) {
        self.passes += 1;
        self.kept.clear();
        self.reported = 0;
    }

    /// `true` if the failure is new and is to be printed. Without passes, each is.
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

    /// For a dry run: files that would stay are counts of the survey.
    pub(super) fn expect(&mut self, expected: Expected, interrupted: bool) {
        self.counts = expected.survey.stay;
        (self.expected, self.interrupted) = (Some(expected), interrupted);
    }

    pub(super) fn finish(&mut self, counts: Counts, elapsed: Duration, interrupted: bool) {
        (self.counts, self.elapsed, self.interrupted) = (counts, elapsed, interrupted);
    }

    /// Calls `look` if nothing was to be moved, and that will be printed.
    pub(super) fn look_if_finished(&mut self, look: impl FnOnce() -> Option<u64>) {
        let Counts { moved, conflicts, failures, unplaced, foreign, excluded, .. } = self.counts;
        let to_move = self.expected.as_ref().map_or(0, |expected| expected.survey.to_move);
        let is_printed = !self.quiet || self.expected.is_some();
        if is_printed
            && !self.interrupted
            && moved + conflicts + failures + unplaced + foreign + excluded + to_move == 0
        {
            self.finished = look();
        }
    }

    /// Sentence for a tree without files to move.
    fn nothing_to_move(&self) -> Option<String> {
        let sampled = plural(self.finished?, "sampled file", "sampled files");
        Some(format!("nothing to move: each of {sampled} is where {} puts it", self.to))
    }

    /// `true` if anything was changed or reported: an error after that is added to the summary, an earlier
    /// one replaces it.
    pub(super) fn has_begun(&self) -> bool {
        let Counts { moved, conflicts, failures, directories_made, directories_removed, .. } = self.counts;
        self.reported + moved + conflicts + failures + directories_made + directories_removed > 0
    }

    /// Files without a place, foreign and excluded ones are no failures: the run did all that was asked of
    /// it.
    pub(super) fn code(&self) -> u8 {
        match (self.interrupted, self.counts.conflicts + self.counts.failures) {
            (true, _) => exit::INTERRUPTED,
            (_, 0) => exit::DONE,
            _ => exit::SOME_FAILED,
        }
    }

    /// The result of a dry run goes to standard output, other summaries to standard error. After an interrupt the
    /// message has the line that continues: a layout that was found by a sample must then be given, because a new
    /// sample may be too small once most files were moved.
    pub(super) fn print(&self) -> Result<(), CliError> {
        match &self.expected {
            _ if self.json => {
                print(&self.object())?;
            }
            Some(expected) => {
                let moved = files(expected.survey.to_move);
                let headline = self
                    .nothing_to_move()
                    .unwrap_or_else(|| format!("would move {moved} from {} to {}", self.from, self.to));
                print(&expected.text(&headline, &self.stay()))?;
            }
            None if self.quiet && self.code() == exit::DONE => {}
            None => eprintln!("megadir: {}", self.line()),
        }
        if self.finds_nothing() && !self.quiet {
            eprintln!(
                "megadir: no file lies where {} has it; 'megadir layout' finds the layout of a tree",
                self.from
            );
        }
        if self.interrupted {
            let more = match self.expected {
                Some(_) => "the count is incomplete".to_owned(),
                None if self.from_is_found => {
                    format!("run the same command with --from {} to continue", self.from)
                }
                None => "run the same command to continue".to_owned(),
            };
            eprintln!("megadir: interrupted; {more}");
        }
        Ok(())
    }

    /// A wrong `--from` moves nothing and fails nothing, and would look like success without this hint.
    fn finds_nothing(&self) -> bool {
        let Counts { moved, conflicts, failures, unplaced, excluded, foreign, directories, .. } = self.counts;
        let expected = self.expected.as_ref().map_or(0, |found| found.survey.to_move + found.survey.in_place);
        !self.interrupted
            && self.finished.is_none()
            && moved + conflicts + failures + unplaced + excluded + expected == 0
            && foreign + directories > 0
    }

    fn line(&self) -> String {
        let moved = self.counts.moved;
        let mut line = self.nothing_to_move().unwrap_or_else(|| {
            let time = in_time(moved, self.elapsed);
            format!("moved {} from {} to {}{time}", files(moved), self.from, self.to)
        });
        let directories =
            [("made", self.counts.directories_made), ("removed", self.counts.directories_removed)];
        for (verb, number) in directories.iter().filter(|(_, number)| *number > 0) {
            let _ = write!(line, "; {verb} {}", plural(*number, "directory", "directories"));
        }
        for stay in self.stay() {
            let _ = write!(line, "; {stay}");
        }
        line
    }

    /// A clause for each reason why files stay, if there are any. Directories that could not be read are
    /// failures too, but the number of files in them is unknown, so they are taken out of the files that the system
    /// refused.
    fn stay(&self) -> Vec<String> {
        let counts = &self.counts;
        let mut rows = Vec::new();
        for (number, why) in [
            (counts.conflicts, "because another entry has the new path"),
            (counts.failures.saturating_sub(counts.unread), "because the system refused"),
            (counts.unplaced, "because the new layout cannot place the name"),
            (counts.foreign, "where neither layout has files"),
            (counts.excluded, "because of --exclude"),
        ] {
            if number > 0 {
                let stay = if number == 1 { "stays" } else { "stay" };
                rows.push(format!("{} {stay} {why}", files(number)));
            }
        }
        if counts.unread > 0 {
            let directories = plural(counts.unread, "directory", "directories");
            rows.push(format!("files stay in {directories} that could not be read"));
        }
        if counts.others > 0 {
            rows.push(format!(
                "{} other than regular files",
                plural(counts.others, "entry is", "entries are")
            ));
        }
        if counts.directories > 0 {
            let are = plural(counts.directories, "directory is", "directories are");
            rows.push(format!("{are} of neither layout"));
        }
        rows
    }

    /// One object for dry runs and moves, which differ in their first fields: a dry run has expectations instead of
    /// results. Every other field is always there, so that programs need no check for its presence.
    fn object(&self) -> String {
        let counts = &self.counts;
        Object::text(|object| {
            object.string("from", &self.from);
            object.string("to", &self.to);
            object.raw("dry_run", self.expected.is_some());
            match &self.expected {
                None => object.raw("moved", counts.moved),
                Some(expected) => {
                    let Expected { survey, room, .. } = expected;
                    object.raw("to_move", survey.to_move);
                    object.raw("in_place", survey.in_place);
                    object.raw_or_null("target_directories", survey.target_directories);
                    object.raw_or_null("until_full", room.here.map(|span| span.likely));
                    object.raw_or_null("new_directory_until_full", room.new.map(|span| span.likely));
                    let expected_s = expected.elapsed_s().map(|elapsed_s| format!("{elapsed_s:.3}"));
                    object.raw_or_null("expected_s", expected_s);
                }
            }
            object.raw("conflicts", counts.conflicts);
            object.raw("failures", counts.failures);
            object.raw("unread_directories", counts.unread);
            object.raw("unplaced", counts.unplaced);
            object.raw("foreign", counts.foreign);
            object.raw("excluded", counts.excluded);
            object.raw("others", counts.others);
            object.raw("foreign_directories", counts.directories);
            object.raw("directories_made", counts.directories_made);
            object.raw("directories_removed", counts.directories_removed);
            object.raw("interrupted", self.interrupted);
            object.raw("elapsed_s", format_args!("{:.6}", self.elapsed.as_secs_f64()));
            list_failures(object, &self.kept, self.reported);
        })
    }
}

fn files(number: u64) -> String {
    plural(number, "file", "files")
}
