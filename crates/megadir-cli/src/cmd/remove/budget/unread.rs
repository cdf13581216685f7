//! Failures of the passes that select. They are reported before the question, once, and end in exit code 1 whatever is removed.

use megadir::remove::budget::Selection;
use megadir::{Error, TreeEvent};

use crate::cmd::error_limiter::ErrorLimiter;
use crate::cmd::mass_change::{Failure, KEPT_MAX};
use crate::cmd::remove::args::Args;
use crate::exit::describe;
use crate::ui::message::{reason, unexamined};

pub(in crate::cmd::remove) struct Unread {
    kept: Vec<Failure>,
    count: u64,
    complaints: ErrorLimiter,
}

impl Unread {
    pub(in crate::cmd::remove) fn new(args: &Args) -> Self {
        Self { kept: Vec::new(), count: 0, complaints: ErrorLimiter::new(args.change.all_errors) }
    }

    pub(in crate::cmd::remove) fn note(&mut self, event: &TreeEvent<'_>) {
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

    fn add(&mut self, failure: Failure, count: u64, message: impl FnOnce() -> String) {
        self.complaints.print(&failure.reason, count, message);
        self.count += count;
        if self.kept.len() < KEPT_MAX {
            self.kept.push(failure);
        }
    }

    pub(in crate::cmd::remove) fn print_rest(&self) {
        self.complaints.print_rest();
    }

    /// The first failures, and the number of all.
    pub(in crate::cmd::remove) fn failures(self) -> (Vec<Failure>, u64) {
        (self.kept, self.count)
    }
}

/// `true` if the removal has met again what could not be read before.
pub(in crate::cmd::remove) fn has_reported(selection: Option<&Selection>, error: &Error) -> bool {
    selection.is_some_and(|selection| selection.has_reported(error))
}
