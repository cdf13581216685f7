//! `scan` and `changes`.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use megadir_testkit::require;

use crate::support::{megadir, tree};

#[test]
fn inventory_paths_are_windows_paths() {
    let scratch = tree();
    let plain = scratch.path().join("tree");
    for root in [format!("{}", plain.display()), format!(r"\\?\{}", plain.display())] {
        let words = ["scan", root.as_str(), "--csv"];
        let (code, text, complaint) = megadir(scratch.path(), &words);
        assert_eq!(code, Some(0), "{complaint}");
        let paths: Vec<&str> = text.lines().skip(1).map(|line| line.split(',').nth(3).unwrap()).collect();
        assert_eq!(paths.len(), 1 + 51 + 2);
        // With `\\?\`, only paths in Windows notation are found.
        assert!(paths.iter().all(|path| !path.contains('/') && Path::new(path).exists()), "{text}");
    }
}

#[test]
fn unchanged_tree_has_no_changes() {
    let scratch = tree();
    let (code, _, complaint) = megadir(scratch.path(), &["scan", "tree", "--output", "inventory"]);
    assert_eq!(code, Some(0), "{complaint}");
    let mut rows = 0;
    let mut inventory = megadir_inventory::Inventory::open(&scratch.path().join("inventory")).unwrap();
    while let Some(row) = megadir_inventory::Rows::next_row(&mut inventory).unwrap() {
        assert!(
            row.facts.inode.is_some() && row.facts.modified_ns.is_some() && row.facts.changed_ns.is_some()
        );
        rows += 1;
    }
    assert_eq!(rows, 1 + 51 + 2, "the root and everything below it");
    let (code, text, complaint) = megadir(scratch.path(), &["changes", "inventory", "tree"]);
    assert_eq!(code, Some(0), "{complaint}");
    // All files are younger than the resolution of the scan's clock.
    assert!(text.lines().all(|line| line.starts_with("suspect")), "{text}");
}

/// Sets the times of all files back, so that they are older than one clock tick.
fn age(tree: &Path) {
    for entry in fs::read_dir(tree).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => age(&path),
            false => {
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
                fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
            }
        }
    }
}

/// Scans; returns the messages.
fn scan(directory: &Path, more: &[&str]) -> String {
    let words = [&["scan", "tree", "--output", "inventory"], more].concat();
    let (code, text, complaint) = megadir(directory, &words);
    assert_eq!((code, text.as_str()), (Some(0), ""), "{complaint}");
    complaint
}

/// Lines that `changes` prints, with or without field names.
fn changes(directory: &Path, more: &[&str]) -> Vec<String> {
    let words = [&["changes", "inventory", "tree"], more].concat();
    let (code, text, complaint) = megadir(directory, &words);
    assert_eq!(code, Some(0), "{complaint}");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn suspects_are_decided_by_contents() {
    let scratch = tree();
    let file = scratch.path().join("tree").join("file 3");
    // On a busy machine the clock may tick before the scan begins.
    let is_suspect = (0..20).any(|_| {
        fs::write(&file, "xxx").unwrap();
        scan(scratch.path(), &["--hash-suspects"]);
        changes(scratch.path(), &[]).iter().any(|line| line == "suspect      tree\\file 3")
    });
    if !is_suspect {
        require::unavailable("suspects_are_decided_about", "the clock goes on before a scan can begin");
    }
    assert_eq!(changes(scratch.path(), &["--verify"]), [""; 0]);
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, "yyy").unwrap();
    fs::File::options().write(true).open(&file).unwrap().set_modified(before).unwrap();
    let lines = changes(scratch.path(), &["--verify"]);
    // The change time differs unless it is within one clock tick; the contents differ in any case.
    assert!(lines.len() == 1 && lines[0].starts_with("modified     tree\\file 3 ("), "{lines:?}");
}

#[test]
fn inventory_in_its_tree_is_left_out_and_updated() {
    let scratch = tree();
    let tree = scratch.path().join("tree");
    let (code, _, complaint) = megadir(&tree, &["scan", ".", "--output", "kept"]);
    assert_eq!(code, Some(0), "{complaint}");
    assert!(complaint.contains("54 entries"), "{complaint}");
    fs::rename(tree.join("file 7"), tree.join("below").join("moved")).unwrap();
    let changed = |more: &[&str]| {
        let (code, text, complaint) = megadir(&tree, &[&["changes", "kept"], more].concat());
        assert_eq!(code, Some(0), "{complaint}");
        text.lines().filter(|line| !line.starts_with("suspect")).map(str::to_owned).collect::<Vec<_>>()
    };
    let renamed = changed(&["--update"]);
    assert!(
        renamed.len() == 1 && renamed[0].starts_with("renamed") && renamed[0].contains("\\file 7 -> "),
        "{renamed:?}"
    );
    assert_eq!(changed(&[]), [""; 0]);
    fs::write(tree.join("new"), "").unwrap();
    let (code, text, _) = megadir(&tree, &["changes", "kept", "--quiet"]);
    assert_eq!((code, text.as_str()), (Some(10), ""));
    fs::remove_file(tree.join("new")).unwrap();
    assert_eq!(fs::read_dir(&tree).unwrap().count(), 51, "no temporary file stays");
}

