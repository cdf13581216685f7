//! `megadir advise`: recommends a layout for very many files on this machine.

mod json;
mod text;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValue;
use megadir::Dir;
use megadir::layout::Layout;
use megadir::limits::{Assumptions, NameLengths};
use megadir_advise::code::{Language, NoCode, snippet, transition};
use megadir_advise::measure::{Request, Run, Stopped, TIME_MIN, measure};
use megadir_advise::{Advice, Candidate, Look, Pattern, Question, advise, candidates, look};
use megadir_bench::{Event, Listener, RunError};
use megadir_record::Line;
use megadir_report::page::{Conclusion, with_conclusion};

use crate::cmd::bench::{self, drawn_seed, program};
use crate::cmd::interrupt::{Interrupt, interruptible};
use crate::cmd::progress::Progress;
use crate::cmd::values;
use crate::exit::{self, CliError};
use crate::ui::message::quoted;
use crate::ui::new_file::NewPage;
use crate::ui::output::{Output, print};

const WRITERS_MAX: u32 = 256;
const TIME_MAX_S: u64 = 3600;

/// Recommend one directory for many files, or directories named by hash
///
/// A table of rules (docs/advice.md) decides from the capacity of one directory and from a short measurement of the candidate layouts, in a
/// new directory below DIR that is removed afterwards. Prints how to compute a file's path, the reasons, the number of files from which the
/// answer changes, and undecided comparisons. Without write permission or free space, the answer uses the limits alone.
#[derive(clap::Args)]
#[command(after_help = "\
Exit codes: 0 done; 1 done, but no report, because nothing was measured; 2 usage; 3 the directory could not be checked; 130 interrupted.")]
pub(crate) struct Args {
    /// Directory for the files
    #[arg(value_name = "DIR", default_value = ".", value_parser = exit::directory_parser())]
    directory: PathBuf,

    /// Total number of files, e.g. 10M [default: the present number, with the distance to the next limit]
    #[arg(long, alias = "entries", value_name = "N", value_parser = files, help_heading = "Files")]
    files: Option<u64>,
    /// Lengths of the names, bytes: 32, 8-64, 8,32,255 (in equal shares) or 8:60,32:40
    ///
    /// Default: the lengths of the names present; 32 if there are fewer than 20 files.
    #[arg(long, value_name = "LENGTHS", conflicts_with = "like", help_heading = "Files")]
    name_length: Option<NameLengths>,
    /// Assume names and sizes like those in this directory
    #[arg(long, value_name = "DIR", value_parser = exit::directory_parser(), help_heading = "Files")]
    like: Option<PathBuf>,
    /// Size of each file, e.g. 0, 10 or 50kB [default: sampled]
    #[arg(long, alias = "sizes", value_name = "SIZE", value_parser = values::bytes, help_heading = "Files")]
    size: Option<u64>,

    /// Number of threads or processes that create files concurrently [default: 1]
    #[arg(long, value_name = "N", value_parser = writers)]
    #[arg(help_heading = "Use")]
    writers: Option<u32>,
    /// Assume that names come and go, as in a cache or a mail queue, instead of staying
    #[arg(long, help_heading = "Use")]
    churn: bool,
    /// Disk below the files: rotating, if the number of seeks is to decide, and not a measurement of cached files
    ///
    /// Disks are not recognized: what the kernel reports as rotating is often virtual, or an SSD behind a controller.
    // Its id is not `disk`, because completions know the values of `bench run --disk` by that.
    #[arg(long = "disk", value_name = "KIND", value_enum, help_heading = "Use")]
    disk_kind: Option<DiskKind>,
    /// Main operation of the program
    #[arg(long, value_name = "PATTERN", default_value = "mixed", value_parser = pattern())]
    #[arg(help_heading = "Use")]
    pattern: Pattern,

