//! Accuracy of `megadir bench commands`: its own cost, the delays that it finds, and agreement with hyperfine.
//!
//! Timed tests are in the long tier (`MEGADIR_FULL=1`). There the program and all that it starts run under the policy
//! `SCHED_FIFO` if chrt(1) may set it, so that other processes do not disturb them.

use std::ffi::OsStr;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use megadir_record::{Arm, Phase, Record, Sample, jsonl};
use megadir_report::Report;
use megadir_report::summary::{GroupReading, Outcome, Verdict};
use megadir_testkit::require;
use megadir_testkit::require::{full, have};

use crate::support::{output_of, program, text};

/// C program that times fork, exec and wait4.
const LOOP: &str = include_str!("fork_exec.c");
/// Upper limit of the time that the harness adds to a run, nanoseconds.
const ADDED_NS_MAX: u64 = 150_000;
/// Tries in the long tier.
const TRIES: u32 = 200;

/// Runs a program to its end, before all other processes if possible.
fn first_of_all(program: &OsStr, directory: &Path, arguments: &[&str]) -> Output {
    let first = ["--fifo", "1"];
    let may = Command::new("chrt").args(first).arg("true").output().is_ok_and(|tried| tried.status.success());
    let mut command = if may { Command::new("chrt") } else { Command::new(program) };
    if may {
        command.args(first).arg(program);
    }
    command.args(arguments).current_dir(directory).stdin(Stdio::null()).output().expect("the program starts")
}

