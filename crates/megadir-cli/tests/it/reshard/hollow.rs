//! A directory of files is replaced by a small one while programs use it: files that no program changes have their paths at any moment, changes
//! of others arrive, and a killed run is completed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use megadir_testkit::killed::{CHANGING_CALLS, before_each_call};
use megadir_testkit::mount::{BTRFS, EXT4, Mount, run as run_tool, unmount};
use megadir_testkit::require::{full, have};
use megadir_testkit::rng::Rng;
use megadir_testkit::{PATIENCE, require};

use crate::remove::witness::scratch_in_memory;
use crate::support::{Ran, by_std, fill, megadir, named, root, run, run_as_nobody, scratch, unprivileged};

const WORDS: [&str; 7] = ["reshard", "--yes", "--quiet", "--to", "flat", "--renew", "t"];
const OLD: &str = ".megadir-reshard-small-";

fn renewed(at: &Path) -> Ran {
    run(at, &WORDS)
}

/// Name, inode and number of links of each entry.
fn inodes(at: &Path) -> BTreeMap<OsString, (u64, u64)> {
    let entries = std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let status = entry.path().symlink_metadata().unwrap();
            (entry.file_name(), (status.ino(), status.nlink()))
        })
        .collect()
}

/// Files with strange names, links and a socket's neighbour, a pipe.
fn make_strange(at: &Path) {
    let t = at.join("t");
    std::fs::create_dir(&t).unwrap();
    for name in [&b"plain"[..], b"\xff\xfe\n", b".hidden"] {
        std::fs::write(t.join(OsString::from_vec(name.to_vec())), "contents").unwrap();
    }
    std::fs::hard_link(t.join("plain"), t.join("linked")).unwrap();
    symlink("../elsewhere", t.join("symbolic")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, t.join("pipe"), rustix::fs::Mode::RWXU).unwrap();
}

