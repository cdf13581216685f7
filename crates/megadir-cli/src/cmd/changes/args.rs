//! Options of `megadir changes`.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use megadir::nearest::choices;
use megadir_inventory::Inventory;
use megadir_inventory::changes::{ChangeKind, Fields, Share, Verify};

use crate::cmd::conditions::{self, ConditionOptions};
use crate::cmd::engine::Engine;
use crate::cmd::values::{memory, read_rate, threads, top};
use crate::exit::{CliError, directory_parser, refuse_if};
use crate::tips::NO_INVENTORY;
use crate::ui::message::quoted;

/// Entries that `--only` reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Only {
    Kind(ChangeKind),
    /// No change.
    Rotten,
}

pub(super) const ROTTEN: &str = "rotten";

fn only(text: &str) -> Result<Only, String> {
    let found = ChangeKind::ALL.into_iter().find(|kind| kind.name() == text).map(Only::Kind);
    let names = ChangeKind::ALL.into_iter().map(ChangeKind::name).chain([ROTTEN]);
    found.or((text == ROTTEN).then_some(Only::Rotten)).ok_or_else(|| choices(text, names))
}

/// Joins `--verify all` and `--verify 1/30` to `--verify=all`. A value has to follow an equals sign, because
/// `--verify INVENTORY` has none; but no inventory has the name of a share.
pub(crate) fn with_joined_share(words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_none_or(|word| word != "changes") {
        return words;
    }
    let mut joined: Vec<OsString> = Vec::with_capacity(words.len());
    for word in words {
        // Also a share that is none, such as `2/1`: its message says so, and that of a missing inventory would not.
        let has_form =
            |word: &str| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('/');
        let is_share = || {
            word.to_str().is_some_and(|word| {
                Verify::parse(word).is_ok() || has_form(word) && !Path::new(word).exists()
            })
        };
        match joined.last_mut().filter(|last| *last == "--verify" && is_share()) {
            Some(last) => {
                last.push("=");
                last.push(&word);
            }
            None => joined.push(word),
        }
    }
    joined
}

fn field(text: &str) -> Result<Fields, String> {
    Fields::from_name(text).ok_or_else(|| choices(text, Fields::all_names()))
}

/// Without them a file that a program changed cannot be distinguished from a rotten one.
const IDENTIFIES: [Fields; 2] = [Fields::MODIFIED, Fields::CONTENTS];

/// They exclude `--gains` and what needs it.
const WITHOUT_GAINS: [&str; 6] = ["paths", "null", "quiet", "only", "ignore", "files0_from"];

