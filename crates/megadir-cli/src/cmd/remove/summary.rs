//! Summary as text or JSON, and the exit code.
//!
//! ```text
//! Counts (library), failures, Part (budget or pack) ─┬─► line     for people, without zero clauses
//!                                                    ├─► object   JSON, every member always
//!                                                    └─► code
//! ```

use std::fmt::Write as _;
use std::time::Duration;

use megadir::remove::Counts;
use megadir_tasks::Removal;

use super::args::Args;
use super::budget::Kept;
use super::stayed::Stayed;
use crate::cmd::amount::{grouped, plural, seconds};
use crate::cmd::conditions::shell_word;
use crate::cmd::mass_change::{Failure, KEPT_MAX, in_time, list_failures};
use crate::exit::{self, CliError};
use crate::ui::object::Object;
use crate::ui::output::print;
use crate::ui::sizes;

/// Part of the summary that only some runs have.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "budgets and packs are of Linux only"))]
#[derive(Debug, Default)]
pub(super) enum Part {
    #[default]
    None,
    /// `--keep-within`
    Budget(Kept),
    /// `--packed`
    Packed(Stayed),
}

impl Part {
    fn budget(&self) -> Option<&Kept> {
        if let Self::Budget(kept) = self { Some(kept) } else { None }
    }

    fn packed(&self) -> Option<&Stayed> {
        if let Self::Packed(stayed) = self { Some(stayed) } else { None }
    }
}

/// `attempted` are targets that were found. `kept` has the first failures for JSON, up to `KEPT_MAX`, and `failures`
/// counts all. `looked` is set if attributes were read, without which the freed bytes are unknown.
#[derive(Debug, Default)]
pub(super) struct Summary {
    json: bool,
    dry_run: bool,
    quiet: bool,
    listed: bool,
    rate: Option<u64>,
    looked: bool,
    pub(super) attempted: u64,
    counts: Counts,
    failures: u64,
    kept: Vec<Failure>,
    /// Highest exit code of paths without a target.
    worst: u8,
    elapsed: Duration,
    interrupted: bool,
    /// The removed directory has another name, and the old name may be in use again.
    aside: bool,
    pub(super) part: Part,
    /// Failures that the line has in another place.
    failures_before: u64,
    /// Line to type that removes matching directories with all they hold.
    way_to_filled: Option<String>,
    /// Condition --path-match.
    by_path: bool,
}

impl Summary {
    pub(super) fn new(args: &Args) -> Self {
        Self {
            json: args.change.json,
            dry_run: args.dry_run,
            quiet: args.change.quiet,
            listed: args.list,
            rate: args.rate_max().map(|rate| rate.get().into()),
            aside: args.puts_aside(),
            way_to_filled: way_to_filled(args),
            by_path: args.conditions.matches_paths(),
            looked: args.keep_within.is_some()
                || args.packed.is_some()
                || args.dry_run
                || args.conditions.any_on_attributes()
                || args.keep_newest.is_some(),
            ..Self::default()
        }
    }

    /// All failures count, the first ones are kept: a removal of a broken disk may have millions.
    pub(super) fn failed(&mut self, failure: Failure) {
        self.failures += 1;
        if self.kept.len() < KEPT_MAX {
            self.kept.push(failure);
        }
    }

    /// Failures before the removal; some are kept.
    #[cfg(target_os = "linux")]
    pub(super) fn failed_before(&mut self, (kept, count): (Vec<Failure>, u64)) {
        self.failures_before = count;
        self.failures += count.saturating_sub(kept.len() as u64);
        kept.into_iter().for_each(|failure| self.failed(failure));
    }

    /// Used only if no path had a target at all.
    pub(super) fn worst(&mut self, code: u8) {
        self.worst = self.worst.max(code);
    }

    /// Counts come from the library at the end, since its threads change them until then.
    pub(super) fn finish(&mut self, counts: Counts, elapsed: Duration, interrupted: bool) {
        (self.counts, self.elapsed, self.interrupted) = (counts, elapsed, interrupted);
    }

    /// Failures of other ranks arrive as messages, which may be limited; the number is exact.
    pub(super) fn ranked(&mut self, removal: Removal, failures: &[String], elapsed: Duration) {
        let Removal { entries, directories, mounts, .. } = removal;
        failures.iter().for_each(|message| self.failed(Failure::of_message(message)));
        self.failures = self.failures.max(removal.failures);
        self.attempted = 1;
        self.finish(Counts { entries, directories, mounts, ..Counts::default() }, elapsed, false);
    }

