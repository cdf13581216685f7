//! `megadir changes`: changes in a tree since its inventory was made.

mod args;
mod gains;
mod lines;
mod paths;
mod rotten;
mod selection;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use megadir::mount_traits::driver_of;
use megadir::{Dir, FileSystem};
use megadir_bench::control::{COMPUTING, WRITING_BACK};
use megadir_inventory::changes::{
    Change, ChangeKind, CompareOptions, Compared, Fields, Keep, Kept, Rotten, Selection, Verified, Watch,
};
use megadir_inventory::changes::{
    check_first_root, compare, compare_inventories, compare_only, compare_scanned, verify,
};
use megadir_inventory::{Excluded, Inventory, Metadata, Root, Rows, Writer, root_path};
use megadir_tasks::{Bytes, Kind, Request, finish_folder};

pub(crate) use self::args::{Args, with_joined_share};
use self::args::{By, Only};
use self::lines::Lines;
use self::selection::selection;
use super::engine::Engine;
use super::error_limiter::ErrorLimiter;
use super::interrupt::{Interrupt, interruptible};
use super::list::examined::MEMORY_BYTES;
use super::progress::Progress;
use super::ranked::{self, Parts, Work};
use super::recorded::recorded_roots;
use super::scan::args::spill_directory;
use super::scan::write_options;
use crate::exit::{self, CliError, refuse_if};
use crate::ui::message::{counted, quoted, quoted_bytes};
use crate::ui::output::Output;

const UNREAD: [&str; 2] = ["entry or directory", "entries or directories"];
/// More suspects are one line on a terminal.
const SUSPECTS_MAX: usize = 10;
const OTHER_MOUNT: &str = "is now a mount point, not entered: entries below it are not compared";
const UNKNOWN_BEFORE: &str = "could not be read during the scan: everything in it counts as added";

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    match args.engine {
        Some(Engine::Mpi) => ranked(args),
        None => interruptible(|interrupt| work(args, None, interrupt)),
    }
}

/// The ranks of a launcher scan the trees into parts next to the inventory, and rank 0 compares these with it.
fn ranked(args: &Args) -> Result<u8, CliError> {
    let beside = args.beside()?;
    let trees = || Opened::new(args)?.divided(args, &beside);
    let request = Request { fresh: args.fresh, ..ranked::request(Kind::Scan, Vec::new()) };
    let parts = Parts::Temporary { beside: &beside, trees: &trees };
    let plan = Work { request, parts, idle: false, quiet: args.quiet };
    ranked::run(&plan, |schedule, _, interrupt| {
        let folder = schedule.job().folder.as_ref().map(Bytes::to_path).transpose()?;
        if let Some(folder) = &folder {
            finish_folder(folder, schedule.parts())?;
        }
        work(args, folder.as_deref(), interrupt)
    })
}

/// Begin of the reason if the path of an inventory is any directory.
const NOT_PARTS: &str = "a directory, not an inventory";

/// Everything that is checked before a tree is read: `newer` is the second inventory if two are compared, `metadata`
/// a copy, because the comparison takes the inventory. `roots` are the trees of the newer inventory, the PATH that
/// was given, or the recorded trees.
struct Opened {
    inventory: Inventory,
    newer: Option<Inventory>,
    metadata: Metadata,
    roots: Vec<PathBuf>,
    selection: Selection,
}

impl Opened {
    fn new(args: &Args) -> Result<Self, CliError> {
        let inventory = Inventory::open(&args.inventory).map_err(|error| {
            match error.reason().starts_with(NOT_PARTS) {
                true => CliError::usage(args.without_inventory()),
                false => error.into(),
            }
        })?;
        let metadata = inventory.metadata().clone();
        args.check(metadata.roots.len())?;
        let newer = args.newer().map(Inventory::open).transpose()?;
        let roots = match (&newer, &args.path) {
            (Some(newer), _) => recorded_roots(newer.metadata())?,
            (None, Some(path)) => vec![path.clone()],
            (None, None) => recorded_roots(&metadata)?,
        };
        let selection = selection(args, (&inventory, newer.as_ref()), &roots)?;
        Ok(Self { inventory, newer, metadata, roots, selection })
    }