#[test]
fn a_renewal_of_files_killed_at_any_moment_keeps_every_path_and_is_completed() {
    require!(have("strace"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make_strange(at);
    let before = inodes(&at.join("t"));
    let calls = [CHANGING_CALLS, &["symlinkat"]].concat();
    let (mut begun, mut exchanged, mut directory) = (0, 0, at.join("t").metadata().unwrap().ino());
    let look = |call: &str| {
        // More links, and the same inodes by the same names.
        let now = inodes(&at.join("t"));
        let same =
            |(name, (inode, _)): (&OsString, &(u64, u64))| now.get(name).is_some_and(|n| n.0 == *inode);
        assert!(before.iter().all(same) && now.len() == before.len(), "before {call}: {now:?}");
        let inode = at.join("t").metadata().unwrap().ino();
        begun += u32::from(by_std(at) != named(&["t"]));
        exchanged += u32::from(inode != directory && by_std(at) != named(&["t"]));
        let again = renewed(at);
        assert_eq!((again.code, again.err.as_str()), (Some(0), ""), "before {call}");
        assert_eq!((inodes(&at.join("t")), by_std(at)), (before.clone(), named(&["t"])), "before {call}");
        directory = at.join("t").metadata().unwrap().ino();
    };
    let killed = before_each_call(&calls, 1, || megadir(at, &WORDS), look);
    println!("killed {killed} times, {begun} of them midway, {exchanged} after the exchange");
    assert!(begun > 30 && exchanged > 15, "{begun} midway, {exchanged} after the exchange");
}

/// A writer's own names: contents that each has by its last call that succeeded.
struct Writer {
    t: PathBuf,
    number: u64,
    rng: Rng,
    files: BTreeMap<String, u64>,
    /// Last contents of removed names.
    removed: BTreeMap<String, u64>,
    version: u64,
}

impl Writer {
    fn new(at: &Path, number: u64) -> Self {
        Self {
            t: at.join("t"),
            number,
            rng: Rng::new(number),
            files: BTreeMap::new(),
            removed: BTreeMap::new(),
            version: 0,
        }
    }

    /// Creates, replaces or removes a file by its path. A call that fails, because the directory has just been exchanged, changes nothing.
    fn work(&mut self) {
        let name = format!("writer-{}-{}", self.number, self.rng.within(0, 30));
        if self.rng.chance(30) {
            if self.files.contains_key(&name) && std::fs::remove_file(self.t.join(&name)).is_ok() {
                self.removed.extend(self.files.remove_entry(&name));
            }
            return;
        }
        self.version += 1;
        let temporary = self.t.join(format!("temporary-{}-{}", self.number, self.version));
        std::fs::write(&temporary, self.version.to_string()).unwrap();
        if std::fs::rename(&temporary, self.t.join(&name)).is_ok() {
            self.files.insert(name, self.version);
        }
    }

    /// Names that differ from what the calls left. A name that was replaced in the old directory at the exchange, and then removed by its
    /// path, where it still had its older contents, may have its last ones: the run cannot know which call was the later one.
    fn wrong(&mut self, found: &BTreeMap<String, u64>) -> Vec<String> {
        let prefix = format!("writer-{}-", self.number);
        let back = self.removed.iter().filter(|(name, version)| found.get(*name) == Some(*version));
        self.files.extend(back.map(|(name, version)| (name.clone(), *version)).collect::<Vec<_>>());
        self.removed.clear();
        let own: BTreeMap<_, _> = found.iter().filter(|(name, _)| name.starts_with(&prefix)).collect();
        let names = own.keys().copied().chain(self.files.keys());
        names.filter(|name| own.get(name).copied() != self.files.get(*name)).cloned().collect()
    }
}

fn versions(t: &Path) -> BTreeMap<String, u64> {
    let entries = std::fs::read_dir(t).unwrap().map(|entry| entry.unwrap());
    entries
        .filter_map(|entry| {
            let version = std::fs::read_to_string(entry.path()).unwrap().parse().ok()?;
            Some((entry.file_name().into_string().unwrap(), version))
        })
        .collect()
}

/// Files that both the old and the new directory got in one instant stay in the old one, listed: their newer versions are in the new one.
fn remove_older(at: &Path) -> u64 {
    let mut removed = 0;
    for path in std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()) {
        if path.file_name().unwrap().to_str().unwrap().starts_with(OLD) {
            for file in std::fs::read_dir(&path).unwrap() {
                std::fs::remove_file(file.unwrap().path()).unwrap();
                removed += 1;
            }
        }
    }
    removed
}

/// Renews many times beside readers of files that no program changes, which never miss one, and writers, whose files are compared after each
/// round: `renew` renews the directory once, and may be killed before.
fn renewed_beside_programs(at: &Path, rounds: u64, mut renew: impl FnMut() -> Ran) {
    fill(at, &["t/"]);
    let kept: Vec<PathBuf> = (0..300).map(|number| at.join(format!("t/kept-{number}"))).collect();
    kept.iter().for_each(|path| std::fs::write(path, "").unwrap());
    let (stop, missed, looked) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let writers = [Mutex::new(Writer::new(at, 0)), Mutex::new(Writer::new(at, 1))];
    let mut conflicts = 0;
    let read = || {
        while !stop.load(Ordering::Relaxed) {
            let lost = kept.iter().filter(|path| path.symlink_metadata().is_err()).count();
            missed.fetch_add(lost as u64, Ordering::Relaxed);
            looked.fetch_add(kept.len() as u64, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        (0..2).for_each(|_| drop(scope.spawn(read)));
        for writer in &writers {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    writer.lock().unwrap().work();
                }
            });
        }
        for round in 0..rounds {
            let ran = renew();
            // The writers pause for the comparison, not for the renewal.
            let mut held = writers.each_ref().map(|writer| writer.lock().unwrap());
            if ran.code == Some(1) {
                assert!(ran.err.contains("this one stays here: move or remove it"), "{ran:?}");
                conflicts += remove_older(at);
                renewed(at).quiet();
            } else {
                ran.quiet();
            }
            let found = versions(&at.join("t"));
            for writer in &mut held {
                assert_eq!(writer.wrong(&found), Vec::<String>::new(), "round {round}");
            }
            assert_eq!(by_std(at), named(&["t"]));
        }
        stop.store(true, Ordering::Relaxed);
    });
    let work: u64 = writers.map(|writer| writer.into_inner().unwrap().version).iter().sum();
    let looked = looked.into_inner();
    assert_eq!(missed.into_inner(), 0, "of {looked} look-ups in {rounds} renewals, {conflicts} conflicts");
    assert!(looked > 10_000 && work > 1000);
}

