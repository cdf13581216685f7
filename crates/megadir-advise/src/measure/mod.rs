//! Short measurement: layouts against one directory, interleaved, on the target file system, within a time budget. One or two trials give
//! the number of files and rounds. A clock ends the run early enough to remove its files; a killed run's are removed by the next.
//!
//! The measurement is the study of layouts, planned in code and run by the engine. A round of few files and one of more
//! measure the cost per file here, which determines the files and rounds that the time allows.
//!
//! ```text
//!  Request -> Design -> trial -> trial -> Sizing -> run -> record in memory -> Report -> Measured
//!               |         \_ Cost _/        |                                     (numbers for the rule)
//!               +-- narrowed layouts        +-- too little time or space: Stopped::Not, with the reason
//! ```
//!
//! Everything runs below the user's directory, in the engine's workspace, since only the target file system
//! can answer. Nothing is measured twice with different code: `bench run layout` would give the same arms.

mod clock;
mod design;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clock::{Clock, Pace};
use design::{Cost, Design, Sizing, TooSmall};
use megadir::limits::Limits;
use megadir_bench::{Listener, Program, Recorder, RunError, RunRequest};
use megadir_record::Note;
use megadir_record::jsonl::read_partly;
use megadir_report::Report;
use megadir_report::summary::{Difference, GroupReading, Outcome, PairRow, Summary};

use crate::candidate::{Candidate, Question};
use crate::measured::{Contrast, DECIDING_FILES_MIN, Measured, Phase};

/// Smallest budget. The reserve of the clock and the trials alone take a good part of a shorter one.
pub const TIME_MIN: Duration = Duration::from_secs(2);

/// `time` is the budget of everything, trials and removal included. `stop` is set by the caller to interrupt,
/// and `beat` is advanced by the engine, so that the caller can see that it works. `command` is recorded
/// only.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub directory: &'a Path,
    pub question: &'a Question,
    pub limits: &'a Limits,
    pub candidates: &'a [Candidate],
    pub time: Duration,
    pub seed: u64,
    pub command: Vec<String>,
    pub program: Program,
    pub stop: &'a AtomicBool,
    pub beat: &'a AtomicU64,
}

/// `report` is complete, for the page of `--report`; `measured` is the extract for the rule; `remarks`
/// state where the measurement differs from the question.
#[derive(Debug)]
pub struct Run {
    pub report: Report,
    pub measured: Measured,
    pub remarks: Vec<String>,
}

/// Ends without a result. Only `Failed` leaves something behind, so only it is an error of the command;
/// after `Not` the limits alone decide.
#[derive(Debug)]
pub enum Stopped {
    /// Nothing was measured; why.
    Not(String),
    Interrupted,
    /// A run could not remove its files.
    Failed(RunError),
}

impl From<String> for Stopped {
    fn from(why: String) -> Self {
        Self::Not(why)
    }
}

/// `trials` listens to the short runs before the measurement.
pub fn measure(
    request: &Request<'_>,
    trials: &mut dyn Listener,
    listener: &mut dyn Listener,
) -> Result<Run, Stopped> {
    let begun = Instant::now();
    if request.time < TIME_MIN {
        return Err(format!("{:.0} s is too short for a measurement", request.time.as_secs_f64()).into());
    }
    let design = Design::of(request);
    let sizing = sized(request, &design, begun, trials)?;
    let (bytes, pace) = carry_out(request, &design, sizing, begun, listener)?;
    judge(request, &design, &bytes, &pace)
}

