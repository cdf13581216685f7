//! Generated files: unique for every seed and distribution, reproducible, in constant memory; and shapes of
//! trees.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::collections::HashSet;
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir::layout::{Layout, NameBuffer};
use megadir_bench::dataset::{
    Chosen, Files, Look, NAME_BYTES_MAX, PlaceBuffer, fill, look_at, names_of, parse_sizes, parse_spread,
};
use megadir_record::{
    ContentKind, DirectoryClass, Level, Made, MakeDirectories, NAME_LENGTHS, NameScheme, SizeLaw, Spread,
};
use proptest::prelude::*;

static NEVER: AtomicBool = AtomicBool::new(false);

/// More than any directory holds; tests visit only a sample of them.
const MANY: u64 = 100_000_000;
const FEW: u64 = 100_000;

fn layout(text: &str) -> Spread {
    parse_spread(text).unwrap()
}

/// Returns a shape with this many files on three levels.
fn shape(files: u64) -> Spread {
    let class = |directories, files| DirectoryClass { directories, files };
    let levels = [vec![class(1, 7)], vec![class(3, 0), class(40, 93)], vec![class(900, files - 100)]];
    Spread::Shape { levels: levels.into_iter().map(|classes| Level { classes }).collect() }
}

/// Returns data sets of this size, one of every kind.
fn all(entries: u64) -> Vec<Files> {
    let lengths = NameScheme::Lengths { bytes: [14; NAME_LENGTHS] };
    let contents = [ContentKind::Pseudorandom, ContentKind::HexDigest, ContentKind::Json];
    let sizes = ["32", "uniform:0-300", "lognormal:200+sigma=1"].map(|law| parse_sizes(law).unwrap());
    let spreads = [
        (NameScheme::Md5, Spread::Flat),
        (NameScheme::Md5, layout("prefix:2/2")),
        (NameScheme::Hex, layout("suffix:1/1/1")),
        (NameScheme::Md5, layout("digest:2+from=0+under=2000")),
        (NameScheme::Decimal, layout("decimal:3/3/3")),
        (NameScheme::UpperHex, layout("sequence:100/1000")),
        (lengths, Spread::PerDirectory { files: 200 }),
        (lengths, shape(entries)),
    ];
    let file = |(at, (names, spread)): (usize, (NameScheme, Spread))| {
        let sizes = &sizes[at % sizes.len()];
        let made = Made {
            spread,
            content: contents[at % contents.len()],
            sizes: sizes.law.clone(),
            ..Made::flat(names, sizes.size_bytes)
        };
        Files::new(&made, 3, entries).unwrap()
    };
    let quick = Files::new(&quick(), 3, entries).unwrap();
    spreads.into_iter().enumerate().map(file).chain([quick]).collect()
}

/// Returns a data set that is cheap to compute, even in an unoptimised build.
fn quick() -> Made {
    Made { spread: layout("prefix:2/2"), ..Made::flat(NameScheme::Hex, 32) }
}

/// Computes everything about a file; returns a value that depends on it.
fn compute(files: &Files, index: u64, buffer: &mut PlaceBuffer, piece: &mut [u8]) -> u64 {
    let place = files.place(index, buffer).unwrap();
    let path = place.path().iter().fold(0_u64, |sum, byte| sum.rotate_left(5) ^ u64::from(*byte));
    let mut left = files.size_bytes(index);
    let mut content = files.content(index);
    while left > 0 {
        let count = left.min(piece.len() as u64);
        content.fill(&mut piece[..count as usize]);
        left -= count;
    }
    path ^ u64::from(piece[0])
}

#[test]
fn files_are_computed_and_nothing_is_held() {
    // Checked for 10^5 files, and for as many of 10^8, spread over the range; in the long tier for all 10^8 of
    // one kind.
    for entries in [FEW, MANY] {
        let mut made = Vec::new();
        let counted = allocation_counter::measure(|| made = all(entries));
        assert!(counted.bytes_max < 1 << 20, "{entries}: {} bytes", counted.bytes_max);
        for files in &made {
            let quick = *files.made() == quick();
            let computed = if quick && megadir_testkit::require::full() { entries } else { 2_000 };
            let (mut buffer, mut piece) = (PlaceBuffer::new(), [0; 4096]);
            let counted = allocation_counter::measure(|| {
                for number in 0..computed {
                    black_box(compute(files, number * (entries / computed), &mut buffer, &mut piece));
                }
            });
            assert_eq!(counted.count_total, 0, "{entries} {:?}", files.made());
        }
    }
}

#[test]
fn directories_are_computed_and_not_held() {
    for files in all(MANY).iter().filter(|files| files.made().names != NameScheme::Decimal) {
        let Some(directories) = files.directories() else { continue };
        let mut buffer = PlaceBuffer::new();
        let counted = allocation_counter::measure(|| {
            for number in (0..directories.count()).step_by(9973) {
                black_box(directories.path(number, &mut buffer));
            }
        });
        assert_eq!(counted.count_total, 0, "{:?}", files.made());
    }
}

