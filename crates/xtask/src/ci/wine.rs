//! Runs the Windows test suites under Wine. `wine/` of the target folder holds Wine's prefix, a stub of a library that Wine 8 lacks, and
//! large directories, which Wine would take minutes to create. Traps: services inherit the first process's streams, so the server is
//! started before, without any; `LC_ALL=C` mangles names.
//!
//! ```text
//! suites for x86_64-pc-windows-gnu -> wine64 SUITE.exe (TREES: directories made before) -> results, as of any suite
//! megadir.exe -> objdump -p: only DLLs of Windows 10 -> starts, lists
//! ```

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::ci::stage::{Context, PROFILE, Report};
use crate::ci::{suites, windows};
use crate::{files, process};

const WINE: &str = "/usr/lib/wine/wine64";
const SERVER: &str = "/usr/lib/wine/wineserver64";

/// Each binary is built only for this stage.
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

const PREFIX_LIMIT: Duration = Duration::from_secs(120);
const SUITE_LIMIT: Duration = Duration::from_secs(10 * 60);
const SUITE_LIMIT_FULL: Duration = Duration::from_secs(60 * 60);

/// Random numbers, from an equivalent function.
const STUB: &str = include_str!("wine/stub.c");

/// Wine's server is started before any test, because the first process under Wine would start it, with the
/// streams of a test. Suites run one at a time. What Wine lacks is reported and no failure, since only a
/// Windows machine could show it.
pub(crate) fn run(context: &Context) -> Result<Report, String> {
    if let Some(lacking) = windows::lacking_to_build() {
        return Ok(Report::not_run(format!("wine: no {lacking}")));
    }
    if let Some(lacking) = [WINE, SERVER].into_iter().find(|file| !Path::new(file).is_file()) {
        return Ok(Report::not_run(format!("wine: no {lacking} (package wine64)")));
    }
    let wine = WineDir::make(context)?;
    let _server = Server::start(&wine)?;
    let log = context.scratch()?.join("not-run-wine.log");
    files::write(&log, "")?;
    let mut suites = suites::build(&mut build_command(context), &[], &context.workspace.root)?;
    for suite in &mut suites {
        suite.run_by(WINE);
        wine.environment(&mut suite.command);
        suite.command.env("MEGADIR_TREES", as_windows(&wine.trees));
        suite.command.env("MEGADIR_NOT_RUN_LOG", as_windows(&log));
        if context.full {
            suite.command.env("MEGADIR_FULL", "1");
        }
    }
    let limit = if context.full { SUITE_LIMIT_FULL } else { SUITE_LIMIT };
    let mut report = suites::report(suites, 1, limit, &log)?;
    // docs/windows.md lists them: only a Windows machine has them.
    let lacks = std::mem::take(&mut report.unavailable);
    report.lines.extend(lacks.into_iter().map(|line| format!("unavailable under Wine: {line}")));
    check(&wine, &wine.program(PROFILE), &mut report);
    if context.full {
        check_release(context, &wine, &mut report);
    }
    Ok(report)
}

fn build_command(context: &Context) -> Command {
    let mut command = context.cargo(&["test", "--locked"]);
    windows::build_with(&mut command, PROFILE);
    command.args(SUITES);
    command
}

/// Folders of Wine: built programs, prefix, stub of a library, and directories for the tests.
struct WineDir {
    built: PathBuf,
    prefix: PathBuf,
    stub: PathBuf,
    trees: PathBuf,
}

impl WineDir {
    fn make(context: &Context) -> Result<Self, String> {
        let folder = context.workspace.target.join("wine");
        let [prefix, stub, trees] = ["prefix", "stub", "trees"].map(|name| folder.join(name));
        for folder in [&prefix, &stub, &trees] {
            files::create_folder(folder)?;
        }
        let source = stub.join("stub.c");
        files::write(&source, STUB)?;
        let mut compiler = Command::new(windows::GCC);
        let library = stub.join("bcryptprimitives.dll");
        process::run(compiler.args(["-shared", "-o"]).arg(library).arg(&source).arg("-ladvapi32"))?;
        // As the stage `test` builds it.
        process::run(context.cargo_tests().args(["--example=trees", "--no-run"]))?;
        process::run(
            Command::new(context.workspace.target.join(PROFILE).join("examples/trees")).arg(&trees),
        )?;
        Ok(Self { built: context.workspace.target.clone(), prefix, stub, trees })
    }

    /// Maps `\\localhost\C$` to the disk C: Wine looks for servers' shares in this folder.
    fn share(&self) -> Result<(), String> {
        let server = self.prefix.join("dosdevices/unc/localhost");
        files::create_folder(&server)?;
        files::link("../../../drive_c", &server.join("C$"))
    }

    fn program(&self, profile: &str) -> PathBuf {
        self.built.join(windows::TARGET).join(profile).join("megadir.exe")
    }

    fn environment(&self, command: &mut Command) {
        // Without Mono and Gecko, which a new prefix would otherwise try to download.
        command.env("LC_ALL", "C.UTF-8").env("WINEDEBUG", "-all").env("WINEDLLOVERRIDES", "mscoree,mshtml=");
        command.env("WINEPREFIX", &self.prefix).env("WINEPATH", as_windows(&self.stub));
    }

