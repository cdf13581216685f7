//! `megadir version` and `megadir doctor`: facts of the build and the machine, and nothing private.

use std::process::Command;

use serde_json::Value;

use megadir_testkit::require;

use crate::support::{finish, have, output_of, program, root, run, text};

fn object(arguments: &[&str]) -> Value {
    serde_json::from_slice(&output_of(".", arguments).stdout).expect("JSON")
}

#[test]
fn the_version_has_target_features_and_calls() {
    let version = object(&["version", "--json"]);
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert!(version["target"].as_str().is_some_and(|target| target.contains(std::env::consts::ARCH)));
    assert!(version["features"].is_array() && version["build"].is_string(), "{version}");
    let calls = version["kernel_calls"].as_array().expect("a list");
    let found = |name: &str| calls.iter().any(|call| call["name"] == name && call["missing"].is_null());
    assert!(found("getdents64") && found("statx"), "{version}");

    let printed = text(&run(".".as_ref(), &["version"]).quiet());
    assert_eq!(text(&run(".".as_ref(), &["--version", "--verbose"]).quiet()), printed);
    assert!(printed.starts_with("megadir ") && printed.contains("\ntarget "), "{printed}");
    let short = text(&run(".".as_ref(), &["--version"]).quiet());
    assert_eq!(short.lines().count(), 1);
}

#[test]
fn bug_report_names_the_machine_and_no_person() {
    require!(have("unshare"));
    require!(root());
    let directory = tempfile::Builder::new().prefix("private-project").tempdir().expect("a directory");
    let at = directory.path();
    for arguments in ["doctor .", "doctor --json"] {
        // A host name that nothing else on the machine contains.
        let script = format!("hostname private-host && exec \"$M\" {arguments}");
        let mut command = Command::new("unshare");
        command.args(["--uts", "sh", "-c", &script]).env("M", program()).current_dir(at);
        let report = text(&finish(&mut command).quiet());
        for secret in ["private-project", "private-host", "/dev/", "/tmp"] {
            assert!(!report.contains(secret), "{secret} in {report}");
        }
        assert!(report.contains("getdents64") && report.contains("split"), "{report}");
    }
    let report = object(&["doctor", "--json"]);
    assert_eq!((&report["v"], &report["machine"]["host"]), (&Value::from(1), &Value::Null));
    assert!(report["machine"]["file_system"]["kind"].is_string(), "{report}");
    run(at, &["doctor", "missing"]).complains(3, &["missing"]);
}
