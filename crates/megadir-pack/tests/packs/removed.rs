//! Removal of what a pack holds: exactly that, and only while it is unchanged.

use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes, Permissions};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use megadir::Dir;
use megadir::remove::{Counts, Progress, RemoveOptions};
use megadir_inventory::PackIndex;
use megadir_pack::{INDEX, PackedSelection, RemoveEvent, Stay, Stays, select_packed};
use megadir_testkit::rng::Rng;
use megadir_testkit::unprivileged::unprivileged;
use tempfile::TempDir;

use crate::described::{described, hostile_tree, name};
use crate::{extracted, packed};

/// Longer than the time before a scan for which equal times prove nothing.
const SETTLED: Duration = Duration::from_millis(250);

/// Result of a removal, with the paths of all that stays below the tree.
#[derive(Debug, PartialEq, Eq)]
struct Done {
    counts: Counts,
    stays: Stays,
    stayed: BTreeSet<(PathBuf, &'static str)>,
    failures: Vec<String>,
}

type Stayed = BTreeSet<(PathBuf, &'static str)>;

fn word(stay: Stay) -> &'static str {
    match stay {
        Stay::Changed => "changed",
        Stay::NotPacked => "not packed",
        Stay::Damaged => "damaged",
        Stay::Unread => "unread",
    }
}

fn selected(pack: &Path, source: &Path) -> megadir::Result<(PackedSelection, Stayed)> {
    let mut stayed = Stayed::new();
    let selection = select_packed(pack, &Dir::open(source)?, 2, &mut |event| {
        if let RemoveEvent::Stays(path, stay) = event {
            stayed.insert((path.strip_prefix(source).unwrap().to_owned(), word(stay)));
        }
        ControlFlow::Continue(())
    })?;
    Ok((selection.unwrap(), stayed))
}

fn finished(
    (selection, mut stayed): (PackedSelection, Stayed),
    source: &Path,
    dry_run: bool,
) -> megadir::Result<Done> {
    let failures = Mutex::new(Vec::new());
    let on_failure = |error: megadir::Error| failures.lock().unwrap().push(error.to_string());
    let options = RemoveOptions { dry_run, ..RemoveOptions::new(None, &on_failure) };
    let (removed, stays) = selection.remove(&options, &Progress::new(), &mut |event| {
        if let RemoveEvent::Stays(path, stay) = event {
            stayed.insert((path.strip_prefix(source).unwrap().to_owned(), word(stay)));
        }
        ControlFlow::Continue(())
    })?;
    let failures = failures.into_inner().unwrap();
    assert_eq!(stays.all() as usize, stayed.len(), "{stays:?}: {stayed:?}");
    Ok(Done { counts: removed.counts, stays, stayed, failures })
}

/// Removes, after a dry run that must have the same result and change nothing.
#[track_caller]
fn removed(pack: &Path, source: &Path) -> Done {
    let before = described(source);
    let dry = finished(selected(pack, source).unwrap(), source, true).unwrap();
    assert_eq!(described(source), before, "a dry run removes nothing");
    let done = finished(selected(pack, source).unwrap(), source, false).unwrap();
    assert_eq!(dry, done);
    done
}

fn paths(top: &Path) -> BTreeSet<PathBuf> {
    described(top).keys().map(|path| PathBuf::from(name(path))).collect()
}

fn stayed(entries: &[(&str, &'static str)]) -> Stayed {
    entries.iter().map(|(path, why)| (PathBuf::from(path), *why)).collect()
}

fn restore_modified(path: &Path, before: &fs::Metadata) {
    let times = FileTimes::new().set_modified(before.modified().unwrap());
    File::options().write(true).open(path).unwrap().set_times(times).unwrap();
}

/// Files, links and directories of a random tree.
fn random_tree(top: &Path, rng: &mut Rng) {
    fs::create_dir(top).unwrap();
    let (mut directories, mut files) = (vec![top.to_owned()], Vec::<PathBuf>::new());
    for number in 0..rng.within(30, 80) {
        let directory = directories[rng.within(0, directories.len() as u64 - 1) as usize].clone();
        let path = directory.join(format!("e{number}"));
        match rng.within(0, 9) {
            0 | 1 => {
                fs::create_dir(&path).unwrap();
                directories.push(path);
            }
            2 => symlink(format!("target{number}"), &path).unwrap(),
            3 if !files.is_empty() => {
                fs::hard_link(&files[rng.within(0, files.len() as u64 - 1) as usize], &path).unwrap();
                files.push(path);
            }
            _ => {
                let length = if rng.chance(3) { 1_200_000 } else { rng.pick(&[0, 1, 600, 5000]) };
                fs::write(&path, vec![number as u8; length]).unwrap();
                files.push(path);
            }
        }
    }
}

/// Changes some entries, and returns the paths of all that must stay and are no directories.
fn change_some(top: &Path, rng: &mut Rng) -> BTreeSet<PathBuf> {
    let mut stay = BTreeSet::new();
    let mut changed_files = BTreeSet::new();
    for path in paths(top) {
        let at = top.join(&path);
        let status = fs::symlink_metadata(&at).unwrap();
        if status.is_dir() {
            if rng.chance(10) {
                fs::write(at.join("new"), "new").unwrap();
                stay.insert(path.join("new"));
            }
            continue;
        }
        if !rng.chance(20) {
            continue;
        }
        match rng.within(0, 3) {
            0 if status.is_file() && status.len() > 0 => {
                // The same size, and the time of modification is put back.
                let file = File::options().write(true).open(&at).unwrap();
                file.write_all_at(b"\xee", 0).unwrap();
                restore_modified(&at, &status);
                changed_files.insert(status.ino());
            }
            1 => {
                // Another file with the same contents takes the name.
                let copy = top.join("copy");
                match status.is_file() {
                    true => drop(fs::copy(&at, &copy).unwrap()),
                    false => symlink(fs::read_link(&at).unwrap(), &copy).unwrap(),
                }
                fs::rename(&copy, &at).unwrap();
                stay.insert(path.clone());
            }
            2 => fs::remove_file(&at).unwrap(),
            _ if status.is_file() => {
                fs::set_permissions(&at, Permissions::from_mode(0o600)).unwrap();
                changed_files.insert(status.ino());
            }
            _ => {}
        }
    }
    // A change is one of all names of the file.
    for path in paths(top) {
        let status = fs::symlink_metadata(top.join(&path)).unwrap();
        if changed_files.contains(&status.ino()) {
            stay.insert(path);
        }
    }
    stay
}

#[test]
fn exactly_the_packed_and_unchanged_entries_go_and_the_pack_gives_them_back() {
    let (mut some_stay, mut all_go) = (0, 0);
    for seed in 0..12 {
        let directory = TempDir::new().unwrap();
        let (source, pack, copy) =
            (directory.path().join("source"), directory.path().join("pack"), directory.path().join("copy"));
        let mut rng = Rng::new(seed);
        random_tree(&source, &mut rng);
        // Contents decide where the times are too near to the scan; both ways have the same result.
        if seed % 2 == 0 {
            std::thread::sleep(SETTLED);
        }
        let (_, failures) = packed(&source, &pack, 256 << 10);
        assert_eq!(failures, [""; 0]);
        let before = described(&source);
        let expected = if seed % 4 == 3 { BTreeSet::new() } else { change_some(&source, &mut rng) };
        let there = described(&source);
        let done = removed(&pack, &source);
        let left = described(&source);
        let files = |of: &BTreeSet<PathBuf>| -> BTreeSet<PathBuf> {
            let is_file = |path: &&PathBuf| !source.join(path).is_dir() || source.join(path).is_symlink();
            of.iter().filter(is_file).cloned().collect()
        };
        assert_eq!(files(&paths(&source)), expected, "seed {seed}: {done:?}");
        // Directories stay for what is in them.
        for path in left.keys().filter(|path| !path.is_empty()) {
            let at = source.join(name(path));
            let is_filled = || fs::read_dir(&at).unwrap().next().is_some();
            assert!(at.is_symlink() || !at.is_dir() || is_filled(), "seed {seed}: {at:?}");
        }
        let missing = there.len() - left.len();
        assert_eq!((done.counts.entries + done.counts.directories) as usize, missing, "seed {seed}");
        assert_eq!(done.failures, [""; 0]);
        extracted(&pack, &copy);
        let copied = described(&copy);
        for path in there.keys().filter(|path| !left.contains_key(*path)) {
            assert_eq!(copied[path], before[path], "seed {seed}: {:?}", name(path));
        }
        some_stay += usize::from(!expected.is_empty());
        all_go += usize::from(left.len() == 1);
    }
    assert!(some_stay > 5 && all_go > 1, "{some_stay} {all_go}");
}

#[test]
fn a_tree_of_all_kinds_goes_as_a_whole_and_comes_back() {
    let directory = TempDir::new().unwrap();
    let (source, pack, copy) =
        (directory.path().join("source"), directory.path().join("pack"), directory.path().join("copy"));
    hostile_tree(&source);
    std::thread::sleep(SETTLED);
    let before = described(&source);
    packed(&source, &pack, 64 << 10);
    let done = removed(&pack, &source);
    assert_eq!((done.stays.all(), &done.failures), (0, &vec![]), "{done:?}");
    assert_eq!(fs::read_dir(&source).unwrap().count(), 0, "{done:?}");
    extracted(&pack, &copy);
    let after = described(&copy);
    assert!(before.iter().all(|(path, line)| path.is_empty() || after[path] == *line));
}

#[test]
fn a_file_with_the_same_size_and_mtime_but_another_ctime_stays() {
    for is_settled in [false, true] {
        let directory = TempDir::new().unwrap();
        let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
        fs::create_dir(&source).unwrap();
        for file in ["changed", "replaced", "same"] {
            fs::write(source.join(file), "contents").unwrap();
        }
        if is_settled {
            std::thread::sleep(SETTLED);
        }
        packed(&source, &pack, 1 << 30);
        let status = fs::metadata(source.join("changed")).unwrap();
        fs::write(source.join("changed"), "CONTENTS").unwrap();
        restore_modified(&source.join("changed"), &status);
        let status = fs::metadata(source.join("replaced")).unwrap();
        fs::write(source.join("other"), "contents").unwrap();
        restore_modified(&source.join("other"), &status);
        fs::rename(source.join("other"), source.join("replaced")).unwrap();
        let done = removed(&pack, &source);
        assert_eq!(done.stayed, stayed(&[("changed", "changed"), ("replaced", "changed")]));
        assert_eq!(done.counts.entries, 1);
        assert_eq!(fs::read(source.join("changed")).unwrap(), b"CONTENTS");
    }
}

/// Places of the contents of files, by path.
fn places(pack: &Path) -> Vec<(PathBuf, u32, u64)> {
    let mut rows = PackIndex::open(&pack.join(INDEX)).unwrap();
    let mut places = Vec::new();
    while let Some((row, stored)) = rows.next_row().unwrap() {
        let mut path = Vec::new();
        row.key.path_into(&mut path);
        let stored = stored.unwrap();
        if stored.data_length > 0 {
            places.push((PathBuf::from(name(&path)), stored.shard, stored.data_offset));
        }
    }
    places
}

/// Twenty files of 20 kB in several shards of 64 KiB.
fn packed_in_shards(directory: &TempDir) -> (PathBuf, PathBuf) {
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    fs::create_dir_all(source.join("below")).unwrap();
    for number in 0..20u8 {
        fs::write(source.join(format!("below/file-{number:02}")), vec![number; 20_000]).unwrap();
    }
    assert!(packed(&source, &pack, 64 << 10).0.shards > 4);
    (source, pack)
}

#[test]
fn the_file_of_a_damaged_member_stays_and_the_others_go() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = packed_in_shards(&directory);
    let (path, shard, offset) = places(&pack)[7].clone();
    let tar = File::options().write(true).open(pack.join(format!("pack-{shard:05}.tar"))).unwrap();
    tar.write_all_at(b"\xff", offset + 11).unwrap();
    let done = removed(&pack, &source);
    assert_eq!(done.stayed, BTreeSet::from([(path.clone(), "damaged")]));
    assert_eq!((done.counts.entries, done.counts.directories_kept), (19, 1));
    assert_eq!(paths(&source.join("below")).len(), 2, "the directory and {path:?}");
}

#[test]
fn nothing_goes_whose_member_is_in_a_missing_or_shortened_shard() {
    for is_missing in [true, false] {
        let directory = TempDir::new().unwrap();
        let (source, pack) = packed_in_shards(&directory);
        let of_shard: Stayed = places(&pack)
            .into_iter()
            .filter(|place| place.1 == 1)
            .map(|place| (place.0, "damaged"))
            .collect();
        assert!(of_shard.len() > 1);
        let tar = pack.join("pack-00001.tar");
        match is_missing {
            true => fs::remove_file(&tar).unwrap(),
            false => File::options().write(true).open(&tar).unwrap().set_len(60_000).unwrap(),
        }
        let done = removed(&pack, &source);
        assert_eq!(done.stayed, of_shard);
        assert_eq!(done.counts.entries as usize, 20 - of_shard.len());
        assert!(of_shard.iter().all(|(path, _)| source.join(path).exists()));
    }
}

#[test]
fn bytes_after_the_last_member_keep_all_files_of_the_shard() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = packed_in_shards(&directory);
    let tar = pack.join("pack-00000.tar");
    let length = fs::metadata(&tar).unwrap().len();
    File::options().write(true).open(&tar).unwrap().write_all_at(b"x", length - 5).unwrap();
    let done = removed(&pack, &source);
    let of_shard = places(&pack).into_iter().filter(|place| place.1 == 0).count();
    assert_eq!(done.stays, Stays { damaged: of_shard as u64, ..Stays::default() });
}

#[test]
fn all_names_of_a_file_go_also_in_two_runs() {
    for (is_settled, is_split) in [(true, false), (true, true), (false, true)] {
        let directory = TempDir::new().unwrap();
        let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
        fs::create_dir_all(source.join("below")).unwrap();
        fs::write(source.join("first"), vec![1; 10_000]).unwrap();
        fs::write(source.join("outside"), vec![2; 10_000]).unwrap();
        for link in ["below/second", "third"] {
            fs::hard_link(source.join("first"), source.join(link)).unwrap();
        }
        fs::hard_link(source.join("outside"), directory.path().join("kept")).unwrap();
        if is_settled {
            std::thread::sleep(SETTLED);
        }
        packed(&source, &pack, 1 << 30);
        if is_split {
            // As after a kill between two names.
            fs::remove_file(source.join("first")).unwrap();
        }
        let blocks = fs::metadata(source.join("third")).unwrap().blocks() * 512;
        let of_directory = fs::metadata(source.join("below")).unwrap().blocks() * 512;
        let done = removed(&pack, &source);
        assert_eq!(done.stays.all(), 0, "{done:?}");
        let names = if is_split { 3 } else { 4 };
        assert_eq!((done.counts.entries, done.counts.linked), (names, 1), "{done:?}");
        assert_eq!(done.counts.bytes, blocks + of_directory);
        assert_eq!(fs::read_dir(&source).unwrap().count(), 0);
        assert_eq!(fs::read(directory.path().join("kept")).unwrap(), vec![2; 10_000]);
    }
}

#[test]
fn a_name_stays_if_the_file_changed_after_it_lost_another_name() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    fs::create_dir(&source).unwrap();
    fs::write(source.join("first"), vec![1; 10_000]).unwrap();
    fs::hard_link(source.join("first"), source.join("second")).unwrap();
    std::thread::sleep(SETTLED);
    packed(&source, &pack, 1 << 30);
    fs::remove_file(source.join("first")).unwrap();
    let status = fs::metadata(source.join("second")).unwrap();
    File::options().write(true).open(source.join("second")).unwrap().write_all_at(b"x", 5000).unwrap();
    restore_modified(&source.join("second"), &status);
    assert_eq!(removed(&pack, &source).stayed, stayed(&[("second", "changed")]));
}

