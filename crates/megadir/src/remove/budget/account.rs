//! Sums of what a removal has freed and is about to free, so that all its threads together take no more than was selected.

use std::sync::Mutex;

use super::ranges::Amount;
use super::request::Measure;
use crate::threads::lock;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    /// By this removal.
    pub(super) freed: Amount,
    /// By other processes, of what was selected.
    pub(super) gone: Amount,
    /// No longer in the directory, and not freed, because it has names elsewhere.
    pub(super) left: Amount,
    /// Taken, and not removed yet.
    reserved: u64,
    /// The file system has enough free space, also if other processes have freed it.
    is_enough: bool,
}

#[derive(Debug)]
pub(super) struct Account {
    measure: Measure,
    /// Amount that has to be freed.
    wanted: u64,
    sums: Mutex<Sums>,
}

impl Account {
    pub(super) fn new(measure: Measure, wanted: u64) -> Self {
        Self { measure, wanted, sums: Mutex::default() }
    }

    pub(super) fn sums(&self) -> Sums {
        *lock(&self.sums)
    }

    /// Nothing more has to go.
    pub(super) fn is_freed(&self) -> bool {
        let sums = self.sums();
        sums.is_enough || self.known(&sums) >= self.wanted
    }

    pub(super) fn is_enough(&self) -> bool {
        self.sums().is_enough
    }

    pub(super) fn has_enough(&self) {
        lock(&self.sums).is_enough = true;
    }

    fn known(&self, sums: &Sums) -> u64 {
        self.measure.of(&sums.freed).saturating_add(self.measure.of(&sums.gone))
    }

    /// Reserves the weight of an entry that is about to be removed; `false` if it stays because enough is freed, or will be as soon as
    /// the other threads have removed what they took. Entries that weigh nothing do not change that: the order alone decides on them.
    pub(super) fn take(&self, weight: u64) -> bool {
        let mut sums = lock(&self.sums);
        let may_go = self.wants(&sums, weight);
        if may_go {
            sums.reserved = sums.reserved.saturating_add(weight);
        }
        may_go
    }

    /// As [`Self::take`], and reserves nothing: for a file that is freed with the last of its names.
    pub(super) fn may_take(&self, weight: u64) -> bool {
        self.wants(&lock(&self.sums), weight)
    }

    fn wants(&self, sums: &Sums, weight: u64) -> bool {
        let taken = self.known(sums).saturating_add(sums.reserved);
        !sums.is_enough && (weight == 0 || taken < self.wanted)
    }

    pub(super) fn freed(&self, weight: u64, amount: &Amount) {
        let mut sums = lock(&self.sums);
        sums.reserved = sums.reserved.saturating_sub(weight);
        sums.freed.add(amount);
    }

    pub(super) fn gone(&self, weight: u64, amount: &Amount) {
        let mut sums = lock(&self.sums);
        sums.reserved = sums.reserved.saturating_sub(weight);
        sums.gone.add(amount);
    }

    pub(super) fn left(&self, amount: &Amount) {
        lock(&self.sums).left.add(amount);
    }

    pub(super) fn release(&self, weight: u64) {
        let mut sums = lock(&self.sums);
        sums.reserved = sums.reserved.saturating_sub(weight);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::{Account, Amount, Measure};

    #[test]
    fn threads_together_take_no_more_than_is_wanted() {
        for wanted in [0, 1, 999, 1000] {
            let (account, removed) = (Account::new(Measure::Bytes, wanted), AtomicU64::new(0));
            std::thread::scope(|scope| {
                for thread in 0..8_u64 {
                    let (account, removed) = (&account, &removed);
                    scope.spawn(move || {
                        for round in 0..500 {
                            if !account.take(1) {
                                continue;
                            }
                            // Removed by this removal, by others, or not at all.
                            let amount = Amount { names: 1, files: 1, bytes: 1 };
                            match (round + thread) % 3 {
                                0 => account.release(1),
                                1 => account.gone(1, &amount),
                                _ => account.freed(1, &amount),
                            }
                            removed.fetch_add(u64::from((round + thread) % 3 != 0), Ordering::Relaxed);
                        }
                    });
                }
            });
            assert_eq!(removed.load(Ordering::Relaxed), wanted);
            assert!(account.is_freed() && !account.take(1), "{wanted}");
        }
    }

    #[test]
    fn what_weighs_nothing_goes_by_its_place_until_the_file_system_has_enough() {
        let account = Account::new(Measure::Bytes, 5);
        account.freed(0, &Amount { names: 1, files: 1, bytes: u64::MAX });
        account.gone(0, &Amount { names: 1, files: 1, bytes: u64::MAX });
        assert!(account.is_freed() && account.take(0) && !account.take(1));
        assert!(account.may_take(0) && !account.may_take(1));
        account.has_enough();
        assert!(!account.take(0));
    }
}
