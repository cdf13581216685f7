//! Builds test suites with cargo and runs several at a time: most tests wait for devices, child processes and the kernel. Outputs do not
//! mix. Failed tests run once more at the end, alone; tests that pass then are unstable.
//!
//! ```text
//! cargo test --no-run (JSON) -> Suite, longest first -> n at a time -> output whole -> Ended
//!                               failed tests -> once more, alone -> unstable | failed        log -> not run | unavailable
//! ```

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ci::memory_disk::MemoryDisk;
use crate::ci::stage::{Context, Report};
use crate::{files, process};

/// Longest first, so that none runs alone at the end.
const LONGEST: [&str; 10] = [
    "it",
    "limits",
    "conformance",
    "remove",
    "stat_backends",
    "lab",
    "code",
    "commands",
    "split",
    "megadir_bench",
];

pub(super) struct Suite {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) command: Command,
    /// Arguments before the ones that select tests: the program, if another one runs it.
    fixed: usize,
}

/// `command` is a `cargo test` that ends with the words that select tests.
pub(super) fn build(command: &mut Command, filters: &[&str], root: &Path) -> Result<Vec<Suite>, String> {
    // Programs are found by cargo's messages, since their names contain checksums.
    command.args(["--no-run", "--message-format=json-render-diagnostics"]);
    println!("$ {}", process::show(command));
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| process::cannot("start", command, &error))?;
    process::judge(command, output.status)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let messages = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(messages.filter_map(|message| suite(&message, filters, root)).collect())
}

fn suite(message: &Value, filters: &[&str], root: &Path) -> Option<Suite> {
    // Other artifacts, such as libraries, have no tests to run.
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
    Some(Suite { name: target["name"].as_str()?.to_owned(), title, command, fixed: 0 })
}

impl Suite {
    /// The program becomes the first argument of the runner.
    pub(super) fn run_by(&mut self, runner: &str) {
        let mut command = Command::new(runner);
        command.arg(self.command.get_program()).args(self.command.get_args());
        copy_surroundings(&self.command, &mut command);
        self.command = command;
        self.fixed = 1;
    }

    fn failed_tests(&self, output: &str) -> Vec<String> {
        // Without a result line the program was killed or panicked outside of a test, and repeating single
        // tests would hide that.
        let is_whole = output.lines().any(|line| line.starts_with("test result: FAILED. "));
        if self.name == DOC || !is_whole {
            return Vec::new();
        }
        output.lines().filter_map(name_of_failed).map(str::to_owned).collect()
    }

    fn only(&self, tests: &[String]) -> Command {
        let mut command = Command::new(self.command.get_program());
        command.args(self.command.get_args().take(self.fixed));
        command.args(tests).args(["--exact", "--test-threads=1"]);
        copy_surroundings(&self.command, &mut command);
        command
    }
}

fn copy_surroundings(from: &Command, to: &mut Command) {
    if let Some(folder) = from.get_current_dir() {
        to.current_dir(folder);
    }
    to.envs(from.get_envs().filter_map(|(key, value)| Some((key, value?))));
    // Variables that are removed are not copied; suites remove none.
}

/// The longest first; `ended` gets suite, title, output and success of each.
fn run(
    mut suites: Vec<Suite>,
    (at_once, limit): (usize, Duration),
    ended: &(dyn Fn(&Suite, &str, &str, bool) + Sync),
) -> Result<(), String> {
    let place = |suite: &Suite| LONGEST.iter().position(|name| *name == suite.name).unwrap_or(LONGEST.len());
    suites.sort_by_key(place);
    let waiting = Mutex::new(suites.into_iter());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Result<(), String> {
        while let Some(mut suite) = next() {
            let started = Instant::now();
            let ran = process::run_at_most(&mut suite.command, limit);
            let title = format!("{} in {:.1} s", suite.title, started.elapsed().as_secs_f64());
            match ran {
                Ok((status, text)) => ended(&suite, &title, &text, status.success()),
                // It was killed, or could not be started.
                Err(message) => ended(&suite, &title, &message, false),
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        let lost = |_| Err("a thread that runs test suites panicked".to_owned());
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(lost))
    })
}

const DOC: &str = "doc";
const FAILED: &str = " ... FAILED";
const OUTPUT_LINES: usize = 6;

/// A suite that hangs ends here; none takes as long.
const SUITE_LIMIT: Duration = Duration::from_secs(60 * 60);

pub(crate) fn run_build(context: &Context) -> Result<Report, String> {
    process::run(context.cargo_tests().arg("--no-run"))?;
    Ok(Report::default())
}

