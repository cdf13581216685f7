//! The functions for the time of a move, run where a directory has the name of a file: `10` in `digest:2`.

use std::fs;
use std::path::Path;
use std::process::Command;

use megadir::layout::Layout;
use megadir_advise::code::{Language, transition};
use megadir_testkit::require;
use megadir_testkit::require::have;

use crate::program::silent;
use crate::{run_go, run_rust};

const NAME: &str = "10";

/// Each program prints the contents of the file, or `none` if `open_file` does not find it. With an argument it creates
/// the file instead, and prints `refused` if it cannot.
const PYTHON: &str = r#"
import sys
try:
    print(open_file("t", "10").read().decode() if len(sys.argv) == 1 else create_file("t", "10").close() or "created")
except FileNotFoundError:
    print("none")
except IsADirectoryError:
    print("refused")
"#;

const RUST: &str = r#"
fn main() {
    let (top, name) = (std::path::Path::new("t"), OsStr::new("10"));
    if std::env::args().count() > 1 {
        println!("{}", if create_file(top, name).is_ok() { "created" } else { "refused" });
        return;
    }
    match open_file(top, name) {
        Ok(file) => println!("{}", std::io::read_to_string(file).unwrap()),
        Err(error) => println!("{}", if error.kind() == std::io::ErrorKind::NotFound { "none" } else { "failed" }),
    }
}
"#;

const GO: &str = r#"
func main() {
	if len(os.Args) > 1 {
		if _, err := createFile("t", "10"); err != nil {
			fmt.Println("refused")
		} else {
			fmt.Println("created")
		}
		return
	}
	file, err := openFile("t", "10")
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Println("none")
		return
	}
	text := make([]byte, 9)
	n, err := file.Read(text)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text[:n]))
}
"#;

const SHELL: &str = r#"
if [ $# -gt 0 ]; then
    if create_file t 10 2>/dev/null; then echo created; else echo refused; fi
elif open_file t 10; then
    cat <&3
    echo
else
    echo none
fi
"#;

/// Writes and builds the program for a move in a folder; returns its command.
type Build = fn(&Path, &str) -> Command;

fn code(language: Language, old: &str, new: &str) -> String {
    transition(&old.parse().unwrap(), &new.parse().unwrap(), language).unwrap()
}

/// Checks a language on both ways between `flat` and `digest:2`.
fn check(language: Language, build: Build) {
    let file = "digest:2".parse::<Layout>().unwrap().path_for(NAME.as_bytes()).unwrap();
    for (old, new) in [("flat", "digest:2"), ("digest:2", "flat")] {
        let place = tempfile::tempdir().unwrap();
        let mut command = build(place.path(), &code(language, old, new));
        command.current_dir(place.path());
        let mut prints = |expected: &str| {
            let output = command.output().unwrap();
            let out = String::from_utf8_lossy(&output.stdout);
            assert_eq!(out.trim_end(), expected, "{language:?}, {old} to {new}: {output:?}");
        };
        let top = place.path().join("t");
        fs::create_dir_all(top.join(NAME)).unwrap();
        prints("none");
        fs::create_dir_all(top.join(&file).parent().unwrap()).unwrap();
        fs::write(top.join(&file), "text").unwrap();
        prints("text");
        fs::remove_dir(top.join(NAME)).unwrap();
        fs::rename(top.join(&file), top.join(NAME)).unwrap();
        prints("text");
        fs::remove_file(top.join(NAME)).unwrap();
        fs::create_dir(top.join(NAME)).unwrap();
        command.arg("create");
        let output = command.output().unwrap();
        let expected = if new == "flat" { "refused\n" } else { "created\n" };
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{language:?}, {old} to {new}: {output:?}"
        );
    }
}

#[test]
fn python_does_not_take_a_directory_for_a_file() {
    require!(have("python3"));
    check(Language::Python, |place, code| {
        fs::write(place.join("program.py"), format!("{code}{PYTHON}")).unwrap();
        let mut command = Command::new("python3");
        command.arg("program.py");
        command
    });
}

#[test]
fn rust_does_not_take_a_directory_for_a_file() {
    check(Language::Rust, |place, code| {
        let main = place.join("main.rs");
        fs::write(&main, format!("{code}{RUST}")).unwrap();
        Command::new(run_rust::compile(&main))
    });
}

#[test]
fn go_does_not_take_a_directory_for_a_file() {
    require!(have("go"));
    check(Language::Go, |place, code| {
        fs::write(place.join("go.mod"), "module printed\n\ngo 1.18\n").unwrap();
        fs::write(place.join("main.go"), format!("package main\n\n{code}{GO}")).unwrap();
        silent(run_go::go(place).args(["build", "-gcflags=all=-N -l", "-o", "printed.exe", "."]));
        if have("gofmt").is_ok() {
            silent(Command::new("gofmt").arg("-d").arg(place.join("main.go")));
        }
        Command::new(place.join("printed.exe"))
    });
}

fn shell(shell: &'static str, place: &Path, code: &str) -> Command {
    fs::write(place.join("program.sh"), format!("set -eu\n{code}{SHELL}")).unwrap();
    let mut command = Command::new(shell);
    command.arg("program.sh");
    command
}

#[test]
fn sh_does_not_take_a_directory_for_a_file() {
    check(Language::Shell, |place, code| shell("sh", place, code));
}

#[test]
fn dash_does_not_take_a_directory_for_a_file() {
    require!(have("dash"));
    check(Language::Shell, |place, code| shell("dash", place, code));
}

#[test]
fn bash_does_not_take_a_directory_for_a_file() {
    require!(have("bash"));
    check(Language::Shell, |place, code| shell("bash", place, code));
}

#[test]
fn zsh_does_not_take_a_directory_for_a_file() {
    require!(have("zsh"));
    check(Language::Shell, |place, code| shell("zsh", place, code));
}

/// Code that moves the file and makes the directory between the looks at the new path and at the old one.
const PYTHON_MOVES: &str = r#"
def old_path_for(name):
    os.rename("t/10", "t/4a/10")
    os.mkdir("t/10")
    return name
"#;

const SHELL_MOVES: &str = r#"
old_path_for() {
    mv t/10 t/4a/10
    mkdir t/10
    layout_path=$1
}
"#;

#[test]
fn a_file_that_is_moved_between_two_looks_is_found() {
    let python = (Language::Python, format!("{PYTHON_MOVES}{PYTHON}"));
    let shell = (Language::Shell, format!("{SHELL_MOVES}{SHELL}"));
    let programs = [("python3", &python), ("sh", &shell), ("bash", &shell), ("zsh", &shell)];
    for (tool, (language, program)) in programs {
        if have(tool).is_err() {
            continue;
        }
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("t/4a")).unwrap();
        fs::write(place.path().join("t/10"), "text").unwrap();
        fs::write(place.path().join("program"), code(*language, "flat", "digest:2") + program).unwrap();
        let output = Command::new(tool).arg("program").current_dir(place.path()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), "text", "{tool}: {output:?}");
    }
}
