//! `--keep-within`: the least recently used files go until the rest fits.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use megadir_testkit::killed::{CHANGING_CALLS, before_each_call};
use megadir_testkit::mount::{self, Mount, run as run_tool};
use megadir_testkit::require;
use megadir_testkit::require::{full, have};

use super::witness::scratch_in_memory;
use crate::support::{
    Names, Ran, megadir, named, run, run_as_nobody, scratch, set, shell, split, unprivileged,
};

fn at_second(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
}

/// A file of `kib` that was last used at a second.
fn used(path: &Path, kib: usize, seconds: u64) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, vec![b'x'; kib << 10]).unwrap();
    let times = std::fs::FileTimes::new().set_accessed(at_second(seconds)).set_modified(at_second(0));
    std::fs::File::options().write(true).open(path).unwrap().set_times(times).unwrap();
}

/// Files `c/d0/f0` to `c/d3/f11` of 8 KiB, the first used last.
fn cache(at: &Path) {
    for file in 0..12 {
        used(&at.join(format!("c/d{}/f{file:02}", file % 4)), 8, 100 - file);
    }
}

fn files(at: &Path) -> Names {
    set(run(at, &["list", "-r", "--type", "f", "c"]).lines())
}

fn numbered(numbers: std::ops::Range<u64>) -> Names {
    numbers.map(|file| format!("c/d{}/f{file:02}", file % 4).into_bytes()).collect()
}

