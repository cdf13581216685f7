//! `megadir task`: runs one task of a job, for engines that start processes. A signal may end it at any moment: the task is run again.

use std::io::Read as _;
use std::sync::atomic::AtomicBool;

use megadir_tasks::{Task, TaskError, run as run_task};

use crate::exit::CliError;
use crate::ui::output;

pub(crate) fn run() -> Result<u8, CliError> {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| CliError::nothing_ran(format!("cannot read the task: {error}")))?;
    let task: Task = serde_json::from_str(&text)
        .map_err(|error| CliError::usage(format!("standard input is no task: {error}")))?;
    let outcome = run_task(&task, &AtomicBool::new(false)).map_err(|error| match error {
        TaskError::Failed(error) => error.into(),
        TaskError::Stopped => CliError::interrupted("stopped"),
    })?;
    output::print(&output::json_line(&outcome)?)
}
