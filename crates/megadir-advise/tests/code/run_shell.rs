//! The shell code, run by `sh` (dash on Debian), by bash, whose characters have several bytes, and by zsh, which
//! takes no variable for a pattern.

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use megadir_advise::code::Language;
use megadir_testkit::require;
use megadir_testkit::require::{full, have};

use crate::cases::{self, Case, Question};
use crate::names;

/// Names in one command line.
const ARGUMENTS: usize = 2500;

#[test]
fn sh_gives_the_same_paths() {
    run("sh", 1);
}

#[test]
fn bash_gives_the_same_paths() {
    require!(have("bash"));
    run("bash", 5);
}

#[test]
fn zsh_gives_the_same_paths() {
    require!(have("zsh"));
    run("zsh", 5);
}

/// Checks the names of each layout; the short tier takes every `share`th, and fewer still if each starts a
/// process.
fn run(shell: &str, share: usize) {
    let place = tempfile::tempdir().unwrap();
    for case in &*cases::ALL {
        let share = match (full(), case.is_slow()) {
            (true, _) => 1,
            (false, false) => share,
            (false, true) => share * 20,
        };
        let script = place.path().join("script.sh");
        case.write(
            Language::Shell,
            "set -eu
",
            &script,
        );
        let code = fs::read_to_string(&script).unwrap();
        fs::write(&script, code + &driver(case)).unwrap();
        // NUL cannot be in an argument.
        let indices =
            (0..case.checked.len()).step_by(share).filter(|at| !names::ALL[case.checked[*at]].contains(&0));
        for indices in indices.collect::<Vec<usize>>().chunks(ARGUMENTS) {
            compare(shell, case, &script, indices);
        }
    }
}

/// Prints the path of each argument at each depth, then the depths for numbers of files.
fn driver(case: &Case) -> String {
    let mut code = String::new();
    for (placer, _) in &case.depths {
        let depth = if case.grows() { placer.depth().to_string() } else { String::new() };
        writeln!(code, "for name do").unwrap();
        writeln!(
            code,
            "if path_for \"$name\" {depth}; then printf '+%s\\0' \"$layout_path\"; else printf '%s\\0' -; fi"
        )
        .unwrap();
        writeln!(code, "done").unwrap();
    }
    if case.grows() {
        let files: Vec<String> = files(case).iter().map(u64::to_string).collect();
        writeln!(
            code,
            "for files in {}; do depth_for \"$files\"; printf '%s\\0' \"$layout_depth\"; done",
            files.join(" ")
        )
        .unwrap();
    }
    // The locale is unchanged.
    code + "printf '%s\\0' \"$LC_ALL\"\n"
}

/// Numbers of files within the range of the shell's integers.
fn files(case: &Case) -> Vec<u64> {
    case.files().into_iter().filter(|files| i64::try_from(*files).is_ok()).collect()
}

/// Compares the answers for the names at these indices.
fn compare(shell: &str, case: &Case, script: &Path, indices: &[usize]) {
    let name = |at: &usize| names::ALL[case.checked[*at]].as_slice();
    let arguments = indices.iter().map(|at| OsStr::from_bytes(name(at)));
    let output = Command::new(shell).arg(script).args(arguments).env("LC_ALL", "C.UTF-8").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && stderr.is_empty(),
        "{shell}, {}: {}: {stderr}",
        case.text,
        output.status
    );
    let files = files(case);
    let depths = case.depths_for(&files);
    let paths = case.depths.iter().flat_map(|(placer, answers)| {
        let question = |at: &usize| Question::Path(case, placer.depth(), name(at));
        indices.iter().map(move |at| (question(at), answers[*at].as_slice()))
    });
    let depths =
        files.iter().map(|files| Question::Depth(case, *files)).zip(depths.iter().map(Vec::as_slice));
    let locale = [(Question::Locale, b"C.UTF-8".as_slice())];
    cases::compare(&output.stdout, paths.chain(depths).chain(locale));
}

#[test]
fn a_shell_without_a_locale_gets_none() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("script.sh");
    let case = cases::ALL.iter().find(|case| case.text == "git").unwrap();
    case.write(Language::Shell, "", &script);
    let code = fs::read_to_string(&script).unwrap();
    fs::write(&script, code + "path_for abcdef && echo \"$layout_path:${LC_ALL-}\"\npath_for ab || echo \"$layout_path:no\"\n").unwrap();
    let output = Command::new("sh").arg(&script).env_remove("LC_ALL").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ab/cdef:\n:no\n");
}

#[test]
fn without_a_program_for_digests_there_is_no_path() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("script.sh");
    let case = cases::ALL.iter().find(|case| case.text == "digest:2/2").unwrap();
    case.write(Language::Shell, "PATH=/nowhere\n", &script);
    let code = fs::read_to_string(&script).unwrap();
    fs::write(&script, code + "path_for abcdef || echo \"$layout_path:no\"\n").unwrap();
    let output = Command::new("sh").arg(&script).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), ":no\n");
}
