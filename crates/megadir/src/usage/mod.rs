//! Space and entries of every subtree: which directory holds the inodes.
//!
//! [`read`] walks a tree, [`Tally::add`] takes entries from elsewhere, e.g. from an inventory; the [`Report`]
//! is the same. Memory grows with [`UsageOptions::top`], the depth of the tree, the number of threads, and
//! the number of files with several hard links (about 150 bytes each).
//!
//! * The figures of a directory cover everything below it, not the directory itself.
//! * An entry is a name. Inodes and bytes count each hard link once, in the directory whose path and name are
//!   the first in byte order.
//!
//! Each thread counts its entries. A finished subtree adds its figures to its parent's, is offered to the list of the
//! highest ranks (`top.rs`), and is forgotten. Files with several hard links wait in a table until the end
//! (`links.rs`); until then a directory ranks between its bytes without and with them.
//!
//! The rows of an inventory ascend by path, where a subtree may be interrupted by another (`a`, `a-b`, `a/b`), so a few
//! subtrees stay open. A tree whose root has no subdirectories is listed by several threads instead of walked; the
//! root's number of links shows this on file systems that count subdirectories as links.
//!
//! | file | subject |
//! |---|---|
//! | `read.rs` | walks or lists a tree by several threads |
//! | `subtree.rs` | figures of a directory until everything below it is counted |
//! | `links.rs` | files with several hard links |
//! | `top.rs`, `tables.rs` | directories with the highest ranks; distributions |

mod links;
mod read;
mod subtree;
mod tables;
mod top;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crate::attributes::{Attributes, StatMask, Time};
use crate::batch::Entry;
use crate::file_type::FileType;
use crate::threads::lock;
use crate::tree_path::TreePath;

use self::links::Links;
pub use self::read::read;
use self::subtree::Gathering;
pub use self::subtree::Subtree;
use self::tables::Tables;
pub use self::tables::{CountRow, Extension};
use self::top::Top;

/// Order of directories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Most entries first.
    #[default]
    Entries,
    /// Most space on disk first.
    Allocated,
    /// Largest sum of sizes first.
    Apparent,
    /// Most recently modified entry first.
    Newest,
    /// Entry that was not modified for the longest time first.
    Oldest,
}

impl By {
    /// All orders.
    pub const ALL: [Self; 5] = [Self::Entries, Self::Allocated, Self::Apparent, Self::Newest, Self::Oldest];

    /// Name in options and reports, such as `entries`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entries => "entries",
            Self::Allocated => "allocated",
            Self::Apparent => "apparent",
            Self::Newest => "newest",
            Self::Oldest => "oldest",
        }
    }
}

/// Settings of a report.
#[derive(Clone, Copy, Debug)]
pub struct UsageOptions {
    /// Number of directories to list, the roots not counted.
    pub top: usize,
    /// Levels of directories below the roots to list; `None` for all.
    pub depth: Option<u32>,
    /// Which directories to list.
    pub by: By,
    /// Reference time of ages, seconds since 1970-01-01 UTC.
    pub now_s: i64,
}

/// Number of entries and inodes, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of names.
    pub entries: u64,
    /// Number of inodes: hard links count once.
    pub inodes: u64,
    /// Space of the inodes on disk, bytes.
    pub allocated: u128,
    /// Sum of the sizes of the inodes (their lengths), bytes.
    pub apparent: u128,
}

impl Amount {
    #[inline]
    fn merge(&mut self, other: &Self) {
        self.entries += other.entries;
        self.inodes += other.inodes;
        self.allocated += other.allocated;
        self.apparent += other.apparent;
    }

    #[inline]
    fn add_bytes(&mut self, allocated: u64, apparent: u64) {
        self.inodes += 1;
        self.allocated += u128::from(allocated);
        self.apparent += u128::from(apparent);
    }
}

/// Figures of everything below a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Entries, inodes and bytes.
    pub amount: Amount,
    /// Number of directories among the entries.
    pub directories: u64,
    /// Latest modification time of an entry; `None` if no time is known.
    pub newest: Option<Time>,
    /// Earliest modification time of an entry.
    pub oldest: Option<Time>,
}

