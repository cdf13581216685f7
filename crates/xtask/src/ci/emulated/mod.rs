//! `cargo xtask emulated` and the stage `emulated`: Debian's kernels in QEMU, for file systems and versions
//! that this machine's kernel lacks. Needs neither root nor KVM. In `target/emulated`, packages are unpacked
//! once, and `out` has the results of the last run.

mod debian;
mod machine;
mod root;

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use crate::ci::drive::{Context, Report};
use crate::ci::{instructions, suites};
use crate::workspace::Workspace;
use machine::Machine;
use root::Root;

const KERNELS: [(&str, &str); 3] = [("5.10", "bullseye"), ("6.1", "bookworm"), ("6.12", "trixie")];
const DEFAULT: &str = "6.1";

struct Inside {
    name: &'static str,
    /// Tests that take seconds without KVM; others create up to a million files.
    quick: &'static str,
}

const SUITES: [Inside; 4] = [
    Inside { name: "conformance", quick: "on_tmpfs without_indices" },
    Inside { name: "stat_backends", quick: "on_mounts_that_write on_overlayfs refused" },
    // Without `explained::too_many_directories...`: Linux 6.1 does not show an ordinary user that ext4 lacks dir_nlink.
    Inside {
        name: "limits",
        quick: "explained::a_ explained::blocks explained::crafted explained::inodes explained::the_ explained::what_",
    },
    Inside { name: "remove", quick: "aside:: conditions:: stays::" },
];

const SUITE_S: u64 = 4 * 3600;
const SUITE_QUICK_S: u64 = 900;

/// ReiserFS left Linux in 6.13.
const STUDY: &str = "smallfile --quick --fs ext2,ext3,ext4,xfs,jfs,reiserfs,btrfs,f2fs";

/// In case the machine hangs.
const LIMIT: Duration = Duration::from_secs(20 * 3600);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Linux version
    #[arg(long, default_value = DEFAULT, value_parser = KERNELS.map(|(version, _)| version))]
    kernel: String,
    /// Run all tests of the suites, which takes hours without KVM
    #[arg(long, conflicts_with = "command")]
    full: bool,
    /// Shell command to run inside, in a folder whose files are brought out [default: suites and a study]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    if let Some(lacking) = debian::lacking() {
        return Err(lacking);
    }
    let context = Context { workspace: Workspace::find()?, require_all: false, full: args.full, named: true };
    let failures = match args.command.as_slice() {
        [] => run_all(&context, &args.kernel)?.failures,
        words => {
            let command = words.join(" ");
            run_inside(&context, &args.kernel, &[], &command)?;
            status(&context.workspace.target.join("emulated/out"), "status", &command).into_iter().collect()
        }
    };
    println!("results: {}", context.workspace.target.join("emulated/out").display());
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// The default kernel, with `--full` all. Left out by default: it downloads packages and takes long.
pub(crate) fn run_stage(context: &Context) -> Result<Report, String> {
    if !context.named && !context.full {
        return Ok(Report::line("emulated: runs by name (--only emulated) and with --full"));
    }
    if let Some(lacking) = debian::lacking() {
        return Ok(Report::not_run(format!("emulated: {lacking}")));
    }
    let mut report = Report::default();
    for (kernel, _) in KERNELS.iter().filter(|(kernel, _)| context.full || *kernel == DEFAULT) {
        let own = run_all(context, kernel)?;
        report.lines.extend(own.lines);
        report.failures.extend(own.failures);
        report.unavailable.extend(own.unavailable);
    }
    Ok(report)
}

fn run_all(context: &Context, kernel: &str) -> Result<Report, String> {
    let mut words = vec!["test", "--locked", "--profile=ci", "--package=megadir"];
    let tests = SUITES.map(|suite| format!("--test={}", suite.name));
    words.extend(tests.iter().map(String::as_str));
    let built = suites::build(&mut context.cargo(&words), &[], &context.workspace.root)?;
    run_inside(context, kernel, &built, &script(context.full))?;
    let out = context.workspace.target.join("emulated/out");
    let mut report = Report::default();
    for Inside { name, .. } in SUITES {
        let log = std::fs::read_to_string(out.join(format!("{name}.log"))).unwrap_or_default();
        let result = log.lines().rfind(|line| line.starts_with("test result: ")).unwrap_or("no result");
        report.lines.push(format!("emulated: Linux {kernel}, {name}: {result}"));
        let failed = log.lines().filter(|line| line.starts_with("test ") && line.ends_with("FAILED"));
        report.failures.extend(failed.map(|line| format!("Linux {kernel}, {name}: {line}")));
        report.failures.extend(status(&out, &format!("{name}.status"), &format!("Linux {kernel}, {name}")));
    }
    let not_run = std::fs::read_to_string(out.join("not-run.log")).unwrap_or_default();
    report.unavailable.extend(not_run.lines().map(|line| format!("Linux {kernel}, {line}")));
    report.failures.extend(status(
        &out,
        "study.status",
        &format!("Linux {kernel}, megadir bench run {STUDY}"),
    ));
    Ok(report)
}