    /// Time budget, 2s to 1h; 0s uses the limits alone and writes nothing
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    time: Duration,
    /// Print only a function that computes paths: python, rust, go or shell
    #[arg(long, value_name = "LANG", value_parser = language(), conflicts_with = "json")]
    code: Option<Language>,
    /// Print the function for LAYOUT, e.g. digest:2, without measuring
    #[arg(long, value_name = "LAYOUT", requires = "code")]
    #[arg(conflicts_with_all = ["directory", "files", "name_length", "like", "size", "writers", "churn", "disk_kind", "pattern", "time", "json", "report"])]
    layout: Option<Layout>,
    /// With --code, also print functions that open and create files while they are moved from layout OLD
    ///
    /// See megadir reshard. The function for reading tries the new path, the old one and the new one again.
    #[arg(long, value_name = "OLD", requires = "code", conflicts_with = "json")]
    transition: Option<Layout>,
    /// Print a JSON object
    ///
    /// Fields: v (format version, 1), dir, layout, rule, reason, one_directory, changes, shortage, measured, undecided.
    #[arg(long)]
    json: bool,
    /// Write an HTML page with charts of the measurement to this new file [default: advice.html]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "advice.html")]
    report: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum DiskKind {
    Rotating,
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    if let (Some(layout), Some(language)) = (&args.layout, args.code) {
        return print(&code(args, layout, language)?);
    }
    check(args)?;
    let page = args.report.as_deref().map(|path| NewPage::prepare("report", "measured", path)).transpose()?;
    let answer = interruptible(|interrupt| answer_of(args, interrupt))?;
    let mut output = Output::new()?;
    if let Some(language) = args.code {
        output.text = code(args, &answer.advice.layout.layout, language)?.into_bytes();
    } else if args.json {
        json::object(&mut output.text, &answer);
    } else {
        let is_terminal = output.is_terminal();
        text::report(&mut output.text, &answer, is_terminal);
    }
    let printed = output.flush();
    let written = page.map_or(Ok(exit::DONE), |page| write(page, &answer));
    if let Some(error) = &answer.left {
        eprintln!("megadir: {error}");
    }
    match printed {
        Ok(()) if answer.left.is_some() => Ok(exit::SOME_FAILED),
        Ok(()) => written,
        Err(ended) => ended.code(),
    }
}

fn write(page: NewPage, answer: &Answer) -> Result<u8, CliError> {
    let run = match &answer.run {
        Ok(run) => run,
        Err(why) => {
            eprintln!("megadir: no report written, because nothing was measured: {why}");
            return Ok(exit::SOME_FAILED);
        }
    };
    let row =
        |(label, value): (&str, String)| if label.is_empty() { value } else { format!("{label}: {value}") };
    let because = text::rows(answer).into_iter().map(row);
    let because = text::below_headline(answer).into_iter().chain(because).collect();
    let conclusion = Conclusion { sentence: text::first_line(answer), because };
    page.write(&with_conclusion(&run.report, Some(&conclusion)))?;
    Ok(exit::DONE)
}

fn code(args: &Args, layout: &Layout, language: Language) -> Result<String, CliError> {
    let function = match &args.transition {
        Some(old) if old == layout => {
            return Err(CliError::usage(format!(
                "--transition {old}: that is the new layout too, so there is nothing to do; leave out --transition for its function"
            )));
        }
        Some(old) => transition(old, layout, language),
        None => snippet(layout, language),
    };
    function.map_err(|error| match error {
        NoCode::Growing | NoCode::Ambiguous(_) => CliError::usage(error),
        _ => CliError::nothing_ran(error),
    })
}

/// Everything that text and JSON print. A measurement that did not take place is no error: `run` has the
/// reason, and the limits alone decide. `of_directory` is `true` if the number of files is that of the
/// directory, because none was given.
struct Answer {
    look: Look,
    advice: Advice,
    of_directory: bool,
    run: Result<Run, String>,
    /// Files of the measurement that could not be removed.
    left: Option<RunError>,
}

/// The measurement comes before the advice, and an interruption ends the command without one, since half an
/// answer looks like a whole one. Files that could not be removed do not suppress the answer; they are
/// reported with it, and change the exit code.
fn answer_of(args: &Args, interrupt: &Interrupt) -> Result<Answer, CliError> {
    let _mentioned = Progress::without_number(false);
    let directory = Dir::open(&args.directory)?;
    let like = args.like.as_ref().map(Dir::open).transpose()?;
    let assumptions = Assumptions {
        names: args.name_length.as_ref(),
        like: like.as_ref(),
        contents_bytes: args.size,
        directories: false,
        churn: args.churn,
        count: false,
        stated: None,
    };
    let look = look(&directory, &assumptions)?;
    let question = Question {
        files: args.files.map_or_else(|| entries_now(args, &look), Ok)?,
        writers: args.writers.unwrap_or(1),
        churn: args.churn,
        rotating: args.disk_kind == Some(DiskKind::Rotating),
        pattern: args.pattern,
    };
    let ground = megadir_advise::NewDir::of(&look.limits, question.churn);
    let all = candidates(&question, &ground, &look.names);
    let (run, left) = match measured(args, &question, &look, &all, interrupt) {
        Ok(run) => (Ok(run), None),
        Err(Stopped::Not(why)) => (Err(why), None),
        Err(Stopped::Failed(error)) => (Err("its files could not be removed".to_owned()), Some(error)),
        Err(Stopped::Interrupted) => {
            return Err(CliError::interrupted("interrupted; the test files have been removed"));
        }
    };
    let measured = run.as_ref().ok().map(|run| &run.measured);
    let advice = advise(&question, &look.limits, &all, measured, !look.names.is_empty());
    Ok(Answer { look, advice, of_directory: args.files.is_none(), run, left })
}

fn entries_now(args: &Args, look: &Look) -> Result<u64, CliError> {
    let place = quoted(&args.directory);
    match look.limits.facts.listed_entries() {
        Some(entries) if entries.value.likely > 0 => Ok(entries.value.likely),
        Some(_) => {
            Err(CliError::usage(format!("{place} is empty: give the number of files, e.g. --files 10M")))
        }
        None => Err(CliError::usage(format!(
            "the number of entries in {place} cannot be estimated cheaply; give the number of files with --files"
        ))),
    }
}

fn check(args: &Args) -> Result<(), CliError> {
    let several = args.writers.filter(|writers| *writers > 1);
    if let Some(writers) = several.filter(|_| !args.pattern.writes()) {
        let pattern = args.pattern.name();
        return Err(CliError::usage(format!(
            "--writers {writers} and --pattern {pattern} contradict each other: leave one out, or use --pattern mixed"
        )));
    }
    match &args.report {
        Some(_) if args.time.is_zero() => Err(CliError::usage(
            "--report needs a measurement, and --time 0s measures nothing: leave one out",
        )),
        Some(path) if path.symlink_metadata().is_ok() => Err(CliError::usage(format!(
            "--report: {} already exists; name a new file, e.g. --report=FILE",
            quoted(path)
        ))),
        _ => Ok(()),
    }
}

fn files(text: &str) -> Result<u64, String> {
    match values::count(text)? {
        0 => Err("expected at least 1 file".into()),
        files => Ok(files),
    }
}

fn writers(text: &str) -> Result<u32, String> {
    let writers = text.parse().ok().filter(|writers| (1..=WRITERS_MAX).contains(writers));
    writers.ok_or_else(|| format!("expected 1 to {WRITERS_MAX} writers"))
}

fn time(text: &str) -> Result<Duration, String> {
    let times = TIME_MIN.as_secs()..=TIME_MAX_S;
    match values::age_s(text) {
        Ok(seconds) if seconds == 0 || times.contains(&seconds) => Ok(Duration::from_secs(seconds)),
        _ => Err("write 2s to 1h, e.g. 30s or 5m; 0s measures nothing".into()),
    }
}

const PATTERNS: [(Pattern, &str); 4] = [
    (Pattern::Read, "Read files by known names"),
    (Pattern::Write, "Create files"),
    (Pattern::Walk, "Read all files, as backups do"),
    (Pattern::Mixed, "Create and read files"),
];

fn pattern() -> impl clap::builder::TypedValueParser<Value = Pattern> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let values = PATTERNS.iter().map(|(pattern, help)| PossibleValue::new(pattern.name()).help(*help));
    PossibleValuesParser::new(values).map(|word| {
        let found = PATTERNS.iter().find(|(pattern, _)| pattern.name() == word);
        found.map_or(Pattern::Mixed, |(pattern, _)| *pattern)
    })
}