/// Runs `bench commands` in a directory; returns its record.
fn commands(directory: &Path, arguments: &[&str]) -> Record {
    let fixed = ["bench", "commands", "--output", "run.jsonl", "--same", "exit-code"];
    let output = first_of_all(program().as_os_str(), directory, &[&fixed[..], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let file = std::fs::File::open(directory.join("run.jsonl")).expect("a record");
    jsonl::read(BufReader::new(file)).expect("a record that can be read")
}

/// Measured times of an arm, ascending.
fn times(record: &Record, name: &str) -> Vec<u64> {
    let planned: &Arm = record.header.plan.arms.iter().find(|planned| planned.name == name).expect("the arm");
    let of = record.samples.iter().filter(|sample| {
        sample.arm == planned.id && sample.phase == Phase::Measure && sample.voided.is_none()
    });
    let mut times: Vec<u64> = of.map(|sample| sample.elapsed_ns).collect();
    times.sort_unstable();
    times
}

fn median(ascending: &[u64]) -> u64 {
    ascending[ascending.len() / 2]
}

/// Verdict on an arm against the first.
fn verdict(report: &Report, name: &str) -> Verdict {
    let GroupReading::Compare(comparison) = &report.summary.groups[0].reading else {
        panic!("no comparison")
    };
    let row = comparison.rows.iter().find(|row| report.summary.arm_name(row.arm) == name);
    match row.expect("a row of the arm").outcome {
        Outcome::Judged { verdict, .. } => verdict,
        ref other => panic!("{name}: {other:?}"),
    }
}

/// Compiles the C program.
fn compiled(directory: &Path) -> Result<PathBuf, String> {
    have("gcc")?;
    let (source, program) = (directory.join("fork_exec.c"), directory.join("fork_exec"));
    std::fs::write(&source, LOOP).map_err(|error| error.to_string())?;
    let compiler =
        Command::new("gcc").args(["-O2", "-Wall", "-Werror", "-o"]).arg(&program).arg(&source).output();
    let compiler = compiler.map_err(|error| error.to_string())?;
    assert!(compiler.status.success(), "{}", text(&compiler.stderr));
    Ok(program)
}

#[test]
fn between_the_clock_readings_are_few_system_calls() {
    require!(have("strace"));
    let scratch = tempfile::tempdir().expect("a directory");
    let trace = scratch.path().join("trace");
    let output = Command::new("strace")
        .args(["-f", "-qq", "-s", "8", "-o"])
        .arg(&trace)
        .arg(program())
        .args(["bench", "commands", "true", "--same", "exit-code", "--to", "null", "--rounds", "6"])
        .current_dir(scratch.path())
        .output()
        .expect("strace starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let trace = std::fs::read_to_string(trace).expect("a trace");
    let lines: Vec<(&str, &str)> = trace.lines().filter_map(|line| line.split_once(' ')).collect();
    // System calls that a process begins after a line of the trace.
    let calls = |pid: &str, after: usize| -> Vec<&str> {
        let of = lines[after..].iter().filter(|(of, _)| *of == pid).map(|(_, call)| call.trim_start());
        of.filter(|call| !call.starts_with("<...") && !call.starts_with("---")).collect()
    };
    let (mut runs, mut programs) = (0, 0);
    for (at, (pid, call)) in lines.iter().enumerate() {
        if call.contains("recvfrom") && call.contains(r#""\1""#) {
            // The signal to start; the result follows the end.
            let all = calls(pid, at + 1);
            // Its own pages are dropped and its peak is reset before the clock is read.
            let mut all = all.into_iter().take_while(|call| !call.starts_with("sendto"));
            let reset = all.find(|call| call.starts_with("write(") && call.contains(r#", "5", 1"#));
            let closed = all.find(|call| call.starts_with("close("));
            assert!(reset.is_some() && closed.is_some());
            let timed: Vec<&str> = all.collect();
            let number_of = |name: &str| timed.iter().filter(|call| call.starts_with(name)).count();
            assert_eq!((number_of("clone"), number_of("wait4")), (1, 1), "{timed:#?}");
            let order = ["getpid", "clone", "wait4"];
            let is = |place: usize| timed.get(place).is_some_and(|call| call.starts_with(order[place]));
            assert!(timed.len() == order.len() && (0..order.len()).all(is), "{timed:#?}");
            runs += 1;
        }
        if call.contains("execve(") && call.contains(r#"["true"]"#) {
            let before = calls(pid, 0);
            let until = before.iter().position(|call| call.starts_with("execve")).expect("its start");
            assert!(until <= 4, "{:#?}", &before[..until]);
            programs += 1;
        }
    }
    assert!(runs > 12 && programs == runs, "{runs} runs and {programs} programs seen");
}

#[test]
fn a_run_takes_hardly_longer_than_in_a_loop_in_c() {
    if !full() {
        return;
    }
    let scratch = tempfile::tempdir().expect("a directory");
    let in_c = require!(compiled(scratch.path()));
    let file = scratch.path().join("times");
    // Once in C before each run of the harness.
    let prepare = format!("{} {} /bin/true", in_c.display(), file.display());
    let arguments = ["--to", "null", "--rounds", "500", "--prepare", &prepare, "-N", "true", "/bin/true"];
    let record = commands(scratch.path(), &arguments);
    let lines = std::fs::read_to_string(file).expect("times");
    let mut in_c: Vec<u64> = lines.lines().map(|line| line.parse().expect("a number")).collect();
    in_c.sort_unstable();
    let (own, in_c) = (median(&times(&record, "true")), median(&in_c));
    println!("/bin/true, median of 500 runs: {} us, in C {} us", own / 1000, in_c / 1000);
    assert!(own < in_c + ADDED_NS_MAX, "{own} ns, in C {in_c} ns");
}

#[test]
fn a_delay_is_found_and_equal_commands_rarely_differ() {
    let (tries, delayed, rounds) = if full() { (TRIES, "sleep 0.051", "60") } else { (1, "sleep 0.1", "12") };
    let (mut found, mut wrong) = (0, 0);
    for _ in 0..tries {
        let scratch = tempfile::tempdir().expect("a directory");
        let arms = ["sleep 0.05", delayed, "sleep 0.050", "-N", "one", "-N", "later", "-N", "same"];
        let record = commands(scratch.path(), &[&arms[..], &["--rounds", rounds]].concat());
        let report = Report::of(record).expect("a report");
        found += u32::from(matches!(verdict(&report, "later"), Verdict::Slower { .. }));
        let same = verdict(&report, "same");
        wrong += u32::from(matches!(same, Verdict::Slower { .. } | Verdict::Faster { .. }));
    }
    println!("delay found in {found} of {tries} tries, equal commands called different in {wrong}");
    assert!(found >= (tries * 19).div_ceil(20), "{found} of {tries}");
    // An interval of 95 % is wrong in 1 of 20 tries; of 200, three standard deviations more are chance.
    let expected = f64::from(tries) * 0.05;
    let limit = expected + 3.0 * (expected * 0.95).sqrt();
    assert!(!full() || f64::from(wrong) <= limit, "{wrong} of {tries}, more than {limit:.0}");
}

/// Times of a command by hyperfine, without a shell, nanoseconds.
fn hyperfine(directory: &Path, line: &str) -> Vec<u64> {
    let options =
        ["-N", "--style", "none", "--warmup", "3", "--runs", "20", "--export-json", "hyperfine.json"];
    let output = first_of_all(OsStr::new("hyperfine"), directory, &[&options[..], &[line]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json = std::fs::read(directory.join("hyperfine.json")).expect("its results");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let result = &json["results"][0];
    // Up to hyperfine 1 a list of numbers; from 2.0 on (schema 2) a list of measurements, each quantity with its unit.
    let seconds: Vec<f64> = match result["times"].as_array() {
        Some(times) => times.iter().filter_map(serde_json::Value::as_f64).collect(),
        None => {
            let measurements = result["measurements"].as_array().expect("times or measurements");
            measurements
                .iter()
                .filter_map(|measurement| measurement["time_wall_clock"]["value"].as_f64())
                .collect()
        }
    };
    assert_eq!(seconds.len(), 20, "a time for each run: {result}");
    seconds.iter().map(|seconds| (seconds * 1e9) as u64).collect()
}

/// Times of a command by megadir, with the second arm that repeats it: as many runs as by hyperfine, one after the other.
fn own_times(directory: &Path, line: &str, data: &str) -> Vec<u64> {
    let record = commands(directory, &[line, "--dir", data, "--to", "null", "--rounds", "10"]);
    std::fs::remove_file(directory.join("run.jsonl")).expect("the record is removed");
    let measured = |sample: &&Sample| sample.phase == Phase::Measure && sample.voided.is_none();
    record.samples.iter().filter(measured).map(|sample| sample.elapsed_ns).collect()
}

/// The means differ by less than the standard deviation that hyperfine prints with its own. Both measure each command
/// alone, alternating, because a machine's speed may change from one minute to the next; several commands in one run of
/// megadir would leave each other colder caches, which hyperfine's repetitions do not have.
#[test]
fn hyperfine_agrees_within_its_own_spread() {
    if !full() {
        return;
    }
    require!(have("hyperfine"));
    let scratch = tempfile::tempdir().expect("a directory");
    let at = scratch.path().join("files");
    let made = output_of(scratch.path(), &["make", "files", "--entries", "20000"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let data = at.to_str().expect("UTF-8");
    for line in ["ls -U {dir}", "ls -lU {dir}", "find {dir} -size +1k"] {
        let (mut own, mut theirs) = (Vec::new(), Vec::new());
        for turn in 0..6 {
            let filled = line.replace("{dir}", data);
            if turn % 2 == 0 {
                theirs.extend(hyperfine(scratch.path(), &filled));
            }
            own.extend(own_times(scratch.path(), line, data));
            if turn % 2 == 1 {
                theirs.extend(hyperfine(scratch.path(), &filled));
            }
        }
        assert_eq!(own.len(), theirs.len());
        let mean = |times: &[u64]| times.iter().sum::<u64>() as f64 / times.len() as f64;
        let (own, mean) = (mean(&own), mean(&theirs));
        let squares = theirs.iter().map(|&time| (time as f64 - mean).powi(2)).sum::<f64>();
        let spread = (squares / (theirs.len() - 1) as f64).sqrt();
        let found = format!(
            "{line}: {own:.0} ns; hyperfine: {mean:.0} ns +- {spread:.0} ns; ratio {:.3}",
            own / mean
        );
        println!("{found}");
        assert!((own - mean).abs() <= spread, "{found}");
    }
}
