//! Development tasks, run as `cargo xtask TASK`. To add one: a module with `Args` and `run`, a variant of [`Task`], and an arm in [`main`].
//!
//! | task | file |
//! |---|---|
//! | `ci`, `emulated` | `ci/`: a file for each stage |
//! | `tidy` | `tidy/`: rules beyond compiler and linter |
//! | `package`, `wheel`, `book` | files of a release, the Python package, the book |
//! | `speed`, `ground` | published comparisons; the table of docs/ground.md |
//! | shared | `files.rs`, `process.rs`, `debian.rs` |

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a development tool talks to the terminal")]

mod book;
mod ci;
mod debian;
mod files;
mod ground;
#[cfg(target_os = "linux")]
mod package;
mod process;
#[cfg(target_os = "linux")]
mod speed;
mod tidy;
mod wheel;

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
    /// Build the book of docs/ in target/book and check its links
    Book(book::Args),
    /// Run all checks for a change, cheap stages first
    Ci(ci::Args),
    /// Run suites and a study, or a command, on a Debian kernel in QEMU; needs no root
    Emulated(ci::emulated::Args),
    /// Write docs/ground.md: what every command does on every kind of file system; as root
    Ground(ground::Args),
    /// Make the files of a release in target/package: .deb, static program, source, components, checksums; Linux
    #[cfg(target_os = "linux")]
    Package(package::Args),
    /// Install the programs that megadir is compared with and run the study `peers`; Linux, as root
    #[cfg(target_os = "linux")]
    Speed(speed::Args),
    /// Check structure and style beyond compiler and clippy
    Tidy,
    /// Build the Python package in target/wheel
    Wheel(wheel::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().task {
        Task::Book(args) => book::run(&args),
        Task::Ci(args) => ci::run(&args),
        Task::Emulated(args) => ci::emulated::run(&args),
        Task::Ground(args) => ground::run(&args),
        #[cfg(target_os = "linux")]
        Task::Package(args) => package::run(&args),
        #[cfg(target_os = "linux")]
        Task::Speed(args) => speed::run(&args),
        Task::Tidy => tidy::run(),
        Task::Wheel(args) => wheel::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
