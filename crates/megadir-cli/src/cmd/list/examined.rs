//! Listing with attributes: conditions, long lines, and sorting that can spill to disk.

use megadir::{Attributes, DirPath, Entry, Want};
use megadir_inventory::Sorter;
use std::io;

use super::Stop;
use super::args::{Args, Sort};
use super::conditions::Conditions;
use super::lines::{Label, Lines};
use super::long::Long;
use crate::exit::{CliError, NOTHING_RAN, SOME_FAILED};
use crate::ui::message::{quoted, reason};
use crate::ui::output::{Ended, Output};

pub(in crate::cmd) const MEMORY_BYTES: usize = 256 << 20;

pub(super) struct Examined {
    conditions: Conditions,
    long: Option<Long>,
    sorting: Option<Sorting>,
}

struct Sorting {
    sort: Sort,
    sorter: Sorter,
    key: Vec<u8>,
    item: Vec<u8>,
}

/// Entries of one directory that could not be examined.
pub(super) struct Complaint {
    directory: DirPath,
    first: Vec<u8>,
    error: i32,
    pub(super) count: u64,
}

impl Examined {
    pub(super) fn new(args: &Args, lines: &Lines, is_terminal: bool) -> Result<Self, CliError> {
        let memory = args.memory.unwrap_or(MEMORY_BYTES);
        let sorting = |sort| {
            let sorter = Sorter::new(memory, std::env::temp_dir());
            Sorting { sort, sorter, key: Vec::new(), item: Vec::new() }
        };
        Ok(Self {
            conditions: Conditions::new(&args.conditions())?,
            long: Long::new(args, lines, is_terminal),
            sorting: (args.sort != Sort::None).then(|| sorting(args.sort)),
        })
    }

    pub(super) fn want(&self) -> Want {
        let for_sorting = match self.sorting.as_ref().map(|sorting| sorting.sort) {
            Some(Sort::Size) => Want::SIZE,
            Some(Sort::Mtime) => Want::MODIFIED,
            _ => Want::NOTHING,
        };
        self.conditions.want() | for_sorting | self.long.as_ref().map_or(Want::NOTHING, Long::want)
    }

    pub(super) fn accepts(&self, row: &Attributes) -> bool {
        self.conditions.accept(row)
    }

    /// Or holds it back for sorting; `true` if a line was appended.
    pub(super) fn add(
        &mut self,
        lines: &Lines,
        label: &Label,
        entry: &Entry<'_>,
        row: &Attributes,
        text: &mut Vec<u8>,
    ) -> Result<bool, Stop> {
        let Some(sorting) = &mut self.sorting else {
            match &mut self.long {
                Some(long) => long.line(text, lines, label, entry, row),
                None => lines.entry(text, label, entry),
            }
            return Ok(true);
        };
        sorting.item.clear();
        match &mut self.long {
            Some(long) => long.pack(&mut sorting.item, lines, label, entry, row),
            None => lines.entry(&mut sorting.item, label, entry),
        }
        sorting.key.clear();
        key(&mut sorting.key, sorting.sort, label, entry, row);
        sorting.sorter.add(&sorting.key, &sorting.item).map_err(|error| {
            // The entries in memory are not a meaningful listing.
            Stop::Output(Ended::Other(failed_to_spill(&error, "nothing was listed", NOTHING_RAN)))
        })?;
        Ok(false)
    }

    /// At most `limit` lines.
    pub(super) fn finish(mut self, lines: &Lines, output: &mut Output, limit: u64) -> Result<(), Ended> {
        let Some(sorting) = self.sorting.take() else { return Ok(()) };
        let mut left = limit;
        sorting.sorter.finish(
            |error| Ended::Other(failed_to_spill(&error, "the output is not complete", SOME_FAILED)),
            |_, item| {
                if left == 0 {
                    return Ok(false);
                }
                left -= 1;
                match &self.long {
                    Some(long) => long.unpack(&mut output.text, lines, item),
                    None => output.text.extend_from_slice(item),
                }
                output.made().map(|()| true)
            },
        )
    }
}

/// Byte-comparable; ties are broken by path.
fn key(key: &mut Vec<u8>, sort: Sort, label: &Label, entry: &Entry<'_>, row: &Attributes) {
    match sort {
        Sort::None | Sort::Name => {}
        Sort::Inode if row.have.contains(Want::INODE) => key.extend_from_slice(&row.inode.to_be_bytes()),
        Sort::Inode => key.extend_from_slice(&entry.inode.to_be_bytes()),
        // Largest and newest first, unknown values last.
        Sort::Size => {
            key.push(u8::from(!row.have.contains(Want::SIZE)));
            key.extend_from_slice(&(!row.size_bytes).to_be_bytes());
        }
        Sort::Mtime => {
            key.push(u8::from(!row.have.contains(Want::MODIFIED)));
            let seconds = (row.modified.seconds as u64) ^ (1 << 63);
            key.extend_from_slice(&(!seconds).to_be_bytes());
            key.extend_from_slice(&(!row.modified.nanoseconds).to_be_bytes());
        }
    }
    key.extend_from_slice(label.prefix());
    key.extend_from_slice(entry.name);
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
    pub(super) fn new(directory: &DirPath, first: &[u8], error: i32) -> Self {
        Self { directory: directory.clone(), first: first.to_vec(), error, count: 0 }
    }

    /// `true` if the complaint is about `directory`.
    pub(super) fn is_about(&self, directory: &DirPath) -> bool {
        self.directory == *directory
    }

    /// Failures of one kind share a limit on messages.
    pub(super) fn kind(&self) -> String {
        format!("examine: {}", self.reason())
    }

    fn reason(&self) -> String {
        reason(&io::Error::from_raw_os_error(self.error))
    }

    pub(super) fn error(&self) -> CliError {
        let directory = &self.directory;
        let first = match megadir::names::to_os(&self.first) {
            Ok(name) => quoted(&directory.join(&*name)),
            Err(_) => quoted(directory),
        };
        let reason = self.reason();
        let others = match self.count - 1 {
            0 => String::new(),
            others => format!(", and {others} more there"),
        };
        CliError { message: format!("examine {first}{others}: {reason}"), code: SOME_FAILED }
    }
}
