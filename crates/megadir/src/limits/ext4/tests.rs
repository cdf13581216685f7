//! Checks the formula against published and measured figures, and the judgement of directories in each state.

use super::super::facts::{Details, Ext4Features};
use super::super::tests::facts as empty;
use super::super::{Limits, Mount};
use super::*;

fn shape(block_bytes: u64, metadata_csum: bool) -> Shape {
    Shape { block_bytes, metadata_csum, large_dir: false, encrypted: false, hash_in_entry: false }
}

fn capacity(block_bytes: u64, names: &str) -> Capacity {
    shape(block_bytes, true).capacity(&names.parse().unwrap())
}

/// Asserts that two numbers differ by at most this share of the second.
#[track_caller]
fn near(value: f64, expected: f64, part: f64) {
    assert!((value / expected - 1.0).abs() <= part, "{value} is not within {part} of {expected}");
}

#[test]
fn the_formula_gives_the_predictions_and_meets_the_fills() {
    // Block size, name length, predicted, measured (0 if no image was filled).
    let table = [
        (1024, 8, 397e3, 388e3),
        (1024, 32, 160e3, 161e3),
        (1024, 64, 91e3, 90.9e3),
        (1024, 128, 46.6e3, 48.1e3),
        (1024, 255, 20.8e3, 20.3e3),
        (2048, 8, 3.15e6, 3.19e6),
        (2048, 32, 1.25e6, 1.22e6),
        (2048, 64, 709e3, 693e3),
        (2048, 128, 361e3, 356e3),
        (2048, 255, 185e3, 184e3),
        (4096, 8, 24.9e6, 0.0),
        (4096, 32, 10.04e6, 10_139_668.0),
        (4096, 64, 5.56e6, 5.59e6),
        (4096, 128, 3.01e6, 2.92e6),
        (4096, 255, 1.53e6, 1.52e6),
        // The two fills of the published study.
        (4096, 32, 10.04e6, 10_118_651.0),
        (4096, 32, 10.04e6, 10_233_706.0),
    ];
    for (block_bytes, length, predicted, measured) in table {
        let entries = shape(block_bytes, true).capacity(&NameLengths::of(length)).entries;
        near(entries, predicted, 0.005);
        if measured > 0.0 {
            near(entries, measured, 0.035);
            assert!(LOW * entries < measured && measured < HIGH * entries);
        }
    }
}

#[test]
fn the_size_when_full_depends_little_on_the_names() {
    for (block_bytes, full_bytes) in [(4096, 581e6), (2048, 74e6), (1024, 9.5e6)] {
        near(capacity(block_bytes, "32").bytes, full_bytes, 0.01);
        near(capacity(block_bytes, "64").bytes, full_bytes, 0.02);
    }
}

#[test]
fn mixes_meet_their_fills() {
    // 1 KiB blocks, checksums: means of 14 fills each on Linux 6.18, entries and bytes at the first refusal.
    let table = [
        ("8-64", 138_685.0, 9_443_840.0),
        ("8,32,255", 61_896.0, 10_627_657.0),
        ("16:9,255:1", 136_157.0, 10_159_762.0),
        ("10-255", 44_874.0, 10_063_799.0),
        ("12,200", 57_634.0, 10_330_331.0),
    ];
    for (names, entries, bytes) in table {
        near(capacity(1024, names).entries, entries, 0.03);
        near(capacity(1024, names).bytes, bytes, 0.04);
    }
}

#[test]
fn leaves_of_few_names_lose_more_to_churn() {
    // 1 KiB blocks; used share of the index after 20 turnovers, divided by the share of the names.
    for (names, grown) in [("255", 4.0), ("128", 2.69), ("64", 2.03), ("32", 1.68)] {
        let capacity = capacity(1024, names);
        let part = capacity.churning / capacity.entries;
        assert!(part * grown < 0.87, "{names}: {part}");
        assert!(part == CHURNING || part * grown > 0.8, "{names}: {part}");
    }
    let usual = capacity(4096, "32");
    assert_eq!(usual.churning, CHURNING * usual.entries);
}

#[test]
fn a_third_level_makes_room_for_far_more() {
    let large = Shape { large_dir: true, ..shape(1024, true) };
    // Means of three fills and of one.
    near(large.capacity(&NameLengths::of(255)).entries, 1_616_624.0, 0.03);
    near(large.capacity(&NameLengths::of(128)).entries, 4_349_298.0, 0.04);
    // A directory of 945 841 152 bytes took 15 995 005 names.
    near(large.capacity(&NameLengths::of(32)).entries, 15_995_005.0, 0.02);
    near(large.capacity(&NameLengths::of(32)).bytes, 945_841_152.0, 0.01);
    assert!(Shape { large_dir: true, ..shape(4096, true) }.capacity(&NameLengths::of(32)).entries > 3e9);
}

