//! An unbiased estimate of one subtree, level by level, with a bounded number of directories a level.

use super::{Figures, Random, Tree, add};

/// Directories of a level that are read. More make a probe exact more often, and fewer probes possible.
pub(super) const WIDTH: usize = 16;

/// Result of a probe. `figures` estimate everything below the directory, `seen` is what was read, each directory once. If all
/// below it was read, the probe is exact.
#[derive(Debug, Default)]
pub(super) struct Probed {
    pub(super) figures: Figures,
    pub(super) seen: Figures,
    pub(super) read: u64,
    pub(super) is_exact: bool,
}

/// Reads the subtree below a directory.
///
/// The weight of a directory is the number of directories that it stands for: the weight of its parent, times the directories in
/// that, divided by those of them that were returned, and divided by the probability of staying when the level is thinned. If the time
/// ends meanwhile, the result is what was read until then, and too low.
pub(super) fn probe<T: Tree>(tree: &T, node: T::Node, random: &mut Random) -> Probed {
    let mut probed = Probed { is_exact: true, ..Probed::default() };
    let mut level = vec![(node, 1.0)];
    while !level.is_empty() {
        let mut below = Vec::new();
        for (node, weight) in &level {
            let reading = tree.read(node, WIDTH, random);
            add(&mut probed.figures, &reading.figures, *weight);
            add(&mut probed.seen, &reading.figures, 1.0);
            probed.read += 1;
            let has_variance = reading.variance != Figures::default();
            let returned = reading.below.len() as f64;
            probed.is_exact &= !has_variance && reading.directories == returned;
            if !reading.is_complete {
                probed.is_exact = false;
                return probed;
            }
            let weight = weight * reading.directories / returned;
            below.extend(reading.below.into_iter().map(|node| (node, weight)));
        }
        probed.is_exact &= below.len() <= WIDTH;
        level = thinned(below, WIDTH, random);
    }
    probed
}

/// Keeps at most `width` items and the expected value of every sum over them: an item stays with a probability proportional to its
/// weight, and its weight is divided by that. Items whose weight exceeds their share stay. Positions are systematic, with one random
/// start, so that neighbours, which have one parent, are thinned evenly. Reference: Madow, Ann. Math. Statist. 20 (1949).
fn thinned<N>(items: Vec<(N, f64)>, width: usize, random: &mut Random) -> Vec<(N, f64)> {
    if items.len() <= width {
        return items;
    }
    let mut weights: Vec<f64> = items.iter().map(|item| item.1).collect();
    weights.sort_by(|a, b| b.total_cmp(a));
    let (mut rest, mut certain): (f64, usize) = (weights.iter().sum(), 0);
    let share = loop {
        let share = rest / (width - certain) as f64;
        if weights[certain] < share || certain + 1 == width {
            break share;
        }
        rest -= weights[certain];
        certain += 1;
    };
    let mut next = random.unit() * share;
    let (mut kept, mut passed) = (Vec::with_capacity(width + 1), 0.0);
    for (node, weight) in items {
        if weight >= share {
            kept.push((node, weight));
            continue;
        }
        passed += weight;
        if passed > next {
            next += share;
            kept.push((node, share));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{Random, thinned};

    #[test]
    fn a_thinned_level_keeps_the_expected_value_of_every_item() {
        let weights = [1.0, 1.0, 50.0, 2.0, 3.0, 1.0, 1.0, 8.0, 1.0, 2.0];
        let mut sums = [0.0; 10];
        const TIMES: u64 = 40_000;
        for number in 0..TIMES {
            let items = weights.iter().copied().enumerate().collect();
            let kept = thinned(items, 4, &mut Random::new(1, number));
            assert!(kept.len() <= 5, "{kept:?}");
            kept.iter().for_each(|(item, weight)| sums[*item] += weight);
        }
        for (weight, sum) in weights.iter().zip(sums) {
            let mean = sum / TIMES as f64;
            assert!((mean / weight - 1.0).abs() < 0.05, "{mean} for {weight}");
        }
    }
}
