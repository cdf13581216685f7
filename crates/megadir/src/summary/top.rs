//! Highest-ranking entries.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// An entry that stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked<'a, V> {
    /// Size, bytes, or time.
    pub value: V,
    /// Path of its directory with a trailing slash, or nothing.
    pub prefix: &'a [u8],
    /// Name.
    pub name: &'a [u8],
}

#[derive(Clone, Debug)]
pub(super) struct Top<K> {
    heap: BinaryHeap<Candidate<K>>,
    capacity: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate<K> {
    key: K,
    path: Vec<u8>,
    prefix_bytes: usize,
}

impl<K: Ord + Copy> Top<K> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { heap: BinaryHeap::new(), capacity }
    }

    #[inline]
    pub(super) fn offer(&mut self, key: K, prefix: &[u8], name: &[u8]) {
        if self.heap.len() == self.capacity && self.heap.peek().is_none_or(|lowest| key < lowest.key) {
            return;
        }
        self.consider(key, prefix, name);
    }

    fn consider(&mut self, key: K, prefix: &[u8], name: &[u8]) {
        if self.heap.len() < self.capacity {
            let path = [prefix, name].concat();
            self.heap.push(Candidate { key, path, prefix_bytes: prefix.len() });
            return;
        }
        let Some(mut lowest) = self.heap.peek_mut() else { return };
        if key == lowest.key && joined_cmp(prefix, name, &lowest.path).is_ge() {
            return;
        }
        let candidate = &mut *lowest;
        candidate.key = key;
        candidate.path.clear();
        candidate.path.extend_from_slice(prefix);
        candidate.path.extend_from_slice(name);
        candidate.prefix_bytes = prefix.len();
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for candidate in &other.heap {
            let (prefix, name) = candidate.path.split_at(candidate.prefix_bytes);
            self.offer(candidate.key, prefix, name);
        }
    }

    pub(super) fn ranked<V>(&self, value: impl Fn(K) -> V) -> Vec<Ranked<'_, V>> {
        let mut candidates: Vec<_> = self.heap.iter().collect();
        candidates.sort_unstable();
        let named = candidates
            .into_iter()
            .map(|candidate| (value(candidate.key), candidate.path.split_at(candidate.prefix_bytes)));
        named.map(|(value, (prefix, name))| Ranked { value, prefix, name }).collect()
    }
}

fn joined_cmp(prefix: &[u8], name: &[u8], path: &[u8]) -> Ordering {
    if prefix.is_empty() {
        // An empty slice may point to unmapped memory, and then the masked loads of memcmp take 80 ns.
        return name.cmp(path);
    }
    let (start, rest) = path.split_at(prefix.len().min(path.len()));
    prefix.cmp(start).then_with(|| name.cmp(rest))
}

impl<K: Ord> Ord for Candidate<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key).then_with(|| self.path.cmp(&other.path))
    }
}

impl<K: Ord> PartialOrd for Candidate<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::{Ranked, Top, joined_cmp};
    use proptest::prelude::*;

    fn paths(ranked: &[Ranked<'_, u64>]) -> Vec<(u64, Vec<u8>)> {
        ranked.iter().map(|entry| (entry.value, [entry.prefix, entry.name].concat())).collect()
    }

    /// Keys that are often equal, in directories whose paths begin alike.
    fn entries() -> impl Strategy<Value = Vec<(u64, Vec<u8>, Vec<u8>)>> {
        let prefix = prop::sample::select(vec![&b""[..], b"a/", b"a/b/", b"a/b/c/", b"b/"]);
        let name = prop::collection::vec(prop::sample::select(b"ab!z\xff".to_vec()), 1..4);
        let key = prop_oneof![0..4u64, any::<u64>()];
        prop::collection::vec((key, prefix.prop_map(<[u8]>::to_vec), name), 0..60)
    }

    proptest! {
        #[test]
        fn the_top_is_the_beginning_of_the_sorted_whole(
            entries in entries(),
            capacity in 0..12usize,
            split in 0..60usize,
        ) {
            let mut sorted: Vec<_> =
                entries.iter().map(|(key, prefix, name)| (*key, [&prefix[..], name].concat())).collect();
            sorted.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
            sorted.truncate(capacity);

            let mut whole = Top::new(capacity);
            let (mut first, mut second) = (Top::new(capacity), Top::new(capacity));
            for (index, (key, prefix, name)) in entries.iter().enumerate() {
                whole.offer(*key, prefix, name);
                if index < split { &mut first } else { &mut second }.offer(*key, prefix, name);
            }
            prop_assert_eq!(paths(&whole.ranked(|key| key)), sorted.clone());
            first.merge(&second);
            prop_assert_eq!(paths(&first.ranked(|key| key)), sorted);
        }

        #[test]
        fn pieces_compare_as_the_whole(prefix in "[ab/]{0,5}", name in "[ab!]{0,5}", path in "[ab!/]{0,9}") {
            let whole = format!("{prefix}{name}");
            let expected = whole.as_bytes().cmp(path.as_bytes());
            prop_assert_eq!(joined_cmp(prefix.as_bytes(), name.as_bytes(), path.as_bytes()), expected);
        }
    }
}
