//! Plans over several file systems, and refused requests.

use std::collections::BTreeSet;

use super::*;
use crate::plan::{BackendFact, CacheFact, estimate, plan, prune};
use crate::study::built_in;
use megadir_record::{CacheState, Preset, Work};

const GIB: u64 = 1 << 30;

fn backend(name: &'static str, threads_max: u32, unavailable: Option<&str>) -> BackendFact {
    BackendFact {
        unavailable: unavailable.map(str::to_owned),
        threads_max,
        shares_per_thread: (threads_max > 1).then_some(8),
        buffer_fixed: (name == "readdir" || name == "std").then_some(32 << 10),
        ..BackendFact::bare(name)
    }
}

fn found(name: &str, place: Place, bytes_max: u64) -> FileSystemFact {
    let in_memory = matches!(place, Place::Memory { .. });
    let split = in_memory.then_some("positions are no numbers");
    let state = |state: CacheState| CacheFact {
        state,
        name: state.name().into(),
        unavailable: (in_memory && state.is_cold()).then(|| "it stores its data in the cache".to_owned()),
    };
    let spec = Spec::parse(name).unwrap();
    let file_system = LabFileSystem {
        id: FsId(0),
        name: name.into(),
        label: if name == "ext2" { "ext2 (ext4 driver)".into() } else { name.into() },
        kind: name.split(':').next().unwrap_or(name).into(),
        mount_options: String::new(),
        driver: if name == "ext2" { "ext4".into() } else { name.into() },
        make: spec.make(),
        tool: None,
        place,
        disk: None,
        reformatted: false,
    };
    let found = FoundFileSystem {
        file_system,
        bytes_max,
        backends: vec![
            backend("std", 1, None),
            backend("readdir", 1, None),
            backend("getdents", 1, None),
            backend("split", 256, split),
        ],
        methods: Vec::new(),
        caches: CacheState::ALL.map(state).into(),
    };
    FileSystemFact { name: name.into(), spec: Some(spec), found: Ok(found) }
}

fn image(name: &str) -> FileSystemFact {
    found(name, Place::Image { bytes: 0, direct_io: None }, u64::MAX)
}

fn in_memory(name: &str, bytes_max: u64) -> FileSystemFact {
    found(name, Place::Memory { bytes: 0 }, bytes_max)
}

fn on_device(name: &str, path: &str, bytes: u64) -> FileSystemFact {
    found(name, Place::Device { path: path.into() }, bytes)
}

fn planned(study: &str, facts: &[FileSystemFact], caches: &[CacheState]) -> Result<Planned, PlanError> {
    let caches = caches.to_vec();
    let request = Request { file_systems: facts, caches, ..Request::bare(Preset::Quick, 7) };
    plan(&built_in(study).unwrap(), &request)
}

fn refused(study: &str, facts: &[FileSystemFact]) -> String {
    planned(study, facts, &[]).unwrap_err().to_string()
}

