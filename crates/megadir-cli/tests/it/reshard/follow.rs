//! `--follow`: files that programs still create at old paths are moved too.

use std::time::{Duration, Instant};

use super::support::{at_top, directories, files, interrupted, make};
use crate::remove::witness::scratch_in_memory;
use crate::support::{fill, finish, megadir};

#[test]
fn files_that_appear_are_moved_until_the_directory_is_quiet() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 200, "digest:1");
    let words = [
        "reshard",
        "--yes",
        "--from",
        "digest:1",
        "--to",
        "digest:1/1+label=d",
        "--follow",
        "--until-quiet",
        "2s",
        "t",
    ];
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            for index in 0..20 {
                // In an old directory, which must not be removed meanwhile.
                let name = format!("late{index}");
                let layout: megadir::layout::Layout = "digest:1".parse().unwrap();
                let path = layout.path_for(name.as_bytes()).unwrap();
                fill(at, &[&format!("t/{}", path.display())]);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        finish(&mut megadir(at, &words))
    });
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.starts_with("megadir: moved 220 files from digest:1 to "), "{ran:?}");
    assert!(ran.err.contains("; removed 16 directories"), "{ran:?}");
    let found = files(&at.join("t"));
    assert!(found.len() == 220 && found.values().all(|(_, path)| path.starts_with('d')));
    assert!(directories(&at.join("t")) <= 16 + 256);
}

#[test]
fn it_ends_with_an_interrupt_and_names_each_failure_once() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 20, "flat");
    fill(at, &["t/abcd", "t/zz/", "t/zz/zz00", "t/zz00"]);
    let words = ["reshard", "--yes", "--from", "flat", "--to", "prefix:2", "--follow", "t"];
    let all_moved = std::cell::Cell::new(None);
    let ran = interrupted(at, &words, || {
        // Two more passes.
        let since = all_moved.get().or_else(|| (at_top(at) == 1).then(Instant::now));
        all_moved.set(since);
        since.is_some_and(|since| since.elapsed() > Duration::from_millis(1500))
    });
    assert_eq!(ran.err.matches("rename 't/zz00'").count(), 1, "{ran:?}");
    assert!(ran.err.contains("; 1 file stays because another entry has the new path"), "{ran:?}");
    assert!(ran.err.contains("moved 21 files") && ran.err.contains("interrupted"), "{ran:?}");
}
