//! The certain part of a tree, its frontier, and the order of the work, which several threads share.

use std::collections::VecDeque;
use std::sync::Mutex;

use super::interval::{Estimated, Moments, Part, estimated};
use super::probe::{Probed, probe};
use super::{QUANTITIES, Random, Reading, SampledUsage, Tree, add, raise};
use crate::threads::lock;

/// Share of the effort that is spent on the certain part.
const CERTAIN: f64 = 0.4;
/// Effort after which directories of the certain part that are still being read are not waited for.
const CERTAIN_MAX: f64 = 0.6;
/// Directories that wait, at most: about 100 bytes each.
const FRONTIER_MAX: usize = 1 << 17;
const PROBES_MAX: u64 = 1 << 20;
/// Probes of each directory of the frontier, on average, after which more gain nothing.
const REPEATS_MAX: u64 = 8;

/// Estimates the usage of a tree. Threads call [`Sampler::step`] until it is done or their time is over.
#[derive(Debug)]
pub struct Sampler<T: Tree> {
    tree: T,
    seed: u64,
    state: Mutex<State<T::Node>>,
}

/// Outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is more to do.
    Again,
    /// Other threads have to finish their steps first.
    Wait,
    /// More work would gain nothing.
    Done,
}

/// `part` is 0 for the root's own entries and for directories in the root that are too many to be parts of their own. `weight`
/// exceeds 1 if the directory stands for others of its parent that were not kept.
#[derive(Clone, Debug)]
struct Waiting<N> {
    node: N,
    part: usize,
    weight: f64,
    is_probed: bool,
}

/// Certain directories come from `queue`, in the order of levels. `sampled` have weights, so they can only be probed. When the certain
/// part ends, all that wait become the frontier, with `ends`, their cumulative weights, and no directory is added any more. `open` has the parts of certain directories that are
/// being read, and `exact` counts directories of the frontier below which all was read.
#[derive(Debug)]
struct State<N> {
    queue: VecDeque<Waiting<N>>,
    sampled: Vec<Waiting<N>>,
    frontier: Vec<Waiting<N>>,
    ends: Vec<f64>,
    shift: f64,
    open: Vec<usize>,
    exact: usize,
    tasks: u64,
    probes: u64,
    read: u64,
    is_certain: bool,
    parts: Vec<Part>,
    /// The directory of each part but the first.
    names: Vec<N>,
}

enum Task<N> {
    Read(Waiting<N>, u64),
    Probe(usize, N, u64),
    None(Step),
}

impl<T: Tree> Sampler<T> {
    /// Begins with nothing read.
    pub fn new(tree: T, root: T::Node, seed: u64) -> Self {
        let root = Waiting { node: root, part: 0, weight: 1.0, is_probed: false };
        let state = State {
            queue: VecDeque::from([root]),
            sampled: Vec::new(),
            frontier: Vec::new(),
            ends: Vec::new(),
            shift: Random::new(seed, u64::MAX).unit(),
            open: Vec::new(),
            exact: 0,
            tasks: 0,
            probes: 0,
            read: 0,
            is_certain: true,
            parts: vec![Part::default()],
            names: Vec::new(),
        };
        Self { tree, seed, state: Mutex::new(state) }
    }

    /// Tree that is read.
    pub fn tree(&self) -> &T {
        &self.tree
    }

    /// Reads one directory, or probes one subtree. `effort` is the share of the time that has passed.
    pub fn step(&self, effort: f64) -> Step {
        let task = lock(&self.state).task(effort);
        match task {
            Task::Read(waiting, number) => {
                let mut random = Random::new(self.seed, number);
                let reading = self.tree.read(&waiting.node, FRONTIER_MAX, &mut random);
                lock(&self.state).take(&waiting, reading);
            }
            Task::Probe(at, node, number) => {
                let probed = probe(&self.tree, node, &mut Random::new(self.seed, number));
                lock(&self.state).take_probe(at, &probed);
            }
            Task::None(step) => return step,
        }
        Step::Again
    }

    /// Estimates from what was read so far.
    pub fn usage(&self) -> SampledUsage<T::Node> {
        lock(&self.state).usage()
    }
}

