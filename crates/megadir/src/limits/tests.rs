//! Tests of the list of models, and artificial facts for the tests of models.

use super::*;

/// An empty directory with ample space, and these name lengths to come.
pub(crate) fn facts(names: &str) -> Facts {
    Facts {
        path: "dir".into(),
        file_system: FileSystem::Ext4,
        seen_as: None,
        is_upper_layer: false,
        details: Details::None,
        directory_bytes: 4096,
        links: 2,
        inode: 100,
        entries: Some(Fact::new(Span::exact(0), Known::Measured, "counted")),
        merged_entries: None,
        absent_names: None,
        names: Fact::new(names.parse().unwrap(), Known::Measured, "sampled"),
        directory_share: 0.0,
        contents: Fact::new(Contents::exact(0.0), Known::Given, "empty"),
        space: Space {
            block_bytes: 4096,
            unit_bytes: 4096,
            blocks: 1 << 32,
            blocks_free: 1 << 31,
            blocks_available: 1 << 31,
            inodes: 1 << 32,
            inodes_free: 1 << 31,
            name_bytes_max: 255,
            inline_bytes_max: 0,
            packed_bytes_max: 0,
        },
        quotas: Vec::new(),
        mount: None,
        is_read_only: false,
    }
}

#[test]
fn every_file_system_has_one_model_with_a_reason() {
    for (index, model) in MODELS.iter().enumerate() {
        assert!(MODELS[..index].iter().all(|other| other.file_system != model.file_system));
        assert!(model.about.len() > 20, "{}", model.file_system);
        assert!(model_of(model.file_system).is_some());
        // Facts of another file system must give no answer rather than a wrong one.
        let judged = model.judge(&facts("32"), false);
        assert!(judged.ceilings.iter().all(|ceiling| ceiling.used.is_finite()));
    }
    for file_system in [FileSystem::F2fs, FileSystem::Fuse, FileSystem::Cifs, FileSystem::Other(1)] {
        assert!(model_of(file_system).is_none(), "{file_system}");
    }
}

#[test]
fn without_a_model_inodes_and_blocks_are_still_known() {
    let mut facts = facts("32");
    facts.file_system = FileSystem::F2fs;
    facts.space.inodes_free = 1000;
    facts.contents.value = Contents::exact(4096.0);
    facts.space.blocks_available = 5000;
    let limits = Limits::judge(facts, false);
    assert!(limits.model.is_none());
    // F2FS computes them from free blocks.
    assert_eq!(limits.entries_until_full(), Some(Span { likely: 1000, low: 500, high: 1000 }));
    let names: Vec<_> = limits.ceilings.iter().map(|ceiling| ceiling.limit.name()).collect();
    assert_eq!(names, ["inodes", "blocks"]);
}

#[test]
fn absent_facts_are_reported_as_absent() {
    let mut facts = facts("32");
    facts.file_system = FileSystem::Fuse;
    facts.space = Space { block_bytes: 4096, unit_bytes: 4096, ..Space::default() };
    let limits = Limits::judge(facts, false);
    assert_eq!((limits.entries_until_full(), limits.runs_out_first()), (None, None));
    assert!(limits.most_used().is_none());
}

#[test]
fn the_nearest_limit_comes_first_and_quotas_count() {
    let mut facts = facts("32");
    facts.file_system = FileSystem::Btrfs;
    facts.space.inodes = 0;
    facts.quotas = vec![
        Quota { of: QuotaOf::Subvolume(256), bytes: Some((900_000, 1_000_000)), inodes: None },
        Quota { of: QuotaOf::User(7), bytes: None, inodes: Some((10, 60)) },
    ];
    let limits = Limits::judge(facts, false);
    assert_eq!(limits.runs_out_first(), Some(Limit::Quota(QuotaOf::User(7))));
    assert_eq!(limits.ceilings[0].more, Span::exact(50));
    // 469 bytes per entry, from the items of the tree.
    assert_eq!(limits.ceilings[1].limit, Limit::Quota(QuotaOf::Subvolume(256)));
    assert_eq!(limits.ceilings[1].more.likely, 213);
    assert_eq!(limits.ceilings[2].limit, Limit::Blocks);
    let room = if cfg!(windows) { "room of the volume" } else { "statfs" };
    assert!(limits.ceilings[2].basis.how.starts_with(&format!("{room}; 469 bytes per entry")));
    assert_eq!(limits.most_used().unwrap().limit, Limit::Quota(QuotaOf::Subvolume(256)));
    let traps = &limits.judgement.traps;
    assert_eq!((traps.len(), traps[0].name), (1, "quota"));
    assert_eq!(traps[0].cures[0].command.as_deref(), Some("btrfs qgroup limit none 0/256 MOUNTPOINT"));
}

#[test]
fn xfs_packs_as_was_measured() {
    let capacity = |names| {
        let mut facts = facts(names);
        facts.file_system = FileSystem::Xfs;
        facts.details = Details::Xfs(Fact::new(4096, Known::Read, "ioctl"));
        let judged = Limits::judge(facts, false).judgement;
        judged.capacity.unwrap().value.likely as f64
    };
    assert!((capacity("32") / 704e6 - 1.0).abs() < 0.01, "{}", capacity("32"));
    assert!((capacity("255") / 117e6 - 1.0).abs() < 0.01, "{}", capacity("255"));
}

