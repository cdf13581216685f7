//! Runs the selected stages: first the lane `First`, then two lanes side by side, because tests wait and
//! compilers do not.
//!
//! ```text
//! Args -> stages -> run_lane(First) -> run_lane(Tests) || run_lane(Checks) -> judge -> summary, times, long tier
//! ```

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::ci::deferred::{self, Rule};
use crate::ci::stage::{Context, Lane, Report, Stage};
use crate::ci::times::{self, Times};
use crate::ci::{STAGES, long, packages};
use crate::process::{self, Workspace};

/// From a clean clone on two idle cores; the full tier has none.
const BUDGET: Duration = Duration::from_secs(15 * 60);

/// Together with the line for the rest and the command that installs missing tools: ten lines.
const GROUPS_SHOWN: usize = 8;

// Options of `cargo xtask ci`; the help has the text of each.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// List the stages, and the parts that only the long tier runs, and exit
    #[arg(long)]
    list: bool,
    /// Show the times of earlier runs on this machine and exit
    #[arg(long)]
    times: bool,
    /// Run only this stage (repeatable)
    #[arg(long, value_name = "STAGE", value_parser = stage_name)]
    only: Vec<String>,
    /// Skip this stage (repeatable)
    #[arg(long, value_name = "STAGE", value_parser = stage_name)]
    skip: Vec<String>,
    /// Continue after a failed stage
    #[arg(long)]
    keep_going: bool,
    /// Run the long tier: every deferred part too, without a time limit; continues after a failed stage
    #[arg(long)]
    full: bool,
}

struct Ended {
    name: &'static str,
    elapsed: Duration,
    report: Report,
    /// By the table of deferred parts.
    is_deferred: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    if args.list {
        return list();
    }
    if args.times {
        println!("{}", times::show().trim_end());
        return Ok(());
    }
    let require_all = std::env::var_os("MEGADIR_REQUIRE_ALL").is_some_and(|value| value == "1");
    let named = !args.only.is_empty();
    // A stage that is chosen by name runs even if it is deferred.
    let context = Context { workspace: Workspace::find()?, require_all, full: args.full, named };
    let outcomes = long::read(&context.workspace)?;
    let stages: Vec<&Stage> =
        STAGES.iter().filter(|stage| chosen(stage.name, &args.only, &args.skip)).collect();
    if args.full {
        println!("{}", announce(&stages, &outcomes));
    }
    let started = Instant::now();
    // The short tier knows the last run of each stage of the long tier by its committed file.
    let since = |name: &str| outcomes.get(name).map(|row| row.commit.as_str());
    let is_deferred = |name: &str| deferred::is_stage_deferred(&context, name, since(name));
    let ended = run_stages(stages.into_iter(), &context, args.keep_going || args.full, &is_deferred);
    close(&ended, started.elapsed(), &context, &outcomes)
}

fn list() -> Result<(), String> {
    for stage in STAGES {
        println!("{:<14}{}", stage.name, stage.about);
    }
    println!("\nOnly in the long tier (--full):");
    for row in deferred::DEFERRED {
        let condition = match row.rule {
            Rule::Long => String::new(),
            Rule::Unchanged(words) => {
                format!(" unless a path with one of these words changed: {}", words.join(", "))
            }
            Rule::Lacking(_) => " where this system lacks what they need".to_owned(),
        };
        println!("  {}{condition}: {}", row.part, row.reason);
    }
    Ok(())
}

fn announce(stages: &[&Stage], outcomes: &long::Outcomes) -> String {
    let (expected_s, unknown) = long::expected(outcomes, stages.iter().map(|stage| stage.name));
    let hours = expected_s / 3600.0;
    let more = if unknown.is_empty() {
        String::new()
    } else {
        format!(", and the time of {}, which have none on record", unknown.join(", "))
    };
    format!("the long tier: {hours:.1} h by the last run of each stage{more}")
}