#[test]
fn every_arm_has_its_like_on_every_file_system() {
    let facts = [image("ext4"), image("ext2"), image("xfs")];
    let Planned { plan, notes } = planned("lookup", &facts, &[]).unwrap();
    assert_eq!(notes, []);
    let alone = planned("lookup", &facts[..1], &[]).unwrap().plan;
    assert_eq!(plan.arms.len(), 3 * alone.arms.len());
    assert_eq!(plan.data.len(), 3 * alone.data.len());
    let names: BTreeSet<&str> = plan.arms.iter().map(|planned| planned.name.as_str()).collect();
    assert_eq!(names.len(), plan.arms.len());
    for (place, planned) in plan.arms.iter().enumerate() {
        assert_eq!(planned.id.0 as usize, place);
        let of = plan.file_system_of(planned.data).unwrap();
        assert_eq!(of.id.0 as usize, place / alone.arms.len());
        let like = &alone.arms[place % alone.arms.len()];
        assert_eq!(planned.name, format!("{}, {}", like.name, of.label));
        assert_eq!((&planned.work, planned.role), (&like.work, like.role));
    }
    assert_eq!(plan.file_systems[1].label, "ext2 (ext4 driver)");
    let groups: Vec<&str> = plan.groups.iter().map(|group| group.name.as_str()).collect();
    let of_study = alone.groups[0].name.as_str();
    assert_eq!(groups.iter().filter(|name| name.starts_with(of_study)).count(), 3, "{groups:?}");
    // Every arm except the A/A arms, on every file system but the first.
    let own = alone.arms.iter().filter(|planned| planned.role != Role::Control).count();
    let GroupRule::Pairs { pairs } = &plan.groups.last().unwrap().rule else { panic!("{groups:?}") };
    assert_eq!((groups.last(), pairs.len()), (Some(&FILE_SYSTEM_GROUP), 2 * own));
    for pair in pairs {
        let [arm, to] = [pair.arm, pair.to].map(|id| &plan.arms[id.0 as usize]);
        assert_eq!((&arm.work, to.name.as_str()), (&to.work, format!("{}, ext4", pair.at).as_str()));
        assert!(
            arm.groups.iter().any(|name| name == FILE_SYSTEM_GROUP)
                && to.groups.iter().any(|name| name == FILE_SYSTEM_GROUP)
        );
        assert_eq!(pair.than, "ext4");
    }
}

#[test]
fn one_file_system_alone_is_planned_as_a_directory_is() {
    let facts = [image("ext4")];
    let on_one = planned("listing", &facts, &[]).unwrap().plan;
    let backends = &facts[0].found.as_ref().unwrap().backends;
    let request = Request { facts: backends, ..Request::bare(Preset::Quick, 7) };
    let in_directory = plan(&built_in("listing").unwrap(), &request).unwrap().plan;
    assert_eq!((&on_one.arms, &on_one.groups), (&in_directory.arms, &in_directory.groups));
    assert_eq!(on_one.data[0].on, Some(FsId(0)));
    assert_eq!(on_one.rules, in_directory.rules);
}

#[test]
fn arms_that_one_file_system_lacks_are_left_out_there_only() {
    let facts = [image("ext4"), in_memory("tmpfs", 8 * GIB)];
    let states = [CacheState::Warm, CacheState::FsCold];
    let Planned { plan, notes } = planned("listing", &facts, &states).unwrap();
    let set = |planned: &Arm| plan.data[planned.data.0 as usize].on;
    let on = |id: u32| plan.arms.iter().filter(move |planned| set(planned) == Some(FsId(id)));
    let splits = |planned: &&Arm| matches!(&planned.work, Work::List { backend, .. } if backend == "split");
    assert!(on(0).any(|planned| splits(&planned)) && !on(1).any(|planned| splits(&planned)));
    assert!(on(0).any(|planned| planned.cache == CacheState::FsCold));
    assert!(!on(1).any(|planned| planned.cache.is_cold()));
    assert!(notes.iter().all(|note| note.text.starts_with("tmpfs: ")), "{notes:?}");
    assert!(notes.iter().any(|note| note.text.contains("it stores its data in the cache")), "{notes:?}");
    assert!(plan.unavailable.is_empty());
}

#[test]
fn unavailable_file_systems_are_named_with_the_reason() {
    let unavailable = |name: &str| FileSystemFact {
        name: name.into(),
        spec: Some(Spec::parse(name).unwrap()),
        found: Err("no driver here".into()),
    };
    let plan =
        planned("lookup", &[unavailable("reiserfs"), image("ext4"), unavailable("jfs")], &[]).unwrap().plan;
    let names: Vec<&str> = plan.unavailable.iter().map(|file_system| file_system.name.as_str()).collect();
    assert_eq!(names, ["reiserfs", "jfs"]);
    assert_eq!((plan.file_systems.len(), plan.file_systems[0].id), (1, FsId(0)));
    let none = refused("lookup", &[unavailable("reiserfs")]);
    assert_eq!(none, "nothing is left to compare: no file system is available: reiserfs: no driver here");
    // A plan with cold states only has nothing to measure in memory.
    let memory = in_memory("tmpfs", 8 * GIB);
    let plan = planned("lookup", &[memory, image("xfs")], &[CacheState::FsCold]).unwrap().plan;
    assert_eq!((plan.unavailable[0].name.as_str(), plan.file_systems.len()), ("tmpfs", 1));
    assert!(plan.unavailable[0].reason.contains("it stores its data in the cache"), "{:?}", plan.unavailable);
}

