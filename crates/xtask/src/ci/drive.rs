//! Runs the selected stages.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::ci::STAGES;
use crate::files;
use crate::process::Workspace;

/// From a clean clone on two cores; the full tier has none.
const BUDGET: Duration = Duration::from_secs(25 * 60);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// List the stages and exit
    #[arg(long)]
    list: bool,
    /// Run only this stage (repeatable)
    #[arg(long, value_name = "STAGE", value_parser = stage_name)]
    only: Vec<String>,
    /// Skip this stage (repeatable)
    #[arg(long, value_name = "STAGE", value_parser = stage_name)]
    skip: Vec<String>,
    /// Continue after a failed stage
    #[arg(long)]
    keep_going: bool,
    /// Also run the tests without a time limit (sets MEGADIR_FULL=1)
    #[arg(long)]
    full: bool,
}

struct Ended {
    name: &'static str,
    elapsed: Duration,
    report: Report,
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    if args.list {
        for stage in STAGES {
            println!("{:<14}{}", stage.name, stage.about);
        }
        return Ok(());
    }
    let require_all = std::env::var_os("MEGADIR_REQUIRE_ALL").is_some_and(|value| value == "1");
    let named = !args.only.is_empty();
    let context = Context { workspace: Workspace::find()?, require_all, full: args.full, named };
    let started = Instant::now();
    let stages = STAGES.iter().filter(|stage| chosen(stage.name, &args.only, &args.skip));
    let ended = run_stages(stages, &context, args.keep_going);
    close(&ended, started.elapsed(), &context)
}

/// In order; stages aside run in a thread, one after another.
fn run_stages<'a>(
    stages: impl Iterator<Item = &'a Stage>,
    context: &Context,
    keep_going: bool,
) -> Vec<Ended> {
    let (aside, mut others): (Vec<_>, Vec<_>) =
        stages.enumerate().partition(|(_, stage)| stage.aside && !context.full);
    let first_aside = aside.first().map_or(usize::MAX, |(index, _)| *index);
    let beside = others.split_off(others.partition_point(|(index, _)| *index < first_aside));
    let lane = |stages: Vec<(usize, &'a Stage)>| {
        let mut ended = Vec::new();
        for (index, stage) in stages {
            ended.push((index, run_stage(stage, context)));
            if ended.last().is_some_and(|(_, ended)| ended.failed()) && !keep_going {
                break;
            }
        }
        ended
    };
    let mut ended = lane(others);
    if keep_going || !ended.iter().any(|(_, ended)| ended.failed()) {
        ended.extend(std::thread::scope(|scope| {
            let aside = scope.spawn(|| lane(aside));
            let mut ended = lane(beside);
            match aside.join() {
                Ok(aside) => ended.extend(aside),
                Err(panic) => std::panic::resume_unwind(panic),
            }
            ended
        }));
    }
    ended.sort_by_key(|(index, _)| *index);
    ended.into_iter().map(|(_, ended)| ended).collect()
}

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

    fn verdict(&self) -> &'static str {
        match (self.failed(), self.report.not_run.is_empty()) {
            (true, _) => "FAILED",
            (false, true) => "ok",
            (false, false) => "ok, incomplete",
        }
    }
}

fn run_stage(stage: &Stage, context: &Context) -> Ended {
    println!("\n== {}: {}", stage.name, stage.about);
    let started = Instant::now();
    let ended = (stage.run)(context);
    let ended = ended.unwrap_or_else(|message| Report { failures: vec![message], ..Report::default() });
    let report = judge(ended, context.require_all);
    if let Some(line) = report.failures.first().and_then(|message| message.lines().next()) {
        println!("FAILED {}: {line}", stage.name);
    }
    Ended { name: stage.name, elapsed: started.elapsed(), report }
}

fn judge(mut report: Report, require_all: bool) -> Report {
    if require_all && !report.not_run.is_empty() {
        report.failures.push(format!("{} not run, and MEGADIR_REQUIRE_ALL=1", report.not_run.len()));
    }
    report
}