#[test]
fn attributes_that_were_set_after_packing_keep_a_directory() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    for below in ["one", "two", "three", "four"] {
        fs::create_dir_all(source.join(below)).unwrap();
        fs::write(source.join(below).join("file"), below).unwrap();
    }
    std::thread::sleep(SETTLED);
    packed(&source, &pack, 1 << 30);
    let none = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(source.join("two"), "user.key", b"value", none).is_err() {
        return megadir_testkit::require::unavailable(
            "attributes_that_were_set",
            "no attributes of users here",
        );
    }
    fs::set_permissions(source.join("three"), Permissions::from_mode(0o700)).unwrap();
    fs::remove_file(source.join("four/file")).unwrap();
    fs::remove_dir(source.join("four")).unwrap();
    fs::create_dir(source.join("other")).unwrap();
    fs::rename(source.join("other"), source.join("four")).unwrap();
    let done = removed(&pack, &source);
    assert_eq!(done.stayed, stayed(&[("two", "changed"), ("three", "changed"), ("four", "changed")]));
    assert_eq!((done.counts.entries, done.counts.directories), (3, 1), "{done:?}");
}

#[test]
fn a_directory_that_a_link_replaces_after_the_selection_is_not_followed() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = packed_in_shards(&directory);
    let outside = directory.path().join("outside");
    let selection = selected(&pack, &source).unwrap();
    fs::rename(source.join("below"), &outside).unwrap();
    symlink(&outside, source.join("below")).unwrap();
    let done = finished(selection, &source, false).unwrap();
    assert_eq!((done.counts.entries, done.counts.directories), (0, 0), "{done:?}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 20);
    assert!(source.join("below").is_symlink());
    // The link was not packed either.
    let done = removed(&pack, &source);
    assert_eq!(done.stayed, stayed(&[("below", "changed")]));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 20);
}

