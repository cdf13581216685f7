//! `cargo xtask emulated` and the stage `emulated`: Debian's kernels in QEMU, for file systems and versions that this machine's kernel
//! lacks. Needs neither root nor KVM. `target/emulated/out` has the results of the last run.
//!
//! ```text
//! Tier (suites, study) -> script -> Machine -> target/emulated/out: NAME.log, NAME.status, not-run.log
//!                                               -> Report: results, failures, tests that this kernel cannot run
//! ```

mod machine;
mod root;

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use crate::ci::stage::{Context, Report};
use crate::ci::suites;
use crate::debian::{self, Tree};
use crate::files;
use crate::process::Workspace;
use machine::Machine;
use root::Root;

struct Kernel {
    version: &'static str,
    debian: &'static str,
    /// Drivers of the lab that it is built without.
    lacks: &'static [&'static str],
}

const KERNELS: [Kernel; 3] = [
    Kernel { version: "5.10", debian: "bullseye", lacks: &["ntfs3"] },
    Kernel { version: "6.1", debian: "bookworm", lacks: &["ntfs3"] },
    Kernel { version: "6.12", debian: "trixie", lacks: &[] },
];
/// The last one with ReiserFS. Its packages are of the same release as QEMU's.
const DEFAULT: &str = "6.12";

/// Suites and study of a tier. The study runs last, since it needs no result of a test.
struct Tier {
    suites: &'static [Inside],
    /// For each suite, seconds.
    limit_s: u64,
    study: &'static str,
}

impl Tier {
    /// The matrix of docs/ground.md is written on one kernel.
    fn suites_on(&self, kernel: &Kernel) -> Vec<&'static Inside> {
        let runs = |suite: &&Inside| suite.name != GROUND.name || kernel.version == DEFAULT;
        self.suites.iter().filter(runs).collect()
    }
}

struct Inside {
    name: &'static str,
    /// Names of tests begin with one of these words; empty for all.
    tests: &'static str,
}

const fn all(name: &'static str) -> Inside {
    Inside { name, tests: "" }
}

/// Every command on the file systems that this machine's kernel may lack, on the kernel whose root has their programs.
// By name, because the same suite has tests of file systems that every machine has.
const GROUND: Inside = Inside {
    name: "it",
    tests: "ground::on_9p ground::on_exfat ground::on_f2fs ground::on_gfs2 ground::on_jfs ground::on_minix ground::on_nfs \
            ground::on_nilfs2 ground::on_ntfs3 ground::on_ocfs2 ground::on_reiserfs ground::on_smb ground::on_udf ground::on_vfat",
};

/// At most four minutes without KVM, with what other stages have built.
const SHORT: Tier = Tier {
    suites: &[all("positions")],
    limit_s: 300,
    study: "listing --quick --entries 300 --buffer 4KiB --rounds 6 --fs jfs,reiserfs,f2fs,nilfs2,ntfs3,exfat",
};

/// Tests that take seconds without KVM.
const NAMED: Tier = Tier {
    suites: &[
        all("positions"),
        Inside { name: "conformance", tests: "on_tmpfs without_indices" },
        Inside { name: "stat_backends", tests: "on_mounts_that_write on_overlayfs refused" },
        // Without `explained::too_many_directories...`: Linux 6.1 does not show an ordinary user that ext4 lacks dir_nlink.
        Inside {
            name: "limits",
            tests: "explained::a_ explained::blocks explained::crafted explained::inodes explained::the_ explained::what_",
        },
        Inside { name: "remove", tests: "aside:: conditions:: stays::" },
        GROUND,
    ],
    limit_s: 900,
    study: SHORT.study,
};

const FULL: Tier = Tier {
    suites: &[
        all("positions"),
        all("conformance"),
        all("stat_backends"),
        all("limits"),
        all("remove"),
        GROUND,
    ],
    limit_s: 4 * 3600,
    study: "smallfile --quick --fs ext2,ext3,ext4,xfs,jfs,reiserfs,btrfs,f2fs",
};

/// For booting and the study.
const STUDY_LIMIT: Duration = Duration::from_secs(600);

const LIMIT: Duration = Duration::from_secs(20 * 3600);

