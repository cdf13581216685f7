//! `megadir list --summary`: options and output of the library's statistics.

mod json;
pub(in crate::cmd) mod text;

use std::path::Path;

use megadir::summary::{DirectoryRow, Total};
use megadir::{Attributes, DirPath, DirectorySummary, Entry, StatMask, Summary};

use self::text::Look;
use super::args::{Args, Of};
use super::lines::{Format, Lines};
use super::{Run, Stop};
use crate::cmd::times::{TimeStyle, started_s};
use crate::ui::output::Ended;

const TOP_ENTRIES: usize = 5;
const TOP_DIRECTORIES: usize = 20;

/// Summary of the present directory; `begin` clears it for the next. `unexamined` are entries without attributes,
/// `failures_before` the failures of the run before this directory. What remains of the run's failures, without
/// `complaints`, are directories that could not be read. `printed` is set after the first summary, which an empty
/// line separates from the next.
pub(super) struct Summarizing {
    how: How,
    gathered: Gathered,
    unexamined: u64,
    /// Each was reported as a failure.
    complaints: u64,
    failures_before: u64,
    printed: bool,
}

/// Settings that are the same for all summaries of a run. `top` is the number of rows of a list. `now_s` is the start
/// of the run, seconds since 1970, from which ages are counted, so that all directories have the same.
struct How {
    of: Of,
    top: usize,
    now_s: i64,
    recursive: bool,
    /// With conditions, unexamined entries are not counted: they may not match.
    conditional: bool,
    times: Option<TimeStyle>,
    look: Look,
    lines: Lines,
}

enum Gathered {
    Tree(Box<Summary>),
    Directories(Box<DirectorySummary>),
}

struct Gaps {
    unexamined: u64,
    undecided: u64,
    unread: u64,
}

/// Part of the output that is about one path.
struct Scope<'a> {
    how: &'a How,
    path: &'a Path,
    gaps: Gaps,
}

struct Directories {
    rows: Vec<DirectoryRow>,
    all: DirectorySummary,
}

impl Directories {
    fn others(&self) -> (u64, Total) {
        let shown = self.rows.iter().map(|row| row.totals.total);
        let mut others = self.all.total();
        for total in shown {
            others.entries -= total.entries;
            others.bytes -= total.bytes;
        }
        (self.all.directories() - self.rows.len() as u64, others)
    }
}

impl Summarizing {
    pub(super) fn new(args: &Args, lines: Lines, is_terminal: bool) -> Option<Self> {
        let of = args.summary?;
        let usual = if of == Of::Tree { TOP_ENTRIES } else { TOP_DIRECTORIES };
        let how = How {
            of,
            top: args.top.unwrap_or(usual),
            now_s: started_s(),
            recursive: args.recursive,
            conditional: args.conditions.any_on_attributes(),
            times: args.time_style,
            look: Look::new(is_terminal, args.human()),
            lines,
        };
        let gathered = Gathered::new(&how);
        Some(Self { how, gathered, unexamined: 0, complaints: 0, failures_before: 0, printed: false })
    }

    pub(super) fn begin(&mut self, failures: u64) {
        self.gathered = Gathered::new(&self.how);
        (self.unexamined, self.complaints, self.failures_before) = (0, 0, failures);
    }

    pub(super) fn want(&self) -> StatMask {
        match self.how.of {
            Of::Tree => Summary::WANT,
            Of::Directories => DirectorySummary::WANT,
        }
    }

    pub(super) fn enter(&mut self, directory: &DirPath) {
        if let Gathered::Directories(summary) = &mut self.gathered {
            summary.enter(directory);
        }
    }

    #[inline]
    pub(super) fn add(&mut self, prefix: &[u8], entry: &Entry<'_>, row: &Attributes) {
        match &mut self.gathered {
            Gathered::Tree(summary) => summary.add(prefix, entry, row),
            Gathered::Directories(summary) => summary.add(row),
        }
    }

    pub(super) fn end(&mut self, directory: &DirPath) {
        if let Gathered::Directories(summary) = &mut self.gathered {
            summary.end(directory);
        }
    }

    pub(super) fn complained(&mut self, entries: u64) {
        self.complaints += 1;
        self.unexamined += entries;
    }

    fn write(&mut self, text: &mut Vec<u8>, path: &Path, failures: u64) {
        let counted = if self.how.conditional { 0 } else { self.unexamined };
        let gaps = Gaps {
            unexamined: counted,
            undecided: self.unexamined - counted,
            unread: failures - self.failures_before - self.complaints,
        };
        let scope = Scope { how: &self.how, path, gaps };
        let gathered = std::mem::replace(&mut self.gathered, Gathered::new(&self.how));
        let is_json = self.how.lines.format == Format::Json;
        if self.printed && !is_json {
            text.push(b'\n');
        }
        match gathered {
            Gathered::Tree(summary) if is_json => json::tree(text, &scope, &summary),
            Gathered::Tree(summary) => text::tree(text, &scope, &summary),
            Gathered::Directories(mut all) => {
                let directories = Directories { rows: all.finish(), all: *all };
                match is_json {
                    true => json::directories(text, &scope, &directories),
                    false => text::write_directories(text, &scope, &directories),
                }
            }
        }
        self.printed = true;
    }
}

impl Gathered {
    fn new(how: &How) -> Self {
        match how.of {
            Of::Tree => Self::Tree(Box::new(Summary::new(how.now_s, how.top))),
            Of::Directories => Self::Directories(Box::new(DirectorySummary::new(how.top))),
        }
    }
}

impl Run<'_> {
    /// If it failed midway, of the part that was read.
    pub(super) fn summarized(&mut self, path: &Path, listed: &Result<(), Stop>) -> Result<(), Ended> {
        let Some(summary) = &mut self.summary else { return Ok(()) };
        let failed = match listed {
            Ok(()) => 0,
            Err(Stop::Directory(_)) if self.began => 1,
            Err(_) => return Ok(()),
        };
        summary.write(&mut self.output.text, path, self.failures + failed);
        self.output.pause()
    }
}
