//! `megadir bench run all`: every built-in study, one after the other, into a folder with `STUDY.jsonl` and `STUDY.html` for each, and
//! `README.md` with the answers. By its record, a complete study is kept and an unfinished one is resumed.
//!
//! The state of a study follows from its record alone, so the folder needs no file of its own with the
//! progress:
//!
//! ```text
//! no record ──► New ──── check_start fails ──► LeftOut (listed in the README with its reason)
//!                 └──── run_study ──┐
//! record without its end ──► Begun ── resume_run ──► page and answer
//! record with its end ─────► Complete ─────────────► page and answer
//! ```

use std::io::BufReader;
use std::path::{Path, PathBuf};

use megadir_bench::lab::Spec;
use megadir_bench::plan::{Estimate, estimate};
use megadir_bench::study::{Kind, Study};
use megadir_bench::{RunEnd, record_file_name};
use megadir_inventory::open_to_read;
use megadir_record::jsonl::read_partly;
use megadir_record::{DataSource, Plan, Preset};
use megadir_report::Report;

use super::describe::about;
use super::list::studies;
use super::options::{Args, Resolved, RunArgs, StudyRequest, drawn_seed, resolve};
use super::place;
use super::record_file::{open, refuse};
use super::report::{replace, text_of, write_page_as};
use super::run::{Done, check_start, code, resume_run, run_error, run_study};
use crate::cmd::interrupt::{Interrupt, interruptible};
use crate::cmd::times::now_s;
use crate::exit::{self, CliError};
use crate::ui::message::{counted, reason};
use crate::ui::output::print;
use crate::ui::sizes;

pub(super) const NAME: &str = "all";
/// First line of the README. By it a later run knows the file as its own and may replace it; any other
/// README in the folder is refused before the first measurement, not after hours of them.
const MARK: &str = "<!-- Written by megadir bench run all -->\n";

pub(super) fn run(args: &Args) -> Result<u8, CliError> {
    if let Some(option) = args.of_one_study().first() {
        return Err(CliError::usage(format!(
            "{option} suits not every study; omit it, or name one study instead of {NAME}"
        )));
    }
    interruptible(|interrupt| run_all(args, interrupt))
}

fn run_all(args: &Args, interrupt: &Interrupt) -> Result<u8, CliError> {
    let name = || PathBuf::from(record_file_name(NAME, now_s().cast_unsigned())).with_extension("");
    let folder = match (&args.run.output, args.run.dry_run) {
        (Some(folder), _) => folder.clone(),
        (None, true) => name(),
        (None, false) => {
            let place = place::folder().map_err(|error| refuse(&name(), &reason(&error)))?;
            place.join(name())
        }
    };
    // One seed for all studies of the folder, drawn here if none was given, so that one number repeats them
    // all.
    let mut args_of_run = args.run.clone();
    args_of_run.seed = Some(args.run.seed.unwrap_or_else(drawn_seed));
    let kit = Kit { folder, preset: args.preset(), run: args_of_run };
    let planned = kit.plan(interrupt)?;
    print(&described(&planned))?;
    if args.run.dry_run {
        return Ok(exit::DONE);
    }
    if planned.iter().all(|entry| matches!(entry.state, State::LeftOut(_))) {
        return Err(CliError::nothing_ran("no study can run here; the reasons stand above"));
    }
    std::fs::create_dir_all(&kit.folder).map_err(|error| refuse(&kit.folder, &reason(&error)))?;
    kit.measure(&planned, interrupt)
}

struct Kit {
    folder: PathBuf,
    preset: Preset,
    run: RunArgs,
}

struct Planned {
    study: Study,
    record: PathBuf,
    state: State,
}

enum State {
    New(Estimate),
    Begun,
    Complete,
    LeftOut(String),
}

