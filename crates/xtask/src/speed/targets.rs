//! Targets and their evaluation. They hold for 1 M entries, warm unless noted, on two cores.

use super::rounds::Results;
use super::table::{Figure, number};

/// Requirement on these file systems.
pub(crate) struct Target {
    file_systems: &'static [&'static str],
    wanted: Wanted,
}

enum Wanted {
    /// The time of `slow` is at least `at_least` times that of `fast`.
    Faster { fast: &'static str, slow: &'static str, at_least: f64 },
    /// The time of `of` is at most `at_most` times that of `to`.
    Within { of: &'static str, to: &'static str, at_most: f64 },
    /// Peak memory, MiB.
    Peak { arm: &'static str, mib: f64 },
    /// Total peak memory for each entry, bytes.
    PeakAnEntry { arm: &'static str, bytes: f64 },
    /// Median time, milliseconds.
    Median { arm: &'static str, ms: f64 },
}

const fn faster(
    file_systems: &'static [&'static str],
    fast: &'static str,
    slow: &'static str,
    at_least: f64,
) -> Target {
    Target { file_systems, wanted: Wanted::Faster { fast, slow, at_least } }
}

const fn on_all(wanted: Wanted) -> Target {
    Target { file_systems: ALL, wanted }
}

const ALL: &[&str] = &["ext4", "xfs", "btrfs"];
const EXT4: &[&str] = &["ext4"];
const OTHERS: &[&str] = &["xfs", "btrfs"];

/// "No slower": differences within 3 % count as equal.
const NO_SLOWER: f64 = 0.97;

const LIST: &str = "megadir list";
const WC: &str = "megadir list | wc -l";
const SPLIT: &str = "megadir list --backend split -j2";
const SERIAL: &str = "megadir list --backend getdents";
const SPLIT_COUNT: &str = "megadir list --backend split -j2 --count";
const SERIAL_COUNT: &str = "megadir list --backend getdents --count";
const COLD_LIST: &str = "cold: megadir list";
const COLD_SPLIT: &str = "cold: megadir list --backend split -j2";
const COLD_SERIAL: &str = "cold: megadir list --backend getdents";

const LONG: &str = "megadir list --fields size,mtime,name";
const LONG_XFS: &str = "megadir list --fields size,mtime,name --examiner xfs-bulkstat";
const LONG_BTRFS: &str = "megadir list --fields size,mtime,name --examiner btrfs-search";
const FIND: &str = "find -printf '%s %T@ %p\\n'";
const COLD_LONG: &str = "cold: megadir list --fields size,mtime,name";
const COLD_FIND: &str = "cold: find -printf '%s %T@ %p\\n'";

pub(crate) static TARGETS: &[Target] = &[
    faster(EXT4, LIST, "ls -U", 3.5),
    faster(EXT4, LIST, "bfs", 2.0),
    faster(EXT4, LIST, "bfs (other)", 2.0),
    faster(EXT4, LIST, "fd -u .", 2.0),
    faster(EXT4, WC, "bfs | wc -l", 2.0),
    faster(EXT4, WC, "bfs (other) | wc -l", 2.0),
    faster(EXT4, WC, "fd -u . | wc -l", 2.0),
    Target {
        file_systems: EXT4,
        wanted: Wanted::Within { of: "megadir list -j1", to: "bare getdents64, 128 KiB", at_most: 1.1 },
    },
    faster(EXT4, "megadir list --sort name", "LC_ALL=C ls", 5.0),
    faster(EXT4, SPLIT_COUNT, SERIAL_COUNT, 1.7),
    faster(EXT4, SPLIT, SERIAL, 1.7),
    faster(OTHERS, SPLIT_COUNT, SERIAL_COUNT, NO_SLOWER),
    faster(OTHERS, SPLIT, SERIAL, NO_SLOWER),
    faster(EXT4, COLD_SPLIT, COLD_SERIAL, 1.7),
    faster(EXT4, COLD_LIST, COLD_SERIAL, 1.7),
    faster(OTHERS, COLD_SPLIT, COLD_SERIAL, 1.3),
    faster(EXT4, LONG, FIND, 2.8),
    faster(&["xfs"], LONG, FIND, 2.4),
    faster(&["btrfs"], LONG, FIND, 2.7),
    faster(&["xfs"], LONG_XFS, FIND, 4.0),
    faster(&["btrfs"], LONG_BTRFS, FIND, 4.5),
    faster(EXT4, "megadir list -l", "ls -lU", 4.5),
    faster(&["ext4", "btrfs"], COLD_LONG, COLD_FIND, 1.8),
    faster(&["xfs"], COLD_LONG, COLD_FIND, NO_SLOWER),
    on_all(Wanted::Peak { arm: LONG, mib: 48.0 }),
    on_all(Wanted::Peak { arm: "megadir list -l", mib: 48.0 }),
    on_all(Wanted::Peak { arm: LIST, mib: 16.0 }),
    on_all(Wanted::Peak { arm: "megadir list --json", mib: 16.0 }),
    on_all(Wanted::PeakAnEntry { arm: "megadir list --sort name", bytes: 100.0 }),
    on_all(Wanted::Median { arm: "megadir list, first byte", ms: 10.0 }),
];

/// Result of a target on one file system.
#[derive(Debug, PartialEq)]
pub(crate) struct Judged {
    pub(crate) wanted: String,
    pub(crate) found: String,
    /// Met, or missed by how much; and if the interval leaves it open.
    pub(crate) verdict: String,
    pub(crate) met: bool,
}

/// Judges the results on a file system; targets of arms that did not run are skipped.
pub(crate) fn judge(file_system: &str, results: &Results, entries: u64) -> Vec<Judged> {
    let here = TARGETS.iter().filter(|target| target.file_systems.contains(&file_system));
    here.filter_map(|target| judge_one(&target.wanted, results, entries)).collect()
}

fn judge_one(wanted: &Wanted, results: &Results, entries: u64) -> Option<Judged> {
    let ratio = |of: &str, to: &str| Figure::ratio(&results.walls_s(of), &results.walls_s(to));
    let peak = |arm: &str| results.samples(arm).iter().map(|sample| sample.peak_bytes).max();
    Some(match wanted {
        Wanted::Faster { fast, slow, at_least } => {
            let text = format!("`{fast}` at least {at_least}x faster than `{slow}`");
            at_least_judged(text, ratio(slow, fast)?, *at_least)
        }
        Wanted::Within { of, to, at_most } => {
            let text = format!("`{of}` at most {at_most} times the time of `{to}`");
            at_most_judged(text, ratio(of, to)?, *at_most, "")
        }
        Wanted::Peak { arm, mib } => {
            let figure = exact(peak(arm)? as f64 / f64::from(1 << 20));
            at_most_judged(format!("`{arm}` at most {mib} MiB at its peak"), figure, *mib, " MiB")
        }
        Wanted::PeakAnEntry { arm, bytes } => {
            let figure = exact(peak(arm)? as f64 / entries as f64);
            at_most_judged(format!("`{arm}` at most {bytes} bytes an entry"), figure, *bytes, " bytes")
        }
        Wanted::Median { arm, ms } => {
            let figure = Figure::median(&results.walls_s(arm))?.times(1e3);
            at_most_judged(format!("`{arm}` within {ms} ms"), figure, *ms, " ms")
        }
    })
}

fn exact(value: f64) -> Figure {
    Figure { value, interval: None }
}

pub(super) fn at_least_judged(wanted: String, figure: Figure, limit: f64) -> Judged {
    judged(wanted, figure, limit, figure.value >= limit, limit / figure.value, "x")
}

pub(super) fn at_most_judged(wanted: String, figure: Figure, limit: f64, unit: &str) -> Judged {
    judged(wanted, figure, limit, figure.value <= limit, figure.value / limit, unit)
}

fn judged(wanted: String, figure: Figure, limit: f64, met: bool, short_by: f64, unit: &str) -> Judged {
    let open = figure.interval.is_some_and(|interval| interval.contains(limit));
    let mut verdict =
        if met { "met".to_owned() } else { format!("missed by {} %", number((short_by - 1.0) * 100.0)) };
    if open {
        verdict += ", open within the interval";
    }
    Judged { wanted, found: format!("{}{unit}", figure.text()), verdict, met }
}

#[cfg(test)]
mod tests {
    use super::super::arms::ARMS;
    use super::super::child::Sample;
    use super::*;

    /// Returns results in which arms took these seconds, ±1 %.
    fn results(walls_s: &[(&'static str, f64)]) -> Results {
        let mut results = Results::default();
        for &(arm, wall_s) in walls_s {
            for round in 0..8 {
                let wall_s = wall_s * (1.0 + 0.01 * f64::from(round % 3 - 1));
                results.add(arm, Sample { wall_s, cpu_s: wall_s, peak_bytes: 8 << 20 });
            }
        }
        results
    }

    #[test]
    fn targets_are_about_arms_that_exist() {
        let exists = |name: &str| ARMS.iter().any(|arm| arm.name == name);
        for target in TARGETS {
            let there = match target.wanted {
                Wanted::Faster { fast, slow, .. } => exists(fast) && exists(slow),
                Wanted::Within { of, to, .. } => exists(of) && exists(to),
                Wanted::Peak { arm, .. } | Wanted::PeakAnEntry { arm, .. } | Wanted::Median { arm, .. } => {
                    exists(arm)
                }
            };
            assert!(there);
        }
    }

    #[test]
    fn what_is_reached_is_met_and_what_is_not_is_missed_by_so_much() {
        let judged = judge("ext4", &results(&[(LIST, 0.25), ("ls -U", 1.0), ("bfs", 0.4)]), 1_000_000);
        assert_eq!(judged.len(), 3, "{judged:?}");
        assert!(judged[0].met && judged[0].verdict == "met" && judged[0].found.starts_with("4.00 ["));
        assert!(!judged[1].met && judged[1].verdict == "missed by 25.0 %", "{judged:?}");
        assert!(judged[2].met && judged[2].found == "8.00 MiB", "{judged:?}");
    }

    #[test]
    fn limits_differ_by_file_system() {
        let both = results(&[(SPLIT, 1.0), (SERIAL, 1.2)]);
        assert!(!judge("ext4", &both, 1)[0].met);
        assert!(judge("xfs", &both, 1)[0].met);
        assert!(judge("tmpfs", &both, 1).is_empty());
    }

    #[test]
    fn an_interval_around_the_limit_leaves_it_open() {
        let judged = judge("btrfs", &results(&[(SPLIT, 1.0), (SERIAL, NO_SLOWER)]), 1);
        assert!(judged[0].verdict.ends_with("open within the interval"), "{judged:?}");
    }

    #[test]
    fn memory_is_counted_for_each_entry() {
        let sorted = results(&[("megadir list --sort name", 1.0)]);
        assert_eq!(judge("xfs", &sorted, 1 << 20)[0].found, "8.00 bytes");
        assert!(!judge("xfs", &sorted, 1000)[0].met);
    }
}
