//! The progress of a scan or a comparison: on a terminal a line with the rate, elsewhere nothing but complaints.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use megadir_inventory::ScanEvent;

use crate::exit::describe;
use crate::ui::message::quoted;

/// The line is drawn anew this often.
const TICK: Duration = Duration::from_millis(100);

/// Shows how far a scan is, and prints complaints.
pub(in crate::cmd) struct Progress {
    bar: ProgressBar,
    read: u64,
    writes: bool,
}

impl Progress {
    /// Returns a line about entries that are `what`, e.g. read; it stays hidden where no terminal shows it.
    pub(in crate::cmd) fn new(what: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        set_style(&bar, &format!("{{spinner}} {{human_pos}} entries {what}, {{per_sec}}, {{elapsed}}"));
        if !bar.is_hidden() {
            bar.enable_steady_tick(TICK);
        }
        Self { bar, read: 0, writes: false }
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
            ScanEvent::Failed(error) => self.complain(|| eprintln!("megadir: {}", describe(error))),
            ScanEvent::Unexamined { directory, first, errno, count } => {
                self.complain(|| unexamined(directory, first, *errno, *count));
            }
            ScanEvent::OtherMount(path) => self.complain(|| {
                let path = quoted(path);
                eprintln!("megadir: {path} is another mount, not entered (--cross-mounts does)");
            }),
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
    }

    fn complain(&self, print: impl FnOnce()) {
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
fn unexamined(directory: &Path, first: &[u8], errno: i32, count: u64) {
    let first = match megadir::names::to_os(first) {
        Ok(name) => quoted(&directory.join(&*name)),
        Err(_) => quoted(directory),
    };
    let reason = std::io::Error::from_raw_os_error(errno).to_string();
    let reason = reason.split(" (os error").next().unwrap_or(&reason);
    let others = match count - 1 {
        0 => String::new(),
        others => format!(", and {others} more there"),
    };
    eprintln!("megadir: examine {first}{others}: {reason}");
}