/// One trial gives the cost of a round, and a second one of another size separates the cost of a round from
/// the cost of a file. If the second one does not fit into the time, the first must do. What the trials took
/// is subtracted from the budget. If too little is left, the reason is the machine's load, where the trial's
/// notes show one.
fn sized(
    request: &Request<'_>,
    design: &Design,
    begun: Instant,
    listener: &mut dyn Listener,
) -> Result<Sizing, Stopped> {
    let first = Sizing::of_trial(request, design)?;
    let (trial, pace) = carry_out(request, design, first, begun, listener)?;
    let mut cost = Cost::of_one(first, &pace);
    let mut preparing_s = pace.preparing_s;
    if let Some(second) = first.of_second_trial(request, design, &cost) {
        match carry_out(request, design, second, begun, listener) {
            Ok((_, second_pace)) if second_pace.rounds > 0 => {
                cost = Cost::of_two((first, &pace), (second, &second_pace));
                preparing_s = second_pace.preparing_s;
            }
            Ok(_) | Err(Stopped::Not(_)) => {}
            Err(stopped) => return Err(stopped),
        }
    }
    let spent = begun.elapsed() + Duration::from_secs_f64(preparing_s);
    match Sizing::of_cost(request, design, &cost, request.time.saturating_sub(spent)) {
        Ok(sizing) => Ok(sizing),
        Err(TooSmall::Room(why)) => Err(Stopped::Not(why)),
        Err(TooSmall::Time(why)) => {
            let trial = megadir_record::jsonl::read(&trial[..]);
            Err(Stopped::Not(match trial.as_ref().ok().and_then(|trial| overload(&trial.notes)) {
                Some(figure) => format!("{why}, or a quieter machine ({figure})"),
                None => why,
            }))
        }
    }
}

/// First note of a run about other work on the machine, without its last full stop.
///
/// The kinds are ordered by how directly they explain a slow trial; the report's other notes would not.
pub fn overload(notes: &[Note]) -> Option<&str> {
    const KINDS: [&str; 3] = ["load", "pressure", "stolen-time"];
    let first = notes.iter().find(|note| KINDS.contains(&note.kind.as_str()));
    first.map(|note| note.text.trim_end_matches('.'))
}

/// One run of the engine, into memory: a trial's record is not kept. Interruptions by the user and by the
/// clock look alike to the engine, so the user's flag decides which it was. Files that could not be removed
/// are the only failure that the caller must not pass over.
fn carry_out(
    request: &Request<'_>,
    design: &Design,
    sizing: Sizing,
    begun: Instant,
    listener: &mut dyn Listener,
) -> Result<(Vec<u8>, Pace), Stopped> {
    let planned = design.plan(request, sizing)?;
    let mut record: Vec<u8> = Vec::new();
    let mut recorder = Recorder::new(&mut record);
    let clock = Clock::new(begun, request.time);
    let mut watch = clock.listener();
    let ended = clock.watched(request.stop, |stop| {
        megadir_bench::run(
            RunRequest {
                plan: planned.plan,
                notes: planned.notes,
                directory: request.directory.to_owned(),
                command: request.command.clone(),
                resume: None,
                program: request.program.clone(),
                stop,
                heartbeat: request.beat,
                erase_device: false,
                worker: None,
                ranks: None,
            },
            &mut [&mut recorder, &mut watch, listener],
        )
    });
    drop(recorder);
    let interrupted = request.stop.load(Ordering::Relaxed);
    match ended {
        Ok(_) | Err(RunError::Interrupted) if interrupted => Err(Stopped::Interrupted),
        Ok(_) => Ok((record, watch.pace())),
        Err(RunError::Interrupted) => {
            Err(Stopped::Not("the time was over before the first round was complete".into()))
        }
        Err(RunError::Directory { source, .. }) => Err(Stopped::Not(cannot_write(&source))),
        Err(error @ (RunError::Clean { .. } | RunError::Uncleaned { .. })) => Err(Stopped::Failed(error)),
        Err(error) => Err(Stopped::Not(error.to_string())),
    }
}

fn cannot_write(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "no permission to write to the directory".into(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is mounted read-only".into(),
        _ => format!("cannot create files in the directory: {error}"),
    }
}

/// Names of the groups in the study of layouts, in `kind/layout.rs` of the engine.
const GROUPS: [(&str, Phase); 3] = [("write", Phase::Write), ("read", Phase::Read), ("walk", Phase::Walk)];

