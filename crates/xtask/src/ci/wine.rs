//! Runs the suites of Windows under Wine: what is executed there is what a Windows machine would execute.
//!
//! Everything is in `wine/` of the target folder: what is built, Wine's prefix, a stub, and the large directories that the
//! suites read, which Wine itself would take minutes to make. The compiler is found as in the stage `windows`. Wine 8
//! lacks a library that Rust's standard library imports; the stub stands in for it. What else it lacks, the tests note
//! as unavailable. The program that they start must need no DLLs but those of Windows (`wine/program.rs`); in the long tier so must the
//! one that users build.
//!
//! Traps: cargo must be given Wine by `--config`, since tests would hand an environment variable on to programs that they start;
//! the first process of Wine starts services that keep its streams, so the server is started before, without any; and
//! `LC_ALL=C` mangles names.

mod program;

use super::stage::{Context, Report};
use super::{test, windows};
use crate::process;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const WINE: &str = "/usr/lib/wine/wine64";
const SERVER: &str = "/usr/lib/wine/wineserver64";

/// What is tested: few binaries, since each is built for this alone. C++ is compiled by mingw, where that is there.
const SUITES: &[&str] = &[
    "--package=megadir",
    "--package=megadir-bench",
    "--package=megadir-cli",
    "--package=megadir-inventory",
    "--package=megadir-sys",
    "--features=megadir-cli/cpp",
    "--lib",
    "--test=changes",
    "--test=conformance",
    "--test=windows",
];

/// How long making the prefix may take, and building and running the suites; each takes a fraction of it.
const PREFIX_LIMIT: Duration = Duration::from_secs(120);
const SUITES_LIMIT: Duration = Duration::from_secs(15 * 60);
const SUITES_LIMIT_FULL: Duration = Duration::from_secs(60 * 60);

/// The library that Wine 8 lacks: random numbers, by the function that does the same.
const STUB: &str = "#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) int ProcessPrng(unsigned char *to, size_t bytes) {
    while (bytes) {
        ULONG some = bytes > 65536 ? 65536 : (ULONG)bytes;
        if (!SystemFunction036(to, some)) return 0;
        to += some;
        bytes -= some;
    }
    return 1;
}
";

/// Runs the suites.
pub(crate) fn run(context: &Context) -> Result<Report, String> {
    if let Some(lacking) = windows::lacking_to_build() {
        return Ok(Report::not_run(format!("wine: no {lacking}")));
    }
    if let Some(lacking) = [WINE, SERVER].into_iter().find(|file| !Path::new(file).is_file()) {
        return Ok(Report::not_run(format!("wine: no {lacking} (package wine64)")));
    }
    let ground = Ground::make(context)?;
    // Until the end, however that comes.
    let _server = Server::start(&ground)?;
    let log = context.scratch()?.join("not-run-wine.log");
    std::fs::write(&log, "").map_err(|error| format!("cannot empty {}: {error}", log.display()))?;
    let mut command = context.cargo(&["test", "--locked", "--no-fail-fast"]);
    windows::build_with(&mut command);
    command.args(SUITES).arg("--config").arg(format!("target.{}.runner=\"{WINE}\"", windows::TARGET));
    command.env("CARGO_TARGET_DIR", &ground.folder).env("CARGO_PROFILE_DEV_DEBUG", "0");
    ground.environment(&mut command);
    command.env("MEGADIR_TREES", as_windows(&ground.trees)).env("MEGADIR_NOT_RUN_LOG", as_windows(&log));
    if context.full {
        command.env("MEGADIR_FULL", "1");
    }
    let limit = if context.full { SUITES_LIMIT_FULL } else { SUITES_LIMIT };
    let (status, text) = process::run_at_most(command.env("CARGO_TERM_COLOR", "never"), limit)?;
    let mut ended = test::Ended::default();
    text.lines().for_each(|line| ended.take(line.to_owned()));
    ended.succeeded = status.success();
    let mut report = test::report_of(ended, &test::read(&log)?);
    // The program that the suites have started.
    program::check(&ground, &ground.program("debug"), &mut report);
    if context.full {
        program::check_release(context, &ground, &mut report);
    }
    Ok(report)
}

