//! Failures before the removal: of the pass over the tree that selects, and of a pack that is verified.
//!
//! They are kept apart until the removal begins, because the question comes in between, and are then the
//! first failures of its summary.

use megadir::TreeEvent;

use crate::cmd::error_limiter::ErrorLimiter;
use crate::cmd::mass_change::{Failure, KEPT_MAX};
use crate::exit::describe;
use crate::ui::message::{reason, unexamined};

/// Failures of the pass that selects. They are reported before the question, once, and end in exit code 1 whatever is removed.
pub(super) struct Unread {
    pub(super) kept: Vec<Failure>,
    pub(super) count: u64,
    pub(super) complaints: ErrorLimiter,
}

impl Unread {
    pub(super) fn new(all_errors: bool) -> Self {
        Self { kept: Vec::new(), count: 0, complaints: ErrorLimiter::new(all_errors) }
    }

    pub(super) fn note(&mut self, event: &TreeEvent<'_>) {
        match *event {
            TreeEvent::Failed(error) => self.add(Failure::of(error), 1, || describe(error)),
            TreeEvent::Unexamined { directory, first, errno, count } => {
                let reason = reason(&std::io::Error::from_raw_os_error(errno));
                let failure = Failure::of_message(&format!("examine: {reason}"));
                self.add(failure, count, || unexamined(directory, first, count, &reason));
            }
            TreeEvent::Read(_) | TreeEvent::Written(_) | TreeEvent::OtherMount(_) => {}
        }
    }

    /// `count` is above one for entries of a directory that could not be examined for one reason.
    pub(super) fn add(&mut self, failure: Failure, count: u64, message: impl FnOnce() -> String) {
        self.complaints.print(&failure.reason, count, message);
        self.count += count;
        if self.kept.len() < KEPT_MAX {
            self.kept.push(failure);
        }
    }
}
