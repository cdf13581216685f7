//! All forms of Windows paths, and names with a special meaning there.

use std::fs;
use std::path::{Path, PathBuf};

use megadir_testkit::require;

use crate::support::{megadir, tree};

/// Runs the program; asserts success without messages; returns its lines, sorted.
fn lines(directory: &Path, words: &[&str]) -> Vec<String> {
    let (code, text, complaint) = megadir(directory, words);
    assert_eq!((code, complaint.as_str()), (Some(0), ""), "{words:?}");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// Creates the inventory of a tree.
fn scan(directory: &Path, path: &str) {
    let (code, text, complaint) = megadir(directory, &["scan", path, "--output", "inventory"]);
    assert_eq!((code, text.as_str()), (Some(0), ""), "{path}: {complaint}");
}

/// Output of `changes` for a tree since `inventory`, without suspects, which are within one clock tick.
fn changes(directory: &Path, words: &[&str]) -> Vec<String> {
    let words = [&["changes", "inventory"], words].concat();
    let (code, text, complaint) = megadir(directory, &words);
    assert_eq!(code, Some(0), "{words:?}: {complaint}");
    let mut lines: Vec<String> =
        text.lines().filter(|line| !line.starts_with("suspect")).map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// Scans, adds a file, and asserts that exactly this change is reported.
fn scan_and_notice(directory: &Path, path: &str) {
    scan_and_notice_in(directory, path, &directory.join(path));
}

/// The same if the path leads to `tree`.
fn scan_and_notice_in(directory: &Path, path: &str, tree: &Path) {
    scan(directory, path);
    assert_eq!(changes(directory, &[]), [""; 0], "{path}");
    let new = tree.join("new file");
    fs::write(&new, "x").unwrap();
    let found = changes(directory, &[path]);
    assert_eq!(found.len(), 1, "{path}: {found:?}");
    assert!(found[0].starts_with("added") && found[0].ends_with("new file"), "{path}: {found:?}");
    fs::remove_file(new).unwrap();
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn paths_beyond_260_characters_are_read_with_and_without_their_prefix() {
    let scratch = tempfile::tempdir().unwrap();
    let below: PathBuf = (0..12).map(|level| format!("{level:02}-a-name-of-32-characters-long-x")).collect();
    let deep = scratch.path().join("tree").join(&below);
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("at the end"), "text").unwrap();
    assert!(text(&deep).len() > 400, "{}", deep.display());
    let verbatim = format!(r"\\?\{}", deep.display());
    let relative = Path::new("tree").join(&below);
    for path in [text(&deep), &verbatim, text(&relative)] {
        assert_eq!(lines(scratch.path(), &["list", path]), ["at the end"], "{path}");
        let found = lines(scratch.path(), &["list", "--fields=size,name", path]);
        assert_eq!(found, ["4\tat the end"], "{path}");
        scan_and_notice(scratch.path(), path);
    }
    let all = lines(scratch.path(), &["list", "--recursive", "tree"]);
    assert!(all.len() == 13 && all.iter().any(|line| line.ends_with("\\at the end")), "{all:?}");
    // Paths below a tree are as long.
    scan_and_notice(scratch.path(), "tree");
    fs::remove_file(deep.join("at the end")).unwrap();
    scan(scratch.path(), "tree");
    fs::write(deep.join("late"), "").unwrap();
    let found = changes(scratch.path(), &[]);
    assert!(found.len() == 1 && found[0].ends_with("-x\\late"), "{found:?}");
}

/// `\\localhost\C$` is every Windows machine's own disk, for administrators; `cargo xtask ci` sets up the same
/// under Wine.
#[test]
fn shares_of_servers_are_read() {
    let scratch = tree();
    let Some((drive, rest)) = text(scratch.path()).split_once(":\\") else {
        return require::not_run("shares_of_servers_are_read", "temporary files lie on no drive");
    };
    let share = format!(r"\\localhost\{drive}$\{rest}");
    if let Err(error) = fs::metadata(&share) {
        let reason = format!("{share} is for administrators: {error}");
        return require::not_run("shares_of_servers_are_read", &reason);
    }
    let names = lines(scratch.path(), &["list", "tree"]);
    let unc = format!(r"{share}\tree");
    for path in [unc.clone(), unc.replace('\\', "/"), format!(r"\\?\UNC\{}", &unc[2..])] {
        assert_eq!(lines(scratch.path(), &["list", &path]), names, "{path}");
        scan_and_notice(scratch.path(), &path);
    }
    let all = lines(scratch.path(), &["list", "--recursive", &unc]);
    assert!(all.iter().all(|line| line.starts_with(&unc)) && all.len() == names.len() + 2, "{all:?}");
}

#[test]
fn drives_slashes_and_trailing_dots_follow_windows_rules() {
    let scratch = tree();
    let names = lines(scratch.path(), &["list", "tree"]);
    let absolute = scratch.path().join("tree");
    let drive = &text(&absolute)[..2];
    let no_drive = &text(&absolute)[2..];
    // The current directory of the drive is the program's working directory.
    let relative = format!("{drive}tree");
    let slashes = text(&absolute).replace('\\', "/");
    for path in [
        "./tree",
        ".\\tree\\",
        "tree/",
        "tree/.",
        "tree\\below\\..",
        "tree/below/empty/../..",
        "tree.",
        "tree ",
        &relative,
        no_drive,
        &slashes,
        text(&absolute),
    ] {
        assert_eq!(lines(scratch.path(), &["list", path]), names, "{path}");
    }
    assert_eq!(lines(&absolute, &["list", drive]), names, "a drive is its current directory");
    assert_eq!(lines(&absolute, &["list", "."]), names);
    scan_and_notice(scratch.path(), "tree/below/");
    scan_and_notice_in(scratch.path(), &relative, &absolute);
    // The drive itself, which ends with a separator.
    let root = format!("{drive}\\");
    let found = lines(scratch.path(), &["list", &root]);
    assert!(
        !found.is_empty() && found == lines(scratch.path(), &["list", &root.replace('\\', "/")]),
        "{found:?}"
    );
    // A path with the prefix is used unchanged.
    let (code, _, complaint) = megadir(scratch.path(), &["list", &format!(r"\\?\{}.", absolute.display())]);
    if code == Some(0) && require::is_wine() {
        require::unavailable("trailing_dots", "Wine takes a trailing dot off behind \\\\?\\ too");
    } else {
        assert!(code == Some(3) && complaint.lines().count() == 1, "{complaint}");
    }
}

#[test]
fn devices_are_refused_as_directories_and_taken_as_outputs() {
    let scratch = tree();
    for name in ["NUL", "con", "tree\\NUL"] {
        let (code, text, complaint) = megadir(scratch.path(), &["list", name]);
        assert_eq!((code, text.as_str(), complaint.lines().count()), (Some(3), "", 1), "{name}: {complaint}");
    }
    let (code, _, complaint) = megadir(scratch.path(), &["scan", "tree", "--output", "NUL"]);
    if code != Some(0) {
        assert!(require::is_wine() && complaint.lines().count() == 1, "{complaint}");
        require::unavailable("output_to_nul", complaint.trim());
    }
    let left: Vec<_> =
        fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["tree"], "no temporary file stays");
}

/// These names are possible with the prefix, or on other systems.
#[test]
fn files_with_reserved_names_are_listed_and_compared() {
    let scratch = tree();
    let special = scratch.path().join("tree").join("below").join("empty");
    let mut made = Vec::new();
    for name in ["nul.txt", "aux", "trailing.", "trailing space "] {
        match fs::write(format!(r"\\?\{}\{name}", special.display()), "text") {
            Ok(()) => made.push(name),
            Err(error) if !require::is_wine() => panic!("'{name}': {error}"),
            Err(error) => require::unavailable("files_with_reserved_names", &format!("'{name}': {error}")),
        }
    }
    made.sort_unstable();
    let mut there: Vec<String> = fs::read_dir(&special)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    there.sort_unstable();
    if there != made {
        // Wine drops trailing characters even with the prefix.
        assert!(require::is_wine(), "made {made:?}, there is {there:?}");
        require::unavailable("files_with_reserved_names", &format!("made {made:?}, there is {there:?}"));
    }
    let listed = lines(scratch.path(), &["list", "--fields=size,name", "tree/below/empty"]);
    assert_eq!(listed, there.iter().map(|name| format!("4\t{name}")).collect::<Vec<_>>());
    scan_and_notice(scratch.path(), "tree");
    // Each is opened by its exact name.
    for backend in ["by-handle", "std"] {
        let arguments = [
            "list",
            "--backend",
            backend,
            "--stat-backend",
            "open-each",
            "--fields=size,name",
            "tree/below/empty",
        ];
        assert_eq!(lines(scratch.path(), &arguments), listed, "{backend}");
    }
}

#[test]
fn upper_and_lower_case_lead_to_the_same_and_are_distinct_in_names() {
    let scratch = tree();
    let names = lines(scratch.path(), &["list", "tree"]);
    assert_eq!(lines(scratch.path(), &["list", "TREE"]), names);
    assert_eq!(
        lines(scratch.path(), &["list", "Tree\\BELOW"]),
        lines(scratch.path(), &["list", "tree\\below"])
    );
    scan(scratch.path(), "TREE");
    assert_eq!(changes(scratch.path(), &["tRee"]), [""; 0]);
    // A path in a list may differ in case from its entry.
    fs::write(scratch.path().join("list"), "TREE\\FILE 7\0tree\\Below\\EMPTY\0").unwrap();
    assert_eq!(changes(scratch.path(), &["--files0-from", "list"]), [""; 0]);
    fs::write(scratch.path().join("tree").join("file 7"), "more than it held before").unwrap();
    let found = changes(scratch.path(), &["--files0-from", "list"]);
    assert!(
        found.len() == 1 && found[0].starts_with("modified") && found[0].contains("file 7 ("),
        "{found:?}"
    );
    scan(scratch.path(), "tree");
    // Through a third name: Wine treats a rename that changes only case as a no-op.
    for (from, to) in [("file 3", "FILE 3"), ("below", "Below")] {
        let tree = scratch.path().join("tree");
        fs::rename(tree.join(from), tree.join("aside")).unwrap();
        fs::rename(tree.join("aside"), tree.join(to)).unwrap();
    }
    let found = changes(scratch.path(), &["tree"]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0], "renamed      tree\\below -> tree\\Below");
    assert!(found[1].starts_with("renamed      tree\\file 3 -> tree\\FILE 3"), "{found:?}");
}

