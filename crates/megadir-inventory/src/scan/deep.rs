//! Items of directories with long paths, as a tree of names: whole paths would be quadratic in the depth. At
//! the memory limit, all items are written as a sorted run for the [`Sorter`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::Range;

use crate::path::{TreePath, common_bytes};
use crate::sorter::{RunWriter, Sorter};

const NONE: u32 = u32::MAX;

/// One tree of names for all threads, under the lock of [`Shared`](super::Shared). A node is a directory: its
/// parent and the range of its name in `names`. `by_hash` finds a child by parent and name; nodes with equal
/// hashes are chained. An item is in `bytes`, first the end of its key behind the path, then its contents.
/// `generation` counts how often everything was written and cleared, so that a cursor notices that its nodes
/// are gone.
#[derive(Default)]
pub(super) struct Deep {
    memory_bytes_max: usize,
    nodes: Vec<Node>,
    names: Vec<u8>,
    by_hash: HashMap<u64, u32>,
    hasher: RandomState,
    items: Vec<Item>,
    bytes: Vec<u8>,
    generation: u64,
}

/// The name of a root is its number in bytes.
struct Node {
    parent: u32,
    before: u32,
    name: Range<usize>,
}

/// `tail` is the part of the key behind the directory's path; the item's contents follow it up to `end`.
struct Item {
    node: u32,
    tail: Range<usize>,
    end: usize,
}

/// Each thread keeps where it was, since the next directory of a walk is near the last one. `nodes` are the
/// directories from the root down, each with the length of its path. `before` and `rest` are buffers only.
#[derive(Default)]
pub(super) struct Cursor {
    generation: u64,
    root: u32,
    path: TreePath,
    nodes: Vec<(u32, usize)>,
    before: Vec<u8>,
    rest: Vec<u8>,
}

impl Deep {
    pub(super) fn new(memory_bytes_max: usize) -> Self {
        Self { memory_bytes_max, generation: 1, ..Self::default() }
    }

    pub(super) fn add(
        &mut self,
        cursor: &mut Cursor,
        (root, path): (u32, &TreePath),
        tail: &[u8],
        item: &[u8],
        sorter: &mut Sorter,
    ) -> io::Result<()> {
        // The buffer grows by doubling, so spill at half the limit.
        if self.held_bytes() + tail.len() + item.len() > self.memory_bytes_max / 2 && !self.items.is_empty() {
            self.write_run(sorter)?;
        }
        let node = self.node(cursor, root, path);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(tail);
        let tail = start..self.bytes.len();
        self.bytes.extend_from_slice(item);
        self.items.push(Item { node, tail, end: self.bytes.len() });
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        // The map's capacity is up to twice its length.
        let node_bytes = size_of::<Node>() + 2 * size_of::<(u64, u32)>();
        self.nodes.len() * node_bytes
            + self.names.len()
            + self.items.len() * size_of::<Item>()
            + self.bytes.len()
    }

    /// Finds or adds the node of a path by the part that differs from the cursor's path: the cost follows the
    /// difference, not the depth.
    ///
    /// ```text
    /// cursor.path   a/b/cc/d        nodes: a, a/b, a/b/cc, a/b/cc/d
    /// path          a/b/ce/f        shared a/b/c; a/b stays, since it ends within the shared part and at a slash
    ///                               ce and ce/f are added below a/b
    /// ```
    ///
    /// A shared part may end in the middle of a name, which is no common directory: `is_whole` tests that.
    fn node(&mut self, cursor: &mut Cursor, root: u32, path: &TreePath) -> u32 {
        let is_current = cursor.generation == self.generation && cursor.root == root;
        if is_current
            && cursor.path == *path
            && let Some((node, _)) = cursor.nodes.last()
        {
            return *node;
        }
        if !is_current {
            (cursor.generation, cursor.root, cursor.path) = (self.generation, root, TreePath::root());
            cursor.nodes.clear();
            cursor.nodes.push((self.child(NONE, &root.to_be_bytes()), 0));
        }
        let shared = cursor.path.shared_bytes(path);
        let (mut before, mut rest) = (std::mem::take(&mut cursor.before), std::mem::take(&mut cursor.rest));
        before.clear();
        rest.clear();
        cursor.path.push_from(shared, &mut before);
        path.push_from(shared, &mut rest);
        let common = common_bytes(&before, &rest);
        let is_whole = |end: usize| {
            end < shared + common || end == shared + common && matches!(rest.get(common), None | Some(b'/'))
        };
        while cursor.nodes.len() > 1 && cursor.nodes.last().is_some_and(|(_, end)| !is_whole(*end)) {
            cursor.nodes.pop();
        }
        let (mut node, from) = cursor.nodes.last().copied().unwrap_or((NONE, 0));
        if from < shared {
            rest.clear();
            path.push_from(from, &mut rest);
        } else {
            rest.drain(..from - shared);
        }
        let mut end = 0;
        while end < rest.len() {
            let start = if from + end == 0 { 0 } else { end + 1 };
            end = rest[start..].iter().position(|byte| *byte == b'/').map_or(rest.len(), |at| start + at);
            node = self.child(node, &rest[start..end]);
            cursor.nodes.push((node, from + end));
        }
        cursor.path = path.clone();
        (cursor.before, cursor.rest) = (before, rest);
        node
    }

