//! Plans of studies that create, read and remove files.

use std::collections::BTreeMap;

use megadir_record::{
    Access, CacheState, Cell, FileOperation, FileOrder, FileWork, GroupRule, MakeDirectories, Order, Plan,
    Role, Work,
};

use super::*;
use crate::study::built_in;

fn planned(name: &str, preset: Preset) -> Plan {
    let request = Request::bare(preset, 7);
    plan(&built_in(name).expect("a study"), &request).expect("a plan").plan
}

fn work(cell: &Cell) -> &FileWork {
    let Work::Files(work) = &cell.work else { panic!("{} works on no files", cell.name) };
    work
}

#[test]
fn arms_have_names_of_their_own_and_every_chain_has_its_own_files() {
    for name in ["fill", "layout", "smallfile", "remove"] {
        for preset in [Preset::Quick, Preset::Default, Preset::Published] {
            let plan = planned(name, preset);
            let mut data_of: BTreeMap<u32, DataId> = BTreeMap::new();
            for (index, cell) in plan.cells.iter().enumerate() {
                assert!(!plan.cells[..index].iter().any(|other| other.name == cell.name), "{}", cell.name);
                assert_eq!(*data_of.entry(cell.chain).or_insert(cell.data), cell.data, "{}", cell.name);
            }
            assert_eq!(data_of.len(), plan.data.len());
            let itself = plan.cells.iter().filter(|cell| cell.role == Role::AgainstItself);
            for cell in itself.clone() {
                let like = |cell: &Cell| (cell.work.clone(), cell.cache);
                let same = |other: &&Cell| other.role == Role::Baseline && like(other) == like(cell);
                assert!(plan.cells.iter().any(|other| same(&other)), "{}", cell.name);
            }
            assert!(itself.count() > 0);
        }
    }
}

