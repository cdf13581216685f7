//! Progress bar of a run; drawn between blocks only.

use std::collections::HashMap;
use std::io;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use megadir_bench::note::NoteKind;
use megadir_bench::schedule::Block;
use megadir_bench::{Event, Listener};
use megadir_record::{ArmId, Line, Note, Phase, Plan};
use terminal_size::terminal_size;

use crate::cmd::amount::plural;
use crate::ui::message;

/// Narrower terminals have no room for a bar.
const WIDE: usize = 110;

/// Shows a run between its blocks. `room` is the number of columns left for the message after the bar,
/// `blocks` the measured blocks of the plan, and `last_ns` the time of the last block of each arm, from
/// which the time that is left is estimated. `notes` is unset if the progress is hidden; `busy` is set once
/// a note about other load was printed, which is enough for a run.
pub(crate) struct Progress {
    bar: ProgressBar,
    room: usize,
    last_ns: HashMap<ArmId, u64>,
    blocks: u64,
    /// Before now, and before the current epoch.
    done: u64,
    before: u64,
    /// `epoch 2 of 5: `, a label or nothing; and the number of epochs.
    epoch: String,
    epochs: u32,
    notes: bool,
    busy: bool,
}

/// Kinds of notes that mean other work on the machine. On a terminal only these are printed, as a reader
/// can act on them while the run lasts; the record has all.
const BUSY: [NoteKind; 5] =
    [NoteKind::TimerGaps, NoteKind::StolenTime, NoteKind::Load, NoteKind::Pressure, NoteKind::DirtyPages];

impl Progress {
    pub(crate) fn new(plan: &Plan, shown: bool) -> Self {
        let columns = terminal_size().map_or(WIDE, |(width, _)| width.0.into());
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let (bar, room) = bar(target, columns);
        message::begin_line(&bar);
        let blocks = u64::from(plan.rules.rounds) * plan.arms.len() as u64;
        let epochs = plan.rules.epochs;
        let epoch = if epochs > 1 { format!("epoch 1 of {epochs}: ") } else { String::new() };
        Self {
            bar,
            room,
            last_ns: HashMap::new(),
            blocks,
            done: 0,
            before: 0,
            epoch,
            epochs,
            notes: shown,
            busy: false,
        }
    }

    pub(crate) fn labelled(mut self, label: &str) -> Self {
        label.clone_into(&mut self.epoch);
        self
    }

    /// Warming up does not move the bar: the number of its rounds is not known before, as they end when the
    /// times are steady.
    fn starts(&mut self, plan: &Plan, block: &Block) {
        let arms = plan.arms.len() as u64;
        let name = &plan.arms[block.arm.0 as usize].name;
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
        self.show(&message);
    }

    /// Prints only the first note about other work on the machine, and on terminals no other notes.
    fn note(&mut self, note: &Note) {
        let busy = BUSY.iter().any(|kind| kind.name() == note.kind);
        let is_later = !busy && !self.bar.is_hidden();
        if !self.notes || is_later || busy && std::mem::replace(&mut self.busy, true) {
            return;
        }
        let advice = if busy { " Stop other work, or differences may stay undecided." } else { "" };
        eprintln!("megadir: {}{advice}", note.text);
    }

    fn show(&self, message: &str) {
        self.bar.set_message(cut(message, self.room));
    }

    /// Every arm takes as long as its last block.
    /// A round costs the sum of the last times of all arms; of the current round, the share of the arms
    /// before this block is subtracted. The first estimate comes after the first blocks and is too low
    /// until each arm has run once.
    fn left_ns(&self, plan: &Plan, block: &Block) -> u64 {
        let round_ns: u64 = self.last_ns.values().sum();
        let rounds = u64::from(plan.rules.rounds - block.round);
        let arms = plan.arms.len() as u64;
        (rounds * round_ns).saturating_sub(round_ns * u64::from(block.place) / arms)
    }
}

impl Listener for Progress {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Filling(progress) => {
                self.bar.set_length(progress.of);
                self.bar.set_position(progress.done);
                self.show(&format!("creating {}", plural(progress.of, "file", "files")));
            }
            Event::Starts { plan, block } => self.starts(plan, block),
            Event::Recorded(Line::Sample(sample)) => {
                self.last_ns.insert(sample.arm, sample.elapsed_ns);
            }
            Event::Recorded(Line::Note(note)) => self.note(note),
            Event::Recorded(Line::Header(header)) => {
                self.blocks = u64::from(header.plan.rules.rounds) * header.plan.arms.len() as u64;
            }
            Event::Recorded(Line::Epoch(epoch)) => {
                self.before = self.done;
                self.epoch = format!("epoch {} of {}: ", epoch.epoch + 1, self.epochs);
            }
            Event::Recorded(Line::End(_)) => self.bar.set_position(self.bar.length().unwrap_or(0)),
            Event::Recorded(_) | Event::EpochEnds => {}
            Event::Cleaning => self.show("cleaning up"),
        }
        Ok(())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        message::clear_line();
    }
}

/// Returns the columns left for the message; the others have the bar, the percentage and spaces.
fn bar(target: ProgressDrawTarget, columns: usize) -> (ProgressBar, usize) {
    let bar = ProgressBar::with_draw_target(Some(0), target);
    let (template, beside) = match columns {
        WIDE.. => ("{bar:30} {percent:>3} %  {wide_msg}", 38),
        _ => ("{percent:>3} %  {wide_msg}", 7),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    (bar, columns.saturating_sub(beside))
}

/// Widths are counted in characters; the last column is for the ellipsis.
fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns.saturating_sub(1)).chain(['\u{2026}']).collect()
}

#[cfg(test)]
mod tests {
    use indicatif::ProgressDrawTarget;

    use super::{bar, cut};
    use crate::cmd::progress::screen::Screen;

    #[test]
    fn a_message_is_whole_or_ends_with_an_ellipsis() {
        let usual = "epoch 2 of 5: 1234 s left, round 30 of 30: statx of every entry";
        let long = format!("{usual}, sorted by inode, by eight threads, cold");
        for columns in [60, 80, 109, 110, 200] {
            for message in [usual, &long] {
                let screen = Screen::new(columns);
                let (bar, room) =
                    bar(ProgressDrawTarget::term_like(Box::new(screen.clone())), columns.into());
                bar.set_message(cut(message, room));
                bar.tick();
                let drawn = screen.drawn();
                let widest = drawn.lines().map(|line| line.trim_end().chars().count()).max();
                assert!(widest <= Some(columns.into()), "{columns}: {drawn:?}");
                assert!(screen.shows(message) || drawn.contains('\u{2026}'), "{columns}: {drawn:?}");
                assert!(columns < 80 || message != usual || screen.shows(usual), "{columns}: {drawn:?}");
            }
        }
    }
}
