//! `--follow`: passes over the directory, until it is quiet or the user interrupts.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use megadir::Error;
use megadir::reshard::{self, Counts, Progress, ReshardOptions, Stopped};

use super::args::Args;
use super::{Results, Work};

const PAUSE_MIN: Duration = Duration::from_millis(500);
/// A pass takes at most this share of the time.
const PASS_SHARE: u32 = 10;
const SLEEP_MAX: Duration = Duration::from_millis(50);

/// When passes begin and end, without a clock of its own.
struct Schedule {
    /// Time without files to move after which the last pass begins.
    quiet: Option<Duration>,
    rate_max: Option<NonZeroU32>,
    /// Start of the first of the latest passes that found nothing.
    quiet_since: Option<Instant>,
    is_quiet: bool,
}

struct Pass {
    began: Instant,
    ended: Instant,
    moved: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    End,
    PassAfter(Duration),
}

impl Schedule {
    fn new(args: &Args) -> Self {
        Self { quiet: args.until_quiet, rate_max: args.rate, quiet_since: None, is_quiet: false }
    }

    /// Programs may still use emptied directories until the directory is quiet.
    fn next_may_be_last(&self) -> bool {
        self.is_quiet
    }

    /// A pass finds every file that was created before it began. So if none was found for the time, and the
    /// latest of its passes began at its end, none was created in it but in its last moments, and the last
    /// pass would find those.
    fn after(&mut self, pass: &Pass) -> Next {
        if pass.moved > 0 {
            self.is_quiet = false;
            self.quiet_since = None;
            return Next::PassAfter(self.pause(pass, self.quiet));
        }
        if self.is_quiet {
            return Next::End;
        }
        let since = *self.quiet_since.get_or_insert(pass.began);
        let left = self.quiet.map(|quiet| quiet.saturating_sub(pass.began.duration_since(since)));
        if left == Some(Duration::ZERO) {
            self.is_quiet = true;
            return Next::PassAfter(Duration::ZERO);
        }
        let end = self.quiet.map(|quiet| quiet.saturating_sub(pass.ended.duration_since(since)));
        Next::PassAfter(self.pause(pass, end))
    }

    /// The time that a pass waits for the rate is no load.
    fn pause(&self, pass: &Pass, most: Option<Duration>) -> Duration {
        let waited = self.rate_max.map_or(Duration::ZERO, |rate| {
            Duration::from_secs_f64(pass.moved as f64 / f64::from(rate.get()))
        });
        let worked = pass.ended.duration_since(pass.began).saturating_sub(waited);
        let pause = PAUSE_MIN.max(worked * PASS_SHARE);
        most.map_or(pause, |most| pause.min(most))
    }
}

/// The last pass removes emptied directories. Files that stay are counted in the last complete pass.
///
/// Repeats passes until the directory was quiet for long enough, for programs that still write into the old layout.
/// Only a pass that may be the last removes emptied directories, since writers could otherwise find theirs missing.
/// Moves are summed over all passes; files that stay are the ones of the last complete pass, or they would
/// count again in each. Pauses are slept in short steps, so that an interrupt is noticed.
///
/// ```text
/// pass -> none moved for the time of --until-quiet? last pass -> end
///      `-> pause, longer after a longer pass -> pass
/// ```
pub(super) fn follow(
    args: &Args,
    work: &Work,
    options: &ReshardOptions<'_>,
    progress: &Progress,
    results: &Results,
) -> Result<Counts, Stopped> {
    let (mut sum, mut passes) = (Counts::default(), 0);
    let mut schedule = Schedule::new(args);
    loop {
        let options = ReshardOptions { remove_emptied: schedule.next_may_be_last(), ..*options };
        results.summary.borrow_mut().begin_pass();
        let began = Instant::now();
        let (counts, error) = parts(reshard::reshard(&work.directory, &options, progress));
        // A pass that ended early has not met all files that stay.
        let is_whole = error.is_none() && !progress.is_cancelled();
        let stay = if is_whole || passes == 0 { counts } else { sum };
        passes += 1;
        sum = Counts {
            moved: sum.moved + counts.moved,
            directories_made: sum.directories_made + counts.directories_made,
            directories_removed: sum.directories_removed + counts.directories_removed,
            ..stay
        };
        if let Some(error) = error {
            return Err(Stopped { error, counts: sum });
        }
        if progress.is_cancelled() {
            return Ok(sum);
        }
        let pause = match schedule.after(&Pass { began, ended: Instant::now(), moved: counts.moved }) {
            Next::End => return Ok(sum),
            Next::PassAfter(pause) => pause,
        };
        let until = Instant::now() + pause;
        while Instant::now() < until && !progress.is_cancelled() {
            std::thread::sleep(SLEEP_MAX.min(until.saturating_duration_since(Instant::now())));
        }
        if progress.is_cancelled() {
            return Ok(sum);
        }
    }
}

