//! The options of `megadir remove`, and what of them contradicts each other.

use std::ffi::OsString;
use std::path::PathBuf;

use megadir::FileType;

use crate::cmd::list::values::{file_type, threads};
use crate::exit::CliError;
use crate::parse;

/// Removes files and directories with all that is in them, however many entries that is.
///
/// Symbolic links are removed, never followed; what is mounted below stays. Interrupting it is safe at any moment,
/// and the same command goes on where it was. Refused are '/', '.', '..', what something is mounted on (but with
/// --contents), the current directory and those above it; on Windows roots of volumes and shares, the user's folder and that
/// of Windows.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 done; 1 something could not be removed; 2 usage, or a path that is refused; \
3 none of the paths is there, or may be opened; 130 interrupted, or the question was answered with no. Errors are one line each \
on standard error, at most ten of each kind and then their number.")]
pub(crate) struct Args {
    /// The files and directories to remove.
    #[arg(value_name = "PATH", required_unless_present = "files0_from", conflicts_with = "files0_from")]
    pub(super) paths: Vec<OsString>,
    /// Remove the paths in this file ('-': standard input), each ended by a NUL byte, as find -print0 prints them.
    ///
    /// The list is read as it is worked on and may be of any length. Its paths may not lead through symbolic links:
    /// whoever can put one there could have anything removed. One that is refused is told, and the rest goes on.
    #[arg(long, value_name = "FILE")]
    pub(super) files0_from: Option<PathBuf>,

    /// Remove what is in the directory, and keep the directory itself.
    #[arg(long, help_heading = "What goes")]
    pub(super) contents: bool,
    /// With --contents, make the directory anew: rename it aside, make one with the same owner, mode, ACLs and
    /// extended attributes, and remove the old one.
    ///
    /// A directory of ext4 never shrinks: one that held millions of names stays large and slow to list.
    #[arg(long, requires = "contents", conflicts_with_all = ["older_than", "glob", "types"])]
    #[arg(help_heading = "What goes")]
    pub(super) renew: bool,
    /// Remove only entries modified longer ago than this: 90s, 15m, 12h, 30d, 2w, 1y (365 days).
    ///
    /// With this, --match or --type every entry below the paths is judged by itself, and so is a path that is no directory;
    /// the directories that are named stay, and so do those that are not empty by then.
    #[arg(long, value_name = "AGE", value_parser = parse::age_s, help_heading = "What goes")]
    pub(super) older_than: Option<u64>,
    /// Remove only entries whose name matches this glob, e.g. '*.tmp', '{a,b}-[0-9]*'.
    ///
    /// The glob is held against the whole name, never a path. '*' matches any bytes, a leading dot
    /// included; '?' and '[...]' match one byte, so that a letter like ü is matched by '??'.
    #[arg(short = 'g', long = "match", value_name = "GLOB", help_heading = "What goes")]
    pub(super) glob: Option<OsString>,
    /// Remove only entries of these types: file (f), directory (d), symlink (l), fifo (p), socket (s),
    /// block-device (b), char-device (c), whiteout (w); several with commas.
    #[arg(short = 't', long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = file_type)]
    #[arg(help_heading = "What goes")]
    pub(super) types: Vec<FileType>,
    /// Leave alone what is mounted below; this is the default.
    #[arg(long, conflicts_with = "cross_mounts", help_heading = "What goes")]
    pub(super) one_file_system: bool,
    /// Remove what is in other file systems mounted below too; mount points themselves stay.
    #[arg(long, help_heading = "What goes")]
    pub(super) cross_mounts: bool,

