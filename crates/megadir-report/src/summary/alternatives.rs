//! Alternatives: arms that do the same work in different ways.
//!
//! A reader chooses how something is done (the backend, the number of workers, the layout). What is to be done, on how much and from which
//! state of the cache, is given; advice to prefer absent names or small directories would be none.

use megadir_record::{Arm, ArmId, DataSource, FileWork, SameWork, Work};

use super::{ArmSummary, Summary};

impl Summary {
    /// `true` if one arm can replace the other, on the same file system.
    #[must_use]
    pub(crate) fn are_alternatives(&self, one: ArmId, other: ArmId) -> bool {
        let planned_arms = [one, other].map(|arm| self.arm(arm).map(|ArmSummary { planned, .. }| planned));
        let [Some(one), Some(other)] = planned_arms else { return false };
        one.cache == other.cache && one.rate_per_s == other.rate_per_s && self.do_the_same(one, other)
    }

    fn do_the_same(&self, one: &Arm, other: &Arm) -> bool {
        match (&one.work, &other.work) {
            (Work::List { stages, .. }, Work::List { stages: others, .. }) => {
                one.data == other.data && stages == others
            }
            (Work::Attributes { .. }, Work::Attributes { .. }) => one.data == other.data,
            (Work::Files(files), Work::Files(others)) => {
                let task = |work: &FileWork| {
                    (work.operation, work.from, work.to, work.access, work.sync, work.owner_and_mode)
                };
                task(files) == task(others) && self.hold_the_same(one, other, false)
            }
            (Work::Remove(remove), Work::Remove(others)) => {
                remove.files == others.files && self.hold_the_same(one, other, true)
            }
            (Work::Command(work), Work::Command(of_other)) => {
                work.task == of_other.task && work.same != SameWork::Unequal && one.data == other.data
            }
            _ => false,
        }
    }

    /// Returns whether two data sets hold the same files on the same file system; with `spread`, in the same directories too.
    fn hold_the_same(&self, one: &Arm, other: &Arm, spread: bool) -> bool {
        let of = |planned: &Arm| {
            self.data.iter().find(|check| check.data.id == planned.data).map(|check| &check.data)
        };
        let (Some(one), Some(other)) = (of(one), of(other)) else { return false };
        let like = match (&one.source, &other.source) {
            (DataSource::Made(made), DataSource::Made(others)) => {
                let content = (made.names, made.size_bytes, made.content, made.aged_files)
                    == (others.names, others.size_bytes, others.content, others.aged_files);
                content && made.sizes == others.sizes && (!spread || made.spread == others.spread)
            }
            (source, others) => source == others,
        };
        like && one.entries == other.entries && one.on == other.on
    }
}
