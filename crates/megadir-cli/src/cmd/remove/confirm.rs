//! Confirmation before many entries are removed, and the count that decides whether it is needed.
//!
//! ```text
//! at most UNCONFIRMED_MAX entries ──────────────────────► no question
//! more, without conditions ── counting stops, estimate ─► question with `about N`
//! more, with conditions ── for at most EXACT_COUNT_MAX ─► question with N or `at least N`
//! counting failed ──────────────────────────────────────► question with the reason
//! ```
//!
//! The count decides about the question only. Each entry is examined once more when it is removed.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use megadir::remove::aside::leftovers;
use megadir::remove::target::{NoTarget, Target};
use megadir::{
    Attributes, Batch, BatchBuilder, Conditions, Dir, DirPath, Error, ErrorKind, FileSystem, FileType, Place,
    StatMask, Walk, WalkItem, WalkOptions,
};

use super::args::Args;
use crate::cmd::amount::amount;
use crate::cmd::mass_change::{UNCONFIRMED_MAX, request_confirmation};
use crate::cmd::progress::estimate;
use crate::exit::{CliError, describe};
use crate::ui::message::{quoted, quoted_bytes, reason};

pub(super) const ALTERNATIVES: &str =
    "(--yes skips the question, --dry-run prints how much would be removed)";
/// Paths named in the question.
const NAMED_MAX: usize = 3;

/// For an exact number in the question: later, counting ends as soon as more than [`UNCONFIRMED_MAX`] entries meet the conditions. Up to then
/// it goes on, however long it takes, because whether there is a question must not depend on the speed of the disk.
const EXACT_COUNT_MAX: Duration = Duration::from_secs(3);

/// Directories whose entries are estimated for one question.
const ESTIMATES_MAX: u32 = 64;

/// Count of what a removal would take, for the question. `entries` is exact until counting ends early; `total` is for
/// the words of the question. `unknown` has the reason why a count failed: then there is always a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    entries: u64,
    /// When counting entries that meet conditions began, see [`EXACT_COUNT_MAX`].
    begun: Option<Instant>,
    /// Counting has ended early: there are at least `entries`.
    is_cut: bool,
    /// Entries of everything, by estimates where there are many.
    total: Total,
    unknown: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Total {
    entries: u64,
    estimates: u32,
    is_incomplete: bool,
    /// An estimated directory may have subdirectories, whose entries are not in the sum.
    may_be_more: bool,
}

impl Total {
    /// The estimate is used only if it is no lower than the entries already seen; a lower one means that
    /// most of the tree is below this directory, and no estimate of that exists.
    fn estimate(&mut self, directory: &Dir, counted: u64) {
        self.estimates += 1;
        self.may_be_more |= !has_no_subdirectory(directory);
        match (self.estimates <= ESTIMATES_MAX).then(|| estimate(directory)).flatten() {
            Some(entries) if entries >= counted => self.entries += entries,
            // Most entries are further below.
            _ => self.is_incomplete = true,
        }
    }
}

/// By its links, which these file systems count for each subdirectory up to 65 000.
fn has_no_subdirectory(directory: &Dir) -> bool {
    let counts_links =
        matches!(directory.file_system(), FileSystem::Ext4 | FileSystem::Xfs | FileSystem::Tmpfs);
    counts_links && directory.attributes(StatMask::LINKS).is_ok_and(|attributes| attributes.links == 2)
}

/// Source of the paths, for the words of the question.
#[derive(Clone, Copy)]
pub(super) enum Paths<'a> {
    Named(&'a [&'a Path]),
    ListedIn(&'a Path),
}

/// With the type, which may be unknown from the listing.
fn needed(conditions: &Conditions) -> StatMask {
    conditions.want() | if conditions.types.is_empty() { StatMask::NOTHING } else { StatMask::TYPE }
}

/// Attributes of a single name. `None` if they are unknown, and the caller then counts the entry: a
/// question too many is better than one too few.
fn row(parent: &Dir, name: &[u8], want: StatMask) -> Option<Attributes> {
    let mut batch = BatchBuilder::new(name.len() + 64, false);
    batch.push(name, 0, FileType::Unknown, 0);
    let (mut rows, want) = (Vec::new(), want | StatMask::TYPE);
    let stat_backend = if cfg!(windows) { "open-each" } else { "statx" };
    let mut examine = megadir::stat_backend(stat_backend).ok()?.start(parent, want).ok()?;
    examine.examine(parent, batch.batch(), &mut rows).ok()?;
    rows.first().copied().filter(|row| row.have.contains(want))
}

