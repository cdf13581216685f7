//! `megadir bench filesystems` has a row for every known file system, available or not.

use std::collections::BTreeMap;

use megadir_testkit::require;
use megadir_testkit::unprivileged::unprivileged;

use super::support::{copy_for_all, privileged};
use crate::support::{output_of, text};

/// Lines of `--json` by name.
fn rows(json: &str) -> BTreeMap<String, serde_json::Value> {
    let rows = json.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    rows.map(|row| (row["file_system"].as_str().expect("a name").to_owned(), row)).collect()
}

#[test]
fn every_file_system_is_a_row_with_its_driver_or_the_reason() {
    require!(privileged());
    let scratch = tempfile::tempdir().expect("a directory");
    let directory = scratch.path().to_str().expect("UTF-8");
    let json = output_of(".", &["bench", "filesystems", "--json", "--dir", directory]);
    assert_eq!((json.status.code(), text(&json.stderr).as_str()), (Some(0), ""));
    let rows = rows(&text(&json.stdout));
    let names = "btrfs exfat ext2 ext3 ext4 f2fs jfs nilfs2 ntfs-3g ntfs3 reiserfs tmpfs xfs";
    assert_eq!(rows.keys().map(String::as_str).collect::<Vec<_>>().join(" "), names);
    for (name, row) in &rows {
        assert_eq!(row["proven"], true);
        let reason = row["reason"].as_str().unwrap_or_default();
        assert_eq!(row["available"].as_bool(), Some(reason.is_empty()), "{name}");
        assert_eq!(row["driver"].is_string(), reason.is_empty(), "{name}");
    }
    for name in ["ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ntfs-3g"] {
        assert_eq!(rows[name]["available"], true, "{name}: {}", rows[name]["reason"]);
    }
    // Current kernels have no separate ext3 driver.
    assert_eq!(rows["ext3"]["label"], "ext3 (ext4 driver)");
    let why = |name: &str| rows[name]["reason"].as_str().unwrap_or_default();
    assert!(rows["reiserfs"]["available"] == true || why("reiserfs").contains("left Linux in 6.13"));
    assert_eq!(std::fs::read_dir(directory).expect("there").count(), 0);
    let words =
        text(&output_of(".", &["bench", "filesystems", "ext3", "reiserfs", "--dir", directory]).stdout);
    assert!(
        words.contains("ext3 (ext4 driver)       available") && words.contains("created by    mke2fs "),
        "{words}"
    );
    assert!(words.contains("\nreiserfs"), "{words}");
}

#[test]
fn unprivileged_lab_table_shows_known_facts_and_states_the_rest() {
    let scratch = tempfile::tempdir().expect("a directory");
    let directory = scratch.path().to_str().expect("UTF-8");
    let copy = copy_for_all(scratch.path());
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(&copy);
        let output = command.args(["bench", "filesystems", "--dir", directory]).args(arguments).output();
        text(&output.expect("the program starts").stdout)
    };
    let (json, words) = unprivileged(|| (run(&["--json"]), run(&[])));
    let rows = rows(&json);
    assert_eq!(rows.len(), 13);
    assert!(rows.values().all(|row| row["proven"] == false && row["driver"].is_null()));
    assert!(words.contains("ext4                     not tested"), "{words}");
    let last = words.lines().last().expect("a line");
    assert!(last.contains("needs CAP_SYS_ADMIN (run as root)"), "{last}");
}

#[test]
fn unknown_file_systems_are_refused_in_one_line() {
    for (name, hint) in [("etx4", "did you mean 'ext4'?"), ("ext4:blok=1k", "did you mean 'block'?")] {
        let refused = output_of(".", &["bench", "filesystems", name]);
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2));
        assert!(message.contains(hint) && message.lines().count() == 1, "{message}");
    }
}