/// The lane `First`, in order; then the other two side by side. In the full tier one after another.
///
/// Tests wait for devices and processes, and checks need processors, so the two lanes together take little
/// more than the longer one. After a failure no further stage begins in either lane, but a stage that runs is
/// not stopped. The result is in the order of the table, whichever lane was faster.
fn run_stages<'a>(
    stages: impl Iterator<Item = &'a Stage>,
    context: &Context,
    keep_going: bool,
    is_deferred: &(dyn Fn(&str) -> bool + Sync),
) -> Vec<Ended> {
    let stages: Vec<(usize, &Stage)> = stages.enumerate().collect();
    let has_failed = AtomicBool::new(false);
    let run_lane = |lane: Option<Lane>| -> Vec<(usize, Ended)> {
        let mut ended = Vec::new();
        for (index, stage) in stages.iter().filter(|(_, stage)| lane.is_none_or(|lane| lane == stage.lane)) {
            if has_failed.load(Ordering::Relaxed) && !keep_going {
                break;
            }
            let stage_ended = match is_deferred(stage.name) {
                true => Ended {
                    name: stage.name,
                    elapsed: Duration::ZERO,
                    report: Report::default(),
                    is_deferred: true,
                },
                false => run_stage(stage, context),
            };
            // The flag is read before each stage of both lanes.
            has_failed.fetch_or(stage_ended.failed(), Ordering::Relaxed);
            ended.push((*index, stage_ended));
        }
        ended
    };
    if context.full {
        return run_lane(None).into_iter().map(|(_, ended)| ended).collect();
    }
    let mut ended = run_lane(Some(Lane::First));
    std::thread::scope(|scope| {
        let checks = scope.spawn(|| run_lane(Some(Lane::Checks)));
        ended.extend(run_lane(Some(Lane::Tests)));
        match checks.join() {
            Ok(checks) => ended.extend(checks),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    ended.sort_by_key(|(index, _)| *index);
    ended.into_iter().map(|(_, ended)| ended).collect()
}

/// `--skip` wins over `--only`.
fn chosen(name: &str, only: &[String], skip: &[String]) -> bool {
    let named = |list: &[String]| list.iter().any(|word| word == name);
    (only.is_empty() || named(only)) && !named(skip)
}

fn stage_name(word: &str) -> Result<String, String> {
    let names: Vec<&str> = STAGES.iter().map(|stage| stage.name).collect();
    if names.contains(&word) {
        Ok(word.to_owned())
    } else {
        Err(format!("unknown stage: use one of {}", names.join(", ")))
    }
}

impl Ended {
    fn failed(&self) -> bool {
        !self.report.failures.is_empty()
    }

    /// A stage with parts that did not run is not reported as if it were complete.
    fn verdict(&self) -> &'static str {
        match (self.failed(), self.is_deferred, self.report.not_run.is_empty()) {
            (true, ..) => "FAILED",
            (false, true, _) => "deferred",
            (false, false, true) => "ok",
            (false, false, false) => "ok, incomplete",
        }
    }

    fn outcome(&self) -> String {
        match self.report.failures.first() {
            Some(failure) => failure.lines().next().unwrap_or("failed").to_owned(),
            None => self.verdict().to_owned(),
        }
    }
}

fn run_stage(stage: &Stage, context: &Context) -> Ended {
    println!("\n== {}: {}", stage.name, stage.about);
    let started = Instant::now();
    let ended = (stage.run)(context);
    // An error of the stage is its only failure.
    let ended = ended.unwrap_or_else(|message| Report { failures: vec![message], ..Report::default() });
    let report = judge(ended, context.require_all);
    if let Some(line) = report.failures.first().and_then(|message| message.lines().next()) {
        println!("FAILED {}: {line}", stage.name);
    }
    Ended { name: stage.name, elapsed: started.elapsed(), report, is_deferred: false }
}

/// Moves parts that this system lacks to `lines` if the table of deferred parts covers them, and else to `not_run`.
fn judge(mut report: Report, require_all: bool) -> Report {
    for line in std::mem::take(&mut report.unavailable) {
        match deferred::lacking(&line) {
            Some(row) => {
                report.lines.push(format!("deferred: {line} ({})", row.reason));
                report.deferred.push(row.part);
            }
            None => report.not_run.push(line),
        }
    }
    if require_all && !report.not_run.is_empty() {
        let parts: Vec<&str> = report.not_run.iter().map(String::as_str).collect();
        // In one line: a reader who gets only the lines of failures must see the missing tools.
        let reasons = grouped(&parts).join("; ");
        report.failures.push(format!("{} not run, and MEGADIR_REQUIRE_ALL=1: {reasons}", parts.len()));
    }
    report
}

/// Prints what a reader needs first at the end: failures, parts that did not run with the command that would
/// change it, times, and one line with every deferred part. Only failures decide about the exit code.
fn close(
    ended: &[Ended],
    elapsed: Duration,
    context: &Context,
    outcomes: &long::Outcomes,
) -> Result<(), String> {
    println!("\n== summary");
    for stage in ended {
        print_report(stage, context.require_all);
    }
    let not_run: Vec<&str> =
        ended.iter().flat_map(|stage| &stage.report.not_run).map(String::as_str).collect();
    // With MEGADIR_REQUIRE_ALL each of these is a failure already.
    if !context.require_all {
        grouped(&not_run).iter().for_each(|line| println!("{line}"));
        packages::advice(context.full).iter().for_each(|line| println!("{line}"));
    }
    let not_run = not_run.len();
    let times = times_of(ended, elapsed, context);
    print_times(&times);
    for stage in ended {
        println!("{:<14}{:>8.1} s  {}", stage.name, stage.elapsed.as_secs_f64(), stage.verdict());
    }
    println!("{:<14}{:>8.1} s  {not_run} not run", "total", elapsed.as_secs_f64());
    if elapsed > BUDGET && !context.full {
        println!("over the time limit of {} minutes", BUDGET.as_secs() / 60);
    }
    if context.full {
        let ran = ended.iter().map(|stage| (stage.name.to_owned(), long_outcome(stage, &times)));
        println!("long tier: written to {}", long::write(&context.workspace, ran.collect())?.display());
    } else {
        long::lines(outcomes).iter().for_each(|line| println!("{line}"));
    }
    println!("{}", deferred_line(ended, context, outcomes));
    let failed: Vec<&str> = ended.iter().filter(|stage| stage.failed()).map(|stage| stage.name).collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// The last line of the output.
fn deferred_line(ended: &[Ended], context: &Context, outcomes: &long::Outcomes) -> String {
    // Only Wine's row depends on changes, so its commit decides.
    let since = outcomes.get("wine").map(|row| row.commit.as_str());
    let by_rule = deferred::applying(context, since).into_iter().map(|row| row.part);
    let mut parts: Vec<&str> = by_rule.collect();
    for part in ended.iter().flat_map(|stage| &stage.report.deferred) {
        if !parts.contains(part) {
            parts.push(part);
        }
    }
    match parts.as_slice() {
        [] => "deferred to the long tier: nothing".to_owned(),
        parts => format!("deferred to the long tier (cargo xtask ci --full): {}", parts.join("; ")),
    }
}

fn times_of(ended: &[Ended], elapsed: Duration, context: &Context) -> Times {
    let names: Vec<&str> = ended.iter().map(|stage| stage.name).collect();
    // Times are compared within a tier; chosen stages are a tier of their own.
    let tier = match (context.full, context.named) {
        (true, false) => "full".to_owned(),
        (false, false) => "short".to_owned(),
        (_, true) => names.join("+"),
    };
    let (commit, date) = commit_and_date(&context.workspace);
    Times {
        commit,
        date,
        tier,
        total_s: elapsed.as_secs_f64(),
        stages_s: ended
            .iter()
            // A deferred stage took no time, which must not count as its time.
            .filter(|stage| !stage.is_deferred)
            .map(|stage| (stage.name.to_owned(), stage.elapsed.as_secs_f64()))
            .collect(),
        tests_s: ended.iter().flat_map(|stage| stage.report.tests_s.iter().cloned()).collect(),
    }
}

fn print_times(times: &Times) {
    for line in times.slowest() {
        println!("{line}");
    }
    if let Some(last) = times::last(&times.tier) {
        times.grown(&last).iter().for_each(|line| println!("{line}"));
    }
    match times::keep(times) {
        Ok(path) => println!("times: added to {} (cargo xtask ci --times)", path.display()),
        Err(message) => println!("times: {message}"),
    }
}

fn long_outcome(stage: &Ended, times: &Times) -> long::Outcome {
    long::Outcome {
        commit: times.commit.clone(),
        date: times.date.clone(),
        outcome: stage.outcome(),
        elapsed_s: stage.elapsed.as_secs_f64(),
    }
}

/// Commit of the checkout, and today's date; empty where git or date are missing.
fn commit_and_date(workspace: &Workspace) -> (String, String) {
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "rev-parse", "HEAD"]).current_dir(&workspace.root);
    let text = |command: &mut Command| process::output(command).unwrap_or_default().trim().to_owned();
    (text(&mut git), text(Command::new("date").args(["-u", "+%Y-%m-%d"])))
}

fn print_report(stage: &Ended, require_all: bool) {
    let Report { lines, not_run, .. } = &stage.report;
    lines.iter().for_each(|line| println!("{line}"));
    if require_all {
        not_run.iter().for_each(|line| println!("not run: {line}"));
    }
    for line in &stage.report.failures {
        println!("FAILED {}: {line}", stage.name);
    }
}

/// Parts that did not run, a line for each reason with the number of its parts, most first: hundreds of tests lack the same few things.
fn grouped(not_run: &[&str]) -> Vec<String> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in not_run {
        let (part, reason) = line.split_once(": ").unwrap_or((line, ""));
        groups.entry(reason).or_default().push(part);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, parts)| std::cmp::Reverse(parts.len()));
    let row = |(reason, parts): &(&str, Vec<&str>)| match parts.as_slice() {
        [part] => format!("not run: {part}: {reason}"),
        parts => format!("not run: {} parts, such as {}: {reason}", parts.len(), parts[0]),
    };
    let mut lines: Vec<String> = groups.iter().take(GROUPS_SHOWN).map(row).collect();
    let rest: usize = groups.iter().skip(GROUPS_SHOWN).map(|(_, parts)| parts.len()).sum();
    if rest > 0 {
        lines.push(format!("not run: {rest} more parts, for {} other reasons", groups.len() - GROUPS_SHOWN));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn stages_are_named_once_and_described() {
        for (index, stage) in STAGES.iter().enumerate() {
            assert!(STAGES[..index].iter().all(|other| other.name != stage.name), "{} twice", stage.name);
            assert!(!stage.about.is_empty());
        }
    }

    #[test]
    fn only_and_skip_choose() {
        let (tidy, none) = (vec!["tidy".to_owned()], Vec::new());
        assert!(chosen("tidy", &none, &none));
        assert!(chosen("tidy", &tidy, &none));
        assert!(!chosen("docs", &tidy, &none));
        assert!(!chosen("tidy", &none, &tidy));
        assert!(stage_name("tidy").is_ok());
        assert!(stage_name("typo").is_err_and(|message| message.contains("tidy")));
    }

    fn meet(context: &Context, own: &str, other: &str) -> Result<Report, String> {
        std::fs::write(context.root(own), "").unwrap();
        let started = Instant::now();
        while !context.root(other).exists() {
            if started.elapsed() > Duration::from_secs(60) {
                return Err(format!("{own} did not meet {other}"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Report::line(own))
    }

    fn context(folder: &Path) -> Context {
        let workspace = Workspace {
            root: folder.to_owned(),
            target: folder.to_owned(),
            metadata: serde_json::Value::Null,
        };
        Context { workspace, require_all: false, full: false, named: false }
    }

    /// Each of two stages waits for a file that the other creates.
    #[test]
    fn two_lanes_run_side_by_side() {
        let folder = tempfile::tempdir().unwrap();
        let stages = [
            Stage { name: "first", about: "", lane: Lane::First, run: |_| Ok(Report::default()) },
            Stage { name: "aside", about: "", lane: Lane::Checks, run: |context| meet(context, "a", "b") },
            Stage { name: "last", about: "", lane: Lane::Tests, run: |context| meet(context, "b", "a") },
        ];
        let ended = run_stages(stages.iter(), &context(folder.path()), false, &|_| false);
        assert_eq!(ended.iter().map(|stage| stage.name).collect::<Vec<_>>(), ["first", "aside", "last"]);
        assert!(!ended.iter().any(Ended::failed));
    }

    #[test]
    fn after_a_failure_no_stage_starts() {
        let folder = tempfile::tempdir().unwrap();
        let stages = [
            Stage { name: "first", about: "", lane: Lane::First, run: |_| Err("broken".to_owned()) },
            Stage { name: "aside", about: "", lane: Lane::Checks, run: |_| Ok(Report::default()) },
            Stage { name: "last", about: "", lane: Lane::Tests, run: |_| Ok(Report::default()) },
        ];
        let names = |keep_going: bool| -> Vec<&str> {
            let ended = run_stages(stages.iter(), &context(folder.path()), keep_going, &|_| false);
            ended.iter().map(|stage| stage.name).collect()
        };
        assert_eq!(names(false), ["first"]);
        assert_eq!(names(true), ["first", "aside", "last"]);
    }

    #[test]
    fn a_deferred_stage_does_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let stage = Stage { name: "wine", about: "", lane: Lane::Checks, run: |_| Err("it ran".to_owned()) };
        let ended = run_stages([stage].iter(), &context(folder.path()), false, &|name| name == "wine");
        assert_eq!((ended.len(), ended[0].verdict()), (1, "deferred"));
    }

    #[test]
    fn parts_that_did_not_run_are_grouped_by_their_reason() {
        assert_eq!(
            grouped(&["a: not root", "b: no strace", "c: not root"]),
            ["not run: 2 parts, such as a: not root", "not run: b: no strace"]
        );
        let many: Vec<String> = (0..20).map(|n| format!("test: no tool {n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(grouped(&many).len(), GROUPS_SHOWN + 1);
        assert!(grouped(&many).last().unwrap().contains("12 more parts"));
    }

    #[test]
    fn a_part_that_did_not_run_fails_where_all_is_required() {
        let report = || Report::not_run("fuzz: no C++ compiler");
        assert!(judge(report(), false).failures.is_empty());
        assert_eq!(
            judge(report(), true).failures,
            ["1 not run, and MEGADIR_REQUIRE_ALL=1: not run: fuzz: no C++ compiler"]
        );
        let lacks = |line: &str| Report { unavailable: vec![line.to_owned()], ..Report::default() };
        let judged = judge(lacks("positions::on_f2fs: no driver"), true);
        assert!(judged.failures.is_empty());
        let folder = tempfile::tempdir().unwrap();
        let stage = Ended { name: "test", elapsed: Duration::ZERO, report: judged, is_deferred: false };
        let line = deferred_line(&[stage], &context(folder.path()), &long::Outcomes::default());
        assert!(line.ends_with("; positions on file systems without a driver here"), "{line}");
        assert_eq!(judge(lacks("usage::on_f2fs: no driver"), true).failures.len(), 1);
    }
}