/// The record takes the same way as one from a file: written, read, judged by the report. A run cut off by
/// the clock has complete rounds and one incomplete round, which the report leaves out.
fn judge(request: &Request<'_>, design: &Design, bytes: &[u8], pace: &Pace) -> Result<Run, Stopped> {
    let record = match read_partly(bytes) {
        Ok((record, None)) => record,
        Ok((_, Some(error))) | Err(error) => return Err(format!("the record cannot be read: {error}").into()),
    };
    if pace.rounds == 0 {
        return Err(Stopped::Not("the time was over during the first round".into()));
    }
    let report = Report::of(record).map_err(|error| format!("the record cannot be judged: {error}"))?;
    let mut remarks = design.remarks.clone();
    let of = report.summary.progress.rounds_planned;
    if pace.cut && pace.rounds < of {
        remarks.push(format!("the time was over after {} of {of} rounds", pace.rounds));
    }
    let measured = measured(request, &report.summary, pace);
    remarks.extend(design.left_out(measured.files));
    if measured.files < DECIDING_FILES_MIN {
        remarks.push("too few files to decide: use more --time or free space".into());
    }
    Ok(Run { report, measured, remarks })
}

fn measured(request: &Request<'_>, summary: &Summary, pace: &Pace) -> Measured {
    let files = |row: &PairRow| {
        let planned = summary.arm(row.pair.arm).map(|arm| &arm.planned);
        planned.and_then(|planned| planned.work.operations()).unwrap_or(0)
    };
    let mut contrasts = Vec::new();
    for (name, phase) in GROUPS {
        let group = summary.groups.iter().find(|group| group.name == name);
        let Some(GroupReading::Pairs(pairs)) = group.map(|group| &group.reading) else { continue };
        contrasts.extend(pairs.rows.iter().filter_map(|row| contrast(row, phase, files(row))));
    }
    let widths: Option<Vec<f64>> =
        summary.resolution.iter().map(|resolution| resolution.half_width_percent).collect();
    Measured {
        files: contrasts.iter().map(|contrast| contrast.files).max().unwrap_or(0),
        writers: request.question.writers,
        rounds: summary.progress.rounds_used,
        given: request.time,
        round_s: pace.round_s(),
        resolution_percent: widths.and_then(|widths| widths.into_iter().reduce(f64::max)),
        distrusted: summary.resolution.iter().any(|resolution| resolution.difference == Difference::Real),
        contrasts,
    }
}

/// The subject of a pair begins with the layout and a comma. Arms of unequal work are no contrast: their
/// times cannot be compared.
fn contrast(row: &PairRow, phase: Phase, files: u64) -> Option<Contrast> {
    let layout = row.pair.subject.split(',').next()?.parse().ok()?;
    let (ratio, interval, verdict) = match &row.outcome {
        Outcome::Judged { ratio, adjusted, verdict, .. } => (ratio.value, *adjusted, Some(*verdict)),
        Outcome::TooFewRounds { ratio } => (*ratio, None, None),
        Outcome::Baseline | Outcome::Unequal | Outcome::NotMeasured => return None,
    };
    Some(Contrast { layout, phase, files, ratio, interval, verdict })
}

#[cfg(test)]
mod tests {
    use super::{Note, overload};

    #[test]
    fn an_overloaded_machine_is_named_with_its_first_figure() {
        let note = |kind: &str, text: &str| Note { kind: kind.into(), text: text.into() };
        let notes = [
            note("timer-gaps", "The clock has gaps."),
            note("load", "4.2 tasks were runnable on 2 processors."),
            note("pressure", "CPU pressure was 98.4 % over the last 10 s."),
        ];
        assert_eq!(overload(&notes), Some("4.2 tasks were runnable on 2 processors"));
        assert_eq!(overload(&notes[..1]), None);
    }
}
