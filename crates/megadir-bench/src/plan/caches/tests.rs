//! Arms in cold states, and refused requests.

use super::*;
use crate::plan::{BackendFact, Planned, Target, plan};
use crate::study::built_in;
use megadir_record::{Keys, Plan, Work};

fn facts() -> Vec<CacheFact> {
    let fact =
        |state: CacheState| CacheFact { state, name: format!("guest-{}", state.name()), unavailable: None };
    [CacheState::Warm, CacheState::DataCold, CacheState::VfsCold].into_iter().map(fact).collect()
}

fn backends() -> Vec<BackendFact> {
    let fact = |name, threads_max, buffer_fixed| BackendFact {
        threads_max,
        buffer_fixed,
        ..BackendFact::bare(name)
    };
    vec![
        fact("std", 1, Some(32 << 10)),
        fact("readdir", 1, Some(32 << 10)),
        fact("getdents", 1, None),
        fact("split", 256, None),
    ]
}

fn planned(
    study: &str,
    caches: &[CacheState],
    facts: &[CacheFact],
    rounds: Option<u32>,
) -> Result<Planned, PlanError> {
    let request = Request {
        rounds,
        facts: &backends(),
        caches: caches.to_vec(),
        drop_caches: true,
        cache_facts: facts,
        ..Request::bare(Preset::Quick, 5)
    };
    plan(&built_in(study).unwrap(), &request)
}

fn cold(plan: &Plan) -> Vec<&Arm> {
    plan.arms.iter().filter(|planned| planned.cache.is_cold()).collect()
}

const BOTH: [CacheState; 2] = [CacheState::VfsCold, CacheState::Warm];

