//! Plans of studies that create, read and remove files.

use std::collections::BTreeMap;

use megadir_record::{
    Access, Arm, CacheState, FileOperation, FileOrder, FileWork, GroupRule, MakeDirectories, Order, Plan,
    Preset, Role, Sharing, Spread, SyncPolicy, Work,
};

use super::super::*;
use crate::study::built_in;

fn planned(name: &str, preset: Preset) -> Plan {
    let request = Request::bare(preset, 7);
    plan(&built_in(name).expect("a study"), &request).expect("a plan").plan
}

fn work(planned: &Arm) -> &FileWork {
    let Work::Files(work) = &planned.work else { panic!("{} works on no files", planned.name) };
    work
}

#[test]
fn arms_have_names_of_their_own_and_every_chain_has_its_own_files() {
    for name in ["fill", "layout", "smallfile", "mdtest-easy", "mdtest-hard", "remove"] {
        for preset in [Preset::Quick, Preset::Default, Preset::Published] {
            let plan = planned(name, preset);
            let mut data_of: BTreeMap<u32, DataId> = BTreeMap::new();
            for (index, planned) in plan.arms.iter().enumerate() {
                assert!(
                    !plan.arms[..index].iter().any(|other| other.name == planned.name),
                    "{}",
                    planned.name
                );
                assert_eq!(
                    *data_of.entry(planned.chain).or_insert(planned.data),
                    planned.data,
                    "{}",
                    planned.name
                );
            }
            assert_eq!(data_of.len(), plan.data.len());
            let controls = plan.arms.iter().filter(|planned| planned.role == Role::Control);
            for planned in controls.clone() {
                let like = |planned: &Arm| (planned.work.clone(), planned.cache);
                let same = |other: &&Arm| other.role == Role::Baseline && like(other) == like(planned);
                assert!(plan.arms.iter().any(|other| same(&other)), "{}", planned.name);
            }
            assert!(controls.count() > 0);
        }
    }
}

#[test]
fn filling_covers_all_files_without_a_gap() {
    let plan = planned("fill", Preset::Published);
    assert_eq!(plan.rules.order, Order::Chains);
    let GroupRule::Fill { arms } = &plan.groups[0].rule else { panic!("no filling") };
    let planned_arms: Vec<&Arm> = arms.iter().map(|arm| &plan.arms[arm.0 as usize]).collect();
    assert_eq!(
        (work(planned_arms[0]).from, work(planned_arms[19]).to, planned_arms.len()),
        (0, 1_000_000, 20)
    );
    assert!(
        planned_arms.windows(2).all(|two| work(two[0]).to == work(two[1]).from && two[0].step < two[1].step)
    );
    let GroupRule::Pairs { pairs } = &plan.groups[1].rule else { panic!("no populations") };
    assert_eq!(pairs.len(), 4);
    // Every population creates and removes the same number of files.
    for pair in pairs.iter().filter(|pair| pair.subject.starts_with("creating")) {
        let created = &plan.arms[pair.arm.0 as usize];
        let removed = plan.arms.iter().find(|planned| (planned.chain, planned.step) == (created.chain, 1));
        let removed = removed.expect("what removes it");
        assert_eq!(work(removed).operation, FileOperation::Unlink);
        assert_eq!((work(removed).from, work(removed).to), (work(created).from, work(created).to));
        assert_eq!(work(created).to - work(created).from, 200);
    }
}

#[test]
fn all_layouts_are_written_before_any_is_read() {
    let plan = planned("layout", Preset::Default);
    assert_eq!(plan.rules.order, Order::Phases);
    for planned in &plan.arms {
        let made = plan.data[planned.data.0 as usize].source.made().expect("made files");
        match (planned.step, work(planned).operation) {
            (0, FileOperation::MakeDirectories) => assert_eq!(made.directories, MakeDirectories::Before),
            (1, FileOperation::Create) | (2 | 3, FileOperation::Read) => {}
            (step, operation) => panic!("{operation:?} in step {step}"),
        }
    }
    // Three nested layouts, each with directories made beforehand and on demand, against the flat one.
    for group in &plan.groups {
        let GroupRule::Pairs { pairs } = &group.rule else { panic!("no pairs") };
        assert_eq!(pairs.len(), 6, "{}", group.name);
        assert!(pairs.iter().all(|pair| pair.than == "flat"));
    }
}

#[test]
fn reads_of_cached_files_that_memory_cannot_hold_are_named() {
    let note_at = |entries| {
        let request =
            Request { target: Target::Made { entries: vec![entries] }, ..Request::bare(Preset::Quick, 1) };
        let plan = plan(&built_in("layout").expect("a study"), &request).expect("a plan").plan;
        larger_than_memory(&plan, 24 << 30)
    };
    assert_eq!(note_at(100_000), None);
    let note = note_at(1_000_000).expect("eight copies of 4 GiB");
    assert!(note.ends_with(" of the memory of 24G"), "{note}");
}

