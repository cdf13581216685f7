//! Decides about each name after the exchange, as the table of the module has it.

use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;

use super::pairs::{Inode, Sets, inode, move_to, names};
use super::watch::{Changed, Watch};
use crate::error::Result;

/// Programs that change the same name over and over are met again by the next pass.
const TRIES: u32 = 3;

/// Names that stay in the old directory, with an error or as conflicts.
pub(super) type Stay = Vec<(Box<[u8]>, Option<Errno>)>;

#[derive(Debug, PartialEq, Eq)]
enum Settled {
    /// Nothing to bring to the new directory.
    Done,
    Followed,
    Conflict,
}

pub(super) struct Settler<'a> {
    sets: &'a Sets,
    /// Changes that were brought to the new directory.
    pub(super) followed: u64,
}

impl<'a> Settler<'a> {
    pub(super) fn new(sets: &'a Sets) -> Self {
        Self { sets, followed: 0 }
    }

    /// Names that have just changed; all others stay.
    pub(super) fn first(&mut self, watch: Option<&Watch>) {
        let Some(Changed::Names(changed)) = watch.map(Watch::changed) else { return };
        // A name that is missing may have been renamed to one that is there: that one comes first.
        let is_there = |name: &[u8]| inode(&self.sets.old, name).is_some();
        let (present, missing): (Vec<_>, Vec<_>) = changed.into_iter().partition(|name| is_there(name));
        for name in present.into_iter().chain(missing) {
            // A failure is met again by the pass over all names.
            drop(self.settle(&name, true));
        }
    }

    /// Settles all names, or only those that changed; returns those that stay. New
    /// names come before missing ones, so that a renamed file has a path.
    pub(super) fn all(&mut self, only_changed: bool) -> Result<Stay> {
        let (mut stay, sets) = (Vec::new(), self.sets);
        let mut settle = |name: Box<[u8]>| match self.settle(&name, only_changed) {
            Ok(Settled::Done | Settled::Followed) => {}
            Ok(Settled::Conflict) => stay.push((name, None)),
            Err(error) => stay.push((name, Some(error))),
        };
        for name in names(&sets.old)? {
            settle(name);
        }
        for name in names(&sets.base)? {
            if inode(&sets.old, &name).is_none() {
                settle(name);
            }
        }
        Ok(stay)
    }

    #[cfg(test)]
    pub(super) fn settle_name(&mut self, name: &[u8]) {
        drop(self.settle(name, false));
    }

    fn settle(&mut self, name: &[u8], only_changed: bool) -> std::result::Result<Settled, Errno> {
        let settled = self.decide(name, only_changed);
        self.followed += u64::from(settled == Ok(Settled::Followed));
        settled
    }

    fn decide(&self, name: &[u8], only_changed: bool) -> std::result::Result<Settled, Errno> {
        let Sets { old, new, base, taken, .. } = self.sets;
        let Some(expected) = inode(base, name) else { return self.bring(name) };
        match inode(taken, name) {
            Some(found) if found == expected => return self.bring(name),
            Some(_) => return self.place(name, expected),
            None => {}
        }
        match inode(old, name) {
            Some(found) if found == expected && only_changed => return Ok(Settled::Done),
            Some(_) if move_to(old, taken, name)? => {
                return match inode(taken, name) == Some(expected) {
                    true => Ok(Settled::Done),
                    false => self.place(name, expected),
                };
            }
            // Removed in the old directory.
            _ => {}
        }
        if inode(new, name) != Some(expected) || !move_to(new, taken, name)? {
            return Ok(Settled::Done);
        }
        if inode(taken, name) == Some(expected) {
            return Ok(Settled::Followed);
        }
        // Replaced by its path in between.
        self.place(name, expected)
    }

    /// A name of the old directory that is not in `base`, or was settled before.
    fn bring(&self, name: &[u8]) -> std::result::Result<Settled, Errno> {
        let Sets { old, new, .. } = self.sets;
        match move_to(old, new, name) {
            Ok(true) => Ok(Settled::Followed),
            Ok(false) => Ok(Settled::Done),
            Err(Errno::EXIST) => Ok(Settled::Conflict),
            Err(error) => Err(error),
        }
    }

    /// A file in `taken` that is not the one of `base`: it takes the place of that one, or an empty one.
    fn place(&self, name: &[u8], expected: (u64, u64)) -> std::result::Result<Settled, Errno> {
        let Sets { old, new, base, taken, .. } = self.sets;
        for _ in 0..TRIES {
            let there: Inode = inode(new, name);
            if there.is_none() {
                match move_to(taken, new, name) {
                    // Settled: from now on it is as any other name of the new directory.
                    Ok(_) => {
                        rustix::fs::unlinkat(base, name, AtFlags::empty())?;
                        return Ok(Settled::Followed);
                    }
                    Err(Errno::EXIST) => continue,
                    Err(error) => return Err(error),
                }
            }
            if there != Some(expected) {
                break;
            }
            let exchange = || rustix::fs::renameat_with(taken, name, new, name, RenameFlags::EXCHANGE);
            match exchange() {
                Ok(()) if inode(taken, name) == Some(expected) => return Ok(Settled::Followed),
                // Replaced by its path in between, or removed.
                Ok(()) => exchange()?,
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error),
            }
        }
        match move_to(taken, old, name) {
            Ok(_) | Err(Errno::EXIST) => Ok(Settled::Conflict),
            Err(error) => Err(error),
        }
    }
}
