//! Complaints that may be as many as there are entries: the first of each reason are told, the others counted.

use super::limits::amount::grouped;

/// So many complaints of one reason are told one by one.
const TOLD_MAX: u64 = 10;
/// So many reasons are told apart.
const REASONS_MAX: usize = 20;

/// What is told of a mount below that stays closed.
pub(super) const OTHER_MOUNT: &str = "is another mount, not entered (--cross-mounts does)";

/// What was complained of so far.
#[derive(Debug)]
pub(super) struct Complaints {
    /// Whether each is told, however many there are.
    all: bool,
    reasons: Vec<Reason>,
    /// Entries whose reasons are not told apart any more.
    others: u64,
}

#[derive(Debug)]
struct Reason {
    why: String,
    told: u64,
    /// Entries that were not told one by one.
    more: u64,
}

impl Complaints {
    pub(super) fn new(all: bool) -> Self {
        Self { all, reasons: Vec::new(), others: 0 }
    }

    /// Takes a complaint about so many entries; tells whether it is to be printed now.
    pub(super) fn take(&mut self, why: &str, entries: u64) -> bool {
        if self.all {
            return true;
        }
        let reason = match self.reasons.iter().position(|reason| reason.why == why) {
            Some(index) => &mut self.reasons[index],
            None if self.reasons.len() < REASONS_MAX => {
                self.reasons.push(Reason { why: why.to_owned(), told: 0, more: 0 });
                let last = self.reasons.len() - 1;
                &mut self.reasons[last]
            }
            None => {
                self.others += entries;
                return false;
            }
        };
        let is_told = reason.told < TOLD_MAX;
        match is_told {
            true => reason.told += 1,
            false => reason.more += entries,
        }
        is_told
    }

    /// Prints how many there were that were not told, by reason.
    pub(super) fn tell_rest(&self) {
        for line in self.rest() {
            eprintln!("megadir: {line}");
        }
    }

    fn rest(&self) -> Vec<String> {
        let line =
            |more: u64, why: &str| format!("and {} more: {why} (--all-errors tells each)", grouped(more));
        let reasons = self.reasons.iter().filter(|reason| reason.more > 0);
        let mut lines: Vec<_> = reasons.map(|reason| line(reason.more, &reason.why)).collect();
        if self.others > 0 {
            lines.push(line(self.others, "for other reasons"));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::{Complaints, REASONS_MAX, TOLD_MAX};

    #[test]
    fn the_first_of_each_reason_are_told_and_the_others_counted() {
        let mut complaints = Complaints::new(false);
        let told = (0..200_000).filter(|_| complaints.take("remove: Permission denied", 1)).count();
        assert_eq!(told as u64, TOLD_MAX);
        assert!(complaints.take("open: Permission denied", 3));
        assert_eq!(
            complaints.rest(),
            ["and 199 990 more: remove: Permission denied (--all-errors tells each)"]
        );
    }

    #[test]
    fn reasons_without_end_take_no_memory() {
        let mut complaints = Complaints::new(false);
        let told = (0..1000).filter(|number| complaints.take(&number.to_string(), 2)).count();
        assert_eq!((told, complaints.reasons.len()), (REASONS_MAX, REASONS_MAX));
        assert_eq!(complaints.rest(), ["and 1 960 more: for other reasons (--all-errors tells each)"]);
    }

    #[test]
    fn each_is_told_where_that_is_asked_for() {
        let mut complaints = Complaints::new(true);
        assert!((0..1000).all(|_| complaints.take("no", 1)));
        assert!(complaints.rest().is_empty());
    }
}
