//! Groups of a plan that are compared with published figures. Pure.
//!
//! A study names a group. The suffix `-first` stands for the source's first run, which is compared with the
//! coldest state of the plan.

use megadir_record::{CacheState, Cell, Group, Published};

/// Suffix of groups of first runs.
const FIRST: &str = "-first";

/// Message for a plan without first runs.
const NONE: &str = "first runs are measured with --cache warm,unseen";

/// Returns the study's published figures, matched to the plan's groups.
pub(super) fn published(figures: &[Published], groups: &[Group], cells: &[Cell]) -> Vec<Published> {
    figures.iter().map(|figure| placed(figure, groups, cells)).collect()
}

fn placed(figure: &Published, groups: &[Group], cells: &[Cell]) -> Published {
    let figure = figure.clone();
    let Some(second) = figure.group.as_deref().and_then(|group| group.strip_suffix(FIRST)) else {
        return figure;
    };
    let is_twin = |name: &str| name.strip_prefix(second).is_some_and(|rest| rest.starts_with('-'));
    let state =
        |group: &Group| cells.iter().find(|cell| cell.groups.contains(&group.name)).map(|cell| cell.cache);
    let coldness =
        |group: &&Group| state(group).and_then(|state| CacheState::ALL.iter().position(|of| *of == state));
    let cold = |group: &&Group| is_twin(&group.name) && state(group).is_some_and(CacheState::is_cold);
    match groups.iter().filter(cold).max_by_key(coldness) {
        Some(first) => Published { group: Some(first.name.clone()), ..figure },
        None => Published { group: Some(second.to_owned()), ours: None, unlike: Some(NONE.into()), ..figure },
    }
}
