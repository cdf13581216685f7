//! Progress of a command: one line on standard error. On a terminal it is drawn once the command takes longer than [`DELAY`], by a
//! thread that reads a counter, so that the work only adds to a number; another one looks at the work. Elsewhere a command that is
//! not quiet has a line after [`LONG`], and again each time that [`AGAIN`] times as long has passed: it does not seem to hang, and fills no log.
//! The thread that waits for interrupts prints these lines, if there is one.
//!
//! `ui::message` holds the line, so that anything else for the terminal clears it first. A run of `bench` draws between
//! blocks instead, without a thread.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use megadir::{Dir, TreeEvent};

use super::amount::{amount, grouped};
use super::error_limiter::{ErrorLimiter, OTHER_MOUNT};
use crate::exit::{describe, kind};
use crate::ui::message::{self, quoted, reason, unexamined};

/// Commands that end sooner print no line, which would only flicker.
const DELAY: Duration = Duration::from_millis(500);
/// In a pipe or a log, lines begin later and become rarer, because they stay there.
const LONG: Duration = Duration::from_secs(10);
/// 10 s, 1 min, 6 min, 36 min, 3.6 h.
const AGAIN: u32 = 6;
const TICK: Duration = Duration::from_millis(100);
const AVERAGED: Duration = Duration::from_secs(5);
/// Nothing bounds the work.
const UNKNOWN: u64 = 0;

/// `thread` draws or prints; it is joined on drop, so that no line of it follows the output of the command.
pub(in crate::cmd) struct Progress {
    counter: Arc<Counter>,
    is_drawn: bool,
    thread: Option<JoinHandle<()>>,
}

/// Numbers that the work writes and another thread reads. No other data depends on them, so they are
/// relaxed; only `ended` orders anything.
#[derive(Debug, Default)]
pub(in crate::cmd) struct Counter {
    done: AtomicU64,
    total: AtomicU64,
    about: AtomicBool,
    ended: AtomicBool,
}

impl Counter {
    pub(in crate::cmd) fn add(&self, entries: u64) {
        self.done.fetch_add(entries, Ordering::Relaxed);
    }

    pub(in crate::cmd) fn set(&self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
    }

    /// Without a total, elapsed time replaces the remaining time.
    pub(in crate::cmd) fn expect(&self, total: Option<u64>, about: bool) {
        self.about.store(about, Ordering::Relaxed);
        self.total.store(total.unwrap_or(UNKNOWN), Ordering::Relaxed);
    }

    /// A total that was exceeded was an estimate that proved too low; a percentage above 100 would not
    /// help.
    fn total(&self) -> Option<u64> {
        let total = self.total.load(Ordering::Relaxed);
        (total != UNKNOWN && self.done.load(Ordering::Relaxed) <= total).then_some(total)
    }
}

impl Progress {
    /// `label` follows the number: "entries read". If `is_quiet`, only a terminal has the line.
    pub(in crate::cmd) fn new(label: &'static str, is_quiet: bool) -> Self {
        Self::on(ProgressDrawTarget::stderr(), label, is_quiet, || None)
    }

    /// `estimate` is called in the drawing thread, and only if the command takes long.
    pub(in crate::cmd) fn with_estimate(
        label: &'static str,
        estimate: impl FnOnce() -> Option<u64> + Send + 'static,
    ) -> Self {
        Self::on(ProgressDrawTarget::stderr(), label, false, estimate)
    }

    /// For work without a number, such as a sample: nothing on a terminal, elsewhere the lines after [`LONG`].
    pub(in crate::cmd) fn without_number(is_quiet: bool) -> Self {
        let target = ProgressDrawTarget::stderr();
        match target.is_hidden() {
            true => Self::on(target, "", is_quiet, || None),
            false => Self { counter: Arc::default(), is_drawn: false, thread: None },
        }
    }