/// Whenever the scan is killed, either the old inventory or the new one is complete.
#[test]
fn a_scan_that_is_killed_leaves_a_whole_inventory() {
    let scratch = tree();
    scan(scratch.path(), &[]);
    for pause_ms in [0, 5, 15, 40, 80] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_megadir"))
            .args(["scan", "tree", "--output", "inventory"])
            .current_dir(scratch.path())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(pause_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        let path = scratch.path().join("inventory");
        let mut inventory = megadir_inventory::Inventory::open(&path).unwrap();
        let mut rows = 0;
        while megadir_inventory::Rows::next_row(&mut inventory).unwrap().is_some() {
            rows += 1;
        }
        assert_eq!(rows, 1 + 51 + 2, "killed after {pause_ms} ms");
    }
    scan(scratch.path(), &[]);
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 2, "leftovers were reused");
}

#[test]
fn files_are_known_by_their_numbers_whatever_their_names_and_times_are() {
    let scratch = tree();
    let tree = scratch.path().join("tree");
    scan(scratch.path(), &[]);
    // Exchanged names: on NTFS a file that takes the name of a file just removed gets its birth time.
    fs::rename(tree.join("file 10"), tree.join("aside")).unwrap();
    fs::rename(tree.join("file 11"), tree.join("file 10")).unwrap();
    fs::rename(tree.join("aside"), tree.join("file 11")).unwrap();
    fs::rename(tree.join("below"), tree.join("elsewhere")).unwrap();
    // After the path, the line shows differing times, and that the contents may differ.
    let mut lines = changes(scratch.path(), &[]);
    lines.retain(|line| !line.starts_with("suspect"));
    lines.iter_mut().for_each(|line| line.truncate(line.find(" (").unwrap_or(line.len())));
    let expected = [
        "renamed      tree\\below -> tree\\elsewhere",
        "renamed      tree\\file 11 -> tree\\file 10",
        "renamed      tree\\file 10 -> tree\\file 11",
    ];
    assert_eq!(lines, expected);
    age(&tree);
    scan(scratch.path(), &[]);
    // Setting the birth or modification time does not make it another file.
    age(&tree);
    let lines = changes(scratch.path(), &["--json"]);
    assert!(lines.iter().all(|line| !line.contains("\"inode\"]")), "{lines:?}");
}

/// NTFS updates only the directory entry through which a file was opened; its other links may show old
/// attributes. Opening each file gives the current ones.
#[test]
fn files_with_several_names_are_exact_where_each_is_opened() {
    let scratch = tree();
    let tree = scratch.path().join("tree");
    fs::hard_link(tree.join("file 20"), tree.join("other name")).unwrap();
    scan(scratch.path(), &["--stat-backend", "open-each"]);
    let links = |name: &str| {
        let mut inventory = megadir_inventory::Inventory::open(&scratch.path().join("inventory")).unwrap();
        while let Some(row) = megadir_inventory::Rows::next_row(&mut inventory).unwrap() {
            if row.key.name == name.as_bytes() {
                return row.facts.links;
            }
        }
        panic!("{name} is not there");
    };
    assert_eq!((links("file 20"), links("other name"), links("file 21")), (Some(2), Some(2), Some(1)));
    fs::write(tree.join("other name"), "through the other name").unwrap();
    let mut lines = changes(scratch.path(), &[]);
    lines.retain(|line| !line.starts_with("suspect"));
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, name) in lines.iter().zip(["file 20", "other name"]) {
        assert!(line.starts_with(&format!("modified     tree\\{name} (size")), "{lines:?}");
    }
    fs::remove_file(tree.join("other name")).unwrap();
    let lines = changes(scratch.path(), &[]);
    assert!(lines.iter().any(|line| line.contains("file 20 (") && line.contains("links")), "{lines:?}");
}

#[test]
fn another_directory_than_the_one_that_was_scanned_is_refused() {
    let scratch = tree();
    scan(scratch.path(), &[]);
    let (code, text, complaint) = megadir(scratch.path(), &["changes", "inventory", "tree\\below"]);
    assert_eq!((code, text.as_str(), complaint.lines().count()), (Some(2), "", 1), "{complaint}");
    assert!(complaint.contains("not the directory that was scanned"), "{complaint}");
    let (code, text, complaint) =
        megadir(scratch.path(), &["changes", "inventory", "tree\\below", "--any-root"]);
    assert!(code == Some(0) && text.contains("removed      tree\\below\\file 1\n"), "{text}{complaint}");
}