#[test]
fn conflicting_file_system_options_are_refused() {
    let twice = refused("lookup", &[image("ext4"), image("xfs"), image("ext4")]);
    assert_eq!(twice, "--fs cannot be 'ext4' twice: name each file system once");
    let facts = [image("ext4")];
    let target = Target::Existing { path: "/data".into(), entries: 5000 };
    let request = Request { file_systems: &facts, target, ..Request::bare(Preset::Quick, 7) };
    let existing = plan(&built_in("lookup").unwrap(), &request).unwrap_err().to_string();
    assert!(existing.starts_with("--fs cannot be combined with '/data' itself: "), "{existing}");
    let entries = Target::Made { entries: vec![0] };
    let request = Request { file_systems: &facts, target: entries, ..Request::bare(Preset::Quick, 7) };
    assert!(matches!(plan(&built_in("lookup").unwrap(), &request), Err(PlanError::Value { .. })));
}

#[test]
fn chains_of_file_systems_are_chains_of_their_own() {
    let facts = [image("ext4"), image("xfs")];
    let plan = planned("smallfile", &facts, &[]).unwrap().plan;
    let chains: BTreeSet<(u32, Option<FsId>)> =
        plan.arms.iter().map(|planned| (planned.chain, plan.data[planned.data.0 as usize].on)).collect();
    let numbers: BTreeSet<u32> = chains.iter().map(|(chain, _)| *chain).collect();
    assert_eq!(chains.len(), numbers.len());
    assert_eq!(plan.rules.order, Order::Chains);
}

fn image_bytes(plan: &Plan) -> Vec<u64> {
    let bytes = |of: &LabFileSystem| match of.place {
        Place::Image { bytes, .. } | Place::Memory { bytes } => bytes,
        Place::Device { .. } | Place::Directory { .. } => 0,
    };
    plan.file_systems.iter().map(bytes).collect()
}

#[test]
fn images_have_room_for_all_rounds_where_their_directory_has() {
    let facts = [image("ext4"), image("xfs"), in_memory("tmpfs", 20 * GIB)];
    let study = built_in("smallfile").unwrap();
    let with = |images_room_bytes, entries| {
        let target = Target::Made { entries: vec![entries] };
        let request =
            Request { file_systems: &facts, images_room_bytes, target, ..Request::bare(Preset::Quick, 7) };
        plan(&study, &request).unwrap().plan
    };
    let roomy = with(u64::MAX, 40_000);
    let needs = estimate_on(&roomy, [FsId(0)]);
    let bytes = image_bytes(&roomy);
    assert!(bytes[0] >= needs.space_bytes + 2 * needs.kept_space_bytes, "{bytes:?} {needs:?}");
    assert!(bytes[0] / (16 << 10) * 3 / 4 >= needs.kept_inodes, "{bytes:?} {needs:?}");
    let tight = image_bytes(&with(0, 40_000));
    assert!(tight[0] < bytes[0] && tight[0] >= needs.space_bytes, "{tight:?} {needs:?}");
    assert_eq!(image_bytes(&with(u64::MAX, 10))[0], Spec::parse("ext4").unwrap().image_bytes(10, 10));
    let whole = estimate(&roomy);
    let own = [0, 1, 2].map(|id| estimate_on(&roomy, [FsId(id)]));
    let sum = |of: fn(&Estimate) -> u64| own.iter().map(of).sum::<u64>();
    assert_eq!(whole.space_bytes, sum(|part| part.space_bytes));
    assert_eq!((whole.inodes, whole.kept_inodes), (sum(|part| part.inodes), sum(|part| part.kept_inodes)));
    // If not everything fits, the images share the space; nearly full file systems behave differently.
    let shared = image_bytes(&with(40 * GIB, 40_000));
    assert!(shared[0] > tight[0] && shared[0] < bytes[0] && shared[0] + shared[1] <= 40 * GIB, "{shared:?}");
}