// Planning opens every record and checks every study before the first one runs: a wrong option is refused
// at once, and the dry run prints exactly what a run would do.
impl Kit {
    fn plan(&self, interrupt: &Interrupt) -> Result<Vec<Planned>, CliError> {
        let readme = self.folder.join("README.md");
        let has_mark = text_of(&readme).is_ok_and(|text| text.starts_with(MARK));
        if readme.symlink_metadata().is_ok() && !has_mark {
            return Err(refuse(
                &readme,
                "the file is not from an earlier run; name another folder with --output",
            ));
        }
        let mut planned = Vec::new();
        // Those with commands compare programs that few machines have.
        let runs = |study: &Result<Study, _>| !matches!(study, Ok(Study { kind: Kind::Command(_), .. }));
        for study in studies().filter(runs) {
            let study = study?;
            let record = self.folder.join(format!("{}.jsonl", study.meta.name));
            let state = self.state(&study, &record, interrupt)?;
            if interrupt.is_requested() {
                return Err(CliError::interrupted("interrupted"));
            }
            planned.push(Planned { study, record, state });
        }
        Ok(planned)
    }

    /// An existing record decides alone. Without one, the study is resolved and checked as for a run; any
    /// failure but an interrupt leaves out only this study, because a folder of nine answers is worth more
    /// than none.
    fn state(&self, study: &Study, record: &Path, interrupt: &Interrupt) -> Result<State, CliError> {
        let run = self.run_args(study, record);
        if record.symlink_metadata().is_ok() {
            return self.state_of_record(study, record, &run.lab.fs);
        }
        let resolved = match resolve(self.study_request(study, &run), interrupt) {
            Ok(resolved) => resolved,
            Err(error) if error.code == exit::INTERRUPTED => return Err(error),
            Err(error) => return Ok(State::LeftOut(error.message)),
        };
        let Resolved { planned, directory, .. } = &resolved;
        if planned.plan.data.iter().any(|data| matches!(data.source, DataSource::Existing { .. })) {
            return Err(refuse(
                directory,
                "it has too many entries to work in; name another directory with --dir",
            ));
        }
        Ok(match check_start(&resolved, &run, interrupt) {
            Ok(()) => State::New(estimate(&planned.plan)),
            Err(error) => State::LeftOut(error.message),
        })
    }

    /// Records of a folder have to be comparable, so one that was made with another size or on other file
    /// systems is refused and not resumed. The seed is not compared: a resumed run takes the one of its record.
    fn state_of_record(&self, study: &Study, path: &Path, on: &[Spec]) -> Result<State, CliError> {
        let file = open_to_read(path)?;
        let (record, _) =
            read_partly(BufReader::new(file)).map_err(|error| refuse(path, &error.to_string()))?;
        let plan = &record.header.plan;
        let labels =
            |plan: &Plan| -> Vec<String> { plan.file_systems.iter().map(|of| of.label.clone()).collect() };
        let requested: Vec<String> = on.iter().map(ToString::to_string).collect();
        if plan.study != study.meta.name || plan.preset != self.preset || labels(plan) != requested {
            return Err(refuse(
                path,
                "the record is of a run with other options; repeat its command, or name another folder with --output",
            ));
        }
        let complete = record.end.as_ref().is_some_and(|end| end.complete);
        Ok(if complete { State::Complete } else { State::Begun })
    }

    /// Arguments of one study: sizes may be for a file system of their own.
    fn run_args(&self, study: &Study, record: &Path) -> RunArgs {
        let mut run = self.run.clone();
        run.output = Some(record.to_owned());
        if run.dirs.is_empty() {
            // Anonymous records do not name their directory.
            run.dirs.push(".".into());
        }
        if !run.lab.fs.is_empty()
            && let Some(own) = &study.sizes.of(self.preset).file_system
            && let Ok(own) = Spec::parse(own)
        {
            run.lab.fs = vec![own];
        }
        run
    }

