//! Names of equal hash in one ext4 directory, listed in shares. They have the same position, so no share can
//! begin or end among them, but the first batch may end there.
//!
//! The legacy hash has 31 bits and no second half, so collisions can be found by search. Reference:
//! `fs/ext4/hash.c` (`dx_hack_hash_signed`), `fs/ext4/dir.c` (`ext4_dx_readdir`).
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::collections::HashMap;
use std::path::Path;

use megadir::limits::{self, Assumptions};
use megadir::{
    Dir, ErrorKind, FileType, PartialLimits, PartialWalk, ReadOptions, WalkItem, WalkOptions, backend,
};
use megadir_testkit::mount::{self, Mount, Recipe};
use megadir_testkit::require;
use megadir_testkit::rng::Rng;
use megadir_testkit::seen::{Seen, assert_same, identities, list};
use megadir_testkit::tree::{Flat, Maker};

/// Hash of all [`colliding`] names.
const HASH: u32 = 2_000_000_000;
/// Last eight bytes of names whose first 247 bytes are `x`; found by search, as the names below.
const LONG: &str = "rWOFdaaH ZIVTdaab y6WQiaaU NtOikaa9 duAVlaaX yaLsmaao 4kJEmaa7 SgAunaal 3hN4oaau DdNhpaay \
    ghhDraaG an5qvaai joPAyaaw PBZJzaaD YoumBaaO qLZyEaa9 8f3gFaaQ evluFaaK k0hhGaa6 4pUaNaay ATYoPaaA oUdTRaaH \
    VzPcSaaD ulUBSaa6 D8pOWaas 1zIWWaaU 7gIXXaaG lm6E1aar 2T201aah RWZu2aaF j30P7aau";
const SHORT: &str = "NKMjbaag swlaeaa3 YuQOhaal dPc8kaau BAFuqaae Skd7qaav NJ9draau AVMpuaav BuRMuaaw ZYzgvaak \
    OF35EaaU 14ibIaab U6AdIaaE yBUfJaaO VJoFJaaW KPBdNaa0 8SgdOaav 9ryAPaaj M0loTaap EWGzXaae Rbas1aar e5utgbax \
    9T5fjba0 Bs2vlbaY 4lKQobaK EXT2ubaL ITW3wbaW zdPgybas NYsTzbaF BmNFCbaL bekKCbaP no9ASbal";

/// Hash of ext4's oldest directories, as kernels with signed characters compute it.
fn legacy_hash(name: &[u8]) -> u32 {
    let (mut hash0, mut hash1) = (0x12a3_fe2d_u32, 0x37ab_e8f9_u32);
    for byte in name {
        let scaled = i32::from(byte.cast_signed()).wrapping_mul(7_152_373).cast_unsigned();
        let mut hash = hash1.wrapping_add(hash0 ^ scaled);
        if hash & 0x8000_0000 != 0 {
            hash = hash.wrapping_sub(0x7fff_ffff);
        }
        (hash0, hash1) = (hash, hash0);
    }
    hash0 << 1
}

/// Pairs of parts: after the parts before, both of a pair leave the legacy hash in one state, so that all names made of one part of
/// each pair have one hash. Found by search for equal states.
const PAIRS: &str = "8WWqK5 8WWQkU B8SX5P B8SsP5 e9Ij0Y c3Dt0P hocjWj hocWjW RRoGCZ DE2Ja2 GqECQc GqEcqC rJhNAi pLSFT} \
    oPyY0K s83Yer 5ZLQV9 5ZLdiL Dy0s0f j8LKWL NpWCPb NpWYfL WEjMNM WEjmnm XQkof# Ex4yj%";

/// Returns names of one hash.
fn of_one_hash() -> impl Iterator<Item = Vec<u8>> {
    let parts: Vec<&str> = PAIRS.split_whitespace().collect();
    let pairs = parts.len() / 2;
    (0..1_usize << pairs)
        .map(move |bits| (0..pairs).flat_map(|pair| parts[2 * pair + (bits >> pair & 1)].bytes()).collect())
}

