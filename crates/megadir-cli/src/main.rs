//! megadir: measure and work on directories with millions of entries. Only this crate prints and reads
//! arguments or the environment.

#[macro_use]
mod ui;
mod cmd;
mod detached;
mod examples;
mod parse;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser};

use ui::exit;

/// Measure and work on directories with millions of entries
///
/// Exit codes: 0 done; 1 done, but some entries failed; 2 usage; 3 nothing could run; 10 the requested
/// condition was met; 11 it could not be judged; 130 interrupted.
#[derive(Parser)]
#[command(name = "megadir", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: cmd::Command,
}

fn program() -> clap::Command {
    examples::added(Cli::command())
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    #[cfg(target_os = "linux")]
    if let Some(done) = cmd::launched(&words) {
        return end(done, &words);
    }
    // Only help has the examples: adding them to every command would slow down each start.
    let mut program = Cli::command();
    let matches = program.try_get_matches_from_mut(&words);
    let parsed = matches.and_then(|mut matches| {
        Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut program))
    });
    let parsed = parsed.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp => self::program().try_get_matches_from(&words).err().unwrap_or(error),
        _ => error,
    });
    let done = match parsed {
        _ if let Some(error) = detached::value(&program, &words) => Err(error),
        Ok(cli) => match cli.command.asks_for_help() {
            Some(name) => ui::output::print(&short_help(name)).map(|()| exit::DONE),
            None => cmd::run(cli.command),
        },
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return ExitCode::from(exit::USAGE);
        }
        Err(error) if error.use_stderr() => Err(exit::usage(&error)),
        Err(error)
            if error.kind() == ErrorKind::DisplayVersion && words.iter().any(|word| word == "--verbose") =>
        {
            ui::output::print(&cmd::version::text()).map(|()| exit::DONE)
        }
        Err(error) => ui::output::print(&error.to_string()).map(|()| exit::DONE),
    };
    end(done, &words)
}

fn end(done: Result<u8, exit::CliError>, words: &[OsString]) -> ExitCode {
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let with_engine = words.iter().any(|word| word.as_encoded_bytes().starts_with(b"--engine"));
            cmd::engine::print_error(&error, with_engine);
            ExitCode::from(error.code)
        }
    }
}

fn short_help(name: &str) -> String {
    let mut program = Cli::command();
    // Only a built command knows what precedes its name.
    program.build();
    program.find_subcommand_mut(name).map_or_else(String::new, |command| command.render_help().to_string())
}