/// Continues after failures, so that all results are brought out.
fn script(full: bool) -> String {
    let mut script = "export MEGADIR_NOT_RUN_LOG=/lab/out/not-run.log\n".to_owned();
    for Inside { name, quick } in SUITES {
        let (seconds, tests) = if full { (SUITE_S, "") } else { (SUITE_QUICK_S, quick) };
        let _ = writeln!(script, "echo 'suite {name} {tests}'");
        let _ =
            writeln!(script, "timeout {seconds} /suites/{name} --test-threads=1 {tests} >{name}.log 2>&1");
        let _ = writeln!(script, "echo $? >{name}.status; grep -E '^test .*FAILED|^test result' {name}.log");
    }
    let _ = writeln!(script, "echo 'megadir bench run {STUDY}'");
    let _ = writeln!(script, "megadir bench run {STUDY} -o record.jsonl >study.log 2>&1");
    script.push_str("status=$?; echo $status >study.status; tail -n 5 study.log; exit $status\n");
    script
}

fn run_inside(
    context: &Context,
    kernel: &str,
    programs: &[suites::Suite],
    command: &str,
) -> Result<(), String> {
    let folder = context.workspace.target.join("emulated");
    let release = KERNELS.iter().find(|(version, _)| *version == kernel).map_or("", |(_, release)| release);
    let tools = machine::tools(&folder)?;
    let root = Root::make(&folder, release, &tools)?;
    let [out, own] = ["out", "own"].map(|name| folder.join(name));
    for folder in [&out, &own] {
        if folder.exists() {
            std::fs::remove_dir_all(folder).map_err(|error| debian::cannot("remove", folder, &error))?;
        }
        std::fs::create_dir_all(folder).map_err(|error| debian::cannot("create", folder, &error))?;
    }
    root::copy(&instructions::optimised_binary(context)?, &own.join("usr/bin/megadir"))?;
    for program in programs {
        root::copy(Path::new(program.command.get_program()), &own.join("suites").join(&program.name))?;
    }
    root::write_scripts(&own, command)?;
    let memory_disk = folder.join("memory-disk");
    root.memory_disk(&own, &memory_disk)?;
    let machine =
        Machine { tools: &tools, kernel: root.kernel(), memory_disk, scratch: &folder, limit: LIMIT };
    machine.run(&out)
}

fn status(out: &Path, file: &str, what: &str) -> Option<String> {
    match std::fs::read_to_string(out.join(file)) {
        Ok(code) if code.trim() == "0" => None,
        Ok(code) => Some(format!("{what}: exit code {}", code.trim())),
        Err(_) => Some(format!("{what}: did not end")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_suite_runs_and_leaves_its_exit_code() {
        let (quick, script) = (script(false), script(true));
        for suite in SUITES {
            let name = suite.name;
            assert!(quick.contains(&format!("/suites/{name} --test-threads=1 {}", suite.quick)));
            assert!(script.contains(&format!("/suites/{name} --test-threads=1  >{name}.log")));
            assert!(script.contains(&format!(">{name}.status")));
        }
        assert!(script.contains(&format!("megadir bench run {STUDY} ")));
    }

    #[test]
    fn anything_but_zero_is_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        for (text, expected) in
            [("0\n", None), ("101\n", Some("it: exit code 101")), ("", Some("it: exit code "))]
        {
            std::fs::write(folder.path().join("status"), text).unwrap();
            assert_eq!(status(folder.path(), "status", "it").as_deref(), expected);
        }
        assert_eq!(status(folder.path(), "none", "it").as_deref(), Some("it: did not end"));
    }
}
