//! From what is seen path by path to changes: who was renamed, and what went along with its directory.
//!
//! A file that is gone from one path and has come to another is the same file if its identity is. Where several names of
//! one file are gone and several have come (hard links), those pair that kept their name in a renamed directory, then
//! the rest in the order of their paths. An entry that kept its name in a directory that was renamed went along with it
//! and is told only if it was changed besides.

use std::collections::{HashMap, HashSet};

use super::fields::{self, Fields, Identity};
use super::proof::Proof;
use super::{Change, ChangeKind};
use crate::row::Facts;

/// A path and what was, or is, there.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) root: u32,
    pub(crate) path: Box<[u8]>,
    pub(crate) facts: Facts,
    /// Of what was: its times prove nothing about its contents.
    pub(crate) suspect: bool,
}

/// Everything that differs, path by path.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Changes that need no more looking at.
    pub(crate) settled: Vec<Change>,
    /// Paths at which there is nothing any more.
    pub(crate) gone: Vec<Entry>,
    /// Paths at which there was nothing.
    pub(crate) came: Vec<Entry>,
    /// Paths at which there is another file: what was there, and what is.
    pub(crate) replaced: Vec<(Entry, Facts)>,
}

impl Seen {
    /// Takes what another has seen.
    pub(crate) fn append(&mut self, other: &mut Self) {
        self.settled.append(&mut other.settled);
        self.gone.append(&mut other.gone);
        self.came.append(&mut other.came);
        self.replaced.append(&mut other.replaced);
    }
}

type Place<'a> = (u32, &'a [u8]);

/// One side of what may have been renamed: where, what, and which of `replaced` it is.
struct Side<'a> {
    place: Place<'a>,
    facts: &'a Facts,
    suspect: bool,
    replaced: Option<usize>,
    proof: Proof,
}

/// Returns the changes that were seen, sorted by root and path; `proofs` are what holds for each root.
pub(crate) fn settle(seen: Seen, proofs: &[Proof]) -> Vec<Change> {
    let Seen { mut settled, gone, came, replaced } = seen;
    let (sources, targets) = sides(&gone, &came, &replaced, proofs);
    let (pairs, implied) = pair(&sources, &targets);
    let stirred = Stirred::new(&sources, &targets, &pairs, &implied);
    let mut paired_targets = vec![false; targets.len()];
    for (source, target) in pairs.iter().enumerate() {
        let source_side = &sources[source];
        match *target {
            Some(target) => {
                paired_targets[target] = true;
                let pair = (source_side, &targets[target]);
                settled.extend(if implied[source] {
                    went_along(pair, &stirred)
                } else {
                    Some(renamed(pair))
                });
            }
            None if source_side.replaced.is_none() => settled.push(removed(source_side)),
            None => {}
        }
    }
    let source_of: HashMap<usize, usize> =
        sources.iter().enumerate().filter_map(|(index, side)| Some((side.replaced?, index))).collect();
    for (target, side) in targets.iter().enumerate().filter(|(index, _)| !paired_targets[*index]) {
        let before = side.replaced.map(|index| source_of[&index]);
        debug_assert!(before.is_none_or(|source| sources[source].place == targets[target].place));
        match before {
            Some(source) if pairs[source].is_none() => settled.push(replaced_by(&sources[source], side)),
            _ => settled.push(added(side)),
        }
    }
    settled.sort_unstable_by(|a, b| (a.root, &a.path, a.kind).cmp(&(b.root, &b.path, b.kind)));
    settled
}

/// Returns what was and what is, both sorted by path.
fn sides<'a>(
    gone: &'a [Entry],
    came: &'a [Entry],
    replaced: &'a [(Entry, Facts)],
    proofs: &[Proof],
) -> (Vec<Side<'a>>, Vec<Side<'a>>) {
    let side = |entry: &'a Entry, facts: &'a Facts, replaced| Side {
        place: (entry.root, &entry.path),
        facts,
        suspect: entry.suspect,
        replaced,
        proof: proofs.get(entry.root as usize).copied().unwrap_or(Proof::COMMON),
    };
    let before = replaced.iter().enumerate().map(|(index, (old, _))| side(old, &old.facts, Some(index)));
    let after = replaced.iter().enumerate().map(|(index, (old, new))| side(old, new, Some(index)));
    let mut sources: Vec<Side<'_>> =
        gone.iter().map(|entry| side(entry, &entry.facts, None)).chain(before).collect();
    let mut targets: Vec<Side<'_>> =
        came.iter().map(|entry| side(entry, &entry.facts, None)).chain(after).collect();
    sources.sort_unstable_by_key(|side| side.place);
    targets.sort_unstable_by_key(|side| side.place);
    (sources, targets)
}

