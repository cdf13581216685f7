//! Ranks: processes on several hosts that an MPI launcher started, as workers of a run.

use serde::{Deserialize, Serialize};

/// Ranks of a run, and the cost of coordinating them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ranks {
    /// MPI library: version and binary interface.
    pub library: String,
    /// Host of each rank; in records for sharing `host 1`, `host 2` and so on.
    pub hosts: Vec<String>,
    /// Number of ranks by which the workers move after files are created, so that another host reads, rewrites and
    /// removes them; 0 on one host.
    pub shift: u32,
    /// Median time of a barrier of all ranks, nanoseconds. A block begins with one, before its time.
    pub barrier_ns: u64,
    /// Median time of handing out a block without work and gathering its results, nanoseconds; outside a block's time.
    pub coordination_ns: u64,
}

/// Differences between the ranks in one block. Each rank's time begins at its own barrier and is taken by its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankTimes {
    /// Time of the rank that was done first, nanoseconds.
    pub first_done_ns: u64,
    /// Time of the rank that was done last, nanoseconds.
    pub last_done_ns: u64,
    /// Rank that was done last, from 0: a position in [`Ranks::hosts`].
    pub last_rank: u32,
}

impl Ranks {
    #[must_use]
    pub fn host_count(&self) -> usize {
        let mut hosts: Vec<&String> = self.hosts.iter().collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts.len()
    }

    /// In the order of their first rank.
    pub fn redact(&mut self) {
        let mut known: Vec<String> = Vec::new();
        for host in &mut self.hosts {
            let number = known.iter().position(|name| name == host).unwrap_or_else(|| {
                known.push(host.clone());
                known.len() - 1
            });
            *host = format!("host {}", number + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ranks;

    #[test]
    fn hosts_are_counted_and_numbered() {
        let hosts = ["b", "a", "b", "c"].map(str::to_owned).to_vec();
        let mut ranks = Ranks { library: String::new(), hosts, shift: 1, barrier_ns: 0, coordination_ns: 0 };
        assert_eq!(ranks.host_count(), 3);
        ranks.redact();
        assert_eq!(ranks.hosts, ["host 1", "host 2", "host 1", "host 3"]);
        assert_eq!(ranks.host_count(), 3);
    }
}
