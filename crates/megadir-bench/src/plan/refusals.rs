//! The plan of a study that fills directories until one file is refused: one arm, and the rule that reads it.

use megadir_record::{DataId, Group, GroupRule, Work};

use super::arms::Arms;
use crate::study::RefusalSpec;

/// The name of the group.
const GROUP: &str = "refusal";

/// Adds the arm and its group; about `entries_about` files are expected to fit.
pub(super) fn refusals(spec: &RefusalSpec, entries_about: u64, arms: &mut Arms<'_>) {
    let work = Work::FillUntilRefused { entries_about, predicted: None };
    let arm = arms.arm(GROUP, DataId(0), &work);
    let rule = GroupRule::Refusal { arm };
    arms.groups.push(Group { name: GROUP.into(), title: spec.title.clone(), answers: true, rule });
}
