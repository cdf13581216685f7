//! End-to-end tests of `megadir bench clean` and its `--dry-run`.

use std::path::Path;

use crate::support::{output_of, text};

/// Runs `megadir bench clean` and returns exit code, output and messages.
fn clean(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = output_of(directory, &[&["bench", "clean"], arguments].concat());
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn dry_run_names_leftovers_and_removes_nothing() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = scratch.path();
    let name = "megadir-bench-abc123";
    std::fs::create_dir_all(at.join("d").join(name).join("data0")).expect("made");
    let marker =
        format!(r#"{{"program":"megadir","version":"0","pid":1,"started_unix_s":1,"run":"{name}"}}"#);
    std::fs::write(at.join("d").join(name).join(".megadir-run"), marker).expect("written");
    std::fs::create_dir(at.join("d/megadir-bench-foreign")).expect("made");
    std::fs::create_dir(at.join("d/megadir-bench-alien0")).expect("made");
    let left = "megadir: left d/megadir-bench-alien0 alone: it has no marker\n".to_owned();
    let would = format!("would remove 'd/{name}'\n");
    assert_eq!(clean(at, &["d", "--dry-run"]), (Some(1), would, left.clone()));
    assert!(at.join("d").join(name).join("data0").exists());
    let removed = format!("megadir: removed d/{name}\n{left}");
    assert_eq!(clean(at, &["d"]), (Some(1), String::new(), removed));
    assert!(!at.join("d").join(name).exists() && at.join("d/megadir-bench-foreign").exists());
    std::fs::remove_dir(at.join("d/megadir-bench-alien0")).expect("removed");
    let nothing = "megadir: no leftovers of killed runs in 'd'\n".to_owned();
    assert_eq!(clean(at, &["d", "--dry-run"]), (Some(0), String::new(), nothing));
    let (code, _, message) = clean(at, &["missing", "--dry-run"]);
    assert_eq!((code, message.as_str()), (Some(3), "megadir: clean 'missing': No such file or directory\n"));
}
