//! Conditions of a comparison: from the command, and from the inventory.

use std::path::PathBuf;

use megadir::Conditions;
use megadir_inventory::changes::Selection;
use megadir_inventory::{Inventory, Rows};

use super::Args;
use crate::cmd::conditions::refuse_unrecorded;
use crate::exit::CliError;
use crate::ui::message::quoted;

pub(super) fn selection(
    args: &Args,
    (inventory, newer): (&Inventory, Option<&Inventory>),
    roots: &[PathBuf],
) -> Result<Selection, CliError> {
    let requested = args.conditions.conditions(roots.iter().map(PathBuf::as_path), false)?;
    [inventory].into_iter().chain(newer).try_for_each(|of| refuse_unrecorded(&requested, of))?;
    let selected = inventory.metadata().scanned.selected.as_ref();
    let recorded = selected.map(|selected| recorded(selected, args)).transpose()?;
    Selection::new(requested, recorded)
        .map_err(|bad| CliError::usage(format!("{}: {bad}", quoted(&args.inventory))))
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