/// Show changes of a tree since its inventory was written
///
/// With two inventories, the newer one second, shows the changes between them; no tree is needed.
///
/// Prints one line per change: `added`, `removed`, `modified` (with the differing attributes), `renamed`,
/// `type-changed` or `suspect`. A suspect is a file without differences that was modified so shortly before the scan,
/// or during it, that a later change may not show in its times. A renamed directory is one change; entries that
/// moved with it are not listed. On a terminal, a count replaces more than ten suspects (--only suspect lists them).
///
/// Excluded entries, and entries deeper than --max-depth, do not exist on either side. The other conditions choose among the changes: a
/// change is reported if the entry meets them before or after it. With conditions, changed times of directories are not reported, because
/// entries that are left out change them too. The conditions of an inventory made with 'megadir scan' and conditions apply as well.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 done; 1 some entries could not be compared; 2 usage, not the directory that was scanned, or inventories that are not comparable; 3 the \
inventory or the tree could not be opened; 10 --quiet or --exit-code: changes or suspects exist; 12 --verify: contents are rotten, whatever else there is; 130 interrupted. Errors go to standard \
error, one line each, at most ten of each kind and then a count.")]
pub(crate) struct Args {
    /// Inventory written by 'megadir scan', or a folder of its parts
    #[arg(value_name = "INVENTORY", value_parser = directory_parser())]
    pub(super) inventory: PathBuf,
    /// Present path of the tree, with which printed paths begin, or a newer inventory of it [default: the path that was scanned, made absolute]
    #[arg(value_name = "PATH|INVENTORY", value_parser = directory_parser())]
    pub(super) path: Option<PathBuf>,
    /// End records with NUL: kind, tab, path; renamed entries have a second record: `from`, tab, path
    #[arg(short = '0', long)]
    pub(super) null: bool,
    /// Print one JSON object per change
    ///
    /// Fields: v (format version, 1), change, path, and if they apply from, fields, suspect, old and new. `old` and `new` have the columns
    /// of the inventory (docs/inventory.md). A path that is not UTF-8 is printed as path_hex (from_hex), the hex digits of its bytes.
    #[arg(long, conflicts_with = "null")]
    pub(super) json: bool,
    /// Report only changes of these kinds, comma-separated: added, removed, modified, renamed, type-changed, suspect
    ///
    /// Rotten contents, which are no change, are always reported; `rotten` alone leaves out all changes.
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = only, conflicts_with = "update")]
    pub(super) only: Vec<Only>,
    /// Do not compare these fields, comma-separated: size, mtime, ctime, inode, mode, owner, links, contents
    ///
    /// After 'cp -a' to another place, --any-root --ignore ctime,inode,links leaves true differences, and after 'chmod -R' --ignore ctime,mode. Without ctime, a file of the same
    /// size whose mtime was set back is not detected.
    #[arg(long, value_name = "FIELD", value_delimiter = ',', value_parser = field, conflicts_with = "update")]
    pub(super) ignore: Vec<Fields>,
    /// Print the path of each changed entry and nothing else, relative to the tree: for rsync --files-from and tar -T
    ///
    /// A path that begins with # or ; has ./ before it, because rsync takes it for a comment. A renamed entry has its new path, a removed one its old path. With --null, paths end with NUL. docs/backup.md has recipes.
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub(super) paths: bool,
    /// Print the directories that gained the most instead of the changes, by this figure [default: entries]
    ///
    /// The figures are those of everything below a directory, now minus before. A renamed directory is lost at its old path and
    /// gained at its new one. Sizes do not include directories, and hard links count for each of their names. With --json one
    /// object per directory: v, path, entries, allocated (null if an inventory lacks it), apparent.
    #[arg(long, value_name = "FIGURE", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "entries",
        conflicts_with_all = WITHOUT_GAINS)]
    pub(super) gains: Option<By>,
    /// With --gains, number of directories to list [default: 10; all with --json]
    #[arg(short = 'n', long, value_name = "N", value_parser = top, requires = "gains")]
    #[arg(conflicts_with_all = WITHOUT_GAINS)]
    pub(super) top: Option<usize>,
    /// Print no changes; exit with code 10 if there are any
    #[arg(short, long, conflicts_with_all = ["null", "json"])]
    pub(in crate::cmd) quiet: bool,
    /// Exit with code 10 if there are any changes, also after they were printed; --quiet implies it
    #[arg(long)]
    pub(super) exit_code: bool,
    /// Update the inventory after all changes have been printed
    ///
    /// The inventory stays unchanged if an entry could not be read that it does not record as unreadable. Excludes all conditions, and
    /// inventories made with conditions, because rows would be lost.
    #[arg(long, conflicts_with_all = conditions::IDS)]
    pub(super) update: bool,
    /// With --update, sort in at most this much memory, then in temporary files next to the inventory [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = memory, requires = "update")]
    #[arg(conflicts_with_all = ["only", "ignore", "files0_from"], conflicts_with_all = conditions::IDS)]
    pub(super) memory: Option<usize>,
    /// Hash suspects and compare with the hashes in the inventory, with --verify=all every file, with --verify=1/30 another thirtieth each day (UTC)
    ///
    /// With --update, hashes of new suspects are stored, and with a share of all files those of all files that have none. A file of the same size, mtime,
    /// ctime and inode whose contents differ from its hash ('scan --hash all') was changed by no program: it is `rotten`, which is no change, and makes the
    /// exit code 12. --verify=1/30@7 takes the share of another day, counted from 0. docs/rotten.md has a schedule.
    #[arg(long, value_name = "FILES", value_parser = Verify::parse, num_args = 0..=1, require_equals = true, default_missing_value = "suspects")]
    pub(super) verify: Option<Verify>,
    /// With --verify, limit the rate of reading contents, bytes per second, e.g. 50MB/s
    #[arg(long, value_name = "SIZE/s", value_parser = read_rate, requires = "verify", conflicts_with = "engine")]
    pub(super) read_rate: Option<NonZeroU32>,
    /// Compare only the NUL-terminated paths in LIST ('-': standard input)
    ///
    /// Relative paths start at the current directory. A directory stands for itself, without its contents.
    #[arg(long, value_name = "LIST", conflicts_with = "update")]
    pub(super) files0_from: Option<PathBuf>,
    #[command(flatten)]
    pub(super) conditions: ConditionOptions,
    /// Compare even if the root is not the directory that was scanned
    #[arg(long)]
    pub(super) any_root: bool,
    /// Ask the server of a network file system for attributes, not the cache of this machine
    #[arg(long)]
    pub(super) fresh: bool,
    /// List unchanged directories again, too
    #[arg(long)]
    pub(super) list_all: bool,
    /// Divide the scan of the tree among the processes of an MPI launcher
    ///
    /// mpirun -np 4 megadir changes INVENTORY --engine mpi: all hosts need the same program and tree. The processes write into a
    /// private directory next to the inventory, which is removed at the end: all of them must see it, and it must not be in the tree. docs/mpi.md has more.
    #[arg(long, value_name = "ENGINE", conflicts_with_all = ["update", "memory", "verify", "files0_from", "list_all", "threads"])]
    pub(super) engine: Option<Engine>,
    /// Print every error (default: the first ten of each kind, then a count)
    #[arg(long)]
    pub(super) all_errors: bool,
    /// Number of threads, 1 to 256 [default: one per processor, up to 8]
    #[arg(short = 'j', long, value_name = "N", value_parser = threads)]
    pub(super) threads: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    /// Number of entries
    Entries,
    /// Space on disk
    Allocated,
    /// Sum of sizes
    Apparent,
}