#[test]
fn bytes_stored_next_to_the_name_are_counted() {
    let plain = shape(4096, true);
    assert_eq!((plain.entry_bytes(1), plain.entry_bytes(32), plain.entry_bytes(255)), (12.0, 40.0, 264.0));
    assert_eq!(Shape { hash_in_entry: true, encrypted: true, ..plain }.entry_bytes(33), 80.0);
    assert_eq!(Shape { encrypted: true, ..plain }.entry_bytes(250), 264.0);
    assert!(shape(4096, false).capacity(&NameLengths::of(32)).entries > capacity(4096, "32").entries);
    // With blocks of 64 KiB the size would exceed 32 bits.
    near(capacity(65_536, "32").bytes, 4_294_967_296.0, 0.001);
}

/// An ext4 directory with this number of entries and bytes.
fn directory(names: &str, entries: u64, directory_bytes: u64) -> Facts {
    let features = Fact::new(Ext4Features::USUAL, Known::Read, "ioctl");
    let indexed = Some(directory_bytes > 4096);
    Facts {
        directory_bytes,
        entries: Some(Fact::new(Span::exact(entries), Known::Measured, "counted")),
        details: Details::Ext4(Ext4 { features, indexed, casefolded: false, encrypted: false }),
        ..empty(names)
    }
}

fn change(facts: &mut Facts, features: impl FnOnce(&mut Ext4Features)) {
    let Details::Ext4(ext4) = &mut facts.details else { unreachable!() };
    features(&mut ext4.features.value);
}

fn traps_of(limits: &Limits) -> Vec<&'static str> {
    limits.judgement.traps.iter().map(|trap| trap.name).collect()
}

#[test]
fn a_grown_directory_is_read_off_the_gauge() {
    // Half of the full size.
    let limits = Limits::judge(directory("32", 5_100_000, 290_000_000), false);
    let more = limits.entries_until_full().unwrap();
    near(more.likely as f64, 5_100_000.0, 0.02);
    assert!(more.low < 3_700_000 && more.high > 6_400_000, "{more:?}");
    let first = &limits.ceilings[0];
    assert_eq!((first.limit, first.basis.known), (Limit::DirectoryIndex, Known::Read));
    assert!(first.basis.how.starts_with("gauge"), "{}", first.basis);
    assert!((first.used - 0.5).abs() < 0.01);
    assert!(traps_of(&limits).is_empty());
    let plan = limits.judgement.plan.unwrap();
    near(plan.growing as f64, 0.75 * 10.04e6, 0.01);
    near(plan.churning as f64, 0.45 * 10.04e6, 0.01);
}

#[test]
fn a_small_directory_is_judged_by_the_formula() {
    let limits = Limits::judge(directory("32", 10, 4096), false);
    let more = limits.entries_until_full().unwrap();
    near(more.likely as f64, 10.04e6, 0.01);
    near(more.low as f64, 0.85 * 10.04e6, 0.01);
    assert!(limits.ceilings[0].basis.how.starts_with("formula minus"));
}

#[test]
fn future_names_are_judged_by_the_rest_of_the_index() {
    let mut facts = directory("64", 5_100_000, 290_500_000);
    facts.names.basis.known = Known::Given;
    let limits = Limits::judge(facts, false);
    near(limits.ceilings[0].more.likely as f64, 0.5 * 5.56e6, 0.02);
    assert_eq!(limits.ceilings[0].basis.known, Known::Given);
}

#[test]
fn churn_is_planned_for_and_recognised() {
    let limits = Limits::judge(directory("32", 10, 4096), true);
    near(limits.entries_until_full().unwrap().likely as f64, 0.45 * 10.04e6, 0.01);
    let limits = Limits::judge(directory("32", 5_000_000, 520_000_000), false);
    assert_eq!(traps_of(&limits), ["index-full", "churn"]);
    assert!(limits.ceilings[0].more.likely < 4_000_000);
}

// The remedy is a shell command with Unix paths.
#[cfg(unix)]
#[test]
fn a_hollow_directory_is_recognised_and_nothing_harmful_advised() {
    let mut facts = directory("32", 100, 28_900_000);
    facts.path = "/srv/cache dir".into();
    let limits = Limits::judge(facts, false);
    assert_eq!(traps_of(&limits), ["hollow"]);
    near(limits.ceilings[0].more.likely as f64, 10.04e6, 0.03);
    let cure = &limits.judgement.traps[0].cures[0];
    assert!(cure.text.contains("avoid e2fsck -D"));
    let command = cure.command.as_ref().unwrap();
    assert!(command.starts_with("mkdir '/srv/cache dir.new' && "), "{command}");
    assert!(
        command.ends_with("rmdir '/srv/cache dir' && mv -T '/srv/cache dir.new' '/srv/cache dir'"),
        "{command}"
    );
}

