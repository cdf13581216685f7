//! Conditions of a comparison: from the command, and from the inventory.

use std::path::PathBuf;
use std::sync::Arc;

use megadir::{Conditions, FileType, Globs};
use megadir_inventory::changes::{Change, Counted};
use megadir_inventory::{Facts, Inventory, Rows, TreePath};

use super::Args;
use crate::cmd::conditions::refuse_unrecorded;
use crate::exit::CliError;
use crate::ui::message::quoted;

/// A change is reported if one of its sides meets all of these.
pub(super) struct Selection {
    chosen: Arc<Chosen>,
    /// Conditions on the entries that exist at all.
    pub(super) sight: Option<Arc<Conditions>>,
}

struct Chosen {
    asked: Option<Conditions>,
    /// Directories have rows whether they meet them or not.
    recorded: Option<Conditions>,
}

impl Selection {
    pub(super) fn new(
        args: &Args,
        (inventory, newer): (&Inventory, Option<&Inventory>),
        roots: &[PathBuf],
    ) -> Result<Self, CliError> {
        let asked = args.conditions.conditions(roots.iter().map(PathBuf::as_path), false)?;
        [inventory].into_iter().chain(newer).try_for_each(|of| refuse_unrecorded(&asked, of))?;
        let asked = Some(asked).filter(|asked| !asked.is_none());
        let selected = inventory.metadata().scanned.selected.as_ref();
        let recorded = selected.map(|selected| recorded(selected, args)).transpose()?;
        let all = || asked.iter().chain(&recorded);
        let exclude: Vec<&String> = all().flat_map(|conditions| conditions.exclude.texts()).collect();
        let exclude = Globs::of_names_or_paths(&exclude)
            .map_err(|bad| CliError::usage(format!("{}: {bad}", quoted(&args.inventory))))?;
        let depth_max = all().filter_map(|conditions| conditions.depth_max).min();
        let sight = Conditions { exclude, depth_max, ..Conditions::default() };
        let sight = all().next().is_some().then(|| Arc::new(sight));
        Ok(Self { chosen: Arc::new(Chosen { asked, recorded }), sight })
    }

    pub(super) fn choose(&self, changes: &mut Vec<Change>) {
        if self.sight.is_some() {
            changes.retain(|change| {
                let before = change.from.as_ref().unwrap_or(&change.path);
                self.chosen.accepts(&change.path, change.new.as_ref())
                    || self.chosen.accepts(before, change.old.as_ref())
            });
        }
    }

    pub(super) fn counted(&self) -> Counted {
        let chosen = Arc::clone(&self.chosen);
        Counted(Arc::new(move |path, facts| chosen.accepts(path, Some(facts))))
    }
}

impl Chosen {
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
        self.asked.as_ref().is_none_or(is_met)
            && (facts.kind == FileType::Directory || self.recorded.as_ref().is_none_or(is_met))
    }
}

/// Entries that have no row because of their age, size or owner would count as added.
fn recorded(selected: &megadir_inventory::Selected, args: &Args) -> Result<Conditions, CliError> {
    let shown = quoted(&args.inventory);
    if selected.by_attributes {
        return Err(CliError::usage(format!(
            "{shown} has only entries that met conditions on time, size or owner at its scan, so every other entry would \
             count as added; write an inventory without such conditions"
        )));
    }
    if args.update {
        return Err(CliError::usage(format!(
            "--update: {shown} was made with conditions; repeat `megadir scan` with the same conditions"
        )));
    }
    selected.conditions().map_err(|error| CliError::usage(format!("{shown}: {}", error.reason())))
}