fn on_memory(name: &str, compression: Option<&str>) -> FileSystemFact {
    let mut fact = image(name);
    let disk = LabDisk {
        name: "memory".into(),
        memory_bytes: None,
        expected_bytes: None,
        compression: compression.map(str::to_owned),
        no_zram: compression.is_none().then(|| "this kernel has no zram".to_owned()),
        is_model: false,
    };
    fact.found.as_mut().unwrap().file_system.disk = Some(disk);
    fact
}

#[test]
fn disks_in_memory_are_sized_by_the_memory_they_take() {
    let study = built_in("smallfile").unwrap();
    let with = |facts: &[FileSystemFact], images_room_bytes, entries| {
        let target = Target::Made { entries: vec![entries] };
        let request =
            Request { file_systems: facts, images_room_bytes, target, ..Request::bare(Preset::Quick, 7) };
        plan(&study, &request).map(|planned| planned.plan)
    };
    let facts = [on_memory("ext4", Some("lzo-rle")), on_memory("btrfs", Some("lzo-rle"))];
    let roomy = with(&facts, 1000 * GIB, 10_000).unwrap();
    let disks: Vec<&LabDisk> = roomy.file_systems.iter().map(|of| of.disk.as_ref().unwrap()).collect();
    let needs = estimate_on(&roomy, [FsId(0)]);
    for disk in &disks {
        let (expected, limit) = (disk.expected_bytes.unwrap(), disk.memory_bytes.unwrap());
        // All rounds fit, so their files may stay.
        assert!(expected > needs.contents_bytes + needs.kept_contents_bytes && expected < limit, "{disk:?}");
    }
    assert!(disks.iter().map(|disk| disk.memory_bytes.unwrap()).sum::<u64>() <= 1000 * GIB);
    // Only the files of one round fit: the file system must not have room for more.
    let expected: u64 = disks.iter().map(|disk| disk.expected_bytes.unwrap()).sum();
    let tight = with(&facts, expected / 2, 10_000).unwrap();
    let bytes = image_bytes(&tight);
    assert!(bytes[0] < image_bytes(&roomy)[0] && bytes[0] >= needs.space_bytes, "{bytes:?}");
    assert!(
        tight.file_systems.iter().all(|of| of.disk.as_ref().unwrap().expected_bytes < Some(expected / 4 * 3))
    );
    let error = with(&facts, GIB, 10_000_000).unwrap_err().to_string();
    assert!(
        error.contains("the disks of all would take about") && error.contains("1.0G are allowed"),
        "{error}"
    );
    assert!(!error.contains('\n'));
    // A file that is not compressed takes all written bytes.
    let plain = with(&[on_memory("ext4", None)], 1000 * GIB, 10_000).unwrap();
    assert!(plain.file_systems[0].disk.as_ref().unwrap().expected_bytes > disks[0].expected_bytes);
}

#[test]
fn a_stated_limit_applies_to_each_disk() {
    const LIMIT: &str = "memory:limit=1G";
    let study = built_in("smallfile").unwrap();
    let mut facts = [on_memory("ext4", Some("lzo-rle")), on_memory("btrfs", Some("lzo-rle"))];
    for fact in &mut facts {
        fact.found.as_mut().unwrap().file_system.disk.as_mut().unwrap().name = LIMIT.into();
    }
    let with = |entries| {
        let target = Target::Made { entries: vec![entries] };
        let request = Request {
            file_systems: &facts,
            images_room_bytes: 2 * GIB,
            target,
            ..Request::bare(Preset::Quick, 7)
        };
        plan(&study, &request).map(|planned| planned.plan)
    };
    for on in with(1000).unwrap().file_systems {
        assert_eq!(on.disk.unwrap().memory_bytes, Some(GIB));
    }
    // Enough for ext4, and together less than both limits, but too much for one.
    let expected = |plan: &Plan| {
        plan.file_systems.iter().map(|of| of.disk.clone().unwrap().expected_bytes.unwrap()).max()
    };
    let entries = (1..40).map(|times| times * 1000);
    let all: Vec<_> = entries.map(with).collect();
    for planned in &all {
        match planned {
            Ok(plan) => assert!(expected(plan).unwrap() <= GIB),
            Err(error) => assert!(error.to_string().contains("by --disk memory:limit=SIZE"), "{error}"),
        }
    }
    assert!(all[0].is_ok(), "{:?}", all[0].as_ref().err());
    assert!(all[38].is_err(), "{:?}", all[38].as_ref().map(expected));
}