    /// Returns the trees, for ranks that write parts into a directory in `beside`. Refuses before the scan whatever the comparison would refuse after it.
    fn divided(mut self, args: &Args, beside: &Path) -> Result<Vec<PathBuf>, CliError> {
        let shown = quoted(&args.inventory);
        if self.metadata.scanned.cross_mounts {
            return Err(CliError::usage(format!(
                "{shown} was made with --cross-mounts, which --engine mpi does not have: leave --engine out"
            )));
        }
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let beside = real(beside);
        let is_above = |tree: &&PathBuf| beside.starts_with(real(tree));
        if let Some(tree) = self.roots.iter().find(is_above) {
            return Err(CliError::usage(format!(
                "--engine mpi: {shown} is in the tree {}, and the ranks write next to it; move it to another directory that all \
                 ranks share",
                quoted(tree)
            )));
        }
        if let (Some(root), false) = (self.roots.first(), args.any_root) {
            check_first_root(&mut self.inventory, Dir::open(root)?)?;
        }
        Ok(self.roots)
    }
}

/// State of a comparison apart from the inventories, which the library takes. `failures` decides the exit code and
/// counts printed failures and those that `complaints` holds back alike.
struct Run<'a> {
    args: &'a Args,
    interrupt: &'a Interrupt,
    metadata: Metadata,
    roots: Vec<PathBuf>,
    selection: Selection,
    failures: u64,
    complaints: ErrorLimiter,
}

/// The state to compare with: a new scan, or the newer of two inventories. Without either, the trees are read.
enum Now {
    Trees,
    Newer(Inventory),
    Scanned(Inventory),
}

/// `scanned`: folder of the parts of a scan that was made for this comparison.
///
/// The order protects `--update`. The writer is created first, since an inventory that cannot be written should be
/// known before hours of reading, and its files are excluded from the comparison. Changes are printed before the
/// inventory is replaced: if the output fails, the inventory stays, and the next run prints the same changes again.
/// Warnings about the inventory come before the comparison and complaints after it, when all are known. Whether
/// anything changed is judged before suspects are taken out of the list, which only shortens the output.
fn work(args: &Args, scanned: Option<&Path>, interrupt: &Interrupt) -> Result<u8, CliError> {
    let Opened { inventory, newer, metadata, roots, selection } = Opened::new(args)?;
    let complaints = ErrorLimiter::new(args.all_errors);
    let mut run = Run { args, interrupt, metadata, roots, selection, failures: 0, complaints };
    run.warn_of(&args.inventory, &inventory);
    let mut exclude: Vec<_> = inventory.excluded().into_iter().collect();
    if let (Some(path), Some(newer)) = (args.newer(), &newer) {
        run.warn_of(path, newer);
        exclude.extend(newer.excluded());
    }
    let writer = if args.update { Some(run.writer()?) } else { None };
    exclude.extend(writer.iter().flat_map(Writer::excluded));
    run.warn_of_tmpfs();
    let now = match (newer, scanned) {
        (Some(newer), _) => Now::Newer(newer),
        (None, Some(folder)) => Now::Scanned(Inventory::open(folder)?),
        (None, None) => Now::Trees,
    };
    let compared = run.compare(inventory, now, exclude);
    if interrupt.is_requested() {
        return Err(interrupted(args));
    }
    let mut compared = compared?;
    if args.verify.is_some() {
        run.verify(&mut compared)?;
    }
    let (verified, read) = args.share().map_or((Verified::default(), Ok(())), |share| run.contents(share));
    if let Err(error) = read {
        return rotten_first(!verified.rotten.is_empty(), Err(error));
    }
    compared.ignore(args.ignore.iter().fold(Fields::NOTHING, |all, field| all.with(*field)));
    run.selection.choose(&mut compared.changes);
    compared.changes.retain(|change| args.only.is_empty() || args.only.contains(&Only::Kind(change.kind)));
    run.complain(&compared);
    let rotten = run.complain_of_rotten(verified);
    let is_rotten = !rotten.is_empty();
    let done = run.check_gains(&compared).and_then(|()| run.conclude(compared, &rotten, writer));
    rotten_first(is_rotten, done)
}

