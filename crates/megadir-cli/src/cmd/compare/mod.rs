//! `megadir compare`: a tree and its copy, each a directory or an inventory.

mod args;
mod lines;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use megadir::{Conditions, TreeEvent};
use megadir_inventory::copies::{
    CopyOptions, CopyWatch, Counts, Difference, DifferenceKind, Side, compare_copies,
};
use megadir_inventory::{Excluded, Inventory, Rows};

pub(crate) use self::args::Args;
use self::lines::{Lines, SIDES};
use super::amount::{grouped, plural};
use super::error_limiter::{ErrorLimiter, OTHER_MOUNT};
use super::interrupt::{Interrupt, interruptible};
use super::list::examined::MEMORY_BYTES;
use super::progress::Progress;
use crate::exit::{self, CliError, describe};
use crate::ui::message::{quoted, quoted_bytes};
use crate::ui::output::{Ended, Output};

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    args.check()?;
    let conditions = args.conditions()?;
    interruptible(|interrupt| work(args, conditions, interrupt))
}

/// Opens both sides before either is read. An inventory is left out of a tree that contains it. The lines are written while the rows are
/// compared, so that the first differences of large trees appear early; the numbers come last.
fn work(args: &Args, conditions: Option<Arc<Conditions>>, interrupt: &Interrupt) -> Result<u8, CliError> {
    if args.reading.idle {
        megadir::io_priority::make_idle()?;
    }
    let inventories = [inventory(&args.a)?, inventory(&args.b)?];
    let prefixes = prefixes(args, &inventories[0])?;
    let exclude: Vec<Excluded> = inventories.iter().flatten().filter_map(Inventory::excluded).collect();
    let trees = inventories.iter().filter(|inventory| inventory.is_none()).count();
    let [a, b] = inventories;
    let sides = [side(args, &args.a, a, &exclude, trees)?, side(args, &args.b, b, &exclude, trees)?];
    let options = CopyOptions { properties: args.properties(), conditions };
    let shown = Mutex::new(Shown::new(args, trees));
    let event = |side: Option<usize>, event: &TreeEvent<'_>| {
        interrupt.beats();
        shown.lock().unwrap_or_else(PoisonError::into_inner).report(side, event);
    };
    let watch = CopyWatch { stop: &interrupt.stop, event: &event };
    let mut result = Reported::new(args, prefixes)?;
    let counts = compare_copies(sides, &options, &watch, &mut |difference| result.report(difference));
    shown.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
    if interrupt.is_requested() {
        return Err(CliError::interrupted("interrupted; the comparison is incomplete"));
    }
    let counts = counts?;
    match (result.finish(), counts) {
        (Err(ended), _) => ended.code(),
        (Ok(concluded), Some(counts)) => Ok(conclude(args, &counts, &concluded)),
        (Ok(_), None) => Err(CliError::interrupted("interrupted; the comparison is incomplete")),
    }
}

/// `None` for a directory that is no folder of parts.
fn inventory(path: &Path) -> Result<Option<Inventory>, CliError> {
    if !Inventory::is_at(path) {
        return Ok(None);
    }
    let opened = Inventory::open(path).map_err(|error| {
        let hint = if Inventory::recognizes(path) { "" } else { "; name a directory or an inventory" };
        CliError::nothing_ran(describe(&error) + hint)
    });
    opened.map(Some)
}

/// Paths of the trees of an inventory that has several, because paths relative to them would be ambiguous.
fn prefixes(args: &Args, a: &Option<Inventory>) -> Result<Vec<Vec<u8>>, CliError> {
    let roots = a.as_ref().map_or(&[][..], |inventory| &inventory.metadata().roots[..]);
    if roots.len() <= 1 {
        return Ok(Vec::new());
    }
    if args.paths {
        return Err(CliError::usage(format!(
            "--paths: the inventory has {} trees, so relative paths are ambiguous; use --json",
            roots.len()
        )));
    }
    Ok(roots.iter().map(|root| root.path.clone()).collect())
}

/// Two scans share the memory.
fn side(
    args: &Args,
    path: &Path,
    inventory: Option<Inventory>,
    exclude: &[Excluded],
    trees: usize,
) -> Result<Side, CliError> {
    if let Some(inventory) = inventory {
        return Ok(Side::Inventory(Box::new(inventory)));
    }
    let mut options = args.reading.options(&[path.to_owned()], None, exclude.to_vec(), None)?;
    options.memory_bytes = args.reading.memory.unwrap_or(MEMORY_BYTES) / trees.max(1);
    Ok(Side::Tree(path.to_owned(), Box::new(options)))
}

/// Progress of both scans and of the comparison, and mounts that are not entered. `read` has the entries of each side, whose sum is shown until
/// the join begins: from then on, `is_compared`, the number of compared rows. The threads of both scans and the join report here in turn.
struct Shown {
    progress: Progress,
    read: [u64; 2],
    is_compared: bool,
    is_quiet: bool,
    complaints: ErrorLimiter,
}

impl Shown {
    fn new(args: &Args, trees: usize) -> Self {
        let label = if trees == 0 { COMPARED } else { "entries read" };
        let complaints = ErrorLimiter::new(false);
        let progress = Progress::new(label, args.quiet);
        Self { progress, read: [0; 2], is_compared: trees == 0, is_quiet: args.quiet, complaints }
    }