#[test]
fn every_arm_has_a_cold_twin_in_groups_of_its_own() {
    for study in ["lookup", "listing"] {
        let warm = {
            let request = planned(study, &[CacheState::VfsCold], &facts(), None).unwrap().plan;
            assert!(request.arms.iter().all(|planned| planned.cache == CacheState::VfsCold));
            assert!(request.groups.iter().all(|group| group.name.ends_with("-guest-vfs-cold")));
            request.arms.len()
        };
        let plan = planned(study, &BOTH, &facts(), None).unwrap().plan;
        assert_eq!((plan.arms.len(), cold(&plan).len()), (2 * warm, warm), "{study}");
        assert!(plan.arms.iter().enumerate().all(|(place, planned)| planned.id.0 as usize == place));
        assert_eq!(plan.rules.rounds, COLD_ROUNDS_MIN);
        for planned in &plan.arms {
            assert!(planned.groups.iter().all(|name| plan.groups.iter().any(|group| group.name == *name)));
            assert_eq!(
                planned.name.ends_with(", guest-vfs-cold"),
                planned.cache.is_cold(),
                "{}",
                planned.name
            );
        }
        // An A/A arm in each state, next to a baseline in the same state.
        let controls: Vec<&Arm> = plan.arms.iter().filter(|planned| planned.role == Role::Control).collect();
        assert_eq!(controls.len(), 2);
        for planned in controls {
            let baseline = &plan.arms[planned.id.0 as usize - 1];
            assert_eq!((baseline.role, baseline.cache), (Role::Baseline, planned.cache));
            assert_eq!((&baseline.work, baseline.operations), (&planned.work, planned.operations));
        }
        let cache = plan.groups.iter().find(|group| group.name == "cache").unwrap();
        let GroupRule::Pairs { pairs } = &cache.rule else { panic!("{cache:?}") };
        assert_eq!(pairs.len(), warm - 1);
        for pair in pairs {
            let [arm, to] = [pair.arm, pair.to].map(|id| &plan.arms[id.0 as usize]);
            assert_eq!((arm.cache, to.cache), (CacheState::VfsCold, CacheState::Warm));
            assert_eq!((&arm.work, arm.data), (&to.work, to.data));
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn commands_that_change_their_files_have_cold_twins() {
    let text = include_str!("../../../../megadir-cli/bench/reshard.toml");
    let study = crate::study::from_text("reshard.toml", text).unwrap();
    let facts = facts();
    let of = |caches: &[CacheState]| {
        let request = Request { caches: caches.to_vec(), drop_caches: true, cache_facts: &facts, ..bare() };
        plan(&study, &request).unwrap().plan.arms
    };
    let both = of(&BOTH);
    assert_eq!(2 * both.iter().filter(|arm| arm.cache.is_cold()).count(), both.len());
    let only = of(&[CacheState::VfsCold]);
    assert!(only.len() * 2 == both.len() && only.iter().all(|arm| arm.cache.is_cold()));
    // Contents are not dropped for them.
    let request = Request { caches: vec![CacheState::DataCold], cache_facts: &facts, ..bare() };
    let refused = plan(&study, &request).unwrap_err().to_string();
    assert!(refused.contains("the arms that read file contents change their files"), "{refused}");
}

#[test]
fn one_drop_serves_few_names_each_looked_up_once() {
    let plan = planned("lookup", &BOTH, &facts(), None).unwrap().plan;
    for planned in cold(&plan) {
        let entries = plan.data[planned.data.0 as usize].entries;
        let operations = planned.operations.unwrap();
        let fixed = matches!(planned.work, Work::Lookup { keys: Keys::Fixed, .. });
        assert!(operations == 1 || !fixed && operations <= entries / 100, "{}", planned.name);
    }
    assert!(cold(&plan).iter().any(|planned| planned.operations == Some(500)));
    assert!(
        plan.arms
            .iter()
            .filter(|planned| !planned.cache.is_cold())
            .all(|planned| planned.operations.is_none())
    );
    let listing = planned("listing", &BOTH, &facts(), Some(20)).unwrap().plan;
    assert!(cold(&listing).iter().all(|planned| planned.operations == Some(1)));
    assert_eq!(listing.rules.rounds, 20);
}

#[test]
fn small_own_directories_can_be_recreated_before_every_block() {
    let unseen = |unavailable| CacheFact { state: CacheState::Unseen, name: "unseen".into(), unavailable };
    let states = [CacheState::Warm, CacheState::Unseen];
    let request = |target| Request {
        caches: states.to_vec(),
        cache_facts: &[],
        facts: &[],
        target,
        ..Request::bare(Preset::Quick, 5)
    };
    let (made, facts) = (Target::Made { entries: vec![10_001, 10_000, 1] }, [unseen(None)]);
    let planned =
        plan(&built_in("lookup").unwrap(), &Request { cache_facts: &facts, ..request(made) }).unwrap().plan;
    let of = |entries: u64| {
        let planned_arms = cold(&planned).into_iter();
        planned_arms.filter(|arm| planned.data[arm.data.0 as usize].entries == entries).count()
    };
    assert_eq!((of(10_001), of(10_000) > 0, of(1) > 0), (0, true, true));
    assert!(
        cold(&planned)
            .iter()
            .all(|planned| planned.name.ends_with(", unseen") && planned.operations.is_some())
    );
    assert_eq!(planned.rules.rounds, COLD_ROUNDS_MIN);
    let existing = Target::Existing { path: "/d".into(), entries: 1000 };
    for target in [existing, Target::Made { entries: vec![20_000] }] {
        let planned =
            plan(&built_in("lookup").unwrap(), &Request { cache_facts: &facts, ..request(target) }).unwrap();
        let note = planned.notes.iter().find(|note| note.text.contains("state unseen")).unwrap();
        assert!(note.text.contains("data sets created by the run, of at most 10000 files"), "{}", note.text);
        assert!(cold(&planned.plan).is_empty());
    }
}

#[test]
fn unavailable_cache_states_are_left_out_or_refused() {
    let mut none = facts();
    none[2].unavailable = Some("only root may".into());
    let left = planned("lookup", &BOTH, &none, None).unwrap();
    assert!(cold(&left.plan).is_empty() && left.plan.groups.iter().all(|group| group.name != "cache"));
    assert!(left.notes.iter().any(|note| note.text.contains("vfs-cold is unavailable here: only root may")));
    let refused = |study, caches: &[CacheState], facts: &[CacheFact], rounds| {
        planned(study, caches, facts, rounds).unwrap_err().to_string()
    };
    assert!(refused("lookup", &[CacheState::VfsCold], &none, None).contains("only root may"));
    assert!(refused("lookup", &[CacheState::VfsCold], &[], None).contains("is unknown here"));
    assert!(refused("lookup", &BOTH, &facts(), Some(10)).contains("needs at least 11"));
    let changes = refused("limits", &[CacheState::VfsCold], &facts(), None);
    assert!(changes.contains("every arm changes its files"), "{changes}");
    // A permission that no state needs, and a state without its permission.
    let useless = refused("lookup", &[CacheState::DataCold], &facts(), None);
    assert!(useless.contains("--cache vfs-cold"), "{useless}");
    let request = Request { drop_caches: false, caches: BOTH.to_vec(), ..bare() };
    let forbidden = plan(&built_in("lookup").unwrap(), &request).unwrap_err().to_string();
    assert!(forbidden.contains("allow that with --drop-caches"), "{forbidden}");
    let request = Request { caches: vec![CacheState::Warm, CacheState::DataCold], ..bare() };
    let same = plan(
        &built_in("listing").unwrap(),
        &Request { facts: &backends(), cache_facts: &facts(), ..request },
    );
    let same = same.unwrap();
    assert!(cold(&same.plan).is_empty());
    assert!(same.notes.iter().any(|note| note.text.contains("it would equal warm")));
}

fn bare() -> Request<'static> {
    Request::bare(Preset::Quick, 5)
}

#[test]
fn a_study_may_name_its_states() {
    let text = include_str!("../../../studies/lookup.toml").replacen(
        "rounds = 30",
        "rounds = 30\ncache = [\"warm\", \"vfs-cold\"]",
        1,
    );
    let study = crate::study::from_text("own.toml", &text).unwrap();
    let facts = facts();
    let request = Request { drop_caches: true, cache_facts: &facts, ..bare() };
    assert!(!cold(&plan(&study, &request).unwrap().plan).is_empty());
    let warm = Request { caches: vec![CacheState::Warm], cache_facts: &facts, ..bare() };
    assert!(cold(&plan(&study, &warm).unwrap().plan).is_empty());
}