/// Rotten contents come first, also before errors: a script that backs up after changes must not copy them over good ones.
fn rotten_first(is_rotten: bool, done: Result<u8, CliError>) -> Result<u8, CliError> {
    match done {
        Ok(_) if is_rotten => Ok(exit::ROTTEN),
        Err(error) if is_rotten => {
            super::engine::print_error(&error, false);
            Ok(exit::ROTTEN)
        }
        done => done,
    }
}

impl Run<'_> {
    /// Prints the changes and the rotten files, and replaces the inventory if it is to be updated. In this order: if the output
    /// fails, the inventory stays as it is, and the next run prints the same changes again.
    fn conclude(
        &mut self,
        mut compared: Compared,
        rotten: &[Rotten],
        writer: Option<Writer>,
    ) -> Result<u8, CliError> {
        let (args, run) = (self.args, self);
        let is_changed = compared.is_changed();
        if run.counts_suspects(&compared) {
            compared.changes.retain(|change| change.kind != ChangeKind::Suspect);
        }
        if !args.quiet {
            let mut output = Output::new()?;
            let lines = Lines::new(args, &run.roots, output.is_terminal());
            let written = match (args.gains, &compared.gains) {
                (Some(by), Some(gains)) => gains::write(gains, by, args, &lines, &mut output),
                _ => lines
                    .write(&compared.changes, &mut output)
                    .and_then(|()| lines.write_rotten(args, rotten, &mut output)),
            };
            if let Err(ended) = written {
                // The next run prints these changes again.
                return ended.code();
            }
        }
        if let Some(writer) = writer
            && let Some(now) = compared.now.take()
            && !run.update(writer, now, compared.lost)?
        {
            return Err(interrupted(args));
        }
        Ok(match ((args.quiet || args.exit_code) && is_changed, run.failures) {
            (true, _) => exit::CONDITION_MET,
            (false, 0) => exit::DONE,
            _ => exit::SOME_FAILED,
        })
    }
}

