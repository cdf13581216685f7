//! `make`: complete, repeated, next to other files, and with impossible names.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use megadir::layout::PRESETS;
use megadir_testkit::require;

use crate::support::megadir;

/// Name of the first file of seed 1: the digest of `1:0`.
const FIRST: &str = "81b206a89f89d5b1123b87606075c6a8";

/// Entries below a directory: paths with `/`, and the contents of files.
fn below(top: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(top.join(&directory)).unwrap() {
            let entry = entry.unwrap();
            let path = directory.join(entry.file_name());
            let name = path.to_str().unwrap().replace('\\', "/");
            if entry.file_type().unwrap().is_dir() {
                found.insert(name, None);
                directories.push(path);
            } else {
                found.insert(name, Some(std::fs::read(entry.path()).unwrap()));
            }
        }
    }
    found
}

fn files(top: &Path) -> usize {
    below(top).values().flatten().count()
}

/// Runs `make`; returns the exit code and the messages.
fn make(at: &Path, words: &[&str]) -> (Option<i32>, String) {
    let (code, text, complaint) = megadir(at, &[&["make"], words].concat());
    assert_eq!(text, "", "{words:?}");
    (code, complaint)
}

#[test]
fn make_again_creates_only_missing_files() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    let words = ["d", "-n", "50", "--size", "100KiB"];
    let expected = |summary: &str| (Some(0), format!("megadir: 'd': {summary}\n"));
    assert_eq!(make(at, &words), expected("created 50 files"));
    let whole = below(&at.join("d"));
    assert!(whole.values().flatten().all(|content| content.len() == 102_400) && whole.contains_key(FIRST));
    let mut names = whole.keys();
    std::fs::remove_file(at.join("d").join(names.next().unwrap())).unwrap();
    for (name, bytes) in names.zip([0, 1, 65_536, 70_001]) {
        let file = std::fs::OpenOptions::new().write(true).open(at.join("d").join(name)).unwrap();
        file.set_len(bytes).unwrap();
    }
    assert_eq!(make(at, &words), expected("created 1 file, 45 existed already, 4 completed"));
    assert_eq!(below(&at.join("d")), whole);
    assert_eq!(make(at, &words), expected("created 0 files, 50 existed already"));
}

#[test]
fn foreign_files_stay() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    assert_eq!(make(at, &["d", "-n", "8"]).0, Some(0));
    let names: Vec<String> = below(&at.join("d")).into_keys().collect();
    let path = |index: usize| at.join("d").join(&names[index]);
    (0..6).for_each(|index| std::fs::remove_file(path(index)).unwrap());
    std::fs::create_dir(path(0)).unwrap();
    std::fs::write(path(1), "longer than ten bytes").unwrap();
    std::fs::write(path(2), "other").unwrap();
    std::fs::write(path(3), "0123456789").unwrap();
    // An empty read-only file, and one that has another link.
    std::fs::write(path(4), "").unwrap();
    let mut permissions = path(4).metadata().unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(path(4), permissions).unwrap();
    std::fs::write(at.join("precious"), "").unwrap();
    std::fs::hard_link(at.join("precious"), path(5)).unwrap();
    let before = below(at);
    let (code, messages) = make(at, &["d", "-n", "8"]);
    assert_eq!(code, Some(1), "{messages}");
    assert!(
        messages.starts_with("megadir: 'd': created 0 files, 2 existed already, 6 left alone\n"),
        "{messages}"
    );
    assert_eq!(
        messages.lines().filter(|line| line.starts_with("megadir: left alone: ")).count(),
        6,
        "{messages}"
    );
    assert_eq!(below(at), before);
    // So that it can be removed.
    let mut permissions = path(4).metadata().unwrap().permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "the attribute of Windows, which is no mode")]
    permissions.set_readonly(false);
    std::fs::set_permissions(path(4), permissions).unwrap();
}

#[test]
fn layouts_are_made_as_rehearsed() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    for (layout, first) in [
        ("prefix:1/1", "8/1/81b206a89f89d5b1123b87606075c6a8"),
        ("per-directory:7", "d000000/81b206a89f89d5b1123b87606075c6a8"),
        ("squid", "00/00/00000000"),
        ("paperclip", "000/000/000"),
        ("prefix:2+label=x", "x81/81b206a89f89d5b1123b87606075c6a8"),
    ] {
        let top = layout.replace([':', '/', '+', '='], "-");
        let words = [&top, "-n", "30", "--layout", layout];
        let (code, plan, complaint) = megadir(at, &[&["make", "--dry-run"], &words[..]].concat());
        assert_eq!((code, complaint.as_str()), (Some(0), ""), "{layout}");
        assert!(plan.contains("30 files, ") && plan.contains(" 300 bytes of content\n"), "{plan}");
        assert!(plan.ends_with(&format!("the first file is {first}\n")), "{plan}");
        assert!(!at.join(&top).exists());
        let (code, messages) = make(at, &words);
        let found = below(&at.join(&top));
        let directories = found.len() - 30;
        assert_eq!((code, files(&at.join(&top))), (Some(0), 30), "{messages}");
        assert_eq!(messages, format!("megadir: '{top}': created 30 files and {directories} directories\n"));
        assert!(plan.contains(&format!(" 30 files, {directories} directories, ")), "{plan}");
        assert!(found.contains_key(first), "{found:?}");
    }
    assert!(PRESETS.iter().any(|preset| preset.name == "squid"));
}

