//! Room for the files: in the directory that takes them, and in a new directory beside it.

use megadir::Dir;
use megadir::limits::{Asked, Limits, Span, limits};
use megadir_advise::{Capacity, NewDir};

#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Entries that the directory takes before a create fails.
    pub(super) here: Option<Span>,
    /// Entries that a new directory takes.
    pub(super) new: Option<Span>,
}

impl Room {
    /// Unknown limits are no failure: the dry run still counts.
    pub(super) fn look(directory: &Dir) -> Self {
        let Ok(limits) = limits(directory, &Asked::MORE_OF_THE_SAME) else {
            return Self { here: None, new: None };
        };
        Self { here: limits.entries_until_full(), new: of_new(&limits) }
    }
}

fn of_new(limits: &Limits) -> Option<Span> {
    match NewDir::of(limits, false).capacity {
        Capacity::Bounded { full, .. } => Some(full),
        Capacity::Unbounded | Capacity::Unknown | Capacity::Linear => None,
    }
}
