//! `--sample N`: keeps the lines of a random sample, and prints them in the order of their paths.

use megadir::Entry;
use megadir::sample::{Sample, Tags};

use super::args::Args;
use super::lines::{Label, Lines};
use crate::cmd::bench::drawn_seed;
use crate::ui::output::{Ended, Output};

/// The sample is of all named directories together. `tree` is the number of the current one: a directory that is named twice is
/// listed twice. A line is made only for entries that are in the sample when they are read.
pub(super) struct Sampled {
    seed: u64,
    reverse: bool,
    lines: Lines,
    tree: u64,
    sample: Sample<Line>,
}

struct Line {
    path: Vec<u8>,
    text: Vec<u8>,
}

impl Sampled {
    pub(super) fn new(args: &Args, lines: Lines) -> Option<Self> {
        let size = args.sample?;
        let seed = args.seed.unwrap_or_else(drawn_seed);
        Some(Self { seed, reverse: args.reverse, lines, tree: 0, sample: Sample::new(size, seed) })
    }

    pub(super) fn next_tree(&mut self) {
        self.tree += 1;
    }

    /// Tags of the entries of a batch. The path is the one below the named directory, which may be moved or mounted elsewhere.
    pub(super) fn tags(&self, label: &Label) -> Tags {
        self.sample.directory(self.tree, &label.directory.below().to_vec())
    }

    #[inline]
    pub(super) fn add(&mut self, tags: &Tags, label: &Label, entry: &Entry<'_>) {
        self.sample.offer(tags, entry.name, || {
            let mut text = Vec::new();
            self.lines.entry(&mut text, label, entry);
            Line { path: [label.prefix(), entry.name].concat(), text }
        });
    }

    pub(super) fn explain(&self) {
        let (offered, seed) = (self.sample.offered(), self.seed);
        eprintln!("megadir: sample of {offered} entries; --seed {seed} repeats it");
    }

    pub(super) fn write(self, output: &mut Output) -> Result<(), Ended> {
        let mut lines = self.sample.into_vec();
        lines.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        if self.reverse {
            lines.reverse();
        }
        for line in &lines {
            output.text.extend_from_slice(&line.text);
            output.made()?;
        }
        Ok(())
    }
}
