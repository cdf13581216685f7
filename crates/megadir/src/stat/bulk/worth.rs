//! Chooses between one call for many inodes and one statx per inode. A call walks over all inodes between, used or not.

use super::Wanted;

/// Measured with everything in memory, on two processors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Distance to the next number in the same call.
    pub(super) gap: u64,
    /// Shorter runs are read by statx.
    pub(super) run_min: usize,
    /// Inodes walked over per wanted one.
    pub(super) walked_max: usize,
}

/// Doubled after each further call that did not pay.
const SINGLY_FIRST: usize = 64;
const SINGLY_MAX: usize = 1 << 14;

/// Ascending, with distances of at most `gap`.
pub(super) fn run(wanted: &[Wanted], gap: u64) -> usize {
    let far = wanted.windows(2).position(|two| two[1].inode - two[0].inode > gap);
    far.map_or(wanted.len(), |before| before + 1)
}

#[derive(Debug, Default)]
pub(super) struct Worth {
    singly: usize,
    singly_from: usize,
}

impl Worth {
    /// 0 if a call pays.
    pub(super) fn singly(&mut self, run: usize, terms: &Terms) -> usize {
        if run < terms.run_min {
            return run;
        }
        let now = self.singly.min(run);
        self.singly -= now;
        now
    }

    pub(super) fn note(&mut self, walked: usize, wanted: usize, terms: &Terms) {
        if walked <= terms.walked_max * wanted.max(terms.run_min) {
            self.singly_from = 0;
            return;
        }
        self.singly_from = (self.singly_from * 2).clamp(SINGLY_FIRST, SINGLY_MAX);
        self.singly = self.singly_from;
    }
}

#[cfg(test)]
mod tests {
    use super::{SINGLY_FIRST, SINGLY_MAX, Terms, Wanted, Worth, run};
    use crate::FileType;

    const TERMS: Terms = Terms { gap: 3, run_min: 4, walked_max: 2 };

    #[test]
    fn a_run_ends_where_the_next_number_is_far() {
        let wanted: Vec<_> = [5, 5, 7, 10, 14, u64::MAX]
            .into_iter()
            .map(|inode| Wanted { inode, row: 0, kind: FileType::File })
            .collect();
        assert_eq!(run(&wanted, 3), 4);
        assert_eq!(run(&wanted, 4), 5);
        assert_eq!(run(&wanted[4..], 4), 1);
        assert_eq!(run(&wanted, u64::MAX), 6);
        assert_eq!(run(&[], 4), 0);
    }

    #[test]
    fn distant_inodes_are_queried_singly() {
        let mut worth = Worth::default();
        assert_eq!(worth.singly(3, &TERMS), 3);
        assert_eq!(worth.singly(4, &TERMS), 0);
    }

    #[test]
    fn calls_that_walk_over_too_much_are_made_ever_more_rarely_until_one_is_worth_it() {
        let mut worth = Worth::default();
        for calls in 0..12 {
            worth.note(1000, 10, &TERMS);
            let expected = (SINGLY_FIRST << calls).min(SINGLY_MAX);
            let singly = [expected - 1, 500, 500].map(|run| worth.singly(run, &TERMS));
            assert_eq!(singly, [expected - 1, 1, 0]);
        }
        worth.note(1000, 500, &TERMS);
        worth.note(8, 0, &TERMS);
        assert_eq!(worth.singly(usize::MAX, &TERMS), 0);
        worth.note(1000, 499, &TERMS);
        assert_eq!(worth.singly(usize::MAX, &TERMS), SINGLY_FIRST);
    }
}
