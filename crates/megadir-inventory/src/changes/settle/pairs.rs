//! Pairs old and new paths of the same file.

use std::collections::{HashMap, HashSet};

use megadir::FileType;
use megadir::mount_traits::DirectoryRename;

use super::super::fields::Identity;
use super::super::proof::{Proof, Proofs};
use super::Entry;
use crate::path::{Place, TreePath};
use crate::row::Facts;
use crate::volumes::{is_stub, of_stub};

type Group = (Vec<usize>, Vec<usize>);

/// One path on one side, old (source) or new (target). `above` is the directory, kept because it is looked up
/// often. `shared` is the index of a path that exists on both sides with different files or in a moved
/// directory, and `stays` distinguishes the latter. `proof` decides what identifies a file on its file
/// system.
pub(super) struct Side<'a> {
    pub(super) place: Place,
    pub(super) above: Place,
    pub(super) name: Vec<u8>,
    pub(super) facts: &'a Facts,
    pub(super) suspect: bool,
    pub(super) shared: Option<usize>,
    pub(super) stays: bool,
    pub(super) proof: Proof,
}

/// All old and all new paths that may be halves of a rename, each side sorted by path. `shared` has the
/// indices of paths that are on both sides. Everything else refers to sides by their indices.
pub(super) struct Sides<'a> {
    pub(super) sources: Vec<Side<'a>>,
    pub(super) targets: Vec<Side<'a>>,
    pub(super) shared: Vec<(usize, usize)>,
    unread: &'a HashSet<Place>,
}

/// `targets` has the new path of each old one, and `taken` marks the new ones that are used: a path is in one
/// pair at most. `moved` are the directories among them, by their old place, to follow the entries below.
pub(super) struct Pairs {
    pub(super) targets: Vec<Option<usize>>,
    pub(super) taken: Vec<bool>,
    pub(super) moved: HashMap<Place, TreePath>,
}

/// Directories whose path another directory has now.
pub(super) fn unsteady(sides: &Sides<'_>) -> HashSet<Place> {
    let mut unsteady: HashSet<Place> = HashSet::new();
    let is_replaced = |side: &Side<'_>| side.shared.is_some() && is_directory(side);
    if !sides.sources.iter().any(is_replaced) {
        return unsteady;
    }
    let (pairs, _) = sides.pair_directories();
    for (source, side) in sides.sources.iter().enumerate().filter(|(_, side)| is_replaced(side)) {
        let Some(shared) = side.shared else { continue };
        let target = sides.shared[shared].1;
        let is_elsewhere = pairs.targets[source].is_some() || pairs.taken[target];
        if is_elsewhere || !is_directory(&sides.targets[target]) || unsteady.contains(&side.above) {
            unsteady.insert(side.place.clone());
        }
    }
    unsteady
}

impl<'a> Sides<'a> {
    /// Both sides are sorted by path, so that a directory precedes its entries and pairs are found in a fixed
    /// order whatever thread has found what first. `shared` connects the two indices of a path that is on
    /// both sides, after sorting.
    pub(super) fn new(
        (missing, came): (&'a [Entry], &'a [Entry]),
        replaced: &'a [(Entry, Facts)],
        stayed: &'a [(Entry, Facts)],
        unread: &'a HashSet<Place>,
        proofs: &Proofs,
    ) -> Self {
        let side = |entry: &'a Entry, facts: &'a Facts, shared: Option<usize>| {
            let (directory, name) = entry.path.split();
            Side {
                place: (entry.root, entry.path.clone()),
                above: (entry.root, directory),
                name,
                facts,
                suspect: entry.suspect,
                shared,
                stays: shared.is_some_and(|shared| shared >= replaced.len()),
                proof: proofs.of(entry.root, facts),
            }
        };
        let both = || replaced.iter().chain(stayed).enumerate();
        let before = both().map(|(index, (old, _))| side(old, &old.facts, Some(index)));
        let after = both().map(|(index, (old, new))| side(old, new, Some(index)));
        let alone = |entries: &'a [Entry]| entries.iter().map(|entry| side(entry, &entry.facts, None));
        let mut sources: Vec<Side<'_>> = alone(missing).chain(before).collect();
        let mut targets: Vec<Side<'_>> = alone(came).chain(after).collect();
        sources.sort_unstable_by(|a, b| a.place.cmp(&b.place));
        targets.sort_unstable_by(|a, b| a.place.cmp(&b.place));
        let mut shared = vec![(0, 0); replaced.len() + stayed.len()];
        for (index, side) in sources.iter().enumerate() {
            side.shared.into_iter().for_each(|at| shared[at].0 = index);
        }
        for (index, side) in targets.iter().enumerate() {
            side.shared.into_iter().for_each(|at| shared[at].1 = index);
        }
        Self { sources, targets, shared, unread }
    }