/// Returns for each source the target that it became, and whether it only went along with its directory.
fn pair(sources: &[Side<'_>], targets: &[Side<'_>]) -> (Vec<Option<usize>>, Vec<bool>) {
    let mut by_identity: HashMap<(u32, Identity), Vec<usize>> = HashMap::new();
    for (index, source) in sources.iter().enumerate() {
        if let Some(identity) = Identity::of(source.facts, source.proof) {
            by_identity.entry((source.place.0, identity)).or_default().push(index);
        }
    }
    // Sources and targets of one identity, each in the order of their paths.
    let mut groups: HashMap<(u32, Identity), (Vec<usize>, Vec<usize>)> = HashMap::new();
    for (index, target) in targets.iter().enumerate() {
        let Some(identity) = Identity::of(target.facts, target.proof) else { continue };
        let key = (target.place.0, identity);
        if let Some(sources) = by_identity.remove(&key) {
            groups.insert(key, (sources, vec![index]));
        } else if let Some(group) = groups.get_mut(&key) {
            group.1.push(index);
        }
    }
    let mut pairs = vec![None; sources.len()];
    let (directories, others): (Vec<_>, Vec<_>) =
        groups.into_values().partition(|group| is_directory(sources[group.0[0]].facts));
    let mut moved: HashMap<Place<'_>, &[u8]> = HashMap::new();
    for (from, to) in directories {
        for (&source, &target) in from.iter().zip(&to) {
            pairs[source] = Some(target);
            moved.insert(sources[source].place, targets[target].place.1);
        }
    }
    let along = |source: usize, target: usize| is_along(&moved, sources[source].place, targets[target].place);
    for (mut from, mut to) in others {
        from.retain(|&source| {
            let kept = to.iter().position(|&target| along(source, target)).map(|at| to.remove(at));
            pairs[source] = kept;
            kept.is_none()
        });
        for (&source, &target) in from.iter().zip(&to) {
            pairs[source] = Some(target);
        }
    }
    let implied = pairs.iter().enumerate();
    let implied =
        implied.map(|(source, target)| target.is_some_and(|target| along(source, target))).collect();
    (pairs, implied)
}

/// Tells whether what was at `from` is at `to` because its directory was renamed.
fn is_along(moved: &HashMap<Place<'_>, &[u8]>, from: Place<'_>, to: Place<'_>) -> bool {
    let ((from_parent, from_name), (to_parent, to_name)) = (split(from.1), split(to.1));
    from_name == to_name && moved.get(&(from.0, from_parent)).is_some_and(|moved| *moved == to_parent)
}

/// Directories in which entries came, went or were renamed, besides what went along with them.
struct Stirred<'a> {
    before: HashSet<Place<'a>>,
    after: HashSet<Place<'a>>,
}

impl<'a> Stirred<'a> {
    fn new(sources: &[Side<'a>], targets: &[Side<'a>], pairs: &[Option<usize>], implied: &[bool]) -> Self {
        let parent = |side: &Side<'a>| (side.place.0, split(side.place.1).0);
        let mut along = vec![false; targets.len()];
        for (source, target) in pairs.iter().enumerate() {
            if let Some(target) = target {
                along[*target] = implied[source];
            }
        }
        let before = sources.iter().zip(implied).filter(|(_, implied)| !**implied);
        let after = targets.iter().zip(&along).filter(|(_, along)| !**along);
        Self {
            before: before.map(|(side, _)| parent(side)).collect(),
            after: after.map(|(side, _)| parent(side)).collect(),
        }
    }
}

fn is_directory(facts: &Facts) -> bool {
    facts.kind == megadir::FileType::Directory
}

/// Splits a path into that of its directory and its name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

/// Returns what is to be told of an entry that went along with its directory.
fn went_along((old, new): (&Side<'_>, &Side<'_>), stirred: &Stirred<'_>) -> Option<Change> {
    let fields = if is_directory(new.facts) {
        let same = !stirred.before.contains(&old.place) && !stirred.after.contains(&new.place);
        fields::of_directory(old.facts, new.facts, same, new.proof)
    } else {
        fields::of_file(old.facts, new.facts, new.proof)
    };
    let kind = match (fields.is_empty(), old.suspect) {
        (false, _) => ChangeKind::Modified,
        (true, true) => ChangeKind::Suspect,
        (true, false) => return None,
    };
    Some(Change { from: Some(old.place.1.into()), fields, ..change(kind, old, new) })
}

/// A renamed entry. Renaming changes the time of change, so that this tells nothing more.
fn renamed((old, new): (&Side<'_>, &Side<'_>)) -> Change {
    let fields = match is_directory(new.facts) {
        true => fields::of_directory(old.facts, new.facts, false, new.proof),
        false => fields::of_file(old.facts, new.facts, new.proof).without(Fields::CHANGED),
    };
    let from = Some(old.place.1.into());
    Change { from, fields, suspect: old.suspect, ..change(ChangeKind::Renamed, old, new) }
}

/// Another file at the same path, when the one that was there is nowhere else.
fn replaced_by(old: &Side<'_>, new: &Side<'_>) -> Change {
    let kind = if old.facts.kind == new.facts.kind { ChangeKind::Modified } else { ChangeKind::TypeChanged };
    let fields = fields::of_either(old.facts, new.facts, new.proof).with(Fields::INODE);
    Change { fields, ..change(kind, old, new) }
}

fn change(kind: ChangeKind, old: &Side<'_>, new: &Side<'_>) -> Change {
    Change {
        kind,
        root: new.place.0,
        path: new.place.1.into(),
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