#[test]
fn files_that_several_write_in_one_tree_are_read_and_walked_by_one() {
    let mut study = built_in("layout").expect("a study");
    let Kind::Layout(spec) = &mut study.kind else { panic!("no layouts") };
    spec.layouts = vec!["flat".into(), "digest:2".into()];
    (spec.walk, spec.writers, spec.directories) = (true, 4, vec![MakeDirectories::Before]);
    let request =
        Request { target: Target::Made { entries: vec![10_001] }, ..Request::bare(Preset::Quick, 1) };
    let plan = plan(&study, &request).expect("a plan").plan;
    let files = 10_004;
    for planned in &plan.arms {
        let work = work(planned);
        assert_eq!(
            (plan.data[planned.data.0 as usize].entries, work.files()),
            (files / 4, files),
            "{}",
            planned.name
        );
        let writes = work.operation == FileOperation::Create;
        assert_eq!(work.workers.count, if writes { 4 } else { 1 }, "{}", planned.name);
    }
    let last: Vec<FileOperation> =
        plan.arms.iter().filter(|planned| planned.step == 4).map(|planned| work(planned).operation).collect();
    assert_eq!(last, [FileOperation::Stat; 3]);
    let groups: Vec<&str> = plan.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(groups, ["write", "read", "read-2", "walk"]);
    // Files that exist once are counted once.
    assert!(estimate(&plan).inodes < 3 * (files + 300) + 100, "{:?}", estimate(&plan));
    let Kind::Layout(spec) = &mut study.kind else { panic!("no layouts") };
    spec.writers = 0;
    assert!(super::plan(&study, &request).is_err());
}

#[test]
fn small_files_live_a_whole_life_with_every_number_of_processes() {
    let plan = planned("smallfile", Preset::Published);
    assert_eq!(plan.rules.order, Order::Chains);
    let counts: Vec<u32> = plan.arms.iter().map(|planned| work(planned).workers.count).collect();
    assert_eq!(counts.iter().copied().max(), Some(2));
    let first: Vec<FileOperation> = plan
        .arms
        .iter()
        .filter(|planned| planned.chain == 0)
        .map(|planned| work(planned).operation)
        .collect();
    let life = [
        FileOperation::Create,
        FileOperation::Stat,
        FileOperation::Read,
        FileOperation::Rewrite,
        FileOperation::Unlink,
    ];
    assert_eq!(first, life);
    assert!(plan.data.iter().all(|data| data.entries == 350_000));
}

#[test]
fn the_patterns_of_mdtest_are_plain_files_in_one_directory_or_in_one_for_each_process() {
    use FileOperation::{Create, Read, Stat, Unlink};
    let of = [
        ("mdtest-easy", 0, Sharing::Own, &[Create, Stat, Unlink][..]),
        ("mdtest-hard", 3901, Sharing::Same, &[Create, Stat, Read, Unlink]),
    ];
    for (name, size_bytes, sharing, operations) in of {
        let plan = planned(name, Preset::Published);
        for planned in &plan.arms {
            let made = plan.data[planned.data.0 as usize].source.made().expect("made files");
            assert_eq!((made.size_bytes, &made.spread), (size_bytes, &Spread::Flat), "{name}");
            let work = work(planned);
            assert!(!work.owner_and_mode && work.sync == SyncPolicy::Never, "{name}");
            assert_eq!(work.access, Access::Name { order: FileOrder::AsWritten }, "{name}");
            assert_eq!((work.workers.sharing, work.operation), (sharing, operations[planned.step as usize]));
        }
        let most = plan.arms.iter().map(|planned| planned.step).max();
        assert_eq!(most, Some(operations.len() as u32 - 1), "{name}");
    }
    for operations in
        [&[Stat, Unlink][..], &[Create, Stat], &[Create, Unlink, Stat], &[Create, Create, Unlink]]
    {
        let mut study = built_in("smallfile").expect("a study");
        let Kind::SmallFiles(spec) = &mut study.kind else { panic!("no small files") };
        spec.operations = operations.to_vec();
        let error = plan(&study, &Request::bare(Preset::Quick, 7)).expect_err("no life");
        assert!(error.to_string().contains("create, any of stat, read and rewrite, and unlink"), "{error}");
    }
}

#[test]
fn study_with_one_arm_is_refused_with_a_hint_to_vary_a_factor() {
    let mut study = built_in("smallfile").expect("a study");
    let Kind::SmallFiles(spec) = &mut study.kind else { panic!("no small files") };
    (spec.workers, spec.sync, spec.cold) = (vec![2], vec![SyncPolicy::Never], Vec::new());
    spec.access.truncate(1);
    let error = plan(&study, &Request::bare(Preset::Quick, 7)).expect_err("nothing to compare");
    assert!(error.to_string().ends_with("give one option two values"), "{error}");
}

