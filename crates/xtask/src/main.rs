//! Development tasks, run as `cargo xtask TASK`.
//!
//! One file (or folder) a task; this one only parses and dispatches. To add a task: a module with an
//! `Args` and a `run`, one variant of [`Task`], one arm in [`main`].

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a development tool talks to the terminal")]

mod ci;
mod process;
#[cfg(target_os = "linux")]
mod speed;
mod tidy;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Development tasks of the megadir workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs what every change must pass, cheap stages first
    Ci(ci::Args),
    /// Measures every figure of speed and memory that README and docs/speed.md quote; Linux, as root
    #[cfg(target_os = "linux")]
    Speed(speed::Args),
    /// Checks structure and style that neither the compiler nor clippy sees
    Tidy(tidy::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().task {
        Task::Ci(args) => ci::run(&args),
        #[cfg(target_os = "linux")]
        Task::Speed(args) => speed::run(&args),
        Task::Tidy(args) => tidy::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
