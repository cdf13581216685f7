//! Directories as units.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::super::{SelectOptions, select};
use super::{files, flat, of_units, remove, selected, set_times};
use crate::conditions::{Conditions, Globs};
use crate::dir::Dir;
use crate::remove::{Progress, RemoveOptions, remove_contents};

#[test]
fn a_unit_that_is_used_after_it_was_selected_stays() {
    let scratch = tempfile::tempdir().unwrap();
    let top = scratch.path().join("t");
    for unit in ["a", "b", "c"] {
        fs::create_dir_all(top.join(unit).join("d/e")).unwrap();
        for file in ["1", "d/2", "d/e/3"] {
            fs::write(top.join(unit).join(file), "x").unwrap();
            set_times(&top.join(unit).join(file), 1_000_000, 1_000_000);
        }
    }
    let options = SelectOptions { by_directory: true, ..files(3) };
    let selection = selected(&top, &options);
    set_times(&top.join("b/d/e/3"), 2_000_000, 1_000_000);
    let (removed, _) = remove(&top, &selection, &options.conditions, false);
    assert_eq!((removed.counts.entries, removed.counts.directories), (3, 3));
    assert!(!top.join("a").exists() && top.join("b/1").exists() && top.join("c/1").exists());
}

#[test]
fn units_of_directories_refuse_conditions_on_their_entries() {
    let (_scratch, top) = flat(1, |_| 1_000_000);
    let none = Conditions::default();
    for conditions in [
        Conditions { larger_than: Some(1), ..none.clone() },
        Conditions { types: vec![crate::FileType::File], ..none.clone() },
        Conditions { depth_max: Some(2), ..none.clone() },
        Conditions { exclude: Globs::of_names_or_paths(&["a/b"]).unwrap(), ..none.clone() },
        Conditions { paths: Globs::of_paths(&["*"]).unwrap(), ..none },
    ] {
        let options = SelectOptions { conditions: Arc::new(conditions), by_directory: true, ..files(0) };
        let watch = &mut |_: crate::TreeEvent<'_>| ControlFlow::Continue(());
        let error = select(&Dir::open(&top).unwrap(), &options, watch).unwrap_err();
        assert!(error.to_string().contains("units of directories"), "{error}");
    }
}

#[test]
fn another_directory_in_the_place_of_a_unit_loses_nothing() {
    let (scratch, top) = of_units();
    let options = SelectOptions { by_directory: true, ..files(2) };
    let (_of_others, others) = of_units();
    // Exchanged for one with the same times, made before.
    fs::rename(others.join("a"), scratch.path().join("a")).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    let selection = selected(&top, &options);
    fs::rename(top.join("a"), scratch.path().join("old")).unwrap();
    fs::rename(scratch.path().join("a"), top.join("a")).unwrap();
    // New, with times of long ago.
    fs::rename(others.join("b"), top.join("0")).unwrap();
    let (removed, _) = remove(&top, &selection, &options.conditions, false);
    assert_eq!((removed.counts.entries, removed.counts.failures), (2, 0));
    for (unit, stays) in [("0", true), ("a", true), ("b", false), ("c", true)] {
        assert_eq!(top.join(unit).join("d/2").exists(), stays, "{unit}");
    }
}

#[test]
fn a_unit_in_which_an_entry_was_made_meanwhile_stays() {
    let (_scratch, top) = of_units();
    let options = SelectOptions { by_directory: true, ..files(2) };
    let selection = selected(&top, &options);
    fs::create_dir(top.join("a/d/new")).unwrap();
    remove(&top, &selection, &options.conditions, false);
    assert!(top.join("a/1").exists() && !top.join("b").exists() && top.join("c/1").exists());
}

#[test]
fn units_without_files_stay() {
    let (_scratch, top) = of_units();
    fs::create_dir_all(top.join("empty")).unwrap();
    fs::create_dir_all(top.join("hollow/d")).unwrap();
    let options = SelectOptions { by_directory: true, ..files(0) };
    let selection = selected(&top, &options);
    let (removed, _) = remove(&top, &selection, &options.conditions, false);
    assert_eq!((removed.counts.entries, removed.counts.directories), (6, 6));
    assert!(top.join("empty").exists() && top.join("hollow/d").exists() && !top.join("c").exists());
}

#[test]
fn units_are_removed_by_several_threads_and_few_units_by_several_each() {
    for units in [1_u64, 60] {
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().join("t");
        for (unit, below) in (0..units).flat_map(|unit| (0..600 / units).map(move |below| (unit, below))) {
            let directory = top.join(format!("{unit}/{below}"));
            fs::create_dir_all(&directory).unwrap();
            for file in 0..2 {
                fs::write(directory.join(file.to_string()), "x").unwrap();
                set_times(&directory.join(file.to_string()), 1_000_000, 1_000_000);
            }
        }
        let options = SelectOptions { by_directory: true, ..files(0) };
        let selection = selected(&top, &options);
        let threads = Mutex::new(std::collections::HashSet::new());
        let note = |_: &Path, _| {
            threads.lock().unwrap().insert(std::thread::current().id());
            std::thread::sleep(Duration::from_micros(200));
            true
        };
        let remove_options = RemoveOptions {
            budget: Some(&selection),
            on_removal: Some(&note),
            ..RemoveOptions::new(3, &|failure| panic!("{failure}"))
        };
        let removed = remove_contents(&Dir::open(&top).unwrap(), &remove_options, &Progress::new()).unwrap();
        assert_eq!((removed.counts.entries, removed.counts.directories), (1200, 600 + units));
        let threads = threads.into_inner().unwrap().len();
        assert!((2..=3).contains(&threads), "{threads} threads for {units} units");
    }
}