impl Sum {
    fn merge(&mut self, other: &Self) {
        self.amount.merge(&other.amount);
        self.directories += other.directories;
        self.newest = self.newest.max(other.newest);
        self.oldest = earlier(self.oldest, other.oldest);
    }
}

fn earlier(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    [a, b].into_iter().flatten().min()
}

/// Entry to be counted; `None` for unknown values.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// Name.
    pub name: &'a [u8],
    /// Type.
    pub kind: FileType,
    /// Size, bytes.
    pub size_bytes: Option<u64>,
    /// Space on disk, bytes.
    pub allocated_bytes: Option<u64>,
    /// Time of the last modification.
    pub modified: Option<Time>,
    /// Time of the last access.
    pub accessed: Option<Time>,
    /// User ID of the owner.
    pub user: Option<u32>,
    /// Number of hard links.
    pub links: Option<u64>,
    /// Inode number and its upper half.
    pub inode: Option<(u64, u64)>,
    /// Device number.
    pub device: Option<u64>,
    /// The attributes could not be read.
    pub is_unexamined: bool,
}

impl<'a> Item<'a> {
    /// Attributes needed.
    pub const WANT: StatMask = StatMask::TYPE
        .union(StatMask::SIZE)
        .union(StatMask::ALLOCATED)
        .union(StatMask::MODIFIED)
        .union(StatMask::ACCESSED)
        .union(StatMask::OWNER)
        .union(StatMask::LINKS)
        .union(StatMask::INODE)
        .union(StatMask::DEVICE);

    /// Converts a listed entry and its attributes.
    #[inline]
    pub fn new(entry: &Entry<'a>, attributes: &Attributes) -> Self {
        let has = |want| attributes.have.contains(want);
        let (major, minor) = attributes.device;
        Self {
            name: entry.name,
            kind: if has(StatMask::TYPE) { attributes.kind } else { entry.kind },
            size_bytes: has(StatMask::SIZE).then_some(attributes.size_bytes),
            allocated_bytes: has(StatMask::ALLOCATED).then_some(attributes.allocated_bytes),
            modified: has(StatMask::MODIFIED).then_some(attributes.modified),
            accessed: has(StatMask::ACCESSED).then_some(attributes.accessed),
            user: has(StatMask::OWNER).then_some(attributes.user),
            links: has(StatMask::LINKS).then_some(attributes.links),
            inode: has(StatMask::INODE).then_some((attributes.inode, 0)),
            device: has(StatMask::DEVICE).then_some(u64::from(major) << 32 | u64::from(minor)),
            is_unexamined: attributes.error != 0,
        }
    }
}

/// Collects the figures of trees.
///
/// `shared` is what threads change while they count; each has a tally of its own otherwise, which is merged
/// at its end. `roots` are filled when the last subtree of a root ends.
#[derive(Debug)]
pub struct Usage {
    options: UsageOptions,
    shared: Arc<Shared>,
    roots: Vec<Arc<Mutex<Gathering>>>,
    paths: Vec<PathBuf>,
    tables: Tables,
}

#[derive(Debug)]
struct Shared {
    top: Mutex<Top>,
    links: Mutex<Links>,
}

/// Counts entries in one thread, one directory after another.
#[derive(Debug)]
pub struct Tally {
    shared: Arc<Shared>,
    tables: Tables,
    sum: Gathering,
    files: u64,
}

impl Usage {
    /// Begins with no tree.
    pub fn new(options: UsageOptions) -> Self {
        let shared = Shared { top: Mutex::new(Top::new(&options)), links: Mutex::default() };
        let tables = Tables::new(options.now_s);
        Self { options, shared: Arc::new(shared), roots: Vec::new(), paths: Vec::new(), tables }
    }

