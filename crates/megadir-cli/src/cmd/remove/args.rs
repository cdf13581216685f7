//! Options of `megadir remove` and their checks.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use megadir::FileType;
#[cfg(target_os = "linux")]
pub(super) use megadir::remove::budget::Budget;

use crate::cmd::conditions::{self, ConditionOptions};
use crate::cmd::engine::Engine;
use crate::cmd::mass_change::ChangeOptions;
use crate::cmd::values::{self, threads};
use crate::exit::{CliError, refuse_if};

/// Options without a list: they exclude `--list` and what needs it, because the parser would waive `--dry-run` for them.
const WITHOUT_LIST: [&str; 4] = ["json", "quiet", "log", "engine"];

/// Remove files and directory trees of any size
///
/// Symbolic links are removed, never followed; mounted file systems below are left alone. Safe to interrupt at any time: run the same
/// command to continue. With a condition such as --match, each entry below the paths is selected by itself, as are paths that are not
/// directories; directories given as paths, excluded entries with all below them, and directories that are not empty stay. Always refused:
/// '/', '.', '..', mount points (except with --contents), the current directory and its parents; on Windows, roots of volumes and shares,
/// the user's profile and the Windows directory.
#[derive(clap::Args)]
#[command(mut_arg("json", |json| json.long_help("Print a JSON object with the result\n\nFields: v (format version, 1), removed, bytes, failed, failures and others. budget: with --keep-within, measure (bytes or files), limit, now, is_met and others; else, and after an interruption, null. packed: with --packed, stay (number of entries), changed, not_packed, damaged, unread, problems (of the pack) and stayed (paths and reasons of up to 1000); else null.")))]
#[command(after_help = "\
Exit codes: 0 done; 1 some entries could not be removed, the rest does not fit a budget, or a pack is damaged; 2 usage, or a refused path; 3 no path exists or can be opened; \
130 interrupted, or not confirmed. Errors go to standard error, one line each, at most ten of each kind and then a count.")]
pub(crate) struct Args {
    /// Files and directories to remove
    #[arg(value_name = "PATH", required_unless_present_any = ["files0_from", "packed"], conflicts_with = "files0_from")]
    pub(super) paths: Vec<OsString>,
    /// Read NUL-terminated paths from FILE ('-': standard input), as printed by find -print0
    ///
    /// The list is read as the work proceeds and may have any length. Its paths may not lead through symbolic links, because anyone who can
    /// create such a link could have any file removed. Refused paths are reported, and the others are removed.
    #[arg(long, value_name = "FILE")]
    pub(super) files0_from: Option<PathBuf>,

    /// Remove the contents of the directories, and keep the directories
    #[arg(long, help_heading = "Selection")]
    pub(super) contents: bool,
    /// With --contents, also replace each directory by an empty copy
    ///
    /// Renames the old directory aside, creates one with the same owner, mode, ACLs and extended attributes,
    /// and removes the old one. Directories of ext4 never shrink: after millions of names they stay large and
    /// slow to list. If the file system is full, the contents are removed before the directory is replaced. Programs that
    /// open files in it by its path go on; one whose current directory it is finds that directory removed.
    #[arg(long, requires = "contents", conflicts_with_all = ["keep_newest", "detach", "keep_within"], conflicts_with_all = conditions::IDS)]
    #[arg(help_heading = "Selection")]
    pub(super) renew: bool,
    #[command(flatten)]
    pub(super) conditions: ConditionOptions,
    /// Keep the N newest entries of each directory
    ///
    /// Counts entries that meet the other conditions, except those on times, and are not directories; --by names the
    /// time. Entries with the same time as the last of them stay too. Entries are examined twice.
    #[arg(long, value_name = "N", value_parser = newest, help_heading = "Selection")]
    #[arg(conflicts_with_all = ["contents", "detach"])]
    pub(super) keep_newest: Option<NonZeroUsize>,
    /// Remove what was not used for the longest time, until the rest fits: 50GB, '100k files', '10% free' or '5% free inodes'
    ///
    /// For one directory, which may be a mount point. Regular files count and go, by the space that they take on disk; directories stay, and
    /// so do files with several names, which count once. The last use is the later of access and modification; --by names another time,
    /// for ages too. Of files with the same time, the first paths go first. Conditions protect the files that do not meet them, e.g.
    /// --older-than 1h the young ones; excluded entries do not even count. A file that was used or changed since the run began stays, as
    /// does one with a time to come. If files that stay for their names or times exceed the budget alone, or all that may go would
    /// not free enough, nothing goes; if conditions protect too much, what they leave goes. The exit code is 1 if the rest does not fit, or if
    /// part of the directory cannot be read.
    #[arg(long, value_name = "BUDGET", value_parser = budget, help_heading = "Selection")]
    #[arg(conflicts_with_all = ["contents", "renew", "detach", "keep_newest", "cross_mounts", "files0_from"])]
    pub(super) keep_within: Option<Budget>,
    /// Remove from the directory PATH what PACK holds, whole and unchanged: a directory of 'megadir pack create', or its index.parquet
    ///
    /// PATH is the directory that was packed; by default, the one at the path in the index. The whole pack is read and compared with its
    /// hashes first, then its index with the tree. An entry goes if its member is whole and its inode number, size, mtime, ctime, mode and owner are those
    /// in the index; where these prove nothing, because the file system makes up inode numbers or the file changed just before it
    /// was packed, also its contents are read and compared. What changed, is not in the pack or is damaged in it stays, and is named. Directories that
    /// are in the pack go if they are empty by then; PATH stays, and so do the files of the pack. Conditions cannot be given. The exit
    /// code is 1 if the pack is damaged, or something could not be read or removed.
    #[arg(long, value_name = "PACK", help_heading = "Selection")]
    #[arg(conflicts_with_all = ["contents", "renew", "detach", "keep_newest", "keep_within", "cross_mounts", "files0_from"])]
    #[arg(conflicts_with_all = conditions::IDS)]
    pub(super) packed: Option<PathBuf>,
    /// Skip mounted file systems (default)
    #[arg(long, conflicts_with = "cross_mounts", help_heading = "Selection")]
    pub(super) one_file_system: bool,
    /// Also remove the contents of mounted file systems; mount points stay
    #[arg(long, help_heading = "Selection")]
    pub(super) cross_mounts: bool,