#[test]
fn a_file_that_changes_after_the_selection_stays() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = packed_in_shards(&directory);
    let selection = selected(&pack, &source).unwrap();
    fs::write(source.join("below/file-03"), vec![9; 20_000]).unwrap();
    fs::write(source.join("below/new"), "new").unwrap();
    let done = finished(selection, &source, false).unwrap();
    assert_eq!(done.stayed, stayed(&[("below/file-03", "changed")]));
    assert_eq!((done.counts.entries, done.counts.directories_kept), (19, 1), "{done:?}");
    assert_eq!(fs::read(source.join("below/file-03")).unwrap(), vec![9; 20_000]);
}

#[test]
fn a_pack_or_a_tree_that_is_exchanged_after_the_selection_ends_the_removal() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = packed_in_shards(&directory);
    let before = described(&source);
    let selection = selected(&pack, &source).unwrap();
    let tar = pack.join("pack-00002.tar");
    let copy = fs::read(&tar).unwrap();
    fs::remove_file(&tar).unwrap();
    fs::write(&tar, &copy).unwrap();
    let refused = finished(selection, &source, false).unwrap_err().to_string();
    assert!(refused.contains("pack-00002.tar") && refused.contains("nothing was removed"), "{refused}");
    assert_eq!(described(&source), before);
    let selection = selected(&pack, &source).unwrap();
    let aside = directory.path().join("aside");
    fs::rename(&source, &aside).unwrap();
    fs::create_dir(&source).unwrap();
    let refused = finished(selection, &source, false).unwrap_err().to_string();
    assert!(refused.contains("moved or replaced"), "{refused}");
    assert_eq!(described(&aside), before);
}

