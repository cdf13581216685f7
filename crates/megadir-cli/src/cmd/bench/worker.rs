//! `megadir bench worker`: one of the processes that a run's work is divided among; started by the run itself.

use megadir_bench::WorkerCommand;

use crate::exit::CliError;

/// Does a part of a run's work, as the run that started it says; of no use by hand.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Returns how a run starts this, where it can.
pub(super) fn command() -> Option<WorkerCommand> {
    let program = match cfg!(target_os = "linux") {
        // This very file, even if another one has its name by now.
        true => "/proc/self/exe".into(),
        // Windows lets nobody replace the file of a program that runs.
        false => std::env::current_exe().ok()?,
    };
    Some(WorkerCommand { program, arguments: ["bench", "worker"].map(Into::into).into() })
}

/// Works until the run says that it is done.
pub(crate) fn run(_args: &Args) -> Result<u8, CliError> {
    match megadir_bench::serve() {
        Ok(()) => Ok(crate::exit::DONE),
        Err(error) => Err(CliError::nothing_ran(format!(
            "{error}: 'megadir bench worker' is started by 'megadir bench run' and of no use by hand"
        ))),
    }
}
