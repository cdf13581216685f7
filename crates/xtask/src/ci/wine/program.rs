//! The released `megadir.exe` runs, and needs only DLLs of Windows.

use super::WineDir;
use crate::ci::stage::Report;
use crate::ci::windows;
use crate::process;
use std::path::Path;
use std::process::Command;

const OBJDUMP: &str = "x86_64-w64-mingw32-objdump";

/// On every Windows 10, in lower case without `.dll`. Compilers' runtimes must not be among them.
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
/// Prefixes of the names of API sets, which are parts of Windows.
const SETS: &[&str] = &["api-ms-win-", "ext-ms-win-"];

pub(super) fn check(wine: &WineDir, program: &Path, report: &mut Report) {
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
        let mut command = Command::new(super::WINE);
        wine.environment(&mut command);
        match process::output(command.arg(program).args(words)) {
            Ok(text) if text.contains(wanted) => {}
            Ok(text) => report.failures.push(format!("{} {words:?} printed {text:?}", program.display())),
            Err(error) => report.failures.push(error),
        }
    }
}

pub(super) fn check_release(context: &crate::ci::stage::Context, wine: &WineDir, report: &mut Report) {
    let mut command = context.cargo(&["build", "--locked", "--release", "--package=megadir-cli"]);
    windows::build_with(&mut command);
    command.env("CARGO_TARGET_DIR", &wine.built);
    match process::run(&mut command) {
        Ok(()) => check(wine, &wine.program("release"), report),
        Err(error) => report.failures.push(error),
    }
}

/// Returns the names of the imported DLLs, without duplicates.
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
    use super::{imports_of, is_of_windows};

    #[test]
    fn dlls_of_compilers_are_not_those_of_windows() {
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
