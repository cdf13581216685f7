//! Reads a tree: each thread counts the entries that it reads and sends events to the caller's thread.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, unbounded};

use super::{Item, Subtree, Tally, Usage};
use crate::attributes::Attributes;
use crate::batch::Batch;
use crate::dir::Dir;
use crate::error::{Error, Result};
use crate::tree_path::TreePath;
use crate::walk::{Walk, WalkItem, WalkOptions, WalkPart};

/// Between progress events.
const LOOK: Duration = Duration::from_millis(20);

/// Progress of a running [`read`].
#[derive(Debug)]
pub enum UsageEvent<'a> {
    /// Number of entries read so far.
    Read(u64),
    /// A directory could not be opened or listed completely.
    Failed(&'a Error),
    /// Entries of a directory could not be examined.
    Unexamined {
        /// The directory.
        directory: &'a Path,
        /// Name of the first.
        first: &'a [u8],
        /// Its errno.
        errno: i32,
        /// Their number in the batch.
        count: u64,
    },
    /// A directory on another mount, not entered.
    OtherMount(&'a Path),
}

enum Message {
    Failed(Error),
    Unexamined { directory: PathBuf, first: Vec<u8>, errno: i32, count: u64 },
    OtherMount(PathBuf),
}

#[derive(Default)]
struct Progress {
    read: AtomicU64,
    stop: AtomicBool,
}

struct Reader<'r> {
    part: WalkPart<Subtree>,
    tally: Tally,
    progress: &'r Progress,
    messages: Sender<Message>,
    /// Could not be opened or read completely.
    failed: HashSet<PathBuf>,
}

/// Reads the tree below a directory by [`WalkOptions::threads`] threads, including other mounts if the options request
/// it. The options need an examiner for [`Item::WANT`]. Breaks if `watch` requested a stop.
///
/// ```
/// use megadir::usage::{By, Item, Usage, UsageOptions, read};
/// use megadir::{Dir, EXAMINERS, WalkOptions};
/// use std::ops::ControlFlow;
///
/// let mut usage = Usage::new(UsageOptions { top: 5, depth: None, by: By::Entries, now_s: 1_800_000_000 });
/// let options = WalkOptions { examine: Some((EXAMINERS[0], Item::WANT)), ..WalkOptions::new(2) };
/// let _ = read(&mut usage, Dir::open("src")?, options, &mut |_| ControlFlow::Continue(()))?;
/// let report = usage.finish();
/// println!("{} entries", report.total.amount.entries);
/// for directory in &report.directories {
///     println!("{} in {}", directory.sum.amount.entries, directory.path);
/// }
/// # assert!(report.directories.len() == 5);
/// # Ok::<(), megadir::Error>(())
/// ```
///
/// # Errors
///
/// As [`Walk::new`].
pub fn read(
    usage: &mut Usage,
    root: Dir,
    options: WalkOptions,
    watch: &mut dyn FnMut(UsageEvent<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let options = WalkOptions { tell_ends: true, ..options };
    let path = root.path().to_owned();
    let subtree = usage.root(path.clone());
    let parts = Walk::parts_with(root, subtree, &options)?;
    let progress = Progress::default();
    let (sender, messages) = unbounded();
    let readers = parts.into_iter().map(|part| {
        let (tally, messages) = (usage.tally(), sender.clone());
        Reader { part, tally, progress: &progress, messages, failed: HashSet::new() }
    });
    let readers: Vec<Reader<'_>> = readers.collect();
    drop(sender);
    let mut flow = ControlFlow::Continue(());
    let tallies = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (index, reader) in readers.into_iter().enumerate() {
            let named = std::thread::Builder::new().name(format!("megadir-usage-{index}"));
            // Dropping the unstarted readers ends the walk for the others.
            threads.push(named.spawn_scoped(scope, move || reader.run())?);
        }
        loop {
            let next = messages.recv_timeout(LOOK);
            if let (Ok(message), ControlFlow::Continue(())) = (&next, flow) {
                flow = watch(message.event());
            }
            if flow.is_continue() {
                flow = watch(UsageEvent::Read(progress.read.load(Ordering::Relaxed)));
            }
            progress.stop.fetch_or(flow.is_break(), Ordering::Relaxed);
            if matches!(next, Err(RecvTimeoutError::Disconnected)) {
                break;
            }
        }
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok(ended.collect::<Vec<Tally>>())
    });
    let tallies = tallies.map_err(|error| Error::io("start a thread to read", &path, error))?;
    tallies.iter().for_each(|tally| usage.merge(tally));
    Ok(flow)
}

impl Message {
    fn event(&self) -> UsageEvent<'_> {
        match self {
            Self::Failed(error) => UsageEvent::Failed(error),
            Self::OtherMount(path) => UsageEvent::OtherMount(path),
            Self::Unexamined { directory, first, errno, count } => {
                UsageEvent::Unexamined { directory, first, errno: *errno, count: *count }
            }
        }
    }
}

impl Reader<'_> {
    /// Or until cancelled.
    fn run(mut self) -> Tally {
        while !self.progress.stop.load(Ordering::Relaxed) {
            let Some((item, subtree)) = self.part.next_with_context() else { break };
            let message = match (item, subtree) {
                (WalkItem::Batch { directory, batch, attributes }, Some(subtree)) => {
                    let counted = count(&mut self.tally, (subtree, directory.below()), batch, attributes);
                    self.progress.read.fetch_add(counted.entries, Ordering::Relaxed);
                    counted.first_unexamined.map(|(first, errno)| {
                        let (directory, count) = (directory.to_path_buf(), counted.unexamined);
                        Message::Unexamined { directory, first, errno, count }
                    })
                }
                (WalkItem::End { directory }, Some(subtree)) => {
                    if self.failed.is_empty() || !self.failed.remove(&**directory) {
                        self.tally.end(subtree);
                    }
                    None
                }
                (WalkItem::Error(error), _) => {
                    self.failed.insert(error.path().to_owned());
                    Some(Message::Failed(error))
                }
                (WalkItem::OtherMount(path), _) => Some(Message::OtherMount(path)),
                _ => None,
            };
            if let Some(message) = message {
                // The receiver lives until all threads have ended.
                let _ = self.messages.send(message);
            }
        }
        self.tally
    }
}

#[derive(Default)]
struct Counted {
    entries: u64,
    unexamined: u64,
    first_unexamined: Option<(Vec<u8>, i32)>,
}

fn count(
    tally: &mut Tally,
    directory: (&Subtree, &TreePath),
    batch: Batch<'_>,
    attributes: &[Attributes],
) -> Counted {
    let mut counted = Counted::default();
    for (entry, attributes) in batch.entries().zip(attributes) {
        if attributes.has_vanished() {
            continue;
        }
        if attributes.error != 0 {
            counted.unexamined += 1;
            counted.first_unexamined.get_or_insert_with(|| (entry.name.to_vec(), attributes.error));
        }
        tally.add(directory, &Item::new(&entry, attributes));
        counted.entries += 1;
    }
    tally.flush(directory.0);
    counted
}