#[test]
fn a_filling_goes_from_nothing_to_all_without_a_gap() {
    let plan = planned("fill", Preset::Published);
    assert_eq!(plan.rules.order, Order::Chains);
    let GroupRule::Fill { arms } = &plan.groups[0].rule else { panic!("no filling") };
    let cells: Vec<&Cell> = arms.iter().map(|arm| &plan.cells[arm.0 as usize]).collect();
    assert_eq!((work(cells[0]).from, work(cells[19]).to, cells.len()), (0, 1_000_000, 20));
    assert!(cells.windows(2).all(|two| work(two[0]).to == work(two[1]).from && two[0].step < two[1].step));
    let GroupRule::Pairs { pairs } = &plan.groups[1].rule else { panic!("no populations") };
    assert_eq!(pairs.len(), 4);
    // Every population creates and removes the same number of files.
    for pair in pairs.iter().filter(|pair| pair.what.starts_with("creating")) {
        let created = &plan.cells[pair.arm.0 as usize];
        let removed = plan.cells.iter().find(|cell| (cell.chain, cell.step) == (created.chain, 1));
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
    for cell in &plan.cells {
        let made = plan.data[cell.data.0 as usize].source.made().expect("made files");
        match (cell.step, work(cell).operation) {
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
fn files_that_several_write_in_one_tree_are_read_and_walked_by_one() {
    let mut study = built_in("layout").expect("a study");
    let Kind::Layout(spec) = &mut study.kind else { panic!("no layouts") };
    spec.layouts = vec!["flat".into(), "digest:2".into()];
    (spec.walk, spec.writers, spec.directories) = (true, 4, vec![MakeDirectories::Before]);
    let request =
        Request { target: Target::Made { entries: vec![10_001] }, ..Request::bare(Preset::Quick, 1) };
    let plan = plan(&study, &request).expect("a plan").plan;
    let files = 10_004;
    for cell in &plan.cells {
        let work = work(cell);
        assert_eq!(
            (plan.data[cell.data.0 as usize].entries, work.files()),
            (files / 4, files),
            "{}",
            cell.name
        );
        let writes = work.operation == FileOperation::Create;
        assert_eq!(work.workers.count, if writes { 4 } else { 1 }, "{}", cell.name);
    }
    let last: Vec<FileOperation> =
        plan.cells.iter().filter(|cell| cell.step == 4).map(|cell| work(cell).operation).collect();
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
    let counts: Vec<u32> = plan.cells.iter().map(|cell| work(cell).workers.count).collect();
    assert_eq!(counts.iter().copied().max(), Some(2));
    let first: Vec<FileOperation> =
        plan.cells.iter().filter(|cell| cell.chain == 0).map(|cell| work(cell).operation).collect();
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
fn what_has_one_value_of_everything_is_told_to_take_two_of_something() {
    let mut study = built_in("smallfile").expect("a study");
    let Kind::SmallFiles(spec) = &mut study.kind else { panic!("no small files") };
    (spec.workers, spec.sync, spec.cold) = (vec![2], vec![megadir_record::SyncPolicy::Never], Vec::new());
    spec.access.truncate(1);
    let error = plan(&study, &Request::bare(Preset::Quick, 7)).expect_err("nothing to compare");
    assert!(error.to_string().ends_with("give one option two values"), "{error}");
}

/// Plans the study of small files with the requested and the available cache states.
fn small(caches: &[CacheState], can: &[CacheState]) -> Result<Plan, PlanError> {
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
    plan(&built_in("smallfile").expect("a study"), &request).map(|planned| planned.plan)
}

/// Returns the operations in a cache state with one and with two workers, without A/A arms.
fn done(plan: &Plan, state: CacheState) -> Vec<(FileOperation, u32)> {
    let cells = plan.cells.iter().filter(|cell| cell.cache == state && cell.role != Role::AgainstItself);
    let mut done: Vec<(FileOperation, u32)> =
        cells.map(|cell| (work(cell).operation, work(cell).workers.count)).collect();
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
        let [cold, warm] = [pair.arm, pair.to].map(|cell| &plan.cells[cell.0 as usize]);
        assert_eq!((cold.cache, warm.cache, &cold.work), (FsCold, Warm, &warm.work));
    }
    // Each A/A arm has its own files, in a chain that runs before or after at random.
    for itself in plan.cells.iter().filter(|cell| cell.role == Role::AgainstItself && cell.cache == FsCold) {
        let like = |other: &&Cell| {
            other.role == Role::Baseline && (&other.work, other.cache) == (&itself.work, FsCold)
        };
        let other = plan.cells.iter().find(like).expect("its like");
        assert!(other.chain != itself.chain && other.data != itself.data && other.step == itself.step);
    }
    let itself = plan.cells.iter().filter(|cell| cell.role == Role::AgainstItself && cell.cache == FsCold);
    assert_eq!(itself.count(), 3);
    // A cold state that is unavailable and was not requested is silently omitted.
    let plan = small(&[], &[Warm]).expect("a plan");
    assert!(done(&plan, FsCold).is_empty() && plan.rules.rounds == 21);
    // `data-cold` affects file contents only, so stat and unlink have no arms.
    let plan = small(&[Warm, DataCold], &[Warm, DataCold]).expect("a plan");
    assert_eq!(done(&plan, DataCold), [(Read, 1), (Read, 2)]);
    // With more states than sync policies, the further states get their own chains, whose writing is in no
    // group.
    let plan = small(&[Warm, VfsCold, FsCold], &[Warm, VfsCold, FsCold]).expect("a plan");
    assert_eq!((done(&plan, FsCold), done(&plan, VfsCold)), (all.to_vec(), all.to_vec()));
    let extra = plan.cells.iter().filter(|cell| cell.name.contains("(for fs-cold)"));
    let extra: Vec<&Cell> = extra.filter(|cell| cell.role != Role::AgainstItself).collect();
    assert_eq!(extra.len(), 2);
    assert!(extra.iter().all(|cell| cell.groups.is_empty() && work(cell).operation == FileOperation::Create));
    let plan = small(&[VfsCold], &[VfsCold]).expect("a plan");
    assert_eq!(done(&plan, VfsCold).len(), all.len() + 3, "once more by name");
    assert!(
        small(&[VfsCold], &[Warm])
            .expect_err("nothing")
            .to_string()
            .contains("none of the requested cache states")
    );
}

#[test]
fn small_files_are_worked_on_by_name_too() {
    let plan = small(&[], &[CacheState::Warm]).expect("a plan");
    let group = plan.groups.iter().find(|group| group.name == "discrete").expect("by name");
    let GroupRule::Pairs { pairs } = &group.rule else { panic!("no pairs") };
    assert_eq!(pairs.len(), 5);
    for pair in pairs {
        let [name, directory] = [pair.arm, pair.to].map(|cell| work(&plan.cells[cell.0 as usize]));
        assert_eq!(name.access, Access::Name { order: FileOrder::AsWritten });
        assert_eq!(directory.access, Access::Directory);
        assert_eq!((name.operation, name.workers), (directory.operation, directory.workers));
    }
}

#[test]
fn everyone_removes_files_of_the_same_number_that_were_written_for_it() {
    let plan = planned("remove", Preset::Published);
    assert_eq!(plan.rules.order, Order::Chains);
    let removals: Vec<&Cell> =
        plan.cells.iter().filter(|cell| matches!(cell.work, Work::Remove(_))).collect();
    // The loop, rm and three worker counts on two shapes, and an A/A loop.
    assert_eq!((removals.len(), plan.cells.len()), (11, 22));
    for cell in removals {
        assert_eq!((cell.work.operations(), cell.work.change()), (Some(1_000_000), Some(-1_000_000)));
        assert!(!cell.work.leaves_all());
        let before =
            plan.cells.iter().find(|other| (other.chain, other.step) == (cell.chain, 0)).expect("a writer");
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
fn what_cannot_be_planned_says_why() {
    let study = built_in("layout").expect("a study");
    let request = |target, threads| Request { target, threads, ..Request::bare(Preset::Quick, 7) };
    let refused = |target, threads, says: &str| {
        let error = plan(&study, &request(target, threads)).expect_err("refused").to_string();
        assert!(error.contains(says), "{error}");
    };
    let existing = Target::Existing { path: "/data".into(), entries: 5 };
    refused(existing, Vec::new(), "only in a private directory");
    refused(Target::Made { entries: vec![10, 20] }, Vec::new(), "expected one number");
}

#[test]
fn every_study_says_which_groups_answer_its_question() {
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