fn json(ran: &Ran) -> serde_json::Value {
    serde_json::from_slice(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn a_dry_run_and_the_run_remove_the_same_and_end_with_the_budget() {
    for (budget, left, now) in [
        ("64KiB", 8, "'c' holds 64K, within 64K"),
        ("67KiB", 8, "'c' holds 64K, within 67K"),
        ("5 files", 5, "'c' holds 5 files, within 5 files"),
        ("8KiB", 1, "'c' holds 8.0K, within 8.0K"),
        ("1 file", 1, "'c' holds 1 file, within 1 file"),
        ("1GB", 12, "'c' holds 96K, within 954M"),
    ] {
        let scratch = scratch();
        let at = scratch.path();
        cache(at);
        let words = ["remove", "--yes", "--keep-within", budget, "c"];
        let dry = run(at, &[&words[..], &["--dry-run"]].concat());
        assert_eq!((dry.code, files(at)), (Some(0), numbered(0..12)), "{dry:?}");
        let listed = run(at, &[&words[..], &["--dry-run", "--list"]].concat());
        let ran = run(at, &words);
        assert_eq!((ran.code, files(at)), (Some(0), numbered(0..left)), "{budget}: {ran:?}");
        assert_eq!(set(split(&listed.out, b'\n')), numbered(left..12), "{budget}");
        assert!(ran.err.ends_with(&format!("; {now}\n")), "{ran:?}");
        let removed = 12 - left;
        let begins = format!(
            "{removed} {}, {} on disk",
            if removed == 1 { "entry" } else { "entries" },
            match removed * 8 {
                0 => "0 bytes".into(),
                kib @ ..10 => format!("{kib}.0K"),
                kib => format!("{kib}K"),
            }
        );
        let would = String::from_utf8(dry.out).unwrap();
        assert!(would.starts_with(&format!("would remove {begins}; 'c' would hold")), "{would}");
        assert!(ran.err.contains(&format!("megadir: removed {begins}, in ")), "{ran:?}");
        assert!(at.join("c/d0").is_dir() && at.join("c/d3").is_dir(), "directories stay");
    }
}

#[test]
fn json_and_the_log_have_removals_and_the_rest() {
    let scratch = scratch();
    let at = scratch.path();
    cache(at);
    let words = ["remove", "--yes", "--json", "--keep-within", "10 files", "c"];
    let dry = json(&run(at, &[&words[..], &["--dry-run"]].concat()));
    let ran = json(&run(at, &[&words[..], &["--log", "log"]].concat()));
    for (key, expected) in [
        ("measure", "files".into()),
        ("limit", 10.into()),
        ("now", 10.into()),
        ("is_met", true.into()),
        ("held_files", 12.into()),
    ] {
        assert_eq!((&dry["budget"][key], &ran["budget"][key]), (&expected, &expected), "{key}");
    }
    assert_eq!((&ran["removed"], &ran["bytes"], &ran["linked"]), (&2.into(), &16_384.into(), &0.into()));
    let log = std::fs::read_to_string(at.join("log")).unwrap();
    assert_eq!(log.lines().count(), 2);
    assert!(log.contains("c/d2/f10") && log.contains("c/d3/f11"), "{log}");
    let without = json(&run(at, &["remove", "--yes", "--json", "c/d0"]));
    assert!(without["budget"].is_null());
}

#[test]
fn conditions_protect_files_and_the_excess_is_reported() {
    let scratch = scratch();
    let at = scratch.path();
    cache(at);
    let ran = run(at, &["remove", "--yes", "--keep-within", "2 files", "--match", "f1*", "c"]);
    assert_eq!((ran.code, files(at)), (Some(1), numbered(0..10)), "{ran:?}");
    assert!(ran.err.contains("'c' holds 10 files, 8 files over 2 files: the rest "), "{ran:?}");
    // Excluded entries do not even count.
    let ran =
        run(at, &["remove", "--yes", "--quiet", "--keep-within", "2 files", "--exclude", "d[0-2]", "c"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(files(at), numbered(0..10), "d3 held two files");
    // A minimum age, by the last use as well.
    let used_now = std::fs::FileTimes::new().set_accessed(SystemTime::now());
    std::fs::File::options().write(true).open(at.join("c/d0/f00")).unwrap().set_times(used_now).unwrap();
    let ran = run(at, &["remove", "--yes", "--keep-within", "1 file", "--older-than", "1h", "c"]);
    assert_eq!((ran.code, files(at)), (Some(0), numbered(0..1)), "{ran:?}");
}

#[test]
fn the_time_named_by_by_orders_the_files() {
    for (by, left) in [("use", "written"), ("atime", "read"), ("mtime", "written")] {
        let scratch = scratch();
        let at = scratch.path();
        for (name, modified, accessed) in [("read", 1, 600), ("written", 700, 2), ("both", 650, 550)] {
            used(&at.join("c").join(name), 1, accessed);
            let file = std::fs::File::options().write(true).open(at.join("c").join(name)).unwrap();
            file.set_modified(at_second(modified)).unwrap();
        }
        let ran = run(at, &["remove", "--yes", "--keep-within", "1 file", "--by", by, "c"]);
        assert_eq!((ran.code, files(at)), (Some(0), named(&[&format!("c/{left}")])), "{by}: {ran:?}");
    }
}

#[test]
fn contradictory_budget_options_are_refused_in_one_line() {
    let scratch = scratch();
    let at = scratch.path();
    cache(at);
    for (words, message) in [
        (&["--keep-within", "50", "c"][..], "write 50GB"),
        (&["--keep-within", "100k", "c"], "write 50GB"),
        (&["--keep-within", "100% free", "c"], "would remove everything; write a smaller share"),
        (&["--keep-within", "120% free", "c"], "would remove everything"),
        (&["--keep-within", "0B", "c"], "would remove everything"),
        (&["--keep-within", "5 files", "c", "c/d0"], "a budget is for one"),
        (&["--keep-within", "5 files", "c/d0/f00"], "is not a directory; name the one that holds the files"),
        (&["--keep-within", "5 files", "--engine", "mpi", "c"], "no process has the order"),
        (&["--keep-within", "5 files", "--contents", "c"], "cannot be used with"),
        (&["--keep-within", "5 files", "--keep-newest", "3", "c"], "cannot be used with"),
        (&["--keep-within", "5 files", "--unit", "directory", "c"], "--unit"),
        // The parser waives what an option requires, if that conflicts with another one.
        (&["--keep-within", "5 files", "--renew", "c"], "cannot be used with"),
        (&["--keep-within", "5 files", "--renew", "--contents", "c"], "cannot be used with"),
        (&["--keep-within", "5 files", "--detach", "c"], "cannot be used with"),
        (&["--keep-within", "5 files", "--cross-mounts", "c"], "cannot be used with"),
        (&["--keep-within", "5 files", "--files0-from", "list"], "cannot be used with"),
        (&["--renew", "c"], "--contents"),
        (&["--renew", "--keep-newest", "1", "c"], "cannot be used with"),
        (&["--renew", "--detach", "c"], "cannot be used with"),
        (&["--keep-within", "9000TB free", "c"], "has less free space in all"),
    ] {
        let ran = run(at, &[&["remove", "--yes"], words].concat());
        assert_eq!((ran.code, files(at)), (Some(2), numbered(0..12)), "{words:?}: {ran:?}");
        assert!(ran.err.contains(message), "{words:?}: {ran:?}");
        let others = std::fs::read_dir(at).unwrap().count();
        assert_eq!(others, 1, "{words:?}: nothing is put aside");
    }
    let ran = run(at, &["remove", "--yes", "--keep-within", "5 files", "missing"]);
    assert!(ran.code == Some(3) && ran.err.contains("No such file or directory"), "{ran:?}");
}

#[test]
fn many_entries_are_removed_within_a_budget_only_after_a_yes() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    for index in 0..1300 {
        used(&at.join(format!("c/{index}")), 0, index);
    }
    let words = "remove --by mtime --keep-within '100 files' c";
    let refused = run(at, &["remove", "--by", "mtime", "--keep-within", "100 files", "c"]);
    refused.complains(2, &["there is no terminal to ask on"]);
    let line = format!("(printf 'n\\n'; sleep 1) | script -qec \"$M {words}\" /dev/null");
    let shown = String::from_utf8(shell(at, &line).out).unwrap().replace("\r\n", "\n").replace("\n  ", " ");
    let question = "megadir: remove 1 200 files in 'c' that were not used for the longest time (0 bytes): 'c' holds 1 300 files, its budget is 100 files? [y/N]";
    assert!(shown.contains(question), "{shown}");
    assert_eq!(files(at).len(), 1300);
}

#[test]
fn entries_without_permission_count_as_staying() {
    let scratch = scratch();
    let megadir = require!(unprivileged(&scratch));
    let at = scratch.path();
    cache(at);
    for directory in ["c/d0", "c/d1", "c/d2"] {
        chown(at.join(directory), Some(65534), Some(65534)).unwrap();
    }
    // Nothing in d3 may be removed, and nothing in d2 be read.
    std::fs::set_permissions(at.join("c/d2"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let words = ["remove", "--yes", "--keep-within", "4 files", "c"];
    let dry = run_as_nobody(&megadir, at, &[&words[..], &["--dry-run"]].concat());
    let ran = run_as_nobody(&megadir, at, &words);
    std::fs::set_permissions(at.join("c/d2"), std::fs::Permissions::from_mode(0o755)).unwrap();
    for (ran, output) in [(&dry, String::from_utf8_lossy(&dry.out).into_owned()), (&ran, ran.err.clone())] {
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("remove 'c/d3/f11': Permission denied"), "{ran:?}");
        assert!(ran.err.contains("open 'c/d2': Permission denied"), "{ran:?}");
        assert!(output.contains(" 6 files, 2 files over 4 files: "), "{ran:?}");
        assert!(
            output.contains("holds, besides what could not be read,")
                || output.contains("would hold, besides")
        );
        assert_eq!(ran.err.matches("open 'c/d2'").count(), 1, "reported once: {ran:?}");
    }
    // Of the nine files that were counted, five had to go, two of them in d3, and no other goes instead.
    let expected: Names = numbered(0..12)
        .into_iter()
        .filter(|name| !["c/d0/f08", "c/d1/f09", "c/d1/f05"].iter().any(|removed| name == removed.as_bytes()))
        .collect();
    assert_eq!(files(at), expected);
    // Nothing to remove, and part of it unread.
    std::fs::set_permissions(at.join("c/d2"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let ran = run_as_nobody(&megadir, at, &["remove", "--yes", "--keep-within", "1GB", "c"]);
    std::fs::set_permissions(at.join("c/d2"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(ran.code == Some(1) && ran.err.contains("open 'c/d2': Permission denied\n"), "{ran:?}");
    // The budget is reached before the removal meets it.
    std::fs::set_permissions(at.join("c/d2"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let ran = run_as_nobody(
        &megadir,
        at,
        &["remove", "--yes", "--json", "--by", "mtime", "--keep-within", "5 files", "c"],
    );
    std::fs::set_permissions(at.join("c/d2"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(ran.code == Some(1) && ran.err.contains("open 'c/d2': Permission denied\n"), "{ran:?}");
    let result = json(&ran);
    assert_eq!((&result["failures"], &result["budget"]["unread"]), (&1.into(), &1.into()), "{result}");
    assert_eq!((&result["removed"], &result["budget"]["now"]), (&1.into(), &5.into()), "{result}");
}

/// Its answer comes after the directory has been exchanged for one with as many files.
#[test]
fn a_directory_that_is_exchanged_during_the_question_loses_nothing() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    for directory in ["c", "other"] {
        (0..1300).for_each(|index| used(&at.join(format!("{directory}/{index}")), 0, index));
    }
    let words = "remove --keep-within '100 files' c";
    let exchange = "sleep 2; mv c before; mv other c; printf 'y\n'; sleep 1";
    let ran = shell(at, &format!("({exchange}) | script -qec \"$M {words}\" /dev/null"));
    let shown = String::from_utf8(ran.out).unwrap();
    assert!(shown.contains("moved or replaced since it was read"), "{shown}");
    for directory in ["c", "before"] {
        assert_eq!(std::fs::read_dir(at.join(directory)).unwrap().count(), 1300, "{directory}: {shown}");
    }
    let again =
        shell(at, &format!("(sleep 2; printf 'y\n'; sleep 1) | script -qec \"$M {words}\" /dev/null"));
    assert_eq!(std::fs::read_dir(at.join("c")).unwrap().count(), 100, "{again:?}");
}

#[test]
fn files_with_times_to_come_stay() {
    let scratch = scratch();
    let at = scratch.path();
    cache(at);
    let file = std::fs::File::options().write(true).open(at.join("c/d0/f08")).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(86_400)).unwrap();
    let ran = run(at, &["remove", "--yes", "--keep-within", "1 file", "c"]);
    assert_eq!((ran.code, files(at)), (Some(0), named(&["c/d0/f08"])), "{ran:?}");
}

struct Mounted(std::path::PathBuf);

impl Mounted {
    fn make(at: &Path, options: &str) -> Result<Self, String> {
        std::fs::create_dir_all(at).unwrap();
        run_tool(Command::new("mount").args(["-t", "tmpfs", "-o", options, "megadir-test"]).arg(at))?;
        Ok(Self(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = mount::unmount(&self.0);
    }
}

#[test]
fn a_cache_that_is_a_mount_point_is_kept_and_mounts_in_it_are_neither_counted_nor_removed() {
    let scratch = scratch();
    let at = scratch.path();
    let _cache = require!(Mounted::make(&at.join("c"), "size=16M"));
    cache(at);
    for nested in ["nested", "d0/nested"] {
        std::fs::create_dir_all(at.join("c").join(nested)).unwrap();
    }
    let nested = ["c/nested", "c/d0/nested"].map(|path| Mounted::make(&at.join(path), "size=1M").unwrap());
    for mounted in &nested {
        used(&mounted.0.join("old"), 4, 1);
    }
    // A file that is mounted on another one.
    let (mounted, covered) = (at.join("c/nested/old"), at.join("c/d3/f11"));
    run_tool(Command::new("mount").arg("--bind").args([&mounted, &covered])).unwrap();
    let _bound = Mounted(covered.clone());
    let words = ["remove", "--yes", "--json", "--keep-within", "6 files", "c"];
    let dry = json(&run(at, &[&words[..], &["--dry-run"]].concat()));
    let ran = run(at, &words);
    let budget = &json(&ran)["budget"];
    assert_eq!((ran.code, &json(&ran)["failures"]), (Some(0), &0.into()), "{ran:?}");
    assert_eq!((&budget["now"], &dry["budget"]["now"]), (&6.into(), &6.into()), "{ran:?}");
    assert_eq!(budget["held_files"], 11, "mounts do not count: {ran:?}");
    assert!(covered.exists() && mounted.exists() && at.join("c/d0/nested/old").exists());
}

#[test]
fn shares_of_a_file_system_that_counts_nothing_are_refused() {
    let scratch = scratch();
    let at = scratch.path();
    let _without = require!(Mounted::make(&at.join("c"), "size=0,nr_inodes=0"));
    cache(at);
    for (share, message) in [
        ("10% free", "does not count free space; give a budget of the directory"),
        ("1GB free", "does not count free space; give a budget of the directory"),
        ("5% free inodes", "does not count inodes; give a budget of the directory"),
    ] {
        let ran = run(at, &["remove", "--yes", "--keep-within", share, "c/d0"]);
        assert_eq!((ran.code, files(at)), (Some(2), numbered(0..12)), "{share}: {ran:?}");
        assert!(ran.err.lines().filter(|line| line.contains(message)).count() == 1, "{share}: {ran:?}");
    }
    assert_eq!(run(at, &["remove", "--yes", "--keep-within", "5 files", "c"]).code, Some(0));
}

#[test]
fn killed_run_leaves_the_newest_and_the_same_command_resumes() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let words = ["remove", "--yes", "--keep-within", "6 files", "--threads", "2", "--log", "log", "c"];
    let command = || {
        let _ = std::fs::remove_dir_all(at.join("c"));
        let _ = std::fs::remove_file(at.join("log"));
        for file in 0..12 {
            used(&at.join(format!("c/d{:02}/f{file:02}", file / 2)), 1, 100 - file);
        }
        megadir(at, &words)
    };
    let all: Vec<String> = (0..12).map(|file| format!("c/d{:02}/f{file:02}", file / 2)).collect();
    let mut midway = 0;
    let look = |call: &str| {
        let left = files(at);
        let expected: Names = all[..left.len()].iter().map(|name| name.clone().into_bytes()).collect();
        assert_eq!(left, expected, "before {call}: the oldest are gone");
        let log = std::fs::read_to_string(at.join("log")).unwrap_or_default();
        assert!(all[left.len()..].iter().all(|name| log.contains(name)), "before {call}: {log}");
        midway += u32::from(left.len() > 6 && left.len() < 12);
        let again = run(at, &words);
        assert_eq!((again.code, files(at).len()), (Some(0), 6), "before {call}: {again:?}");
    };
    before_each_call(CHANGING_CALLS, if full() { 1 } else { 2 }, command, look);
    assert!(midway > 1, "killed {midway} times while it removed");
}

#[test]
fn shares_of_free_inodes_and_space_match_the_file_system() {
    let mount = require!(Mount::make(&mount::TMPFS));
    let at = mount.path();
    let remount = |options: &str| run_tool(Command::new("mount").args(["-o", options]).arg(&at));
    require!(remount("remount,size=1M,nr_inodes=200"));
    for index in 0..100 {
        used(&at.join(format!("c/{index:03}")), 4, index);
    }
    let free = |words: &str| {
        let ran = run(&at, &["remove", "--yes", "--json", "--keep-within", words, "c"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let budget = json(&ran)["budget"].clone();
        (budget["now"].as_u64().unwrap(), budget["limit"].as_u64().unwrap(), budget["is_of_free"].clone())
    };
    let (now, limit, is_of_free) = free("75% free inodes");
    let status = rustix::fs::statvfs(&*at).unwrap();
    assert_eq!((now, limit, is_of_free), (status.f_favail, 150, true.into()));
    assert_eq!(status.f_favail, 150, "no more were removed than needed");
    let (now, limit, _) = free("90% free");
    let status = rustix::fs::statvfs(&*at).unwrap();
    assert_eq!(now, status.f_bavail * status.f_frsize);
    assert!(now >= limit && now < limit + 4096, "{now} {limit}");
}

/// A tmpfs of 64 MiB with a cache `c` of 400 files of 64 KiB.
fn filled_tmpfs() -> Result<Mount, String> {
    let mount = Mount::make(&mount::TMPFS)?;
    let at = mount.path();
    run_tool(Command::new("mount").args(["-o", "remount,size=64M,nr_inodes=0"]).arg(&at))?;
    (0..400).for_each(|index| used(&at.join(format!("c/{index:03}")), 64, index));
    Ok(mount)
}

#[test]
fn a_removal_that_frees_nothing_ends_after_an_eighth() {
    let mount = require!(filled_tmpfs());
    let at = mount.path();
    let words = ["remove", "--yes", "--keep-within", "60MB free", "c"];
    let names = || std::fs::read_dir(at.join("c")).unwrap().map(|entry| entry.unwrap().path());
    let open: Vec<_> = names().map(|path| std::fs::File::open(path).unwrap()).collect();
    let ran = run(&at, &[&words[..], &["--json"]].concat());
    let left = names().count();
    assert_eq!((ran.code, &json(&ran)["budget"]["frees_nothing"]), (Some(1), &true.into()), "{ran:?}");
    assert!((330..400).contains(&left), "{left} {ran:?}");
    drop(open);
    let ran = run(&at, &words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(names().count() < 200, "{ran:?}");
}

/// At 100 files of 64 KiB a second, of which another program takes nine tenths again.
#[test]
fn a_removal_continues_while_others_use_the_freed_space() {
    let mount = require!(filled_tmpfs());
    let at = mount.path();
    let ended = std::sync::atomic::AtomicBool::new(false);
    let ran = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = std::fs::File::create(at.join("other")).unwrap();
            while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                std::io::Write::write_all(&mut file, &[1; 58 << 10]).unwrap();
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let ran = run(&at, &["remove", "--yes", "--rate", "100", "--keep-within", "50MB free", "c"]);
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
        ran
    });
    assert!(std::fs::read_dir(at.join("c")).unwrap().count() < 270, "{ran:?}");
    assert!(!ran.err.contains("nothing more goes"), "{ran:?}");
}

#[test]
fn mounts_that_hardly_record_accesses_are_named() {
    let mount = require!(Mount::make(&mount::TMPFS));
    let at = mount.path();
    used(&at.join("c/f"), 1, 1);
    let remount = |options: &str| {
        run_tool(Command::new("mount").args(["--options-mode=ignore", "-o", options]).arg(&at))
    };
    for (option, by, message) in [
        ("relatime", "use", Some("at most once a day (relatime): atime means little")),
        ("noatime", "use", Some("(noatime): atime means little, and the last use is the last modification")),
        ("noatime", "atime", Some("atime means little")),
        ("noatime", "mtime", None),
        ("strictatime", "use", None),
    ] {
        require!(remount(&format!("remount,{option}")));
        let words = ["remove", "--keep-within", "1 file", "--by", by, "c"];
        let ran = run(&at, &words);
        assert_eq!(
            (ran.code, ran.err.lines().count()),
            (Some(0), 1 + usize::from(message.is_some())),
            "{ran:?}"
        );
        assert!(message.is_none_or(|message| ran.err.contains(message)), "{option} {by}: {ran:?}");
        assert_eq!(run(&at, &[&words[..], &["--quiet"]].concat()).err, "", "{option} {by}");
    }
}

#[test]
fn an_excluded_directory_that_is_renamed_during_the_question_and_files_with_several_names_stay() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    (0..1300).for_each(|index| used(&at.join(format!("c/{index}")), 0, index));
    (0..50).for_each(|index| used(&at.join(format!("c/keep/{index}")), 0, 0));
    std::fs::hard_link(at.join("c/0"), at.join("elsewhere")).unwrap();
    let words = "remove --keep-within '100 files' --exclude keep c";
    let line =
        format!("(sleep 2; mv c/keep c/other; printf 'y\n'; sleep 2) | script -qec \"$M {words}\" /dev/null");
    let ran = shell(at, &line);
    let shown = String::from_utf8(ran.out).unwrap();
    assert_eq!(std::fs::read_dir(at.join("c/other")).unwrap().count(), 50, "{shown}");
    assert!(at.join("c/0").exists() && at.join("c/1299").exists() && !at.join("c/1").exists(), "{shown}");
    assert!(shown.replace("\r\n", "\n").contains("1 file with several names stays ("), "{shown}");
}

#[test]
fn a_budget_out_of_reach_removes_nothing_and_ends_with_1() {
    let scratch = scratch();
    let at = scratch.path();
    cache(at);
    std::fs::create_dir(at.join("store")).unwrap();
    for file in 0..8 {
        let path = format!("d{}/f{file:02}", file % 4);
        std::fs::hard_link(at.join("c").join(path), at.join(format!("store/{file}"))).unwrap();
    }
    let ran = run(at, &["remove", "--yes", "--keep-within", "32KiB", "c"]);
    assert_eq!((ran.code, files(at)), (Some(1), numbered(0..12)), "{ran:?}");
    assert!(ran.err.contains("nothing goes, because files with several names"), "{ran:?}");
    let ran = run(at, &["remove", "--yes", "--keep-within", "64KiB", "c"]);
    assert_eq!((ran.code, files(at)), (Some(0), numbered(0..8)), "{ran:?}");
}
