//! Options of `megadir reshard` and their checks.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use crate::cmd::layout::Named;
use crate::cmd::mass_change::ChangeOptions;
use crate::cmd::values;
use crate::exit::{self, CliError};

/// Move the files of a directory to another layout
///
/// Each file is renamed once, from its old path to its new one, so that it has one of the two at all times; no file is ever replaced. Safe
/// to interrupt or kill at any time: run the same command to continue. Files that do not belong to the old layout, names that the new
/// layout cannot place, directories, and entries that are not regular files stay. Directories of the new layout get the owner, mode and
/// ACLs of DIR; emptied directories of the old one are removed. megadir make --help lists the layouts.
#[derive(clap::Args)]
#[command(mut_arg("json", |json| json.long_help("Print a JSON object with the result\n\nFields: v (format version, 1), from, to, moved, conflicts, failures, failed and others.")))]
#[command(after_help = "\
Exit codes: 0 done; 1 some files could not be moved, such as those whose new path is taken; 2 usage; 3 the directory cannot be read or changed, the file system cannot rename without replacing, or another process holds a lock on it; \
130 interrupted, or not confirmed. Errors go to standard error, one line each, at most ten of each kind and then a count.")]
pub(crate) struct Args {
    /// Directory whose files are moved
    #[arg(value_name = "DIR", value_parser = exit::directory_parser())]
    pub(super) directory: PathBuf,
    /// New layout, e.g. digest:2, git or flat
    #[arg(id = "to_layout", long = "to", value_name = "LAYOUT", value_parser = Named::parse)]
    pub(super) to: Named,
    /// Old layout [default: found by a sample of the files]
    #[arg(id = "from_layout", long = "from", value_name = "LAYOUT", value_parser = Named::parse)]
    pub(super) from: Option<Named>,
    /// Move the files into this directory, on the same file system and mount
    #[arg(long, value_name = "DIR", value_parser = exit::directory_parser())]
    pub(super) into: Option<PathBuf>,

    /// At the end, replace DIR with a small copy that has the new layout's directories
    ///
    /// Directories of ext4 never shrink: after millions of names they stay large and slow to list. Requires that only directories of the
    /// new layout are left. The copy has the same owner, mode, ACLs and extended attributes. Every path works at any moment, for some
    /// milliseconds through symbolic links; processes that have DIR open must open it again. After a kill, the same command completes it.
    #[arg(long, conflicts_with_all = ["into", "dry_run"])]
    pub(super) renew: bool,

    /// Leave files whose names match this glob, such as temporary ones; repeat for several
    #[arg(long, value_name = "GLOB", help_heading = "Selection")]
    pub(super) exclude: Vec<String>,
    /// Repeat until interrupted, to move files that programs still create at old paths
    ///
    /// Emptied directories are removed at the end, after --until-quiet. Failures are printed once, and counted as of the last pass.
    #[arg(long, conflicts_with = "dry_run", help_heading = "Selection")]
    pub(super) follow: bool,
    /// With --follow, end when passes have found no file to move for this time, e.g. 10m
    #[arg(long, value_name = "TIME", value_parser = time, requires = "follow", conflicts_with_all = ["dry_run", "offline"], help_heading = "Selection")]
    pub(super) until_quiet: Option<Duration>,

    /// Limit the rate, files per second, e.g. 500/s or 10k/s
    #[arg(long, value_name = "N/s", value_parser = values::rate, help_heading = "Speed")]
    pub(super) rate: Option<NonZeroU32>,
    /// Link and unlink in two threads instead of renaming, if no other program changes DIR meanwhile
    ///
    /// Takes other locks of the kernel than renaming. A file has both paths for a moment. A file that another program
    /// puts in the place of an old one meanwhile may be lost. After a kill, the same command removes old paths that were left.
    #[arg(long, conflicts_with = "follow", help_heading = "Speed")]
    pub(super) offline: bool,
    /// Use idle I/O priority, as ionice -c idle; the effect depends on the I/O scheduler
    #[arg(long, help_heading = "Speed")]
    pub(super) idle: bool,

    /// Print the numbers of files and directories, the expected time and the limits, and change nothing
    ///
    /// Looks up new paths in directories that exist, and checks if directories can be written. Files that would stay are listed and
    /// counted, with exit code 1. Permissions of single files are not checked. On NFS, 9p, FUSE and others it makes, renames and removes an
    /// empty directory, to see if files can be moved.
    #[arg(long, help_heading = "Confirmation and output")]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) change: ChangeOptions,
}

impl Args {
    pub(in crate::cmd) fn prints(&self) -> bool {
        self.change.json || self.dry_run
    }

    pub(super) fn check(&self) -> Result<(), CliError> {
        let from = self.from.as_ref().map(|from| from.layout);
        if from == Some(self.to.layout) && self.to.layout.growth().is_none() && self.into.is_none() {
            return Err(CliError::usage("--from and --to are the same layout: no file would be moved"));
        }
        if self.renew && *self.to.layout.depths().end() == 0 {
            return Err(CliError::usage(
                "--renew: the new layout has files in the directory itself; use --into",
            ));
        }
        Ok(())
    }
}

fn time(text: &str) -> Result<Duration, String> {
    match values::age_s(text)? {
        0 => Err("write 1s or more, e.g. 10m".into()),
        seconds => Ok(Duration::from_secs(seconds)),
    }
}
