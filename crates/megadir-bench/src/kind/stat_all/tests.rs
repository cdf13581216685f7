//! Plans of attribute studies, and refused requests.

use megadir_record::{Arm, ArmId, CacheState, GroupRule, Preset, Role, Work};

use crate::method::{METHODS, MethodFact, Threads};
use crate::plan::{CacheFact, PlanError, Planned, Request, estimate, plan};
#[cfg(not(windows))]
use crate::plan::{Target, prune};
use crate::study::{BUILT_IN, built_in, from_text};

fn facts(missing: &[&str]) -> Vec<MethodFact> {
    let reason = |name: &str| missing.contains(&name).then(|| "not on this machine".to_owned());
    let fact = |method| MethodFact { method, unavailable: reason(method.name), processors: 3 };
    METHODS.iter().map(fact).collect()
}

fn request(methods: &[MethodFact]) -> Request<'_> {
    Request { methods, ..Request::bare(Preset::Default, 7) }
}

fn planned(study: &str, request: &Request<'_>) -> Result<Planned, PlanError> {
    plan(&built_in(study).unwrap(), request)
}

fn entries(planned: &Planned, id: ArmId) -> u64 {
    planned.plan.data[planned.plan.arms[id.0 as usize].data.0 as usize].entries
}

#[test]
fn every_method_meets_the_first_on_every_size_and_is_followed_through_all() {
    let methods = facts(&[]);
    let planned = planned("attributes", &request(&methods)).unwrap();
    let groups: Vec<&str> = planned.plan.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(groups, ["1000 files", "2000 files", "5000 files", "100000 files", "growth"]);
    let of = |group: &str| {
        let member = |planned: &&Arm| planned.groups.iter().any(|name| name == group);
        planned.plan.arms.iter().filter(member).collect::<Vec<_>>()
    };
    let many = METHODS.iter().filter(|method| method.threads == Threads::Requested).count();
    for group in &planned.plan.groups[..4] {
        let GroupRule::Compare { baseline } = group.rule else { panic!("{}", group.name) };
        let planned_arms = of(&group.name);
        // Each method once, multi-threaded ones twice, and an A/A arm of the first.
        assert_eq!(planned_arms.len(), METHODS.len() + many + 1, "{}", group.name);
        assert!(planned_arms.iter().all(|arm| entries(&planned, arm.id) == entries(&planned, baseline)));
        assert_eq!(planned_arms.iter().filter(|planned| planned.role == Role::Baseline).count(), 1);
        let Work::Attributes { method, expected, .. } = &planned.plan.arms[baseline.0 as usize].work else {
            panic!()
        };
        assert_eq!((method.as_str(), *expected), (METHODS[0].name, None));
    }
    let GroupRule::Grow { series } = &planned.plan.groups[4].rule else { panic!() };
    for (name, arms) in series {
        let sizes: Vec<u64> = arms.iter().map(|arm| entries(&planned, *arm)).collect();
        assert_eq!(sizes, [1000, 2000, 5000, 100_000], "{name}");
    }
    let answers = planned.plan.groups.iter().filter(|group| group.answers).map(|group| group.name.as_str());
    assert_eq!(answers.collect::<Vec<_>>(), ["100000 files"], "the largest directory");
    let names: std::collections::BTreeSet<&str> =
        planned.plan.arms.iter().map(|planned| planned.name.as_str()).collect();
    assert_eq!(names.len(), planned.plan.arms.len(), "every arm has a name of its own");
    assert!(estimate(&planned.plan).elapsed_ns > 1_000_000_000);
}

#[test]
fn published_figures_refer_to_existing_groups() {
    let methods = facts(&[]);
    let mut request = request(&methods);
    for preset in [Preset::Quick, Preset::Default, Preset::Published] {
        request.preset = preset;
        let planned = planned("attributes", &request).unwrap();
        for figure in &planned.plan.published {
            let group = figure.group.as_deref().unwrap();
            assert!(planned.plan.groups.iter().any(|of_plan| of_plan.name == group), "{group}");
            assert!(figure.unlike.is_some(), "{}: no reason although ours is unavailable", figure.quantity);
            let first = figure.quantity.ends_with(", first run");
            assert_eq!(figure.ours.is_none(), first, "{}: all is cached", figure.quantity);
        }
    }
}

#[test]
fn figures_of_first_runs_refer_to_the_coldest_existing_twins() {
    let methods = facts(&[]);
    let fact = |state: CacheState| CacheFact { state, name: state.name().into(), unavailable: None };
    let caches = CacheState::ALL.map(fact);
    for (state, end) in [(CacheState::Unseen, "-unseen"), (CacheState::VfsCold, "-vfs-cold")] {
        let chosen = Request {
            preset: Preset::Quick,
            caches: vec![CacheState::Warm, CacheState::Unseen, state],
            cache_facts: &caches,
            drop_caches: state == CacheState::VfsCold,
            ..request(&methods)
        };
        let planned = planned("attributes", &chosen).unwrap();
        for figure in &planned.plan.published {
            let group = figure.group.as_deref().unwrap();
            assert!(planned.plan.groups.iter().any(|of_plan| of_plan.name == group), "{group}");
            assert_eq!(
                group.ends_with(end),
                figure.quantity.ends_with(", first run"),
                "{group}: {}",
                figure.quantity
            );
            assert!(figure.ours.is_some() && figure.unlike.is_some());
        }
    }
}

