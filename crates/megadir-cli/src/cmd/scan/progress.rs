//! Progress of a scan or a summary of usage: a line with the rate on a terminal, and error messages everywhere.

use megadir::TreeEvent;

use crate::cmd::error_limiter::{ErrorLimiter, OTHER_MOUNT};
use crate::cmd::progress::Progress;
use crate::exit::{describe, kind};
use crate::ui::message::{quoted, reason, unexamined};

pub(in crate::cmd) struct Watched {
    progress: Progress,
    read: u64,
    writes: bool,
    complaints: ErrorLimiter,
}

impl Watched {
    pub(in crate::cmd) fn new(all_errors: bool) -> Self {
        let progress = Progress::new("entries read");
        Self { progress, read: 0, writes: false, complaints: ErrorLimiter::new(all_errors) }
    }

    pub(in crate::cmd) fn expect(&self, total: u64) {
        self.progress.counter().expect(Some(total), false);
    }

    pub(in crate::cmd) fn report(&mut self, event: &TreeEvent<'_>) {
        match event {
            TreeEvent::Read(read) => {
                self.read = *read;
                self.progress.counter().set(*read);
            }
            TreeEvent::Written(written) => {
                if !self.writes {
                    self.writes = true;
                    self.progress = Progress::new("entries written");
                    self.progress.counter().expect(Some(self.read), false);
                }
                self.progress.counter().set(*written);
            }
            TreeEvent::Failed(error) => self.complaints.print(&kind(error), 1, || describe(error)),
            TreeEvent::Unexamined { directory, first, errno, count } => {
                let reason = reason(&std::io::Error::from_raw_os_error(*errno));
                let message = || unexamined(directory, first, *count, &reason);
                self.complaints.print(&format!("examine: {reason}"), *count, message);
            }
            TreeEvent::OtherMount(path) => {
                self.complaints.print(OTHER_MOUNT, 1, || format!("{} {OTHER_MOUNT}", quoted(path)));
            }
        }
    }

    pub(in crate::cmd) fn finish(self) {
        drop(self.progress);
        self.complaints.print_rest();
    }
}