    /// Begins a tree. The returned subtree is its root.
    pub fn root(&mut self, path: PathBuf) -> Subtree {
        let sum = Arc::new(Mutex::new(Gathering::default()));
        self.roots.push(Arc::clone(&sum));
        self.paths.push(path);
        Subtree::root(Arc::clone(&self.shared), self.roots.len() as u32 - 1, sum, self.options.depth)
    }

    /// A tree that was not read at all.
    fn drop_last_root(&mut self) {
        self.roots.pop();
        self.paths.pop();
    }

    /// Prepares a thread.
    pub fn tally(&self) -> Tally {
        Tally::new(&self.shared, self.options.now_s)
    }

    /// Takes the counts of a thread that has ended.
    pub fn merge(&mut self, tally: &Tally) {
        self.tables.merge(&tally.tables);
    }

    /// Computes the report. All subtrees must have been dropped.
    pub fn finish(mut self) -> Report {
        let links = std::mem::take(&mut *lock(&self.shared.links));
        let top = &mut *lock(&self.shared.top);
        let mut kept = top.take();
        let mut roots: Vec<Sum> = self.roots.iter().map(|root| lock(root).sum).collect();
        let linked_entries = links.further_names();
        let mut listed = vec![HashMap::new(); roots.len()];
        for (at, directory) in kept.iter().enumerate() {
            listed[directory.root as usize].insert(directory.path.to_vec(), at);
        }
        let mut path = Vec::new();
        for file in links.files() {
            self.tables.extension(&file.name).add_bytes(file.allocated, file.apparent);
            roots[file.root as usize].amount.add_bytes(file.allocated, file.apparent);
            path.clear();
            file.directory.push_to(&mut path);
            let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
            for end in ends.chain((!path.is_empty()).then_some(path.len())) {
                if let Some(&at) = listed[file.root as usize].get(&path[..end]) {
                    kept[at].sum.amount.add_bytes(file.allocated, file.apparent);
                }
            }
        }
        let directories = top::best(&kept, self.options.by, self.options.top).into_iter().cloned().collect();
        let mut total = Sum::default();
        roots.iter().for_each(|root| total.merge(root));
        let roots = self.paths.into_iter().zip(roots).enumerate();
        let roots = roots.map(|(at, (path, sum))| Root { path, sum, listable: top.offered(at) }).collect();
        Report { by: self.options.by, roots, total, directories, linked_entries, tables: self.tables }
    }
}

impl Tally {
    fn new(shared: &Arc<Shared>, now_s: i64) -> Self {
        let (shared, tables) = (Arc::clone(shared), Tables::new(now_s));
        Self { shared, tables, sum: Gathering::default(), files: 0 }
    }

    fn beside(&self) -> Self {
        Self::new(&self.shared, self.tables.now_s)
    }

    /// Adds an entry of a directory. Call [`Tally::flush`] before the next directory.
    #[inline]
    pub fn add(&mut self, directory: (&Subtree, &TreePath), item: &Item<'_>) {
        let is_directory = item.kind == FileType::Directory;
        let (allocated, apparent) = (item.allocated_bytes.unwrap_or(0), item.size_bytes.unwrap_or(0));
        let sum = &mut self.sum.sum;
        sum.amount.entries += 1;
        sum.directories += u64::from(is_directory);
        if item.modified.is_some() {
            sum.newest = sum.newest.max(item.modified);
            sum.oldest = earlier(sum.oldest, item.modified);
        }
        self.files += u64::from(!is_directory);
        // A directory's links are its subdirectories.
        let id = match (item.links, item.device.zip(item.inode)) {
            (Some(2..), Some(id)) if !is_directory => id,
            _ => {
                sum.amount.add_bytes(allocated, apparent);
                self.tables.add(item, true);
                if !is_directory {
                    self.tables.extension(item.name).add_bytes(allocated, apparent);
                }
                return;
            }
        };
        self.sum.linked_allocated += u128::from(allocated);
        self.sum.linked_apparent += u128::from(apparent);
        let (of, path) = directory;
        let file = links::Linked::new(of.root_index(), path, item.name, (allocated, apparent));
        let is_first = lock(&self.shared.links).see(id, file);
        self.tables.add(item, is_first);
    }