    fn study_request<'a>(&self, study: &Study, run: &'a RunArgs) -> StudyRequest<'a> {
        StudyRequest {
            study: study.clone(),
            spread: None,
            request: run.request(self.preset),
            of_all: true,
            run,
        }
    }

    /// Runs new studies, continues begun ones, and writes a page for each record, also for records that
    /// were complete before: the same command after an interrupt brings the folder to its end. A study that
    /// fails does not end the others: it is listed in the README with its reason, and the exit code becomes
    /// `SOME_FAILED`. Only an interrupt returns at once. The README comes last, because it has the answers
    /// of all pages.
    fn measure(&self, planned: &[Planned], interrupt: &Interrupt) -> Result<u8, CliError> {
        let (mut result, mut reports, mut missing) = (exit::DONE, Vec::new(), Vec::new());
        for entry in planned {
            let name = entry.study.meta.name.as_str();
            if let State::LeftOut(reason) = &entry.state {
                missing.push((name, reason.clone()));
                continue;
            }
            match self.end_of(entry, interrupt) {
                Ok(None) => {}
                Ok(Some(end)) if end.interrupted => return Err(self.interrupted()),
                Ok(Some(end)) => result = result.max(code(&end)),
                Err(error) if error.code == exit::INTERRUPTED => return Err(self.interrupted()),
                Err(error) => {
                    eprintln!("megadir: {name}: {error}");
                    missing.push((name, error.message));
                    result = exit::SOME_FAILED;
                    continue;
                }
            }
            let opened = match open(&entry.record, false) {
                Ok(opened) => opened,
                Err(error) => {
                    eprintln!("megadir: {name}: {error}");
                    missing.push((name, error.message));
                    result = exit::SOME_FAILED;
                    continue;
                }
            };
            write_page_as(&entry.record, Path::new(&format!("{name}.html")), &opened.report, false)?;
            print(&format!("{name}: {}\n", opened.report.answer()))?;
            reports.push((name, opened.report));
        }
        self.write_readme(&reports, &missing)?;
        let folder = self.folder.display();
        eprintln!(
            "megadir: records, pages and a README are in '{folder}'; 'megadir bench compare' compares it with that of another machine"
        );
        Ok(result)
    }

    /// `None` without a run.
    fn end_of(&self, entry: &Planned, interrupt: &Interrupt) -> Result<Option<RunEnd>, CliError> {
        let run = self.run_args(&entry.study, &entry.record);
        let done = match entry.state {
            State::Begun => resume_run(&entry.record, &run, interrupt, None)?,
            State::New(_) => run_study(self.study_request(&entry.study, &run), interrupt, None)?,
            State::Complete | State::LeftOut(_) => return Ok(None),
        };
        match done {
            Done::Ran { result, .. } => result.map(Some).map_err(|error| run_error(error, exit::SOME_FAILED)),
            Done::Described { .. } => Ok(None),
        }
    }

    fn interrupted(&self) -> CliError {
        let folder = self.folder.display();
        CliError::interrupted(format!("the same command with --output {folder} continues"))
    }

    fn write_readme(&self, reports: &[(&str, Report)], missing: &[(&str, String)]) -> Result<(), CliError> {
        let mut text = format!("{MARK}# Studies of directories with many files\n");
        for (name, report) in reports {
            text.push_str(&format!(
                "\n## {name}\n\n{}\n\n{}\n\n[Page]({name}.html) · [record]({name}.jsonl)\n",
                report.question(),
                report.answer()
            ));
        }
        if !missing.is_empty() {
            text.push_str("\n## Not measured\n\n");
        }
        for (name, reason) in missing {
            text.push_str(&format!("* {name}: {reason}\n"));
        }
        replace(&self.folder.join("README.md"), &text)
    }
}

fn described(planned: &[Planned]) -> String {
    let width = planned.iter().map(|entry| entry.study.meta.name.len()).max().unwrap_or(0);
    let line = |entry: &Planned| {
        let state = match &entry.state {
            State::New(needs) => format!(
                "{}, {} of space, {}",
                counted(needs.files, "file", "files"),
                sizes::text(needs.space_bytes),
                about(needs.elapsed_ns)
            ),
            State::Begun => "begun, will be resumed".into(),
            State::Complete => "complete".into(),
            State::LeftOut(reason) => format!("left out: {reason}"),
        };
        format!("{:width$}  {state}\n", entry.study.meta.name)
    };
    let needs = |entry: &Planned| if let State::New(needs) = &entry.state { Some(*needs) } else { None };
    let new: Vec<Estimate> = planned.iter().filter_map(needs).collect();
    let mut text: String = planned.iter().map(line).collect();
    if let Some(space_bytes) = new.iter().map(|needs| needs.space_bytes).max() {
        text.push_str(&format!(
            "together {}, {} of space at a time\n",
            about(new.iter().map(|needs| needs.elapsed_ns).sum()),
            sizes::text(space_bytes)
        ));
    }
    text
}