#[test]
fn unavailable_method_is_left_out_with_one_line() {
    let unavailable = METHODS[5].name;
    let methods = facts(&[unavailable]);
    let planned = planned("attributes", &request(&methods)).unwrap();
    let texts: Vec<&str> = planned.notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(texts, [format!("Method {unavailable}: not on this machine.")]);
    assert!(!planned.plan.arms.iter().any(|planned| planned.name.starts_with(&format!("{unavailable} of"))));
    let methods = facts(&[METHODS[0].name]);
    let error = plan(&built_in("attributes").unwrap(), &request(&methods)).unwrap_err();
    assert!(matches!(error, PlanError::NoBaseline { .. }), "{error}");
}

#[test]
fn methods_of_other_systems_are_left_out_with_one_line() {
    let methods = facts(&[]);
    let foreign = if cfg!(windows) { ("readdir-fstatat", "Linux") } else { ("by-handle", "Windows") };
    let study = |names: &str| {
        let text = BUILT_IN.iter().find(|study| study.name == "attributes").unwrap().text;
        from_text("own.toml", &text.replacen("methods = []", &format!("methods = [{names}]"), 1)).unwrap()
    };
    let (own, others) = (METHODS[0].name, METHODS[1].name);
    let named = study(&format!("\"{own}\", \"{}\", \"{others}\"", foreign.0));
    let planned = plan(&named, &request(&methods)).unwrap();
    let expected = format!("Method {}: a method for {}.", foreign.0, foreign.1);
    assert_eq!(planned.notes.iter().map(|note| &note.text).collect::<Vec<_>>(), [&expected]);
    let error = plan(&study(&format!("\"{}\"", foreign.0)), &request(&methods)).unwrap_err();
    assert!(error.to_string().ends_with(&format!("a method for {}", foreign.1)), "{error}");
}

#[test]
fn threads_that_no_method_has_are_refused() {
    let several: Vec<_> = METHODS.iter().filter(|method| method.threads == Threads::Requested).collect();
    let methods = facts(&several.iter().map(|method| method.name).collect::<Vec<_>>());
    let chosen = Request { threads: vec![1], ..request(&methods) };
    let error = plan(&built_in("attributes").unwrap(), &chosen).unwrap_err();
    assert!(error.to_string().contains("no method available here has threads"), "{error}");
}

#[cfg(not(windows))]
#[test]
fn threads_can_be_chosen_and_backends_cannot() {
    let methods = facts(&[]);
    let target = Target::Existing { path: "/d".into(), entries: 5000 };
    let chosen = Request { threads: vec![1], target, ..request(&methods) };
    // Thread counts are checked against the backends' limits, and this test has no backends.
    let planned = planned("attributes", &chosen).unwrap();
    let groups: Vec<&str> = planned.plan.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(groups, ["5000 files"]);
    assert!(planned.notes[0].text.contains("only one size"));
    for study in ["attributes", "stat-or-list"] {
        let refused = Request { backends: vec!["std".into()], ..request(&methods) };
        let error = plan(&built_in(study).unwrap(), &refused).unwrap_err();
        assert!(matches!(error, PlanError::Value { .. } | PlanError::UnknownBackend { .. }), "{error}");
    }
    let refused = Request { threads: vec![1], ..request(&methods) };
    assert!(matches!(plan(&built_in("stat-or-list").unwrap(), &refused), Err(PlanError::Value { .. })));
}

#[test]
fn every_size_is_listed_by_every_method_and_queried_for_every_share() {
    let methods = facts(&[]);
    let planned = planned("stat-or-list", &request(&methods)).unwrap();
    let [group] = &planned.plan.groups[..] else { panic!("{:?}", planned.plan.groups) };
    let GroupRule::BreakEven { series } = &group.rule else { panic!() };
    // One of the study's two methods is Linux's.
    let (lists, first) = if cfg!(windows) { (1, "policy") } else { (2, "getdents-statx") };
    assert_eq!(series.len(), 3 * lists);
    for arms in series {
        let files = entries(&planned, arms.list);
        let queried: Vec<u64> = arms
            .stat_some
            .iter()
            .map(|arm| match planned.plan.arms[arm.0 as usize].work {
                Work::StatSome { files } => files,
                _ => panic!("an arm that does not ask"),
            })
            .collect();
        assert!(
            queried.is_sorted() && queried.len() == 7 && queried.last() == Some(&files),
            "{}: {queried:?}",
            arms.name
        );
        assert!(arms.stat_some.iter().all(|arm| entries(&planned, *arm) == files));
    }
    let controls = planned.plan.arms.iter().filter(|planned| planned.role == Role::Control);
    assert_eq!(
        controls.map(|planned| planned.name.as_str()).collect::<Vec<_>>(),
        [format!("{first} of 100 000 (itself)")]
    );
}

#[cfg(not(windows))]
#[test]
fn impossible_shares_leave_the_others() {
    let methods = facts(&["policy"]);
    let planned = planned("stat-or-list", &request(&methods)).unwrap();
    assert_eq!(planned.notes[0].text, "Method policy: not on this machine.");
    let last = planned.plan.arms.iter().find(|planned| planned.name == "ask 100 000 of 100 000").unwrap().id;
    let left = prune(planned.plan, &[(last, "too many".into())]).unwrap();
    let GroupRule::BreakEven { series } = &left.plan.groups[0].rule else { panic!() };
    assert_eq!(series.iter().map(|arms| arms.stat_some.len()).collect::<Vec<_>>(), [7, 7, 6]);
}
