//! Filling directories until the index is full and a file is refused.

use std::io;

use megadir::Dir;
use megadir::limits::{Limit, Step, explain_at};
use megadir_record::{Counted, DataId, Group, GroupRule, NameScheme, Work};
use serde::Deserialize;

use crate::control::{RunControl, WorkError};
use crate::dataset::{NAME_BYTES_MAX, Names};
use crate::kind::arms::Arms;
use crate::kind::{BlockKey, Workload};
use crate::measure::Stopwatch;
use crate::os;
use crate::os::removal::remove_content;
use crate::os::{At, Owned};

/// `[refusal]` of a study; a size's `entries` is roughly the number of files that fit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FillUntilFullSpec {
    pub title: String,
}

const GROUP: &str = "refusal";

/// Adds the arm and its group; roughly `entries_about` files fit.
pub(crate) fn refusals(spec: &FillUntilFullSpec, entries_about: u64, arms: &mut Arms<'_>) {
    let work = Work::FillUntilRefused { entries_about, predicted: None };
    let arm = arms.arm(GROUP, DataId(0), &work);
    let rule = GroupRule::Refusal { arm };
    arms.groups.push(Group::new(GROUP, &spec.title, true, rule));
}

/// Directory that is filled.
const FILLED: &str = "filled";
/// Files between two checks for cancellation.
const STEP: u64 = 1024;

pub(crate) struct FillUntilFull {
    scheme: NameScheme,
    seed: u64,
    block_seed: u64,
}

impl FillUntilFull {
    pub(crate) fn new(scheme: NameScheme, seed: u64) -> Self {
        Self { scheme, seed, block_seed: seed }
    }
}

fn failed(stage: &'static str) -> impl Fn(io::Error) -> WorkError {
    move |source| WorkError::Stage { stage, source }
}

impl Workload for FillUntilFull {
    fn unavailable(&self, _directory: &Dir) -> Option<String> {
        cfg!(windows)
            .then(|| "no file system of Windows has an index that is full before the volume is".to_owned())
    }

    fn setup(
        &mut self,
        _directory: &Dir,
        block: BlockKey,
        _operations: u64,
        _signals: RunControl<'_>,
    ) -> Result<(), WorkError> {
        self.block_seed = self.seed ^ block.number();
        Ok(())
    }

    fn run(
        &mut self,
        parent: &Dir,
        _operations: u64,
        _stopwatch: &mut Stopwatch,
        control: RunControl<'_>,
    ) -> Result<Counted, WorkError> {
        let making = failed("creating a directory");
        os::make_directory(parent.at(), FILLED).map_err(&making)?;
        let directory = os::open_below(parent.at(), FILLED).map_err(making)?;
        let names = Names { scheme: self.scheme, seed: self.block_seed };
        let mut buffer = [0; NAME_BYTES_MAX];
        for index in 0.. {
            if index % STEP == 0 {
                control.check()?;
            }
            match os::create(directory.at(), names.write(index, &mut buffer)) {
                Ok(file) => drop(file),
                Err(error) => {
                    judge(&directory, parent, error, index)?;
                    return Ok(Counted { entries: index, hash: 0, calls: Some(index + 1), written_bytes: 0 });
                }
            }
        }
        unreachable!("the directory never refused a file")
    }

    fn teardown(&mut self, parent: &Dir, control: RunControl<'_>) -> Result<(), WorkError> {
        let directory = os::open_below(parent.at(), FILLED).map_err(failed("opening the directory"))?;
        remove_content(directory.at(), b"", control.heartbeat).map_err(failed("removing the files"))?;
        drop(directory);
        os::remove_directory(parent.at(), FILLED).map_err(failed("removing the directory"))
    }
}

/// Accepts only a refusal because of the directory's index.
fn judge(directory: &Owned, parent: &Dir, source: io::Error, made: u64) -> Result<(), WorkError> {
    let explanation = explain_at(directory.at(), parent.path(), Step::Create, &source);
    match explanation {
        Some(explanation) if explanation.limit == Limit::DirectoryIndex => Ok(()),
        Some(explanation) => {
            let reason =
                format!("after {made} files a limit other than the index was reached: {explanation}");
            Err(WorkError::Stage { stage: "filling", source: io::Error::other(reason) })
        }
        None => Err(WorkError::Stage { stage: "creating a file", source }),
    }
}