    fn silent(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        self.environment(&mut command);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// Wine's server; it ends when this is dropped, and with it all processes under Wine.
struct Server<'a> {
    wine: &'a WineDir,
}

impl<'a> Server<'a> {
    fn start(wine: &'a WineDir) -> Result<Self, String> {
        // A leftover server of a killed run would block this one. Fails if there is none.
        let _ = wine.silent(SERVER, &["-k"]).status();
        let mut command = wine.silent(SERVER, &["-p"]);
        let started = command.status().map_err(|error| process::cannot("start", &command, &error))?;
        process::judge(&command, started)?;
        let server = Self { wine };
        let mut boot = wine.silent(WINE, &["wineboot", "-i"]);
        println!("$ {}", process::show(&boot));
        let mut child = process::start(&mut boot)?;
        let status = process::wait_at_most(&mut child, &boot, PREFIX_LIMIT)?;
        process::judge(&boot, status)?;
        wine.share()?;
        Ok(server)
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.wine.silent(SERVER, &["-k"]).status() {
            println!("cannot end Wine's server: {error}");
        }
    }
}

/// Wine maps the disk Z to the root of the file system.
fn as_windows(path: &Path) -> String {
    format!("Z:{}", path.display()).replace('/', "\\")
}

const OBJDUMP: &str = "x86_64-w64-mingw32-objdump";

/// On every Windows 10, in lower case without `.dll`; no compilers' runtimes.
const OF_WINDOWS: &[&str] = &[
    "advapi32",
    "bcrypt",
    "bcryptprimitives",
    "kernel32",
    "kernelbase",
    "ktmw32",
    "msvcrt",
    "ntdll",
    "ole32",
    "oleaut32",
    "powrprof",
    "psapi",
    "shell32",
    "ucrtbase",
    "user32",
    "userenv",
    "ws2_32",
];
/// Names of API sets, which are parts of Windows.
const SETS: &[&str] = &["api-ms-win-", "ext-ms-win-"];

/// A DLL of the compiler would be missing on every other machine.
fn check(wine: &WineDir, program: &Path, report: &mut Report) {
    match imports(program) {
        Ok(names) => {
            let foreign: Vec<&str> =
                names.iter().map(String::as_str).filter(|name| !is_of_windows(name)).collect();
            if foreign.is_empty() {
                report.lines.push(format!("{} needs {}", program.display(), names.join(", ")));
            } else {
                let foreign = foreign.join(", ");
                report
                    .failures
                    .push(format!("{} needs DLLs that Windows does not have: {foreign}", program.display()));
            }
        }
        Err(error) => report.failures.push(error),
    }
    for (words, wanted) in [(&["--version"][..], "megadir "), (&["list", "--count", "C:\\windows"], "\n")] {
        let mut command = Command::new(WINE);
        wine.environment(&mut command);
        match process::output(command.arg(program).args(words)) {
            Ok(text) if text.contains(wanted) => {}
            Ok(text) => report.failures.push(format!("{} {words:?} printed {text:?}", program.display())),
            Err(error) => report.failures.push(error),
        }
    }
}

fn check_release(context: &Context, wine: &WineDir, report: &mut Report) {
    let mut command = context.cargo(&["build", "--locked", "--package=megadir-cli"]);
    windows::build_with(&mut command, "release");
    match process::run(&mut command) {
        Ok(()) => check(wine, &wine.program("release"), report),
        Err(error) => report.failures.push(error),
    }
}

fn imports(program: &Path) -> Result<Vec<String>, String> {
    let text = process::output(Command::new(OBJDUMP).arg("-p").arg(program))?;
    let mut names = imports_of(&text);
    names.sort_unstable();
    names.dedup();
    match names.is_empty() {
        true => Err(format!("{OBJDUMP} lists no DLL of {}", program.display())),
        false => Ok(names),
    }
}

fn imports_of(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("DLL Name:"));
    names.map(|name| name.trim().to_ascii_lowercase()).collect()
}

fn is_of_windows(name: &str) -> bool {
    let name = name.strip_suffix(".dll").unwrap_or(name);
    OF_WINDOWS.contains(&name) || SETS.iter().any(|set| name.starts_with(set))
}

#[cfg(test)]
mod tests {
    use super::{SUITES, as_windows, imports_of, is_of_windows};

    /// The documentation for Windows machines lists the same suites.
    #[test]
    fn the_documentation_lists_the_suites() {
        let page = include_str!("../../../../docs/windows.md");
        let command = format!("cargo test {} -- --nocapture", SUITES.join(" "));
        assert!(page.contains(&command), "docs/windows.md lacks `{command}`");
    }

    #[test]
    fn paths_are_on_the_drive_that_wine_calls_z() {
        assert_eq!(as_windows("/a/b c".as_ref()), "Z:\\a\\b c");
    }

    #[test]
    fn compiler_dlls_are_distinguished_from_windows_dlls() {
        let text = "The Import Tables\n\tDLL Name: KERNEL32.dll\n vma:\n\tDLL Name: libgcc_s_seh-1.dll\n";
        let names = imports_of(text);
        assert_eq!(names, ["kernel32.dll", "libgcc_s_seh-1.dll"]);
        assert!(is_of_windows(&names[0]) && !is_of_windows(&names[1]));
        assert!(is_of_windows("api-ms-win-core-synch-l1-2-0.dll"));
        for foreign in ["libstdc++-6.dll", "libwinpthread-1.dll", "vcruntime140.dll", "zstd.dll"] {
            assert!(!is_of_windows(foreign), "{foreign}");
        }
    }
}
