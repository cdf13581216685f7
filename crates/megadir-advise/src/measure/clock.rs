//! The time of a measurement: it is told to end while there is still time to remove what it made.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use megadir_bench::{Event, Listener};
use megadir_record::{FileOperation, Work};

/// The clock is looked at this often.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Removing a file takes this part of what making it took, at most: it has less to write.
const REMOVING_PART: f64 = 0.7;
/// Kept for what belongs to no file: syncing, ending the record, judging it.
const RESERVE: Duration = Duration::from_millis(250);
/// And this part of the whole time.
const RESERVE_PART: f64 = 0.05;

/// No block is being measured.
const NONE: u64 = u64::MAX;

/// What a run cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    /// Rounds that were measured to their end.
    pub(super) rounds: u32,
    /// From the first block's start to the last one's end, seconds.
    pub(super) measuring_s: f64,
    /// From the start of the run to the first block, seconds.
    pub(super) preparing_s: f64,
    /// From the start of cleaning to now, seconds.
    pub(super) cleaning_s: f64,
    /// Whether it ended because its time was over.
    pub(super) cut: bool,
}

impl Pace {
    /// Returns what a round has cost, removal included, seconds.
    pub(super) fn round_s(&self) -> f64 {
        (self.measuring_s + self.cleaning_s) / f64::from(self.rounds.max(1))
    }
}

/// A clock that a run is held to.
pub(super) struct Clock {
    begun: Instant,
    time: Duration,
    /// Nanoseconds that blocks which make files have taken so far.
    making_ns: AtomicU64,
    /// When the one that is being measured began, nanoseconds after `begun`; [`NONE`] where none is.
    since_ns: AtomicU64,
    /// Set when the time is over.
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

    /// Tells whether what was made can just be removed in the time that is left.
    fn is_over(&self) -> bool {
        let elapsed = self.begun.elapsed();
        let now = match self.since_ns.load(Ordering::Relaxed) {
            NONE => Duration::ZERO,
            since => elapsed.saturating_sub(Duration::from_nanos(since)),
        };
        // What is being made will have to be removed, too.
        let made = Duration::from_nanos(self.making_ns.load(Ordering::Relaxed)) + now;
        let reserve = RESERVE + self.time.mul_f64(RESERVE_PART) + made.mul_f64(REMOVING_PART);
        elapsed + reserve >= self.time
    }

    /// Runs something that ends when `stop` is set or the time is over.
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
                    std::thread::park_timeout(LOOK_EVERY);
                }
            });
            let result = run(&either);
            done.store(true, Ordering::Release);
            watcher.thread().unpark();
            result
        })
    }

    /// Returns a listener that tells the clock what was made.
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

/// A listener that follows a run by the clock.
pub(super) struct Watch<'a> {
    clock: &'a Clock,
    started: Instant,
    first: Option<Instant>,
    last: Option<Instant>,
    cleaning: Option<Instant>,
    /// Whether the block that is being measured makes files.
    makes: bool,
    arms: u32,
    blocks: u32,
}

impl Watch<'_> {
    /// Returns what the run has cost; to be asked when it is over.
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
                self.arms = (plan.cells.len() as u32).max(1);
                let cell = &plan.cells[block.cell.0 as usize];
                self.makes =
                    matches!(&cell.work, Work::Files(work) if work.operation == FileOperation::Create);
                if self.makes {
                    let since = self.clock.begun.elapsed().as_nanos() as u64;
                    self.clock.since_ns.store(since, Ordering::Relaxed);
                }
            }
            Event::Measured(sample) => {
                self.last = Some(Instant::now());
                self.blocks += 1;
                if self.makes {
                    self.clock.making_ns.fetch_add(sample.elapsed_ns, Ordering::Relaxed);
                }
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
    fn a_run_is_told_to_end_before_its_time_by_the_clock_or_by_the_user() {
        let stop = AtomicBool::new(false);
        let clock = Clock::new(Instant::now(), Duration::from_secs(3600));
        assert!(!clock.is_over());
        // What was made takes time to remove.
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