    fn on(
        target: ProgressDrawTarget,
        label: &'static str,
        is_quiet: bool,
        estimate: impl FnOnce() -> Option<u64> + Send + 'static,
    ) -> Self {
        let counter = Arc::<Counter>::default();
        let (is_hidden, counted) = (target.is_hidden(), Arc::clone(&counter));
        let named = std::thread::Builder::new().name("megadir-progress".to_owned());
        let thread = match (is_hidden, is_quiet) {
            (true, true) => None,
            (true, false) => Mention::new(label, counted).begin(named),
            (false, _) => named.spawn(move || draw(target, label, estimate, &counted)).ok(),
        };
        Self { counter, is_drawn: !is_hidden && thread.is_some(), thread }
    }

    pub(in crate::cmd) fn is_drawn(&self) -> bool {
        self.is_drawn
    }

    pub(in crate::cmd) fn counter(&self) -> &Counter {
        &self.counter
    }

    /// For work that counts in a number of its own.
    pub(in crate::cmd) fn of<R>(self, count: &AtomicU64, work: impl FnOnce() -> R) -> R {
        match self.is_drawn() {
            true => watched(|| self.counter.set(count.load(Ordering::Relaxed)), work),
            false => work(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.counter.ended.store(true, Ordering::Release);
        match self.thread.take() {
            Some(thread) => {
                thread.thread().unpark();
                let _ = thread.join();
            }
            // No line of another thread follows what the command prints next.
            None => drop(MENTIONED.lock()),
        }
    }
}

/// Progress of a scan or a summary of usage: a line with the rate on a terminal, and error messages everywhere.
pub(in crate::cmd) struct TreeProgress {
    progress: Progress,
    read: u64,
    writes: bool,
    is_quiet: bool,
    complaints: ErrorLimiter,
}

impl TreeProgress {
    pub(in crate::cmd) fn new(all_errors: bool, is_quiet: bool) -> Self {
        let progress = Progress::new("entries read", is_quiet);
        Self { progress, read: 0, writes: false, is_quiet, complaints: ErrorLimiter::new(all_errors) }
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
                    self.progress = Progress::new("entries written", self.is_quiet);
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

/// Estimated number of entries, in milliseconds where the file system allows that.
#[cfg(target_os = "linux")]
pub(in crate::cmd) fn estimate(directory: &Dir) -> Option<u64> {
    megadir::estimate(directory).ok().map(|estimate| estimate.entries)
}

#[cfg(not(target_os = "linux"))]
pub(in crate::cmd) fn estimate(_: &Dir) -> Option<u64> {
    None
}

/// Calls `look` now and then in another thread than the work's: for interrupts, progress and heartbeats. If the system allows no thread,
/// nothing is watched: an interrupt then ends the program once its heartbeat has stopped for long enough, not the work.
pub(super) fn watched<R>(mut look: impl FnMut() + Send, work: impl FnOnce() -> R) -> R {
    const LOOK_EVERY: Duration = Duration::from_millis(50);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = std::thread::Builder::new().name("megadir-progress".to_owned());
        let watcher = watcher.spawn_scoped(scope, || {
            while !ended.load(Ordering::Acquire) {
                std::thread::park_timeout(LOOK_EVERY);
                look();
            }
        });
        let _ends = watcher.as_ref().ok().map(|watcher| Ends(&ended, watcher.thread()));
        work()
    })
}

/// A guard, because a scope joins its threads even if the work panics.
struct Ends<'a>(&'a AtomicBool, &'a std::thread::Thread);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.unpark();
    }
}

/// The lines of a command that takes long in a pipe. They need no thread of their own where the main thread waits for the work and looks at the
/// clock ([`MENTIONED`]): starting a thread takes a tenth of the time of a short command.
struct Mention {
    label: &'static str,
    counter: Arc<Counter>,
    started: Instant,
    due: Duration,
}

/// Lines that the main thread looks at, while [`mention_due`] is called.
static MENTIONED: Mutex<Vec<Mention>> = Mutex::new(Vec::new());
static IS_LOOKED_AT: AtomicBool = AtomicBool::new(false);

impl Mention {
    fn new(label: &'static str, counter: Arc<Counter>) -> Self {
        Self { label, counter, started: Instant::now(), due: LONG }
    }

    fn begin(self, thread: std::thread::Builder) -> Option<JoinHandle<()>> {
        if IS_LOOKED_AT.load(Ordering::Acquire) {
            MENTIONED.lock().unwrap_or_else(PoisonError::into_inner).push(self);
            return None;
        }
        thread.spawn(move || self.run_alone()).ok()
    }

