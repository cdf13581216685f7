//! Aged directories as an axis: every arm that reads pre-made files gets a twin on a directory that once held more files. Pure.
//!
//! Some file systems (e.g. ext4) never shrink a directory, so that listing a few files still reads the blocks of many.
//!
//! An aged directory and its fresh twin hold the same names, so only their history differs. The twin is a
//! data set of its own, built alternately with the first, and the pairs form one group: age is a question
//! apart from the study's.

use megadir_record::{AGED_GROUP, Arm, ArmId, Axes, Data, DataId, DataSource, Made, Pair, Role, When, Work};

use super::ENTRIES_MAX;
use crate::kind::arms::Arms;
use crate::request::{AgedBy, PlanError};
use crate::study::Study;

/// `true` for work that reads files made before the run; only their directory can have a past.
fn looks(work: &Work) -> bool {
    !matches!(work, Work::Files(_)) && work.leaves_all()
}

/// Adds the twins and their group. Errors: [`PlanError::Value`] if arms make files themselves, if the directory is the
/// user's own, or if there would be too many files.
pub(super) fn cross(study: &Study, by: AgedBy, arms: &mut Arms<'_>) -> Result<(), PlanError> {
    let refuse =
        |value: &str, allowed: String| Err(PlanError::value("the age of directories", value, allowed));
    let planned_arms: Vec<Arm> =
        arms.planned.iter().filter(|planned| planned.role != Role::Control).cloned().collect();
    if let Some(planned) = planned_arms.iter().find(|planned| !looks(&planned.work)) {
        let allowed = format!(
            "study `{}` creates its files itself ({}); only listing, lookup, attributes and stat-or-list support it",
            study.meta.name, planned.name
        );
        return refuse("given", allowed);
    }
    let mut aged: Vec<(DataId, DataId)> = Vec::new();
    for data in arms.data.clone() {
        let DataSource::Made(made) = &data.source else {
            let allowed = "the age of an existing directory cannot be changed; give --entries to create directories below it";
            return refuse("given", allowed.into());
        };
        let files = by.files(data.entries);
        if files == 0 || files.saturating_add(data.entries) > ENTRIES_MAX {
            let allowed = format!("expected 1 to {ENTRIES_MAX} together with the files that stay");
            return refuse(&format!("{files} files"), allowed);
        }
        if made.when == When::BeforeRun {
            let id = DataId(arms.data.len() as u32);
            let source = DataSource::Made(Made { aged_files: files, ..made.clone() });
            aged.push((data.id, id));
            arms.data.push(Data { id, source, ..data });
        }
    }
    let mut pairs = Vec::new();
    for planned in planned_arms {
        let Some((_, data)) = aged.iter().find(|(fresh, _)| *fresh == planned.data) else { continue };
        let id = ArmId(arms.planned.len() as u32);
        pairs.push(Pair::new("aged directories", "fresh ones", planned.name, (id, planned.id)));
        let axes = Axes { aged: true, ..planned.axes };
        let (name, groups, role) = (axes.name(), Vec::new(), Role::Arm);
        arms.planned.push(Arm { id, name, groups, role, data: *data, axes, ..planned });
    }
    arms.pairs(AGED_GROUP, "How much slower are directories that have held more files?", pairs);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{BackendFact, Planned, Request, Target, plan};
    use crate::study::built_in;
    use megadir_record::{GroupRule, Preset};

    fn planned(study: &str, aged: AgedBy, entries: &[u64]) -> Result<Planned, PlanError> {
        let fact = |name| BackendFact { threads_max: 8, ..BackendFact::bare(name) };
        let facts = ["getdents", "readdir", "std", "split"].map(fact);
        let target = Target::Made { entries: entries.to_vec() };
        let request = Request { aged: Some(aged), target, facts: &facts, ..Request::bare(Preset::Quick, 5) };
        plan(&built_in(study).expect("a study"), &request)
    }

    #[test]
    fn every_arm_that_looks_has_a_twin_on_as_many_files_in_an_aged_directory() {
        for study in ["listing", "lookup"] {
            let plan = planned(study, AgedBy::Times(10), &[100, 1000]).expect("a plan").plan;
            let group = plan.groups.iter().find(|group| group.name == "aged").expect("the group");
            let GroupRule::Pairs { pairs } = &group.rule else { panic!("not pairs") };
            let fresh = plan.arms.iter().filter(|planned| {
                let made = plan.data[planned.data.0 as usize].source.made().expect("made");
                made.aged_files == 0 && planned.role != Role::Control
            });
            assert_eq!(pairs.len(), fresh.count());
            for pair in pairs {
                let [aged, fresh] = [pair.arm, pair.to].map(|planned| &plan.arms[planned.0 as usize]);
                assert_eq!(
                    (&aged.work, aged.name.as_str()),
                    (&fresh.work, &*format!("{}, aged", fresh.name))
                );
                let [of_aged, of_fresh] = [aged, fresh].map(|planned| &plan.data[planned.data.0 as usize]);
                assert_eq!(of_aged.entries, of_fresh.entries);
                let made = of_aged.source.made().expect("made");
                assert_eq!(made.aged_files, 10 * of_fresh.entries);
            }
        }
    }

    #[test]
    fn who_makes_files_and_who_makes_too_many_are_refused() {
        let refused = |study, aged, words: &str| {
            let error = planned(study, aged, &[1000]).expect_err("refused").to_string();
            assert!(error.contains(words), "{error}");
        };
        refused("fill", AgedBy::Files(5), "study `fill` creates its files itself");
        refused("limits", AgedBy::Files(5), "study `limits` creates its files itself");
        refused("listing", AgedBy::Files(0), "0 files");
        refused("listing", AgedBy::Times(1_000_000), "expected 1 to 100000000");
    }
}
