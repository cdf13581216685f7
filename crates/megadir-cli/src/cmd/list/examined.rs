//! Listing with attributes: conditions, long lines, and sorting that can spill to disk.

use std::collections::BinaryHeap;
use std::io;

use megadir::{Attributes, DirPath, Entry, StatMask, Time};
use megadir_inventory::Sorter;

use super::Stop;
use super::args::{Args, Sort};
use super::lines::{Label, Lines};
use super::long::Long;
use crate::exit::{CliError, NOTHING_RAN, SOME_FAILED};
use crate::ui::message::{quoted, reason, unexamined};
use crate::ui::output::{Ended, Output};

pub(in crate::cmd) const MEMORY_BYTES: usize = 256 << 20;

pub(super) struct Examined {
    lines: Lines,
    long: Option<Long>,
    sorting: Option<Sorting>,
    /// For sorting by inode: listings return other numbers.
    pub(super) queries_inodes: bool,
}

/// `store` holds pairs of a key, which sorts by its bytes, and a packed line. `key` and `item` are buffers that every
/// entry uses again, so that an entry takes no allocation of its own before it is stored.
struct Sorting {
    sort: Sort,
    reverse: bool,
    store: Store,
    key: Vec<u8>,
    item: Vec<u8>,
}

enum Store {
    All(Sorter),
    Best { count: usize, heap: BinaryHeap<(Vec<u8>, Vec<u8>)> },
}

impl Store {
    fn new(args: &Args) -> Self {
        match args.limit.map(usize::try_from) {
            Some(Ok(count)) if args.keeps_best() => Self::Best { count, heap: BinaryHeap::new() },
            _ => Self::All(Sorter::new(args.memory.unwrap_or(MEMORY_BYTES), std::env::temp_dir())),
        }
    }

    fn takes(&self, key: &[u8]) -> bool {
        match self {
            Self::Best { count, heap } => {
                heap.len() < *count || heap.peek().is_some_and(|(last, _)| key < &last[..])
            }
            Self::All(_) => true,
        }
    }

    fn add(&mut self, key: &[u8], item: &[u8]) -> io::Result<()> {
        match self {
            Self::All(sorter) => sorter.add(key, item),
            Self::Best { count, heap } => {
                if heap.len() == *count {
                    heap.pop();
                }
                heap.push((key.to_vec(), item.to_vec()));
                Ok(())
            }
        }
    }
}

pub(super) struct Complaint {
    pub(super) directory: DirPath,
    first: Vec<u8>,
    reason: String,
    pub(super) count: u64,
}

impl Examined {
    pub(super) fn new(args: &Args, lines: Lines, is_terminal: bool, queries_inodes: bool) -> Self {
        let sorting = (args.sort != Sort::None).then(|| {
            let (sort, reverse, store) = (args.sort, args.reverse, Store::new(args));
            Sorting { sort, reverse, store, key: Vec::new(), item: Vec::new() }
        });
        Self { lines, long: Long::new(args, lines, is_terminal), sorting, queries_inodes }
    }

    pub(super) fn want(&self) -> StatMask {
        let for_sorting = self.sorting.as_ref().map_or(StatMask::NOTHING, |sorting| sorting.sort.want());
        let inodes = if self.queries_inodes { StatMask::INODE } else { StatMask::NOTHING };
        for_sorting | inodes | self.long.as_ref().map_or(StatMask::NOTHING, Long::want)
    }

    /// `true` if a line was appended, `false` if it is held back for sorting.
    ///
    /// Without `--sort` the line is appended at once. Otherwise the key decides first: with a limit, most entries of
    /// a large directory are not among the best, and their lines are never made. Lines are stored packed, without
    /// widths, because columns are aligned only when all are known.
    pub(super) fn add(
        &mut self,
        label: &Label,
        entry: &Entry<'_>,
        row: &Attributes,
        text: &mut Vec<u8>,
    ) -> Result<bool, Stop> {
        let Some(sorting) = &mut self.sorting else {
            match &mut self.long {
                Some(long) => long.line(text, label, entry, row),
                None => self.lines.entry(text, label, entry),
            }
            return Ok(true);
        };
        sorting.key.clear();
        key(&mut sorting.key, sorting.sort, label, entry, row);
        if sorting.reverse {
            reverse(&mut sorting.key);
        }
        if !sorting.store.takes(&sorting.key) {
            return Ok(false);
        }
        sorting.item.clear();
        match &mut self.long {
            Some(long) => long.pack(&mut sorting.item, label, entry, row),
            None => self.lines.entry(&mut sorting.item, label, entry),
        }
        sorting.store.add(&sorting.key, &sorting.item).map_err(|error| {
            // The entries in memory are not a meaningful listing.
            Stop::Output(Ended::Other(failed_to_spill(&error, "nothing was listed", NOTHING_RAN)))
        })?;
        Ok(false)
    }