fn colliding() -> Vec<Vec<u8>> {
    let long = LONG.split_whitespace().map(|end| ["x".repeat(247).as_bytes(), end.as_bytes()].concat());
    let short = SHORT.split_whitespace().map(|name| name.as_bytes().to_vec());
    long.chain(short).collect()
}

/// Creates a directory with all colliding names and others, `below` with smaller hashes.
fn make(path: &Path, below: usize, above: usize, seed: u64) {
    std::fs::create_dir(path).unwrap();
    let maker = Maker::open(path);
    colliding().iter().for_each(|name| maker.make(name, FileType::File));
    let (mut below, mut above) = (below, above);
    let flat = Flat { seed, ..Flat::plain(u64::MAX) };
    for index in 0.. {
        let name = flat.name(index);
        let left = if legacy_hash(&name) < HASH { &mut below } else { &mut above };
        if *left > 0 {
            *left -= 1;
            maker.make(&name, FileType::File);
        } else if below == 0 && above == 0 {
            break;
        }
    }
}

fn serial(directory: &Dir) -> Vec<Seen> {
    let options = ReadOptions::serial(1 << 20);
    list(backend("getdents").unwrap(), directory, &options).unwrap()
}

fn compare(directory: &Dir, options: ReadOptions) {
    let found = list(backend("split").unwrap(), directory, &options).unwrap();
    assert_same(&identities(&found), &identities(&serial(directory)), &format!("{options:?}"));
}

#[test]
fn the_names_have_one_position() {
    let names = colliding();
    assert!(names.len() > 60 && names.iter().all(|name| legacy_hash(name) == HASH));
    let mount = require!(Mount::make(&mount::EXT4_LEGACY));
    let path = mount.path().join("one");
    make(&path, 100, 100, 1);
    let seen = serial(&Dir::open(path).unwrap());
    // An entry's position is the cookie of the entry before it.
    let positions: HashMap<&[u8], i64> =
        seen.windows(2).map(|pair| (&pair[1].name[..], pair[0].cookie.unwrap())).collect();
    for name in &names {
        assert_eq!(positions[&name[..]], i64::from(HASH >> 1) << 32, "the kernel's hash is the one above");
    }
}

