//! Threads compare directories with their rows. To bound memory, a thread takes the directory found last.
//!
//! `table.rs` joins a directory with its rows, whichever comes first; an idle thread reads ahead in the inventory.
//!
//! | file | subject |
//! |---|---|
//! | `table.rs` | joins a directory with its rows |
//! | `directory.rs` | a directory while it waits, and its names once it is listed |
//! | `worker/` | a thread's steps: a directory, its names, its attributes |

mod directory;
mod table;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use megadir::mount_traits::Clock;
use megadir::{Dir, Error, ErrorKind, FileSystem, FileType, MountTraits, Result, StatBackend, names};

pub(crate) use self::directory::check_not_removed;
use self::directory::{At, Live, Task};
use self::table::{Fate, Joined, Table};
use self::worker::Worker;
use super::keep::{Keeping, Newest};
use super::proof::{Proof, Proofs, Racy};
use super::settle::Seen;
use super::source::{Both, Source};
use super::{CompareOptions, Compared, Watch, fields, interrupted};
use crate::block::Block;
use crate::metadata::Metadata;
use crate::path::{Place, TreePath};
use crate::row::Facts;
use crate::volumes::{Id, Volumes};

const READ_ROWS: usize = 4096;
/// Decoding a row group takes as long as comparing some 10 000 rows.
const AHEAD_ROWS: usize = 20_000;
/// Memory of rows whose directories were not found yet, from which on no more are read while others are compared.
const EARLY_BYTES_MAX: usize = 64 << 20;
/// Path bytes that count as one row.
const ROW_BYTES: usize = 64;

/// A root that was opened for the comparison. Its descriptor stays open throughout, and everything below is
/// reached from it; `facts` were read right after it was opened.
pub(crate) struct Tree {
    pub(crate) directory: Arc<Dir>,
    pub(crate) facts: Facts,
    pub(crate) proof: Proof,
    pub(crate) traits: MountTraits,
}

impl Tree {
    pub(crate) fn check(&self, old: &Facts) -> Result<()> {
        is_scanned_root(self.directory.path(), (old, &self.facts), self.proof)
    }
}

fn is_scanned_root(path: &Path, (old, new): (&Facts, &Facts), proof: Proof) -> Result<()> {
    // The device number may change at each mount. It counts only where inode numbers are enough for identity
    // (NTFS): there it is the lasting volume number, and the roots of all volumes have the same inode.
    let device = old.device.filter(|_| proof.unique_numbers);
    if fields::is_same_file(&Facts { device, ..*old }, new, proof) {
        return Ok(());
    }
    let inode = |facts: &Facts| facts.inode.map_or_else(String::new, |inode| format!(" (inode {inode})"));
    let reason = format!(
        "not the directory that was scanned{}, but another{}: give the path of that directory, or scan this one",
        inode(old),
        inode(new)
    );
    Err(Error::new("compare", path, ErrorKind::BadOption, reason))
}

/// State that all threads read and none changes. Either `trees` or `now` is the newer side: with two inventories
/// the trees are absent, and everything that would be a system call is a lookup in the newer block. A tree is
/// `None` if its root could not be opened, and its rows then count as not examined.
pub(crate) struct Comparing<'a> {
    pub(crate) metadata: &'a Metadata,
    pub(crate) trees: Vec<Option<Tree>>,
    /// The newer of two inventories, instead of the trees.
    pub(crate) now: Option<&'a Metadata>,
    pub(crate) proofs: Proofs,
    pub(crate) started_ns: i64,
    pub(crate) stat_backend: &'static dyn StatBackend,
    pub(crate) options: &'a CompareOptions,
    pub(crate) watch: &'a Watch,
}

/// Each thread has its own, without a lock, and they are joined at the end. The order in which threads find
/// things is lost by that, which does no harm: `settle` sorts by path. `volumes` is shared instead and put
/// here at the end.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) seen: Seen,
    pub(crate) compared: Compared,
    pub(crate) unlisted: u64,
    pub(crate) newest: Newest,
    pub(crate) volumes: Volumes,
}

impl Found {
    fn append(&mut self, mut other: Self) {
        self.seen.append(&mut other.seen);
        self.unlisted += other.unlisted;
        let (all, mut more) = (&mut self.compared, other.compared);
        all.failures.append(&mut more.failures);
        all.other_mounts.append(&mut more.other_mounts);
        all.unknown_before.append(&mut more.unknown_before);
        all.failed += more.failed;
        all.unread += more.unread;
        all.lost += more.lost;
        all.listed += more.listed;
        all.not_listed += more.not_listed;
        self.newest.append(other.newest);
    }
}

