//! Ranks that a meeting (a collective call) waits for. A rank that has waited for a while sends rank 0 a sign again and again, so that
//! rank 0 can name the ranks without one after a minute: they hang, or still work.
//!
//! Any sign counts, not only one from the same call: a call passes bytes from rank to rank, and who waits for a rank that hangs may be a
//! call behind. Messages of 8 bytes need no receiver that waits: no rank, also none that hangs, delays another one by them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use megadir_sys::mpi::Mpi;

const SIGN_EVERY: Duration = Duration::from_secs(20);
/// Signs that arrived while this rank worked are older than the newest possible one by this, when ranks are named first.
const COLLECT_AFTER: Duration = Duration::from_secs(10);
const NAMED_AFTER: Duration = Duration::from_secs(60);

/// Arrival of the last sign of each other rank.
#[derive(Debug, Default)]
pub(crate) struct Attendance(RefCell<BTreeMap<u32, Instant>>);

impl Attendance {
    pub(crate) fn begin(&self) -> Meeting<'_> {
        Meeting { of: self, begun: Instant::now(), sign_at: SIGN_EVERY, name_at: NAMED_AFTER }
    }

    fn absent(&self, size: u32, now: Instant) -> Vec<u32> {
        let signs = self.0.borrow();
        let waits = |rank: &u32| signs.get(rank).is_some_and(|at| now.duration_since(*at) < 2 * SIGN_EVERY);
        (1..size).filter(|rank| !waits(rank)).collect()
    }
}

/// One wait of this rank for all.
#[derive(Debug)]
pub(crate) struct Meeting<'a> {
    of: &'a Attendance,
    begun: Instant,
    sign_at: Duration,
    name_at: Duration,
}

impl Meeting<'_> {
    /// Returns the absent ranks, at rank 0, with the time waited: after a minute, and each time that has doubled.
    pub(crate) fn look(&mut self, mpi: &Mpi) -> io::Result<Option<(Vec<u32>, Duration)>> {
        let waited = self.begun.elapsed();
        if mpi.rank != 0 {
            if waited >= self.sign_at {
                self.sign_at = waited + SIGN_EVERY;
                mpi.send_sign()?;
            }
            return Ok(None);
        }
        if waited < COLLECT_AFTER {
            return Ok(None);
        }
        let now = Instant::now();
        while let Some(rank) = mpi.receive_sign()? {
            self.of.0.borrow_mut().insert(rank, now);
        }
        if waited < self.name_at {
            return Ok(None);
        }
        self.name_at = 2 * waited;
        Ok(Some((self.of.absent(mpi.size, now), waited)).filter(|(absent, _)| !absent.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_without_a_recent_sign_are_absent() {
        let (attendance, now) = (Attendance::default(), Instant::now());
        let note = |rank, at| attendance.0.borrow_mut().insert(rank, at);
        note(1, now);
        note(3, now);
        assert_eq!(attendance.absent(5, now), [2, 4]);
        // What had arrived before the wait is too old when ranks are named.
        let named = now + (NAMED_AFTER - COLLECT_AFTER);
        assert_eq!(attendance.absent(5, named), [1, 2, 3, 4]);
        note(3, named);
        assert_eq!(attendance.absent(5, named), [1, 2, 4]);
    }
}
