//! megadir: measure and work on directories with millions of entries.
//!
//! Parse, dispatch, exit code. The only crate that prints, reads arguments or the environment; what the
//! commands do is in the library crates.
#![expect(clippy::print_stderr, reason = "the one crate that talks to the user")]

mod cmd;
mod exit;
mod parse;
mod ui;

use std::process::ExitCode;

use clap::Parser;

/// Measures and works on directories with millions of entries.
///
/// Exit codes: 0 done; 1 done, but some entries failed; 2 usage; 3 nothing could run; 10 the condition
/// asked for was met; 130 interrupted.
#[derive(Parser)]
#[command(name = "megadir", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: cmd::Command,
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { exit::USAGE } else { exit::DONE };
            // A closed pipe behind --help is no reason to complain.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match cmd::run(cli.command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("megadir: {error}");
            ExitCode::from(error.code)
        }
    }
}