/// Where everything is.
struct Ground {
    folder: PathBuf,
    prefix: PathBuf,
    stub: PathBuf,
    trees: PathBuf,
}

impl Ground {
    /// Makes the folders, the stub and the large directories, unless they are there.
    fn make(context: &Context) -> Result<Self, String> {
        let folder = context.workspace.target.join("wine");
        let [prefix, stub, trees] = ["prefix", "stub", "trees"].map(|name| folder.join(name));
        for folder in [&prefix, &stub, &trees] {
            std::fs::create_dir_all(folder)
                .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        }
        let source = stub.join("stub.c");
        std::fs::write(&source, STUB)
            .map_err(|error| format!("cannot write {}: {error}", source.display()))?;
        let mut compiler = Command::new(windows::GCC);
        compiler
            .arg("-shared")
            .arg(&source)
            .arg("-o")
            .arg(stub.join("bcryptprimitives.dll"))
            .arg("-ladvapi32");
        process::run(&mut compiler)?;
        let words = ["run", "--locked", "--quiet", "--package=megadir-testkit", "--example=trees", "--"];
        process::run(context.cargo(&words).arg(&trees))?;
        Ok(Self { folder, prefix, stub, trees })
    }

    /// Makes `\\localhost\C$` the disk C, as it is on Windows: Wine looks for shares of servers in this folder.
    fn share(&self) -> std::io::Result<()> {
        let server = self.prefix.join("dosdevices/unc/localhost");
        std::fs::create_dir_all(&server)?;
        match std::os::unix::fs::symlink("../../../drive_c", server.join("C$")) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the program as a profile's folder has it.
    fn program(&self, profile: &str) -> PathBuf {
        self.folder.join(windows::TARGET).join(profile).join("megadir.exe")
    }

    /// Gives a command what Wine needs.
    fn environment(&self, command: &mut Command) {
        command
            .env("LC_ALL", "C.UTF-8")
            .env("WINEDEBUG", "-all")
            .env("WINEDLLOVERRIDES", "mscoree,mshtml=")
            .env("WINEPREFIX", &self.prefix)
            .env("WINEPATH", as_windows(&self.stub));
    }

    /// Returns a command of Wine's without any stream.
    fn silent(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        self.environment(&mut command);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// Wine's server and all that it runs; they end with it.
struct Server<'a> {
    ground: &'a Ground,
}

impl<'a> Server<'a> {
    /// Starts the server and makes the prefix.
    fn start(ground: &'a Ground) -> Result<Self, String> {
        // What a run that was killed has left would keep this one from starting. Where there is none, it fails, and all is well.
        let _ = ground.silent(SERVER, &["-k"]).status();
        let mut command = ground.silent(SERVER, &["-p"]);
        let started = command.status().map_err(|error| process::cannot("start", &command, &error))?;
        process::judge(&command, started)?;
        let server = Self { ground };
        let mut boot = ground.silent(WINE, &["wineboot", "-i"]);
        println!("$ {}", process::show(&boot));
        let mut child = process::start(&mut boot)?;
        let status = process::wait_at_most(&mut child, &boot, PREFIX_LIMIT)?;
        process::judge(&boot, status)?;
        ground.share().map_err(|error| format!("cannot share a disk under Wine: {error}"))?;
        Ok(server)
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.ground.silent(SERVER, &["-k"]).status() {
            println!("cannot end Wine's server: {error}");
        }
    }
}

/// Returns an absolute path of this system as Windows calls it under Wine.
fn as_windows(path: &Path) -> String {
    format!("Z:{}", path.display()).replace('/', "\\")
}

#[cfg(test)]
mod tests {
    use super::{SUITES, as_windows};

    /// Whoever has a Windows machine is told the same suites.
    #[test]
    fn the_documents_tell_what_is_tested() {
        let page = include_str!("../../../../docs/windows.md");
        let command = format!("cargo test {} -- --nocapture", SUITES.join(" "));
        assert!(page.contains(&command), "docs/windows.md is to have `{command}`");
    }

    #[test]
    fn paths_are_on_the_drive_that_wine_calls_z() {
        assert_eq!(as_windows("/a/b c".as_ref()), "Z:\\a\\b c");
    }
}