fn accepts_target(conditions: &Conditions, target: &Target) -> bool {
    let Some(row) = row(&target.parent, &target.name, conditions.want()) else { return true };
    conditions.accepts(&Place::TOP, &target.name, row.kind, &row)
}

impl Counted {
    pub(super) fn is_many(&self) -> bool {
        self.entries > UNCONFIRMED_MAX || self.unknown.is_some()
    }

    /// An entry that is missing would not be removed either, so it does not make the count unknown.
    fn failed(&mut self, error: &Error) {
        if error.kind() != ErrorKind::NotFound {
            self.unknown.get_or_insert_with(|| describe(error));
        }
    }

    pub(super) fn unresolved(&mut self, path: &[u8], why: &NoTarget) {
        if let NoTarget::Failed(error) = why
            && error.kind() != io::ErrorKind::NotFound
        {
            self.unknown.get_or_insert_with(|| format!("{}: {}", quoted_bytes(path), reason(error)));
        }
    }

    /// Cheap cases come first, since a list may name millions of paths: nothing more is counted once the
    /// answer is sure.
    pub(super) fn add(&mut self, target: &Target, args: &Args, conditions: Option<&Arc<Conditions>>) {
        if self.unknown.is_some() || self.is_cut {
            return;
        }
        if args.puts_aside() {
            self.add_leftovers(target, args);
        }
        if target.is_missing {
            return;
        }
        if conditions.is_some_and(|conditions| !conditions.sees(&Place::TOP, &target.name)) {
            return;
        }
        if !target.is_directory {
            self.add_known(u64::from(conditions.is_none_or(|conditions| accepts_target(conditions, target))));
            return;
        }
        // The directory named on the command line is an entry as well, unless it stays.
        self.add_known(u64::from(!args.contents && conditions.is_none()));
        self.add_directory(&target.parent, &target.name, args, conditions);
    }