#[test]
fn the_pack_of_another_directory_is_refused() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = packed_in_shards(&directory);
    let other = directory.path().join("other");
    fs::create_dir(&other).unwrap();
    let before = described(&source);
    for tree in [&other, &source.join("below")] {
        let refused = selected(&pack, tree).unwrap_err().to_string();
        assert!(refused.contains("made from another directory") && !refused.contains('\n'), "{refused}");
    }
    assert_eq!(described(&source), before);
    // It may have another path by now.
    let moved = directory.path().join("moved");
    fs::rename(&source, &moved).unwrap();
    assert_eq!(removed(&pack, &moved).counts.entries, 20);
}

#[test]
fn the_files_of_the_pack_stay_wherever_they_are() {
    let directory = TempDir::new().unwrap();
    let (source, pack) = packed_in_shards(&directory);
    let inside = source.join("below/pack");
    fs::rename(&pack, &inside).unwrap();
    let files = paths(&inside);
    let done = removed(&inside, &source);
    assert_eq!((done.counts.entries, done.counts.directories), (20, 0), "{done:?}");
    assert_eq!(paths(&inside), files);
    let copy = directory.path().join("copy");
    assert_eq!(extracted(&inside, &copy).1, [""; 0]);
}

#[test]
fn entries_without_permission_stay() {
    let directory = TempDir::new_in("/tmp").unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    let top = directory.path().to_owned();
    unprivileged(|| {
        let (source, pack) = (top.join("source"), top.join("pack"));
        for below in ["closed", "fixed", "open"] {
            fs::create_dir_all(source.join(below)).unwrap();
            fs::write(source.join(below).join("file"), below).unwrap();
        }
        packed(&source, &pack, 1 << 30);
        for (below, mode) in [("closed", 0o000), ("fixed", 0o555)] {
            fs::set_permissions(source.join(below), Permissions::from_mode(mode)).unwrap();
        }
        let dry = finished(selected(&pack, &source).unwrap(), &source, true).unwrap();
        let done = finished(selected(&pack, &source).unwrap(), &source, false).unwrap();
        for below in ["closed", "fixed"] {
            fs::set_permissions(source.join(below), Permissions::from_mode(0o755)).unwrap();
        }
        assert_eq!(dry, done);
        assert_eq!(done.stayed, stayed(&[("closed", "unread"), ("fixed", "changed")]));
        assert_eq!(done.counts.entries, 1);
        assert!(done.failures.len() == 1 && done.failures[0].contains("fixed/file"), "{done:?}");
        let left: Vec<_> =
            paths(&source).into_iter().map(|path| path.as_os_str().as_bytes().to_vec()).collect();
        assert_eq!(left, [&b""[..], b"closed", b"closed/file", b"fixed", b"fixed/file"]);
    });
}
