//! The single arm and group of a study that fills directories until a file is refused.

use megadir_record::{DataId, Group, GroupRule, Work};

use crate::kind::arms::Arms;
use crate::kind::fill_until_full::FillUntilFullSpec;

const GROUP: &str = "refusal";

/// Adds the arm and its group; roughly `entries_about` files fit.
pub(crate) fn refusals(spec: &FillUntilFullSpec, entries_about: u64, arms: &mut Arms<'_>) {
    let work = Work::FillUntilRefused { entries_about, predicted: None };
    let arm = arms.arm(GROUP, DataId(0), &work);
    let rule = GroupRule::Refusal { arm };
    arms.groups.push(Group::new(GROUP, &spec.title, true, rule));
}
