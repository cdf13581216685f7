//! Progress on a terminal: entries, rate, and the remaining time if the total is known.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use indicatif::ProgressBar;
use megadir::remove::Counts;

use super::args::Args;
use super::system;
use super::target::Target;
use crate::cmd::bar::set_style;

/// For one directory without subdirectories, whose size is roughly known.
const KNOWN: &str = "{wide_bar} {done} of about {all} entries, {rate}, {eta} left";
/// For a tree, whose size is unknown.
const UNKNOWN: &str = "{spinner} {done} entries, {rate}, {elapsed}";

pub(super) struct Display {
    bar: ProgressBar,
    /// 0 if unknown.
    total: AtomicU64,
    is_known: AtomicBool,
    /// Before the current target.
    directories: AtomicU64,
    /// `false` if only selected entries are removed, or there are several paths.
    estimates: bool,
}

impl Display {
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

    pub(super) fn begin(&self, target: &Target) {
        if self.bar.is_hidden() || !self.estimates || !target.is_directory {
            return;
        }
        let directory = target.parent.open_below(&target.name).ok();
        let total = directory.and_then(|directory| system::estimate(&directory)).unwrap_or(0);
        self.total.store(total, Ordering::Relaxed);
    }

    pub(super) fn draw(&self, counts: &Counts) {
        let done = counts.entries + counts.directories;
        let total = self.total.load(Ordering::Relaxed);
        // Removed subdirectories, or more entries than estimated, indicate a tree.
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

    /// Without disturbing the bar.
    pub(super) fn say(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
