//! The progress of a scan or a comparison: on a terminal a line with the rate, elsewhere nothing but complaints.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use megadir_inventory::ScanEvent;

use crate::cmd::complaints::{Complaints, OTHER_MOUNT};
use crate::exit::{describe, kind};
use crate::ui::message::{quoted, reason};

/// The line is drawn anew this often.
const TICK: Duration = Duration::from_millis(100);

/// Shows how far a scan is, and prints complaints.
pub(in crate::cmd) struct Progress {
    bar: ProgressBar,
    read: u64,
    writes: bool,
    complaints: Complaints,
}

impl Progress {
    /// Returns a line about entries that are `what`, e.g. read; it stays hidden where no terminal shows it.
    pub(in crate::cmd) fn new(what: &str, all_errors: bool) -> Self {
        Self::on(ProgressDrawTarget::stderr(), what, all_errors)
    }

    fn on(target: ProgressDrawTarget, what: &str, all_errors: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, target);
        set_style(&bar, &format!("{{spinner}} {{human_pos}} entries {what}, {{per_sec}}, {{elapsed}}"));
        if !bar.is_hidden() {
            bar.enable_steady_tick(TICK);
        }
        Self { bar, read: 0, writes: false, complaints: Complaints::new(all_errors) }
    }

    /// Takes what a scan tells.
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
                    set_style(&self.bar, "{bar:30} {human_pos} of {human_len} entries written, {elapsed}");
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

    /// Shows a count that others keep while `work` does what they count, and removes the line.
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
            // Also when the work panics: the scope waits for the other.
            let ends = Ends(&done, shown.thread());
            let result = work();
            drop(ends);
            result
        });
        self.finish();
        result
    }

    /// Removes the line.
    pub(in crate::cmd) fn finish(self) {
        self.bar.finish_and_clear();
        self.complaints.tell_rest();
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

/// Ends what shows a count.
struct Ends<'a>(&'a AtomicBool, &'a Thread);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.unpark();
    }
}

fn set_style(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// Tells, once a directory, what could not be examined.
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
    use std::io;
    use std::sync::{Arc, Mutex};
    use std::time::Instant;

    use indicatif::TermLike;

    use super::*;

    /// A terminal that keeps what was drawn.
    #[derive(Clone, Debug, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl Screen {
        fn shows(&self, text: &str) -> bool {
            self.0.lock().is_ok_and(|drawn| drawn.contains(text))
        }
    }

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            100
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            let mut drawn = self.0.lock().map_err(|_| io::Error::other("poisoned"))?;
            drawn.push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_count_that_others_keep_is_shown_with_its_rate_while_they_work() {
        let (screen, count) = (Screen::default(), AtomicU64::new(0));
        let progress =
            Progress::on(ProgressDrawTarget::term_like(Box::new(screen.clone())), "compared", false);
        let started = Instant::now();
        let shown = progress.of(&count, || {
            count.store(12_345, Ordering::Relaxed);
            while !(screen.shows("12,345 entries compared, ") && screen.shows("/s, ")) {
                // A terminal that shows nothing for a minute shows nothing.
                if started.elapsed() > Duration::from_secs(60) {
                    return false;
                }
                std::thread::sleep(TICK / 10);
            }
            true
        });
        assert!(shown, "{screen:?}");
    }
}