    pub(super) fn finish(mut self, output: &mut Output, limit: u64) -> Result<(), Ended> {
        let Some(sorting) = self.sorting.take() else { return Ok(()) };
        let sorter = match sorting.store {
            Store::All(sorter) => sorter,
            Store::Best { heap, .. } => {
                let best = heap.into_sorted_vec();
                if let Some(long) = &mut self.long {
                    long.fit(best.iter().map(|(_, item)| &item[..]));
                }
                return best.iter().try_for_each(|(_, item)| write(self.long.as_ref(), item, output));
            }
        };
        let mut left = limit;
        sorter.finish(
            |error| Ended::Other(failed_to_spill(&error, "the output is not complete", SOME_FAILED)),
            |_, item| {
                if left == 0 {
                    return Ok(false);
                }
                left -= 1;
                write(self.long.as_ref(), item, output).map(|()| true)
            },
        )
    }
}

fn write(long: Option<&Long>, item: &[u8], output: &mut Output) -> Result<(), Ended> {
    match long {
        Some(long) => long.unpack(&mut output.text, item),
        None => output.text.extend_from_slice(item),
    }
    output.made()
}

fn key(key: &mut Vec<u8>, sort: Sort, label: &Label, entry: &Entry<'_>, row: &Attributes) {
    if sort.want() != StatMask::NOTHING {
        key.push(u8::from(!row.have.contains(sort.want())));
    }
    match sort {
        Sort::None | Sort::Name => {}
        Sort::Inode if row.have.contains(StatMask::INODE) => key.extend_from_slice(&row.inode.to_be_bytes()),
        Sort::Inode => key.extend_from_slice(&entry.inode.to_be_bytes()),
        Sort::Size => key.extend_from_slice(&(!row.size_bytes).to_be_bytes()),
        Sort::Allocated => key.extend_from_slice(&(!row.allocated_bytes).to_be_bytes()),
        Sort::Mtime => newest_first(key, row.modified),
        Sort::Atime => newest_first(key, row.accessed),
    }
    key.extend_from_slice(label.prefix());
    key.extend_from_slice(entry.name);
}

fn newest_first(key: &mut Vec<u8>, time: Time) {
    let seconds = (time.seconds as u64) ^ (1 << 63);
    key.extend_from_slice(&(!seconds).to_be_bytes());
    key.extend_from_slice(&(!time.nanoseconds).to_be_bytes());
}

/// No name has a NUL: its inverse ends a key after all longer ones that begin alike.
fn reverse(key: &mut Vec<u8>) {
    key.iter_mut().for_each(|byte| *byte = !*byte);
    key.push(!0);
}

fn failed_to_spill(error: &io::Error, left: &str, code: u8) -> CliError {
    let directory = quoted(&std::env::temp_dir());
    let reason = reason(error);
    let variable = if cfg!(windows) { "TMP" } else { "TMPDIR" };
    let message = format!(
        "sort in temporary files in {directory}: {reason}; {left}: give more --memory, or another {variable}"
    );
    CliError { message, code }
}

impl Complaint {
    pub(super) fn new(directory: &DirPath, first: &[u8], errno: i32) -> Self {
        let reason = reason(&io::Error::from_raw_os_error(errno));
        Self { directory: directory.clone(), first: first.to_vec(), reason, count: 0 }
    }

    pub(super) fn kind(&self) -> String {
        format!("examine: {}", self.reason)
    }

    pub(super) fn error(&self) -> CliError {
        let message = unexamined(&self.directory, &self.first, self.count, &self.reason);
        CliError { message, code: SOME_FAILED }
    }
}
