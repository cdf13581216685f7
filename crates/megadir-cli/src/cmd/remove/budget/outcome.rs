//! Outcome of a budget in one line and in JSON.

use std::path::Path;

use megadir::remove::budget::{Measure, Outcome, Selection};

use crate::cmd::limits::amount::{grouped, plural};
use crate::cmd::remove::args::Args;
use crate::ui::message::quoted;
use crate::ui::object::Object;
use crate::ui::sizes;

#[derive(Clone, Debug)]
pub(in crate::cmd::remove) struct Kept {
    outcome: Outcome,
    is_of_free: bool,
    path: String,
}

impl Kept {
    pub(in crate::cmd::remove) fn new(outcome: Outcome, is_of_free: bool, path: &Path) -> Self {
        Self { outcome, is_of_free, path: quoted(path) }
    }

    pub(in crate::cmd::remove) fn is_met(&self) -> bool {
        self.outcome.is_met
    }

    /// The end of a sentence about what was removed.
    pub(in crate::cmd::remove) fn words(&self, dry_run: bool) -> String {
        let Outcome { measure, limit, now, is_met, unread, .. } = self.outcome;
        let amount = |number| text(measure, self.is_of_free, number);
        let difference = amount(now.abs_diff(limit));
        let (holds, is_free) = match dry_run {
            true => ("would hold", "would be free"),
            false => ("holds", "are free"),
        };
        let (holds, rest) = match unread {
            0 => (holds.to_owned(), STAYS),
            _ => (format!("{holds}, besides what could not be read,"), UNREAD),
        };
        match (self.is_of_free, is_met) {
            (false, true) => format!("{} {holds} {}, within {}", self.path, amount(now), amount(limit)),
            (false, false) => {
                format!("{} {holds} {}, {difference} over {}: {rest}", self.path, amount(now), amount(limit))
            }
            (true, true) => format!("{} {is_free}, at least {}", amount(now), amount(limit)),
            (true, false) => {
                format!("{} {is_free}, {difference} less than {}: {NOT_FREED}", amount(now), amount(limit))
            }
        }
    }

    pub(in crate::cmd::remove) fn write(&self, object: &mut Object<'_>) {
        let Outcome { held, measure, limit, now, is_met, unread, untracked, .. } = self.outcome;
        object.string("measure", if measure == Measure::Bytes { "bytes" } else { "files" });
        object.raw("is_of_free", self.is_of_free);
        object.raw("limit", limit);
        object.raw("now", now);
        object.raw("is_met", is_met);
        object.raw("held_files", held.files);
        object.raw("held_bytes", held.bytes);
        object.raw("unread", unread);
        object.raw("untracked", untracked);
    }
}

/// The outcome for the summary. Mentions files that the memory had no room for.
pub(in crate::cmd::remove) fn kept(args: &Args, selection: &Selection) -> Kept {
    let outcome = selection.outcome();
    if outcome.untracked > 0 && !args.change.quiet {
        let names = plural(outcome.untracked, "name", "names");
        eprintln!(
            "megadir: {names} of files with several names or of directories stay, because there are too many of these to remember"
        );
    }
    let path = args.paths.first().map(Path::new).unwrap_or(Path::new(""));
    Kept::new(outcome, args.keep_within.is_some_and(|budget| budget.is_of_free()), path)
}

const STAYS: &str =
    "the rest does not meet the conditions, has names elsewhere, was used meanwhile or could not be removed";
const UNREAD: &str = "the rest could not be read or removed, does not meet the conditions, has names elsewhere or was used meanwhile";
const NOT_FREED: &str = "the rest stays as the conditions or its last use require, could not be removed, or frees nothing (snapshots, open files)";

pub(in crate::cmd::remove) fn text(measure: Measure, is_of_free: bool, number: u64) -> String {
    match (measure, is_of_free) {
        (Measure::Bytes, _) => sizes::text(number),
        (Measure::Files, true) => format!("{} inodes", grouped(number)),
        (Measure::Files, false) => {
            format!("{} {}", grouped(number), if number == 1 { "file" } else { "files" })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use megadir::remove::budget::{Amount, Measure, Outcome};

    use super::Kept;

    #[test]
    fn the_line_has_the_current_budget() {
        let amount = Amount::default();
        let outcome = Outcome {
            held: amount,
            selected: amount,
            freed: amount,
            measure: Measure::Bytes,
            limit: 50 << 30,
            now: 49 << 30,
            is_met: true,
            unread: 0,
            untracked: 0,
        };
        let words = |outcome, is_of_free| Kept::new(outcome, is_of_free, Path::new("c")).words(false);
        assert_eq!(words(outcome, false), "'c' holds 49G, within 50G");
        assert_eq!(words(outcome, true), "49G are free, at least 50G");
        let files = Outcome { measure: Measure::Files, limit: 10, now: 1234, is_met: false, ..outcome };
        assert!(
            words(files, false).starts_with("'c' holds 1 234 files, 1 224 files over 10 files: the rest ")
        );
        assert!(words(files, true).starts_with("1 234 inodes are free, 1 224 inodes less than 10 inodes: "));
        let unread = words(Outcome { unread: 2, ..outcome }, false);
        assert_eq!(unread, "'c' holds, besides what could not be read, 49G, within 50G");
        let dry = Kept::new(outcome, false, Path::new("c")).words(true);
        assert_eq!(dry, "'c' would hold 49G, within 50G");
    }
}