#[test]
fn rows_are_sorted_by_the_bytes_of_names_as_everywhere() {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    fs::create_dir(&tree).unwrap();
    // Windows order would put b before C, and a character beyond 16 bits before one at the end of the 16-bit
    // range.
    let mut names = ["C", "b", "\u{ff5e}", "\u{1f600}", "-", "_", "a b", "\u{e4}"];
    for name in names {
        fs::write(tree.join(name), "").unwrap();
    }
    names.sort_unstable();
    let (code, text, complaint) = megadir(scratch.path(), &["scan", "tree", "--jsonl"]);
    assert_eq!(code, Some(0), "{complaint}");
    let member = |line: &str| {
        line.split_once("\"name\":\"").map(|(_, rest)| rest.split('"').next().unwrap().to_owned())
    };
    let found: Vec<String> = text.lines().skip(1).filter_map(member).collect();
    assert_eq!(found, names, "{text}");
}

/// WSL creates such directories; the flag needs Windows 10 1803 and an administrator.
#[test]
fn case_sensitive_directories_are_read_name_by_name() {
    let scratch = tempfile::tempdir().unwrap();
    let tree = scratch.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let switch = std::process::Command::new("fsutil")
        .args(["file", "setCaseSensitiveInfo", text(&tree), "enable"])
        .stdin(std::process::Stdio::null())
        .output();
    let is_on = switch.is_ok_and(|output| output.status.success());
    fs::write(tree.join("name"), "1").unwrap();
    fs::write(tree.join("NAME"), "22").unwrap();
    let test = "directories_that_tell_case_apart";
    if require::is_wine() {
        return require::unavailable(test, "Wine knows none");
    }
    if !is_on {
        return require::not_run(test, "only an administrator makes one (Windows 10 1803)");
    }
    assert_eq!(fs::read_dir(&tree).unwrap().count(), 2);
    for stat_backend in ["listed", "open-each"] {
        let found =
            lines(scratch.path(), &["list", "--stat-backend", stat_backend, "--fields=size,name", "tree"]);
        assert_eq!(found, ["1\tname", "2\tNAME"], "{stat_backend}");
    }
    scan_and_notice(scratch.path(), "tree");
    fs::write(tree.join("NAME"), "333").unwrap();
    let found = changes(scratch.path(), &["tree"]);
    assert!(found.len() == 1 && found[0].contains("\\NAME ("), "{found:?}");
}

#[test]
fn names_with_unpaired_surrogates_are_listed_and_compared() {
    use std::os::windows::ffi::OsStringExt;
    let scratch = tree();
    let name = std::ffi::OsString::from_wide(&[0x61, 0xd800, 0x62]);
    let path = scratch.path().join("tree").join("below").join("empty").join(&name);
    if require::is_wine() {
        return require::unavailable("names_with_unpaired_surrogates", "Wine keeps names as UTF-8");
    }
    fs::write(&path, "text").unwrap();
    let found = lines(scratch.path(), &["list", "--json", "tree\\below\\empty"]);
    assert!(found.len() == 1 && found[0].contains("\"name_hex\":\"61eda08062\""), "{found:?}");
    scan(scratch.path(), "tree");
    assert_eq!(changes(scratch.path(), &[]), [""; 0]);
    fs::rename(&path, path.with_file_name("plain")).unwrap();
    let (code, text, complaint) = megadir(scratch.path(), &["changes", "inventory", "--json"]);
    assert!(
        code == Some(0) && text.contains("\"change\":\"renamed\"") && text.contains("from_hex"),
        "{text}{complaint}"
    );
}
