//! Conditions on entries: the same options, with the same help, in every command that reads trees.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgAction;
use clap::builder::{OsStringValueParser, TypedValueParser};
use megadir::nearest::choices;
use megadir::{BadGlob, Conditions, FileType, Globs, StatBackend, StatMask, TimeKind};
use megadir_inventory::Inventory;

use super::moment::{Moment, moment};
use super::owners::user_named;
use super::values::file_type;
use crate::cmd::values;
use crate::exit::{CliError, refuse_if};
use crate::ui::escape::terminal_text;
use crate::ui::message::quoted;

pub(in crate::cmd) const IDS: [&str; 11] = [
    "types",
    "name_globs",
    "path_globs",
    "excluded_globs",
    "max_depth",
    "older_than",
    "newer_than",
    "by",
    "larger_than",
    "smaller_than",
    "owner",
];

/// Options as given.
// They are flattened into several commands; `IDS` has their names, for conflicts with other options. Values are
// parsed as far as that needs no file system; `conditions` does the rest.
#[derive(Clone, Debug, Default, clap::Args)]
pub(in crate::cmd) struct ConditionOptions {
    /// Only entries of these types, comma-separated: file (f), directory (d), symlink (l), fifo (p), socket (s),
    /// block-device (b), char-device (c), whiteout (w), unknown (?)
    #[arg(short = 't', long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = file_type)]
    #[arg(help_heading = "Selection")]
    pub(in crate::cmd) types: Vec<FileType>,
    /// Only entries whose name matches this glob, e.g. '*.tmp', '{a,b}-[0-9]*'; repeat for alternatives
    ///
    /// The glob must match the whole name, never a path. '*' matches any bytes, including a leading dot; '?'
    /// and '[...]' match one byte, so a letter such as ü needs '??'.
    #[arg(short = 'g', long = "match", value_name = "GLOB", help_heading = "Selection")]
    name_globs: Vec<OsString>,
    /// Only entries whose path below the named directory matches this glob, e.g. 'cache/**/*.tmp'; repeat for alternatives
    ///
    /// The glob must match the whole path. '*' and '?' do not match '/'; '**' matches any number of directories.
    #[arg(long = "path-match", value_name = "GLOB", help_heading = "Selection")]
    path_globs: Vec<OsString>,
    /// Leave out entries that match this glob, and everything below them; repeat for several
    ///
    /// A glob without '/' matches names at any depth; a glob with '/' matches paths below the named directory, as
    /// --path-match. Excluded directories are not entered.
    #[arg(long = "exclude", value_name = "GLOB", help_heading = "Selection")]
    excluded_globs: Vec<OsString>,
    /// Leave out entries more than N levels below the named directory, whose own entries have level 1
    #[arg(long, value_name = "N", value_parser = depth, help_heading = "Selection")]
    #[arg(allow_negative_numbers = true)]
    pub(in crate::cmd) max_depth: Option<u32>,
    /// Only entries modified longer ago than an age (90s, 15m, 12h, 30d, 2w, 1y), or before a date or a file
    ///
    /// A date is 2026-11-01, 2026-11-01T12:30 or 2026-11-01T12:30:00, of local time unless Z or an offset such as +01:00 follows the
    /// seconds. A file stands for its modification time; write ./ before a name that begins with a digit.
    #[arg(long, value_name = "AGE|DATE|FILE", value_parser = OsStringValueParser::new().try_map(|words| moment(&words)))]
    #[arg(allow_negative_numbers = true, help_heading = "Selection")]
    older_than: Option<Moment>,
    /// Only entries modified within the last AGE or in the future, since a date, or after a file
    #[arg(long, value_name = "AGE|DATE|FILE", value_parser = OsStringValueParser::new().try_map(|words| moment(&words)))]
    #[arg(allow_negative_numbers = true, help_heading = "Selection")]
    newer_than: Option<Moment>,
    /// Time that ages are taken from: mtime (contents), atime (last access), use (the later of these two), ctime (inode), btime (creation) [default: mtime]
    ///
    /// Most mounts record accesses at most once a day (relatime) or never (noatime).
    #[arg(long, value_name = "TIME", value_parser = time, action = ArgAction::Set, help_heading = "Selection")]
    by: Vec<By>,
    /// Only entries larger than SIZE, e.g. 0, 4KiB, 1M (K, M, G: powers of 1024; KB, MB: of 1000)
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, help_heading = "Selection")]
    #[arg(allow_negative_numbers = true)]
    larger_than: Option<u64>,
    /// Only entries smaller than SIZE, e.g. 1, 4KiB, 1M
    #[arg(long, value_name = "SIZE", value_parser = values::bytes, help_heading = "Selection")]
    #[arg(allow_negative_numbers = true)]
    smaller_than: Option<u64>,
    /// Only entries owned by USER, a name or a number
    #[arg(long, value_name = "USER", help_heading = "Selection")]
    #[arg(allow_negative_numbers = true)]
    owner: Option<String>,
}

