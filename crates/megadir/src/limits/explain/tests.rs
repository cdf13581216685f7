//! Each limit is found from its own evidence only.

use super::*;
use crate::limits::facts::{Ext4, Ext4Features, Mount, Quota};
use crate::limits::{Fact, Known};

/// An ext4 directory of this size with 1 KiB blocks and nothing used up.
fn facts(directory_bytes: u64) -> Facts {
    let mut facts = crate::limits::tests::facts("32");
    facts.directory_bytes = directory_bytes;
    facts.space.block_bytes = 1024;
    facts.space.unit_bytes = 1024;
    let features = Fact::new(Ext4Features::USUAL, Known::Read, "ioctl");
    facts.details =
        Details::Ext4(Ext4 { features, indexed: Some(true), casefolded: false, encrypted: false });
    facts
}

fn explained(facts: &Facts, refusal: Refusal, step: Step, privileged: bool) -> Explanation {
    decide(&Limits::judge(facts.clone(), false), refusal, step, privileged)
}

fn no_space_of(facts: &Facts) -> Limit {
    explained(facts, Refusal::NoSpace, Step::Create, false).limit
}

#[test]
fn exhausted_resource_is_identified_by_the_file_systems_figures() {
    let plain = facts(1 << 20);
    assert_eq!(no_space_of(&plain), Limit::Unknown);
    let mut inodes = plain.clone();
    inodes.space.inodes_free = 0;
    assert_eq!(no_space_of(&inodes), Limit::Inodes);
    // A file system that does not count inodes cannot run out of them.
    inodes.space.inodes = 0;
    assert_eq!(no_space_of(&inodes), Limit::Unknown);
    let mut blocks = plain.clone();
    blocks.space.blocks_available = 3;
    assert_eq!(no_space_of(&blocks), Limit::Blocks);
    assert_eq!(explained(&blocks, Refusal::NoSpace, Step::Create, true).limit, Limit::Unknown);
    blocks.space.blocks_free = 3;
    assert_eq!(explained(&blocks, Refusal::NoSpace, Step::Create, true).limit, Limit::Blocks);
}

#[test]
fn full_index_is_detected_by_its_size_and_another_name_may_fit() {
    assert_eq!(no_space_of(&facts(7_000_000)), Limit::Unknown);
    for bytes in [8_100_000, 9_500_000, 20_000_000] {
        let explanation = explained(&facts(bytes), Refusal::NoSpace, Step::Create, false);
        assert_eq!(explanation.limit, Limit::DirectoryIndex);
        let text = explanation.to_string();
        assert!(text.starts_with("the directory's index is full, though 2147483648 blocks and "), "{text}");
        assert!(text.ends_with("full at about 9.1M; another name may still be taken"), "{text}");
        assert_eq!(explanation.cures.len(), 2);
    }
    // Contents need no entry: another limit refuses them.
    assert_eq!(explained(&facts(9_500_000), Refusal::NoSpace, Step::Write, false).limit, Limit::Blocks);
    let mut linear = facts(9_500_000);
    let Details::Ext4(ext4) = &mut linear.details else { unreachable!() };
    ext4.indexed = Some(false);
    assert_eq!(no_space_of(&linear), Limit::Unknown);
}

#[test]
fn mount_option_is_explained_before_the_index() {
    let mut facts = facts(9_500_000);
    let (point, kind, source) = ("/mnt".into(), "ext4".into(), "/dev/x".into());
    facts.mount = Some(Mount { point, kind, source, options: "rw,max_dir_size_kb=9000".into() });
    assert_eq!(no_space_of(&facts), Limit::MountOption);
    facts.directory_bytes = 8999 << 10;
    assert_eq!(no_space_of(&facts), Limit::DirectoryIndex);
}

#[test]
fn quotas_are_recognized_by_the_error_and_named_where_visible() {
    let mut facts = facts(1 << 20);
    assert_eq!(explained(&facts, Refusal::Quota, Step::Create, false).limit, Limit::Quota(QuotaOf::Hidden));
    let quota = |of, bytes, inodes| Quota { of, bytes, inodes };
    facts.quotas = vec![
        quota(QuotaOf::User(7), Some((10, 100_000)), Some((1, 2))),
        quota(QuotaOf::Group(8), None, Some((100, 100))),
    ];
    let explanation = explained(&facts, Refusal::Quota, Step::Create, false);
    assert_eq!(explanation.limit, Limit::Quota(QuotaOf::Group(8)));
    assert!(explanation.evidence.starts_with("the quota of group 8 is used up (100 of 100 inodes used)"));
    // XFS reports an exhausted project quota as "No space left on device".
    assert_eq!(no_space_of(&facts), Limit::Quota(QuotaOf::Group(8)));
    facts.quotas.truncate(1);
    assert_eq!(explained(&facts, Refusal::Quota, Step::Create, false).limit, Limit::Quota(QuotaOf::User(7)));
    assert_eq!(no_space_of(&facts), Limit::Unknown);
}

#[test]
fn link_limits_and_collisions_are_recognized_by_their_errors() {
    let mut facts = facts(1 << 20);
    facts.links = 65_000;
    let Details::Ext4(ext4) = &mut facts.details else { unreachable!() };
    ext4.features.value.dir_nlink = false;
    let explanation = explained(&facts, Refusal::Links, Step::MakeDirectory, true);
    assert_eq!(explanation.limit, Limit::LinkCount);
    assert!(explanation.evidence.contains("65000 links, and dir_nlink is off"), "{explanation}");
    assert!(explanation.cures[0].command.as_ref().unwrap().starts_with("tune2fs -O dir_nlink"));
    facts.links = 2;
    assert!(
        explained(&facts, Refusal::Links, Step::Create, true)
            .evidence
            .contains("the file has the maximum number of names")
    );
    assert_eq!(explained(&facts, Refusal::Overflow, Step::Create, true).limit, Limit::Unknown);
    facts.file_system = FileSystem::Btrfs;
    let explanation = explained(&facts, Refusal::Overflow, Step::Create, true);
    assert_eq!((explanation.limit, explanation.another_name_may_do), (Limit::NameCollision, true));
}

#[test]
fn file_systems_that_keep_blocks_back_are_full_before_the_last_one() {
    let mut facts = facts(1 << 20);
    facts.details = Details::None;
    facts.space.blocks = 100_000;
    (facts.space.blocks_free, facts.space.blocks_available) = (1500, 1500);
    for (file_system, limit) in [
        (FileSystem::Xfs, Limit::Blocks),
        (FileSystem::Btrfs, Limit::Blocks),
        (FileSystem::Tmpfs, Limit::Unknown),
    ] {
        facts.file_system = file_system;
        assert_eq!(no_space_of(&facts), limit, "{file_system}");
    }
}