fn small(caches: &[CacheState], can: &[CacheState]) -> Result<Plan, PlanError> {
    with_caches("smallfile", caches, can)
}

fn with_caches(study: &str, caches: &[CacheState], can: &[CacheState]) -> Result<Plan, PlanError> {
    let fact = |state: CacheState| CacheFact {
        state,
        name: state.name().to_owned(),
        unavailable: (!can.contains(&state)).then(|| "not today".to_owned()),
    };
    let facts = CacheState::ALL.map(fact);
    let request = Request {
        cache_facts: &facts,
        caches: caches.to_vec(),
        drop_caches: caches.contains(&CacheState::VfsCold),
        ..Request::bare(Preset::Default, 7)
    };
    plan(&built_in(study).expect("a study"), &request).map(|planned| planned.plan)
}

/// Returns the operations in a cache state with one and with two workers, without A/A arms.
fn done(plan: &Plan, state: CacheState) -> Vec<(FileOperation, u32)> {
    let planned_arms =
        plan.arms.iter().filter(|planned| planned.cache == state && planned.role != Role::Control);
    let mut done: Vec<(FileOperation, u32)> =
        planned_arms.map(|planned| (work(planned).operation, work(planned).workers.count)).collect();
    done.sort_by_key(|(operation, count)| (format!("{operation:?}"), *count));
    done
}

#[test]
fn small_files_are_looked_at_read_and_removed_cold_where_file_systems_are_made_for_it() {
    use CacheState::{DataCold, FsCold, VfsCold, Warm};
    use FileOperation::{Read, Stat, Unlink};
    let all = [(Read, 1), (Read, 2), (Stat, 1), (Stat, 2), (Unlink, 1), (Unlink, 2)];
    let plan = small(&[], &[Warm, FsCold]).expect("a plan");
    assert_eq!((done(&plan, FsCold), plan.rules.rounds), (all.to_vec(), 21));
    let cold = plan.groups.iter().find(|group| group.name == "cache").expect("cold against warm");
    let GroupRule::Pairs { pairs } = &cold.rule else { panic!("no pairs") };
    assert_eq!(pairs.len(), 6);
    for pair in pairs {
        let [cold, warm] = [pair.arm, pair.to].map(|planned| &plan.arms[planned.0 as usize]);
        assert_eq!((cold.cache, warm.cache, &cold.work), (FsCold, Warm, &warm.work));
    }
    // Each A/A arm has its own files, in a chain that runs before or after at random.
    for control in plan.arms.iter().filter(|planned| planned.role == Role::Control && planned.cache == FsCold)
    {
        let like = |other: &&Arm| {
            other.role == Role::Baseline && (&other.work, other.cache) == (&control.work, FsCold)
        };
        let other = plan.arms.iter().find(like).expect("its like");
        assert!(other.chain != control.chain && other.data != control.data && other.step == control.step);
    }
    let control = plan.arms.iter().filter(|planned| planned.role == Role::Control && planned.cache == FsCold);
    assert_eq!(control.count(), 3);
    // A cold state that is unavailable and was not requested is silently omitted.
    let plan = small(&[], &[Warm]).expect("a plan");
    assert!(done(&plan, FsCold).is_empty() && plan.rules.rounds == 21);
    // `data-cold` affects file contents only, so stat and unlink have no arms.
    let plan = small(&[Warm, DataCold], &[Warm, DataCold]).expect("a plan");
    assert_eq!(done(&plan, DataCold), [(Read, 1), (Read, 2)]);
    // With more states than sync policies, the further states get their own chains, whose writing is in no group.
    let plan = small(&[Warm, VfsCold, FsCold], &[Warm, VfsCold, FsCold]).expect("a plan");
    assert_eq!((done(&plan, FsCold), done(&plan, VfsCold)), (all.to_vec(), all.to_vec()));
    let extra = plan.arms.iter().filter(|planned| planned.name.contains("(for fs-cold)"));
    let extra: Vec<&Arm> = extra.filter(|planned| planned.role != Role::Control).collect();
    assert_eq!(extra.len(), 2);
    assert!(
        extra
            .iter()
            .all(|planned| planned.groups.is_empty() && work(planned).operation == FileOperation::Create)
    );
    let plan = small(&[VfsCold], &[VfsCold]).expect("a plan");
    assert_eq!(done(&plan, VfsCold).len(), all.len() + 3, "once more by name");
    assert!(
        small(&[VfsCold], &[Warm])
            .expect_err("nothing")
            .to_string()
            .contains("the state vfs-cold is unavailable here: not today")
    );
}

