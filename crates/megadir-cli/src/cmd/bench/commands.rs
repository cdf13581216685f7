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
/// Names in braces that every command line may have.
const PLACEHOLDERS: [&str; 4] = ["dir", "n", "out", "megadir"];

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
    /// Measure each command that has {NAME} once with each value; several give every combination
    #[arg(long = "parameter", value_name = "NAME=VALUE,...", value_parser = parameter)]
    parameters: Vec<Parameter>,
    /// Variable of the commands' environment; the record has it, unless --share is given
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    environment: Vec<(String, String)>,
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

/// `{name}` of command lines, and the values in its place.
#[derive(Clone, Debug, PartialEq)]
struct Parameter {
    placeholder: String,
    name: String,
    values: Vec<String>,
}

/// Values have no braces, so that no value can be taken for another placeholder.
fn parameter(text: &str) -> Result<Parameter, String> {
    let wrong = || "expected NAME=VALUE,VALUE,..., e.g. threads=1,2,4".to_owned();
    let (name, values) = text.split_once('=').ok_or_else(wrong)?;
    if name.is_empty() || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
    {
        return Err(wrong());
    }
    if PLACEHOLDERS.contains(&name) {
        return Err(format!("{{{name}}} has a meaning already: give the parameter another name"));
    }
    let values: Vec<String> = values.split(',').map(str::to_owned).collect();
    let is_wrong = |(at, value): (usize, &String)| {
        value.is_empty() || value.contains(['{', '}']) || values[..at].contains(value)
    };
    if values.iter().enumerate().any(is_wrong) {
        return Err("each value must be there, without braces, and once".into());
    }
    Ok(Parameter { placeholder: format!("{{{name}}}"), name: name.to_owned(), values })
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or_default();
    if name.is_empty() || text.contains('\0') {
        return Err("expected NAME=VALUE, e.g. LC_ALL=C".into());
    }
    Ok((name.to_owned(), value.to_owned()))
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
        let arms = self.arms()?;
        let lines = arms.iter().map(|arm| parse(&arm.run)).collect::<Result<Vec<_>, _>>()?;
        self.prepare.iter().try_for_each(|line| parse(line).map(drop))?;
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
            read: None,
            reads: 1,
            arms,
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
            kind: Kind::Command(CommandSpec { environment: self.environment()?, groups: vec![group] }),
        };
        Ok(study)
    }

    /// The commands in their order, each once for every combination of the parameters that it has. A name that was given
    /// gets the values behind it, since names of arms are unique.
    fn arms(&self) -> Result<Vec<CommandArm>, CliError> {
        for (at, Parameter { placeholder, name, .. }) in self.parameters.iter().enumerate() {
            if self.parameters[..at].iter().any(|other| other.name == *name) {
                return Err(CliError::usage(format!(
                    "--parameter {name} was given twice: write all values in one"
                )));
            }
            if !self.commands.iter().any(|command| command.contains(placeholder)) {
                return Err(CliError::usage(format!("--parameter {name}: no command has {placeholder}")));
            }
        }
        let names = self.names.iter().cloned().map(Some).chain(std::iter::repeat(None));
        let mut arms = Vec::new();
        for (run, name) in self.commands.iter().zip(names) {
            let mut combinations = vec![CommandArm { name, run: run.clone(), container: None, layout: None }];
            for Parameter { placeholder, name, values } in &self.parameters {
                if !run.contains(placeholder) {
                    continue;
                }
                let with = |arm: &CommandArm, value: &String| CommandArm {
                    name: arm.name.as_ref().map(|given| format!("{given}, {name}={value}")),
                    run: arm.run.replace(placeholder, value),
                    ..arm.clone()
                };
                let each = |arm: &CommandArm| values.iter().map(|value| with(arm, value)).collect::<Vec<_>>();
                combinations = combinations.iter().flat_map(each).collect();
            }
            arms.extend(combinations);
        }
        Ok(arms)
    }

    fn environment(&self) -> Result<BTreeMap<String, String>, CliError> {
        let mut environment = BTreeMap::new();
        for (name, value) in &self.environment {
            if environment.insert(name.clone(), value.clone()).is_some() {
                return Err(CliError::usage(format!("--env {name} was given twice")));
            }
        }
        Ok(environment)
    }
}
