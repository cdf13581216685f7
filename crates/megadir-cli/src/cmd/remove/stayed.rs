//! Entries that `--packed` leaves, in one line and in JSON.

use crate::cmd::amount::plural;
use crate::cmd::mass_change::{Failure, KEPT_MAX};
use crate::ui::object::Object;

/// Reasons why an entry stays, in the order of the output.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "packs are of Linux only"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Changed,
    NotPacked,
    Damaged,
    Unread,
}

impl Reason {
    /// Continues a line that begins with the path.
    pub(super) const fn sentence(self) -> &'static str {
        match self {
            Self::Changed => "stays: it changed since it was packed",
            Self::NotPacked => "stays: it is not in the pack",
            Self::Damaged => "stays: the pack holds it damaged",
            Self::Unread => "stays: it could not be read",
        }
    }
}

/// Numbers of entries that stay, and the first of them by path, up to `KEPT_MAX`. Directories that stay
/// only for their entries are not among these: the removal counts them.
#[derive(Debug, Default)]
pub(super) struct Stayed {
    pub(super) changed: u64,
    pub(super) not_packed: u64,
    pub(super) damaged: u64,
    pub(super) unread: u64,
    /// Problems of the pack, which were all reported.
    pub(super) problems: u64,
    kept: Vec<Failure>,
}

impl Stayed {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "packs are of Linux only"))]
    pub(super) fn add(&mut self, path: &[u8], reason: Reason) {
        *match reason {
            Reason::Changed => &mut self.changed,
            Reason::NotPacked => &mut self.not_packed,
            Reason::Damaged => &mut self.damaged,
            Reason::Unread => &mut self.unread,
        } += 1;
        if self.kept.len() < KEPT_MAX {
            self.kept.push(Failure::at(path, reason.sentence().to_owned()));
        }
    }

    fn all(&self) -> u64 {
        self.changed + self.not_packed + self.damaged + self.unread
    }

    /// `true` if the whole pack is sound, and the tree was read.
    pub(super) fn is_sound(&self) -> bool {
        self.problems == 0 && self.damaged == 0 && self.unread == 0
    }

    /// `None` if nothing stays for a reason of its own.
    pub(super) fn words(&self) -> Option<String> {
        // Forms for one entry and for several, in the order of the members in JSON.
        let parts = [
            (self.changed, "changed since it was packed", "changed since they were packed"),
            (self.not_packed, "not in the pack", "not in the pack"),
            (self.damaged, "damaged in the pack", "damaged in the pack"),
            (self.unread, "could not be read", "could not be read"),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, singular, several)| plural(count, singular, several))
            .collect();
        (!parts.is_empty())
            .then(|| format!("{}: {}", plural(self.all(), "entry stays", "entries stay"), parts.join(", ")))
    }

    pub(super) fn write(&self, object: &mut Object<'_>) {
        object.raw("stay", self.all());
        object.raw("changed", self.changed);
        object.raw("not_packed", self.not_packed);
        object.raw("damaged", self.damaged);
        object.raw("unread", self.unread);
        object.raw("problems", self.problems);
        object.list("stayed", &self.kept, |row, entry| entry.write(row));
        object.raw("stayed_left_out", self.all() - self.kept.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::Stayed;

    #[test]
    fn the_line_has_each_reason_that_occurs() {
        assert_eq!(Stayed::default().words(), None);
        let single = Stayed { changed: 1, ..Stayed::default() };
        assert_eq!(single.words().unwrap(), "1 entry stays: 1 changed since it was packed");
        let many = Stayed { changed: 1200, not_packed: 1, damaged: 2, unread: 3, ..Stayed::default() };
        assert_eq!(
            many.words().unwrap(),
            "1 206 entries stay: 1 200 changed since they were packed, 1 not in the pack, 2 damaged in the pack, 3 could not be read"
        );
        assert!(single.is_sound() && !many.is_sound());
    }
}
