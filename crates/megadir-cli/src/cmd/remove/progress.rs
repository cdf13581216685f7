//! How far a removal is, on a terminal only: entries, rate, and the time left where the total is known.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use indicatif::ProgressBar;
use megadir::remove::Counts;

use super::args::Args;
use super::system;
use super::target::Target;
use crate::cmd::bar::set_style;

/// The total of one directory is about known, if it has no directories below.
const KNOWN: &str = "{wide_bar} {done} of about {all} entries, {rate}, {eta} left";
/// The total of a tree is not known.
const UNKNOWN: &str = "{spinner} {done} entries, {rate}, {elapsed}";

/// What is shown while entries go.
pub(super) struct Shown {
    bar: ProgressBar,
    /// The total that was last estimated, with what went before; 0: not known.
    total: AtomicU64,
    is_known: AtomicBool,
    /// The directories that had gone when the target was begun.
    directories: AtomicU64,
    /// Nothing is estimated where conditions choose.
    estimates: bool,
}

impl Shown {
    /// Returns a display that stays hidden where no terminal shows it.
    pub(super) fn new(args: &Args) -> Self {
        let bar = ProgressBar::new(0);
        let shown = Self {
            bar,
            total: AtomicU64::new(0),
            is_known: AtomicBool::new(true),
            directories: AtomicU64::new(0),
            estimates: !args.has_conditions() && args.files0_from.is_none() && args.paths.len() == 1,
        };
        shown.style(false);
        shown
    }

    /// Estimates how many entries a target has.
    pub(super) fn begin(&self, target: &Target) {
        if self.bar.is_hidden() || !self.estimates || !target.is_directory {
            return;
        }
        let directory = target.parent.open_below(&target.name).ok();
        let total = directory.and_then(|directory| system::estimate(&directory)).unwrap_or(0);
        self.total.store(total, Ordering::Relaxed);
    }

    /// Draws what has been done.
    pub(super) fn draw(&self, counts: &Counts) {
        let done = counts.entries + counts.directories;
        let total = self.total.load(Ordering::Relaxed);
        // A directory that went, or more entries than there were, says that this is a tree.
        let known =
            total > 0 && done <= total && counts.directories == self.directories.load(Ordering::Relaxed);
        self.style(known);
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    fn style(&self, known: bool) {
        if self.is_known.swap(known, Ordering::Relaxed) == known {
            return;
        }
        set_style(&self.bar, if known { KNOWN } else { UNKNOWN });
    }

    /// Prints a line on standard error without disturbing the display.
    pub(super) fn say(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }

    /// Takes the display away.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