impl ConditionOptions {
    pub(in crate::cmd) fn any(&self) -> bool {
        let on_names = !self.name_globs.is_empty() || !self.path_globs.is_empty();
        self.any_on_attributes() || self.limits_sight() || on_names || !self.types.is_empty()
    }

    pub(in crate::cmd) fn limits_sight(&self) -> bool {
        !self.excluded_globs.is_empty() || self.max_depth.is_some()
    }

    pub(in crate::cmd) fn any_on_attributes(&self) -> bool {
        self.older_than.is_some()
            || self.newer_than.is_some()
            || self.larger_than.is_some()
            || self.smaller_than.is_some()
            || self.owner.is_some()
    }

    /// Options and globs as words of a shell, if these and types are the only conditions, a name or path has to match, and nothing is
    /// excluded. `None` also for globs that a shell might read otherwise.
    pub(in crate::cmd) fn only_globs(&self) -> Option<String> {
        let globs = [("--match", &self.name_globs), ("--path-match", &self.path_globs)];
        let any = !self.name_globs.is_empty() || !self.path_globs.is_empty();
        if !any || self.any_on_attributes() || self.limits_sight() {
            return None;
        }
        let words = globs.iter().flat_map(|(option, globs)| {
            globs.iter().map(move |glob| Some(format!("{option}={}", shell_word(glob)?)))
        });
        Some(words.collect::<Option<Vec<_>>>()?.join(" "))
    }

    pub(in crate::cmd) fn matches_paths(&self) -> bool {
        !self.path_globs.is_empty()
    }

    pub(in crate::cmd) fn by(&self) -> TimeKind {
        self.time().unwrap_or_default()
    }

    /// The time that `--by` names.
    pub(in crate::cmd) fn time(&self) -> Option<TimeKind> {
        self.by.iter().find_map(|by| match by {
            By::Time(time) => Some(*time),
            By::Rank(_) => None,
        })
    }

    /// `None` without conditions. Refuses those on attributes that the stat backend lacks.
    pub(in crate::cmd) fn of_trees(
        &self,
        trees: &[PathBuf],
        stat_backend: Option<&dyn StatBackend>,
    ) -> Result<Option<Arc<Conditions>>, CliError> {
        let conditions = self.conditions(trees.iter().map(PathBuf::as_path), false)?;
        if let Some(stat_backend) = stat_backend {
            refuse_lacking(stat_backend, &conditions)?;
        }
        Ok((!conditions.is_none()).then(|| Arc::new(conditions)))
    }

    /// `usage` takes it by `--by` too; an error if several values are of one kind.
    pub(in crate::cmd) fn rank(&self) -> Result<Option<megadir::usage::By>, CliError> {
        let rank = |by: &By| if let By::Rank(rank) = by { Some(*rank) } else { None };
        let ranks: Vec<_> = self.by.iter().filter_map(rank).collect();
        let times = self.by.len() - ranks.len();
        if ranks.len() > 1 || times > 1 {
            let given: Vec<_> = self.by.iter().map(|by| by.name()).collect();
            let reason = "one time for --older-than and --newer-than, and one figure to rank by";
            return Err(CliError::usage(format!("--by {}: give at most {reason}", given.join(" and --by "))));
        }
        Ok(ranks.first().copied())
    }

