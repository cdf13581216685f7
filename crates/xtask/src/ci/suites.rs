//! Builds test suites with cargo and runs several at a time: most tests wait for devices, child processes and the kernel.
//! The output of a suite is printed when the suite ends, so that suites do not mix.

use crate::process;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The longest suites, longest first. They start first, so that none runs alone at the end.
const LONGEST: [&str; 10] = [
    "it",
    "limits",
    "conformance",
    "remove",
    "examiners",
    "lab",
    "code",
    "commands",
    "split",
    "megadir_bench",
];

/// Test program, or the doc tests.
pub(super) struct Suite {
    /// Name of the cargo target.
    pub(super) name: String,
    /// Line above its output, as cargo prints it.
    pub(super) title: String,
    pub(super) command: Command,
}

/// Builds with `command`, a `cargo test` that ends with the words that select tests. The suites keep cargo's order.
pub(super) fn build(command: &mut Command, filters: &[&str], root: &Path) -> Result<Vec<Suite>, String> {
    command.args(["--no-run", "--message-format=json-render-diagnostics"]);
    println!("$ {}", process::show(command));
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| process::cannot("start", command, &error))?;
    process::judge(command, output.status)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let messages = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(messages.filter_map(|message| suite(&message, filters, root)).collect())
}

/// Returns the suite that a message of cargo names. It runs in the folder of its package, as under cargo.
fn suite(message: &Value, filters: &[&str], root: &Path) -> Option<Suite> {
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let path = |value: &Value| value.as_str().map(PathBuf::from);
    let program = path(&message["executable"])?;
    let package = path(&message["manifest_path"])?.parent()?.to_owned();
    let target = &message["target"];
    let source = path(&target["src_path"])?;
    let unit = if target["kind"][0] == "test" { "" } else { "unittests " };
    let title = format!(
        "     Running {unit}{} ({})",
        source.strip_prefix(&package).unwrap_or(&source).display(),
        program.strip_prefix(root).unwrap_or(&program).display()
    );
    let mut command = Command::new(&program);
    command.args(filters).current_dir(&package).env("CARGO_MANIFEST_DIR", &package);
    Some(Suite { name: target["name"].as_str()?.to_owned(), title, command })
}

/// Runs `at_once` suites at a time, the longest first, and passes the title, the output and the success of each to `ended`.
pub(super) fn run(
    mut suites: Vec<Suite>,
    at_once: usize,
    ended: &(dyn Fn(&str, &str, bool) + Sync),
) -> Result<(), String> {
    let place = |suite: &Suite| LONGEST.iter().position(|name| *name == suite.name).unwrap_or(LONGEST.len());
    suites.sort_by_key(place);
    let waiting = Mutex::new(suites.into_iter());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Result<(), String> {
        while let Some(mut suite) = next() {
            let started = Instant::now();
            let (status, text) = process::merged(&mut suite.command)?;
            let title = format!("{} in {:.1} s", suite.title, started.elapsed().as_secs_f64());
            ended(&title, &text, status.success());
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        let lost = |_| Err("a thread that runs test suites panicked".to_owned());
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(lost))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_are_the_test_programs_of_cargo() {
        let message = |test: bool| {
            let text = format!(
                r#"{{"reason": "compiler-artifact", "manifest_path": "/w/crates/a/Cargo.toml",
                "target": {{"kind": ["test"], "name": "it", "src_path": "/w/crates/a/tests/it/main.rs"}},
                "profile": {{"test": {test}}}, "executable": "/w/target/debug/deps/it-1"}}"#
            );
            serde_json::from_str::<Value>(&text).unwrap()
        };
        let found = suite(&message(true), &["uring"], Path::new("/w")).unwrap();
        assert_eq!(found.name, "it");
        assert_eq!(found.title, "     Running tests/it/main.rs (target/debug/deps/it-1)");
        let shown = process::show(&found.command);
        assert_eq!(shown, "CARGO_MANIFEST_DIR=/w/crates/a /w/target/debug/deps/it-1 uring");
        assert_eq!(found.command.get_current_dir(), Some(Path::new("/w/crates/a")));
        assert!(suite(&message(false), &[], Path::new("/w")).is_none());
        assert!(suite(&Value::Null, &[], Path::new("/w")).is_none());
    }

    /// Each of the two suites waits for a file that the other creates.
    #[test]
    fn suites_run_at_the_same_time_and_a_failure_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let meets = |own: &str, other: &str, code: u8| {
            let script =
                format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done; echo {own}; exit {code}");
            let mut command = process::shell(&script);
            command.current_dir(folder.path());
            Suite { name: own.to_owned(), title: own.to_owned(), command }
        };
        let ended = Mutex::new(Vec::new());
        let keep = |title: &str, text: &str, succeeded| {
            let name = title.split(' ').next().unwrap().to_owned();
            ended.lock().unwrap().push((name, text.to_owned(), succeeded));
        };
        run(vec![meets("a", "b", 0), meets("b", "a", 1)], 2, &keep).unwrap();
        let mut ended = ended.into_inner().unwrap();
        ended.sort();
        let line = |name: &str, succeeded| (name.to_owned(), format!("{name}\n"), succeeded);
        assert_eq!(ended, [line("a", true), line("b", false)]);
    }
}
