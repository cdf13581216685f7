//! Subtrees that are being read. The last user of a subtree adds its complete figures to its parent's.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::{Shared, Sum};
use crate::threads::lock;
use crate::tree_path::TreePath;
use crate::walk::WalkContext;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gathering {
    pub(super) sum: Sum,
    /// Bytes of files with several hard links, each name counted: the most that may be added later.
    pub(super) linked_allocated: u128,
    pub(super) linked_apparent: u128,
}

impl Gathering {
    fn merge(&mut self, other: &Self) {
        self.sum.merge(&other.sum);
        self.linked_allocated += other.linked_allocated;
        self.linked_apparent += other.linked_apparent;
    }
}

/// A directory whose entries are being counted.
#[derive(Debug)]
pub struct Subtree {
    node: Arc<Node>,
    files: AtomicU64,
}

/// Also stands for the directories below the listed levels.
///
/// Shared by all who count below a directory, by reference counts. When the last of them is gone, everything
/// below was counted: the sum is offered to the list of the highest and added to the parent's. So no one has
/// to know when a subtree is complete. Below `depth_max` all directories share the node of their ancestor.
#[derive(Debug)]
struct Node {
    shared: Arc<Shared>,
    parent: Option<Arc<Self>>,
    root: u32,
    path: TreePath,
    depth: u32,
    depth_max: u32,
    sum: Arc<Mutex<Gathering>>,
}

impl Subtree {
    pub(super) fn root(
        shared: Arc<Shared>,
        root: u32,
        sum: Arc<Mutex<Gathering>>,
        depth_max: Option<u32>,
    ) -> Self {
        let (path, depth_max) = (TreePath::root(), depth_max.unwrap_or(u32::MAX));
        let node = Node { shared, parent: None, root, path, depth: 0, depth_max, sum };
        Self { node: Arc::new(node), files: AtomicU64::new(0) }
    }

    pub(super) fn root_index(&self) -> u32 {
        self.node.root
    }

    pub(super) fn add(&self, counted: &Gathering, files: u64) {
        lock(&self.node.sum).merge(counted);
        self.files.fetch_add(files, Ordering::Relaxed);
    }

    pub(super) fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }
}

impl WalkContext for Subtree {
    fn below(&self, name: &[u8]) -> Self {
        let parent = &self.node;
        let node = match parent.depth < parent.depth_max {
            false => Arc::clone(parent),
            true => Arc::new(Node {
                shared: Arc::clone(&parent.shared),
                parent: Some(Arc::clone(parent)),
                root: parent.root,
                path: parent.path.join(name),
                depth: parent.depth + 1,
                depth_max: parent.depth_max,
                sum: Arc::default(),
            }),
        };
        Self { node, files: AtomicU64::new(0) }
    }
}

impl Node {
    fn close(&mut self) -> Option<Arc<Self>> {
        let parent = self.parent.take()?;
        let gathered = *lock(&self.sum);
        if gathered.sum.amount.entries > 0 {
            lock(&parent.sum).merge(&gathered);
            lock(&self.shared.top).offer((self.root, &self.path, self.depth), &gathered);
        }
        Some(parent)
    }
}

/// Recursion could overflow the stack in deep trees.
impl Drop for Node {
    fn drop(&mut self) {
        let mut next = self.close();
        while let Some(mut node) = next.and_then(Arc::into_inner) {
            next = node.close();
        }
    }
}