    /// Chains of equal hashes run through the nodes (`before`), so that the map has one number for each hash
    /// and no allocation. A hash of random state keeps names of a hostile tree from colliding.
    fn child(&mut self, parent: u32, name: &[u8]) -> u32 {
        let new = self.nodes.len() as u32;
        let before = match self.by_hash.entry(self.hasher.hash_one((parent, name))) {
            Entry::Vacant(entry) => {
                entry.insert(new);
                NONE
            }
            Entry::Occupied(mut entry) => {
                let first = *entry.get();
                let mut at = first;
                while let Some(node) = self.nodes.get(at as usize) {
                    if node.parent == parent && self.names[node.name.clone()] == *name {
                        return at;
                    }
                    at = node.before;
                }
                entry.insert(new);
                first
            }
        };
        let start = self.names.len();
        self.names.extend_from_slice(name);
        self.nodes.push(Node { parent, before, name: start..self.names.len() });
        new
    }

    /// The nodes are cleared with the items, because a tree of names that only grows would exceed the limit
    /// by itself. Cursors notice this by the generation.
    pub(super) fn write_run(&mut self, sorter: &mut Sorter) -> io::Result<()> {
        if self.items.is_empty() {
            return Ok(());
        }
        let mut run = sorter.begin_run()?;
        self.write_in_order(&mut run)?;
        sorter.add_run(run)?;
        self.nodes.clear();
        self.names.clear();
        self.by_hash.clear();
        self.items.clear();
        self.bytes.clear();
        self.generation += 1;
        Ok(())
    }

    /// Depth first, with an own stack: trees may be deeper than the stack of a thread. Each directory occurs
    /// twice among its siblings, as itself and as the beginning of the paths below it, because other names may
    /// sort between the two. `key` is the only whole path, and is cut and extended on the way. Children are
    /// found by sorting all nodes by their parent once, which takes less memory than lists of children.
    fn write_in_order(&mut self, run: &mut RunWriter) -> io::Result<()> {
        let (bytes, nodes, names) = (&self.bytes, &self.nodes, &self.names);
        let tail = |item: &Item| &bytes[item.tail.clone()];
        self.items.sort_unstable_by(|a, b| a.node.cmp(&b.node).then_with(|| tail(a).cmp(tail(b))));
        let mut children: Vec<u32> = (0..nodes.len() as u32).collect();
        children.sort_unstable_by_key(|node| nodes[*node as usize].parent.wrapping_add(1));
        let children_of = |parent: u32| {
            let key = parent.wrapping_add(1);
            let of = |node: &u32| nodes[*node as usize].parent.wrapping_add(1);
            let from = children.partition_point(|node| of(node) < key);
            let rest = &children[from..];
            &rest[..rest.partition_point(|node| of(node) == key)]
        };
        let name = |node: u32| &names[nodes[node as usize].name.clone()];
        // In byte order `a` < `a-b` < `a/x`: a subdirectory sorts as its name with a slash.
        let steps = |parent: u32| {
            let below = |node: &u32| [(*node, false), (*node, true)];
            let mut steps: Vec<(u32, bool)> = children_of(parent).iter().flat_map(below).collect();
            let text = |&(node, is_below): &(u32, bool)| name(node).iter().chain(is_below.then_some(&b'/'));
            steps.sort_unstable_by(|a, b| text(b).cmp(text(a)));
            steps
        };
        let mut key = Vec::new();
        let mut stack: Vec<(usize, Vec<(u32, bool)>)> = vec![(0, steps(NONE))];
        while let Some((key_bytes, rest)) = stack.last_mut() {
            key.truncate(*key_bytes);
            let Some((node, is_below)) = rest.pop() else {
                stack.pop();
                continue;
            };
            if key.len() > size_of::<u32>() {
                key.push(b'/');
            }
            key.extend_from_slice(name(node));
            if is_below {
                let below = steps(node);
                if !below.is_empty() {
                    stack.push((key.len(), below));
                }
                continue;
            }
            let from = self.items.partition_point(|item| item.node < node);
            let directory_bytes = key.len();
            for item in self.items[from..].iter().take_while(|item| item.node == node) {
                key.extend_from_slice(tail(item));
                run.put(&key, &bytes[item.tail.end..item.end])?;
                key.truncate(directory_bytes);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Deep};
    use crate::path::TreePath;
    use crate::sorter::Sorter;

    #[test]
    fn items_come_in_the_order_of_whole_keys_whatever_the_memory() {
        let mut random = 11u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % below
        };
        let names = ["a", "a-b", "a!", "b", "b0", "\u{e9}", "a.b"];
        let mut entries: Vec<(u32, String, String)> = (0..3000)
            .map(|number| {
                let depth = next(9);
                let path: Vec<&str> = (0..depth).map(|_| names[next(7) as usize]).collect();
                (next(2) as u32, path.join("/"), format!("{number}"))
            })
            .collect();
        let key = |(root, path, name): &(u32, String, String)| {
            [&root.to_be_bytes()[..], path.as_bytes(), &[0, 1], name.as_bytes()].concat()
        };
        let given = |memory_bytes| {
            let mut sorter = Sorter::new(memory_bytes, std::env::temp_dir());
            let (mut deep, mut cursors) = (Deep::new(memory_bytes), [Cursor::default(), Cursor::default()]);
            for (index, entry) in entries.iter().enumerate() {
                let tail = [&[0, 1], entry.2.as_bytes()].concat();
                let of = (entry.0, &TreePath::from(&entry.1));
                deep.add(&mut cursors[index % 2], of, &tail, entry.2.as_bytes(), &mut sorter).unwrap();
            }
            deep.write_run(&mut sorter).unwrap();
            let mut given = Vec::new();
            sorter
                .finish(
                    |error| error,
                    |key, item| {
                        given.push((key.to_vec(), item.to_vec()));
                        Ok(true)
                    },
                )
                .unwrap();
            given
        };
        let (whole, parts) = (given(1 << 24), given(20_000));
        assert_eq!(whole, parts);
        entries.sort_by_key(key);
        let expected: Vec<_> =
            entries.iter().map(|entry| (key(entry), entry.2.clone().into_bytes())).collect();
        assert!(whole == expected, "as whole keys order");
    }
}