#[test]
fn the_first_batch_may_end_anywhere_among_them() {
    let mount = require!(Mount::make(&mount::EXT4_LEGACY));
    let step = if require::full() { 1 } else { 3 };
    for below in (0..110).step_by(step) {
        let path = mount.path().join("first");
        make(&path, below, 150, below as u64);
        let directory = Dir::open(&path).unwrap();
        for (buffer_bytes, shares, threads) in
            [(4096, 1, 1), (4096 + 264, 16, 2), (8192, 3, 1), (12_000, 20, 3)]
        {
            compare(&directory, ReadOptions::serial(buffer_bytes).divided(threads, shares));
        }
        std::fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn shares_may_end_anywhere_near_them() {
    let mount = require!(Mount::make(&mount::EXT4_LEGACY));
    let path = mount.path().join("near");
    make(&path, 2000, 2000, 7);
    let directory = Dir::open(&path).unwrap();
    let mut rng = Rng::new(7);
    let cases = if require::full() { 20_000 } else { 200 };
    for case in 0..cases {
        let (buffer_bytes, threads) = (rng.within(4096, 20_000) as usize, rng.within(1, 3) as usize);
        let shares = if case < 100 { case + 1 } else { rng.within(1, 3000) as usize };
        let options = ReadOptions::serial(buffer_bytes).divided(threads, shares);
        compare(&directory, options);
    }
}

/// If the file system loses the feature, directories keep their flag but return byte offsets.
#[test]
fn a_mark_left_over_from_an_index_is_not_believed() {
    // With metadata checksums the kernel refuses such directories.
    let mkfs = &["mkfs.ext4", "-q", "-F", "-O", "^metadata_csum"];
    let mut mount = require!(Mount::make(&Recipe { mkfs, ..mount::EXT4 }));
    let path = mount.path().join("marked");
    Flat { names: megadir_testkit::tree::Names::Longest, ..Flat::plain(400) }.build(&path);
    let directory = Dir::open(&path).unwrap();
    let before = identities(&serial(&directory));
    drop(directory);
    let without = |image: &Path| {
        mount::run(std::process::Command::new("tune2fs").args(["-O", "^dir_index"]).arg(image))
    };
    mount.remount(without).unwrap();
    let directory = Dir::open(&path).unwrap();
    assert!(backend("split").unwrap().probe(&directory).is_ok(), "the mark is still there");
    assert_eq!(identities(&serial(&directory)), before);
    for buffer_bytes in [4096, 10_000, 64 << 10] {
        compare(&directory, ReadOptions::serial(buffer_bytes).divided(2, 16));
    }
    let refused = megadir::estimate(&directory).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
    assert!(refused.to_string().contains("no hash index"), "{refused}");
    assert_eq!(limits::facts(&directory, &Assumptions::MORE_OF_THE_SAME).unwrap().entries, None);
    let limits = PartialLimits { unvisited_max: 10, entries_per_range: 100 };
    let mut walk = PartialWalk::new(directory, None, &WalkOptions::new(1), limits).unwrap();
    let mut entries = 0;
    while let Some(item) = walk.next_item() {
        match item {
            WalkItem::Batch { batch, .. } => entries += batch.len(),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((entries, walk.unvisited().len()), (before.len(), 0), "not divided");
}

/// Returns an estimate of a directory and the true number of its entries.
fn estimated(path: &Path) -> (megadir::Estimate, u64) {
    let entries = std::fs::read_dir(path).unwrap().count() as u64;
    (megadir::estimate(&Dir::open(path).unwrap()).unwrap(), entries)
}

fn assert_contains((estimate, entries): &(megadir::Estimate, u64)) {
    let (low, high) = estimate.interval;
    assert!(low <= *entries && *entries <= high, "{estimate:?} for {entries}");
}

#[test]
fn an_estimate_of_names_that_crowd_at_a_few_positions_has_the_truth_in_its_interval() {
    const UNIFORM: u64 = 8000;
    const CROWDED: usize = 10_000;
    /// One part in this many of all hashes.
    const BAND: u32 = 512;
    let made = require!(Mount::make(&mount::EXT4_LEGACY));
    let flat = Flat { seed: 5, ..Flat::plain(u64::MAX) };
    let uniform = |name: &str, entries: u64| {
        let path = made.path().join(name);
        std::fs::create_dir(&path).unwrap();
        let maker = Maker::open(&path);
        (0..entries).for_each(|index| maker.make(&flat.name(index), FileType::File));
        (path, maker)
    };
    let (band, maker) = uniform("band", UNIFORM);
    let in_band = |name: &Vec<u8>| legacy_hash(name).wrapping_sub(HASH) < u32::MAX / BAND;
    let names = (0_u64..).map(|index| format!("{:010x}", Rng::new(index).within(0, 1 << 40)).into_bytes());
    names.filter(in_band).take(CROWDED).for_each(|name| {
        maker.make_if_named(&name, FileType::File);
    });
    assert_contains(&estimated(&band));

    let hash = legacy_hash(&of_one_hash().next().unwrap());
    let (directory, maker) = uniform("one hash", UNIFORM);
    of_one_hash().for_each(|name| {
        assert_eq!(legacy_hash(&name), hash);
        maker.make(&name, FileType::File);
    });
    let found = estimated(&directory);
    assert_contains(&found);
    assert!(found.0.basis.contains("--count"), "{found:?}");

    // A directory that only grew has a narrow interval.
    let found = estimated(&uniform("plain", 40_000).0);
    assert_contains(&found);
    assert!(found.0.interval.1 < 44_000 && !found.0.basis.contains("--count"), "{found:?}");
}