fn language() -> impl clap::builder::TypedValueParser<Value = Language> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let words = Language::ALL.iter().map(|language| language.word());
    PossibleValuesParser::new(words).try_map(|word| {
        let known = Language::ALL.iter().find(|language| language.word() == word);
        known.copied().ok_or("unknown language")
    })
}

fn measured(
    args: &Args,
    question: &Question,
    look: &Look,
    candidates: &[Candidate],
    interrupt: &Interrupt,
) -> Result<Run, Stopped> {
    if args.time.is_zero() {
        return Err(Stopped::Not("--time 0s".into()));
    }
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let request = Request {
        directory: &args.directory,
        question,
        limits: &look.limits,
        candidates,
        time: args.time,
        seed: drawn_seed(),
        command: arguments.collect(),
        program: program(),
        stop: &interrupt.stop,
        beat: &interrupt.beat,
    };
    measure(&request, &mut Shown("trial: ", None), &mut Shown("", None))
}

/// Progress on terminals, without the notes of a run: the answer has the relevant ones.
struct Shown(&'static str, Option<bench::Progress>);

impl Listener for Shown {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        if let Event::Recorded(Line::Header(header)) = event {
            self.1 = None;
            self.1 = Some(bench::Progress::new(&header.plan, true).labelled(self.0));
        }
        match (&mut self.1, event) {
            (Some(progress), event) if !matches!(event, Event::Recorded(Line::Note(_))) => {
                progress.event(event)
            }
            _ => Ok(()),
        }
    }
}
