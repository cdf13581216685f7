//! Counts listed entries without a field because the stat backend never returns it: an empty column looks like a value.

use megadir::{Attributes, StatBackend, StatMask};

use super::args::Args;
use super::field::Field;
use crate::ui::message::counted;

/// `fields` are the requested ones that the stat backend never returns, and `want` their attributes; `without` counts
/// the entries that lacked one of them.
pub(super) struct Unreturned {
    stat_backend: &'static dyn StatBackend,
    fields: Vec<Field>,
    want: StatMask,
    entries: u64,
    without: u64,
}

impl Unreturned {
    /// `None` if the stat backend may return every field.
    pub(super) fn of(args: &Args) -> Option<Self> {
        let stat_backend = args.stat_backend?;
        let lacks = |field: &&Field| field.want() & stat_backend.lacks() != StatMask::NOTHING;
        let fields: Vec<Field> = args.fields.iter().filter(lacks).copied().collect();
        let want = fields.iter().map(|field| field.want() & stat_backend.lacks()).collect();
        (!fields.is_empty()).then_some(Self { stat_backend, fields, want, entries: 0, without: 0 })
    }

    /// Entries that could not be examined have a line of their own.
    pub(super) fn note(&mut self, row: &Attributes) {
        self.entries += 1;
        self.without += u64::from(row.error == 0 && !row.have.contains(self.want));
    }

    pub(super) fn print(&self) {
        if self.without > 0 {
            let names: Vec<&str> = self.fields.iter().map(|field| field.name()).collect();
            let (backend, entries) = (self.stat_backend.name(), counted(self.entries, "entry", "entries"));
            let (names, without) = (names.join(" and "), self.without);
            let reason =
                format!("{backend} never returns {}", if self.fields.len() == 1 { "it" } else { "them" });
            eprintln!(
                "megadir: {names}: missing for {without} of {entries}: {reason}; leave --stat-backend out"
            );
        }
    }
}