/// A directory that has both halves, or a range of the names of one that was opened.
enum Job {
    Directory(Fate<Box<Live>>, Both),
    Names(Arc<Task>, std::ops::Range<usize>),
}

impl Job {
    fn rows(&self) -> usize {
        match self {
            Self::Directory(_, rows) => rows.rows(),
            Self::Names(_, range) => range.len(),
        }
    }
}

/// Everything that the one mutex protects. It is held for single pushes and pops only, never during a system
/// call or while rows are decoded. `ready` is a stack: the directory found last is taken first, so that the
/// number of open directories grows with the depth of the tree and not with its width.
///
/// ```text
/// source --rows--> table <--directories-- workers        a pair, whichever half comes first, becomes a job
///                    `--> ready (stack) --> workers
///                         later: no descriptor was free; until nothing else is open
/// ```
///
/// `source` is `None` while a thread reads from it, and after its end. `working` counts steps that are going
/// on; when it is 0 and nothing is ready, the comparison is over. `ended` shows a step whether any other
/// ended since it began.
struct State<S> {
    table: Table<Box<Live>>,
    ready: Vec<Job>,
    ready_rows: usize,
    /// Directories that wait until no other is open.
    later: Vec<Job>,
    source: Option<S>,
    working: usize,
    /// Steps that have ended.
    ended: u64,
    failed: Option<Error>,
}

impl<S> State<S> {
    fn push(&mut self, job: Job) {
        self.ready_rows += job.rows();
        self.ready.push(job);
    }

    /// The order of preference keeps both halves of the join supplied. Rows are read before anything is
    /// compared if few jobs are ready, since decoding a row group takes long and others can work meanwhile.
    /// They are not read if too many wait for their directories already, unless nothing else can be done:
    /// then their directories must still come, or never exist.
    fn step(&mut self, ahead_rows: usize) -> Option<Step<S>> {
        let is_idle = self.ready.is_empty() && self.working == 0;
        // Before more is read: the rows of all that is below these directories wait for them.
        if is_idle && let Some(job) = self.later.pop() {
            return Some(self.begin(job));
        }
        let few = self.ready_rows < ahead_rows || self.ready.is_empty();
        let room = self.table.early_bytes() < EARLY_BYTES_MAX || is_idle;
        if few
            && room
            && let Some(source) = self.source.take()
        {
            return Some(Step::Read(source));
        }
        let job = self.ready.pop()?;
        self.ready_rows -= job.rows();
        Some(self.begin(job))
    }

    fn begin(&self, mut job: Job) -> Step<S> {
        if let Job::Directory(Fate::Here(live), _) = &mut job {
            live.begun = self.ended;
        }
        Step::Work(job)
    }

    /// Puts a directory off that could not be opened for want of descriptors, or returns it if nothing else of the comparison was open.
    /// Parents that are open only because directories below them wait are closed at once.
    fn put_off<'t>(&mut self, mut job: Job, tree: impl Fn(u32) -> Option<&'t Arc<Dir>>) -> Option<Job> {
        let ready = self.ready.iter_mut().chain([&mut job]).filter_map(|job| match job {
            Job::Directory(Fate::Here(live), _) => Some(live),
            Job::Directory(..) | Job::Names(..) => None,
        });
        let mut closed = 0;
        for live in self.table.waiting().chain(ready) {
            closed += usize::from(tree(live.root).is_some_and(|root| live.close_parent(root)));
        }
        if closed > 0 {
            self.push(job);
            return None;
        }
        // No other step has ended since this one began, and none goes on.
        let was_alone = matches!(&job, Job::Directory(Fate::Here(live), _) if live.begun == self.ended);
        if was_alone && self.working == 1 && self.ready.is_empty() {
            return Some(job);
        }
        self.later.push(job);
        None
    }
}