    /// An interrupt outranks failures, for a script should not take the rest as removed. A path that was
    /// refused decides only if there was no target: otherwise its failure is one of several.
    pub(super) fn code(&self) -> u8 {
        match (self.interrupted, self.failures, self.attempted) {
            (true, _, _) => exit::INTERRUPTED,
            (_, 0, _) if self.is_as_requested() => exit::DONE,
            (_, _, 0) if self.worst != exit::DONE => self.worst,
            _ => exit::SOME_FAILED,
        }
    }

    /// A budget that is not met, and a pack that is not whole, are failures even if each removal succeeded.
    fn is_as_requested(&self) -> bool {
        self.part.budget().is_none_or(Kept::is_met) && self.part.packed().is_none_or(Stayed::is_sound)
    }

    /// The result of a dry run goes to standard output, because the user asked for it; the summary of a removal
    /// goes to standard error, and is left out with `--quiet` if all went well. Hints follow only where a result is
    /// likely to be misunderstood: matching directories that hold other entries, a pattern that matches nothing, and
    /// what an interrupted run leaves to do.
    pub(super) fn print(&self) -> Result<(), CliError> {
        if self.json {
            print(&self.object())?;
        } else if self.dry_run && !self.listed {
            print(&format!("{}\n", self.line()))?;
        } else if self.listed || self.attempted > 0 && !(self.quiet && self.code() == exit::DONE) {
            eprintln!("megadir: {}", self.line());
        }
        if let Some(way) = &self.way_to_filled
        // Only where a directory stayed that a condition matched, which looks like a failure at first.
            && self.counts.directories_filled > 0
            && !self.quiet
            && !self.interrupted
        {
            let filled = plural(self.counts.directories_filled, "directory", "directories");
            eprintln!(
                "megadir: {filled} with a matching name still hold other entries; to remove all of it (--yes instead of --dry-run):"
            );
            eprintln!("  {way}");
        }
        if self.by_path
            && self.counts == Counts::default()
            && self.failures == 0
            && !self.quiet
            && !self.interrupted
        {
            eprintln!(
                "megadir: no path matches: --path-match compares the path below each DIR, so '**/a/**' matches DIR/b/a/c, but nothing where DIR itself is 'a'"
            );
        }
        if self.interrupted {
            let more = match (self.dry_run, self.aside) {
                (true, _) => "the count is incomplete",
                (false, true) => "the same command continues, and removes what has the name by then too",
                (false, false) => "run the same command to continue",
            };
            eprintln!("megadir: interrupted; {more}");
        }
        Ok(())
    }

    fn removed(&self) -> u64 {
        self.counts.entries + self.counts.directories
    }

    /// One line for people. Clauses with a zero are left out, except for the number of entries. Bytes are named only
    /// if attributes were read, and without files that have other links, because removing one name of these frees
    /// nothing. A dry run has the least time by `--rate` instead of the elapsed time.
    fn line(&self) -> String {
        let counts = &self.counts;
        let removed = self.removed();
        let verb = if self.dry_run { "would remove" } else { "removed" };
        let mut line = format!("{verb} {}", plural(removed, "entry", "entries"));
        if counts.directories > 0 {
            let _ = write!(line, " ({})", plural(counts.directories, "directory", "directories"));
        }
        if self.looked {
            let _ = write!(line, ", {} on disk", sizes::text(counts.bytes));
            if counts.linked > 0 {
                let _ = write!(line, " (excluding {} with other links)", grouped(counts.linked));
            }
        }
        if self.dry_run {
            if let Some(rate) = self.rate {
                let _ = write!(line, ", in at least {}", seconds(removed as f64 / rate as f64));
            }
        } else {
            line.push_str(&in_time(removed, self.elapsed));
        }
        let is_of_pack = matches!(self.part, Part::Packed(_));
        let failures = if is_of_pack { self.failures - self.failures_before } else { self.failures };
        if failures > 0 {
            let _ = write!(line, "; {} could not be removed", grouped(failures));
        }
        if counts.directories_kept > 0 {
            let _ = write!(line, "; {}", stay(counts.directories_kept));
        }
        if let Some(words) = self.part.packed().and_then(Stayed::words) {
            let _ = write!(line, "; {words}");
        }
        if let Some(budget) = self.part.budget().filter(|_| !self.interrupted) {
            let _ = write!(line, "; {}", budget.words(self.dry_run));
        }
        line
    }

