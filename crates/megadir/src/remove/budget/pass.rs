//! State of a pass over the tree, and the attributes that it reads.

use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use super::began::last_sign;
use super::directories_seen::DirectoriesSeen;
use super::linked::LinkedFiles;
use super::ranges::{Amount, Key, Ranges};
use super::units_seen::UnitsSeen;
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
    .union(StatMask::DEVICE)
    .union(StatMask::CHANGED);

/// Purpose of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To count what the tree holds, and to order it.
    First,
    /// To order keys from the first to the last, both included.
    Within(Key, Key),
    /// To count what the tree holds.
    Count,
}

/// State of a pass, shared by its threads.
#[derive(Debug)]
pub(super) struct Scan {
    /// Exclusions alone: what other conditions protect, a greatest depth as well, counts.
    pub(super) sight: Arc<Conditions>,
    /// Those of files, or of units if these are directories.
    pub(super) conditions: Arc<Conditions>,
    pub(super) by_directory: bool,
    /// Start of the run. What has this time or a later one stays.
    pub(super) began: Time,
    pub(super) purpose: Purpose,
    /// Most files with several names that all units together remember.
    pub(super) linked_max: usize,
    pub(super) linked_held: AtomicUsize,
    pub(super) ranges: Mutex<Ranges>,
    pub(super) linked: Arc<Mutex<LinkedFiles>>,
    pub(super) units: Arc<Mutex<UnitsSeen>>,
    /// In the first pass.
    pub(super) directories: Option<Arc<Mutex<DirectoriesSeen>>>,
    pub(super) holds: Mutex<Amount>,
}

impl Scan {
    pub(super) fn counts(&self) -> bool {
        !matches!(self.purpose, Purpose::Within(..))
    }

    pub(super) fn is_within(&self, time: Time, path: &[u8]) -> bool {
        time < self.began
            && match &self.purpose {
                Purpose::First => true,
                Purpose::Within(first, last) => {
                    first.cmp_to(time, path).is_le() && last.cmp_to(time, path).is_ge()
                }
                Purpose::Count => false,
            }
    }

    /// `false` without a look at the path.
    pub(super) fn may_be_within(&self, time: Time) -> bool {
        time < self.began
            && match &self.purpose {
                Purpose::First => true,
                Purpose::Within(first, last) => (first.time..=last.time).contains(&time),
                Purpose::Count => false,
            }
    }

    /// The time that orders an entry.
    pub(super) fn time(&self, row: &Attributes) -> Time {
        last_sign(self.conditions.by, self.began, row)
    }
}

/// `by` and the conditions decide which attributes are read.
pub(super) fn want(conditions: &Conditions) -> StatMask {
    WANT | conditions.by.want() | conditions.want()
}

/// `sight` limits what is read, and its time and that of the conditions is the same.
pub(super) fn walk_options(
    directory: &Dir,
    sight: &Arc<Conditions>,
    conditions: &Conditions,
) -> Result<WalkOptions> {
    let want = want(conditions);
    let stat_backend = attribute_policy::stat_backend(directory, want, None)?;
    Ok(WalkOptions {
        examine: Some((stat_backend, want)),
        conditions: Some(Arc::clone(sight)),
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

    pub(super) fn first(&self) -> Option<(&[u8], i32)> {
        self.first.as_ref().map(|(name, errno)| (name.as_slice(), *errno))
    }
}
