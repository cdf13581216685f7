//! The schedule under a simulated clock: many processes, very many entries, skewed trees, one huge directory, a server of
//! limited rate. No files and no processes; times are drawn, the schedule is the real one.
//!
//! `cargo test -p megadir-tasks --release --test simulated -- --nocapture` prints each case; with `MEGADIR_FULL=1` there are
//! 1000 processes and 10^9 entries.
#![expect(clippy::print_stdout, reason = "the figures of a case are its result")]

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use megadir_tasks::{Budget, Bytes, Item, Job, Kind, Outcome, Part, Root, Schedule, Task};

/// Limits of the walk in a task.
const UNVISITED_MAX: usize = 16 << 10;
const RANGE_ENTRIES: u64 = 50_000;
/// Seconds to open a directory, and to query an entry, the mean of its 50: minimum, deciles and maximum over 2000 directories of 50 files behind
/// a FUSE server that waits 5 ms before it opens one (`bench/slow_fs.c` of the Python package), on two busy processors.
const OPEN_SECONDS: [f64; 11] = [
    5.069e-3, 5.116e-3, 5.125e-3, 5.132e-3, 5.141e-3, 5.152e-3, 5.158e-3, 5.164e-3, 5.180e-3, 5.204e-3,
    10.908e-3,
];
const ENTRY_SECONDS: [f64; 11] = [6e-6, 7e-6, 7e-6, 7e-6, 8e-6, 17e-6, 18e-6, 19e-6, 37e-6, 83e-6, 430e-6];

struct Numbers(u64);

impl Numbers {
    /// From 0 to below 1.
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn drawn(&mut self, quantiles: &[f64; 11]) -> f64 {
        let at = self.fraction() * 10.0;
        let below = at as usize;
        quantiles[below] + (quantiles[below + 1] - quantiles[below]) * at.fract()
    }
}

/// A tree whose directories tell their size: the last name of a path is `INDEX.ENTRIES`, with the number of entries below.
#[derive(Clone, Copy)]
struct Tree {
    entries: u64,
    /// Most files of a directory; the others are spread over subdirectories whose sizes fall as 1, 1/2, 1/3, ...
    files: u64,
    fan_out: u64,
}

struct Directory {
    files: u64,
    subdirectories: Vec<u64>,
}

impl Tree {
    fn directory(self, path: &[u8]) -> Directory {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let size = name.splitn(2, |byte| *byte == b'.').nth(1);
        let size =
            size.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok()).unwrap_or(self.entries);
        let files = size.min(self.files);
        let rest = size - files;
        let subdirectories = (rest / self.files.max(1)).clamp(1, self.fan_out);
        let whole: f64 = (1..=subdirectories).map(|place| 1.0 / place as f64).sum();
        let mut left = rest;
        let mut share = |place: u64| {
            let wanted = rest as f64 / (whole * place as f64);
            let entries = if place == subdirectories { left } else { left.min(wanted as u64) };
            left -= entries;
            entries
        };
        let subdirectories =
            if rest == 0 { Vec::new() } else { (1..=subdirectories).map(&mut share).collect() };
        Directory { files, subdirectories }
    }
}

/// A server with a limit of entries per second for all processes together.
struct Server {
    entries_per_second: f64,
    free_at: f64,
}

impl Server {
    fn done_at(&mut self, now: f64, alone: f64, entries: u64) -> f64 {
        self.free_at = self.free_at.max(now) + entries as f64 / self.entries_per_second;
        (now + alone).max(self.free_at)
    }
}

struct World {
    tree: Tree,
    numbers: Numbers,
}

impl World {
    /// Draws a time for each 50 entries, over which it was measured.
    fn query(&mut self, entries: u64) -> f64 {
        (0..entries)
            .step_by(50)
            .map(|from| (entries - from).min(50) as f64 * self.numbers.drawn(&ENTRY_SECONDS))
            .sum()
    }

    /// Visits depth first until the budget is spent. Returns the outcome, and the seconds that the task takes by itself.
    fn run(&mut self, task: &Task) -> (Outcome, f64) {
        let mut left: Vec<Item> = task.items.iter().rev().cloned().collect();
        let (mut entries, mut seconds) = (0, 0.0);
        while let Some(item) = left.pop() {
            let spent = seconds >= task.job.budget.seconds || entries >= task.job.budget.entries;
            if spent && entries > 0 && left.len() < UNVISITED_MAX {
                left.push(item);
                break;
            }
            seconds += self.numbers.drawn(&OPEN_SECONDS);
            if let Some((from, to)) = item.range {
                entries += (to - from) as u64;
                seconds += self.query((to - from) as u64);
                continue;
            }
            let directory = self.tree.directory(&item.path.0);
            if directory.files > 2 * RANGE_ENTRIES {
                left.extend(ranges(&item, directory.files));
            } else {
                entries += directory.files;
                seconds += self.query(directory.files);
            }
            left.extend(below(&item, &directory.subdirectories));
            entries += directory.subdirectories.len() as u64;
        }
        left.reverse();
        let part = Part { file: task.part_name(), rows: entries, ..Part::default() };
        (Outcome { entries, unvisited: left, part: Some(part), ..Outcome::default() }, seconds)
    }
}

fn ranges(item: &Item, files: u64) -> impl Iterator<Item = Item> + '_ {
    (0..files).step_by(RANGE_ENTRIES as usize).map(move |from| {
        let range = Some((from as i64, files.min(from + RANGE_ENTRIES) as i64));
        Item { range, ..item.clone() }
    })
}