impl Args {
    pub(in crate::cmd) fn writes(&self) -> bool {
        self.update
    }

    pub(super) fn share(&self) -> Option<Share> {
        match self.verify {
            Some(Verify::Contents(share)) => Some(share),
            _ => None,
        }
    }

    pub(super) fn verifies_all(&self) -> bool {
        self.share() == Some(Share::ALL)
    }

    pub(super) fn newer(&self) -> Option<&Path> {
        self.path.as_deref().filter(|path| Inventory::is_at(path))
    }

    /// Directory of the inventory, in which the ranks of `--engine` write their parts.
    pub(super) fn beside(&self) -> Result<PathBuf, CliError> {
        let shown = quoted(&self.inventory);
        let path = std::path::absolute(&self.inventory);
        let path = path.map_err(|error| CliError::nothing_ran(format!("open {shown}: {error}")))?;
        let parent = path.parent().filter(|_| path.file_name().is_some()).map(Path::to_path_buf);
        let reason = || format!("--engine mpi: {shown} has no name; give its path with a name");
        parent.ok_or_else(|| CliError::usage(reason()))
    }

    /// The first path is a directory.
    pub(super) fn without_inventory(&self) -> String {
        let tree = quoted(&self.inventory);
        match self.path.as_deref().filter(|_| self.newer().is_some()) {
            Some(inventory) => {
                format!("{tree} is a directory; write the inventory {} first", quoted(inventory))
            }
            None => format!("{tree} is a directory; {NO_INVENTORY}"),
        }
    }

    fn check_two(&self) -> Result<(), CliError> {
        let reading = [
            ("--update", self.update, "the second inventory is the current one; keep it instead"),
            (
                "--verify",
                self.verify.is_some(),
                "two inventories have no contents to hash; give the path of the tree",
            ),
            ("--files0-from", self.files0_from.is_some(), "select entries with --path-match"),
            ("--list-all", self.list_all, "nothing is listed"),
            ("--fresh", self.fresh, "no attributes are read"),
            ("--engine mpi", self.engine.is_some(), "one process compares them"),
        ];
        let given = reading.iter().find(|(_, is_given, _)| *is_given);
        let Some((option, _, hint)) = given else { return Ok(()) };
        Err(CliError::usage(format!("{option} cannot be used with two inventories: {hint}")))
    }

    /// Refuses options that contradict each other or the number of trees, which the parser does not know: a path for one of several trees, an update of
    /// a folder, a selection of rotten files without reading any.
    pub(super) fn check(&self, roots: usize) -> Result<(), CliError> {
        if self.paths && roots != 1 {
            return Err(CliError::usage(format!(
                "--paths: the inventory has {roots} trees, so relative paths are ambiguous; use --json"
            )));
        }
        if self.update && self.inventory.is_dir() {
            return Err(CliError::usage(format!(
                "--update: {} is a folder of parts; write one file with 'megadir scan --merge FOLDER --output FILE'",
                quoted(&self.inventory)
            )));
        }
        if self.gains.is_some() && self.verify.is_some() && !self.update {
            return Err(CliError::usage(
                "--verify: --gains prints no suspects; leave it out, or add --update to store their hashes",
            ));
        }
        let share = self.share().is_some();
        refuse_if(&[
            (
                self.only.contains(&Only::Rotten) && !share,
                "--only rotten: add --verify=all, or a share such as --verify=1/30",
            ),
            (
                share && self.ignore.iter().any(|field| IDENTIFIES.contains(field)),
                "--ignore: without mtime and contents, --verify=all would call a file rotten that a program changed",
            ),
            (
                share && self.files0_from.is_some(),
                "--files0-from: --verify=all reads the files of the inventory; select them with --path-match",
            ),
        ])?;
        match self.path {
            Some(_) if self.newer().is_some() => self.check_two(),
            Some(_) if roots != 1 => Err(CliError::usage(format!(
                "PATH: the inventory has {roots} trees, so a single path is ambiguous; leave PATH out"
            ))),
            _ => Ok(()),
        }
    }
}
