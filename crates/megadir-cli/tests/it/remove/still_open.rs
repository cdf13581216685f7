//! Files that a process has open while they are removed, where the server keeps them with another name.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::fs::File;
use std::time::{Duration, Instant};

use megadir_testkit::require;

use crate::mounts::{BINDFS, ENCFS, SSHFS, Shown, UNIONFS};
use crate::support::{Ran, fill, run};

const OPEN: &str = "still open by";
const AT_MOST: Duration = Duration::from_secs(2);

fn removes(shown: &Shown, words: &[&str]) -> Ran {
    let started = Instant::now();
    let ran = run(shown.at(), &[&["remove", "--yes"], words].concat());
    assert!(started.elapsed() < AT_MOST, "{ran:?}");
    ran
}

fn hidden(at: &std::path::Path) -> Vec<String> {
    let names = std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".fuse_hidden")).collect()
}

#[test]
fn removed_files_that_are_still_open_are_named_once_and_counted_once() {
    for server in [BINDFS, UNIONFS, ENCFS, SSHFS] {
        let shown = require!(Shown::mount(server, |_| {}));
        let here = shown.here();
        fill(&here, &["d/mid/sub/", "d/empty/", "e/", "d/f", "d/g", "d/mid/sub/h", "d/mid/sub/i", "e/f"]);
        let opened = ["d/f", "d/mid/sub/h"].map(|name| File::open(here.join(name)).unwrap());
        let ran = removes(&shown, &["here/d", "here/e"]);
        assert_eq!(ran.code, Some(1), "{} {ran:?}", server.0);
        assert_eq!(
            (ran.err.matches(OPEN).count(), ran.err.matches(".fuse_hidden").count()),
            (2, 2),
            "{ran:?}"
        );
        // f, g, h, i, empty; e and its f.
        assert!(ran.err.contains("removed 7 entries (2 directories)"), "{ran:?}");
        assert_eq!(hidden(&here.join("d/mid/sub")).len(), 1);
        // The same again removes nothing.
        let again = removes(&shown, &["here/d"]);
        assert_eq!((again.code, again.err.matches(OPEN).count()), (Some(1), 2), "{again:?}");
        assert!(again.err.contains("removed 0 entries"), "{again:?}");
        drop(opened);
        let last = removes(&shown, &["here/d"]);
        assert_eq!((last.code, here.join("d").exists()), (Some(0), false), "{last:?}");
    }
}

#[test]
fn contents_are_not_called_removed_while_an_open_file_has_another_name() {
    for server in [SSHFS, BINDFS] {
        let shown = require!(Shown::mount(server, |_| {}));
        let here = shown.here();
        fill(&here, &["d/", "d/f", "d/g"]);
        let opened = File::open(here.join("d/f")).unwrap();
        let ran = removes(&shown, &["--contents", "here/d"]);
        assert_eq!((ran.code, ran.err.matches(OPEN).count()), (Some(1), 1), "{} {ran:?}", server.0);
        assert!(ran.err.contains("removed 2 entries"), "{ran:?}");
        // Nor does the directory look empty to others.
        assert_eq!(hidden(&here.join("d")).len(), 1);
        drop(opened);
        assert_eq!(removes(&shown, &["--contents", "here/d"]).code, Some(0));
        assert_eq!(std::fs::read_dir(here.join("d")).unwrap().count(), 0);
    }
}
