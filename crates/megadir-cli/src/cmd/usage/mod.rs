//! `megadir usage`: which directories hold the entries and the space, of a tree or of an inventory.

mod args;
mod csv;
mod json;
mod page;
mod text;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

pub(crate) use self::args::Args;
use self::page::Page;
use super::interrupt::{Interrupt, interruptible};
use super::list::source::{WALK_BUFFER_BYTES, WALK_QUEUE_MAX, processors, raise_descriptor_limit};
use super::list::times::now_s;
use super::scan::progress::Progress;
use crate::exit::{self, CliError, describe};
use crate::ui::message::quoted;
use crate::ui::output::Output;
use megadir::usage::{Item, Report, Usage, UsageEvent, UsageOptions, read};
use megadir::{Dir, WalkOptions, attribute_policy};
use megadir_inventory::{Inventory, Rows, ScanEvent};

/// A report and what it lacks.
pub(super) struct Answer<'a> {
    pub(super) args: &'a Args,
    pub(super) report: Report,
    pub(super) now_s: i64,
    /// Directories that could not be read completely.
    pub(super) unread: u64,
    pub(super) mounts_not_entered: u64,
    /// Errors, each reported on standard error.
    failures: u64,
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let inventory = inventory(&args.paths)?;
    let page = args.html.as_deref().map(Page::prepare).transpose()?;
    let answer = interruptible(|interrupt| match inventory {
        Some(path) => from_inventory(args, path, interrupt),
        None => from_trees(args, interrupt),
    })?;
    let answer = match answer {
        Ok(answer) => answer,
        Err(code) => return Ok(code),
    };
    let mut output = Output::new()?;
    match (args.json, args.csv) {
        (true, _) => json::write(&mut output.text, &answer),
        (_, true) => csv::write(&mut output.text, &answer),
        _ => {
            let is_terminal = output.is_terminal();
            text::write(&mut output.text, &answer, is_terminal);
        }
    }
    if let Some(page) = page {
        page.write(&answer)?;
    }
    match output.flush() {
        Ok(()) if answer.failures + answer.unread + answer.report.unexamined() == 0 => Ok(exit::DONE),
        Ok(()) => Ok(exit::SOME_FAILED),
        Err(ended) => ended.code(),
    }
}

/// The inventory, if the path is a file.
fn inventory(paths: &[PathBuf]) -> Result<Option<&Path>, CliError> {
    let Some(file) = paths.iter().find(|path| path.is_file()) else {
        check_apart(paths)?;
        return Ok(None);
    };
    if paths.len() > 1 {
        return Err(CliError::usage(format!(
            "{} is a file: an inventory must be the only PATH",
            quoted(file)
        )));
    }
    Ok(Some(file))
}

/// Refuses trees that contain each other: their entries would count twice.
fn check_apart(paths: &[PathBuf]) -> Result<(), CliError> {
    // Missing ones are reported when they are opened.
    let real: Vec<_> =
        paths.iter().filter_map(|path| Some((path, std::fs::canonicalize(path).ok()?))).collect();
    for (at, (path, inner)) in real.iter().enumerate() {
        let outer =
            real.iter().enumerate().find(|(other, (_, outer))| *other != at && inner.starts_with(outer));
        if let Some((_, (outer, _))) = outer {
            let (path, outer) = (quoted(path), quoted(outer));
            return Err(CliError::usage(format!("{path} is in {outer}: name each tree once")));
        }
    }
    Ok(())
}

fn options(args: &Args) -> UsageOptions {
    let top = if args.html.is_some() { args.mapped().max(args.printed()) } else { args.printed() };
    UsageOptions { top, depth: args.depth, by: args.by.figure(), now_s: now_s() }
}

/// Exit code if there is no answer.
type Answered<'a> = Result<Answer<'a>, u8>;