#[test]
fn a_mount_point_is_not_renamed() {
    for path in ["/mnt", ".", "..", "/", "a/.."] {
        let mut facts = directory("32", 100, 28_900_000);
        facts.path = path.into();
        let (kind, source, options) = ("ext4".into(), "/dev/x".into(), "rw".into());
        facts.mount = Some(Mount { point: "/mnt".into(), kind, source, options });
        let limits = Limits::judge(facts, false);
        assert_eq!(limits.judgement.traps[0].cures[0].command, None, "{path}");
    }
}

#[test]
fn small_blocks_and_a_full_index_are_traps() {
    let mut facts = directory("32", 150_000, 9_500_000);
    facts.space.block_bytes = 1024;
    let limits = Limits::judge(facts.clone(), false);
    assert_eq!(traps_of(&limits), ["index-full", "small-blocks"]);
    assert_eq!(limits.entries_until_full().unwrap().likely, 0);
    let text = &limits.judgement.traps[1].text;
    assert!(text.contains("63 times fewer"), "{text}");
    change(&mut facts, |features| features.large_dir = true);
    assert!(traps_of(&Limits::judge(facts, false)).is_empty());
}

#[test]
fn a_linear_directory_has_no_index_to_fill() {
    let mut facts = directory("32", 40_000, 1 << 21);
    change(&mut facts, |features| features.dir_index = false);
    let limits = Limits::judge(facts, false);
    assert_eq!(traps_of(&limits), ["linear"]);
    assert!(limits.judgement.gauge.is_none());
    assert!(limits.ceilings.iter().all(|ceiling| ceiling.limit != Limit::DirectoryIndex));
    assert!(
        limits.judgement.traps[0].cures[0].command.as_ref().unwrap().starts_with("tune2fs -O dir_index ")
    );
}

#[test]
fn the_mount_option_and_the_count_of_links_are_limits() {
    let mut facts = directory("32", 30_000, 1_720_320);
    facts.directory_share = 1.0;
    facts.links = 60_002;
    let (point, kind, source) = ("/mnt".into(), "ext4".into(), "/dev/sda1".into());
    facts.mount = Some(Mount { point, kind, source, options: "rw,max_dir_size_kb=2048".into() });
    change(&mut facts, |features| features.dir_nlink = false);
    let limits = Limits::judge(facts, false);
    assert_eq!(limits.ceilings[0].limit, Limit::LinkCount);
    assert_eq!(limits.ceilings[0].more, Span::exact(4_998));
    assert_eq!(limits.ceilings[1].limit, Limit::MountOption);
    near(limits.ceilings[1].more.likely as f64, 6_571.0, 0.01);
    assert_eq!(traps_of(&limits), ["max-dir-size", "few-links"]);
    let commands = |trap: usize| limits.judgement.traps[trap].cures[0].command.clone().unwrap();
    assert_eq!(commands(0), "mount -o remount,max_dir_size_kb=0 /mnt");
    assert_eq!(commands(1), "tune2fs -O dir_nlink /dev/sda1");
}

#[test]
fn a_directory_without_index_has_its_link_limit_whatever_dir_nlink_is() {
    let limits = |directory_bytes, indexed, links, directory_share| {
        let mut facts = Facts { links, directory_share, ..directory("4", 64_988, directory_bytes) };
        if let Details::Ext4(ext4) = &mut facts.details {
            ext4.indexed = Some(indexed);
        }
        Limits::judge(facts, false)
    };
    let linear = limits(1 << 20, false, 64_990, 1.0);
    assert_eq!(linear.runs_out_first(), Some(Limit::LinkCount));
    assert_eq!(linear.entries_until_full(), Some(Span::exact(10)));
    assert_eq!(linear.subdirectories_until_full(), Some(Span::exact(10)));
    let trap = linear.judgement.traps.iter().find(|trap| trap.name == "few-links").unwrap();
    assert!(trap.text.starts_with("Without an index, dir_nlink has no effect"), "{}", trap.text);
    assert!(trap.cures[0].text.starts_with("recreate the directory"), "{:?}", trap.cures);
    // Files to come take no links, but the number of directories is known.
    let of_files = limits(1 << 20, false, 64_990, 0.0);
    assert!(of_files.ceilings.iter().all(|ceiling| ceiling.limit != Limit::LinkCount));
    assert_eq!(of_files.subdirectories_until_full(), Some(Span::exact(10)));
    // A directory of one block gets its index with the second.
    for (directory_bytes, indexed) in [(1 << 20, true), (4096, false)] {
        let counted = limits(directory_bytes, indexed, 64_990, 1.0);
        assert_eq!(counted.subdirectories_until_full(), None);
        assert!(counted.ceilings.iter().all(|ceiling| ceiling.limit != Limit::LinkCount));
    }
}
