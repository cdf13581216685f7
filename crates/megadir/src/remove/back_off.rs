//! Pauses once removing calls take longer than at first: a server then answers others more slowly too.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::threads::lock;

const REFERENCE: Duration = Duration::from_secs(60);
const WINDOW: Duration = Duration::from_secs(1);
/// A single slow call must not decide.
const CALLS_MIN: u32 = 10;
const SLOWER: f64 = 1.5;
const RECOVERED: f64 = 1.2;
/// Pauses are up to 63 times as long as the calls.
const SHARE_MIN: f64 = 1.0 / 64.0;

#[derive(Debug, Default)]
pub(super) struct BackOff {
    state: Mutex<Option<(Instant, State)>>,
}

impl BackOff {
    pub(super) fn pause(&self, started: Instant) -> Duration {
        let call = started.elapsed();
        let mut state = lock(&self.state);
        let (began, state) = state.get_or_insert((started, State::NEW));
        state.pause(began.elapsed(), call)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Calls {
    count: u32,
    time: Duration,
}

impl Calls {
    fn add(&mut self, call: Duration) {
        self.count = self.count.saturating_add(1);
        self.time += call;
    }

    fn mean(&self) -> f64 {
        self.time.as_secs_f64() / f64::from(self.count.max(1))
    }
}

#[derive(Clone, Copy, Debug)]
struct State {
    reference: Calls,
    window: Calls,
    window_began: Duration,
    share: f64,
}

impl State {
    const NEW: Self = Self {
        reference: Calls { count: 0, time: Duration::ZERO },
        window: Calls { count: 0, time: Duration::ZERO },
        window_began: REFERENCE,
        share: 1.0,
    };

    fn pause(&mut self, at: Duration, call: Duration) -> Duration {
        if at < REFERENCE {
            self.reference.add(call);
            return Duration::ZERO;
        }
        self.window.add(call);
        if at >= self.window_began + WINDOW && self.window.count >= CALLS_MIN {
            let slowness = self.window.mean() / self.reference.mean().max(f64::MIN_POSITIVE);
            if self.reference.count > 0 && slowness > SLOWER {
                self.share = (self.share / 2.0).max(SHARE_MIN);
            } else if slowness < RECOVERED {
                self.share = (self.share * 1.25).min(1.0);
            }
            (self.window, self.window_began) = (Calls::default(), at);
        }
        call.mul_f64(1.0 / self.share - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{SHARE_MIN, State};
    use std::time::Duration;

    /// Calls of some microseconds for some seconds, one every 10 ms; returns the last pause in microseconds.
    fn calls(state: &mut State, at: &mut Duration, seconds: u64, micros: u64) -> u128 {
        let mut last = Duration::ZERO;
        for _ in 0..seconds * 100 {
            *at += Duration::from_millis(10);
            last = state.pause(*at, Duration::from_micros(micros));
        }
        last.as_micros()
    }

    #[test]
    fn slower_calls_are_followed_by_longer_pauses_and_pauses_end_when_calls_recover() {
        let (mut state, mut at) = (State::NEW, Duration::ZERO);
        assert_eq!(calls(&mut state, &mut at, 59, 20), 0, "the first minute is the reference");
        assert_eq!(calls(&mut state, &mut at, 100, 28), 0, "1.4 times as slow");
        let pauses: Vec<u128> = (0..4).map(|_| calls(&mut state, &mut at, 1, 40)).collect();
        assert!(pauses.is_sorted() && pauses[3] >= 40 * 3, "{pauses:?}");
        assert_eq!(calls(&mut state, &mut at, 60, 40), 40 * 63, "the longest pause");
        assert!((state.share - SHARE_MIN).abs() < 1e-9);
        let between = calls(&mut state, &mut at, 10, 26);
        assert_eq!(between, 26 * 63, "neither slower nor recovered");
        assert_eq!(calls(&mut state, &mut at, 60, 20), 0, "recovered");
    }

    #[test]
    fn one_slow_call_decides_nothing() {
        let (mut state, mut at) = (State::NEW, Duration::ZERO);
        calls(&mut state, &mut at, 61, 20);
        at += Duration::from_secs(5);
        assert_eq!(state.pause(at, Duration::from_secs(5)), Duration::ZERO);
    }
}