    fn run_alone(mut self) {
        while !self.is_over() {
            std::thread::park_timeout(self.due.saturating_sub(self.started.elapsed()));
            self.look();
        }
    }

    fn is_over(&self) -> bool {
        self.counter.ended.load(Ordering::Acquire)
    }

    fn look(&mut self) {
        if !self.is_over() && self.started.elapsed() >= self.due {
            let done = self.counter.done.load(Ordering::Relaxed);
            eprintln!("megadir: {}", long(self.label, self.due, done));
            self.due *= AGAIN;
        }
    }
}

/// Announces that [`mention_due`] is called now and then (`true`), or no longer.
pub(super) fn look_at_mentions(is_called: bool) {
    IS_LOOKED_AT.store(is_called, Ordering::Release);
}

/// Prints the lines that are due by now.
pub(super) fn mention_due() {
    let mut mentioned = MENTIONED.lock().unwrap_or_else(PoisonError::into_inner);
    mentioned.retain(|mention| !mention.is_over());
    mentioned.iter_mut().for_each(Mention::look);
}

fn long(label: &str, after: Duration, done: u64) -> String {
    let after = match after.as_secs() {
        seconds if seconds < 60 => format!("{seconds} s"),
        seconds if seconds < 3600 => format!("{} min", seconds / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    };
    match done {
        0 => format!("still working after {after}"),
        done => format!("still working after {after}: {} {label} so far", grouped(done)),
    }
}

fn draw(target: ProgressDrawTarget, label: &str, estimate: impl FnOnce() -> Option<u64>, counter: &Counter) {
    let (started, mut target, mut estimate) = (Instant::now(), Some(target), Some(estimate));
    // Hidden at first, so that its rate counts from the start.
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    let mut shown = None;
    while !counter.ended.load(Ordering::Acquire) {
        if started.elapsed() >= DELAY
            && let (Some(target), Some(estimate)) = (target.take(), estimate.take())
        {
            if let Some(total) = estimate() {
                counter.expect(Some(total), true);
            }
            bar.set_draw_target(target);
            message::begin_line(&bar);
        }
        let total = counter.total();
        let about = counter.about.load(Ordering::Relaxed);
        if shown.replace((total.is_some(), about)) != Some((total.is_some(), about)) {
            set_style(&bar, &template(label, total.is_some(), about));
        }
        match total {
            Some(total) => bar.set_length(total),
            None => bar.unset_length(),
        }
        bar.set_position(counter.done.load(Ordering::Relaxed));
        bar.tick();
        std::thread::park_timeout(TICK);
    }
    message::end_line();
    bar.finish_and_clear();
}

fn template(label: &str, is_known: bool, about: bool) -> String {
    if !is_known {
        return format!("{{spinner}} {{done}} {label}, {{rate}}, {{elapsed}} so far");
    }
    let about = if about { "about " } else { "" };
    format!("{{wide_bar}} {{done}} of {about}{{all}} {label}, {{rate}}, {{eta}} left")
}

/// Keys `{done}`, `{all}` and `{rate}` in addition to indicatif's.
fn set_style(bar: &ProgressBar, template: &str) {
    let Ok(style) = ProgressStyle::with_template(template) else { return };
    let done = |state: &ProgressState, text: &mut dyn Write| {
        let _ = text.write_str(&grouped(state.pos()));
    };
    let all = |state: &ProgressState, text: &mut dyn Write| {
        let _ = text.write_str(&grouped(state.len().unwrap_or_default()));
    };
    let rate = |state: &ProgressState, text: &mut dyn Write| {
        // The moving average needs a few seconds, the mean none.
        let elapsed = state.elapsed();
        let per_second =
            if elapsed < AVERAGED { state.pos() as f64 / elapsed.as_secs_f64() } else { state.per_sec() };
        let _ = write!(text, "{}/s", amount(per_second as u64));
    };
    bar.set_style(style.with_key("done", done).with_key("all", all).with_key("rate", rate));
}

#[cfg(test)]
mod tests {
    use super::screen::Screen;
    use super::*;

    #[test]
    fn a_line_fits_the_terminal_and_has_numbers_as_everywhere() {
        for width in [80, 120, 200] {
            let screen = Screen::new(width);
            let target = ProgressDrawTarget::term_like(Box::new(screen.clone()));
            let bar = ProgressBar::with_draw_target(Some(2_345_678), target);
            set_style(&bar, &template("entries", true, true));
            bar.set_position(1_234_567);
            bar.tick();
            assert!(screen.shows(" 1 234 567 of about 2 345 678 entries, "), "{screen:?}");
            let drawn = screen.drawn();
            let widest = drawn.lines().map(|line| line.chars().count()).max();
            assert_eq!(widest, Some(width.into()), "{drawn:?}");
        }
    }

    fn on(screen: &Screen, estimate: Option<u64>) -> Progress {
        let target = ProgressDrawTarget::term_like(Box::new(screen.clone()));
        Progress::on(target, "entries compared", false, move || estimate)
    }

    /// `false` if the text did not appear.
    fn waited(screen: &Screen, text: &str) -> bool {
        let started = Instant::now();
        while !screen.shows(text) && started.elapsed() < megadir_testkit::PATIENCE {
            std::thread::sleep(TICK / 10);
        }
        screen.shows(text)
    }

    #[test]
    fn a_count_that_others_keep_is_shown_with_its_rate_while_they_work() {
        let (screen, count) = (Screen::new(100), AtomicU64::new(0));
        let work = || {
            count.store(12_345, Ordering::Relaxed);
            assert!(waited(&screen, "12 345 entries compared, ") && waited(&screen, "/s, "), "{screen:?}");
        };
        on(&screen, None).of(&count, work);
    }

    #[test]
    fn long_work_without_a_terminal_has_a_line_at_growing_intervals() {
        let after = |times| long("entries read", LONG * AGAIN.pow(times), 12_345 * u64::from(times));
        assert_eq!(after(0), "still working after 10 s");
        assert_eq!(after(1), "still working after 1 min: 12 345 entries read so far");
        assert_eq!(after(3), "still working after 36 min: 37 035 entries read so far");
        assert_eq!(after(4), "still working after 3 h 36 min: 49 380 entries read so far");
        let hidden = |is_quiet| Progress::on(ProgressDrawTarget::hidden(), "entries read", is_quiet, || None);
        assert_eq!([false, true].map(|is_quiet| hidden(is_quiet).thread.is_some()), [true, false]);
        assert!(!hidden(false).is_drawn());
    }

    #[test]
    fn short_work_draws_nothing_and_ends_at_once() {
        let (screen, started) = (Screen::new(100), Instant::now());
        let progress = on(&screen, Some(7));
        progress.counter().add(3);
        drop(progress);
        // On a loaded machine even this may take longer than the delay.
        assert!(screen.drawn().is_empty() || started.elapsed() >= DELAY, "{screen:?}");
    }

    #[test]
    fn a_total_that_was_too_small_is_no_longer_shown() {
        let screen = Screen::new(100);
        let progress = on(&screen, Some(1000));
        progress.counter().set(900);
        assert!(waited(&screen, " 900 of about 1 000 entries compared, "), "{screen:?}");
        progress.counter().set(1001);
        assert!(waited(&screen, " 1 001 entries compared, "), "{screen:?}");
    }
}

#[cfg(test)]
pub(super) mod screen {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    #[derive(Clone, Debug)]
    pub(in crate::cmd) struct Screen {
        width: u16,
        drawn: Arc<Mutex<String>>,
    }

    impl Screen {
        pub(in crate::cmd) fn new(width: u16) -> Self {
            Self { width, drawn: Arc::default() }
        }

        pub(in crate::cmd) fn shows(&self, text: &str) -> bool {
            self.drawn().contains(text)
        }

        pub(in crate::cmd) fn drawn(&self) -> String {
            self.drawn.lock().map(|drawn| drawn.clone()).unwrap_or_default()
        }
    }

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            self.width
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
            let mut drawn = self.drawn.lock().map_err(|_| io::Error::other("poisoned"))?;
            drawn.push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            let mut drawn = self.drawn.lock().map_err(|_| io::Error::other("poisoned"))?;
            drawn.push('\n');
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }
}