fn spreads() -> impl Strategy<Value = Spread> {
    let hashed =
        (prop::sample::select(vec!["prefix", "suffix", "next-to-last", "digest"]), 1_u16..4, 0_u16..3);
    let hashed = hashed.prop_map(|(source, first, second)| match second {
        0 => layout(&format!("{source}:{first}")),
        second => layout(&format!("{source}:{first}/{second}")),
    });
    let numbered = (1_u16..4, 1_u16..4).prop_map(|(a, b)| layout(&format!("decimal:{a}/{b}/3")));
    let in_turn = (1_u16..20, 1_u16..20).prop_map(|(a, b)| layout(&format!("sequence:{a}/{b}")));
    let each = (1_u64..500).prop_map(|files| Spread::PerDirectory { files });
    prop_oneof![Just(Spread::Flat), hashed, numbered, in_turn, each]
}

fn schemes() -> impl Strategy<Value = NameScheme> {
    let lengths = prop::collection::vec(1_u8..=60, NAME_LENGTHS).prop_map(|mut lengths| {
        lengths.sort_unstable();
        NameScheme::Lengths { bytes: std::array::from_fn(|at| lengths[at]) }
    });
    prop_oneof![Just(NameScheme::Md5), Just(NameScheme::Hex), Just(NameScheme::Sequence), lengths]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn paths_differ_lead_back_to_names_and_lie_in_known_directories(
        spread in spreads(), names in schemes(), seed: u64, start in 0_u64..900_000,
    ) {
        let names = names_of(&spread).unwrap_or(names);
        let made = Made { spread: spread.clone(), ..Made::flat(names, 0) };
        // Names that a layout has no place for are refused when the data set is created.
        let Ok(files) = Files::new(&made, seed, 1_000_000) else { return Ok(()) };
        let (mut buffer, mut name) = (PlaceBuffer::new(), [0; NAME_BYTES_MAX]);
        let mut paths = HashSet::new();
        for index in start..start + 2000 {
            let Ok(place) = files.place(index, &mut buffer) else { continue };
            let path = place.path().to_vec();
            prop_assert_eq!([place.directory(), place.file()].join(&b'/'), [&b"/"[..usize::from(place.directory().is_empty())], &path[..]].concat());
            if let Spread::Layout { layout } = &spread {
                let layout: Layout = layout.parse().unwrap();
                let mut back = NameBuffer::new();
                prop_assert_eq!(layout.name_of(&path, &mut back), Some(files.names().write(index, &mut name)));
            }
            prop_assert!(paths.insert(path), "{} twice", index);
        }
    }
}

fn look(path: &Path) -> Look {
    look_at(path, &NEVER, &AtomicU64::new(0)).unwrap()
}

#[test]
fn a_tree_made_after_another_has_its_shape() {
    let parent = tempfile::tempdir().unwrap();
    let original = {
        let sizes = parse_sizes("lognormal:800+sigma=1.2").unwrap();
        let names = NameScheme::Lengths { bytes: std::array::from_fn(|at| 6 + at as u8) };
        let directories = MakeDirectories::Before;
        let made = Made {
            spread: shape(4000),
            directories,
            sizes: sizes.law,
            ..Made::flat(names, sizes.size_bytes)
        };
        Files::new(&made, 5, 4000).unwrap()
    };
    let make = |name: &str, files: &Files| {
        let path = parent.path().join(name);
        fill(&path, files, &mut |_| {}, &NEVER).unwrap();
        look(&path)
    };
    let first = make("first", &original);
    let like = |look: &Look, seed| {
        let chosen = Chosen { look: Some(look.clone()), ..Chosen::default() };
        Files::new(&chosen.over(&Made::flat(NameScheme::Md5, 0)), seed, look.entries).unwrap()
    };
    let second = make("second", &like(&first, 6));
    assert_eq!((first.entries, second.entries), (4000, 4000));
    // Levels, directories on each, files in each: exact.
    let levels = |look: &Look| match &look.spread {
        Spread::Shape { levels } => levels.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(levels(&first), levels(&second));
    assert_eq!(levels(&first)[1].classes[0], DirectoryClass { directories: 3, files: 0 });
    // Lengths and sizes are random: their means are within five standard deviations.
    let lengths = |look: &Look| match look.names {
        NameScheme::Lengths { bytes } => bytes.iter().map(|bytes| f64::from(*bytes)).sum::<f64>() / 32.0,
        other => panic!("{other:?}"),
    };
    assert!((lengths(&first) - 21.5).abs() < 1.0 && (lengths(&second) - lengths(&first)).abs() < 1.5);
    let (first_mean, second_mean) = (first.sizes.size_bytes as f64, second.sizes.size_bytes as f64);
    let error = 5.0 * first.sizes.deviation_bytes() * (2.0_f64 / 4000.0).sqrt();
    assert!((first_mean - second_mean).abs() < error, "{first_mean} {second_mean} {error}");
    let SizeLaw::Quantiles { bytes } = &first.sizes.law else { panic!("{first:?}") };
    assert_eq!(bytes.len(), 256);
    // The table alone reproduces the tree, and contains no name.
    let text = serde_json::to_string(&like(&first, 6).made()).unwrap();
    assert!(text.len() < 4096, "{text}");
}