impl<N: Clone> State<N> {
    fn task(&mut self, effort: f64) -> Task<N> {
        if self.is_certain {
            let has_room = self.queue.len() + self.sampled.len() < FRONTIER_MAX;
            if effort < CERTAIN
                && has_room
                && let Some(waiting) = self.queue.pop_front()
            {
                self.open.push(waiting.part);
                return Task::Read(waiting, self.next_task());
            }
            if !self.open.is_empty() && effort < CERTAIN_MAX {
                return Task::None(Step::Wait);
            }
            self.end_certain();
        }
        let enough = PROBES_MAX.min(self.frontier.len() as u64 * REPEATS_MAX);
        if self.probes >= enough || self.exact == self.frontier.len() {
            return Task::None(Step::Done);
        }
        let at = self.position();
        let node = self.frontier[at].node.clone();
        Task::Probe(at, node, self.next_task())
    }

    fn next_task(&mut self) -> u64 {
        self.tasks += 1;
        self.tasks
    }

    /// Takes the entries of a certain directory. One that the time did not suffice for leaves its part without an estimate, and so
    /// does one that ends after the frontier was closed: probes would not find what is below it.
    fn take(&mut self, directory: &Waiting<N>, reading: Reading<N>) {
        self.read += 1;
        if let Some(at) = self.open.iter().position(|part| *part == directory.part) {
            self.open.swap_remove(at);
        }
        let of_root = self.read == 1;
        let weight = reading.directories / reading.below.len().max(1) as f64;
        let is_late = !self.is_certain && !reading.below.is_empty();
        let part = &mut self.parts[directory.part];
        add(&mut part.certain, &reading.figures, 1.0);
        add(&mut part.variance, &reading.variance, 1.0);
        raise(&mut part.unseen, &reading.unseen);
        part.is_unfinished |= !reading.is_complete || is_late;
        if is_late {
            return;
        }
        for node in reading.below {
            let mut part = directory.part;
            if of_root && weight == 1.0 {
                part = self.parts.len();
                self.parts.push(Part::default());
                self.names.push(node.clone());
            }
            let waiting = Waiting { node, part, weight, is_probed: false };
            if weight == 1.0 { self.queue.push_back(waiting) } else { self.sampled.push(waiting) }
        }
    }

    fn end_certain(&mut self) {
        self.is_certain = false;
        self.frontier = self.queue.drain(..).chain(self.sampled.drain(..)).collect();
        // Directories of one part side by side: each part gets its share of the probes.
        self.frontier.sort_by_key(|waiting| waiting.part);
        let mut end = 0.0;
        for waiting in &self.frontier {
            end += waiting.weight;
            self.ends.push(end);
            self.parts[waiting.part].weight += waiting.weight;
        }
    }

    /// Directory that the next probe is of: the positions of any number of probes are spread evenly, with a random shift. Reference: van
    /// der Corput, *Proc. Akad. Wet. Amsterdam* 38 (1935). More probes where subtrees differ more would be narrower for regular trees,
    /// but elsewhere they keep away from what few probes have not found.
    fn position(&mut self) -> usize {
        let even = self.probes.reverse_bits() as f64 / 2.0_f64.powi(64);
        self.probes += 1;
        let place = (even + self.shift).fract() * self.ends.last().copied().unwrap_or(0.0);
        self.ends.partition_point(|end| *end <= place).min(self.ends.len() - 1)
    }

    fn take_probe(&mut self, at: usize, probed: &Probed) {
        self.read += probed.read;
        let waiting = &mut self.frontier[at];
        let part = &mut self.parts[waiting.part];
        part.moments.merge(&Moments::of(probed.figures));
        if !std::mem::replace(&mut waiting.is_probed, true) {
            add(&mut part.seen, &probed.seen, 1.0);
            if probed.is_exact && waiting.weight == 1.0 {
                part.exact += 1;
                self.exact += 1;
                add(&mut part.exact_figures, &probed.figures, 1.0);
            }
        }
    }

    fn usage(&self) -> SampledUsage<N> {
        let mut parts = self.parts.clone();
        self.open.iter().for_each(|part| parts[*part].is_unfinished = true);
        if self.is_certain {
            // Nothing is known of what waits.
            let waiting = self.queue.iter().chain(&self.sampled);
            waiting.for_each(|waiting| parts[waiting.part].is_unfinished = true);
        }
        let of = |(name, part): (&N, &Part)| -> (N, [Estimated; QUANTITIES]) {
            (name.clone(), estimated(std::slice::from_ref(part)))
        };
        let directories = self.names.iter().zip(&parts[1..]).map(of).collect();
        SampledUsage { total: estimated(&parts), directories, read: self.read, probes: self.probes }
    }
}
