//! Data that `--share` omits from records and reports.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use megadir_testkit::require;

use crate::support::program;

const HOST: &str = "alice-laptop";

/// Returns an error if this process may not change its host name.
fn may_rename() -> Result<(), String> {
    let tried = Command::new("unshare").args(["--uts", "hostname", HOST]).output();
    let tried = tried.map_err(|error| format!("unshare: {error}"))?;
    if tried.status.success() { Ok(()) } else { Err("it takes root to have a host name of its own".into()) }
}

/// Runs the program with a host and a user created by the test.
#[track_caller]
fn as_alicia(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("unshare");
    command.args(["--uts", "sh", "-c", "hostname \"$0\" && exec \"$@\"", HOST]);
    command.arg(program()).args(arguments);
    command.current_dir(home).env("HOME", home).env("USER", "alicia").stdin(Stdio::null());
    command.output().expect("unshare starts")
}

#[test]
fn neither_host_nor_home_nor_user_nor_device_is_in_a_shared_record() {
    require!(may_rename());
    let parent = tempfile::tempdir().expect("a directory");
    let home = parent.path().join("alicia");
    std::fs::create_dir(&home).expect("a directory");
    let made = as_alicia(&home, &["make", "wedding", "--entries", "1200", "--size", "0"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let wedding = home.join("wedding");
    let wedding = wedding.to_str().expect("UTF-8");
    let quick = ["bench", "run", "listing", "--rounds=2", "--warm-up=1", "--buffer", "8KiB"];
    let private = [HOST, home.to_str().expect("UTF-8"), "alicia", "wedding", "/dev/"];
    let holds = |text: &str| private.iter().filter(|name| text.contains(**name)).count();
    for (record, options) in [
        ("open", &["--dir", wedding][..]),
        ("existing", &["--share", "--dir", wedding]),
        ("relative", &["--share", "--dir=./wedding"]),
        ("made", &["--share", "--entries", "50"]),
    ] {
        // Use the record's full path, so that the recorded command contains it.
        let path = home.join(record);
        let output = ["--output", path.to_str().expect("UTF-8")];
        let output = as_alicia(&home, &[&quick[..], options, &output].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = std::fs::read_to_string(&path).expect("readable");
        if record == "open" {
            // Negative control: without the option all of it is present, and the device if there is one.
            assert!(holds(&text) >= private.len() - 1, "{text}");
        } else {
            assert_eq!(holds(&text), 0, "{text}");
        }
        assert!(text.contains("--rounds") && text.contains("8KiB"), "{text}");
    }
    for format in ["table", "markdown", "json", "csv"] {
        let report = |options: &[&str]| {
            let output =
                as_alicia(&home, &[&["bench", "report", "open", "--format", format], options].concat());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("UTF-8")
        };
        let (open, shared) = (report(&[]), report(&["--share"]));
        assert!(holds(&open) > 0 || format == "csv", "{open}");
        assert_eq!(holds(&shared), 0, "{shared}");
    }
}
