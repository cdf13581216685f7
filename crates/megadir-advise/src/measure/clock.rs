//! Time budget of a measurement: it stops early enough to remove its files.
//!
//! ```text
//!  begun                                                                     begun + time
//!  |-- trials --|-- prepare --|-- rounds: create, read, walk ... --|-- removal --|reserve|
//!                                                                  ^
//!                     the watcher stops the run when  elapsed + 0.7 x time of creating + reserve >= time
//! ```
//!
//! The engine knows no deadline; it has a flag to end early and removes its files on every end. So the
//! clock is an observer of events, and a thread that sets the flag. A round that is cut off does not count.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use megadir_bench::{Event, Listener};
use megadir_record::{FileOperation, Line, Work};

/// The watcher runs during the measurement; fifty looks a second cost it nothing that could be measured.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Removal writes less than creation.
const REMOVING_PART: f64 = 0.7;
/// Syncing, the record.
const RESERVE: Duration = Duration::from_millis(250);
const RESERVE_PART: f64 = 0.05;

/// No creating block is running. An `Option` would need a lock, since two threads share the value.
const NONE: u64 = u64::MAX;

/// Times of a run so far, in seconds, from which the next run's size is computed. `preparing_s` is until the
/// first block, and `cleaning_s` the removal at the end. `cut` is `true` if the time was over before all
/// rounds were done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    pub(super) rounds: u32,
    pub(super) measuring_s: f64,
    pub(super) preparing_s: f64,
    pub(super) cleaning_s: f64,
    pub(super) cut: bool,
}

impl Pace {
    pub(super) fn round_s(&self) -> f64 {
        (self.measuring_s + self.cleaning_s) / f64::from(self.rounds.max(1))
    }
}

/// The time left must suffice to remove the files that were created, so the end depends on how long creating has taken
/// so far: `making_ns` of finished blocks, and the time since `since_ns` of the one that is running. Two
/// threads use it, the engine's and the one that watches, hence atomics; an error of nanoseconds does no
/// harm.
pub(super) struct Clock {
    begun: Instant,
    time: Duration,
    making_ns: AtomicU64,
    /// Nanoseconds after `begun`, or [`NONE`].
    since_ns: AtomicU64,
    over: AtomicBool,
}

impl Clock {
    pub(super) fn new(begun: Instant, time: Duration) -> Self {
        Self {
            begun,
            time,
            making_ns: AtomicU64::new(0),
            since_ns: AtomicU64::new(NONE),
            over: AtomicBool::new(false),
        }
    }

    /// The remaining time only suffices to remove the created files.
    fn is_over(&self) -> bool {
        let elapsed = self.begun.elapsed();
        let now = match self.since_ns.load(Ordering::Relaxed) {
            NONE => Duration::ZERO,
            since => elapsed.saturating_sub(Duration::from_nanos(since)),
        };
        let made = Duration::from_nanos(self.making_ns.load(Ordering::Relaxed)) + now;
        let reserve = RESERVE + self.time.mul_f64(RESERVE_PART) + made.mul_f64(REMOVING_PART);
        elapsed + reserve >= self.time
    }

    /// `run` ends when `stop` is set or the time is over.
    pub(super) fn watched<T>(&self, stop: &AtomicBool, run: impl FnOnce(&AtomicBool) -> T) -> T {
        let (either, done) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    let over = self.is_over();
                    if over {
                        self.over.store(true, Ordering::Relaxed);
                    }
                    if over || stop.load(Ordering::Relaxed) {
                        either.store(true, Ordering::Relaxed);
                    }
                    // Parked instead of asleep, so that the end of the run does not wait for the interval.
                    std::thread::park_timeout(LOOK_EVERY);
                }
            });
            let result = run(&either);
            done.store(true, Ordering::Release);
            watcher.thread().unpark();
            result
        })
    }

    pub(super) fn listener(&self) -> Watch<'_> {
        Watch {
            clock: self,
            started: Instant::now(),
            first: None,
            last: None,
            cleaning: None,
            makes: false,
            arms: 1,
            blocks: 0,
        }
    }
}

/// Listens to the engine's events and notes when they come. Only blocks that create files count for the clock
/// (`makes`); other blocks leave nothing to remove. Rounds are blocks divided by `arms`, since every arm runs
/// one time in each.
pub(super) struct Watch<'a> {
    clock: &'a Clock,
    started: Instant,
    first: Option<Instant>,
    last: Option<Instant>,
    cleaning: Option<Instant>,
    makes: bool,
    arms: u32,
    blocks: u32,
}

impl Watch<'_> {
    pub(super) fn pace(&self) -> Pace {
        let now = Instant::now();
        let first = self.first.unwrap_or(now);
        Pace {
            rounds: self.blocks / self.arms,
            measuring_s: (self.last.unwrap_or(first) - first).as_secs_f64(),
            preparing_s: (first - self.started).as_secs_f64(),
            cleaning_s: self.cleaning.map_or(0.0, |since| (now - since).as_secs_f64()),
            cut: self.clock.over.load(Ordering::Relaxed),
        }
    }
}

impl Listener for Watch<'_> {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Starts { plan, block } => {
                self.first.get_or_insert_with(Instant::now);
                self.arms = (plan.arms.len() as u32).max(1);
                let arm = &plan.arms[block.arm.0 as usize];
                self.makes =
                    matches!(&arm.work, Work::Files(work) if work.operation == FileOperation::Create);
                if self.makes {
                    let since = self.clock.begun.elapsed().as_nanos() as u64;
                    self.clock.since_ns.store(since, Ordering::Relaxed);
                }
            }
            Event::Recorded(Line::Sample(sample)) => {
                self.last = Some(Instant::now());
                self.blocks += 1;
                if self.makes {
                    self.clock.making_ns.fetch_add(sample.elapsed_ns, Ordering::Relaxed);
                }
                // Samples of all arms end here, so a block that creates nothing cannot leave the time of an
                // earlier one running.
                self.clock.since_ns.store(NONE, Ordering::Relaxed);
            }
            Event::Cleaning => self.cleaning = Some(Instant::now()),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_or_an_interrupt_ends_a_measurement_early() {
        let stop = AtomicBool::new(false);
        let clock = Clock::new(Instant::now(), Duration::from_secs(3600));
        assert!(!clock.is_over());
        // Created files take time to remove.
        clock.making_ns.store(2 * 3_600_000_000_000, Ordering::Relaxed);
        assert!(clock.is_over());
        let wait = |either: &AtomicBool| {
            while !either.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        clock.watched(&stop, wait);
        assert!(clock.listener().pace().cut);
        let clock = Clock::new(Instant::now(), Duration::from_secs(3600));
        stop.store(true, Ordering::Relaxed);
        clock.watched(&stop, wait);
        assert!(!clock.listener().pace().cut);
    }
}
