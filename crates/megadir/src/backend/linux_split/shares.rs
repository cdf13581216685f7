//! Shares of a directory that no thread has read yet.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::space::Space;
use crate::error::{Error, ErrorKind};

/// State shared by the threads and the caller.
pub(super) struct Shared {
    pub(super) path: PathBuf,
    pub(super) space: Space,
    /// First position of each share, ascending, then the end of the last.
    pub(super) bounds: Vec<i64>,
    pub(super) next_share: AtomicU64,
    /// Number of regions that shares are taken from in turn.
    pub(super) regions: usize,
    /// Rests of shares left by threads that ended early: position and end.
    pub(super) left: Mutex<Vec<(i64, i64)>>,
    pub(super) stop: AtomicBool,
    pub(super) calls: AtomicU64,
}

impl Shared {
    /// Takes an unread share: its first position and its end.
    pub(super) fn take(&self) -> Option<(i64, i64)> {
        if let Some(left) = self.left.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Some(left);
        }
        let shares = self.bounds.len().saturating_sub(1);
        loop {
            let turn = self.next_share.fetch_add(1, Ordering::Relaxed) as usize;
            let Some(share) = share_of_turn(turn, shares, self.regions)? else { continue };
            return self.bounds.get(share..share + 2).map(|bounds| (bounds[0], bounds[1]));
        }
    }

    /// Returns the rest of a share, for another thread.
    pub(super) fn leave(&self, share: Option<Share>) {
        if let Some(Share { before: Some(from), end, .. }) = share {
            self.left.lock().unwrap_or_else(PoisonError::into_inner).push((from, end));
        }
    }
}

/// Index of the share taken at a turn. Up to `regions` threads stay far from each other. The inner `None` is a
/// turn without a share, the outer one the end.
fn share_of_turn(turn: usize, shares: usize, regions: usize) -> Option<Option<usize>> {
    let per_region = shares.div_ceil(regions);
    let share = turn % regions * per_region + turn / regions;
    (turn < per_region * regions).then(|| Some(share).filter(|share| *share < shares))
}

/// Margin beyond the expected rest of a share, and the minimum size of a call, bytes.
const LAST_BYTES: usize = 4 << 10;

#[derive(Clone, Copy)]
pub(super) struct Share {
    pub(super) start: i64,
    /// Position of the next call; `None` before the first.
    pub(super) before: Option<i64>,
    /// Bytes of records read so far.
    pub(super) bytes: usize,
    /// End of the share; [`i64::MAX`] for the last one.
    pub(super) end: i64,
}

impl Share {
    pub(super) fn is_behind(self, position: i64) -> bool {
        self.end != i64::MAX && position >= self.end
    }

    /// Estimated bytes of records left in the share. Anything read past its end is read twice.
    pub(super) fn expected_bytes(self) -> usize {
        match self.before {
            Some(before) if self.end != i64::MAX && before > self.start => {
                let density = self.bytes as f64 / (before - self.start) as f64;
                let left = (self.end - before).max(0) as f64 * density;
                // A small margin costs less than a second call for the last few entries.
                (left * 1.05) as usize + LAST_BYTES
            }
            _ => usize::MAX,
        }
    }
}

/// Error for positions that stopped ascending after entries had been returned.
pub(super) fn unreliable(shared: &Shared) -> Error {
    let reason = "positions stopped ascending, so shares overlap and the listing is incomplete: \
                  use backend getdents";
    Error::new("read", &shared.path, ErrorKind::PositionsUnreliable, reason)
}

#[cfg(test)]
mod tests {
    use super::share_of_turn;

    #[test]
    fn every_share_is_taken_once_however_many_regions_there_are() {
        for (shares, regions) in
            [(0, 1), (0, 3), (1, 1), (1, 8), (7, 3), (8, 3), (9, 3), (32, 1), (32, 2), (5, 256)]
        {
            let turns: Vec<_> = (0..2000).map_while(|turn| share_of_turn(turn, shares, regions)).collect();
            let mut taken: Vec<_> = turns.into_iter().flatten().collect();
            if regions == 1 {
                assert!(taken.is_sorted(), "not in order");
            }
            taken.sort_unstable();
            assert_eq!(taken, (0..shares).collect::<Vec<_>>(), "{shares} shares, {regions} regions");
        }
        let first: Vec<_> = (0..6).map(|turn| share_of_turn(turn, 32, 2).unwrap().unwrap()).collect();
        assert_eq!(first, [0, 16, 1, 17, 2, 18]);
    }
}