    /// Further paths are not counted.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
        self.total.is_incomplete = true;
    }

    fn add_known(&mut self, entries: u64) {
        self.entries += entries;
        self.total.entries += entries;
    }

    /// Leftovers are removed by the same call, so they are part of the number. They were renamed as a
    /// whole, so conditions do not apply to them.
    fn add_leftovers(&mut self, target: &Target, args: &Args) {
        let left = leftovers(&target.parent, &target.name).inspect_err(|error| self.failed(error));
        for aside in left.unwrap_or_default() {
            self.add_known(1);
            self.add_directory(&target.parent, aside.name(), args, None);
        }
    }

    fn add_directory(
        &mut self,
        parent: &Dir,
        name: &[u8],
        args: &Args,
        conditions: Option<&Arc<Conditions>>,
    ) {
        // A directory that cannot be listed now may be removable later.
        match parent.open_below(name).and_then(|directory| Ok((directory.again()?, directory))) {
            Ok((again, directory)) => {
                let before = self.entries;
                // Conditions on paths and depths begin below the directory that was named.
                if (conditions.is_some() || !self.is_many())
                    && let Err(error) = self.count(again.into_top(), args, conditions)
                {
                    self.failed(&error);
                }
                // Where counting stopped early, the estimate of the file system replaces the entries seen.
                let counted = self.entries - before;
                match self.is_many() && conditions.is_none() {
                    true => self.total.estimate(&directory, counted),
                    false => self.total.entries += counted,
                }
            }
            Err(error) => self.failed(&error),
        }
    }

    /// Reads until the answer is known. Without conditions, that is as soon as more than `UNCONFIRMED_MAX` entries were
    /// seen, because a question is then certain and the number is estimated. With conditions no estimate is possible:
    /// once there are that many, counting continues only up to `EXACT_COUNT_MAX`, and the question then has a lower
    /// bound. Failures do not end the count: they make it unknown.
    fn count(
        &mut self,
        directory: Dir,
        args: &Args,
        conditions: Option<&Arc<Conditions>>,
    ) -> megadir::Result<()> {
        let want = conditions.map_or(StatMask::NOTHING, |conditions| needed(conditions));
        let examine = match want != StatMask::NOTHING {
            true => Some((megadir::attribute_policy::choose(&directory, want, 1)?.stat_backend, want)),
            false => None,
        };
        let options = WalkOptions {
            cross_mounts: args.cross_mounts,
            examine,
            conditions: conditions.map(Arc::clone),
            ..WalkOptions::new(1)
        };
        self.begun.get_or_insert_with(Instant::now);
        let mut walk = Walk::new(directory, &options)?;
        while let Some(item) = walk.next_item() {
            match item {
                WalkItem::Batch { directory, batch, attributes } => {
                    self.add_batch(directory, batch, attributes, conditions.map(|conditions| &**conditions));
                }
                WalkItem::Error(error) => self.failed(&error),
                WalkItem::OtherMount(_) | WalkItem::End { .. } => {}
            }
            let takes_long = || self.begun.is_some_and(|begun| begun.elapsed() >= EXACT_COUNT_MAX);
            if self.is_many() && (conditions.is_none() || takes_long()) {
                self.is_cut = conditions.is_some();
                break;
            }
        }
        Ok(())
    }

    fn add_batch(
        &mut self,
        directory: &DirPath,
        batch: Batch<'_>,
        attributes: &[Attributes],
        conditions: Option<&Conditions>,
    ) {
        if batch.unknown_types() > 0 {
            let reason = "the types of its entries are unknown";
            self.failed(&Error::new("list", directory, ErrorKind::Io, reason));
        }
        let Some(conditions) = conditions else {
            self.entries += batch.len() as u64;
            return;
        };
        let place = conditions.place(directory.below());
        // Attributes are there for all entries or none.
        let rows = attributes.iter().chain(std::iter::repeat(&Attributes::NOTHING));
        for (entry, row) in batch.entries().zip(rows) {
            self.entries += u64::from(conditions.accepts(&place, entry.name, entry.kind, row));
            if row.error != 0 && conditions.accepts_name(&place, entry.name) {
                let error = io::Error::from_raw_os_error(row.error);
                let name = megadir::names::to_os(entry.name).unwrap_or_default();
                self.failed(&Error::io("stat", &directory.join(name), error));
            }
        }
    }

    /// Words of the question. `conditions` are options, if there are any. Paths are named up to `NAMED_MAX`, and the
    /// number is as exact as it is known: an estimate, an exact number, a lower bound, or unknown with the reason. The
    /// words end with the directory if it stays.
    fn description(&self, paths: Paths<'_>, conditions: Option<&str>, only_contents: bool) -> String {
        let text = match paths {
            Paths::Named(paths) => {
                let named: Vec<String> = paths.iter().take(NAMED_MAX).map(|path| quoted(path)).collect();
                match paths.len().checked_sub(NAMED_MAX) {
                    None | Some(0) => named.join(", "),
                    Some(more) => format!("{} and {more} more", named.join(", ")),
                }
            }
            Paths::ListedIn(file) => format!("the paths listed in {}", quoted(file)),
        };
        let Total { entries: about, estimates, is_incomplete, may_be_more } = self.total;
        let number = match &self.unknown {
            None if about > UNCONFIRMED_MAX && estimates > 0 && !is_incomplete => {
                let more = if may_be_more { ", more in subdirectories" } else { "" };
                format!("about {} entries{more}", amount(about))
            }
            Some(why) if self.entries <= UNCONFIRMED_MAX => {
                format!("an unknown number of entries, because counting failed: {why}")
            }
            None if conditions.is_some() && self.entries > UNCONFIRMED_MAX => {
                let least = if self.is_cut { "at least " } else { "" };
                format!("{least}{} entries", amount(self.entries))
            }
            _ => format!("more than {UNCONFIRMED_MAX} entries"),
        };
        let stays = match paths {
            Paths::Named([_]) => "not the directory itself",
            _ => "not the directories themselves",
        };
        match (conditions, only_contents) {
            (Some(conditions), _) => {
                format!("remove {number} at and below {text} that meet {conditions}, but {stays}")
            }
            (None, true) => format!("remove the contents of {text} ({number}), but {stays}"),
            (None, false) => format!("remove {text} ({number})"),
        }
    }

    /// `true` if the removal may begin: it is small, or it was confirmed.
    pub(super) fn may_go(&self, paths: Paths<'_>, args: &Args) -> Result<bool, CliError> {
        if !self.is_many() {
            return Ok(true);
        }
        let conditions = args.has_conditions().then(|| args.condition_words());
        request_confirmation(&self.description(paths, conditions.as_deref(), args.contents), ALTERNATIVES)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use megadir::{Attributes, BatchBuilder, Error, FileType, Globs, Time};

    use super::{Conditions, Counted, Paths, Total};
    use crate::cmd::mass_change::question;
    use megadir::remove::target::{NoTarget, Refusal};

    #[test]
    fn the_question_names_the_paths() {
        let many = |estimate: Option<u64>| {
            let total = Total {
                entries: estimate.unwrap_or(1001),
                estimates: 1,
                is_incomplete: estimate.is_none(),
                may_be_more: true,
            };
            Counted { entries: 1001, total, is_cut: true, ..Counted::default() }
        };
        let paths: Vec<&Path> = ["a", "b\n", "c", "d", "e"].iter().map(AsRef::as_ref).collect();
        assert_eq!(
            question(&many(None).description(Paths::ListedIn(paths[0]), None, false)),
            "megadir: remove the paths listed in 'a' (more than 1000 entries)? [y/N] "
        );
        assert_eq!(
            question(&many(None).description(Paths::Named(&paths), None, false)),
            "megadir: remove 'a', 'b\\n', 'c' and 2 more (more than 1000 entries)? [y/N] "
        );
        assert_eq!(
            question(&many(Some(1_234_567)).description(Paths::Named(&paths[..1]), None, false)),
            "megadir: remove 'a' (about 1.23 M entries, more in subdirectories)? [y/N] "
        );
        assert_eq!(
            question(&many(Some(7)).description(
                Paths::Named(&paths[..1]),
                Some("--older-than=2592000s"),
                false
            )),
            "megadir: remove at least 1 001 entries at and below 'a' that meet\n  --older-than=2592000s, but not the directory itself? [y/N] "
        );
        let whole = Counted { entries: 54_321, ..Counted::default() };
        assert_eq!(
            question(&whole.description(Paths::Named(&paths[..1]), Some("--match=core"), false)),
            "megadir: remove 54 321 entries at and below 'a' that meet --match=core, but\n  not the directory itself? [y/N] "
        );
        let long = Path::new("/srv/old files of the year 2025/spool of the first machine");
        assert_eq!(
            question(&many(None).description(Paths::Named(&[long]), None, true)),
            "megadir: remove the contents of\n  '/srv/old files of the year 2025/spool of the first machine' (more than 1000\n  entries), but not the directory itself? [y/N] "
        );
        assert_eq!(
            question(&many(None).description(Paths::Named(&paths[..1]), None, true)),
            "megadir: remove the contents of 'a' (more than 1000 entries), but not the\n  directory itself? [y/N] "
        );
    }

    #[test]
    fn failed_examinations_count_as_many_unless_the_entry_vanished_or_has_another_name() {
        let names = Globs::of_names(&["a*"]).unwrap();
        let conditions = Conditions { names, before: Some(Time::EPOCH), ..Conditions::default() };
        let is_unknown = |name: &[u8], kind, error| {
            let mut built = BatchBuilder::new(4096, false);
            built.push(name, 1, kind, 0);
            let mut counted = Counted::default();
            let rows = [Attributes { error, ..Attributes::NOTHING }];
            counted.add_batch(&Path::new("d").into(), built.batch(), &rows, Some(&conditions));
            assert_eq!(counted.entries, 0);
            counted.is_many()
        };
        assert!(is_unknown(b"a1", FileType::File, 5));
        assert!(!is_unknown(b"a1", FileType::File, 2));
        assert!(!is_unknown(b"b1", FileType::File, 5));
        assert!(is_unknown(b"b1", FileType::Unknown, 0), "it may be a directory");
    }

    #[test]
    fn failed_counts_are_many_unless_the_entry_vanished() {
        let failed = |code| std::io::Error::from_raw_os_error(code);
        let path: &Path = "a\n".as_ref();
        // ENOENT and ERROR_FILE_NOT_FOUND have the same number.
        let mut counted = Counted::default();
        counted.failed(&Error::io("open", path, failed(2)));
        counted.unresolved(b"a", &NoTarget::Failed(failed(2)));
        counted.unresolved(b"a", &NoTarget::Refused(Refusal::Root));
        assert!(!counted.is_many());
        let mut listed = counted.clone();
        listed.unresolved(b"x", &NoTarget::Failed(failed(5)));
        assert!(listed.is_many());
        counted.failed(&Error::io("open", path, failed(5)));
        counted.failed(&Error::io("open", path, failed(4)));
        assert!(counted.is_many());
        let question = question(&counted.description(Paths::Named(&[path]), None, false));
        let begins =
            "megadir: remove 'a\\n' (an unknown number of entries, because counting failed:\n  open 'a\\n': ";
        assert!(question.starts_with(begins) && question.ends_with(")? [y/N] "), "{question}");
        assert_eq!(question.matches("open").count(), 1, "{question}");
    }
}