pub(crate) fn run_test(context: &Context) -> Result<Report, String> {
    let log = context.scratch()?.join("not-run.log");
    files::write(&log, "")?;
    let mut all = build(&mut context.cargo_tests(), &[], &context.workspace.root)?;
    let mut doc = context.cargo_tests();
    doc.args(["--no-fail-fast", "--doc"]);
    let title = "     Running doc tests".to_owned();
    all.push(Suite { name: DOC.to_owned(), title, command: doc, fixed: 0 });
    let memory_disk = MemoryDisk::mount();
    if let Err(reason) = &memory_disk {
        println!("tests use the device of the machine, as there is no disk in memory: {reason}");
    }
    for suite in &mut all {
        if let Ok(disk) = &memory_disk {
            suite.command.env("TMPDIR", disk.path());
        }
        suite.command.env("MEGADIR_NOT_RUN_LOG", &log).env("CARGO_TERM_COLOR", "never");
        // The largest suite waits most, and gets a thread more than there are processors.
        if suite.name == LONGEST[0] && !context.full {
            suite.command.arg(format!("--test-threads={}", process::processors() + 1));
        }
        if suite.name != DOC {
            report_times(&mut suite.command);
        }
        if context.full {
            suite.command.env("MEGADIR_FULL", "1");
        }
    }
    let at_once = if context.full { 1 } else { process::processors() };
    report(all, at_once, SUITE_LIMIT, &log)
}