/// Lives on the stack of [`compare`], and the threads borrow it. `changed` is signalled whenever a job may
/// have become ready or the comparison may be over. `root_devices` is set once, by the thread that meets the
/// root, before any directory below is found, so that threads may read it without a lock. `volumes` is
/// written rarely: when a device number is seen first.
struct Shared<'a, S> {
    comparing: &'a Comparing<'a>,
    keep: Option<&'a Keeping>,
    /// By root: `true` if unchanged directories need no listing.
    may_skip: Vec<bool>,
    /// In the inventory, and now.
    root_devices: Vec<OnceLock<(Option<u64>, Option<u64>)>>,
    volumes: RwLock<Volumes>,
    state: Mutex<State<S>>,
    changed: Condvar,
}

/// Fails with [`ErrorKind::BadOption`] for a root that was not scanned.
///
/// The roots are the first directories in the table; their rows come from the source, and everything below
/// follows from the two. The caller's thread is one of the workers, so one thread means no other at all.
/// Errors of single entries are part of the result. An error of the inventory or of a root ends the
/// comparison: the first one is kept in the state, each thread stops at its next step, and the result of the
/// others is dropped.
pub(crate) fn compare<S: Source>(
    comparing: &Comparing<'_>,
    keep: Option<&Keeping>,
    source: S,
) -> Result<Found> {
    let may_skip = comparing
        .trees
        .iter()
        .map(|tree| comparing.options.skip_unchanged && tree.as_ref().is_some_and(skips));
    let mut table = Table::new();
    for (root, tree) in comparing.trees.iter().enumerate() {
        let here = |at, facts| Fate::Here(Box::new(Live::root(root as u32, at, facts)));
        let fate = match (tree, comparing.now) {
            (Some(tree), _) => here(At::Open(Arc::clone(&tree.directory)), tree.facts),
            (None, Some(_)) => here(At::Recorded(None), Facts::NOTHING),
            (None, None) => Fate::Unread,
        };
        let waits = table.found((root as u32, TreePath::root()), fate).is_none();
        debug_assert!(waits, "nothing has been read yet");
    }
    let state = State {
        table,
        ready: Vec::new(),
        ready_rows: 0,
        later: Vec::new(),
        source: Some(source),
        working: 0,
        ended: 0,
        failed: None,
    };
    let root_devices = comparing.trees.iter().map(|_| OnceLock::new()).collect();
    let (may_skip, state) = (may_skip.collect(), Mutex::new(state));
    let is_translatable = comparing.now.is_none_or(|now| now.volumes.is_some());
    let volumes = if is_translatable { Volumes::new(comparing.metadata) } else { Volumes::default() };
    let volumes = RwLock::new(volumes);
    let shared = Shared { comparing, keep, may_skip, root_devices, volumes, state, changed: Condvar::new() };
    let mut found = Found::default();
    let ended: Result<()> = std::thread::scope(|scope| {
        let shared = &shared;
        let mut threads = Vec::new();
        for index in 1..comparing.options.threads {
            let worker = Worker::new(shared)?;
            let named = std::thread::Builder::new().name(format!("megadir-changes-{index}"));
            // If the system refuses a thread, the others and the caller's compare its part.
            let Ok(thread) = named.spawn_scoped(scope, move || worker.run()) else { break };
            threads.push(thread);
        }
        found.append(Worker::new(shared)?.run());
        for thread in threads {
            found.append(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        Ok(())
    });
    if let Some(error) = shared.lock().failed.take() {
        return Err(error);
    }
    found.volumes = shared.volumes.into_inner().unwrap_or_else(PoisonError::into_inner);
    ended.map(|()| found)
}

/// A directory's times change with every name, and examining names one by one is cheaper than listing.
fn skips(tree: &Tree) -> bool {
    // 9p has the number of the host's file system, and its clock.
    let is_own = matches!(tree.traits.clock, Clock::Own { .. });
    let file_system = tree.directory.file_system();
    is_own
        && matches!(file_system, FileSystem::Ext4 | FileSystem::Xfs | FileSystem::Btrfs | FileSystem::Tmpfs)
}

/// Next step of a thread, decided under the lock and done without it: a step owns all that it needs.
enum Step<S> {
    Work(Job),
    Read(S),
    Done,
}

impl<S: Source> Shared<'_, S> {
    fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, error: Error) {
        self.lock().failed.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Waits while others may add work. `worked`: the previous step is done.
    fn next(&self, worked: bool) -> Step<S> {
        let mut state = self.lock();
        state.working -= usize::from(worked);
        state.ended += u64::from(worked);
        loop {
            if self.comparing.watch.stop.load(Ordering::Relaxed) {
                state.failed.get_or_insert(interrupted("compare"));
            }
            if state.failed.is_some() {
                self.changed.notify_all();
                return Step::Done;
            }
            if let Some(step) = state.step(AHEAD_ROWS * (self.comparing.options.threads - 1)) {
                state.working += 1;
                return step;
            }
            if state.working == 0 {
                self.changed.notify_all();
                return Step::Done;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// As [`State::put_off`].
    fn put_off(&self, job: Job) -> Option<Job> {
        self.lock().put_off(job, |root| self.tree(root).map(|tree| &tree.directory))
    }

    /// The source is taken out of the state while it is read, so that the lock is free and only one thread
    /// reads. `position` is the place of the next block: every directory before it that still waits has no
    /// rows, and is ready without any.
    fn read(&self, mut source: S) {
        let (mut blocks, mut rows, mut ended) = (Vec::new(), 0, false);
        while rows < READ_ROWS {
            match source.next_block() {
                Ok(Some(block)) => {
                    rows += block.rows() + 1 + block.before.path.len() / ROW_BYTES;
                    blocks.push(block);
                }
                Ok(None) => {
                    ended = true;
                    break;
                }
                Err(error) => return self.fail(error),
            }
        }
        let position = if ended { None } else { source.position() };
        ended |= position.is_none();
        let mut state = self.lock();
        for block in blocks {
            if let Some(joined) = state.table.read(block) {
                self.ready(&mut state, joined);
            }
        }
        for joined in state.table.passed(position) {
            self.ready(&mut state, joined);
        }
        state.source = (!ended).then_some(source);
        drop(state);
        self.changed.notify_all();
    }

    /// All children of a step under one lock. A new directory needs no rows, so it does not wait for the
    /// source to pass its place, except if the newer side is an inventory too: there its rows come from the
    /// source.
    fn found(&self, children: &mut Vec<(Place, Fate<Box<Live>>)>) {
        if children.is_empty() {
            return;
        }
        let mut state = self.lock();
        for (place, fate) in children.drain(..) {
            let joined = match fate {
                Fate::Here(live) if live.old.is_none() && self.comparing.now.is_none() => {
                    Some((place, Fate::Here(live), None))
                }
                fate => state.table.found(place, fate),
            };
            if let Some(joined) = joined {
                self.ready(&mut state, joined);
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    fn ready(&self, state: &mut State<S>, (place, fate, rows): Joined<Box<Live>>) {
        let rows = match (&fate, rows) {
            (_, Some(rows)) => rows,
            (Fate::Here(_), None) => {
                let started_ns = self.comparing.metadata.started_ns;
                Both::before(Arc::new(Block::empty(place.0, place.1, started_ns)))
            }
            (Fate::Missing | Fate::Unread, None) => return,
        };
        state.push(Job::Directory(fate, rows));
    }

    fn share(&self, task: &Arc<Task>, ranges: impl Iterator<Item = std::ops::Range<usize>>) {
        let mut state = self.lock();
        ranges.for_each(|range| state.push(Job::Names(Arc::clone(task), range)));
        drop(state);
        self.changed.notify_all();
    }

    fn tree(&self, root: u32) -> Option<&Tree> {
        self.comparing.trees.get(root as usize)?.as_ref()
    }

    #[inline]
    fn proof(&self, root: u32, facts: &Facts) -> Proof {
        self.comparing.proofs.of(root, facts)
    }

    fn devices(&self, root: u32) -> (Option<u64>, Option<u64>) {
        let now = self.tree(root).and_then(|tree| tree.facts.device);
        self.root_devices[root as usize].get().copied().unwrap_or((now, now))
    }

    fn recorded_volume(&self, device: u64) -> Option<Id> {
        let volumes = self.comparing.now?.volumes.as_ref()?;
        volumes.iter().find(|volume| volume.device == device).map(Id::of)
    }

    fn shown(&self, root: u32, path: &TreePath) -> PathBuf {
        let roots = &self.comparing.now.unwrap_or(self.comparing.metadata).roots;
        let mut shown = roots.get(root as usize).map_or_else(Vec::new, |root| root.path.clone());
        if !path.is_empty() {
            shown.push(b'/');
            path.push_to(&mut shown);
        }
        PathBuf::from(names::to_os(&shown).unwrap_or_default().into_owned())
    }

    fn racy(&self, block: &Block) -> Racy {
        let metadata = self.comparing.metadata;
        if !metadata.scanned.cross_mounts {
            return Racy::of_root(metadata, block.root, block.examined_ns);
        }
        // A mount point among the rows is a directory.
        let is_directory = |row: &usize| block.kind(*row) == FileType::Directory;
        let file = (0..block.len()).find(|row| !is_directory(row));
        let device = file.and_then(|row| block.facts(row).device);
        Racy::of_device(metadata, block.root, device, block.examined_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::directory::{At, Live};
    use super::{AHEAD_ROWS, EARLY_BYTES_MAX, Job, State, Step};
    use crate::block::{Block, BlockBuilder};
    use crate::changes::engine::table::{Fate, Table};
    use crate::changes::source::Both;
    use crate::row::Facts;
    use megadir::Dir;
    use std::sync::Arc;

    fn rows() -> Both {
        Both::before(Arc::new(Block::empty(0, b"later".into(), 0)))
    }

    fn state() -> State<()> {
        State {
            table: Table::new(),
            ready: Vec::new(),
            ready_rows: 0,
            later: Vec::new(),
            source: Some(()),
            working: 0,
            ended: 0,
            failed: None,
        }
    }

    fn live(at: At) -> Fate<Box<Live>> {
        Fate::Here(Box::new(Live { path: b"later".into(), ..Live::root(0, at, Facts::NOTHING) }))
    }

    #[test]
    fn directories_that_were_put_off_are_opened_before_more_rows_are_read() {
        let mut state = state();
        state.later.push(Job::Directory(Fate::Unread, rows()));
        state.working = 1;
        assert!(matches!(state.step(AHEAD_ROWS), Some(Step::Read(()))), "others are open");
        (state.working, state.source) = (0, Some(()));
        assert!(matches!(state.step(AHEAD_ROWS), Some(Step::Work(_))));
        assert!(matches!(state.step(AHEAD_ROWS), Some(Step::Read(()))));
        assert!(state.step(AHEAD_ROWS).is_none());
    }

    #[test]
    fn a_directory_that_cannot_be_opened_closes_the_parents_of_all_that_wait() {
        let scratch = tempfile::tempdir().unwrap();
        let [root, parent] = [(), ()].map(|()| Arc::new(Dir::open(scratch.path()).unwrap()));
        let below = || live(At::Below(Arc::clone(&parent), b"later"[..].into()));
        let tree = |_| Some(&root);
        let mut state = state();
        assert!(state.table.found((0, b"waits".into()), below()).is_none());
        state.push(Job::Directory(below(), rows()));
        state.working = 1;
        assert!(state.put_off(Job::Directory(below(), rows()), tree).is_none());
        assert_eq!(Arc::strong_count(&parent), 1);
        assert_eq!((state.ready.len(), state.later.len()), (2, 0), "it is tried again at once");
        // Nothing is left to be closed: it waits for the other one, and is the only one then.
        let job = state.ready.pop().unwrap();
        assert!(state.put_off(job, tree).is_none());
        assert_eq!((state.ready.len(), state.later.len()), (1, 1));
        state.ready.clear();
        let job = state.later.pop().unwrap();
        state.ended = 1;
        assert!(state.put_off(job, tree).is_none(), "another one was open meanwhile");
        state.working = 0;
        let Some(Step::Work(job)) = state.step(0) else { unreachable!("it was put off") };
        state.working = 1;
        assert!(state.put_off(job, tree).is_some(), "nothing else is open");
    }

    #[test]
    fn rows_whose_directories_are_not_found_take_bounded_memory() {
        let mut state = state();
        (state.source, state.working) = (Some(()), 1);
        let mut blocks = 0;
        while let Some(Step::Read(())) = state.step(AHEAD_ROWS) {
            let mut block = BlockBuilder::new(0, format!("{blocks:06}").into_bytes()[..].into(), 0);
            for name in 0..10_000 {
                block.add(format!("{name:0255}").as_bytes(), &Facts::NOTHING, None).unwrap();
            }
            assert!(state.table.read(Both::before(Arc::new(block.build()))).is_none());
            state.source = Some(());
            blocks += 1;
        }
        assert_eq!(blocks, EARLY_BYTES_MAX.div_ceil(10_000 * (255 + 64)));
        state.working = 0;
        assert!(matches!(state.step(AHEAD_ROWS), Some(Step::Read(()))), "no other thread will find them");
    }
}
