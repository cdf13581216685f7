//! Which changes are reported: those whose entry meets conditions before or after the change.

use std::sync::Arc;

use megadir::{BadGlob, Conditions, FileType, Globs};

use super::{Change, Counted};
use crate::path::TreePath;
use crate::row::Facts;

/// Conditions of a comparison, and conditions that the inventory was made with. A change is reported if one of its sides meets all of these.
#[derive(Clone, Debug)]
pub struct Selection {
    chosen: Arc<Chosen>,
    /// Conditions on the entries that exist at all, for [`CompareOptions::conditions`](super::CompareOptions::conditions).
    pub sight: Option<Arc<Conditions>>,
}

#[derive(Debug)]
struct Chosen {
    requested: Option<Conditions>,
    /// Directories have rows whether they meet them or not.
    recorded: Option<Conditions>,
}

impl Selection {
    /// Joins both. Fails only if globs that are valid one by one are not together.
    pub fn new(requested: Conditions, recorded: Option<Conditions>) -> Result<Self, BadGlob> {
        let requested = Some(requested).filter(|requested| !requested.is_none());
        let all = || requested.iter().chain(&recorded);
        let exclude: Vec<&String> = all().flat_map(|conditions| conditions.exclude.texts()).collect();
        let exclude = Globs::of_names_or_paths(&exclude)?;
        let depth_max = all().filter_map(|conditions| conditions.depth_max).min();
        let sight = Conditions { exclude, depth_max, ..Conditions::default() };
        let sight = all().next().is_some().then(|| Arc::new(sight));
        Ok(Self { chosen: Arc::new(Chosen { requested, recorded }), sight })
    }

    /// Removes the other changes.
    pub fn choose(&self, changes: &mut Vec<Change>) {
        if self.sight.is_some() {
            changes.retain(|change| {
                let before = change.from.as_ref().unwrap_or(&change.path);
                self.chosen.accepts(&change.path, change.new.as_ref())
                    || self.chosen.accepts(before, change.old.as_ref())
            });
        }
    }

    /// `true` for the path relative to the root and the attributes of an entry that meets all conditions.
    pub fn accepts(&self, path: &[u8], facts: &Facts) -> bool {
        self.chosen.accepts(&TreePath::from(path), Some(facts))
    }

    /// Entries that count for [`CompareOptions::gains`](super::CompareOptions::gains).
    pub fn counted(&self) -> Counted {
        let chosen = Arc::clone(&self.chosen);
        Counted(Arc::new(move |path, facts| chosen.accepts(path, Some(facts))))
    }
}

impl Chosen {
    /// The root has no name, so conditions on names and paths exclude it. Directories pass the conditions of
    /// the scan whatever they are: they have rows only because something below them was selected.
    fn accepts(&self, path: &TreePath, facts: Option<&Facts>) -> bool {
        let Some(facts) = facts else { return false };
        let (row, (parent, name)) = (facts.attributes(), path.split());
        let is_met = |conditions: &Conditions| match path.is_empty() {
            true => {
                conditions.names.is_empty()
                    && conditions.paths.is_empty()
                    && conditions.accepts_type(facts.kind)
                    && conditions.accepts_attributes(&row)
            }
            false => conditions.accepts(&conditions.place(&parent), &name, facts.kind, &row),
        };
        self.requested.as_ref().is_none_or(is_met)
            && (facts.kind == FileType::Directory || self.recorded.as_ref().is_none_or(is_met))
    }
}
