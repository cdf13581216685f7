//! Limits repeated error messages: the first few of each kind are printed, the rest counted.
//!
//! A directory of a million entries without permission would print a million lines otherwise, and the other
//! reasons would be lost among them.

use super::amount::grouped;

/// Messages for one reason.
const PRINTED_MAX: u64 = 10;
/// End of a reason that holds for each entry of the file system, so that one entry shows it.
const READ_ONLY: &str = "Read-only file system";
/// Reasons with a count of their own; entries of further ones are counted together.
const REASONS_MAX: usize = 20;

pub(super) const OTHER_MOUNT: &str = "is on another mount, not entered (--cross-mounts enters it)";

pub(super) struct ErrorLimiter {
    all: bool,
    reasons: Vec<Reason>,
    /// Entries of kinds beyond [`REASONS_MAX`].
    others: u64,
}

/// `printed` counts messages, `more` the entries without one.
struct Reason {
    why: String,
    printed: u64,
    more: u64,
}

impl ErrorLimiter {
    pub(super) fn new(all: bool) -> Self {
        Self { all, reasons: Vec::new(), others: 0 }
    }

    /// Prints a message about entries, unless there were too many for this reason.
    pub(super) fn print(&mut self, why: &str, entries: u64, message: impl FnOnce() -> String) {
        if self.take(why, entries) {
            eprintln!("megadir: {}", message());
        }
    }

    /// `true` if a message is to be printed, for callers that print in another way.
    pub(super) fn take(&mut self, why: &str, entries: u64) -> bool {
        if self.all {
            return true;
        }
        let known = self.reasons.iter().position(|reason| reason.why == why);
        let index = known.unwrap_or(self.reasons.len());
        // Only an unknown reason has this index, and only when the list is full.
        if index == REASONS_MAX {
            self.others += entries;
            return false;
        }
        if known.is_none() {
            self.reasons.push(Reason { why: why.to_owned(), printed: 0, more: 0 });
        }
        let reason = &mut self.reasons[index];
        let printed_max = if why.ends_with(READ_ONLY) { 1 } else { PRINTED_MAX };
        let is_printed = reason.printed < printed_max;
        match is_printed {
            true => reason.printed += 1,
            false => reason.more += entries,
        }
        is_printed
    }

    pub(super) fn print_rest(&self) {
        for line in self.rest() {
            eprintln!("megadir: {line}");
        }
    }

    fn rest(&self) -> Vec<String> {
        let reasons = self.reasons.iter().map(|reason| (reason.more, reason.why.as_str()));
        let all = reasons.chain([(self.others, "for other reasons")]).filter(|(more, _)| *more > 0);
        all.map(|(more, why)| format!("and {} more: {why} (--all-errors prints each)", grouped(more)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorLimiter, PRINTED_MAX, REASONS_MAX};

    #[test]
    fn the_first_of_each_reason_are_printed_and_the_others_counted() {
        let mut errors = ErrorLimiter::new(false);
        let printed = (0..200_000).filter(|_| errors.take("remove: Permission denied", 1)).count();
        assert_eq!(printed as u64, PRINTED_MAX);
        assert!(errors.take("open: Permission denied", 3));
        assert_eq!(errors.rest(), ["and 199 990 more: remove: Permission denied (--all-errors prints each)"]);
    }

    #[test]
    fn a_read_only_file_system_is_mentioned_once() {
        let mut errors = ErrorLimiter::new(false);
        let printed = (0..5000).filter(|_| errors.take("remove: Read-only file system", 1)).count();
        assert_eq!(printed, 1);
        assert_eq!(
            errors.rest(),
            ["and 4 999 more: remove: Read-only file system (--all-errors prints each)"]
        );
    }

    #[test]
    fn many_reasons_take_bounded_memory() {
        let mut errors = ErrorLimiter::new(false);
        let printed = (0..1000).filter(|number| errors.take(&number.to_string(), 2)).count();
        assert_eq!((printed, errors.reasons.len()), (REASONS_MAX, REASONS_MAX));
        assert_eq!(errors.rest(), ["and 1 960 more: for other reasons (--all-errors prints each)"]);
    }

    #[test]
    fn every_error_is_printed_on_request() {
        let mut errors = ErrorLimiter::new(true);
        assert!((0..1000).all(|_| errors.take("no", 1)));
        assert!(errors.rest().is_empty());
    }
}