#[test]
fn small_files_are_worked_on_by_name_too() {
    let plan = small(&[], &[CacheState::Warm]).expect("a plan");
    let group = plan.groups.iter().find(|group| group.name == "discrete").expect("by name");
    let GroupRule::Pairs { pairs } = &group.rule else { panic!("no pairs") };
    assert_eq!(pairs.len(), 5);
    for pair in pairs {
        let [name, directory] = [pair.arm, pair.to].map(|planned| work(&plan.arms[planned.0 as usize]));
        assert_eq!(name.access, Access::Name { order: FileOrder::AsWritten });
        assert_eq!(directory.access, Access::Directory);
        assert_eq!((name.operation, name.workers), (directory.operation, directory.workers));
    }
}

#[test]
fn everyone_removes_files_of_the_same_number_that_were_written_for_it() {
    let plan = planned("remove", Preset::Published);
    assert_eq!(plan.rules.order, Order::Chains);
    let removals: Vec<&Arm> =
        plan.arms.iter().filter(|planned| matches!(planned.work, Work::Remove(_))).collect();
    // The loop, rm and three worker counts on two shapes, and an A/A loop.
    assert_eq!((removals.len(), plan.arms.len()), (11, 22));
    for planned in removals {
        assert_eq!((planned.work.operations(), planned.work.change()), (Some(1_000_000), Some(-1_000_000)));
        assert!(!planned.work.leaves_all());
        let before =
            plan.arms.iter().find(|other| (other.chain, other.step) == (planned.chain, 0)).expect("a writer");
        assert_eq!((work(before).operation, work(before).files()), (FileOperation::Create, 1_000_000));
    }
    let pairs = |group: usize| match &plan.groups[group].rule {
        GroupRule::Pairs { pairs } => pairs.len(),
        _ => panic!("no pairs"),
    };
    // More workers against one, every remover against the loop, and the library against rm.
    assert_eq!((pairs(0), pairs(1), pairs(2)), (4, 8, 6));
}

#[test]
fn files_are_removed_cold_on_request() {
    use CacheState::{DataCold, FsCold, Warm};
    let of = |caches: &[CacheState]| with_caches("remove", caches, &[Warm, DataCold, FsCold]);
    let plan = of(&[Warm, DataCold, FsCold]).expect("a plan");
    let cold = |planned: &&Arm| planned.cache == FsCold;
    assert_eq!((plan.arms.iter().filter(cold).count(), plan.arms.len()), (11, 44));
    assert!(
        plan.arms.iter().filter(cold).all(|planned| {
            matches!(planned.work, Work::Remove(_)) && planned.name.ends_with(", fs-cold")
        })
    );
    assert_eq!(plan.rules.rounds, 11);
    for (group, number) in [("workers", 8), ("loop", 16), ("rm", 12), ("cache", 10)] {
        let group = plan.groups.iter().find(|known| known.name == group).expect("a group");
        let GroupRule::Pairs { pairs } = &group.rule else { panic!("no pairs") };
        assert_eq!(pairs.len(), number, "{}", group.name);
        for pair in pairs {
            let [arm, to] = [pair.arm, pair.to].map(|planned| &plan.arms[planned.0 as usize]);
            let states = if group.name == "cache" { (FsCold, Warm) } else { (arm.cache, arm.cache) };
            assert_eq!((arm.cache, to.cache), states, "{}", pair.at);
        }
    }
    let plan = of(&[FsCold]).expect("a plan");
    assert!(plan.arms.iter().all(|planned| planned.step == 0 || planned.cache == FsCold));
    assert!(of(&[DataCold]).expect_err("refused").to_string().contains("reads no file contents"));
}

#[test]
fn impossible_plans_are_refused_with_the_reason() {
    let study = built_in("layout").expect("a study");
    let request = |target, threads| Request { target, threads, ..Request::bare(Preset::Quick, 7) };
    let refused = |target, threads, message: &str| {
        let error = plan(&study, &request(target, threads)).expect_err("refused").to_string();
        assert!(error.contains(message), "{error}");
    };
    let existing = Target::Existing { path: "/data".into(), entries: 5 };
    refused(existing, Vec::new(), "only in a private directory");
    refused(Target::Made { entries: vec![10, 20] }, Vec::new(), "expected one number");
}

#[test]
fn every_study_names_the_groups_of_its_question() {
    let answers = [
        ("fill", vec!["fill"]),
        ("layout", vec!["write", "read"]),
        ("smallfile", vec!["scaling"]),
        ("remove", vec!["workers"]),
        ("limits", vec!["refusal"]),
        ("lookup", vec!["growth"]),
    ];
    for (study, expected) in answers {
        let plan = planned(study, Preset::Default);
        let of: Vec<&str> =
            plan.groups.iter().filter(|group| group.answers).map(|group| group.name.as_str()).collect();
        assert_eq!(of, expected, "{study}");
    }
}