#[test]
fn the_same_seed_makes_the_same_files_as_on_linux() {
    let scratch = tempfile::tempdir().unwrap();
    // Hashes of the files that the same commands create on Linux.
    for (command, expected) in [
        (
            "a -n 40 --sizes lognormal:2kB+sigma=1 --content json --names sequence --layout digest:1/1 --seed 7",
            0xd44c_587f_5280_bda3_u64,
        ),
        (
            "b -n 40 --sizes uniform:0-3000 --content hex-digest --names hex --layout suffix:1/1 --seed 8",
            0x7d2b_559f_f21d_a4c6,
        ),
        ("c -n 40 --size 70000 --names decimal --layout per-directory:9", 0x0d14_0216_37f3_120d),
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        assert_eq!(make(scratch.path(), &words).0, Some(0), "{command}");
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for (path, content) in below(&scratch.path().join(words[0])) {
            let Some(content) = content else { continue };
            // FNV-1a over path, NUL, content.
            for byte in [path.as_bytes(), b"\0", &content].concat() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
        }
        assert_eq!(hash, expected, "{command}: {hash:#x}");
    }
}

#[test]
fn links_are_not_followed() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    std::fs::create_dir(at.join("outside")).unwrap();
    std::fs::create_dir(at.join("d")).unwrap();
    // A junction, which needs no privilege.
    let mut link = Command::new("cmd");
    link.args(["/c", "mklink", "/J"]).arg(at.join("d").join("8")).arg(at.join("outside"));
    let made = link.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if require::is_wine() {
        return require::unavailable("make next to a junction", "Wine shows none");
    }
    assert!(made.unwrap().success() && at.join("d").join("8").symlink_metadata().unwrap().is_symlink());
    let (code, messages) = make(at, &["d", "-n", "100", "--layout", "prefix:1"]);
    assert_eq!(code, Some(1), "{messages}");
    assert!(messages.ends_with("megadir: left alone: '8' is not a file of this data set\n"), "{messages}");
    assert_eq!(files(&at.join("outside")), 0);
}

#[test]
fn paths_may_be_long() {
    let scratch = tempfile::tempdir().unwrap();
    let mut deep = scratch.path().to_owned();
    (0..6).for_each(|_| deep.push("d".repeat(60)));
    std::fs::create_dir_all(&deep).unwrap();
    let top = deep.join("made");
    let (code, messages) =
        make(scratch.path(), &[top.to_str().unwrap(), "-n", "20", "--layout", "prefix:1/1"]);
    assert_eq!((code, files(&top)), (Some(0), 20), "{messages}");
}

#[test]
fn names_that_windows_cannot_have_are_refused_beforehand() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    for (words, reason) in [
        (&["nul", "-n", "1"][..], "on Windows it names a device"),
        (&["below:stream", "-n", "1"], "Windows allows no"),
        (&["end.", "-n", "1"], "Windows drops dots and spaces at the end of names"),
        (&["d", "-n", "1", "--layout", "prefix:1+label=com"], "the label names a device on Windows"),
        (&["no/such", "-n", "1"], "must exist"),
    ] {
        for dry in [&["--dry-run"][..], &[]] {
            let (code, messages) = make(at, &[words, dry].concat());
            assert!(matches!(code, Some(2 | 3)), "{words:?}: {code:?}");
            assert!(messages.contains(reason) && messages.lines().count() == 1, "{words:?}: {messages}");
        }
    }
    assert_eq!(below(at).len(), 0, "nothing was made");
}

#[test]
fn killed_make_is_completed() {
    let scratch = tempfile::tempdir().unwrap();
    let at = scratch.path();
    let words = ["make", "d", "-n", "150", "--size", "20000", "--layout", "prefix:1"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_megadir"));
    command.args(words).current_dir(at).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // Until it has begun or ended: both can be resumed.
    while !at.join("d").join("8").exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let _ = child.kill();
    child.wait().unwrap();
    // A kill may come between creating a file and writing it.
    let empty = below(&at.join("d")).into_iter().find(|(_, content)| content.is_some());
    if let Some((path, _)) = empty {
        let file = std::fs::OpenOptions::new().write(true).truncate(true).open(at.join("d").join(path));
        file.unwrap().flush().unwrap();
    }
    let (code, messages) = make(at, &words[1..]);
    assert_eq!(code, Some(0), "{messages}");
    let found = below(&at.join("d"));
    assert_eq!(found.values().flatten().filter(|content| content.len() == 20_000).count(), 150, "{messages}");
    assert_eq!(
        make(at, &words[1..]).1,
        "megadir: 'd': created 0 files and 0 directories, 150 existed already\n"
    );
}