impl Run<'_> {
    fn warn_of(&mut self, path: &Path, inventory: &Inventory) {
        let (shown, metadata) = (quoted(path), inventory.metadata());
        if let Some(error) = inventory.unfinished() {
            self.fail(&exit::describe(&error));
        }
        if !metadata.is_complete() {
            let failed = counted(metadata.failed.max(metadata.unread_directories), "entry", "entries");
            eprintln!("megadir: {shown} is incomplete: {failed} could not be read during the scan");
        }
        if !inventory.has_footer_checksum() {
            eprintln!(
                "megadir: {shown} has no checksum of its metadata because an older version wrote it: damage to its times would not be detected"
            );
        }
    }

    fn open(&self) -> Vec<megadir::Result<Dir>> {
        self.roots.iter().map(Dir::open).collect()
    }

    /// Timestamps are less reliable on tmpfs.
    fn warn_of_tmpfs(&self) {
        let is_tmpfs = |(root, recorded): &(&PathBuf, &Root)| match self.args.newer() {
            Some(_) => FileSystem::from_name(&recorded.file_system) == FileSystem::Tmpfs,
            None => Dir::open(root).is_ok_and(|root| root.file_system() == FileSystem::Tmpfs),
        };
        if let Some((root, _)) = self.roots.iter().zip(&self.metadata.roots).find(is_tmpfs) {
            eprintln!(
                "megadir: {} is on tmpfs, where writes through a memory mapping change no times: they are not detected",
                quoted(root)
            );
        }
    }

    /// The trees are opened only if they are read. A list of paths (`--files0-from`) limits the comparison to these,
    /// so the number of rows is then no estimate of the work, and the progress has none. Paths outside of the trees
    /// are failures, which are reported after the progress has left the terminal.
    fn compare(
        &mut self,
        inventory: Inventory,
        now: Now,
        exclude: Vec<Excluded>,
    ) -> Result<Compared, CliError> {
        let options = CompareOptions {
            threads: self.args.threads.unwrap_or_else(megadir::policy::processors),
            skip_unchanged: !self.args.list_all,
            any_root: self.args.any_root,
            keep: self.args.update.then(|| Keep {
                memory_bytes: self.args.memory.unwrap_or(MEMORY_BYTES),
                spill_directory: spill_directory(Some(&self.args.inventory)),
            }),
            exclude,
            conditions: self.selection.sight.clone(),
            gains: self.args.gains.map(|_| self.selection.counted()),
            fresh: self.args.fresh,
        };
        let watch = Watch { stop: Arc::clone(&self.interrupt.stop), entries: AtomicU64::new(0) };
        let roots = if matches!(now, Now::Trees) { self.open() } else { Vec::new() };
        let progress = Progress::new("entries compared", self.args.quiet);
        if self.args.files0_from.is_none() {
            progress.counter().expect(Some(self.metadata.rows), true);
        }
        let compared = progress.of(&watch.entries, || -> Result<_, CliError> {
            let found = match now {
                Now::Newer(newer) => compare_inventories(inventory, newer, &options, &watch)?,
                Now::Scanned(scanned) => compare_scanned(inventory, scanned, &options, &watch)?,
                Now::Trees => {
                    let Some(list) = &self.args.files0_from else {
                        return Ok((compare(inventory, roots, &options, &watch)?, Vec::new()));
                    };
                    let (paths, unknown) = paths::read(list, &self.roots)?;
                    return Ok((compare_only(inventory, roots, paths, &options, &watch)?, unknown));
                }
            };
            Ok((found, Vec::new()))
        });
        let (compared, unknown) = compared?;
        for (kind, message) in unknown {
            self.fail_one(kind, || message);
        }
        Ok(compared)
    }

    fn check_gains(&self, compared: &Compared) -> Result<(), CliError> {
        let lacks = compared.gains.as_ref().is_some_and(|gains| !gains.has_allocated);
        let reason =
            "--gains=allocated: the space on disk is not recorded; use --gains=apparent, or scan again";
        refuse_if(&[(self.args.gains == Some(By::Allocated) && lacks, reason)])
    }

    fn verify(&self, compared: &mut Compared) -> Result<(), CliError> {
        let undecided = verify(compared, &self.trees(), &self.read_options())?;
        if self.interrupt.is_requested() {
            return Err(interrupted(self.args));
        }
        if undecided > 0 {
            eprintln!(
                "megadir: {} cannot be decided: the inventory has no hashes for them (scan --hash suspects and --update --verify store hashes)",
                counted(undecided, "suspect", "suspects")
            );
        }
        Ok(())
    }

    fn fail(&mut self, message: &str) {
        eprintln!("megadir: {message}");
        self.failures += 1;
    }

    fn fail_one(&mut self, kind: &str, message: impl FnOnce() -> String) {
        self.complaints.print(kind, 1, message);
        self.failures += 1;
    }

    /// Once, for the first of such trees.
    fn report_unnumbered(&self, compared: &Compared) {
        let root = compared.unnumbered.first().and_then(|root| self.roots.get(*root as usize));
        let (path, driver) = match (root, compared.unnumbered_mounts.first()) {
            (Some(root), _) => {
                let driver = Dir::open(root).ok().and_then(|root| driver_of(&root));
                (quoted(root), driver)
            }
            (None, Some(mount)) => (quoted_bytes(&mount.path), mount.driver.clone()),
            (None, None) => return,
        };
        let driver = driver.map_or(String::new(), |driver| format!(" ({driver})"));
        eprintln!(
            "megadir: inode numbers of {path}{driver} are made up and change: compared by path, type, size and times, and renames by \
             unique times"
        );
    }

    /// Everything here goes to standard error, after the comparison and before the changes. Each kind of failure is
    /// limited, and the rest is counted. The hint about suspects depends on the means to decide them: hashes exist
    /// only if the inventory has them, and two inventories have no files to read. It is left out if the output is for
    /// programs.
    fn complain(&mut self, compared: &Compared) {
        self.report_unnumbered(compared);
        for error in &compared.failures {
            self.fail_one(&exit::kind(error), || exit::describe(error));
        }
        for path in &compared.other_mounts {
            self.fail_one(OTHER_MOUNT, || format!("{} {OTHER_MOUNT}", quoted(path)));
        }
        for path in &compared.unknown_before {
            self.complaints.print(UNKNOWN_BEFORE, 1, || format!("{} {UNKNOWN_BEFORE}", quoted(path)));
        }
        self.complaints.print_rest();
        if !compared.is_complete() {
            let failed = compared.failed.max(compared.failures.len() as u64);
            eprintln!("megadir: incomplete: {} could not be compared", counted(failed, UNREAD[0], UNREAD[1]));
        }
        if compared.volumes_unknown && compared.is_changed() {
            eprintln!(
                "megadir: {} does not record btrfs subvolumes: after a remount unchanged files in them may be listed as modified or \
                 renamed; `megadir scan` writes an inventory that does",
                quoted(&self.args.inventory)
            );
        }
        if !compared.is_changed() {
            self.report_unchanged();
        }
        let suspect = compared.count(ChangeKind::Suspect);
        let is_listed = self.args.gains.is_none() && !self.args.quiet && !self.args.json && !self.args.null;
        if suspect > 0 && self.args.verify.is_none() && is_listed {
            let has_hash = |change: &Change| change.old.as_ref().is_some_and(|old| old.hash.is_some());
            let hint = match (self.args.newer(), compared.changes.iter().any(has_hash)) {
                (Some(_), _) => "",
                (None, true) => "; --verify compares hashes",
                (None, false) => "; to decide, scan with --hash suspects, then compare with --verify",
            };
            let names = if self.counts_suspects(compared) { "; --only suspect lists them" } else { "" };
            eprintln!(
                "megadir: {}: modified so shortly before the scan that a later change may not show{hint}{names}",
                counted(suspect as u64, "suspect", "suspects")
            );
        }
    }

    /// Nothing at all on a terminal looks like a failure.
    fn report_unchanged(&self) {
        let args = self.args;
        let is_for_programs = args.json || args.null || args.paths || args.quiet || args.gains.is_some();
        let is_terminal = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        if is_terminal && !is_for_programs && self.failures == 0 {
            let of = if args.only.is_empty() { "" } else { " of these kinds" };
            eprintln!("megadir: no changes{of} since the inventory");
        }
    }

    /// A message replaces the lines of suspects: right after a copy every file is one.
    fn counts_suspects(&self, compared: &Compared) -> bool {
        let args = self.args;
        let is_machine_readable = args.json || args.null || args.paths;
        // Open MPI gives rank 0 a terminal, wherever its output goes.
        let is_requested =
            is_machine_readable || args.verify.is_some() || !args.only.is_empty() || args.engine.is_some();
        !is_requested && std::io::stdout().is_terminal() && compared.count(ChangeKind::Suspect) > SUSPECTS_MAX
    }

    fn writer(&self) -> Result<Writer, CliError> {
        let absolute = self.roots.iter().map(|root| root_path(root)).collect::<megadir::Result<_>>()?;
        Ok(Writer::create(&self.args.inventory, absolute, write_options(self.args.threads))?)
    }

    fn update(&mut self, writer: Writer, now: Kept, lost: u64) -> Result<bool, CliError> {
        if lost > 0 {
            self.fail(&format!(
                "{} is unchanged: {} could not be read, and renames from or to them would be lost; make them readable, or accept \
                 the loss with `megadir scan`",
                quoted(&self.args.inventory),
                counted(lost, UNREAD[0], UNREAD[1])
            ));
            return Ok(true);
        }
        let Interrupt { beat, .. } = self.interrupt;
        beat.fetch_or(COMPUTING, Ordering::Relaxed);
        let mut watch = |_: megadir::TreeEvent<'_>| self.interrupt.flow();
        let Some((writer, metadata)) = self.hashed(writer, now, &mut watch)? else { return Ok(false) };
        beat.fetch_or(WRITING_BACK, Ordering::Relaxed);
        writer.finish(&metadata)?;
        beat.fetch_and(!(WRITING_BACK | COMPUTING), Ordering::Relaxed);
        Ok(true)
    }
}

fn interrupted(args: &Args) -> CliError {
    CliError::interrupted(format!("interrupted; {} is unchanged", quoted(&args.inventory)))
}
