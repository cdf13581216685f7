//! Joins directories with their rows; whichever arrives first waits here.

use std::collections::BTreeMap;

use crate::changes::source::Both;
use crate::path::{Place, TreePath};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate<L> {
    Here(L),
    Missing,
    Unread,
}

/// Both maps are sorted by place, since the source passes places in this order: what waits before `read_to`
/// waits in vain. Either map holds the halves whose other half has not come; memory is taken by directories
/// found before their rows were read, and the reverse.
#[derive(Debug)]
pub(super) struct Table<L> {
    waiting: BTreeMap<Place, Fate<L>>,
    early: BTreeMap<Place, Both>,
    /// Memory of `early`.
    early_bytes: usize,
    /// Directories before this one have been read; `None` at the end.
    read_to: Option<Place>,
}

pub(super) type Joined<L> = (Place, Fate<L>, Option<Both>);

impl<L> Table<L> {
    pub(super) fn new() -> Self {
        let read_to = Some((0, TreePath::root()));
        Self { waiting: BTreeMap::new(), early: BTreeMap::new(), early_bytes: 0, read_to }
    }

    pub(super) fn early_bytes(&self) -> usize {
        self.early_bytes
    }

    /// Directories that wait for their rows.
    pub(super) fn waiting(&mut self) -> impl Iterator<Item = &mut L> {
        self.waiting.values_mut().filter_map(|fate| match fate {
            Fate::Here(live) => Some(live),
            Fate::Missing | Fate::Unread => None,
        })
    }

    pub(super) fn found(&mut self, place: Place, fate: Fate<L>) -> Option<Joined<L>> {
        if let Some(rows) = self.early.remove(&place) {
            self.early_bytes -= rows.bytes();
            return Some((place, fate, Some(rows)));
        }
        if self.read_to.as_ref().is_none_or(|read_to| place < *read_to) {
            return Some((place, fate, None));
        }
        self.waiting.insert(place, fate);
        None
    }

    pub(super) fn read(&mut self, rows: Both) -> Option<Joined<L>> {
        let place = rows.before.place();
        match self.waiting.remove(&place) {
            Some(fate) => Some((place, fate, Some(rows))),
            None => {
                self.early_bytes += rows.bytes();
                self.early.insert(place, rows);
                None
            }
        }
    }

    pub(super) fn passed(&mut self, read_to: Option<Place>) -> Vec<Joined<L>> {
        self.read_to = read_to;
        let passed = match &self.read_to {
            Some(read_to) => {
                let rest = self.waiting.split_off(read_to);
                std::mem::replace(&mut self.waiting, rest)
            }
            None => std::mem::take(&mut self.waiting),
        };
        passed.into_iter().map(|(place, fate)| (place, fate, None)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::block::Block;

    fn place(path: &str) -> Place {
        (0, path.as_bytes().into())
    }

    fn block(path: &str) -> Both {
        Both::before(Arc::new(Block::empty(0, path.into(), 0)))
    }

    #[test]
    fn a_directory_and_its_rows_meet_in_either_order() {
        let mut table = Table::new();
        assert!(table.found(place(""), Fate::Here(1)).is_none());
        let (at, fate, rows) = table.read(block("")).unwrap();
        assert_eq!((at, fate, rows.is_some()), (place(""), Fate::Here(1), true));
        assert!(table.read(block("b")).is_none());
        assert!(table.early_bytes() > 0);
        let (_, fate, rows) = table.found(place("b"), Fate::Missing).unwrap();
        assert_eq!((fate, rows.is_some()), (Fate::Missing, true));
        assert_eq!(table.early_bytes(), 0);
    }

    #[test]
    fn a_directory_that_was_passed_has_no_rows() {
        let mut table = Table::new();
        assert!(table.found(place("a"), Fate::Here(1)).is_none());
        assert!(table.found(place("b"), Fate::Here(2)).is_none());
        assert!(table.found(place("c"), Fate::Unread).is_none());
        let passed = table.passed(Some(place("b")));
        assert_eq!(passed.len(), 1);
        assert_eq!(passed[0].0, place("a"));
        assert!(table.found(place("aa"), Fate::Here(3)).is_some_and(|joined| joined.2.is_none()));
        assert!(table.found(place("bb"), Fate::Here(4)).is_none());
        assert_eq!(table.passed(None).len(), 3);
        assert!(table.found(place("z"), Fate::Here(5)).is_some());
    }
}
