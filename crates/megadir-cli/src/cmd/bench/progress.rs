//! Progress bar of a run; drawn between blocks only, never while one is measured.

use std::collections::HashMap;
use std::io;

use indicatif::{ProgressBar, ProgressStyle};
use megadir_bench::schedule::Block;
use megadir_bench::{Event, Listener};
use megadir_record::{CellId, Phase, Plan, Sample};

pub(crate) struct Progress {
    bar: ProgressBar,
    /// Duration of each arm's last block, nanoseconds.
    last_ns: HashMap<CellId, u64>,
    blocks: u64,
    /// Blocks measured so far, and before the current epoch.
    done: u64,
    before: u64,
    /// Label of the current epoch, e.g. `epoch 2 of 5: ` (empty for one epoch), and the number of epochs.
    epoch: String,
    epochs: u32,
}

impl Progress {
    pub(crate) fn new(plan: &Plan) -> Self {
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {wide_msg}") {
            bar.set_style(style);
        }
        let blocks = u64::from(plan.rules.rounds) * plan.cells.len() as u64;
        let epochs = plan.rules.epochs;
        let epoch = if epochs > 1 { format!("epoch 1 of {epochs}: ") } else { String::new() };
        Self { bar, last_ns: HashMap::new(), blocks, done: 0, before: 0, epoch, epochs }
    }

    fn starts(&mut self, plan: &Plan, block: &Block) {
        let arms = plan.cells.len() as u64;
        let name = &plan.cells[block.cell.0 as usize].name;
        let (position, message) = match block.phase {
            Phase::WarmUp => {
                (self.before, format!("{}warming up, round {}: {name}", self.epoch, block.round + 1))
            }
            Phase::Measure => {
                let done = self.before + u64::from(block.round) * arms + u64::from(block.place);
                self.done = done + 1;
                let left_s = self.left_ns(plan, block).div_ceil(1_000_000_000);
                let (round, of) = (block.round + 1, plan.rules.rounds);
                (done, format!("{}{left_s} s left, round {round} of {of}: {name}", self.epoch))
            }
        };
        self.bar.set_length(self.blocks);
        self.bar.set_position(position);
        self.bar.set_message(message);
    }

    /// Remaining time if every arm takes as long as its last block.
    fn left_ns(&self, plan: &Plan, block: &Block) -> u64 {
        let round_ns: u64 = self.last_ns.values().sum();
        let rounds = u64::from(plan.rules.rounds - block.round);
        let arms = plan.cells.len() as u64;
        (rounds * round_ns).saturating_sub(round_ns * u64::from(block.place) / arms)
    }

    fn measured(&mut self, sample: &Sample) {
        self.last_ns.insert(sample.cell, sample.elapsed_ns);
    }
}

impl Listener for Progress {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Filling(progress) => {
                self.bar.set_length(progress.of);
                self.bar.set_position(progress.done);
                self.bar.set_message(format!("creating {} files", progress.of));
            }
            Event::Starts { plan, block } => self.starts(plan, block),
            Event::Measured(sample) => self.measured(sample),
            Event::Noted(note) => self.bar.suspend(|| eprintln!("megadir: {}", note.text)),
            Event::Started(header) => {
                self.blocks = u64::from(header.plan.rules.rounds) * header.plan.cells.len() as u64;
            }
            Event::Epoch(epoch) => {
                self.before = self.done;
                self.epoch = format!("epoch {} of {}: ", epoch.epoch + 1, self.epochs);
            }
            Event::Cleaning => self.bar.set_message("cleaning up"),
            Event::Voided { .. }
            | Event::Built(_)
            | Event::Used(_)
            | Event::Checked(_)
            | Event::EpochEnds
            | Event::Resumed(_) => {}
            Event::Ended(_) => self.bar.set_position(self.bar.length().unwrap_or(0)),
        }
        Ok(())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
