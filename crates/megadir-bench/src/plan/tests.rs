//! Contents of plans, and refused requests.

mod files;

use std::collections::HashSet;

use super::*;
use crate::method::{METHODS, MethodFact};
use crate::study::{BUILT_IN, Kind, Study, built_in};
use megadir_record::{
    ArmId, Axes, DataSource, GroupRule, LookupCall, Made, NameScheme, Preset, Role, SizeLaw, Spread, Stage,
    When, Work,
};

impl BackendFact {
    pub(crate) fn bare(name: &'static str) -> Self {
        Self {
            name,
            unavailable: None,
            threads_max: 1,
            shares_per_thread: None,
            buffer_fixed: None,
            buffer_bytes: (4096, 16 << 20),
        }
    }
}

fn fact(name: &'static str, threads_max: u32, buffer_fixed: Option<u64>) -> BackendFact {
    BackendFact {
        threads_max,
        shares_per_thread: (threads_max > 1).then_some(8),
        buffer_fixed,
        ..BackendFact::bare(name)
    }
}

fn facts() -> Vec<BackendFact> {
    vec![
        fact("std", 1, Some(32 << 10)),
        fact("readdir", 1, Some(32 << 10)),
        fact("getdents", 1, None),
        fact("split", 256, None),
    ]
}

fn request(facts: &[BackendFact]) -> Request<'_> {
    Request { facts, ..Request::bare(Preset::Default, 7) }
}

fn listing() -> Study {
    built_in("listing").unwrap()
}

fn group_names(planned: &Planned) -> Vec<&str> {
    planned.plan.groups.iter().map(|group| group.name.as_str()).collect()
}

#[test]
fn the_listing_study_becomes_arms_that_are_named_once() {
    let facts = facts();
    let planned = plan(&listing(), &request(&facts)).unwrap();
    assert_eq!(group_names(&planned), ["buffer", "backend", "threads", "decomposition", "growth"]);
    assert!(planned.notes.is_empty());
    let planned_arms = &planned.plan.arms;
    for (index, planned) in planned_arms.iter().enumerate() {
        assert_eq!(planned.id.0 as usize, index);
        assert!(!planned_arms[..index].iter().any(|other| other.name == planned.name), "{}", planned.name);
        let same = |other: &&megadir_record::Arm| other.work == planned.work && other.data == planned.data;
        let expected = if planned_arms[..2].contains(planned) { 2 } else { 1 };
        assert_eq!(planned_arms.iter().filter(same).count(), expected, "{}", planned.name);
    }
    assert_eq!((planned_arms[0].role, planned_arms[1].role), (Role::Baseline, Role::Control));
    assert_eq!(planned_arms[0].work, planned_arms[1].work);
    let entries: Vec<u64> = planned.plan.data.iter().map(|data| data.entries).collect();
    assert_eq!(entries, [100_000, 1_000, 10_000]);
}

#[test]
fn the_two_programs_differ_by_one_thing_a_step() {
    let facts = facts();
    let planned = plan(&listing(), &request(&facts)).unwrap();
    let rule = planned.plan.groups.iter().find(|group| group.name == "decomposition").unwrap();
    let GroupRule::Decompose { slow, fast, .. } = &rule.rule else { panic!("not a decomposition") };
    assert_eq!(slow[0].1, fast[0].1, "both programs begin with the same arm");
    let stages = |id: ArmId| match &planned.plan.arms[id.0 as usize].work {
        Work::List { stages, .. } => stages.clone(),
        _ => Vec::new(),
    };
    assert_eq!(*stages(slow.last().unwrap().1).last().unwrap(), Stage::Write);
    for steps in [slow, fast] {
        for pair in steps.windows(2) {
            let added = stages(pair[1].1).len() - stages(pair[0].1).len();
            assert!(added <= 1, "{}", pair[1].0);
        }
    }
    let factors: Vec<&str> = slow.iter().map(|step| step.0.as_str()).collect();
    assert!(factors.contains(&"buffer") && factors.contains(&"readdir call"));
}

#[test]
fn unavailable_arms_become_notes() {
    let mut facts = facts();
    facts[3].unavailable = Some("tmpfs positions descend".into());
    let planned = plan(&listing(), &request(&facts)).unwrap();
    assert_eq!(group_names(&planned), ["buffer", "backend", "decomposition", "growth"]);
    assert!(planned.notes.iter().all(|note| note.text.contains("tmpfs positions descend")));
    assert_eq!(planned.notes.len(), 2);
    facts[2].unavailable = Some("gone".into());
    let error = plan(&listing(), &request(&facts)).unwrap_err();
    assert!(matches!(error, PlanError::NoBaseline { .. }), "{error}");
}