fn close(ended: &[Ended], elapsed: Duration, context: &Context) -> Result<(), String> {
    println!("\n== summary");
    for stage in ended {
        print_report(stage);
    }
    let count = |list: fn(&Report) -> &[String]| ended.iter().map(|stage| list(&stage.report).len()).sum();
    let not_run: usize = count(|report| &report.not_run);
    let unavailable: usize = count(|report| &report.unavailable);
    for stage in ended {
        println!("{:<14}{:>8.1} s  {}", stage.name, stage.elapsed.as_secs_f64(), stage.verdict());
    }
    println!("{:<14}{:>8.1} s  {not_run} not run, {unavailable} unavailable", "total", elapsed.as_secs_f64());
    if elapsed > BUDGET && !context.full {
        println!("over the time limit of {} minutes", BUDGET.as_secs() / 60);
    }
    let failed: Vec<&str> = ended.iter().filter(|stage| stage.failed()).map(|stage| stage.name).collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

fn print_report(stage: &Ended) {
    let Report { lines, not_run, unavailable, .. } = &stage.report;
    for (word, lines) in [("", lines), ("not run: ", not_run), ("unavailable: ", unavailable)] {
        lines.iter().for_each(|line| println!("{word}{line}"));
    }
    for line in &stage.report.failures {
        println!("FAILED {}: {line}", stage.name);
    }
}

pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Runs in parallel with the stages after it, except in the full tier.
    pub(crate) aside: bool,
    pub(crate) run: Run,
}

pub(crate) type Run = fn(&Context) -> Result<Report, String>;

pub(crate) struct Context {
    pub(crate) workspace: Workspace,
    /// `MEGADIR_REQUIRE_ALL=1`.
    pub(crate) require_all: bool,
    pub(crate) full: bool,
    /// `--only`.
    pub(crate) named: bool,
}

#[derive(Default)]
pub(crate) struct Report {
    pub(crate) lines: Vec<String>,
    pub(crate) failures: Vec<String>,
    /// `NAME: why`; could run here with the right setup.
    pub(crate) not_run: Vec<String>,
    /// `NAME: why`; may be missing anywhere.
    pub(crate) unavailable: Vec<String>,
}

impl Report {
    pub(crate) fn line(text: impl Into<String>) -> Self {
        Self { lines: vec![text.into()], ..Self::default() }
    }

    pub(crate) fn unavailable(text: impl Into<String>) -> Self {
        Self { unavailable: vec![text.into()], ..Self::default() }
    }

    pub(crate) fn not_run(text: impl Into<String>) -> Self {
        Self { not_run: vec![text.into()], ..Self::default() }
    }
}

impl Context {
    pub(crate) fn cargo(&self, words: &[&str]) -> Command {
        self.workspace.cargo(words)
    }

    pub(crate) fn root(&self, name: impl AsRef<Path>) -> PathBuf {
        self.workspace.root.join(name)
    }

    pub(crate) fn scratch(&self) -> Result<PathBuf, String> {
        let folder = self.workspace.target.join("ci");
        files::create_folder(&folder)?;
        Ok(folder)
    }
}

#[cfg(test)]
mod tests {
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
    fn a_stage_aside_runs_beside_those_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let stages = [
            Stage { name: "first", about: "", aside: false, run: |_| Ok(Report::default()) },
            Stage { name: "aside", about: "", aside: true, run: |context| meet(context, "a", "b") },
            Stage { name: "last", about: "", aside: false, run: |context| meet(context, "b", "a") },
        ];
        let ended = run_stages(stages.iter(), &context(folder.path()), false);
        assert_eq!(ended.iter().map(|stage| stage.name).collect::<Vec<_>>(), ["first", "aside", "last"]);
        assert!(!ended.iter().any(Ended::failed));
    }

    #[test]
    fn after_a_failure_no_stage_starts() {
        let folder = tempfile::tempdir().unwrap();
        let stages = [
            Stage { name: "first", about: "", aside: false, run: |_| Err("broken".to_owned()) },
            Stage { name: "aside", about: "", aside: true, run: |_| Ok(Report::default()) },
            Stage { name: "last", about: "", aside: false, run: |_| Ok(Report::default()) },
        ];
        let names = |keep_going: bool| -> Vec<&str> {
            let ended = run_stages(stages.iter(), &context(folder.path()), keep_going);
            ended.iter().map(|stage| stage.name).collect()
        };
        assert_eq!(names(false), ["first"]);
        assert_eq!(names(true), ["first", "aside", "last"]);
    }

    #[test]
    fn what_is_not_run_fails_only_where_all_is_required() {
        let report = || Report::not_run("fuzz: no nightly toolchain");
        assert!(judge(report(), false).failures.is_empty());
        assert_eq!(judge(report(), true).failures.len(), 1);
        assert!(judge(Report::unavailable("f2fs: no module"), true).failures.is_empty());
    }
}