    /// `bytes` and `linked` are `null` where no attributes were read, which differs from zero.
    fn object(&self) -> String {
        let counts = &self.counts;
        Object::text(|object| {
            object.raw("dry_run", self.dry_run);
            object.raw("removed", self.removed());
            object.raw("directories", counts.directories);
            object.raw_or_null("bytes", self.looked.then_some(counts.bytes));
            object.raw_or_null("linked", self.looked.then_some(counts.linked));
            object.raw("failures", self.failures);
            object.raw("mounts", counts.mounts);
            object.raw("directories_kept", counts.directories_kept);
            object.raw("directories_filled", counts.directories_filled);
            object.part_or_null("budget", self.part.budget(), |object, budget| budget.write(object));
            object.part_or_null("packed", self.part.packed(), |object, stayed| stayed.write(object));
            object.raw("interrupted", self.interrupted);
            object.raw("elapsed_s", format_args!("{:.6}", self.elapsed.as_secs_f64()));
            list_failures(object, &self.kept, self.failures);
        })
    }
}

/// Offered only if it can be given exactly: conditions other than patterns of names have no short equal
/// here, and a path that cannot be quoted for a shell gives none.
fn way_to_filled(args: &Args) -> Option<String> {
    if args.paths.is_empty()
        || args.keep_newest.is_some()
        || args.keep_within.is_some()
        || args.packed.is_some()
    {
        return None;
    }
    let globs = args.conditions.only_globs()?;
    let paths: Option<Vec<_>> = args.paths.iter().map(|path| shell_word(path)).collect();
    // A dry run first: the directories go with all they hold.
    let from = format!("megadir list -r -0 --type d {globs} -- {}", paths?.join(" "));
    Some(format!("{from} | megadir remove --dry-run --files0-from -"))
}

fn stay(directories: u64) -> String {
    let stay = if directories == 1 { "stays because it is" } else { "stay because they are" };
    format!("{} {stay} not empty", plural(directories, "directory", "directories"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> Summary {
        Summary {
            json: false,
            dry_run: false,
            quiet: false,
            listed: false,
            rate: None,
            looked: false,
            attempted: 1,
            counts: Counts { entries: 1_200_000, directories: 34, ..Counts::default() },
            failures: 0,
            kept: Vec::new(),
            worst: exit::DONE,
            elapsed: Duration::from_secs(4),
            interrupted: false,
            aside: false,
            part: Part::None,
            failures_before: 0,
            way_to_filled: None,
            by_path: false,
        }
    }

    #[test]
    fn the_line_has_removed_and_kept_entries() {
        assert_eq!(summary().line(), "removed 1 200 034 entries (34 directories), in 4.00 s (300 k/s)");
        let counts =
            Counts { entries: 1, bytes: 5 << 20, linked: 2, directories_kept: 1, ..Counts::default() };
        let some = Summary { counts, looked: true, failures: 3, ..summary() };
        assert_eq!(
            some.line(),
            "removed 1 entry, 5.0M on disk (excluding 2 with other links), in 4.00 s (0/s); 3 could not be removed; \
             1 directory stays because it is not empty"
        );
        let dry = Summary { dry_run: true, rate: Some(1000), ..summary() };
        assert_eq!(dry.line(), "would remove 1 200 034 entries (34 directories), in at least 20 min");
    }

    #[test]
    fn exit_codes_follow_from_the_failures() {
        assert_eq!(summary().code(), exit::DONE);
        let failed = Summary { failures: 1, worst: exit::NOTHING_RAN, ..summary() };
        assert_eq!(failed.code(), exit::SOME_FAILED);
        assert_eq!(Summary { attempted: 0, ..failed }.code(), exit::NOTHING_RAN);
        assert_eq!(Summary { interrupted: true, ..summary() }.code(), exit::INTERRUPTED);
    }

    #[test]
    fn failures_are_kept_within_bounds() {
        let mut many = summary();
        for _ in 0..KEPT_MAX + 5 {
            many.failed(Failure::at(b"a\xff", "unlink: \"no\"".to_owned()));
        }
        assert_eq!((many.kept.len(), many.failures), (KEPT_MAX, KEPT_MAX as u64 + 5));
        let object = many.object();
        assert!(object.contains(r#"{"path_hex":"61ff","reason":"unlink: \"no\""}"#), "{object}");
        assert!(object.ends_with(",\"failed_left_out\":5}\n"), "{object}");
    }
}
