//! Progress of a scan or a comparison: a line with the rate on a terminal, elsewhere only error messages.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget};
use megadir_inventory::ScanEvent;

use crate::cmd::bar::set_style;
use crate::cmd::error_limiter::{ErrorLimiter, OTHER_MOUNT};
use crate::exit::{describe, kind};
use crate::ui::message::{quoted, reason};

const TICK: Duration = Duration::from_millis(100);

pub(in crate::cmd) struct Progress {
    bar: ProgressBar,
    read: u64,
    writes: bool,
    complaints: ErrorLimiter,
}

impl Progress {
    /// `what` is "read" or similar; hidden unless standard error is a terminal.
    pub(in crate::cmd) fn new(what: &str, all_errors: bool) -> Self {
        Self::on(ProgressDrawTarget::stderr(), what, all_errors)
    }

    fn on(target: ProgressDrawTarget, what: &str, all_errors: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, target);
        set_style(&bar, &format!("{{spinner}} {{done}} entries {what}, {{rate}}, {{elapsed}}"));
        if !bar.is_hidden() {
            bar.enable_steady_tick(TICK);
        }
        Self { bar, read: 0, writes: false, complaints: ErrorLimiter::new(all_errors) }
    }

    pub(in crate::cmd) fn tell(&mut self, event: &ScanEvent<'_>) {
        match event {
            ScanEvent::Read(read) => {
                self.read = *read;
                self.bar.set_position(*read);
            }
            ScanEvent::Written(written) => {
                if !self.writes {
                    self.writes = true;
                    self.bar.set_length(self.read);
                    set_style(&self.bar, "{wide_bar} {done} of {all} entries written, {elapsed}");
                }
                self.bar.set_position(*written);
            }
            ScanEvent::Failed(error) => {
                self.complain(&kind(error), 1, || eprintln!("megadir: {}", describe(error)));
            }
            ScanEvent::Unexamined { directory, first, errno, count } => {
                let reason = reason(&std::io::Error::from_raw_os_error(*errno));
                let kind = format!("examine: {reason}");
                self.complain(&kind, *count, || unexamined(directory, first, &reason, *count));
            }
            ScanEvent::OtherMount(path) => {
                self.complain(OTHER_MOUNT, 1, || eprintln!("megadir: {} {OTHER_MOUNT}", quoted(path)));
            }
        }
    }

    /// `work` updates the counter; removed at the end.
    pub(in crate::cmd) fn of<R>(self, count: &AtomicU64, work: impl FnOnce() -> R) -> R {
        if self.bar.is_hidden() {
            return work();
        }
        let done = AtomicBool::new(false);
        let result = std::thread::scope(|scope| {
            let shown = scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    self.bar.set_position(count.load(Ordering::Relaxed));
                    std::thread::park_timeout(TICK);
                }
            });
            // A guard, because the scope joins the drawing thread even if the work panics.
            let ends = Ends(&done, shown.thread());
            let result = work();
            drop(ends);
            result
        });
        self.finish();
        result
    }

    pub(in crate::cmd) fn finish(self) {
        self.bar.finish_and_clear();
        self.complaints.print_rest();
    }

    fn complain(&mut self, kind: &str, entries: u64, print: impl FnOnce()) {
        if !self.complaints.take(kind, entries) {
            return;
        }
        match self.bar.is_hidden() {
            true => print(),
            false => self.bar.suspend(print),
        }
    }
}

struct Ends<'a>(&'a AtomicBool, &'a Thread);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.unpark();
    }
}

/// Once a directory.
fn unexamined(directory: &Path, first: &[u8], reason: &str, count: u64) {
    let first = match megadir::names::to_os(first) {
        Ok(name) => quoted(&directory.join(&*name)),
        Err(_) => quoted(directory),
    };
    let others = match count - 1 {
        0 => String::new(),
        others => format!(", and {others} more there"),
    };
    eprintln!("megadir: examine {first}{others}: {reason}");
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::cmd::bar::screen::Screen;

    #[test]
    fn a_count_that_others_keep_is_shown_with_its_rate_while_they_work() {
        let (screen, count) = (Screen::new(100), AtomicU64::new(0));
        let progress =
            Progress::on(ProgressDrawTarget::term_like(Box::new(screen.clone())), "compared", false);
        let started = Instant::now();
        let shown = progress.of(&count, || {
            count.store(12_345, Ordering::Relaxed);
            while !(screen.shows("12 345 entries compared, ") && screen.shows("/s, ")) {
                if started.elapsed() > megadir_testkit::PATIENCE {
                    return false;
                }
                std::thread::sleep(TICK / 10);
            }
            true
        });
        assert!(shown, "{screen:?}");
    }
}
