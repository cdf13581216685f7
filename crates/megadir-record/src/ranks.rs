//! Ranks: processes on several hosts that an MPI launcher started, as workers of a run.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Ranks of a run, and the cost of coordinating them.
///
/// The two times are measured before the first block and let a reader judge whether blocks are long enough:
/// one much shorter than `coordination_ns` measures the coordination. `shift` is there because a client that
/// has created a file holds its attributes and data in its own cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranks {
    /// MPI library: version and binary interface.
    pub library: String,
    /// Host of each rank; in records for sharing `host 1`, `host 2` and so on.
    pub hosts: Vec<String>,
    /// Mount of the shared directory on each rank; empty in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// Number of ranks by which the workers move after files are created, so that another host reads, rewrites and
    /// removes them; 0 on one host, and if they do not move.
    pub shift: u32,
    /// Median time of a barrier of all ranks, nanoseconds. A block begins with one, before its time.
    pub barrier_ns: u64,
    /// Median time of handing out a block without work and gathering its results, nanoseconds; outside a block's time.
    pub coordination_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// In the kernel's words, e.g. `nfs4`.
    pub kind: String,
    pub options: Option<String>,
}

impl Mount {
    /// Equal but for the client's own address.
    pub fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.shared_options().eq(other.shared_options())
    }

    fn shared_options(&self) -> impl Iterator<Item = &str> {
        let options = self.options.as_deref().unwrap_or_default().split(',');
        options.filter(|option| !option.starts_with("clientaddr="))
    }
}

/// Differences between the ranks in one block. Each rank's time begins at its own barrier and is taken by its own clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankTimes {
    /// Time of the rank that was done first, nanoseconds.
    pub first_done_ns: u64,
    /// Time of the rank that was done last, nanoseconds.
    pub last_done_ns: u64,
    /// Rank that was done last, from 0: a position in [`Ranks::hosts`].
    pub last_rank: u32,
    /// Work of each host that took part in shared work, in the order of first ranks; empty on one host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostWork>,
}

/// Work of a host's ranks in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostWork {
    /// First rank of the host: a position in [`Ranks::hosts`].
    pub first_rank: u32,
    /// Entries or files of its ranks together.
    pub entries: u64,
    /// Time of its last rank, nanoseconds.
    pub done_ns: u64,
}

impl HostWork {
    pub fn rate_per_s(&self) -> f64 {
        self.entries as f64 * 1e9 / self.done_ns.max(1) as f64
    }
}

impl Ranks {
    pub fn host_count(&self) -> usize {
        self.hosts.iter().collect::<BTreeSet<_>>().len()
    }

    /// For example `4 on 2 hosts, moved by 2`.
    pub fn words(&self) -> String {
        match (self.host_count(), self.shift) {
            (1, _) => format!("{} on 1 host", self.hosts.len()),
            (hosts, shift) => format!("{} on {hosts} hosts, moved by {shift}", self.hosts.len()),
        }
    }

    /// First rank on the same host.
    pub fn first_rank_beside(&self, rank: u32) -> u32 {
        let host = &self.hosts[rank as usize];
        self.hosts.iter().position(|known| known == host).unwrap_or(0) as u32
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
    use super::{Mount, Ranks};

    #[test]
    fn mounts_of_clients_differ_by_options_not_by_their_own_address() {
        let mount = |options: &str| Mount { kind: "nfs4".into(), options: Some(options.into()) };
        let first = mount("rw,clientaddr=192.0.2.1,vers=4.2");
        assert!(first.is_like(&mount("rw,clientaddr=192.0.2.2,vers=4.2")));
        assert!(!first.is_like(&mount("rw,clientaddr=192.0.2.1,vers=4.1")));
        assert!(!first.is_like(&Mount { kind: "nfs".into(), ..first.clone() }));
    }

    #[test]
    fn hosts_are_counted_and_numbered() {
        let hosts = ["b", "a", "b", "c"].map(str::to_owned).to_vec();
        let mut ranks = Ranks {
            library: String::new(),
            hosts,
            mounts: Vec::new(),
            shift: 1,
            barrier_ns: 0,
            coordination_ns: 0,
        };
        assert_eq!([0, 1, 2, 3].map(|rank| ranks.first_rank_beside(rank)), [0, 1, 0, 3]);
        assert_eq!(ranks.host_count(), 3);
        ranks.redact();
        assert_eq!(ranks.hosts, ["host 1", "host 2", "host 1", "host 3"]);
        assert_eq!(ranks.host_count(), 3);
    }
}