pub(super) fn parts(done: Result<Counts, Stopped>) -> (Counts, Option<Box<Error>>) {
    match done {
        Ok(counts) => (counts, None),
        Err(Stopped { error, counts }) => (counts, Some(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(quiet_ms: u64, rate: u32) -> Schedule {
        let quiet = Some(Duration::from_millis(quiet_ms));
        Schedule { quiet, rate_max: NonZeroU32::new(rate), quiet_since: None, is_quiet: false }
    }

    /// Passes of a fixed length, each moving what `moved` has for its number; returns the number of passes and the time of the end, ms.
    fn ends(mut schedule: Schedule, pass_ms: u64, moved: impl Fn(u32) -> u64) -> Option<(u32, u64)> {
        let start = Instant::now();
        let mut began = start;
        for pass in 0..1000 {
            let ended = began + Duration::from_millis(pass_ms);
            match schedule.after(&Pass { began, ended, moved: moved(pass) }) {
                Next::End => return Some((pass + 1, ended.duration_since(start).as_millis() as u64)),
                Next::PassAfter(pause) => began = ended + pause,
            }
        }
        None
    }

    #[test]
    fn a_pass_that_moved_a_file_is_never_the_last() {
        for pass_ms in [1, 99, 101, 1000, 60_000] {
            assert_eq!(ends(schedule(1000, 0), pass_ms, |_| 1), None, "{pass_ms}");
            // A burst in each pass that may be the last.
            let bursts = |pass: u32| u64::from(pass % 3 == 2);
            assert_eq!(ends(schedule(1, 0), pass_ms, bursts), None, "{pass_ms}");
        }
    }

    #[test]
    fn quiet_counts_from_the_start_of_a_pass_that_found_nothing() {
        for pass_ms in [1, 99, 101, 1000, 60_000] {
            let (passes, end) = ends(schedule(1000, 0), pass_ms, |pass| u64::from(pass < 5)).unwrap();
            // Five passes with at least the shortest pause, then the quiet time, and a last pass.
            assert!(passes >= 8 && end >= 5 * (pass_ms + 500) + 1000, "{pass_ms}: {passes} passes, {end} ms");
        }
        assert_eq!(ends(schedule(600_000, 0), 60_000, |pass| u64::from(pass == 0)), Some((4, 1_380_000)));
    }

    #[test]
    fn a_pass_that_waits_for_the_rate_is_not_followed_by_a_long_pause() {
        let start = Instant::now();
        let pass = Pass { began: start, ended: start + Duration::from_secs(1000), moved: 1_000_000 };
        let mut slow = Schedule { quiet: None, ..schedule(0, 1000) };
        assert_eq!(slow.after(&pass), Next::PassAfter(PAUSE_MIN));
        let mut loaded = Schedule { quiet: None, ..schedule(0, 2000) };
        assert_eq!(loaded.after(&pass), Next::PassAfter(Duration::from_secs(5000)));
    }
}
