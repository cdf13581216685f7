//! Result of a dry run as text, with the capacity for the files.

use std::io::IsTerminal;
use std::num::NonZeroU32;

use megadir::FileSystem;
use megadir::limits::{Assumptions, Limits, Span, limits};
use megadir::reshard::Survey;
use megadir_advise::{Capacity, NewDir};

use super::Work;
use crate::cmd::amount::{grouped, interval, plural, seconds};
use crate::cmd::limits::text::headline;
use crate::ui::screen;

const VALUES_AT: usize = 10;

/// Files per second that were moved from one directory of 50 000 files into 256 others, cached, on two busy processors.
/// The study crates/megadir-cli/bench/reshard.toml measures them.
const RATES: [(FileSystem, u64); 3] =
    [(FileSystem::Ext4, 40_000), (FileSystem::Xfs, 25_000), (FileSystem::Btrfs, 15_000)];

/// Answer of a dry run. The time is computed from `rate_max` and a rate that was measured on this type of file
/// system, and is unknown elsewhere, because no measurement supports a number.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) survey: Survey,
    pub(super) room: Room,
    pub(super) file_system: FileSystem,
    pub(super) rate_max: Option<NonZeroU32>,
    /// No rate was measured for linking.
    pub(super) offline: bool,
}

impl Expected {
    fn measured(&self) -> Option<&(FileSystem, u64)> {
        RATES.iter().find(|(known, _)| *known == self.file_system && !self.offline)
    }

    /// At the measured rate; `None` on other file systems, and offline.
    pub(super) fn elapsed_s(&self) -> Option<f64> {
        let measured = self.measured().map(|(_, rate)| *rate);
        let limit = self.rate_max.map(|rate| u64::from(rate.get()));
        let rate = measured.into_iter().chain(limit).min()?;
        Some(self.survey.to_move as f64 / rate as f64)
    }

    fn time(&self) -> Option<String> {
        let time = seconds(self.elapsed_s()?);
        let measured = self.measured();
        Some(match (self.rate_max, measured) {
            (Some(limit), measured) if measured.is_none_or(|(_, rate)| *rate > limit.get().into()) => {
                format!("at least {time}, by --rate")
            }
            (_, Some((file_system, rate))) => format!(
                "about {time} if cached, at the {} files/s measured on {file_system} with 2 processors",
                grouped(*rate)
            ),
            _ => return None,
        })
    }

    fn targets(&self) -> String {
        match self.survey.target_directories {
            Some(into) => format!(
                "{} with {} each on average",
                plural(into, "directory", "directories"),
                plural(self.survey.to_move.div_ceil(into.max(1)), "file", "files")
            ),
            None => "more than a million directories".to_owned(),
        }
    }

    pub(super) fn text(&self, headline: &str, stay: &[String]) -> String {
        let width = screen::width(std::io::stdout().is_terminal());
        let mut text = String::new();
        screen::wrapped(&mut text, width, ("", ""), headline);
        let mut rows = Vec::new();
        if self.survey.to_move > 0 {
            rows.push(("into", self.targets()));
            rows.extend(self.time().map(|time| ("time", time)));
        }
        rows.extend(stay.iter().map(|stay| ("stay", stay.clone())));
        rows.extend(self.room.sentences.iter().map(|sentence| ("limits", sentence.clone())));
        if let Some(new) = self.room.new {
            rows.push(("limits", format!("a new directory takes {} entries", interval(new))));
        }
        let mut last = "";
        for (label, value) in rows {
            let shown = if label == last { "" } else { label };
            last = label;
            let first = format!("  {shown:<width$}", width = VALUES_AT - 2);
            screen::wrapped(&mut text, width, (&first, &" ".repeat(VALUES_AT)), &value);
        }
        text
    }
}

/// Capacity for the files: of the directories named, and of a new directory in the one that receives the files.
/// Unknown limits are no failure: the dry run still counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    /// The old directory first.
    pub(super) sentences: Vec<String>,
    /// Entries that the receiving directory takes before a create fails.
    pub(super) here: Option<Span>,
    pub(super) new: Option<Span>,
}

impl Room {
    pub(super) fn look(work: &Work) -> Self {
        let mut room = Self::default();
        for directory in [Some(&work.directory), work.into.as_ref()].into_iter().flatten() {
            let Ok(limits) = limits(directory, &Assumptions::MORE_OF_THE_SAME) else { continue };
            room.sentences.push(headline(&limits, false));
            (room.here, room.new) = (limits.entries_until_full(), of_new(&limits));
        }
        room
    }
}

fn of_new(limits: &Limits) -> Option<Span> {
    match NewDir::of(limits, false).capacity {
        Capacity::Bounded { full, .. } => Some(full),
        Capacity::Unbounded | Capacity::Unknown | Capacity::Linear => None,
    }
}
