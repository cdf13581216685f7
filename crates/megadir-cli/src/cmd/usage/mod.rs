//! `megadir usage`: which directories hold the entries and the space, of a tree or of an inventory.

mod args;
mod formats;
mod page;
mod text;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub(crate) use self::args::Args;
use self::args::{DEPTH_DIVIDED, TOP_ALL};
use self::formats::Tree;
use super::conditions::refuse_unrecorded;
use super::engine::Engine;
use super::interrupt::{Interrupt, interruptible};
use super::list::source::{WALK_BUFFER_BYTES, WALK_QUEUE_MAX, raise_descriptor_limit, walk_threads};
use super::progress::TreeProgress;
use super::ranked::{self, Parts, Work};
use super::recorded::{recorded_roots, refuse_reading_options};
use super::scan::check_apart;
use super::times::{now_s, started_s};
use crate::exit::{self, CliError, describe};
use crate::ui::message::quoted;
use crate::ui::new_file::NewPage;
use crate::ui::output::Output;
use megadir::usage::{By, Directory, Item, Report, Root, Sum, Usage, UsageOptions, read};
use megadir::{Conditions, Dir, StatMask, TreeEvent, TreePath, WalkOptions, attribute_policy};
use megadir_inventory::{Inventory, Rows};
use megadir_tasks::{Kind, Request};

/// Report with its gaps. `is_selection` is set if conditions left entries out. `unread` counts directories that could
/// not be read, `failures` trees that could not be read at all; if that is every tree, `code_if_none` has the exit
/// code. `now_s` is seconds since 1970, for ages.
pub(super) struct Answer<'a> {
    pub(super) args: &'a Args,
    pub(super) is_selection: bool,
    pub(super) report: Report,
    pub(super) now_s: i64,
    pub(super) unread: u64,
    pub(super) mounts_not_entered: u64,
    /// Includes trees that could not be opened or read.
    trees: Vec<Tree>,
    failures: u64,
    code_if_none: Option<u8>,
}