    /// Directories come first, because an entry that moved along with its directory must not be paired with
    /// another link of the same file. Only certain pairs are taken: one old and one new path with the same
    /// identity, or confirmed by their entries where numbers alone do not identify a directory. Groups of
    /// files are returned for [`Sides::pair`]. Directories at the same path that stayed are pairs from the
    /// start.
    fn pair_directories(&self) -> (Pairs, Vec<Group>) {
        let mut by_identity: HashMap<(u32, Identity), Vec<usize>> = HashMap::new();
        let is_open = |side: &Side<'_>| !(side.stays && is_directory(side));
        for (index, source) in self.sources.iter().enumerate().filter(|(_, side)| is_open(side)) {
            if let Some(identity) = source.identity() {
                by_identity.entry((source.place.0, identity)).or_default().push(index);
            }
        }
        let mut groups: HashMap<(u32, Identity), Group> = HashMap::new();
        for (index, target) in self.targets.iter().enumerate().filter(|(_, side)| is_open(side)) {
            let Some(identity) = target.identity() else { continue };
            let key = (target.place.0, identity);
            if let Some(sources) = by_identity.remove(&key) {
                groups.insert(key, (sources, vec![index]));
            } else if let Some(group) = groups.get_mut(&key) {
                group.1.push(index);
            }
        }
        let mut pairs = Pairs {
            targets: vec![None; self.sources.len()],
            taken: vec![false; self.targets.len()],
            moved: HashMap::new(),
        };
        let (directories, others): (Vec<_>, Vec<_>) =
            groups.into_values().partition(|group| is_directory(&self.sources[group.0[0]]));
        let stayed = self.shared.iter().filter(|(source, _)| {
            let source = &self.sources[*source];
            source.stays && is_directory(source)
        });
        let directories = directories.iter().filter(|group| self.is_certain(group));
        let found = directories.flat_map(|(from, to)| from.iter().copied().zip(to.iter().copied()));
        let mut found: Vec<(usize, usize)> = found.collect();
        self.retain_confirmed(&mut found);
        for (source, target) in found.into_iter().chain(stayed.copied()) {
            pairs.add(source, target);
            pairs.moved.insert(self.sources[source].place.clone(), self.targets[target].place.1.clone());
        }
        self.add_along(&mut pairs, true);
        (pairs, others)
    }

    /// Without inode numbers several files may have one identity: then none of them is taken for another.
    fn is_certain(&self, (from, to): &Group) -> bool {
        self.sources[from[0]].proof.numbers || (from.len(), to.len()) == (1, 1)
    }