#[test]
fn readers_never_miss_a_file_and_changes_of_writers_arrive_while_the_directory_is_replaced() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let inode = || at.join("t").metadata().unwrap().ino();
    renewed_beside_programs(at, if full() { 1000 } else { 30 }, || {
        let before = inode();
        let ran = renewed(at);
        assert_ne!(inode(), before, "{ran:?}");
        ran
    });
}

#[test]
fn writers_and_readers_lose_nothing_by_renewals_that_are_killed_and_completed() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let (mut rng, mut exchanged) = (Rng::new(7), 0);
    let inode = || at.join("t").metadata().unwrap().ino();
    renewed_beside_programs(at, if full() { 1000 } else { 30 }, || {
        let before = inode();
        let mut child = megadir(at, &WORDS).stderr(Stdio::null()).spawn().unwrap();
        // At any moment, or in the grace after the exchange.
        let waits = rng.chance(70);
        while waits && inode() == before && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(rng.within(0, 60)));
        child.kill().unwrap();
        child.wait().unwrap();
        exchanged += u32::from(inode() != before && by_std(at) != named(&["t"]));
        renewed(at)
    });
    println!("killed {exchanged} times after the exchange");
    assert!(exchanged > 3, "killed {exchanged} times after the exchange");
}

/// Waits until the old directory is beside the new one.
fn wait_for_exchange(t: &Path, before: u64) {
    let started = Instant::now();
    while t.metadata().unwrap().ino() == before {
        assert!(started.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn programs_with_the_old_directory_open_are_followed() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    fill(at, &["t/", "t/kept", "t/removed"]);
    let open = std::fs::File::open(at.join("t")).unwrap();
    let below = |name: &str| {
        use std::os::fd::AsRawFd;
        PathBuf::from(format!("/proc/self/fd/{}/{name}", open.as_raw_fd()))
    };
    let before = at.join("t").metadata().unwrap().ino();
    let words = [&WORDS[..6], &["--follow", "--until-quiet", "2s", "t"]].concat();
    let mut child = megadir(at, &words).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_exchange(&at.join("t"), before);
    // Within the grace after the exchange.
    std::fs::remove_file(below("removed")).unwrap();
    std::thread::sleep(Duration::from_millis(400));
    assert!(!at.join("t/removed").exists());
    std::fs::write(below("late"), "late").unwrap();
    let started = Instant::now();
    while !at.join("t/late").exists() {
        assert!(started.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(child.wait().unwrap().success());
    assert!(inodes(&at.join("t")).into_keys().eq(["kept", "late"]) && by_std(at) == named(&["t"]));
    // It was removed only then.
    assert_eq!(std::fs::write(below("too-late"), "").unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn a_hollow_ext4_directory_becomes_small_by_the_command_that_limits_names() {
    let mount = require!(Mount::make(&EXT4));
    let at = mount.path();
    run(&at, &["make", "t", "--quiet", "--size", "0", "--entries", "30000", "--layout", "flat"]).quiet();
    let files = inodes(&at.join("t"));
    for name in files.keys().skip(100) {
        std::fs::remove_file(at.join("t").join(name)).unwrap();
    }
    chown(at.join("t"), Some(12), Some(34)).unwrap();
    std::fs::set_permissions(at.join("t"), std::fs::Permissions::from_mode(0o3757)).unwrap();
    let none = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(at.join("t"), "user.note", b"kept", none).unwrap();
    let before = at.join("t").metadata().unwrap();
    let hint = run(&at, &["limits", "--verbose", "t"]);
    let shown = String::from_utf8(hint.out).unwrap();
    assert!(shown.contains("megadir reshard --yes --to flat --renew t"), "{shown}");
    let look = run(&at, &["reshard", "--dry-run", "--to", "flat", "--renew", "t"]);
    let look = String::from_utf8(look.quiet()).unwrap();
    assert!(
        look.starts_with("would replace 't' (") && look.contains(", 100 entries) with a small"),
        "{look}"
    );
    assert_eq!(at.join("t").metadata().unwrap().ino(), before.ino());
    let ran = run(&at, &["reshard", "--yes", "--to", "flat", "--renew", "t"]);
    assert!(
        ran.code == Some(0) && ran.err.contains("'t' was replaced with a small directory of "),
        "{ran:?}"
    );
    let after = at.join("t").metadata().unwrap();
    println!("size before {}, after {}", before.len(), after.len());
    assert!(before.len() > 1 << 20 && after.len() <= 8192, "{} and {}", before.len(), after.len());
    let alike = |status: &std::fs::Metadata| {
        (status.mode(), status.uid(), status.gid(), status.mtime(), status.mtime_nsec())
    };
    assert_eq!(alike(&after), alike(&before));
    let mut note = [0; 8];
    let bytes = rustix::fs::getxattr(at.join("t"), "user.note", &mut note[..]).unwrap();
    assert_eq!(&note[..bytes], b"kept");
    assert!(inodes(&at.join("t")).iter().eq(files.iter().take(100)));
}

#[test]
fn entries_that_cannot_have_two_names_are_refused_and_nothing_changes() {
    let mount = require!(Mount::make(&EXT4));
    let at = mount.path();
    fill(&at, &["t/", "t/a", "t/b", "t/sub/"]);
    let refused = |message: &str| {
        let before = (inodes(&at.join("t")), by_std(&at), at.join("t").metadata().unwrap().ino());
        for words in [&["reshard", "--yes", "--from", "flat", "--to", "flat", "--renew", "t"][..], &WORDS] {
            let ran = run(&at, words);
            assert!(ran.code != Some(0) && ran.err.contains(message), "{message}: {ran:?}");
            assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
        }
        let after = (inodes(&at.join("t")), by_std(&at), at.join("t").metadata().unwrap().ino());
        assert_eq!(after, before, "{message}");
    };
    let words = ["reshard", "--yes", "--from", "flat", "--to", "flat", "--renew", "t"];
    let ran = run(&at, &words);
    ran.complains(3, &["it holds the directory 'sub', which cannot have two names: move it out"]);
    assert_eq!((inodes(&at.join("t")).len(), by_std(&at).contains(&b"t"[..])), (3, true));
    std::fs::remove_dir(at.join("t/sub")).unwrap();
    let tool = |words: &[&str], path: &str| {
        run_tool(Command::new(words[0]).args(&words[1..]).arg(at.join(path))).unwrap();
    };
    tool(&["chattr", "+i"], "t/b");
    refused("/t/b': it cannot have a second name for a moment: immutable");
    tool(&["chattr", "-i"], "t/b");
    tool(&["chattr", "+i"], "t");
    refused("renew './t': Operation not permitted");
    tool(&["chattr", "-i"], "t");
    tool(&["mount", "--bind", "/dev/null"], "t/a");
    refused("something is mounted on it");
    unmount(&at.join("t/a")).unwrap();
    tool(&["mount", "-t", "tmpfs", "none"], "t");
    fill(&at, &["t/a"]);
    let ran = renewed(&at);
    unmount(&at.join("t")).unwrap();
    assert!(ran.code == Some(3) && ran.err.contains("a mount point, which cannot be renamed"), "{ran:?}");
    for name in 0..64_999 {
        std::fs::hard_link(at.join("t/a"), at.join(format!("link-{name}"))).unwrap();
    }
    refused("as many links as the file system permits");
    (0..64_999).for_each(|name| std::fs::remove_file(at.join(format!("link-{name}"))).unwrap());
    renewed(&at).quiet();
}

#[test]
fn a_full_file_system_changes_nothing() {
    require!(root());
    let scratch = scratch();
    let at = scratch.path().join("full");
    std::fs::create_dir(&at).unwrap();
    // tmpfs counts an inode for each further link.
    let mount = ["-t", "tmpfs", "-o", "nr_inodes=100", "none"];
    run_tool(Command::new("mount").args(mount).arg(&at)).unwrap();
    fill(&at, &["t/"]);
    (0..40).for_each(|name| fill(&at, &[&format!("t/{name}")]));
    let before = inodes(&at.join("t"));
    let ran = renewed(&at);
    let after = (inodes(&at.join("t")), by_std(&at));
    unmount(&at).unwrap();
    assert!(ran.code == Some(3) && ran.err.contains("nothing was changed"), "{ran:?}");
    assert_eq!(after, (before, named(&["t"])));
}

#[test]
fn a_directory_of_a_lower_layer_is_refused() {
    require!(root());
    let scratch = scratch_in_memory();
    let at = scratch.path();
    fill(at, &["lower/", "lower/t/", "lower/t/a", "upper/", "work/", "merged/"]);
    let options = "lowerdir=lower,upperdir=upper,workdir=work";
    let mut mount = Command::new("mount");
    mount.args(["-t", "overlay", "-o", options, "none", "merged"]).current_dir(at);
    require!(run_tool(&mut mount));
    let merged = at.join("merged");
    let ran = renewed(&merged);
    let after = by_std(&merged);
    unmount(&merged).unwrap();
    assert!(ran.code == Some(3) && ran.err.lines().count() == 1, "{ran:?}");
    assert!(
        ran.err.contains("a directory of a lower layer of overlayfs, which cannot be renamed"),
        "{ran:?}"
    );
    assert_eq!(after, named(&["t"]));
}

#[test]
fn a_subvolume_is_refused() {
    let mount = require!(Mount::make(&BTRFS));
    require!(have("btrfs"));
    let at = mount.path();
    run_tool(Command::new("btrfs").args(["subvolume", "create"]).arg(at.join("t"))).unwrap();
    fill(&at, &["t/a"]);
    renewed(&at).complains(3, &["a subvolume, which would become a plain directory"]);
    assert_eq!((by_std(&at), inodes(&at.join("t")).len()), (named(&["t"]), 1));
}

#[test]
fn an_ordinary_user_renews_an_own_directory_and_no_other() {
    let scratch = scratch();
    let program = require!(unprivileged(&scratch));
    let at = scratch.path().join("shared");
    std::fs::create_dir(&at).unwrap();
    std::fs::set_permissions(&at, std::fs::Permissions::from_mode(0o1777)).unwrap();
    fill(&at, &["t/", "t/own", "other/", "other/own"]);
    for path in ["t", "t/own", "other/own"] {
        chown(at.join(path), Some(65534), Some(65534)).unwrap();
    }
    let inode = |name: &str| at.join(name).metadata().unwrap().ino();
    let before = inode("t");
    run_as_nobody(&program, &at, &WORDS).quiet();
    assert_ne!(inode("t"), before);
    // Another user's directory in a sticky one.
    let before = inode("other");
    std::fs::set_permissions(at.join("other"), std::fs::Permissions::from_mode(0o1777)).unwrap();
    let ran = run_as_nobody(&program, &at, &[&WORDS[..6], &["other"]].concat());
    assert!(ran.code == Some(3) && ran.err.lines().count() == 1, "{ran:?}");
    assert_eq!((inode("other"), by_std(&at)), (before, named(&["other", "t"])));
    // A file of another user, which hard links are protected from.
    fill(&at, &["t/foreign"]);
    std::fs::set_permissions(at.join("t/foreign"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let before = inode("t");
    let ran = run_as_nobody(&program, &at, &WORDS);
    let protected = std::fs::read_to_string("/proc/sys/fs/protected_hardlinks").unwrap();
    if protected.trim() == "1" {
        ran.complains(3, &["/t/foreign': it cannot have a second name for a moment"]);
        assert_eq!(inode("t"), before);
    }
    assert_eq!((by_std(&at), inodes(&at.join("t")).len()), (named(&["other", "t"]), 2));
}

#[test]
fn options_of_moves_are_refused_where_nothing_moves() {
    let scratch = scratch();
    let at = scratch.path();
    fill(at, &["t/", "t/a"]);
    for (words, message) in [
        (
            &["--to", "flat", "--renew", "--rate", "1/s", "t"][..],
            "--rate, --offline and --exclude are for moves",
        ),
        (&["--to", "flat", "--renew", "--exclude", "a", "t"], "omit them"),
        (&["--to", "digest:1", "--renew", "--dry-run", "t"], "only with --to flat"),
        (&["--to", "flat", "--renew", "t/../t/."], "t"),
        (&["--from", "flat", "--to", "flat", "t"], "are the same layout"),
    ] {
        let ran = run(at, &[&["reshard", "--yes"], words].concat());
        assert!(message == "t" || (ran.code == Some(2) && ran.err.contains(message)), "{words:?}: {ran:?}");
    }
    let ran = run(at, &["reshard", "--to", "flat", "--renew", "--json", "t"]);
    let report: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!((&report["failures"], &report["followed"]), (&0.into(), &0.into()), "{report}");
    // Files of another layout are moved first.
    run(at, &["make", "d", "--quiet", "--size", "0", "--entries", "50", "--layout", "digest:1"]).quiet();
    run(at, &["reshard", "--yes", "--quiet", "--from", "digest:1", "--to", "flat", "--renew", "d"]).quiet();
    assert!(inodes(&at.join("d")).len() == 50 && by_std(at) == named(&["d", "t"]));
}