impl<'a> Answer<'a> {
    /// The answer for trees that were read completely.
    fn of(args: &'a Args, report: Report) -> Self {
        Self {
            args,
            is_selection: false,
            report,
            now_s: started_s(),
            unread: 0,
            mounts_not_entered: 0,
            trees: Vec::new(),
            failures: 0,
            code_if_none: None,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    if let Some(Engine::Mpi) = args.engine {
        return ranked(args);
    }
    let inventory = inventory(&args.paths, args.cross_mounts)?;
    let by = args.by()?;
    args.refuse_unreturned(by)?;
    let page = args.html.as_deref().map(|path| NewPage::prepare("page", "read", path)).transpose()?;
    let textfile = args.prometheus.prepare()?;
    let answer = interruptible(|interrupt| match inventory {
        Some(path) => from_inventory(args, by, path, interrupt),
        None => from_trees(args, by, interrupt),
    })?;
    let printed = answer.code_if_none.map_or_else(|| print(&answer), Ok);
    let metrics = textfile.map_or(Ok(()), |textfile| textfile.write(&formats::metrics(&answer)));
    let page = page.filter(|_| answer.code_if_none.is_none());
    let page = page.map_or(Ok(()), |page| page.write(&page::document(&answer)));
    Ok(exit::worst([printed, metrics.map(|()| exit::DONE), page.map(|()| exit::DONE)]))
}

fn print(answer: &Answer<'_>) -> Result<u8, CliError> {
    let mut output = Output::new()?;
    match (answer.args.json, answer.args.csv) {
        (true, _) => formats::json(&mut output.text, answer),
        (_, true) => formats::csv(&mut output.text, answer),
        _ => {
            let is_terminal = output.is_terminal();
            text::write(&mut output.text, answer, is_terminal);
        }
    }
    match output.flush() {
        Ok(()) if answer.failures + answer.unread + answer.report.unexamined() == 0 => Ok(exit::DONE),
        Ok(()) => Ok(exit::SOME_FAILED),
        Err(ended) => ended.code(),
    }
}

fn ranked(args: &Args) -> Result<u8, CliError> {
    check_apart(&args.paths, args.cross_mounts)?;
    let by = args.by()?;
    let depth = args.depth.unwrap_or(DEPTH_DIVIDED);
    let options = UsageOptions { depth: Some(depth), ..options(args, by) };
    let request = ranked::request(Kind::Usage, args.paths.clone());
    let request = Request { depth, fresh: args.readers.fresh, ..request };
    let work = Work { request, parts: Parts::New, idle: false, quiet: false };
    ranked::run(&work, |schedule, _, _| {
        let mut roots: Vec<Root> = args
            .paths
            .iter()
            .map(|path| Root { path: path.clone(), sum: Sum::default(), listable: 0 })
            .collect();
        let mut directories = Vec::new();
        for sum in schedule.sums() {
            match sum.depth() {
                0 => roots[sum.root as usize].sum = sum.figures(),
                depth => {
                    roots[sum.root as usize].listable += 1;
                    let path = TreePath::from(&sum.path.0);
                    directories.push(Directory { root: sum.root, path, depth, sum: sum.figures() });
                }
            }
        }
        let report = Report::of_sums(&options, roots, &directories, schedule.unexamined());
        let (unread, mounts_not_entered) = (schedule.progress().failures, schedule.mounts_not_entered());
        print(&Answer { unread, mounts_not_entered, ..Answer::of(args, report) })
    })
}

fn inventory(paths: &[PathBuf], cross_mounts: bool) -> Result<Option<&Path>, CliError> {
    let Some(file) = paths.iter().find(|path| Inventory::is_at(path)) else {
        check_apart(paths, cross_mounts)?;
        return Ok(None);
    };
    if paths.len() > 1 {
        let kind = if file.is_dir() { "a folder of parts" } else { "a file" };
        let takes = match Inventory::recognizes(file) {
            true => "an inventory must be the only PATH",
            false => "usage takes directories, or one inventory written by 'megadir scan'",
        };
        let file = quoted(file);
        return Err(CliError::usage(format!("{file} is {kind}: {takes}")));
    }
    Ok(Some(file))
}

fn options(args: &Args, by: By) -> UsageOptions {
    let top = if args.html.is_some() { args.top.unwrap_or(TOP_ALL) } else { args.printed() };
    UsageOptions { top, depth: args.depth, by, now_s: started_s() }
}

/// The trees are read one after the other into the same sums, with one progress over all. A tree that cannot be read
/// does not end the others. Time and duration are noted for each tree that was read to its end; the others have
/// neither, by which the metrics recognize them. An interrupt returns an error without a report, because sums of a
/// part look like sums of the whole.
fn from_trees<'a>(args: &'a Args, by: By, interrupt: &Interrupt) -> Result<Answer<'a>, CliError> {
    let conditions = args.conditions(&args.paths)?;
    raise_descriptor_limit();
    let mut progress = TreeProgress::new(args.all_errors, false);
    let mut usage = Usage::new(options(args, by));
    let (mut failures, mut unread, mut mounts_not_entered, mut before) = (0, 0, 0, 0);
    let mut code = exit::NOTHING_RAN;
    let mut trees = Vec::new();
    for path in &args.paths {
        let started = Instant::now();
        let (mut read_here, mut is_complete) = (0, true);
        let mut watch = |mut event: TreeEvent<'_>| {
            interrupt.beats();
            match &mut event {
                TreeEvent::Read(read) => {
                    read_here = *read;
                    *read += before;
                }
                TreeEvent::Failed(_) => (unread, is_complete) = (unread + 1, false),
                TreeEvent::OtherMount(_) => mounts_not_entered += 1,
                TreeEvent::Unexamined { .. } => is_complete = false,
                TreeEvent::Written(_) => {}
            }
            progress.report(&event);
            interrupt.flow()
        };
        let flow = Dir::open(path).map_err(CliError::from).and_then(|root| {
            let options = walk_options(&root, args, conditions.as_ref())?;
            Ok(read(&mut usage, root, options, &mut watch)?)
        });
        before += read_here;
        let (took, read_s) = match flow {
            Ok(ControlFlow::Continue(())) => (Some(started.elapsed()), Some(now_s())),
            Ok(ControlFlow::Break(())) => {
                progress.finish();
                return Err(interrupted());
            }
            Err(error) => {
                eprintln!("megadir: {error}");
                (failures, code, is_complete) = (failures + 1, error.code, false);
                (None, None)
            }
        };
        trees.push(Tree { path: path.clone(), is_complete, took, read_s });
    }
    progress.finish();
    Ok(Answer {
        is_selection: conditions.is_some(),
        unread,
        mounts_not_entered,
        trees,
        failures,
        code_if_none: (failures == args.paths.len() as u64).then_some(code),
        ..Answer::of(args, usage.finish())
    })
}