/// The option is unstable, and the harness only accepts it from a compiler that may use such options.
fn report_times(command: &mut Command) {
    command.args(["-Zunstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
}

/// Runs the suites. `log` has what they could not test.
pub(super) fn report(
    suites: Vec<Suite>,
    at_once: usize,
    limit: Duration,
    log: &Path,
) -> Result<Report, String> {
    let ended = Mutex::new(Ended { succeeded: true, ..Ended::default() });
    run(suites, (at_once, limit), &|suite, title, text, succeeded| {
        let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.take(title, text);
        let failed = if succeeded { Vec::new() } else { suite.failed_tests(text) };
        if failed.is_empty() {
            ended.succeeded &= succeeded;
        } else {
            ended.again.push((suite.only(&failed), failed));
        }
    })?;
    let mut ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (mut command, tests) in std::mem::take(&mut ended.again) {
        let (status, text) = process::run_at_most(&mut command, limit)?;
        print!("{text}");
        ended.take_again(&tests, &text, status.success());
    }
    Ok(report_of(ended, &files::read(log)?))
}

fn report_of(ended: Ended, log: &str) -> Report {
    let mut report = sorted(ended.results, log);
    // A requirement that was missing while other tests ran was there when the test ran alone.
    // The suite is unknown in the log, so the test is matched by the end of its path.
    let has_passed = |line: &String| {
        let name = line.split_once(": ").map_or(line.as_str(), |(name, _)| name);
        ended
            .passed_alone
            .iter()
            .any(|test| name.strip_suffix(test.as_str()).is_some_and(|path| path.ends_with("::")))
    };
    report.not_run.retain(|line| !has_passed(line));
    report.tests_s = ended.tests_s;
    report.lines.push(totals(&report.lines));
    report.lines.extend(ended.unstable);
    report.failures =
        ended.failed.iter().map(|(name, lines)| format!("test {name}{FAILED}{lines}")).collect();
    if !ended.succeeded {
        report.failures.push("cargo test failed".to_owned());
    }
    report
}

/// State after some suites have run. `again` are commands for its failed tests; each runs once more
/// after all suites, alone; a test that passes then moves from `failed` to `unstable`.
#[derive(Default)]
struct Ended {
    succeeded: bool,
    results: Vec<String>,
    /// Suite and name of each test, and its time in seconds.
    tests_s: Vec<(String, f64)>,
    /// Names, and the first lines of their output.
    failed: Vec<(String, String)>,
    again: Vec<(Command, Vec<String>)>,
    unstable: Vec<String>,
    passed_alone: Vec<String>,
}

impl Ended {
    fn take(&mut self, title: &str, output: &str) {
        for line in std::iter::once(title).chain(output.lines()) {
            if let Some(result) = line.strip_prefix("test result: ") {
                println!("suite done: {}", result.split("; 0 measured").next().unwrap_or(result));
                self.results.push(line.to_owned());
                continue;
            }
            println!("{line}");
            if let Some((name, time_s)) = timed(line) {
                self.tests_s.push((format!("{}: {name}", suite_of(title)), time_s));
            }
            if line.starts_with("     Running ") || line.starts_with("   Doc-tests ") {
                self.results.push(line.to_owned());
            } else if let Some(name) = name_of_failed(line) {
                self.failed.push((name.to_owned(), lines_of(name, output)));
            }
        }
    }

    fn take_again(&mut self, tests: &[String], output: &str, succeeded: bool) {
        // Output of a test's processes may be in the line of its name, so the total decides.
        let result = format!("test result: ok. {} passed; ", tests.len());
        let have_passed = succeeded && output.lines().any(|line| line.starts_with(&result));
        for test in tests {
            if have_passed {
                let at = self.failed.iter().position(|(name, _)| name == test);
                let lines = at.map(|at| self.failed.remove(at).1).unwrap_or_default();
                self.unstable
                    .push(format!("unstable: {test}: failed beside other tests, passed alone{lines}"));
                self.passed_alone.push(test.clone());
            } else {
                self.succeeded = false;
            }
        }
    }
}

fn name_of_failed(line: &str) -> Option<&str> {
    let line = line.strip_prefix("test ")?;
    // `--report-time` appends the time to the line.
    let line = line.rsplit_once(" <").filter(|(_, time)| time.ends_with("s>")).map_or(line, |(line, _)| line);
    line.strip_suffix(FAILED)
}

/// Name and seconds of a line `test NAME ... ok <1.234s>`.
fn timed(line: &str) -> Option<(&str, f64)> {
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let time = outcome.rsplit_once('<')?.1.strip_suffix("s>")?;
    Some((name, time.parse().ok()?))
}

/// The program of a title, without the checksum in its name.
fn suite_of(title: &str) -> &str {
    let program = title.split_once('(').map_or(title, |(_, rest)| rest);
    let program = program.split(')').next().unwrap_or(program);
    let name = program.rsplit('/').next().unwrap_or(program);
    name.rsplit_once('-').map_or(name, |(name, _)| name)
}

/// First lines of a test's output, for reports that keep nothing else.
fn lines_of(test: &str, output: &str) -> String {
    let heading = format!("---- {test} stdout ----");
    let after = output.lines().skip_while(|line| *line != heading).skip(1);
    let own = after.take_while(|line| !line.starts_with("---- ") && *line != "failures:");
    own.filter(|line| !line.is_empty())
        .take(OUTPUT_LINES)
        .fold(String::new(), |lines, line| lines + "\n    " + line)
}

fn totals(results: &[String]) -> String {
    let sum = |word: &str| -> u64 { results.iter().filter_map(|line| number_before(line, word)).sum() };
    let suites = results.iter().filter(|line| line.starts_with("test result: ")).count();
    format!("{suites} suites: {} passed, {} failed", sum(" passed"), sum(" failed"))
}

fn number_before(line: &str, word: &str) -> Option<u64> {
    let before = line.strip_prefix("test result: ")?.split_once(word)?.0;
    before.rsplit(' ').next()?.parse().ok()
}

/// Each line once: several tests may report the same requirement.
fn sorted(lines: Vec<String>, log: &str) -> Report {
    let mut report = Report { lines, ..Report::default() };
    for line in log.lines().filter(|line| !line.trim().is_empty()) {
        let (list, text) = match (line.strip_prefix("unavailable: "), line.strip_prefix("not run: ")) {
            (Some(text), _) => (&mut report.unavailable, text),
            (None, text) => (&mut report.not_run, text.unwrap_or(line)),
        };
        if !list.iter().any(|known| known == text) {
            list.push(text.to_owned());
        }
    }
    report
}

#[cfg(test)]
pub(crate) fn note_not_run(test: &str, why: &str) {
    use std::io::Write;
    eprintln!("not run: {test}: {why}");
    if let Some(log) = std::env::var_os("MEGADIR_NOT_RUN_LOG") {
        let mut log = std::fs::OpenOptions::new().append(true).create(true).open(log).unwrap();
        log.write_all(format!("not run: {test}: {why}\n").as_bytes()).unwrap();
    }
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
        let found = suite(&message(true), &["cpp"], Path::new("/w")).unwrap();
        assert_eq!(found.name, "it");
        assert_eq!(found.title, "     Running tests/it/main.rs (target/debug/deps/it-1)");
        let shown = process::show(&found.command);
        assert_eq!(shown, "CARGO_MANIFEST_DIR=/w/crates/a /w/target/debug/deps/it-1 cpp");
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
            Suite { name: own.to_owned(), title: own.to_owned(), command, fixed: 0 }
        };
        let ended = Mutex::new(Vec::new());
        let keep = |_: &Suite, title: &str, text: &str, succeeded| {
            let name = title.split(' ').next().unwrap().to_owned();
            ended.lock().unwrap().push((name, text.to_owned(), succeeded));
        };
        run(vec![meets("a", "b", 0), meets("b", "a", 1)], (2, SUITE_LIMIT), &keep).unwrap();
        let mut ended = ended.into_inner().unwrap();
        ended.sort();
        let line = |name: &str, succeeded| (name.to_owned(), format!("{name}\n"), succeeded);
        assert_eq!(ended, [line("a", true), line("b", false)]);
    }

    #[test]
    fn failed_tests_run_again_alone() {
        let mut command = Command::new("/w/it-1");
        command.args(["cpp", "--test-threads=3"]).current_dir("/w").env("KEY", "1");
        let mut suite = Suite { name: "it".to_owned(), title: String::new(), command, fixed: 0 };
        let failed = suite.failed_tests("test a::b ... FAILED\ntest c ... ok\ntest result: FAILED. 1 passed");
        assert_eq!(failed, ["a::b"]);
        let again = suite.only(&failed);
        assert_eq!(process::show(&again), "KEY=1 /w/it-1 a::b --exact --test-threads=1");
        assert_eq!(again.get_current_dir(), Some(Path::new("/w")));
        suite.run_by("wine");
        assert_eq!(process::show(&suite.command), "KEY=1 wine /w/it-1 cpp --test-threads=3");
        let again = suite.only(&failed);
        assert_eq!(process::show(&again), "KEY=1 wine /w/it-1 a::b --exact --test-threads=1");
        assert_eq!(again.get_current_dir(), Some(Path::new("/w")));
        // A program that was killed says nothing of the tests after that.
        assert!(suite.failed_tests("test a::b ... FAILED\n").is_empty());
    }

    #[test]
    fn only_a_test_that_passes_alone_is_forgiven() {
        let first = || {
            let mut ended = Ended { succeeded: true, ..Ended::default() };
            ended.take(
                "a",
                "test a ... FAILED\n\nfailures:\n\n---- a stdout ----\n\nit broke\n\n\nfailures:\n    a\n",
            );
            ended
        };
        let tests = ["a".to_owned()];
        let mut passed = first();
        passed.take_again(&tests, "test a ... \nsaid\nok\ntest result: ok. 1 passed; 0 failed\n", true);
        let log = "not run: it::a: no loop device\nnot run: it::b: no loop device\n";
        let report = report_of(passed, log);
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        assert_eq!(report.not_run, ["it::b: no loop device"]);
        let line = "unstable: a: failed beside other tests, passed alone\n    it broke";
        assert!(report.lines.contains(&line.to_owned()), "{:?}", report.lines);
        for (output, succeeded) in
            [("test a ... FAILED\n", false), ("test result: ok. 0 passed; 0 failed\n", true)]
        {
            let mut failed = first();
            failed.take_again(&tests, output, succeeded);
            assert_eq!(
                report_of(failed, "").failures,
                ["test a ... FAILED\n    it broke", "cargo test failed"]
            );
        }
    }

    #[test]
    fn log_is_sorted_into_failures_and_unavailable_parts() {
        let log = "not run: a::b: not root\nunavailable: c: no f2fs\nnot run: a::b: not root\n\nodd line\n";
        let report = sorted(vec!["test result: ok. 3 passed".into()], log);
        assert_eq!(report.not_run, ["a::b: not root", "odd line"]);
        assert_eq!(report.unavailable, ["c: no f2fs"]);
        assert_eq!(report.lines, ["test result: ok. 3 passed"]);
    }

    #[test]
    fn times_of_tests_are_read() {
        assert_eq!(timed("test a::b ... ok <1.250s>"), Some(("a::b", 1.25)));
        assert_eq!(timed("test a::b ... ok"), None);
        assert_eq!(name_of_failed("test a::b ... FAILED <0.001s>"), Some("a::b"));
        assert_eq!(suite_of("     Running tests/it/main.rs (target/ci/deps/it-4f) in 2.0 s"), "it");
    }

    #[test]
    fn results_add_up() {
        let lines = [
            "   Doc-tests a",
            "test result: ok. 12 passed; 0 failed; 0 ignored",
            "test result: FAILED. 3 passed; 1 failed;",
        ];
        assert_eq!(totals(&lines.map(str::to_owned)), "2 suites: 15 passed, 1 failed");
        assert_eq!(totals(&[]), "0 suites: 0 passed, 0 failed");
    }

    #[test]
    fn result_lines_are_kept() {
        let text = "test b ... FAILED\ntest c ... ok\ntest result: FAILED. 1 passed; 1 failed";
        let mut ended = Ended::default();
        ended.take("     Running unittests a", text);
        assert_eq!(ended.results, ["     Running unittests a", "test result: FAILED. 1 passed; 1 failed"]);
        assert_eq!(ended.failed, [("b".to_owned(), String::new())]);
    }
}