#[test]
fn memory_file_systems_come_last_and_state_preparation_is_in_no_contrast() {
    use CacheState::{FsCold, VfsCold, Warm};
    let caches =
        CacheState::ALL.map(|state| CacheFact { state, name: state.name().to_owned(), unavailable: None });
    let mut facts = [in_memory("tmpfs", 20 * GIB), image("ext4"), image("xfs")];
    for fact in &mut facts[1..] {
        fact.found.as_mut().unwrap().caches = caches.to_vec();
    }
    let request = Request {
        file_systems: &facts,
        caches: vec![Warm, VfsCold, FsCold],
        drop_caches: true,
        images_room_bytes: u64::MAX,
        ..Request::bare(Preset::Quick, 7)
    };
    let plan = plan(&built_in("smallfile").unwrap(), &request).unwrap().plan;
    let labels: Vec<&str> = plan.file_systems.iter().map(|of| of.label.as_str()).collect();
    assert_eq!(labels, ["ext4", "xfs", "tmpfs"]);
    let extra = |planned: &&Arm| planned.name.contains("(for ") && planned.role != Role::Control;
    assert!(plan.arms.iter().filter(extra).count() > 0);
    assert!(plan.arms.iter().filter(extra).all(|planned| planned.groups.is_empty()));
    let group = plan.groups.iter().find(|group| group.name == FILE_SYSTEM_GROUP).unwrap();
    let GroupRule::Pairs { pairs } = &group.rule else { panic!("{group:?}") };
    assert!(pairs.iter().all(|pair| pair.than == "ext4"), "{pairs:?}");
}

#[test]
fn file_systems_too_small_for_the_files_are_left_out_with_figures() {
    for (small, reason_end) in [
        (in_memory("xfs", GIB / 2), " of memory, and at most 512M are allowed"),
        (on_device("xfs", "/dev/x", 1000 << 20), ", and '/dev/x' has 1000M"),
    ] {
        let plan = planned("lookup", &[image("ext4"), small], &[]).unwrap().plan;
        let reason = &plan.unavailable[0].reason;
        assert!(reason.starts_with("it needs 1") && reason.ends_with(reason_end), "{reason}");
        assert_eq!(plan.file_systems.len(), 1);
        assert!(
            !plan.groups.iter().any(|group| group.name == FILE_SYSTEM_GROUP),
            "nothing is left to contrast"
        );
        for (place, planned) in plan.arms.iter().enumerate() {
            assert_eq!(planned.id.0 as usize, place);
            assert_eq!(plan.file_system_of(planned.data).unwrap().name, "ext4");
        }
    }
    let device = on_device("btrfs", "/dev/x", 9 * GIB);
    let plan = planned("lookup", &[device], &[]).unwrap().plan;
    assert_eq!(plan.file_systems[0].place, Place::Device { path: "/dev/x".into() });
}

