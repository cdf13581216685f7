//! Rank of a job, as rank 0 sees it: its task, and whether it hangs or is slow.
//!
//! A task whose rank hangs goes to a second rank too, and MPI_Abort ends a job whose last ranks hang.

use std::time::{Duration, Instant};

use megadir_tasks::Budget;

/// A rank hangs if it needs so much more than the budget of its task. Drivers in Python have the same limit.
const HANGS_AFTER: Duration = Duration::from_secs(60);
/// Ranks that worked less are not compared.
const COMPARED_SECONDS: f64 = 0.5;

/// `since` is the start of the task, and `is_named` set once the rank was reported as one that hangs. `seconds` and
/// `entries` are sums over finished tasks, to find the slowest rank.
pub(super) struct Rank {
    /// Number and first directory of its task; `None` if it is idle.
    pub(super) task: Option<(u64, String)>,
    pub(super) since: Instant,
    pub(super) is_named: bool,
    pub(super) seconds: f64,
    pub(super) entries: u64,
}

impl Rank {
    pub(super) fn idle() -> Self {
        Self { task: None, since: Instant::now(), is_named: false, seconds: 0.0, entries: 0 }
    }

    /// More than the budget of its task, `None` if it is idle or within it.
    fn over(&self, now: Instant, budget: Budget) -> Option<Duration> {
        let took = now.duration_since(self.since);
        self.task.as_ref().and_then(|_| took.checked_sub(Duration::from_secs_f64(budget.seconds)))
    }

    pub(super) fn hangs(&self, now: Instant, budget: Budget) -> bool {
        self.over(now, budget).is_some_and(|over| over > HANGS_AFTER)
    }

    /// `longest`: time of the longest task that was done. A directory that cannot be divided takes a second rank as long as the first.
    pub(super) fn is_given_up(&self, now: Instant, budget: Budget, longest: Duration) -> bool {
        self.over(now, budget).is_some_and(|over| over > HANGS_AFTER + 2 * longest)
    }
}

/// A rank that did less than half as much in its time as the median of the others.
pub(super) fn slowest(hosts: &[String], ranks: &[Rank]) -> Option<String> {
    let rates = (0..).zip(ranks).filter(|(_, of)| of.seconds >= COMPARED_SECONDS);
    let mut rates: Vec<(usize, f64)> =
        rates.map(|(rank, of)| (rank, of.entries as f64 / of.seconds)).collect();
    rates.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
    let (&(rank, slow), others) = rates.split_first()?;
    let (_, median) = *others.get(others.len() / 2)?;
    (slow * 2.0 < median).then(|| {
        format!(
            "rank {rank} on '{}' was slow: {slow:.0} entries per second while it worked, the median of the others {median:.0}",
            hosts[rank]
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget { seconds: 2.0, entries: 1_000_000 };

    fn busy_since(since: Instant) -> Rank {
        Rank { task: Some((7, "'tree'".to_owned())), since, ..Rank::idle() }
    }

    #[test]
    fn a_rank_hangs_a_minute_after_the_time_of_its_task() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let rank = busy_since(begun);
        assert!(!rank.hangs(at(61), BUDGET) && rank.hangs(at(63), BUDGET));
        let idle = Rank { since: begun, ..Rank::idle() };
        assert!(!idle.hangs(at(1000), BUDGET) && !idle.is_given_up(at(1000), BUDGET, Duration::ZERO));
    }

    /// If one directory takes five minutes, the second rank with it is no hanging one.
    #[test]
    fn a_rank_with_a_large_directory_is_not_given_up() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let rank = busy_since(begun);
        assert!(rank.is_given_up(at(70), BUDGET, Duration::from_secs(3)));
        assert!(!rank.is_given_up(at(300), BUDGET, Duration::from_secs(300)));
        assert!(rank.is_given_up(at(700), BUDGET, Duration::from_secs(300)));
    }

    #[test]
    fn the_slowest_rank_is_named_with_its_host() {
        let hosts = ["a", "b", "c"].map(str::to_owned);
        let worked = |seconds, entries| Rank { seconds, entries, ..Rank::idle() };
        let ranks = [worked(1.0, 1000), worked(1.0, 400), worked(1.0, 1100)];
        let text = slowest(&hosts, &ranks).unwrap();
        assert!(text.starts_with("rank 1 on 'b' was slow: 400 entries per second"), "{text}");
        assert_eq!(slowest(&hosts, &[worked(1.0, 1000), worked(0.4, 1), worked(1.0, 600)]), None);
    }
}
