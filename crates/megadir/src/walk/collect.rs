//! Threads that read the parts of a walk, each into what it collects, and send events to the caller's thread.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use super::parts::WalkPart;
use super::{TreeEvent, WalkContext, WalkItem, at_once};
use crate::error::Error;
use crate::threads::{Attempt, Handed, started};

const LOOK: Duration = Duration::from_millis(20);

/// [`TreeEvent`] on its way to the caller's thread.
#[derive(Debug)]
pub enum Message {
    /// [`TreeEvent::Failed`].
    Failed(Error),
    /// [`TreeEvent::Unexamined`].
    Unexamined {
        /// The directory.
        directory: PathBuf,
        /// Name of the first.
        first: Vec<u8>,
        /// Its errno.
        errno: i32,
        /// Their number.
        count: u64,
    },
    /// [`TreeEvent::OtherMount`].
    OtherMount(PathBuf),
}

/// Entries of a batch whose attributes could not be read: their number, and the name and errno of the first.
#[derive(Debug, Default)]
pub(crate) struct Unexamined {
    count: u64,
    first: Option<(Vec<u8>, i32)>,
}

impl Unexamined {
    pub(crate) fn note(&mut self, name: &[u8], errno: i32) {
        self.count += 1;
        self.first.get_or_insert_with(|| (name.to_vec(), errno));
    }

    /// `None` if there are none.
    pub(crate) fn message(self, directory: &Path) -> Option<Message> {
        let (first, errno) = self.first?;
        Some(Message::Unexamined { directory: directory.to_owned(), first, errno, count: self.count })
    }
}

impl Message {
    pub(crate) fn event(&self) -> TreeEvent<'_> {
        match self {
            Self::Failed(error) => TreeEvent::Failed(error),
            Self::OtherMount(path) => TreeEvent::OtherMount(path),
            Self::Unexamined { directory, first, errno, count } => {
                TreeEvent::Unexamined { directory, first, errno: *errno, count: *count }
            }
        }
    }
}

/// Shared by all threads.
#[derive(Debug, Default)]
pub struct Progress {
    /// Number of entries read so far.
    pub read: AtomicU64,
    /// Set to end the threads.
    pub stop: AtomicBool,
}

/// Collects the items of one thread.
pub trait Collect<C>: Send + Sized {
    /// Name of the threads.
    const THREAD: &'static str;

    /// Result of a thread.
    type Collected: Send + 'static;

    /// Creates the collector of another thread.
    fn beside(&self) -> Self;

    /// Adds an item, and its entries to the progress. An error ends all threads.
    fn item(
        &mut self,
        item: WalkItem<'_>,
        context: Option<&C>,
        progress: &Progress,
    ) -> io::Result<Option<Message>>;

    /// Ends after the last item.
    fn end(self) -> io::Result<Self::Collected>;
}

struct Reader<'r, C: WalkContext, T> {
    part: WalkPart<C>,
    collect: T,
    progress: &'r Progress,
    messages: Sender<Message>,
}

type Watch<'w> = dyn FnMut(TreeEvent<'_>) -> ControlFlow<()> + 'w;
type Reading<'s, R> = ScopedJoinHandle<'s, io::Result<Vec<R>>>;

/// Reads the parts of a walk by a thread for each, or in the caller's thread: a single part if it is `alone`, or if the system
/// allows no thread. Breaks if `watch` requested a stop. Errors: as [`Collect`].
pub fn collect<C: WalkContext, T: Collect<C>>(
    parts: Vec<WalkPart<C>>,
    mut begin: impl FnMut() -> T,
    progress: &Progress,
    alone: bool,
    watch: &mut Watch<'_>,
) -> io::Result<(ControlFlow<()>, Vec<T::Collected>)> {
    let (sender, messages) = unbounded();
    let reader = |part| Reader { part, collect: begin(), progress, messages: sender.clone() };
    let mut readers: Vec<Reader<'_, C, T>> = at_once(parts).map(reader).collect();
    drop(sender);
    if alone
        && readers.len() == 1
        && let Some(only) = readers.pop()
    {
        return only.alone(&messages, watch);
    }
    let mut flow = ControlFlow::Continue(());
    let collected = std::thread::scope(|scope| {
        let threads = match started(Attempt::Always, readers.into_iter(), |reader| start(scope, reader)) {
            Ok(threads) => threads,
            // The system allows no thread.
            Err(reader) => {
                let (of_one, collected) = reader.alone(&messages, watch)?;
                flow = of_one;
                return Ok(collected);
            }
        };
        loop {
            let next = messages.recv_timeout(LOOK);
            if let (Ok(message), ControlFlow::Continue(())) = (&next, flow) {
                flow = watch(message.event());
            }
            if flow.is_continue() {
                flow = watch(progress.event());
            }
            progress.stop.fetch_or(flow.is_break(), Ordering::Relaxed);
            if matches!(next, Err(RecvTimeoutError::Disconnected)) {
                break;
            }
        }
        joined(threads)
    })?;
    Ok((flow, collected))
}

impl Progress {
    fn event(&self) -> TreeEvent<'static> {
        TreeEvent::Read(self.read.load(Ordering::Relaxed))
    }
}

fn joined<R>(threads: Vec<Reading<'_, R>>) -> io::Result<Vec<R>> {
    let mut all = Vec::new();
    for thread in threads {
        all.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
    }
    Ok(all)
}

fn start<'s, C: WalkContext + 's, T: Collect<C> + 's>(
    scope: &'s Scope<'s, '_>,
    reader: Handed<Reader<'s, C, T>>,
) -> io::Result<Reading<'s, T::Collected>> {
    let named = std::thread::Builder::new().name(T::THREAD.to_owned());
    named.spawn_scoped(scope, move || reader.take().run(scope))
}

impl<C: WalkContext, T: Collect<C>> Reader<'_, C, T> {
    fn alone(
        mut self,
        messages: &Receiver<Message>,
        watch: &mut Watch<'_>,
    ) -> io::Result<(ControlFlow<()>, Vec<T::Collected>)> {
        let mut flow = ControlFlow::Continue(());
        while self.step()? {
            flow = messages.try_iter().try_for_each(|message| watch(message.event()));
            if flow.is_continue() {
                flow = watch(self.progress.event());
            }
            if flow.is_break() {
                return Ok((flow, Vec::new()));
            }
        }
        Ok((flow, vec![self.collect.end()?]))
    }

    /// Includes what the threads collect that it starts.
    fn run<'s>(mut self, scope: &'s Scope<'s, '_>) -> io::Result<Vec<T::Collected>>
    where
        Self: 's,
    {
        let mut others = Vec::new();
        while !self.progress.stop.load(Ordering::Relaxed) {
            match self.step() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.progress.stop.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
            if let Some(part) = self.part.another() {
                let (collect, messages) = (self.collect.beside(), self.messages.clone());
                // If the system refuses the thread, the others read on.
                let beside = Self { part, collect, messages, progress: self.progress };
                others.extend(
                    started(Attempt::UnlessRefused, std::iter::once(beside), |beside| start(scope, beside))
                        .unwrap_or_default(),
                );
            }
        }
        let Self { part, collect, .. } = self;
        drop(part);
        let own = collect.end()?;
        let mut all = joined(others)?;
        all.push(own);
        Ok(all)
    }

    fn step(&mut self) -> io::Result<bool> {
        let Some((item, context)) = self.part.next_with_context() else { return Ok(false) };
        if let Some(message) = self.collect.item(item, context, self.progress)? {
            let _ = self.messages.send(message);
        }
        Ok(true)
    }
}
