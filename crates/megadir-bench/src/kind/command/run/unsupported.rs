//! Systems without a way to start, time and limit programs; the plan refuses them.

use std::marker::PhantomData;

use megadir::Dir;
use megadir_record::{Cell, CommandWork, Counted, Plan};

use crate::control::{RunControl, WorkError};
use crate::kind::{WorkerCommand, Workload};
use crate::measure::Stopwatch;

pub(crate) struct Program<'a>(PhantomData<&'a WorkerCommand>);

impl<'a> Program<'a> {
    pub(crate) fn of(
        _plan: &Plan,
        _cell: &Cell,
        _work: &CommandWork,
        _worker: Option<&'a WorkerCommand>,
    ) -> Self {
        Self(PhantomData)
    }

    pub(crate) fn try_once(
        &mut self,
        _directory: &Dir,
        _control: RunControl<'_>,
    ) -> Result<Counted, WorkError> {
        Err(WorkError::Program("programs can be measured on Linux only".into()))
    }
}

impl Workload for Program<'_> {
    fn unavailable(&self, _directory: &Dir) -> Option<String> {
        Some("programs can be measured on Linux only".into())
    }

    fn run(
        &mut self,
        directory: &Dir,
        _operations: u64,
        _stopwatch: &mut Stopwatch,
        control: RunControl<'_>,
    ) -> Result<Counted, WorkError> {
        self.try_once(directory, control)
    }
}

pub(crate) fn printed_otherwise(
    _reference: (&mut Program<'_>, &str),
    _other: (&mut Program<'_>, &str),
    _directory: &Dir,
    _control: RunControl<'_>,
) -> Result<Option<String>, WorkError> {
    Ok(None)
}