#[test]
fn names_that_others_refuse_are_a_trap() {
    let traps = |names, name_bytes_max| {
        let mut facts = facts(names);
        facts.file_system = FileSystem::Btrfs;
        facts.space.name_bytes_max = name_bytes_max;
        Limits::judge(facts, false).judgement.traps
    };
    assert!(traps("8-143", 255).is_empty());
    // eCryptfs does not exist on Windows.
    let found = traps("8-144", 255);
    assert_eq!(found.len(), usize::from(cfg!(not(windows))), "{found:?}");
    assert!(found.iter().all(|trap| trap.text.contains("eCryptfs")), "{found:?}");
    assert!(traps("8-144", 143)[0].text.contains("longer than the 143"));
}

fn mounted(kind: &str) -> Option<Mount> {
    Some(Mount { point: "/m".into(), kind: kind.into(), source: "x".into(), options: "rw".into() })
}

#[test]
fn a_read_only_mount_takes_nothing_whatever_is_free() {
    let mut facts = facts("32");
    facts.is_read_only = true;
    facts.space.inodes_free = 0;
    let limits = Limits::judge(facts, false);
    assert_eq!(limits.runs_out_first(), Some(Limit::ReadOnly));
    assert_eq!(limits.entries_until_full(), Some(Span::exact(0)));
    assert_eq!(limits.most_used().map(|most| most.used), Some(1.0));
    assert!(limits.judgement.traps.is_empty(), "{:?}", limits.judgement.traps);
}

#[test]
fn an_invented_number_of_inodes_is_no_limit_and_one_of_free_blocks_is_an_upper_bound() {
    let inodes = |file_system, kind: &str, inodes, inodes_free| {
        let mut facts = facts("32");
        (facts.file_system, facts.mount) = (file_system, mounted(kind));
        (facts.space.inodes, facts.space.inodes_free) = (inodes, inodes_free);
        let limits = Limits::judge(facts, false);
        assert!(limits.judgement.traps.iter().all(|trap| trap.name != "inodes"), "{kind}");
        limits.ceilings.iter().find(|ceiling| ceiling.limit == Limit::Inodes).map(|found| found.more)
    };
    let (fuse, other) = (FileSystem::Fuse, FileSystem::Other(1));
    for (file_system, kind, all, free) in [
        (fuse, "fuse.rclone", 1_000_000_000, 0),
        (fuse, "fuseblk", 444, 444),
        (fuse, "fuseblk", 320_456, 321_385),
        (FileSystem::Nilfs2, "nilfs2", 33_554_432, 33_554_430),
        (other, "hfsplus", u64::from(u32::MAX), 4_294_967_277),
        (other, "erofs", u64::MAX, u64::MAX - 286),
        (FileSystem::Jfs, "jfs", 30_050, 0),
    ] {
        assert_eq!(inodes(file_system, kind, all, free), None, "{kind}");
    }
    for (file_system, kind) in
        [(FileSystem::Jfs, "jfs"), (FileSystem::F2fs, "f2fs"), (other, "udf"), (other, "gfs2")]
    {
        let found = inodes(file_system, kind, 3_100, 3_069).unwrap();
        assert!(found.high == 3_069 && found.low < 2_700, "{kind}: {found:?}");
    }
    for (file_system, kind) in [(other, "minix"), (FileSystem::Tmpfs, "tmpfs"), (fuse, "fuse.ext4")] {
        assert_eq!(inodes(file_system, kind, 688, 600), Some(Span::exact(600)), "{kind}");
    }
    // A stated file system does not make the server's number true.
    let mut facts = facts("32");
    (facts.file_system, facts.seen_as) = (FileSystem::Xfs, Some(fuse));
    (facts.space.inodes, facts.space.inodes_free) = (1_000_000_000, 0);
    let limits = Limits::judge(facts, false);
    assert!(limits.ceilings.iter().all(|ceiling| ceiling.limit != Limit::Inodes), "{:?}", limits.ceilings);
}

#[test]
fn directories_that_are_searched_name_by_name_are_a_trap() {
    let trapped = |file_system, kind: &str, casefolded| {
        let mut facts = facts("32");
        (facts.file_system, facts.mount) = (file_system, mounted(kind));
        if file_system == FileSystem::Ext4 {
            let features = Fact::new(Ext4Features::USUAL, Known::Read, "ioctl");
            facts.details = Details::Ext4(Ext4 { features, indexed: None, casefolded, encrypted: false });
        }
        let is_linear = is_searched_linearly(&facts);
        let traps = Limits::judge(facts, false).judgement.traps;
        assert_eq!(is_linear, traps.iter().any(|trap| trap.name == "linear"), "{traps:?}");
        is_linear
    };
    let other = FileSystem::Other(1);
    for (file_system, kind) in [
        (FileSystem::Fat, "vfat"),
        (FileSystem::ExFat, "exfat"),
        (FileSystem::Nilfs2, "nilfs2"),
        (other, "udf"),
        (other, "minix"),
    ] {
        assert!(trapped(file_system, kind, false), "{kind}");
    }
    assert!(trapped(FileSystem::Ext4, "ext4", true) && !trapped(FileSystem::Ext4, "ext4", false));
    assert!(!trapped(FileSystem::Xfs, "xfs", false) && !trapped(FileSystem::F2fs, "f2fs", false));
}

#[test]
fn names_of_absent_files_are_a_hazard_from_a_twentieth_of_the_memory() {
    let traps = |count| {
        let mut facts = facts("32");
        facts.absent_names = Some(AbsentNames { count, memory_bytes: 20 * 192 * 1_000_000 });
        Limits::judge(facts, false).judgement.traps
    };
    assert!(traps(999_999).iter().all(|trap| trap.name != "absent-names"));
    let traps = traps(1_500_000);
    let found = traps.iter().find(|trap| trap.name == "absent-names").unwrap();
    assert!(found.text.contains("1.5 million") && found.text.contains("0.3 GB"), "{}", found.text);
    assert_eq!(found.cures.len(), 1);
}