fn walk_options(
    root: &Dir,
    args: &Args,
    conditions: Option<&Arc<Conditions>>,
) -> Result<WalkOptions, CliError> {
    let want = Item::WANT | conditions.map_or(StatMask::NOTHING, |conditions| conditions.want());
    let (threads, threads_max) = walk_threads(root, args.readers.threads);
    let stat_backend = attribute_policy::stat_backend(root, want, args.readers.stat_backend()?)?;
    Ok(WalkOptions {
        buffer_bytes: WALK_BUFFER_BYTES,
        queue_directories_max: WALK_QUEUE_MAX,
        cross_mounts: args.cross_mounts,
        examine: Some((stat_backend, want)),
        conditions: conditions.map(Arc::clone),
        read_ahead: args.readers.read_ahead.choice(),
        threads_max,
        ..WalkOptions::new(threads)
    })
}

/// The rows are summed as the entries of trees are. Options that read a tree are refused first, and conditions on
/// attributes that were not recorded: they would accept nothing. The report is as old as the scan, so its time comes
/// from the metadata. Gaps of the scan become gaps of the answer.
fn from_inventory<'a>(
    args: &'a Args,
    by: By,
    path: &Path,
    interrupt: &Interrupt,
) -> Result<Answer<'a>, CliError> {
    refuse_reading_options(
        path,
        &[
            (args.cross_mounts, "--cross-mounts"),
            (args.readers.threads.is_some(), "--threads"),
            (args.readers.stat_backend.is_some(), "--stat-backend"),
            (args.readers.fresh, "--fresh"),
            (args.readers.read_ahead.is_given(), "--read-ahead"),
        ],
    )?;
    let inventory = Inventory::open(path).map_err(|error| {
        let or_directory =
            if Inventory::recognizes(path) { "" } else { "; name a directory or an inventory" };
        CliError::nothing_ran(describe(&error) + or_directory)
    })?;
    let roots = recorded_roots(inventory.metadata())?;
    let read_s = Some(inventory.metadata().ended_ns.div_euclid(1_000_000_000));
    let conditions = args.conditions(&roots)?;
    if let Some(conditions) = &conditions {
        refuse_unrecorded(conditions, &inventory)?;
    }
    let mut progress = TreeProgress::new(args.all_errors, false);
    progress.expect(inventory.metadata().rows);
    let mut usage = Usage::new(options(args, by));
    let mut watch = |read| {
        interrupt.beats();
        progress.report(&TreeEvent::Read(read));
        interrupt.flow()
    };
    let flow = megadir_inventory::usage(inventory, conditions.as_ref(), &mut usage, &mut watch);
    progress.finish();
    let ControlFlow::Continue(lacking) = flow? else { return Err(interrupted()) };
    let (unread, mounts_not_entered) = (lacking.unread_directories, lacking.mounts_not_entered);
    let (report, is_selection) = (usage.finish(), conditions.is_some());
    let is_complete = unread + report.unexamined() == 0;
    let trees = roots.into_iter().map(|path| Tree { path, is_complete, took: None, read_s }).collect();
    Ok(Answer { is_selection, unread, mounts_not_entered, trees, ..Answer::of(args, report) })
}

fn interrupted() -> CliError {
    CliError::interrupted("interrupted; the tree was not read completely")
}