    fn report(&mut self, side: Option<usize>, event: &TreeEvent<'_>) {
        match (side, event) {
            (Some(side), TreeEvent::Read(read)) if !self.is_compared => {
                self.read[side] = *read;
                self.progress.counter().set(self.read.iter().sum());
            }
            (None, TreeEvent::Written(compared)) => {
                if !std::mem::replace(&mut self.is_compared, true) {
                    self.progress = Progress::new(COMPARED, self.is_quiet);
                }
                self.progress.counter().set(*compared);
            }
            (_, TreeEvent::OtherMount(path)) => {
                self.complaints.print(OTHER_MOUNT, 1, || format!("{} {OTHER_MOUNT}", quoted(path)));
            }
            _ => {}
        }
    }

    fn finish(self) {
        drop(self.progress);
        self.complaints.print_rest();
    }
}

const COMPARED: &str = "entries compared";

/// Receives the differences. `is_different` counts only kinds that are reported. `unread` is the first unreadable entry that has no line.
struct Reported<'a> {
    args: &'a Args,
    output: Option<Output>,
    lines: Lines,
    concluded: Concluded,
    ended: Option<Ended>,
}

#[derive(Default)]
struct Concluded {
    is_different: bool,
    unread: Option<String>,
}

impl<'a> Reported<'a> {
    fn new(args: &'a Args, prefixes: Vec<Vec<u8>>) -> Result<Self, CliError> {
        let output = if args.quiet { None } else { Some(Output::new()?) };
        let is_terminal = output.as_ref().is_some_and(Output::is_terminal);
        let lines = Lines::new(args, prefixes, is_terminal);
        Ok(Self { args, output, lines, concluded: Concluded::default(), ended: None })
    }

    fn report(&mut self, difference: &Difference<'_>) -> ControlFlow<()> {
        let is_reported = self.args.reports(difference.kind);
        self.concluded.is_different |= is_reported && difference.kind != DifferenceKind::Unreadable;
        let output = self.output.as_mut().filter(|_| is_reported);
        let has_reason = output.is_some() && !self.args.paths && !self.args.null;
        if let Some((side, error)) = difference.unreadable.filter(|_| !has_reason)
            && self.concluded.unread.is_none()
        {
            let mut path = Vec::new();
            self.lines.path_into(difference, &mut path);
            self.concluded.unread = Some(format!("{} in {}: {error}", quoted_bytes(&path), SIDES[side]));
        }
        let Some(output) = output else { return ControlFlow::Continue(()) };
        self.lines.write(difference, output);
        match output.made().and_then(|()| output.pause()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(ended) => {
                self.ended = Some(ended);
                ControlFlow::Break(())
            }
        }
    }

    fn finish(self) -> Result<Concluded, Ended> {
        if let Some(ended) = self.ended {
            return Err(ended);
        }
        self.output.map_or(Ok(()), |mut output| output.flush())?;
        Ok(self.concluded)
    }
}

/// Prints the numbers, and what could not be compared also with `--quiet`.
fn conclude(args: &Args, counts: &Counts, concluded: &Concluded) -> u8 {
    if !args.quiet {
        eprintln!("megadir: {}", summary(args, counts));
    }
    if !counts.is_complete() {
        eprintln!("megadir: incomplete: {}", lacking(counts, concluded));
    }
    match ((args.quiet || args.exit_code) && concluded.is_different, counts.is_complete()) {
        (true, _) => exit::CONDITION_MET,
        (false, true) => exit::DONE,
        (false, false) => exit::SOME_FAILED,
    }
}

fn summary(args: &Args, counts: &Counts) -> String {
    let agree = plural(counts.agreeing, "entry agrees", "entries agree");
    let others = DifferenceKind::ALL.into_iter().filter(|kind| counts.of(*kind) > 0).map(|kind| {
        let count = counts.of(kind);
        match kind {
            DifferenceKind::Differs => plural(count, "differs", "differ"),
            kind => format!("{} {}", grouped(count), kind.name()),
        }
    });
    let others: Vec<String> = others.collect();
    if others.is_empty() {
        let mut names = vec!["type"];
        names.extend(args.properties().names().filter(|name| *name != "type"));
        return format!("{agree} in {}; no difference", names.join(", "));
    }
    format!("{agree}, {}", others.join(", "))
}

fn lacking(counts: &Counts, concluded: &Concluded) -> String {
    let mut lacking = Vec::new();
    if counts.unreadable > 0 {
        let first = concluded.unread.as_ref().map(|first| format!(" (first: {first})")).unwrap_or_default();
        lacking.push(format!("{} could not be read{first}", plural(counts.unreadable, "entry", "entries")));
    }
    if counts.mounts > 0 {
        let mounts = plural(counts.mounts, "mount was", "mounts were");
        lacking
            .push(format!("{mounts} not entered (--cross-mounts enters mounts, --exclude leaves them out)"));
    }
    let below = [
        (counts.below_unread, "a directory that only the other side could read"),
        (counts.below_mounts, "a mount of the other side"),
    ];
    for (count, place) in below {
        if count > 0 {
            lacking.push(format!("{} not compared below {place}", plural(count, "entry", "entries")));
        }
    }
    lacking.join("; ")
}
