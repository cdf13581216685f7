//! Short measurement with progress on terminals and no other output.

use std::io;

use megadir_advise::measure::{Outcome, Request, Run, measure};
use megadir_advise::{Candidate, Look, Question};
use megadir_bench::{Event, Listener, RunError};

use super::Args;
use crate::cmd::bench::{Progress, drawn_seed, program};
use crate::cmd::interrupt::Interrupt;
use crate::exit::CliError;

pub(super) fn measured(
    args: &Args,
    question: &Question,
    look: &Look,
    candidates: &[Candidate],
    interrupt: &Interrupt,
) -> Result<Option<Result<Box<Run>, String>>, CliError> {
    if args.time.is_zero() {
        return Ok(Some(Err("--time 0s".into())));
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
    match measure(&request, &mut Shown("trial: ", None), &mut Shown("", None)) {
        Ok(Outcome::Measured(run)) => Ok(Some(Ok(run))),
        Ok(Outcome::Not { why }) => Ok(Some(Err(why))),
        Ok(Outcome::Interrupted) => Ok(None),
        Err(RunError::Interrupted) => Ok(None),
        Err(error) => Err(CliError::nothing_ran(error.to_string())),
    }
}

/// Without the notes of a run: the answer has the relevant ones.
struct Shown(&'static str, Option<Progress>);

impl Listener for Shown {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        if let Event::Started(header) = event {
            self.1 = None;
            self.1 = Some(Progress::new(&header.plan, true).labelled(self.0));
        }
        match (&mut self.1, event) {
            (Some(progress), event) if !matches!(event, Event::Noted(_)) => progress.event(event),
            _ => Ok(()),
        }
    }
}