    /// Passes the counts on to their subtree.
    pub fn flush(&mut self, directory: &Subtree) {
        directory.add(&std::mem::take(&mut self.sum), std::mem::take(&mut self.files));
    }

    /// Counts a completely read directory by its number of files.
    pub fn end(&mut self, directory: &Subtree) {
        self.tables.directory(directory.files());
    }

    /// Counts `count` empty directories.
    pub fn end_empty(&mut self, count: u64) {
        self.tables.empty_directories(count);
    }
}

/// Tree of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Path as given.
    pub path: PathBuf,
    /// Everything below it.
    pub sum: Sum,
    /// Number of directories below it that [`UsageOptions::depth`] lets be listed and that have entries, listed or not.
    pub listable: u64,
}

/// Directory of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// Index of the tree.
    pub root: u32,
    /// Path relative to the root of the tree, with `/` between names.
    pub path: TreePath,
    /// Level below the root, from 1.
    pub depth: u32,
    /// Everything below it.
    pub sum: Sum,
}

/// Figures of trees.
///
/// Made once, after all trees were read, because a file with several links counts in the directory that is
/// the first by path, which is known only then.
#[derive(Debug)]
pub struct Report {
    /// Order of the directories.
    pub by: By,
    /// Trees, in the order in which they were given.
    pub roots: Vec<Root>,
    /// Everything below all roots.
    pub total: Sum,
    /// Listed directories, each after its parent; the highest-ranking of each parent come first.
    pub directories: Vec<Directory>,
    /// Names of files that are counted under another name.
    pub linked_entries: u64,
    tables: Tables,
}

impl Report {
    /// Report of figures that were summed up elsewhere: of each tree, and of all directories that may be listed. Its tables are empty.
    pub fn of_sums(
        options: &UsageOptions,
        roots: Vec<Root>,
        directories: &[Directory],
        unexamined: u64,
    ) -> Self {
        let directories = top::best(directories, options.by, options.top).into_iter().cloned().collect();
        let mut total = Sum::default();
        roots.iter().for_each(|root| total.merge(&root.sum));
        let linked_entries = total.amount.entries - total.amount.inodes;
        let mut tables = Tables::new(options.now_s);
        tables.unexamined = unexamined;
        Self { by: options.by, roots, total, directories, linked_entries, tables }
    }

    /// The `top` directories with the highest ranks, in the order of [`Report::directories`].
    pub fn best(&self, top: usize) -> Vec<&Directory> {
        top::best(&self.directories, self.by, top)
    }

    /// Number of directories with entries that are not among `listed`, of all trees or of one.
    pub fn unlisted(&self, listed: &[&Directory], root: Option<u32>) -> u64 {
        let is_of = |index: u32| root.is_none_or(|root| root == index);
        let roots = (0..).zip(&self.roots).filter(|(at, _)| is_of(*at));
        let listable: u64 = roots.map(|(_, root)| root.listable).sum();
        listable.saturating_sub(listed.iter().filter(|directory| is_of(directory.root)).count() as u64)
    }

    /// Sum of everything that is in no listed directory, and the listed ones at level 1 as entries.
    pub fn rest(&self, listed: &[&Directory]) -> Sum {
        let mut rest = self.total;
        for directory in listed.iter().filter(|directory| directory.depth == 1) {
            let Amount { entries, inodes, allocated, apparent } = directory.sum.amount;
            rest.amount.entries -= entries;
            rest.amount.inodes -= inodes;
            rest.amount.allocated -= allocated;
            rest.amount.apparent -= apparent;
            rest.directories -= directory.sum.directories;
        }
        rest
    }

    /// Number of entries whose attributes could not be read.
    pub fn unexamined(&self) -> u64 {
        self.tables.unexamined
    }

    /// `false` if the space on disk of some entries is unknown, e.g. in an older inventory.
    pub fn has_allocated(&self) -> bool {
        self.tables.without_allocated == 0
    }
}
