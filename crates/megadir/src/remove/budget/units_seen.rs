//! Units that the first pass has seen: only these go, if they are the same directories then. Bounded memory: further units stay.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::hash::BuildHasher;

use crate::attributes::Time;
use crate::remove::progress::FileId;

/// With its share of the table's free places.
const UNIT_BYTES: usize = 56;

#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    /// Hash of device and inode; 0 until its entry was read.
    identity: u64,
    /// Second of its last use; `None` until all of it was read.
    last: Option<i64>,
    /// Part of it cannot be read, or another file system is mounted in it.
    is_blocked: bool,
}

/// By the hashes of names. With random keys, no user can make a directory pass for another one.
#[derive(Debug)]
pub(super) struct UnitsSeen {
    units: HashMap<u64, Unit>,
    keys: RandomState,
    units_max: usize,
    /// Units beyond the memory.
    untracked: u64,
}

impl UnitsSeen {
    pub(super) fn new(bytes_max: usize) -> Self {
        let units_max = bytes_max / UNIT_BYTES;
        Self { units: HashMap::new(), keys: RandomState::new(), units_max, untracked: 0 }
    }

    fn unit(&mut self, name: &[u8]) -> Option<&mut Unit> {
        let has_room = self.units.len() < self.units_max;
        match self.units.entry(self.keys.hash_one(name)) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(free) if has_room => Some(free.insert(Unit::default())),
            Entry::Vacant(_) => None,
        }
    }

    pub(super) fn see(&mut self, name: &[u8], id: FileId) {
        let identity = self.identity(id);
        if let Some(unit) = self.unit(name) {
            unit.identity = identity;
        }
    }

    /// Notes that a unit cannot go as a whole.
    pub(super) fn block(&mut self, name: &[u8]) {
        if let Some(unit) = self.unit(name) {
            unit.is_blocked = true;
        }
    }

    /// Notes the last use of a unit; `false` if it stays, also because there is no room to remember it.
    pub(super) fn was_read(&mut self, name: &[u8], last: Time) -> bool {
        let Some(unit) = self.unit(name) else {
            self.untracked += 1;
            return false;
        };
        unit.last = Some(last.seconds);
        !unit.is_blocked
    }

    /// Forgets what cannot be selected.
    pub(super) fn keep_until(&mut self, threshold: Time) {
        self.units
            .retain(|_, unit| !unit.is_blocked && unit.last.is_some_and(|last| last <= threshold.seconds));
        self.units.shrink_to_fit();
    }

    pub(super) fn is_seen(&self, name: &[u8]) -> bool {
        self.units.get(&self.keys.hash_one(name)).is_some_and(|unit| !unit.is_blocked && unit.last.is_some())
    }

    pub(super) fn is_same(&self, name: &[u8], id: FileId) -> bool {
        let unit = self.units.get(&self.keys.hash_one(name));
        unit.is_some_and(|unit| unit.identity == self.identity(id))
    }

    pub(super) fn untracked(&self) -> u64 {
        self.untracked
    }

    fn identity(&self, id: FileId) -> u64 {
        self.keys.hash_one(id).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::{Time, UNIT_BYTES, UnitsSeen};

    #[test]
    fn units_beyond_the_memory_stay() {
        let mut seen = UnitsSeen::new(100 * UNIT_BYTES);
        let time = |seconds| Time { seconds, nanoseconds: 0 };
        for unit in 0..1000_u64 {
            seen.see(&unit.to_le_bytes(), ((1, 2), unit));
            assert_eq!(seen.was_read(&unit.to_le_bytes(), time(unit as i64 % 10)), unit < 100);
        }
        assert_eq!((seen.units.len(), seen.untracked()), (100, 900));
        seen.keep_until(time(4));
        let name = |unit: u64| unit.to_le_bytes();
        assert!(seen.is_seen(&name(14)) && !seen.is_seen(&name(15)) && !seen.is_seen(&name(104)));
        assert!(seen.is_same(&name(14), ((1, 2), 14)) && !seen.is_same(&name(14), ((1, 2), 13)));
    }
}