#[test]
fn chosen_values_are_crossed_and_replace_the_groups() {
    let facts = facts();
    let request = Request {
        backends: vec!["getdents".into(), "split".into()],
        threads: vec![1, 2],
        rounds: Some(5),
        ..request(&facts)
    };
    let planned = plan(&listing(), &request).unwrap();
    assert_eq!(group_names(&planned), ["chosen"]);
    let names: Vec<&str> = planned.plan.arms.iter().map(|planned| planned.name.as_str()).collect();
    let expected = [
        "getdents 128 KiB",
        "getdents 128 KiB (itself)",
        "split 128 KiB, 1 thread",
        "split 128 KiB, 2 threads",
    ];
    assert_eq!(names, expected);
    assert_eq!(planned.notes.len(), 1, "getdents with 2 threads is said to be impossible");
    assert_eq!(planned.plan.rules.rounds, 5);
    assert_eq!(planned.plan.rules.order, Order::SeededPermutation);
}

#[test]
fn several_sizes_make_the_growth() {
    let facts = facts();
    let target = Target::Made { entries: vec![500, 2_000, 500] };
    let planned = plan(&listing(), &Request { target, ..request(&facts) }).unwrap();
    let entries: Vec<u64> = planned.plan.data.iter().map(|data| data.entries).collect();
    assert_eq!(entries, [2_000, 500]);
    assert!(group_names(&planned).contains(&"growth"));
}

#[test]
fn an_existing_directory_has_one_size() {
    let facts = facts();
    let target = Target::Existing { path: "d".into(), entries: 5_000 };
    let planned = plan(&listing(), &Request { target, ..request(&facts) }).unwrap();
    assert!(!group_names(&planned).contains(&"growth"));
    assert!(planned.notes[0].text.contains("only one size"));
    assert_eq!(estimate(&planned.plan).inodes, 0);
}

