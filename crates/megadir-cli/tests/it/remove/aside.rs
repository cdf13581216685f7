//! Directories put aside first: their name is free, or the directory empty, at once, and leftovers are found
//! again.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use megadir_testkit::mount::{EXT4, Mount, Recipe};
use megadir_testkit::require;

use crate::mounts::{BINDFS, MERGERFS, OVERLAY, SSHFS, Shown};
use crate::support::{by_std, fill, megadir, named, run, scratch};

/// A directory that cannot be put aside is refused by the dry run too, with the option to leave out, and nothing is changed.
fn is_refused(shown: &Shown, options: &[&str]) {
    let here = shown.here();
    let before = by_std(&here);
    for how in ["--dry-run", "--yes"] {
        let ran = run(shown.at(), &[&["remove", how], options, &["here/t"]].concat());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let line = ran.err.lines().next().unwrap();
        assert!(line.ends_with(&format!("the same command without {} works", options[0])), "{ran:?}");
        assert_eq!((by_std(&here), by_std(&here.join("t"))), (before.clone(), named(&["a", "g"])), "{how}");
    }
    let ran = run(shown.at(), &[&["remove", "--yes"], &options[1..], &["here/t"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!here.join("t/a").exists());
}

#[test]
fn directories_that_cannot_be_put_aside_are_refused_with_the_command_that_works() {
    for (server, options) in [
        (OVERLAY, &["--detach"][..]),
        (OVERLAY, &["--renew", "--contents"]),
        (BINDFS, &["--renew", "--contents"]),
        (SSHFS, &["--renew", "--contents"]),
        (MERGERFS, &["--renew", "--contents"]),
    ] {
        let shown = require!(Shown::mount(server, tree));
        is_refused(&shown, options);
    }
    // One of the upper layer can be.
    let shown = require!(Shown::mount(OVERLAY, |_| {}));
    for (options, left) in [(&["--detach"][..], &[][..]), (&["--renew", "--contents"], &["t"])] {
        tree(&shown.here());
        goes_as_foretold(shown.at(), &[options, &["here/t"]].concat());
        assert_eq!(by_std(&shown.here()), named(left));
    }
}

fn tree(at: &Path) {
    fill(at, &["t/a/b/", "t/a/f", "t/g"]);
}

/// Starts a slow removal, waits until it has put the directory aside, and kills it; returns the hidden name.
fn killed(at: &Path, options: &[&str]) -> String {
    (0..100).for_each(|index| fill(at, &[&format!("t/{index}")]));
    let words = [&["remove", "--yes", "--rate", "1/s"], options, &["t"]].concat();
    let mut child = megadir(at, &words).stderr(std::process::Stdio::null()).spawn().unwrap();
    let hidden = loop {
        let names = by_std(at);
        if let Some(name) = names.iter().find(|name| name.starts_with(b".megadir-")) {
            // The old directory has entries; a new one, before the exchange, is empty.
            if std::fs::read_dir(at.join(String::from_utf8(name.clone()).unwrap())).unwrap().count() > 1 {
                break String::from_utf8(name.clone()).unwrap();
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    hidden
}

/// Removes, and compares the result with the counts of a dry run.
#[track_caller]
fn goes_as_foretold(at: &Path, options: &[&str]) {
    let result = |how: &str| -> serde_json::Value {
        let ran = run(at, &[&["remove", how, "--json"], options].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        serde_json::from_slice(&ran.out).unwrap()
    };
    let (predicted, done) = (result("--dry-run"), result("--yes"));
    assert_eq!((&predicted["removed"], &predicted["directories"]), (&done["removed"], &done["directories"]));
    assert!(done["removed"].as_u64().unwrap() > 1, "{done}");
}

#[test]
fn a_detached_directory_frees_its_name_at_once_and_is_found_again() {
    let scratch = scratch();
    let at = scratch.path();
    tree(at);
    fill(at, &["file"]);
    let ran = run(at, &["remove", "--yes", "--detach", "t", "file"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("removed 6 entries (3 directories)"), "{ran:?}");
    assert!(by_std(at).is_empty());
    for is_made_again in [false, true] {
        tree(at);
        let hidden = killed(at, &["--detach"]);
        assert!(hidden.starts_with(".megadir-detached-") && !at.join("t").exists(), "{hidden}");
        if is_made_again {
            tree(at);
        }
        // Hidden directories of another entry stay.
        fill(at, &["u/", ".megadir-detached-mine/"]);
        run(at, &["remove", "--yes", "--detach", "u"]);
        let kept =
            [&[".megadir-detached-mine", &hidden][..], if is_made_again { &["t"] } else { &[] }].concat();
        assert_eq!(by_std(at), named(&kept));
        goes_as_foretold(at, &["--detach", "t"]);
        assert_eq!(by_std(at), named(&[".megadir-detached-mine"]));
        std::fs::remove_dir(at.join(".megadir-detached-mine")).unwrap();
    }
    let ran = run(at, &["remove", "--yes", "--detach", "t"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.starts_with("megadir: remove 't': No such file or directory"), "{ran:?}");
}

#[test]
fn a_directory_that_conditions_left_hollow_is_named() {
    let mount = require!(Mount::make(&EXT4));
    let at = mount.path().join("here");
    std::fs::create_dir_all(at.join("t")).unwrap();
    (0..30_000).for_each(|index| drop(std::fs::File::create(at.join(format!("t/{index:060}"))).unwrap()));
    let full = run(&at, &["remove", "--yes", "--match", "*99", "t"]);
    assert!(full.code == Some(0) && !full.err.contains("never shrink"), "{full:?}");
    let hollow = run(&at, &["remove", "--yes", "--match", "*[1-9]", "t"]);
    assert!(
        hollow.err.contains("so listing it stays slow; 'megadir limits' names what helps\n"),
        "{hollow:?}"
    );
}

#[test]
fn renewed_directory_is_small_and_otherwise_equal() {
    let mount = require!(Mount::make(&EXT4));
    let at = mount.path().join("here");
    std::fs::create_dir_all(at.join("t")).unwrap();
    let directory = at.join("t");
    (0..30_000)
        .for_each(|index| drop(std::fs::File::create(directory.join(format!("{index:060}"))).unwrap()));
    chown(&directory, Some(12), Some(34)).unwrap();
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o2751)).unwrap();
    let before = directory.metadata().unwrap();
    assert!(before.size() > 1 << 20);
    let ran = run(&at, &["remove", "--yes", "--contents", "t"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let words = "never shrink, so listing it stays slow; --contents --renew replaces it\n";
    // The filled share of its blocks depends on the hash seed.
    assert!(ran.err.contains("megadir: 't' keeps its size of ") && ran.err.contains(words), "{ran:?}");
    let ran = run(&at, &["remove", "--yes", "--contents", "--renew", "t/"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.err.contains("never shrink"), "{ran:?}");
    let after = directory.metadata().unwrap();
    assert_eq!(after.size(), 4096);
    assert_ne!(after.ino(), before.ino());
    assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
    assert_eq!(by_std(&at), named(&["t"]));
    // After a kill in between, the same command continues.
    let hidden = killed(&at, &["--contents", "--renew"]);
    assert!(hidden.starts_with(".megadir-renewed-") && by_std(&directory).is_empty(), "{hidden}");
    fill(&at, &["t/new"]);
    goes_as_foretold(&at, &["--contents", "--renew", "t"]);
    assert_eq!(by_std(&at), named(&["t"]));
    let ran = run(mount.path().parent().unwrap(), &["remove", "--yes", "--contents", "--renew", "root"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("'root': a mount point, which cannot be renamed\n"), "{ran:?}");
}

#[test]
fn a_directory_is_renewed_where_no_inode_is_left_for_the_copy() {
    const SMALL: Recipe = Recipe {
        name: "ext4 with 256 inodes",
        mkfs: &["mkfs.ext4", "-q", "-F", "-N", "256"],
        image_bytes: 64 << 20,
        ..EXT4
    };
    let mount = require!(Mount::make(&SMALL));
    let at = mount.path();
    let directory = at.join("t");
    std::fs::create_dir(&directory).unwrap();
    let before = directory.metadata().unwrap();
    let full = (0..1000).find_map(|index| std::fs::File::create(directory.join(index.to_string())).err());
    assert_eq!(full.map(|error| error.kind()), Some(std::io::ErrorKind::StorageFull));
    let ran = run(&at, &["remove", "--yes", "--contents", "--renew", "t"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let words = "megadir: no room for an empty copy of 't': its contents are removed first\n";
    assert!(ran.err.starts_with(words), "{ran:?}");
    assert!(by_std(&directory).is_empty());
    assert_ne!(directory.metadata().unwrap().ino(), before.ino());
    assert_eq!(by_std(&at), named(&["lost+found", "t"]));
}

#[test]
fn options_about_putting_aside_are_refused_where_they_mean_nothing() {
    let scratch = scratch();
    let at = scratch.path();
    tree(at);
    for options in [
        &["--renew"][..],
        &["--renew", "--contents", "--match", "*"],
        &["--renew", "--contents", "--older-than", "1d"],
        &["--detach", "--contents"],
        &["--detach", "--type", "f"],
    ] {
        let ran = run(at, &[&["remove", "--yes"], options, &["t"]].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
    let ran = run(at, &["remove", "--dry-run", "--detach", "t"]);
    assert!(String::from_utf8(ran.quiet()).unwrap().starts_with("would remove 5 entries (3 directories)"));
    assert!(at.join("t/a/f").exists());
}