    /// Rename each directory to a hidden name first, which frees its own name at once
    ///
    /// An interrupted run leaves it as .megadir-detached-... next to its old name; the same command finds it and continues.
    #[arg(long, conflicts_with = "contents", conflicts_with_all = conditions::IDS)]
    #[arg(help_heading = "Speed")]
    pub(super) detach: bool,
    /// Limit the rate for all paths together, entries per second, e.g. 500/s or 10k/s; auto pauses when removing slows down
    ///
    /// With auto, the first minute is the reference. When a removal takes 1.5 times as long on average over a second, the
    /// pauses between removals double, up to 63 times the time of a removal; below 1.2 times, they become shorter again.
    #[arg(long, value_name = "N/s|auto", value_parser = rate, help_heading = "Speed")]
    pub(super) rate: Option<Rate>,
    /// Use idle I/O priority, as ionice -c idle; the effect depends on the I/O scheduler
    #[arg(long, help_heading = "Speed")]
    pub(super) idle: bool,
    /// Number of threads, 1 to 256 [default: one per processor, up to 8; one on btrfs]
    #[arg(short = 'j', long, value_name = "N", value_parser = threads, help_heading = "Speed")]
    pub(super) threads: Option<usize>,

    /// Divide the removal among the processes of an MPI launcher
    ///
    /// mpirun -np 4 megadir remove DIR --engine mpi --yes: all hosts need the same program and PATH, which must be a directory. docs/mpi.md has more.
    #[arg(long, value_name = "ENGINE", requires = "yes", help_heading = "Speed")]
    #[arg(conflicts_with_all = conditions::IDS)]
    #[arg(conflicts_with_all = ["files0_from", "renew", "keep_newest", "cross_mounts", "detach", "rate", "threads", "dry_run", "log", "all_errors"])]
    pub(super) engine: Option<Engine>,

    /// Print the number of entries and bytes that would be removed, and remove nothing
    #[arg(long, help_heading = "Confirmation and output")]
    pub(super) dry_run: bool,
    /// With --dry-run, print the path of each entry that would be removed, in the order of the removal
    #[arg(long, requires = "dry_run", conflicts_with_all = WITHOUT_LIST)]
    #[arg(help_heading = "Confirmation and output")]
    pub(super) list: bool,
    /// With --list, end each path with NUL instead of a newline, and escape nothing
    #[arg(short = '0', long, requires = "list", conflicts_with_all = WITHOUT_LIST)]
    #[arg(help_heading = "Confirmation and output")]
    pub(super) null: bool,
    /// Append a JSON line to FILE for each entry, just before it is removed
    ///
    /// Fields: v (format version, 1), path (path_hex, hex digits, if it is not UTF-8) and type; for an entry that could not
    /// be removed, or that turned out to stay, a further line with path and failed. Even after a kill, every entry that is gone has a line. The
    /// file is written to the disk each second and at the end. If it cannot be written, the removal ends.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dry_run", "detach", "renew"])]
    #[arg(help_heading = "Confirmation and output")]
    pub(super) log: Option<PathBuf>,
    #[command(flatten)]
    pub(super) change: ChangeOptions,
}

impl Args {
    pub(in crate::cmd) fn writes(&self) -> bool {
        self.engine.is_none()
    }

    pub(in crate::cmd) fn prints(&self) -> bool {
        self.change.json || self.dry_run
    }

    /// `None` without a fixed rate.
    pub(super) fn rate_max(&self) -> Option<NonZeroU32> {
        if let Some(Rate::Fixed(rate)) = self.rate { Some(rate) } else { None }
    }

    pub(super) fn puts_aside(&self) -> bool {
        self.detach || self.renew
    }

