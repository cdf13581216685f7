//! State of a pass over the tree, and the attributes that it reads.

use std::path::Path;
use std::sync::{Arc, Mutex};

use super::linked::LinkedFiles;
use super::ranges::{Amount, Key, Ranges};
use crate::attribute_listing::policy as attribute_policy;
use crate::attributes::{Attributes, StatMask, Time};
use crate::conditions::Conditions;
use crate::dir::Dir;
use crate::error::Result;
use crate::walk::WalkOptions;
use crate::walk::collect::Message;

const WANT: StatMask = StatMask::TYPE
    .union(StatMask::ALLOCATED)
    .union(StatMask::LINKS)
    .union(StatMask::INODE)
    .union(StatMask::DEVICE);

/// State of a pass, shared by its threads.
#[derive(Debug)]
pub(super) struct Scan {
    /// In units of directories, only exclusions.
    pub(super) conditions: Arc<Conditions>,
    /// Conditions on units, if these are directories.
    pub(super) of_units: Option<Arc<Conditions>>,
    /// Most files with several names that one unit remembers.
    pub(super) linked_max: usize,
    /// Keys from the first to the last, both included; `None` in the first pass, which alone counts what the tree holds.
    pub(super) within: Option<(Key, Key)>,
    pub(super) ranges: Mutex<Ranges>,
    pub(super) linked: Arc<Mutex<LinkedFiles>>,
    pub(super) holds: Mutex<Amount>,
}

impl Scan {
    pub(super) fn is_within(&self, time: Time, path: &[u8]) -> bool {
        self.within
            .as_ref()
            .is_none_or(|(first, last)| first.cmp_to(time, path).is_le() && last.cmp_to(time, path).is_ge())
    }

    /// `false` without a look at the path.
    pub(super) fn may_be_within(&self, time: Time) -> bool {
        self.within.as_ref().is_none_or(|(first, last)| (first.time..=last.time).contains(&time))
    }
}

/// `by` and the conditions decide which attributes are read.
pub(super) fn want(conditions: &Conditions) -> StatMask {
    WANT | conditions.by.want() | conditions.want()
}

pub(super) fn walk_options(directory: &Dir, conditions: &Arc<Conditions>) -> Result<WalkOptions> {
    let want = want(conditions);
    let stat_backend = attribute_policy::stat_backend(directory, want, None)?;
    Ok(WalkOptions {
        examine: Some((stat_backend, want)),
        conditions: Some(Arc::clone(conditions)),
        ..WalkOptions::new(1)
    })
}

/// Entries whose attributes could not be read. They stay, and count nothing.
#[derive(Debug, Default)]
pub(super) struct Unread {
    count: u64,
    first: Option<(Vec<u8>, i32)>,
}

impl Unread {
    /// Also of an entry that has vanished, which is no failure.
    pub(super) fn is_unread(&mut self, name: &[u8], row: &Attributes) -> bool {
        if row.error != 0 && !row.has_vanished() {
            self.count += 1;
            self.first.get_or_insert_with(|| (name.to_vec(), row.error));
        }
        row.error != 0
    }

    pub(super) fn message(self, directory: &Path) -> Option<Message> {
        let (first, errno) = self.first?;
        Some(Message::Unexamined { directory: directory.to_owned(), first, errno, count: self.count })
    }

    pub(super) fn errno(&self) -> Option<i32> {
        self.first.as_ref().map(|(_, errno)| *errno)
    }
}
