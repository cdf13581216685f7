//! Capacity for the files: of the directories named, and of a new directory in the one that receives the files.

use megadir::limits::{Asked, Limits, Span, limits};
use megadir_advise::{Capacity, NewDir};

use super::Work;
use crate::cmd::limits::text::headline;

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
            let Ok(limits) = limits(directory, &Asked::MORE_OF_THE_SAME) else { continue };
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