    /// The named directory stays, and may be a mount point.
    pub(super) fn takes_contents(&self) -> bool {
        self.contents || self.keep_within.is_some() || self.packed.is_some()
    }

    /// Options that would take the directory as a whole, or more than one directory. The parser waives a requirement for an option that
    /// conflicts with the required one, so that it alone is not enough.
    fn excluded_by_budget(&self) -> Option<&'static str> {
        let given = [
            (self.contents, "--contents"),
            (self.renew, "--renew"),
            (self.detach, "--detach"),
            (self.keep_newest.is_some(), "--keep-newest"),
            (self.cross_mounts, "--cross-mounts"),
            (self.files0_from.is_some(), "--files0-from"),
        ];
        given.into_iter().find_map(|(is_given, name)| is_given.then_some(name))
    }

    pub(super) fn has_conditions(&self) -> bool {
        self.conditions.any() || self.keep_newest.is_some() || self.keep_within.is_some()
    }

    /// Conditions as options, for the question.
    pub(super) fn condition_words(&self) -> String {
        let newest = self.keep_newest.map(|newest| format!("--keep-newest={newest}"));
        let within = self.keep_within.as_ref().map(|within| format!("--keep-within='{within}'"));
        let words = [self.conditions.words(), newest.unwrap_or_default(), within.unwrap_or_default()];
        words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// Refuses combinations whose meaning would be unclear, or that this system cannot do, before any path is
    /// resolved. Each message has the reason, and, where there is one, another way. Limits of a system are checked
    /// here and not by leaving the option out there, so that the user learns why.
    pub(super) fn check(&self) -> Result<(), CliError> {
        if let Some(other) = self.excluded_by_budget().filter(|_| self.keep_within.is_some()) {
            return Err(CliError::usage(format!(
                "--keep-within: cannot be used with {other}; the directory stays, and files go as needed"
            )));
        }
        refuse_if(&[
            (
                cfg!(not(target_os = "linux")) && self.keep_within.is_some(),
                "--keep-within: needs Linux, because access times, links and space are read as Linux has them",
            ),
            (
                self.keep_within.is_some() && self.engine.is_some(),
                "--keep-within: --engine mpi divides the tree, and no process has the order of all its files; leave --engine out",
            ),
            (
                self.keep_within.is_some() && self.paths.len() != 1,
                "--keep-within: give one directory, because a budget is for one (run it for each)",
            ),
            (cfg!(not(target_os = "linux")) && self.packed.is_some(), "--packed: needs Linux, as packs do"),
            (
                self.packed.is_some() && self.engine.is_some(),
                "--packed: --engine mpi divides the tree, and no process has the whole index; leave --engine out",
            ),
            (
                self.packed.is_some() && self.paths.len() > 1,
                "--packed: give one directory, because a pack is of one (run it for each)",
            ),
            (cfg!(windows) && self.keep_newest.is_some(), "--keep-newest: unavailable on Windows"),
            (
                cfg!(windows) && self.renew,
                "--renew: unavailable on Windows, which cannot exchange two directories atomically",
            ),
            (
                cfg!(windows) && self.cross_mounts,
                "--cross-mounts: unavailable on Windows, where mounted volumes are junctions, which are removed and never followed",
            ),
            (
                self.conditions.types.contains(&FileType::Unknown),
                "--type unknown: remove determines the type of every entry, so none is unknown",
            ),
            (
                self.contents && self.has_conditions(),
                "--contents: redundant with conditions such as --older-than, which keep the given directories",
            ),
        ])
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) type Budget = String;

#[cfg(target_os = "linux")]
fn budget(text: &str) -> Result<Budget, String> {
    Budget::parse(text)
}

/// The option is refused there.
#[cfg(not(target_os = "linux"))]
fn budget(text: &str) -> Result<Budget, String> {
    Ok(text.to_owned())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rate {
    Fixed(NonZeroU32),
    Auto,
}

fn newest(text: &str) -> Result<NonZeroUsize, String> {
    let count = values::count(text)?;
    let newest = NonZeroUsize::new(count as usize).filter(|_| count <= NEWEST_MAX);
    newest.ok_or_else(|| "write a number from 1 to 1M".into())
}

const NEWEST_MAX: u64 = 1_000_000;

fn rate(text: &str) -> Result<Rate, String> {
    if text == "auto" {
        return Ok(Rate::Auto);
    }
    values::rate(text).map(Rate::Fixed).map_err(|error| format!("{error}, or auto"))
}

#[cfg(test)]
mod tests {
    use super::{NonZeroU32, Rate, rate};

    #[test]
    fn rates_are_counts_a_second() {
        let fixed = |rate| NonZeroU32::new(rate).map(Rate::Fixed).ok_or_else(String::new);
        assert_eq!(rate("500/s"), fixed(500));
        assert_eq!(rate("10k/s"), fixed(10_000));
        assert_eq!(rate("7"), fixed(7));
        assert_eq!(rate("auto"), Ok(Rate::Auto));
        for text in ["", "0", "0/s", "/s", "5/m", "5 per second", "-1/s", "0.5/s"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