    /// Where a number alone identifies a directory, a new directory may have been given a removed one's. The same mtime confirms
    /// that it is the same directory, or an entry that both have. Of a directory that cannot be read nothing is known.
    fn retain_confirmed(&self, pairs: &mut Vec<(usize, usize)>) {
        let unconfirmed = pairs.iter().filter(|(source, target)| {
            let (old, new) = (&self.sources[*source], &self.targets[*target]);
            let is_by_number = old.is_identified_by_number() || new.is_identified_by_number();
            is_by_number && !old.has_same_mtime(new) && !self.unread.contains(&new.place)
        });
        let unconfirmed: HashMap<&Place, &TreePath> = unconfirmed
            .map(|(source, target)| (&self.sources[*source].place, &self.targets[*target].place.1))
            .collect();
        if unconfirmed.is_empty() {
            return;
        }
        let targets: HashMap<&Place, &Side<'_>> =
            self.targets.iter().map(|side| (&side.place, side)).collect();
        let confirms = |side: &&Side<'_>| {
            let path = unconfirmed.get(&side.above).map(|moved| moved.join(&side.name));
            let new = path.and_then(|path| targets.get(&(side.above.0, path)));
            new.is_some_and(|new| {
                let identity = side.identity();
                identity.is_some() && identity == new.identity() && side.has_same_mtime(new)
            })
        };
        let confirmed: HashSet<&Place> =
            self.sources.iter().filter(confirms).map(|side| &side.above).collect();
        pairs.retain(|(source, _)| {
            let place = &self.sources[*source].place;
            !unconfirmed.contains_key(place) || confirmed.contains(place)
        });
    }

    /// Where inode numbers identify nothing, or not what is in a renamed directory, an entry with the same name and type in a directory that moved moved with it. Sources are
    /// in the order of their paths, so that a directory comes before its entries.
    fn add_along(&self, pairs: &mut Pairs, directories: bool) {
        let is_open = |(index, side): &(usize, &Side<'_>)| {
            let is_known_by_name =
                !side.proof.numbers || side.proof.directory_rename == DirectoryRename::RenamesEntries;
            is_known_by_name && is_directory(side) == directories && pairs.targets[*index].is_none()
        };
        let sources: Vec<usize> =
            self.sources.iter().enumerate().filter(is_open).map(|(index, _)| index).collect();
        if sources.is_empty() || pairs.moved.is_empty() {
            return;
        }
        let targets: HashMap<&Place, usize> =
            self.targets.iter().enumerate().map(|(index, side)| (&side.place, index)).collect();
        for source in sources {
            let side = &self.sources[source];
            let Some(moved) = pairs.moved.get(&side.above) else { continue };
            let Some(&target) = targets.get(&(side.above.0, moved.join(&side.name))) else { continue };
            if pairs.taken[target] || self.targets[target].facts.kind != side.facts.kind {
                continue;
            }
            pairs.add(source, target);
            if directories {
                pairs.moved.insert(side.place.clone(), self.targets[target].place.1.clone());
            }
        }
    }

    /// For each group of paths of one file, in order of certainty: links that moved along with their
    /// directory, links at the same path, then the rest in path order. The last step is arbitrary where
    /// several links of a file were renamed at once, but the same for the same input. Without reliable inode
    /// numbers, only a group of exactly one old and one new path is a pair.
    pub(super) fn pair(&self) -> Pairs {
        let (mut pairs, others) = self.pair_directories();
        self.add_along(&mut pairs, false);
        for (mut from, mut to) in others {
            if !self.sources[from[0]].proof.numbers {
                from.retain(|&source| pairs.targets[source].is_none());
                to.retain(|&target| !pairs.taken[target]);
                if let (&[source], &[target]) = (&from[..], &to[..]) {
                    pairs.add(source, target);
                }
                continue;
            }
            from.retain(|&source| {
                let along = to.iter().position(|&target| self.is_along((source, &Some(target)), &pairs));
                let along = along.map(|at| to.remove(at));
                along.into_iter().for_each(|target| pairs.add(source, target));
                along.is_none()
            });
            from.retain(|&source| {
                let side = &self.sources[source];
                let same = side.shared.filter(|_| side.stays).map(|shared| self.shared[shared].1);
                let same = same.and_then(|same| to.iter().position(|&target| target == same));
                let same = same.map(|at| to.remove(at));
                same.into_iter().for_each(|target| pairs.add(source, target));
                same.is_none()
            });
            // Stubs are indistinguishable: they move with their directory or not at all.
            if from.first().is_some_and(|source| !self.sources[*source].is_stub()) {
                from.iter().zip(&to).for_each(|(&source, &target)| pairs.add(source, target));
            }
        }
        for &(source, target) in self.shared.iter().filter(|(source, _)| self.sources[*source].stays) {
            if pairs.targets[source].is_none() && !pairs.taken[target] {
                pairs.add(source, target);
            }
        }
        pairs
    }

    pub(super) fn is_along(&self, (source, target): (usize, &Option<usize>), pairs: &Pairs) -> bool {
        let Some(target) = *target else { return false };
        let (from, to) = (&self.sources[source], &self.targets[target]);
        from.name == to.name && pairs.moved.get(&from.above).is_some_and(|moved| *moved == to.above.1)
    }
}

impl Side<'_> {
    fn is_stub(&self) -> bool {
        self.proof.stubs && is_stub(self.facts)
    }

    /// Without a birth time, where a rename sets the mtime of a directory.
    fn is_identified_by_number(&self) -> bool {
        let Proof { numbers, unique_numbers, directory_rename, .. } = self.proof;
        let sets_mtime = directory_rename == DirectoryRename::SetsMtime;
        sets_mtime && numbers && !unique_numbers && self.facts.born_ns.is_none()
    }

    fn has_same_mtime(&self, other: &Side<'_>) -> bool {
        self.facts.modified_ns.is_some() && self.facts.modified_ns == other.facts.modified_ns
    }

    fn identity(&self) -> Option<Identity> {
        match self.is_stub() {
            true => Identity::of(&of_stub(self.facts), self.proof),
            false => Identity::of(self.facts, self.proof),
        }
    }
}

impl Pairs {
    fn add(&mut self, source: usize, target: usize) {
        self.targets[source] = Some(target);
        self.taken[target] = true;
    }
}

fn is_directory(side: &Side<'_>) -> bool {
    side.facts.kind == FileType::Directory && !side.is_stub()
}
