//! Turns differences at each path into changes: detects renames, drops entries that moved with their directory.
//!
//! Names of one file that moved with a directory pair first, then equal paths, then the rest in path order. Changes can be replayed
//! (docs/inventory.md), so an entry that stayed while its directory was renamed or replaced is a rename to the same path.

mod pairs;

use std::collections::HashSet;

use megadir::FileType;
use megadir::mount_traits::DirectoryRename;

use self::pairs::{Pairs, Side, Sides, unsteady};
use super::fields::{self, Fields};
use super::proof::Proofs;
use super::{Change, ChangeKind};
use crate::path::{Place, TreePath};
use crate::row::Facts;

/// State of an entry on one side. `suspect` is `true` if its times prove nothing about its contents.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) root: u32,
    pub(crate) path: TreePath,
    pub(crate) facts: Facts,
    pub(crate) suspect: bool,
}

/// Differences path by path, as threads have found them, in no order. `settled` are final changes of files
/// that stayed in place. `missing` and `came` are the two halves of removals, additions and renames.
/// `replaced` has another file at the same path, and `stayed` the same file below a directory that is another
/// one. `unread` are directories that could not be listed: entries that are missing there may still exist, and no
/// rename may be concluded from it.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) settled: Vec<Change>,
    pub(crate) missing: Vec<Entry>,
    pub(crate) came: Vec<Entry>,
    pub(crate) replaced: Vec<(Entry, Facts)>,
    pub(crate) stayed: Vec<(Entry, Facts)>,
    pub(crate) unread: HashSet<Place>,
}

impl Seen {
    pub(crate) fn append(&mut self, other: &mut Self) {
        self.settled.append(&mut other.settled);
        self.missing.append(&mut other.missing);
        self.came.append(&mut other.came);
        self.replaced.append(&mut other.replaced);
        self.stayed.append(&mut other.stayed);
        self.unread.extend(other.unread.drain());
    }
}

/// The steps depend on each other in this order:
///
/// ```text
/// replaced directories -> unsteady paths -> which entries stayed only by name -> sides (old, new) -> pairs by identity
///    -> moved along with a directory: no change of its own, unless something else differs
///    -> paired: renamed     -> old without pair: removed     -> new without pair: added, or replaced by
/// ```
///
/// A path is unsteady if another directory is there now. Entries at the same path below it are then not the
/// same by their path alone, and take part in the pairing. The result is sorted by path, removals first, so
/// that changes can be applied in order.
pub(crate) fn settle(seen: Seen, proofs: &Proofs) -> Vec<Change> {
    let Seen { mut settled, missing, came, replaced, stayed, unread } = seen;
    let unsteady = unsteady(&Sides::new((&missing, &came), &replaced, &[], &unread, proofs));
    let is_unsteady = |root: u32, path: &TreePath| unsteady.contains(&(root, path.parent()));
    let (stayed, in_place): (Vec<_>, Vec<_>) =
        stayed.into_iter().partition(|(old, _)| is_unsteady(old.root, &old.path));
    let sides = Sides::new((&missing, &came), &replaced, &stayed, &unread, proofs);
    let pairs = sides.pair();
    let implied: Vec<bool> =
        pairs.targets.iter().enumerate().map(|pair| sides.is_along(pair, &pairs)).collect();
    let stirred = Stirred::new(&sides, &pairs, &implied);
    // The directory was both renamed and compared in place.
    let renamed_in_place: HashSet<Place> =
        stayed.iter().map(|(old, _)| (old.root, old.path.clone())).collect();
    settled.retain(|change| !renamed_in_place.contains(&(change.root, change.path.clone())));
    settled.extend(in_place.iter().filter_map(|(old, new)| changed_in_place(old, new, proofs)));
    let mut lost: HashSet<&Place> = HashSet::new();
    for (index, source) in sides.sources.iter().enumerate() {
        if let Some(target) = pairs.targets[index] {
            let pair = (source, &sides.targets[target]);
            settled.extend(if implied[index] { moved_along(pair, &stirred) } else { Some(renamed(pair)) });
            continue;
        }
        let (above, name) = (&source.above, &source.name);
        let moved = pairs.moved.get(above);
        let is_hidden = lost.contains(above) || moved.is_some_and(|to| hides(&unread, above.0, to, name));
        // Replacing a file is one change, unless its directory was renamed away.
        let is_reported = source.shared.is_none() || moved.is_some_and(|to| *to != above.1);
        if is_hidden {
            lost.insert(&source.place);
        } else if is_reported {
            settled.push(removed(source));
        }
    }
    for (index, target) in sides.targets.iter().enumerate().filter(|(index, _)| !pairs.taken[*index]) {
        let source = target.shared.map(|shared| sides.shared[shared].0);
        debug_assert!(source.is_none_or(|source| sides.sources[source].place == sides.targets[index].place));
        settled.push(match source.filter(|source| pairs.targets[*source].is_none()) {
            Some(source) if !unsteady.contains(&target.above) => replaced_by(&sides.sources[source], target),
            _ => added(target),
        });
    }
    let key = |change: &Change| (change.root, change.kind != ChangeKind::Removed, change.kind);
    settled.sort_unstable_by(|a, b| (a.root, &a.path, key(a)).cmp(&(b.root, &b.path, key(b))));
    settled
}