/// A minute a file system.
const GROUND_LIMIT: Duration = Duration::from_secs(1800);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Linux version
    #[arg(long, default_value = DEFAULT, value_parser = KERNELS.map(|kernel| kernel.version))]
    kernel: String,
    /// Processors of the machine; use no more than this machine has
    #[arg(long, default_value_t = 1, requires = "command", value_parser = clap::value_parser!(u32).range(1..=64))]
    processors: u32,
    /// Run all tests of the suites, which takes hours without KVM
    #[arg(long, conflicts_with_all = ["command", "processors"])]
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
    let kernel = KERNELS.iter().find(|kernel| kernel.version == args.kernel).ok_or("no such kernel")?;
    let failures = match args.command.as_slice() {
        [] => run_all(&context, kernel)?.failures,
        words => {
            let command = words.join(" ");
            run_inside(&context, (kernel, args.processors), &[], (&command, LIMIT))?;
            status(&context.workspace.target.join("emulated/out"), "status", &command).into_iter().collect()
        }
    };
    println!("results: {}", context.workspace.target.join("emulated/out").display());
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// By default one kernel; the long tier boots all.
pub(crate) fn run_stage(context: &Context) -> Result<Report, String> {
    if let Some(lacking) = debian::lacking() {
        return Ok(Report::not_run(format!("emulated: {lacking}")));
    }
    let mut report = Report::default();
    for kernel in KERNELS.iter().filter(|kernel| context.full || kernel.version == DEFAULT) {
        if let Err(why) = prepare(context, kernel) {
            report.not_run.push(format!("emulated: Linux {}: {why}", kernel.version));
            continue;
        }
        let own = run_all(context, kernel)?;
        report.lines.extend(own.lines);
        report.failures.extend(own.failures);
        report.unavailable.extend(own.unavailable);
    }
    Ok(report)
}

/// All suites of the tier in one boot, since booting takes as long as many tests. Results come from the logs
/// that the machine has left: a suite without a result line, or a machine that ended early, is a failure by
/// its missing status. A test that the kernel lacks something for is unavailable only if that kernel is
/// expected to lack it.
fn run_all(context: &Context, kernel: &Kernel) -> Result<Report, String> {
    let tier = match (context.full, context.named) {
        (true, _) => FULL,
        (false, true) => NAMED,
        (false, false) => SHORT,
    };
    let mut command = context.cargo_tests();
    let suites = tier.suites_on(kernel);
    command.args(suites.iter().map(|suite| format!("--test={}", suite.name)));
    let built = suites::build(&mut command, &[], &context.workspace.root)?;
    let limit = Duration::from_secs(tier.limit_s * suites.len() as u64) + STUDY_LIMIT;
    // An error here is one of the machine; failures of tests are read from the logs.
    run_inside(context, (kernel, 1), &built, (&script(&tier, &suites), limit))?;
    let out = context.workspace.target.join("emulated/out");
    let linux = format!("Linux {}", kernel.version);
    let mut report = Report::default();
    for Inside { name, .. } in suites {
        let log = std::fs::read_to_string(out.join(format!("{name}.log"))).unwrap_or_default();
        let result = log.lines().rfind(|line| line.starts_with("test result: ")).unwrap_or("no result");
        report.lines.push(format!("emulated: {linux}, {name}: {result}"));
        let failed = log.lines().filter(|line| line.starts_with("test ") && line.ends_with("FAILED"));
        report.failures.extend(failed.map(|line| format!("{linux}, {name}: {line}")));
        report.failures.extend(status(&out, &format!("{name}.status"), &format!("{linux}, {name}")));
    }
    let not_run = std::fs::read_to_string(out.join("not-run.log")).unwrap_or_default();
    for line in not_run.lines() {
        let to =
            // A driver that is expected and missing is a failure, as the test would otherwise never run
            // anywhere.
            if lacks_unexpectedly(line, kernel) { &mut report.failures } else { &mut report.unavailable };
        to.push(format!("{linux}, {line}"));
    }
    let study = format!("{linux}, megadir bench run {}", tier.study);
    report.failures.extend(status(&out, "study.status", &study));
    Ok(report)
}

/// A file system that this kernel has was not tested.
fn lacks_unexpectedly(line: &str, kernel: &Kernel) -> bool {
    let named = line.split_once("positions::on_").or_else(|| line.split_once("ground::on_"));
    let test = named.map(|(_, rest)| rest.split(':').next().unwrap_or(rest));
    test.is_some_and(|name| !kernel.lacks.contains(&name))
}