#[test]
fn impossible_values_are_refused_with_the_allowed_range() {
    let facts = facts();
    let base = || request(&facts);
    let made = |entries| Target::Made { entries: vec![entries] };
    for (request, message) in [
        (Request { rounds: Some(0), ..base() }, "1 to 100000"),
        (Request { until: Some(HalfWidth::Fraction(-0.1)), ..base() }, "above 0 and up to 100 %"),
        (Request { until: Some(HalfWidth::Absolute(f64::INFINITY)), ..base() }, "above 0 and up to 1000 s"),
        (Request { until: Some(HalfWidth::Fraction(0.1)), rounds: Some(5), ..base() }, "needs at least 6"),
        (Request { epochs: Some(0), ..base() }, "expected 1, or 5 to 1000"),
        (Request { epochs: Some(4), ..base() }, "expected 1, or 5 to 1000"),
        (Request { epochs: Some(5), rounds: Some(9), ..base() }, "give --rounds 10, or at most 4 epochs"),
        (Request { epochs: Some(5), until: Some(HalfWidth::Fraction(0.1)), ..base() }, "unknown in advance"),
        (Request { target: made(0), ..base() }, "1 to 100000000"),
        (Request { target: made(u64::MAX), ..base() }, "1 to 100000000"),
        (Request { buffers_bytes: vec![0], ..base() }, "4096 to 16777216 bytes"),
        (Request { buffers_bytes: vec![1 << 40], ..base() }, "4096 to 16777216 bytes"),
        (Request { threads: vec![0], ..base() }, "1 to 256"),
        (Request { threads: vec![100_000], ..base() }, "1 to 256"),
        (Request { backends: vec!["getdent".into()], ..base() }, "did you mean 'getdents'?"),
        (Request { backends: vec!["xyz".into()], ..base() }, "std, readdir, getdents, split"),
    ] {
        let error = plan(&listing(), &request).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn pruned_plans_hold_together() {
    let facts = facts();
    let whole = plan(&listing(), &request(&facts)).unwrap().plan;
    let removed: Vec<(ArmId, String)> = whole
        .arms
        .iter()
        .filter(|planned| planned.name.contains("split"))
        .map(|planned| (planned.id, "no index".into()))
        .collect();
    assert_eq!(removed.len(), 2);
    let left = prune(whole.clone(), &removed).unwrap();
    assert_eq!(left.plan.arms.len(), whole.arms.len() - 2);
    assert!(left.plan.arms.iter().enumerate().all(|(index, planned)| planned.id.0 as usize == index));
    assert_eq!(group_names(&left), ["buffer", "backend", "decomposition", "growth"]);
    assert_eq!(left.notes.len(), 3);
    let name = |plan: &Plan, id: ArmId| plan.arms[id.0 as usize].name.clone();
    for (before, after) in whole.groups.iter().zip(&left.plan.groups).filter(|(a, b)| a.name == b.name) {
        if let (GroupRule::Grow { series: a }, GroupRule::Grow { series: b }) = (&before.rule, &after.rule) {
            for (a, b) in a.iter().flat_map(|s| &s.1).zip(b.iter().flat_map(|s| &s.1)) {
                assert_eq!(name(&whole, *a), name(&left.plan, *b));
            }
        }
    }
    let error = prune(whole, &[(ArmId(0), "gone".into())]).unwrap_err();
    assert!(matches!(error, PlanError::NoBaseline { .. }));
}

#[test]
fn study_of_refusals_has_one_arm_and_no_listing_options() {
    let facts = facts();
    let study = built_in("limits").unwrap();
    let planned = plan(&study, &request(&facts)).unwrap();
    let [arm] = &planned.plan.arms[..] else { panic!("{:?}", planned.plan.arms) };
    assert_eq!(arm.work, Work::FillUntilRefused { entries_about: 160_000, predicted: None });
    assert_eq!(planned.plan.data.iter().map(|data| data.entries).collect::<Vec<_>>(), [0]);
    assert_eq!(planned.plan.groups[0].rule, GroupRule::Refusal { arm: ArmId(0) });
    let needs = estimate(&planned.plan);
    assert_eq!((needs.files, needs.blocks), (1_600_000, 10));
    assert!((176_000..177_000).contains(&needs.inodes) && needs.space_bytes < 20 << 20, "{needs:?}");
    let with = |change: fn(&mut Request<'_>)| {
        let mut request = request(&facts);
        change(&mut request);
        plan(&study, &request)
    };
    let about = with(|request| request.target = Target::Made { entries: vec![5_000] }).unwrap();
    assert!(matches!(about.plan.arms[0].work, Work::FillUntilRefused { entries_about: 5_000, .. }));
    for (planned, message) in [
        (with(|request| request.backends = vec!["std".into()]), "lists no directory"),
        (with(|request| request.target = Target::Made { entries: vec![1, 2] }), "one number"),
        (
            with(|request| request.target = Target::Existing { path: "d".into(), entries: 5_000 }),
            "or an empty directory",
        ),
    ] {
        let error = planned.unwrap_err();
        assert!(matches!(error, PlanError::Value { .. }) && error.to_string().contains(message), "{error}");
    }
}

#[test]
fn on_windows_the_listing_study_has_programs_of_its_own() {
    let of_windows = [
        ("std", Some(32 << 10)),
        ("find-first-file", Some(4 << 10)),
        ("find-first-file-basic", Some(4 << 10)),
        ("find-first-file-large", Some(64 << 10)),
        ("find-first-file-basic-large", Some(64 << 10)),
        ("by-handle", None),
        ("by-handle-full", None),
        ("nt-query", None),
        ("nt-query-extended", None),
        ("nt-query-ex", None),
    ];
    let facts = of_windows.map(|(name, buffer_fixed)| fact(name, 1, buffer_fixed));
    let planned = plan(&listing(), &request(&facts)).unwrap();
    assert_eq!(group_names(&planned), ["buffer", "backend", "decomposition", "growth"]);
    assert!(planned.notes.is_empty(), "{:?}", planned.notes);
    assert!(planned.plan.published.iter().all(|figure| figure.unlike.is_some() && figure.ours.is_none()));
    assert_ne!(planned.plan.question, listing().meta.question);
    let lists = |planned: &megadir_record::Arm| match &planned.work {
        Work::List { backend, stages, .. } => {
            assert!(of_windows.iter().any(|(name, _)| name == backend));
            !stages.contains(&Stage::ExtendedAttributes)
        }
        _ => false,
    };
    assert!(planned.plan.arms.iter().all(lists));
    let chosen = Request { backends: vec!["nt-query".into()], ..request(&facts) };
    assert_eq!(plan(&listing(), &chosen).unwrap().plan.arms.len(), 3);
}

fn lookup() -> Study {
    built_in("lookup").unwrap()
}

#[test]
fn look_ups_cross_sizes_presences_and_keys_and_the_first_is_the_baseline() {
    for calls in
        [vec![LookupCall::Fstatat], vec![LookupCall::AttributesByPath, LookupCall::AttributesByHandle]]
    {
        look_ups_cross(&calls);
    }
    assert_eq!(calls().len(), if cfg!(windows) { 2 } else { 1 });
}

/// Returns the system calls of the built-in look-up study.
fn calls() -> Vec<LookupCall> {
    let Kind::Lookup(spec) = lookup().kind else { panic!("no look-ups") };
    spec.calls
}

fn look_ups_cross(calls: &[LookupCall]) {
    let facts = facts();
    let mut study = lookup();
    let Kind::Lookup(spec) = &mut study.kind else { panic!("no look-ups") };
    spec.calls = calls.to_vec();
    let planned = plan(&study, &request(&facts)).unwrap();
    let planned_arms = &planned.plan.arms;
    // With one file: one present name, one absent name or any absent name; plus the A/A arm.
    assert_eq!(planned_arms.len(), 1 + (3 + 6 + 6) * calls.len());
    let names: HashSet<&str> = planned_arms.iter().map(|planned| planned.name.as_str()).collect();
    assert_eq!(names.len(), planned_arms.len(), "{names:?}");
    // Published figures refer to arms by this part of the name.
    let published =
        planned_arms.iter().filter(|planned| planned.name.contains("present, one name of")).count();
    assert_eq!(published, 3 + 1);
    assert_eq!(planned_arms[0].name, "present, one name of 1");
    assert_eq!((planned_arms[0].role, planned_arms[1].role), (Role::Baseline, Role::Control));
    let groups: Vec<&str> = planned.plan.groups.iter().map(|group| group.name.as_str()).collect();
    let single = ["lookup", "absent", "pattern", "growth"];
    let both = ["lookup", "absent", "pattern", "call", "growth"];
    assert_eq!(groups, if calls.len() == 1 { &single[..] } else { &both });
    for group in &planned.plan.groups {
        match &group.rule {
            GroupRule::Pairs { pairs } => {
                for pair in pairs {
                    let [left, right] = [pair.arm, pair.to].map(|id| &planned_arms[id.0 as usize]);
                    assert_eq!(left.data, right.data, "{} against {}", left.name, right.name);
                    assert!(left.work != right.work && left.groups.contains(&group.name));
                }
            }
            GroupRule::Grow { series } => {
                assert_eq!(series.len(), 6 * calls.len());
                for (name, arms) in series {
                    let entries =
                        |id: &ArmId| planned.plan.data[planned_arms[id.0 as usize].data.0 as usize].entries;
                    let entries: Vec<u64> = arms.iter().map(entries).collect();
                    assert!(entries.is_sorted() && entries.len() >= 2, "{name}: {entries:?}");
                }
            }
            GroupRule::Compare { baseline } => assert_eq!(*baseline, ArmId(0)),
            GroupRule::Refusal { .. } | GroupRule::BreakEven { .. } | GroupRule::Fill { .. } => {
                panic!("look-ups fill nothing")
            }
            GroupRule::Decompose { .. } => panic!("look-ups have no stages"),
        }
    }
}

#[test]
fn look_ups_on_one_size_do_not_grow_and_have_no_backends() {
    let facts = facts();
    let target = Target::Existing { path: "/d".into(), entries: 5000 };
    let planned = plan(&lookup(), &Request { target, ..request(&facts) }).unwrap();
    assert!(planned.plan.groups.iter().all(|group| group.name != "growth"));
    assert!(planned.notes.iter().any(|note| note.text.contains("only one size")));
    let refused = plan(&lookup(), &Request { threads: vec![2], ..request(&facts) });
    assert!(matches!(refused, Err(PlanError::Value { .. })));
}

#[test]
fn a_width_to_stop_at_limits_the_rounds_and_needs_something_to_compare() {
    let facts = facts();
    let until = Some(HalfWidth::Fraction(0.01));
    let rules = plan(&listing(), &Request { until, rounds: None, ..request(&facts) }).unwrap().plan.rules;
    assert_eq!(rules.rounds, 10 * listing().sizes.quick.rounds);
    assert_eq!(rules.stop, megadir_record::Stop::Ratio { half_width: 0.01, rounds_min: 30 });
    let rules = plan(&listing(), &Request { until, rounds: Some(12), ..request(&facts) }).unwrap().plan.rules;
    assert_eq!((rules.rounds, rules.stop.rounds_min()), (12, Some(12)));
    let refused = plan(&built_in("limits").unwrap(), &Request { until, ..request(&facts) });
    assert!(refused.unwrap_err().to_string().contains("compares no arms here"));
}

#[test]
fn data_that_an_arm_has_no_use_for_are_refused_before_anything_is_made() {
    let facts = facts();
    let mut study = listing();
    study.data.spread = Spread::Layout { layout: "prefix:2/2".into() };
    let error = plan(&study, &request(&facts)).unwrap_err().to_string();
    assert!(error.contains("works in one directory") && error.contains("--layout flat"), "{error}");
    study.data.spread = Spread::Flat;
    study.data.when = When::ByArms;
    assert!(
        plan(&study, &request(&facts)).unwrap_err().to_string().contains("the arms must create its data")
    );
    study.data =
        Made { spread: Spread::Layout { layout: "decimal:1/1".into() }, ..Made::flat(NameScheme::Md5, 0) };
    assert!(plan(&study, &request(&facts)).unwrap_err().to_string().contains("does not accept the name"));
}

#[test]
fn directories_inodes_and_blocks_of_data_sets_are_counted() {
    let facts = facts();
    let mut plan = plan(&listing(), &request(&facts)).unwrap().plan;
    plan.data.truncate(1);
    plan.arms.clear();
    let mut needs = |made: Made, entries| {
        plan.data[0].entries = entries;
        plan.data[0].source = DataSource::Made(made);
        let needs = estimate(&plan);
        (needs.inodes - 3, needs.space_bytes)
    };
    let flat = Made::flat(NameScheme::Md5, 32);
    // One block and one inode per file, and 88 bytes of directory space.
    let (inodes, bytes) = needs(flat.clone(), 1_000_000);
    assert_eq!(inodes, 1_000_000);
    assert!((4_690_000_000..4_710_000_000).contains(&bytes), "{bytes}");
    // S2 at its size: 65 792 directories more, and each of 65 536 leaves has 153 names of 88 bytes, which take 4 blocks.
    let deep = Made { spread: Spread::Layout { layout: "prefix:2/2".into() }, ..flat.clone() };
    let (inodes, bytes) = needs(deep, 10_000_000);
    assert_eq!(inodes, 10_065_792);
    let leaves = 65_536 * 4 * 4096 + 256 * 4096 + inodes * 512;
    assert!((bytes - leaves).abs_diff(10_000_000 * 4096) < 1 << 20, "{bytes}");
    // S5: 350 000 files of 50 kB on average in directories of 200. Each file wastes half a block, and sizes scatter.
    let sizes = SizeLaw::LogNormal { sigma: 1.0 };
    let spread = Spread::PerDirectory { files: 200 };
    let (inodes, bytes) = needs(Made { size_bytes: 50_000, sizes, spread, ..flat }, 350_000);
    assert_eq!(inodes, 351_750);
    let contents = 350_000 * (50_000 + 2048 + 512);
    assert!((contents..contents + contents / 50).contains(&bytes), "{bytes} {contents}");
}

#[test]
fn names_of_built_in_studies_lead_back_to_their_axes() {
    let facts = facts();
    let fact = |method| MethodFact { method, unavailable: None, processors: 3 };
    let methods: Vec<MethodFact> = METHODS.iter().map(fact).collect();
    for study in BUILT_IN {
        let study = built_in(study.name).unwrap();
        // Every record of command lines has axes: no earlier program measured any.
        if matches!(study.kind, Kind::Command(_)) {
            continue;
        }
        let planned = plan(&study, &Request { methods: &methods, ..request(&facts) }).unwrap().plan;
        let mut by_names = planned.clone();
        by_names.arms.iter_mut().for_each(|planned| planned.axes = Axes::default());
        megadir_record::axes::complete(&mut by_names);
        for (by_name, planned) in by_names.arms.iter().zip(&planned.arms) {
            assert_eq!(
                (by_name.axes.clone(), planned.axes.name()),
                (planned.axes.clone(), planned.name.clone())
            );
        }
    }
}