fn hides(unread: &HashSet<Place>, root: u32, directory: &TreePath, name: &[u8]) -> bool {
    let is_unread = |path: TreePath| unread.contains(&(root, path));
    !unread.is_empty() && (is_unread(directory.clone()) || is_unread(directory.join(name)))
}

/// Directories with added, removed or renamed entries, unless these moved with their directory.
struct Stirred<'a> {
    before: HashSet<&'a Place>,
    after: HashSet<&'a Place>,
}

impl<'a> Stirred<'a> {
    fn new(sides: &'a Sides<'_>, pairs: &Pairs, implied: &[bool]) -> Self {
        let mut along = vec![false; sides.targets.len()];
        for (source, target) in pairs.targets.iter().enumerate() {
            if let Some(target) = target {
                along[*target] = implied[source];
            }
        }
        let before = sides.sources.iter().zip(implied).filter(|(_, implied)| !**implied);
        let after = sides.targets.iter().zip(&along).filter(|(_, along)| !**along);
        Self {
            before: before.map(|(side, _)| &side.above).collect(),
            after: after.map(|(side, _)| &side.above).collect(),
        }
    }
}

fn moved_along((old, new): (&Side<'_>, &Side<'_>), stirred: &Stirred<'_>) -> Option<Change> {
    let same = !stirred.before.contains(&old.place) && !stirred.after.contains(&new.place);
    let mut fields = fields::of_either(old.facts, new.facts, same, new.proof);
    if new.proof.directory_rename == DirectoryRename::RenamesEntries {
        // Renaming the directory renamed every entry below it.
        let renamed = Fields::INODE.with(Fields::CHANGED);
        let is_directory = new.facts.kind == FileType::Directory;
        fields = fields.without(if is_directory { renamed.with(Fields::MODIFIED) } else { renamed });
    }
    let change = Change::of_same(|| new.place.clone(), (old.facts, new.facts), fields, old.suspect)?;
    Some(Change { from: Some(old.place.1.clone()), ..change })
}

fn changed_in_place(old: &Entry, new: &Facts, proofs: &Proofs) -> Option<Change> {
    if new.kind == FileType::Directory {
        return None;
    }
    let fields = fields::of_file(&old.facts, new, proofs.of(old.root, new));
    Change::of_same(|| (old.root, old.path.clone()), (&old.facts, new), fields, old.suspect)
}

fn renamed((old, new): (&Side<'_>, &Side<'_>)) -> Change {
    let fields = fields::of_either(old.facts, new.facts, false, new.proof).without(Fields::CHANGED);
    let from = Some(old.place.1.clone());
    Change { from, fields, suspect: old.suspect, ..change(ChangeKind::Renamed, old, new) }
}

fn replaced_by(old: &Side<'_>, new: &Side<'_>) -> Change {
    let kind = if old.facts.kind == new.facts.kind { ChangeKind::Modified } else { ChangeKind::TypeChanged };
    let fields = fields::of_either(old.facts, new.facts, true, new.proof).with(Fields::INODE);
    Change { fields, ..change(kind, old, new) }
}

fn change(kind: ChangeKind, old: &Side<'_>, new: &Side<'_>) -> Change {
    Change {
        kind,
        root: new.place.0,
        path: new.place.1.clone(),
        from: None,
        old: Some(*old.facts),
        new: Some(*new.facts),
        fields: Fields::NOTHING,
        suspect: kind == ChangeKind::Suspect,
    }
}

fn removed(old: &Side<'_>) -> Change {
    Change { new: None, ..change(ChangeKind::Removed, old, old) }
}

fn added(new: &Side<'_>) -> Change {
    Change { old: None, ..change(ChangeKind::Added, new, new) }
}

#[cfg(test)]
mod tests;
