//! Paths of files: unique, and in a directory that is known in advance.

use std::collections::{HashMap, HashSet};

use megadir_record::{DirectoryClass, Level, Made, NAME_LENGTHS, NameScheme, Spread};

use super::PlaceBuffer;
use crate::dataset::Files;

fn class(directories: u64, files: u64) -> DirectoryClass {
    DirectoryClass { directories, files }
}

fn shape() -> Spread {
    let levels = [
        vec![class(1, 3)],
        vec![class(2, 0), class(3, 5)],
        vec![class(4, 2), class(1, 90)],
        vec![class(2, 0)],
    ];
    Spread::Shape { levels: levels.into_iter().map(|classes| Level { classes }).collect() }
}

fn files(names: NameScheme, spread: Spread, entries: u64) -> Files {
    Files::new(&Made { spread, ..Made::flat(names, 0) }, 5, entries).unwrap()
}

fn layout(layout: &str) -> Spread {
    Spread::Layout { layout: layout.into() }
}

fn all() -> Vec<(Files, u64)> {
    let short = NameScheme::Lengths { bytes: [2; NAME_LENGTHS] };
    vec![
        (files(NameScheme::Md5, Spread::Flat, 500), 0),
        (files(NameScheme::Md5, layout("prefix:1/1"), 500), 16 + 256),
        (files(NameScheme::Hex, layout("suffix:1/2"), 500), 16 + 4096),
        (files(NameScheme::Md5, layout("next-to-last:1+label=x-"), 500), 16),
        (files(NameScheme::Md5, layout("prefix:1/1/1+rest"), 500), 16 + 256 + 4096),
        (files(NameScheme::Md5, layout("prefix:1/1+from=0+under=100"), 500), 16),
        (files(NameScheme::Decimal, layout("digest:2"), 500), 256),
        (files(NameScheme::Decimal, layout("decimal:2/1/2"), 555), 1 + 6),
        (files(NameScheme::UpperHex, layout("sequence:3/4"), 500), 3 + 12),
        (files(NameScheme::UpperHex, layout("sequence:3/4"), 9), 1 + 3),
        (files(NameScheme::Md5, Spread::PerDirectory { files: 200 }, 500), 3),
        (files(short, Spread::PerDirectory { files: 200 }, 500), 3),
        (files(NameScheme::Md5, shape(), 100), 5 + 5 + 2),
        (files(short, shape(), 100), 5 + 5 + 2),
    ]
}

#[test]
fn every_file_has_a_path_of_its_own_in_a_directory_that_is_known() {
    let (mut buffer, mut other) = (PlaceBuffer::new(), PlaceBuffer::new());
    for (files, expected) in all() {
        let directories = files.directories().unwrap();
        assert_eq!(directories.count(), expected, "{files:?}");
        let mut known: HashSet<Vec<u8>> = HashSet::from([Vec::new()]);
        for number in 0..directories.count() {
            let path = directories.path(number, &mut buffer).unwrap().to_vec();
            let parent = path.iter().rposition(|byte| *byte == b'/').map_or(&path[..0], |at| &path[..at]);
            assert!(known.contains(parent), "{files:?}: a directory before the one that it is in");
            assert!(known.insert(path), "{files:?}: a directory twice");
        }
        assert_eq!(directories.path(directories.count(), &mut buffer), None);
        let mut paths = HashSet::new();
        for index in 0..files.entries() {
            let place = files.place(index, &mut other).unwrap();
            assert!(known.contains(place.directory()), "{files:?} {place:?}");
            assert!(!known.contains(place.path()), "{files:?} {place:?}");
            assert!(paths.insert(place.path().to_vec()), "{files:?} {place:?}");
        }
    }
}

#[test]
fn a_shape_has_its_numbers_of_files_and_directories() {
    let files = files(NameScheme::Hex, shape(), 100);
    let mut buffer = PlaceBuffer::new();
    let mut counts: HashMap<String, u64> = HashMap::new();
    for index in 0..100 {
        let directory = files.place(index, &mut buffer).unwrap().directory().to_vec();
        *counts.entry(String::from_utf8(directory).unwrap()).or_default() += 1;
    }
    let mut of_depth: Vec<(usize, u64)> = counts
        .iter()
        .map(|(path, files)| (path.split('/').filter(|part| !part.is_empty()).count(), *files))
        .collect();
    of_depth.sort_unstable();
    assert_eq!(of_depth, [(0, 3), (1, 1), (1, 2), (1, 2), (2, 1), (2, 1), (2, 90)]);
    assert_eq!((files.files_in_one_directory_max(), files.directories_expected()), (90, 12.0));
}

#[test]
fn expected_counts_of_many_directories_match_their_entries() {
    for (files, _) in all() {
        let mut buffer = PlaceBuffer::new();
        let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
        for index in 0..files.entries() {
            *counts.entry(files.place(index, &mut buffer).unwrap().directory().to_vec()).or_default() += 1;
        }
        assert!(*counts.values().max().unwrap() <= files.files_in_one_directory_max(), "{files:?}");
        let mut directories: HashSet<&[u8]> = HashSet::new();
        for path in counts.keys().filter(|path| !path.is_empty()) {
            let ends = (0..path.len()).filter(|at| path[*at] == b'/').chain([path.len()]);
            directories.extend(ends.map(|end| &path[..end]));
        }
        let found = directories.len() as f64;
        let expected = files.directories_expected();
        // Shapes have directories without files too.
        let empty = if matches!(files.made().spread, Spread::Shape { .. }) { 5.0 } else { 0.0 };
        assert!((found + empty - expected).abs() <= 0.05 * expected, "{files:?}: {found} {expected}");
    }
}

#[test]
fn workers_have_sets_of_their_own() {
    let files = files(NameScheme::Md5, layout("prefix:1"), 100);
    let (mut first_buffer, mut second_buffer) = (PlaceBuffer::new(), PlaceBuffer::new());
    let (first, second) = (files.of_worker(0), files.of_worker(1));
    assert_ne!(first.place(0, &mut first_buffer).unwrap(), second.place(0, &mut second_buffer).unwrap());
    assert_eq!((first.entries(), first.made()), (100, files.made()));
    assert_eq!(first, files.of_worker(0));
}

#[test]
fn impossible_placements_are_refused() {
    let refuse = |spread: Spread, entries| {
        Files::new(&Made { spread, ..Made::flat(NameScheme::Md5, 0) }, 5, entries).unwrap_err().to_string()
    };
    assert!(refuse(shape(), 99).contains("100 files, but 99"));
    assert!(refuse(Spread::PerDirectory { files: 0 }, 1).contains("at least 1"));
    assert!(refuse(Spread::Shape { levels: vec![] }, 0).contains("levels"));
    let two_tops = vec![Level { classes: vec![class(2, 1)] }];
    assert!(refuse(Spread::Shape { levels: two_tops }, 1).contains("1 at the top"));
    let none = vec![Level { classes: vec![class(1, 1), class(0, 1)] }];
    assert!(refuse(Spread::Shape { levels: none }, 2).contains("in the shape is empty"));
    assert!(refuse(layout("prefix:0"), 2).contains("prefix:0"));
}