/// Rows of the matrix of docs/ground.md for the file systems that only this kernel has.
pub(crate) fn ground_rows(context: &Context) -> Result<String, String> {
    if let Some(lacking) = debian::lacking() {
        return Err(lacking);
    }
    let kernel = KERNELS.iter().find(|kernel| kernel.version == DEFAULT).ok_or("no such kernel")?;
    let built = suites::build(context.cargo_tests().arg("--test=it"), &[], &context.workspace.root)?;
    let command = format!(
        "export MEGADIR_PROGRAM=/usr/bin/megadir MEGADIR_GROUND_LOG=/lab/out/rows MEGADIR_NOT_RUN_LOG=/lab/out/not-run.log\n/suites/it --test-threads=1 {}",
        GROUND.tests
    );
    run_inside(context, (kernel, 1), &built, (&command, GROUND_LIMIT))?;
    let out = context.workspace.target.join("emulated/out");
    match std::fs::read_to_string(out.join("not-run.log")) {
        // A missing row would silently lose a line of the page.
        Ok(lacking) if !lacking.is_empty() => Err(lacking),
        _ => files::read(&out.join("rows")),
    }
}

/// Continues after failures, so that all results are brought out.
fn script(tier: &Tier, suites: &[&Inside]) -> String {
    let mut script =
        "export MEGADIR_NOT_RUN_LOG=/lab/out/not-run.log MEGADIR_PROGRAM=/usr/bin/megadir\n".to_owned();
    let Tier { limit_s, study, .. } = tier;
    for Inside { name, tests } in suites {
        let _ = writeln!(script, "echo 'suite {name} {tests}'");
        let _ =
            writeln!(script, "timeout {limit_s} /suites/{name} --test-threads=1 {tests} >{name}.log 2>&1");
        let _ = writeln!(script, "echo $? >{name}.status; grep -E '^test .*FAILED|^test result' {name}.log");
    }
    let _ = writeln!(script, "echo 'megadir bench run {study}'");
    let _ = writeln!(script, "megadir bench run {study} -o record.jsonl >study.log 2>&1");
    script.push_str("status=$?; echo $status >study.status; tail -n 5 study.log; exit $status\n");
    script
}

/// Packages are unpacked once for each machine.
fn prepare(context: &Context, kernel: &Kernel) -> Result<(Tree, Root), String> {
    let folder = context.workspace.tools().join("emulated");
    let tools = machine::tools(&folder)?;
    let root = Root::make(&folder, kernel.debian, &tools)?;
    Ok((tools, root))
}

fn run_inside(
    context: &Context,
    (kernel, processors): (&Kernel, u32),
    programs: &[suites::Suite],
    (command, limit): (&str, Duration),
) -> Result<(), String> {
    let folder = context.workspace.target.join("emulated");
    let (tools, root) = prepare(context, kernel)?;
    let [out, own] = ["out", "own"].map(|name| folder.join(name));
    for folder in [&out, &own] {
        files::recreate_folder(folder)?;
    }
    files::copy(&context.program()?, &own.join("usr/bin/megadir"))?;
    for program in programs {
        files::copy(Path::new(program.command.get_program()), &own.join("suites").join(&program.name))?;
    }
    root::write_scripts(&own, command)?;
    let memory_disk = folder.join("memory-disk");
    root.memory_disk(&own, &memory_disk)?;
    let kernel = root.kernel();
    let machine = Machine { tools: &tools, kernel, memory_disk, scratch: &folder, processors, limit };
    machine.run(&out)
}

/// Without a status the suite did not end, e.g. because the machine was stopped.
fn status(out: &Path, file: &str, label: &str) -> Option<String> {
    match std::fs::read_to_string(out.join(file)) {
        Ok(code) if code.trim() == "0" => None,
        Ok(code) => Some(format!("{label}: exit code {}", code.trim())),
        Err(_) => Some(format!("{label}: did not end")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_suite_runs_and_leaves_its_exit_code() {
        for tier in [SHORT, NAMED, FULL] {
            let [_, old, new] = KERNELS.map(|kernel| tier.suites_on(&kernel));
            assert!(old.iter().all(|suite| suite.name != GROUND.name));
            let script = script(&tier, &new);
            for Inside { name, tests } in tier.suites {
                assert!(script.contains(&format!("/suites/{name} --test-threads=1 {tests} >{name}.log")));
                assert!(script.contains(&format!(">{name}.status")));
            }
            assert!(script.contains(&format!("megadir bench run {} ", tier.study)));
        }
    }

    #[test]
    fn a_driver_is_missing_only_from_a_kernel_without_it() {
        let line = |name| format!("unavailable: positions::on_{name}: ntfs3: ENODEV");
        let [old, _, new] = KERNELS;
        assert!(!lacks_unexpectedly(&line("ntfs3"), &old) && lacks_unexpectedly(&line("ntfs3"), &new));
        assert!(lacks_unexpectedly(&line("reiserfs"), &old));
        assert!(lacks_unexpectedly("unavailable: ground::on_jfs: no driver", &new));
        assert!(!lacks_unexpectedly("not run: remove::aside: no program strace", &new));
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