#[test]
fn missing_baseline_excludes_only_its_file_system() {
    let whole = planned("lookup", &[image("ext4"), image("xfs")], &[]).unwrap().plan;
    let on = |plan: &Plan, name: &str| {
        plan.arms.iter().filter(|planned| plan.file_system_of(planned.data).unwrap().name == name).count()
    };
    let baseline = |name: &str| {
        let of = |planned: &&Arm| planned.role == Role::Baseline && planned.name.ends_with(name);
        whole.arms.iter().find(of).unwrap().id
    };
    let unavailable = [(baseline("xfs"), "it is unavailable".to_owned())];
    let left = prune(whole.clone(), &unavailable).unwrap();
    assert_eq!((on(&left.plan, "ext4"), on(&left.plan, "xfs")), (on(&whole, "ext4"), 0));
    assert!(left.notes.iter().any(|note| note.text.contains("it is unavailable")), "{:?}", left.notes);
    let both = [unavailable[0].clone(), (baseline("ext4"), "nor here".to_owned())];
    assert!(matches!(prune(whole, &both), Err(PlanError::Nothing { .. })));
}

#[test]
fn dropped_file_system_removes_its_arms_and_keeps_the_order() {
    let facts = [image("ext4"), image("xfs"), image("btrfs")];
    let whole = planned("smallfile", &facts, &[]).unwrap().plan;
    let left = without(whole.clone(), &[(FsId(1), "its index is full".into())]).unwrap();
    let alone = planned("smallfile", &[image("ext4"), image("btrfs")], &[]).unwrap().plan;
    let names = |plan: &Plan| plan.arms.iter().map(|planned| planned.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&left), names(&alone));
    let groups = |plan: &Plan| plan.groups.clone();
    assert_eq!(groups(&left), groups(&alone));
    assert_eq!((&left.data, &left.file_systems), (&alone.data, &alone.file_systems));
    assert_eq!(left.unavailable[0].reason, "its index is full");
    let all = [0, 1, 2].map(|id| (FsId(id), "gone".to_owned()));
    assert!(without(whole, &all).unwrap_err().to_string().contains("no file system is available"));
}

fn lives(study: &str, facts: &[FileSystemFact]) -> (Vec<String>, Vec<String>) {
    let Planned { plan, notes } = planned(study, facts, &[CacheState::Warm]).unwrap();
    let reformatted = plan.file_systems.iter().filter(|of| of.reformatted).map(|of| of.name.clone());
    let noted = notes.into_iter().filter(|note| note.kind == "removed-remembered").map(|note| note.text);
    (reformatted.collect(), noted.collect())
}

#[test]
fn lives_begin_on_a_new_file_system_where_removed_blocks_are_discarded() {
    let mut without = image("ext4");
    without.name = "ext4:^has_journal".into();
    without.spec = Some(Spec::parse(&without.name).unwrap());
    let facts = [image("ext2"), image("ext3"), image("xfs"), without, in_memory("tmpfs", 8 << 30)];
    let (reformatted, noted) = lives("smallfile", &facts);
    assert_eq!(reformatted, ["ext2", "ext4:^has_journal"]);
    assert_eq!(noted, [""; 0]);
    // The ext2 driver does not depend on earlier removals.
    let mut old = image("ext2");
    old.found.as_mut().unwrap().file_system.driver = "ext2".into();
    assert_eq!(lives("smallfile", &[old]), (vec![], vec![]));
}

#[test]
fn a_file_system_that_cannot_be_reformatted_is_noted() {
    // Directories filled before the run must stay.
    let (reformatted, noted) = lives("fill", &[image("ext2"), image("ext4")]);
    assert_eq!((reformatted.len(), noted.len()), (0, 1), "{noted:?}");
    assert!(noted[0].starts_with("Without a journal, the driver of ext2 (ext4 driver) skips"), "{noted:?}");
    assert!(noted[0].ends_with("is not possible: its data must stay."), "{noted:?}");
    // No arm creates files after a removal.
    assert_eq!(lives("layout", &[image("ext2")]), (vec![], vec![]));
    let device = |bytes| on_device("ext2", "/dev/sdz", bytes);
    assert_eq!(lives("smallfile", &[device(20 << 30)]).0, ["ext2"]);
    let (reformatted, noted) = lives("smallfile", &[device(65 << 30)]);
    assert_eq!(reformatted, [""; 0]);
    assert!(noted[0].ends_with("is not possible: '/dev/sdz' is larger than 64 GiB."), "{noted:?}");
}