    pub(in crate::cmd) fn words(&self) -> String {
        let globs = |option: &str, globs: &[OsString]| -> Vec<String> {
            globs.iter().map(|glob| format!("{option}={}", glob.to_string_lossy())).collect()
        };
        let mut words = globs("--exclude", &self.excluded_globs);
        words.extend(self.max_depth.map(|depth| format!("--max-depth={depth}")));
        words.extend(globs("--match", &self.name_globs));
        words.extend(globs("--path-match", &self.path_globs));
        let types: Vec<&str> = self.types.iter().map(|kind| kind.name()).collect();
        words.extend((!types.is_empty()).then(|| format!("--type={}", types.join(","))));
        words.extend(self.older_than.as_ref().map(|older| format!("--older-than={}", older.words)));
        words.extend(self.newer_than.as_ref().map(|newer| format!("--newer-than={}", newer.words)));
        words.extend(self.time().map(|time| format!("--by={}", time.name())));
        words.extend(self.larger_than.map(|bytes| format!("--larger-than={bytes}")));
        words.extend(self.smaller_than.map(|bytes| format!("--smaller-than={bytes}")));
        words.extend(self.owner.as_ref().map(|owner| format!("--owner={owner}")));
        words.join(" ")
    }

    /// `named` are the directories that the command reads, as typed. `uses_by`: another option compares times.
    ///
    /// Refuses combinations that no entry can meet, because an empty result would look like an answer. A time between
    /// an age and a file is not refused: the file may be newer than the age, and then there is rightly nothing.
    /// Patterns are checked against the named directories, since a whole path in a pattern that is compared with
    /// paths below a directory never matches. Names of owners become numbers here, once.
    pub(in crate::cmd) fn conditions<'p>(
        &self,
        named: impl IntoIterator<Item = &'p Path>,
        uses_by: bool,
    ) -> Result<Conditions, CliError> {
        let has_age = self.older_than.is_some() || self.newer_than.is_some();
        let unused = self.time().is_some() && !uses_by && !has_age;
        let before = self.older_than.as_ref().map(|older| older.begins);
        let since = self.newer_than.as_ref().map(|newer| newer.ends);
        // Between an age and a file, such as the mark of the last run, there may rightly be no time.
        let are_ages = [&self.older_than, &self.newer_than].into_iter().flatten().all(|moment| moment.is_age);
        let has_no_time = are_ages && before.zip(since).is_some_and(|(before, since)| before <= since);
        let sizes = self.larger_than.zip(self.smaller_than);
        let has_no_size = sizes.is_some_and(|(larger, smaller)| smaller <= larger.saturating_add(1));
        refuse_if(&[
            (unused, "--by needs --older-than or --newer-than"),
            (
                has_no_time,
                "no entry is that old and that new; for a time between them write --older-than 5d --newer-than 10d",
            ),
            (
                has_no_size,
                "no entry is that large and that small; for a size between them write --larger-than 1M --smaller-than 5M",
            ),
        ])?;
        let conditions = Conditions {
            exclude: globs("--exclude", &self.excluded_globs, |globs| Globs::of_names_or_paths(globs))?,
            depth_max: self.max_depth,
            names: globs("--match", &self.name_globs, |globs| Globs::of_names(globs))?,
            paths: globs("--path-match", &self.path_globs, |globs| Globs::of_paths(globs))?,
            types: self.types.clone(),
            by: self.by(),
            before,
            since,
            larger_than: self.larger_than,
            smaller_than: self.smaller_than,
            user: self.owner.as_deref().map(user_number).transpose()?,
        };
        for directory in named {
            let options = [("--exclude", &conditions.exclude), ("--path-match", &conditions.paths)];
            for (option, globs) in options {
                refuse_whole_paths(option, globs, directory)?;
            }
        }
        Ok(conditions)
    }
}

/// In single quotes, which a shell takes as they are; `None` for text that would need more than that.
pub(in crate::cmd) fn shell_word(word: &OsStr) -> Option<String> {
    let text = word.to_str()?;
    let is_plain = !text.contains('\'') && terminal_text(text.as_bytes()) == text;
    is_plain.then(|| format!("'{text}'"))
}

/// A condition on an attribute that is never returned would accept nothing.
pub(in crate::cmd) fn refuse_lacking(
    stat_backend: &dyn StatBackend,
    conditions: &Conditions,
) -> Result<(), CliError> {
    refuse_unreturned(stat_backend, conditions.want(), "a condition needs")
}