fn below<'i>(item: &'i Item, sizes: &'i [u64]) -> impl Iterator<Item = Item> + 'i {
    sizes.iter().enumerate().map(|(place, size)| {
        let mut path = item.path.0.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(format!("{place}.{size}").as_bytes());
        Item { path: Bytes(path), inode: Some(place as u64), ..item.clone() }
    })
}

/// The end of a task; the earliest is the greatest.
struct End {
    at: f64,
    number: u64,
    outcome: String,
}

impl PartialEq for End {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for End {}

impl PartialOrd for End {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for End {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.number.cmp(&self.number))
    }
}

struct Result {
    entries: u64,
    seconds: f64,
    /// Share of the time of all processes, from 0 to 1.
    idle: f64,
    /// If every process had been busy all the time.
    ideal_seconds: f64,
    tasks: u64,
    waiting_max: u64,
    /// Real processor time of the process with the schedule.
    driver: Duration,
}

fn root() -> Root {
    Root {
        path: Bytes(b"/tree".to_vec()),
        inode: 2,
        device: (8, 1),
        born_ns: None,
        file_system: "ext4".into(),
        driver: None,
        lasting_inodes: None,
        granule_ns: None,
    }
}

fn job() -> Job {
    Job {
        version: 1,
        kind: Kind::Scan,
        roots: vec![root()],
        folder: None,
        budget: Budget { seconds: 2.0, entries: 1_000_000 },
        stat_backend: "statx".into(),
        depth: 0,
        contents: false,
    }
}

fn simulate(name: &str, tree: Tree, processes: usize, entries_per_second: f64) -> Result {
    let mut schedule = Schedule::new(job());
    let mut world = World { tree, numbers: Numbers(1) };
    let mut server = Server { entries_per_second, free_at: 0.0 };
    let mut ends: BinaryHeap<End> = BinaryHeap::new();
    let (mut now, mut busy, mut alone, mut tasks, mut waiting_max) = (0.0, 0.0, 0.0, 0, 0);
    let mut driver = Duration::ZERO;
    while !schedule.is_done() {
        while ends.len() < processes {
            let begun = Instant::now();
            let Some(assigned) = schedule.next(processes) else { break };
            let sent = serde_json::to_string(&assigned.task).expect("numbers and texts");
            driver += begun.elapsed();
            let task: Task = serde_json::from_str(&sent).expect("as written");
            let (outcome, seconds) = world.run(&task);
            let at = server.done_at(now, seconds, outcome.entries);
            (busy, alone, tasks) = (busy + at - now, alone + seconds, tasks + 1);
            let outcome = serde_json::to_string(&outcome).expect("numbers and texts");
            ends.push(End { at, number: task.number, outcome });
        }
        let end = ends.pop().expect("a task runs as long as something is left");
        now = end.at;
        let begun = Instant::now();
        let outcome = serde_json::from_str(&end.outcome).expect("as written");
        assert!(schedule.finished(end.number, outcome).is_some());
        waiting_max = waiting_max.max(schedule.progress().waiting);
        driver += begun.elapsed();
    }
    let of_server = schedule.progress().entries as f64 / entries_per_second;
    let result = Result {
        entries: schedule.progress().entries,
        seconds: now,
        idle: 1.0 - busy / (now * processes as f64),
        ideal_seconds: (alone / processes as f64).max(of_server),
        tasks,
        waiting_max,
        driver,
    };
    println!(
        "{name}: {} entries, {processes} processes: {:.1} s, ideal {:.1} s, idle {:.1} %; {} tasks, {:.0} messages/s, at most {} \
         directories wait; the schedule took {:.2} s of one processor ({:.1} %)",
        result.entries,
        result.seconds,
        result.ideal_seconds,
        100.0 * result.idle,
        result.tasks,
        2.0 * result.tasks as f64 / result.seconds,
        result.waiting_max,
        result.driver.as_secs_f64(),
        100.0 * result.driver.as_secs_f64() / result.seconds,
    );
    result
}

fn size() -> (usize, u64) {
    match std::env::var_os("MEGADIR_FULL").is_some_and(|value| value == "1") {
        true => (1000, 1_000_000_000),
        false => (100, 60_000_000),
    }
}

const UNLIMITED: f64 = 1e12;

#[test]
fn processes_are_busy_on_a_skewed_tree_and_the_queue_stays_small() {
    let (processes, entries) = size();
    let result = simulate("skewed", Tree { entries, files: 1000, fan_out: 20 }, processes, UNLIMITED);
    assert!(result.entries >= entries);
    assert!(result.idle <= 0.1, "{}", result.idle);
    assert!(result.waiting_max < 200 * processes as u64, "{}", result.waiting_max);
}

#[test]
fn one_huge_directory_is_shared_by_all() {
    let (processes, entries) = size();
    let entries = entries / 10;
    let result =
        simulate("one directory", Tree { entries, files: entries, fan_out: 1 }, processes, UNLIMITED);
    assert_eq!(result.entries, entries);
    // No range waits for others; the slowest may come last.
    let longest = OPEN_SECONDS[10] + RANGE_ENTRIES as f64 * ENTRY_SECONDS[10];
    assert!(
        result.seconds < result.ideal_seconds + 2.0 * longest,
        "{} {}",
        result.seconds,
        result.ideal_seconds
    );
}

#[test]
fn a_slow_server_is_kept_busy() {
    let (processes, entries) = size();
    let rate = entries as f64 / 60.0;
    let result = simulate("slow server", Tree { entries, files: 1000, fan_out: 20 }, processes, rate);
    assert!(result.seconds < 1.1 * result.ideal_seconds, "{} {}", result.seconds, result.ideal_seconds);
}
