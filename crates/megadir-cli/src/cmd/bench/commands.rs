//! `megadir bench commands`: measures command lines, without a study file.

use std::collections::BTreeMap;

use megadir_bench::dataset::parse_spread;
use megadir_bench::study::{
    CommandArm, CommandGroup, CommandLine, CommandSpec, Kind, Meta, RulesSpec, SizeSpec, Sizes, Study,
};
use megadir_record::{Made, NameScheme, OutputTo, Preset, SameWork, Spread};
use megadir_report::between::Gate;

use super::compare::{self, Slower, parse_condition};
use super::options::{RunArgs, StudyRequest};
use super::report;
use super::run::run_requested;
use super::work::word;
use crate::exit::{self, CliError, refuse_if};

const ENTRIES: u64 = 100_000;
const ROUNDS: u32 = 30;

/// Measure command lines, e.g. 'ls -U {dir}' 'find {dir}'
///
/// Creates files below the current directory, runs each command in random order in every round, and compares the commands with the first.
/// In a command, {dir} is the directory of the files, {out} a path for its output that does not exist yet, {megadir} this program, and n in
/// braces the number of files. Unless --same is given, all commands must print the same lines, in any order; prefixes such as {dir} before
/// a name do not count. Without --shell no shell is involved. Linux only.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Command lines; the first is the baseline
    #[arg(required = true, value_name = "COMMAND")]
    commands: Vec<String>,
    /// Name of a command in tables, once for each in order [default: the command without {dir}]
    #[arg(short = 'N', long = "name", value_name = "NAME")]
    names: Vec<String>,
    /// Criterion of equal work: lines, count, exit-code, left, unequal [default: lines; with --changes, left]
    ///
    /// lines: the same lines in any order. count: the number of lines. exit-code: only the exit code. left: the remaining
    /// files. unequal: intentionally unequal work; the report notes it.
    #[arg(long, value_name = "WHAT", value_parser = word::<SameWork>)]
    same: Option<SameWork>,
    /// Destination of the output: pipe (read to its end), null, file [default: pipe]
    #[arg(long, value_name = "WHERE", value_parser = word::<OutputTo>)]
    to: Option<OutputTo>,
    /// Run the commands with /bin/sh; its start time is reported
    #[arg(long)]
    shell: bool,
    /// The commands change or remove the files, which are created again before each run
    #[arg(long)]
    changes: bool,
    /// Command to run before each run, not timed
    #[arg(long, value_name = "COMMAND")]
    prepare: Option<String>,
    /// Exit code of success
    #[arg(long, value_name = "CODE", default_value_t = 0)]
    exit_code: i32,
    /// Time limit of one run; a command that exceeds it is omitted from then on
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = megadir::quantity::age_s)]
    timeout: u64,
    /// Layout of the files: flat, per-directory:200, prefix:2/2, git, ... [default: flat]
    #[arg(long, value_name = "LAYOUT", value_parser = parse_spread)]
    layout: Option<Spread>,
    /// Also write the report in these formats, next to the record: markdown, json, csv, html, svg, ...
    #[arg(long, value_name = "FORMAT,...", value_delimiter = ',', value_parser = report::formats())]
    export: Vec<String>,
    /// Exit with code 10 if a command is slower than the first, with 11 if that cannot be judged
    ///
    /// A command is slower if its interval lies beyond the equivalence band or, with slower:3%, beyond 3 %.
    #[arg(long, value_name = "slower[:N%]", value_parser = parse_condition)]
    fail_if: Option<Slower>,
    /// Let --fail-if judge a run that has warnings
    #[arg(long, requires = "fail_if")]
    despite_warnings: bool,
    #[command(flatten)]
    run: RunArgs,
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    for format in &args.export {
        report::check_export(format)?;
    }
    let (spread, request) = (args.layout.clone(), args.run.request(Preset::Default));
    let requested = StudyRequest { study: args.study()?, spread, request, of_all: false, run: &args.run };
    let (code, measured) = run_requested(requested)?;
    let Some((path, measured)) = measured else { return Ok(code) };
    for format in &args.export {
        let written = report::export(&path, &measured, format)?;
        eprintln!("megadir: wrote the report '{}'", written.display());
    }
    match args.fail_if.filter(|_| code != exit::INTERRUPTED) {
        None => Ok(code),
        Some(Slower(by)) => {
            let gate = Gate::of_run(&measured, by, args.despite_warnings);
            eprintln!("megadir: {}", gate.sentence());
            Ok(compare::code(&gate))
        }
    }
}

impl Args {
    /// Makes a study of the command lines, so that they are measured, recorded and reported by the same code as any
    /// other study. All three sizes are the same. Files are made only if a line names their directory or their
    /// number; without these, one entry is enough. Rules and names here are part of the record's plan, with which a
    /// resumed run continues. Names belong to the commands in their order, so more names than commands are refused.
    fn study(&self) -> Result<Study, CliError> {
        if self.names.len() > self.commands.len() {
            let (names, commands) = (self.names.len(), self.commands.len());
            return Err(CliError::usage(format!("-N was given {names} times for {commands} commands")));
        }
        refuse_if(&[(self.timeout == 0, "--timeout 0s: no command could finish in time")])?;
        let parse = |line: &String| CommandLine::parse(line, self.shell).map_err(CliError::usage);
        let lines = self.commands.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        self.prepare.iter().try_for_each(|line| parse(line).map(drop))?;
        let names = self.names.iter().cloned().map(Some).chain(std::iter::repeat(None));
        let arm = |(run, name): (&String, Option<String>)| CommandArm { name, run: run.clone() };
        let group = CommandGroup {
            name: "commands".into(),
            title: "Which command is fastest?".into(),
            answers: true,
            same: self.same,
            output: self.to.unwrap_or(OutputTo::Pipe),
            shell: self.shell,
            changes: self.changes,
            prepare: self.prepare.clone(),
            exit_code: self.exit_code,
            timeout_s: self.timeout,
            spread: None,
            arms: self.commands.iter().zip(names).map(arm).collect(),
        };
        let uses = ["{dir}", "{n}"].iter().any(|name| lines.iter().any(|line| line.names(name)));
        let size = SizeSpec {
            entries: if uses { ENTRIES } else { 1 },
            smaller: Vec::new(),
            rounds: ROUNDS,
            cache: Vec::new(),
            file_system: None,
        };
        let study = Study {
            meta: Meta {
                name: "commands".into(),
                question: "Which command is fastest?".into(),
                source: "Command lines of a user".into(),
                reproduces: Vec::new(),
                fixes: Vec::new(),
                published: Vec::new(),
                claims: None,
            },
            sizes: Sizes { quick: size.clone(), default: size.clone(), published: size },
            rules: RulesSpec {
                warm_up_rounds_min: if self.changes { 1 } else { 3 },
                warm_up_s_max: 10,
                equivalence_band: 0.03,
                confidence: 0.95,
                stolen_fraction_max: 0.02,
                redone_fraction_max: 0.2,
            },
            data: Made::flat(NameScheme::Md5, 0),
            kind: Kind::Command(CommandSpec { environment: BTreeMap::new(), groups: vec![group] }),
        };
        Ok(study)
    }
}