fn from_trees<'a>(args: &'a Args, interrupt: &Interrupt) -> Result<Answered<'a>, CliError> {
    raise_descriptor_limit();
    let mut progress = Progress::new("read", args.all_errors);
    let mut usage = Usage::new(options(args));
    let (mut failures, mut unread, mut mounts_not_entered, mut before) = (0, 0, 0, 0);
    let (mut code, mut opened) = (exit::NOTHING_RAN, 0);
    for path in &args.paths {
        let root = Dir::open(path).map_err(CliError::from);
        let root = root.and_then(|root| Ok((walk_options(&root, args)?, root)));
        let (options, root) = match root {
            Ok(root) => root,
            Err(error) => {
                eprintln!("megadir: {error}");
                (failures, code) = (failures + 1, error.code);
                continue;
            }
        };
        opened += 1;
        let mut read_here = 0;
        let mut watch = |event: UsageEvent<'_>| {
            interrupt.beat.fetch_add(1, Ordering::Relaxed);
            match event {
                UsageEvent::Read(read) => {
                    read_here = read;
                    progress.tell(&ScanEvent::Read(before + read));
                }
                UsageEvent::Failed(error) => {
                    unread += 1;
                    progress.tell(&ScanEvent::Failed(error));
                }
                UsageEvent::OtherMount(path) => {
                    mounts_not_entered += 1;
                    progress.tell(&ScanEvent::OtherMount(path));
                }
                UsageEvent::Unexamined { directory, first, errno, count } => {
                    progress.tell(&ScanEvent::Unexamined { directory, first, errno, count });
                }
            }
            if interrupt.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        if read(&mut usage, root, options, &mut watch)?.is_break() {
            progress.finish();
            return Ok(Err(interrupted()));
        }
        before += read_here;
    }
    progress.finish();
    if opened == 0 {
        return Ok(Err(code));
    }
    let report = usage.finish();
    Ok(Ok(Answer { args, report, now_s: now_s(), unread, mounts_not_entered, failures }))
}

fn walk_options(root: &Dir, args: &Args) -> Result<WalkOptions, CliError> {
    let threads = args.threads.unwrap_or_else(processors);
    let examiner = match args.examiner {
        Some(examiner) => examiner.probe(root).map(|()| examiner)?,
        None => attribute_policy::choose(root, Item::WANT, 1)?.examiner,
    };
    Ok(WalkOptions {
        buffer_bytes: WALK_BUFFER_BYTES,
        queue_directories_max: WALK_QUEUE_MAX,
        cross_mounts: args.cross_mounts,
        examine: Some((examiner, Item::WANT)),
        ..WalkOptions::new(threads)
    })
}

fn from_inventory<'a>(args: &'a Args, path: &Path, interrupt: &Interrupt) -> Result<Answered<'a>, CliError> {
    for (given, option) in [
        (args.cross_mounts, "--cross-mounts"),
        (args.threads.is_some(), "--threads"),
        (args.examiner.is_some(), "--examiner"),
    ] {
        if given {
            let path = quoted(path);
            return Err(CliError::usage(format!(
                "{option}: {path} is an inventory, and is not read by a walk"
            )));
        }
    }
    let mut inventory = Inventory::open(path).map_err(|error| CliError::nothing_ran(describe(&error)))?;
    let mut progress = Progress::new("read", args.all_errors);
    let mut usage = Usage::new(options(args));
    let mut watch = |read| {
        interrupt.beat.fetch_add(1, Ordering::Relaxed);
        progress.tell(&ScanEvent::Read(read));
        if interrupt.asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let flow = megadir_inventory::usage(&mut inventory, &mut usage, &mut watch);
    progress.finish();
    if flow?.is_break() {
        return Ok(Err(interrupted()));
    }
    let (report, metadata) = (usage.finish(), inventory.metadata());
    let (unread, mounts_not_entered) = (metadata.unread_directories, metadata.scanned.mounts_not_entered);
    Ok(Ok(Answer { args, report, now_s: now_s(), unread, mounts_not_entered, failures: 0 }))
}

fn interrupted() -> u8 {
    eprintln!("megadir: interrupted; the tree was not read completely");
    exit::INTERRUPTED
}