/// `needed` ends the sentence: what needs `want`.
pub(in crate::cmd) fn refuse_unreturned(
    stat_backend: &dyn StatBackend,
    want: StatMask,
    needed: &str,
) -> Result<(), CliError> {
    let lacking: Vec<&str> = (want & stat_backend.lacks()).names().collect();
    match &lacking[..] {
        [] => Ok(()),
        lacking => Err(CliError::usage(format!(
            "--stat-backend {} never returns {}, which {needed}; leave --stat-backend out",
            stat_backend.name(),
            lacking.join(" and ")
        ))),
    }
}

/// A path as the command prints it would match nothing, and an exclusion would protect nothing.
pub(in crate::cmd) fn refuse_whole_paths(
    option: &str,
    globs: &Globs,
    directory: &Path,
) -> Result<(), CliError> {
    let typed = directory.to_string_lossy();
    let start = typed.trim_end_matches(std::path::is_separator);
    let mut globs = globs.texts().iter();
    let whole = globs.find_map(|glob| Some((glob, glob.strip_prefix(start)?.strip_prefix('/')?)));
    match whole.filter(|_| !start.is_empty()) {
        Some((glob, rest)) => Err(CliError::usage(format!(
            "{option} {}: paths begin below {}; write {}",
            quoted(glob.as_ref()),
            quoted(directory),
            quoted(format!("/{rest}").as_ref())
        ))),
        None => Ok(()),
    }
}

pub(in crate::cmd) fn globs(
    option: &str,
    given: &[OsString],
    compile: impl Fn(&[&str]) -> Result<Globs, BadGlob>,
) -> Result<Globs, CliError> {
    let refused =
        |glob: &OsStr, reason: &str| CliError::usage(format!("{option} {}: {reason}", quoted(glob.as_ref())));
    let reason = "a glob must be UTF-8 (the names it matches need not be; '?' matches any byte of them)";
    let texts = given.iter().map(|glob| glob.to_str().ok_or_else(|| refused(glob, reason)));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    compile(&texts).map_err(|bad| refused(bad.glob.as_ref(), &bad.reason))
}

fn depth(text: &str) -> Result<u32, String> {
    match values::count(text).map(u32::try_from) {
        Ok(Ok(depth @ 1..)) => Ok(depth),
        _ => Err("write a number from 1: the entries of the directory itself have level 1".into()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cmd) enum By {
    Time(TimeKind),
    Rank(megadir::usage::By),
}

impl By {
    fn times() -> impl Iterator<Item = Self> + Clone {
        TimeKind::ALL.into_iter().map(Self::Time)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Time(time) => time.name(),
            Self::Rank(rank) => rank.name(),
        }
    }
}

fn time(text: &str) -> Result<By, String> {
    one_of(text, By::times())
}

pub(in crate::cmd) fn time_or_rank(text: &str) -> Result<By, String> {
    one_of(text, By::times().chain(megadir::usage::By::ALL.into_iter().map(By::Rank)))
}

fn one_of(text: &str, known: impl Iterator<Item = By> + Clone) -> Result<By, String> {
    let found = known.clone().find(|by| by.name() == text);
    found.ok_or_else(|| choices(text, known.map(By::name)))
}

/// Older versions recorded no access times.
pub(in crate::cmd) fn refuse_unrecorded(
    conditions: &Conditions,
    inventory: &Inventory,
) -> Result<(), CliError> {
    if inventory.has_access_times() || !conditions.want().contains(TimeKind::Accessed.want()) {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "--by {}: {} has no access times, because an older version wrote it; use mtime, ctime or btime, or scan again",
        conditions.by.name(),
        quoted(inventory.path())
    )))
}

fn user_number(text: &str) -> Result<u32, CliError> {
    refuse_if(&[(cfg!(windows), "--owner: unavailable on Windows")])?;
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    user_named(text).ok_or_else(|| {
        let reason = match text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
            true => format!("too large for a user ID (at most {})", u32::MAX),
            false => "no user has this name; user IDs always work".to_owned(),
        };
        CliError::usage(format!("--owner '{text}': {reason}"))
    })
}