    /// Rename each directory at once to a hidden name beside it, and remove that: its own name is free from then on.
    ///
    /// What was interrupted lies there as .megadir-detached-...; the same command finds it and goes on.
    #[arg(long, conflicts_with_all = ["contents", "older_than", "glob", "types"])]
    #[arg(help_heading = "How it goes")]
    pub(super) detach: bool,
    /// Remove at most this many entries a second, of all paths together, e.g. 500/s or 10k/s.
    #[arg(long, value_name = "N/s", value_parser = rate, help_heading = "How it goes")]
    pub(super) rate: Option<u64>,
    /// Let others use the disk first (the idle class of ionice; how much that does is the I/O scheduler's choice).
    #[arg(long, help_heading = "How it goes")]
    pub(super) idle: bool,
    /// Use at most this many threads, 1 to 256 [default: one a processor, up to 8].
    #[arg(short = 'j', long, value_name = "N", value_parser = threads, help_heading = "How it goes")]
    pub(super) threads: Option<usize>,

    /// Tell how many entries and bytes would go, and remove nothing.
    #[arg(long, help_heading = "Asking and telling")]
    pub(super) dry_run: bool,
    /// Do not ask, however many entries go.
    ///
    /// Without it more than 1000 entries, or an unknown number, go only after a yes, and not at all where there is no terminal to ask on.
    #[arg(short = 'y', long, help_heading = "Asking and telling")]
    pub(super) yes: bool,
    /// Tell every error on a line of its own; without this the first ten of each kind are told, and how many more there were.
    #[arg(long, help_heading = "Asking and telling")]
    pub(super) all_errors: bool,
    /// Print nothing if all that was named is gone, e.g. for cron; errors and what could not be removed are printed.
    #[arg(short, long, conflicts_with_all = ["json", "dry_run"], help_heading = "Asking and telling")]
    pub(super) quiet: bool,
    /// Print a JSON object with what was done: v (version, 1), removed, bytes, failed, failures and more.
    #[arg(long, help_heading = "Asking and telling")]
    pub(super) json: bool,
}

impl Args {
    /// `true` if the summary goes to standard output.
    pub(in crate::cmd) fn prints(&self) -> bool {
        self.json || self.dry_run
    }

    /// Tells whether something is put aside first, and may lie there since an earlier time.
    pub(super) fn puts_aside(&self) -> bool {
        self.detach || self.renew
    }

    /// Tells whether not everything goes.
    pub(super) fn has_conditions(&self) -> bool {
        self.older_than.is_some() || self.glob.is_some() || !self.types.is_empty()
    }

    /// Returns the reason why an option is unavailable on this system.
    fn unavailable(&self) -> Option<&'static str> {
        if cfg!(not(windows)) {
            return None;
        }
        if self.renew {
            return Some("--renew: Windows cannot exchange two directories in one step");
        }
        let reason = "--cross-mounts: on Windows what is mounted in a folder stands there as a junction, which is removed and never followed";
        self.cross_mounts.then_some(reason)
    }

    /// Refuses what the parser of arguments cannot see, before anything is looked at.
    pub(super) fn check(&self) -> Result<(), CliError> {
        if let Some(reason) = self.unavailable() {
            return Err(CliError::usage(reason));
        }
        if self.types.contains(&FileType::Unknown) {
            let reason =
                "--type unknown: types are asked for before anything is removed, and none stays unknown";
            return Err(CliError::usage(reason));
        }
        if self.contents && self.has_conditions() {
            let reason =
                "--contents: with --older-than, --match or --type the directories that are named stay anyway";
            return Err(CliError::usage(reason));
        }
        Ok(())
    }
}

/// Parses a rate, entries a second.
fn rate(text: &str) -> Result<u64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    match parse::count(number) {
        Ok(rate @ 1..) => Ok(rate),
        _ => Err("write entries a second, 1/s or more, as 500/s or 10k/s".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::rate;

    #[test]
    fn rates_are_counts_a_second() {
        assert_eq!(rate("500/s"), Ok(500));
        assert_eq!(rate("10k/s"), Ok(10_000));
        assert_eq!(rate("7"), Ok(7));
        for text in ["", "0", "0/s", "/s", "5/m", "5 per second", "-1/s", "0.5/s"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
