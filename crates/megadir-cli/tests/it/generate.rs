//! `megadir generate`: man pages without faults, and completions that work in real shells.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::path::Path;
use std::process::{Command, Stdio};

use megadir_testkit::require;

use crate::support::{Ran, finish, have, program, run, text};

#[test]
fn man_pages_have_no_faults_and_name_every_command() {
    require!(have("mandoc"));
    require!(have("man"));
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), &["generate", "man", "--output", "man1"]).quiet();
    let mut names = Vec::new();
    for entry in directory.path().join("man1").read_dir().unwrap() {
        let path = entry.unwrap().path();
        // Style remarks are of the generators: long lines, and no date, because builds are reproducible.
        let lint = Command::new("mandoc").args(["-T", "lint", "-W", "warning"]).arg(&path).output().unwrap();
        let remarks = text(&lint.stdout);
        let faults = remarks.lines().filter(|line| !line.contains("missing date"));
        assert_eq!(faults.collect::<Vec<_>>(), Vec::<&str>::new());
        let shown = Command::new("man").arg("-l").arg(&path).env("MANWIDTH", "80").output().unwrap();
        assert!(shown.status.success() && shown.stderr.is_empty(), "{shown:?}");
        let shown = text(&shown.stdout);
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES"] {
            assert!(shown.lines().any(|line| line == section), "{section} is missing:\n{shown}");
        }
        names.push(path.file_name().unwrap().to_string_lossy().into_owned());
    }
    names.sort();
    for name in ["megadir.1", "megadir-list.1", "megadir-bench.1", "megadir-bench-run.1", "megadir-remove.1"]
    {
        assert!(names.iter().any(|known| known == name), "{names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("worker")), "{names:?}");
}

/// Starts a shell with the program in its path.
fn shell(name: &str, at: &Path, script: &str) -> Ran {
    let path = format!("{}:{}", program().parent().unwrap().display(), std::env::var("PATH").unwrap());
    let flags: &[&str] = match name {
        "bash" => &["--norc", "-c"],
        "zsh" => &["-f", "-c"],
        _ => &["--no-config", "-c"],
    };
    let mut command = Command::new(name);
    command.args(flags).arg(script).current_dir(at).env("PATH", path).env("HOME", at).stdin(Stdio::null());
    finish(&mut command)
}

/// Lines with the words before the cursor, and completions that are expected and unexpected.
const COMPLETIONS: &[(&str, &[&str], &str)] = &[
    ("megadir l", &["list", "limits"], "remove"),
    ("megadir bench r", &["run", "report"], "list"),
    ("megadir list --ba", &["--backend"], "--buffer"),
    ("megadir list --backend ", &["getdents", "split", "std"], "listing"),
    ("megadir bench run s", &["smallfile", "stat-or-list"], "listing"),
    ("megadir bench run smallfile --fs e", &["ext2", "ext4"], "xfs"),
    ("megadir bench run smallfile --fs xfs,e", &["xfs,ext2", "xfs,ext4"], "xfs,btrfs"),
    ("megadir list --fields size,m", &["size,mtime", "size,mode"], "size,ctime"),
    ("megadir bench ", &["run", "compare"], "worker"),
    ("megadir bench report --chart o", &["overview"], "growth"),
];

fn expect(shell: &str, line: &str, printed: &Ran, expected: &[&str], unexpected: &str) {
    assert_eq!(printed.code, Some(0), "{shell}: {line}: {printed:?}");
    let printed = without_escapes(&text(&printed.out));
    let words: Vec<&str> = printed.split_whitespace().collect();
    for word in expected {
        // zsh lists the part after the comma only.
        let part = word.rsplit(',').next().filter(|_| shell == "zsh").unwrap_or(word);
        assert!(words.contains(&part), "{shell}: {line}: no {part} in {printed:?}");
    }
    assert!(!words.contains(&unexpected), "{shell}: {line}: {unexpected} in {printed:?}");
}

/// Leaves out the control sequences of a terminal: ESC, `[`, parameters, a letter.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        plain + part.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).get(1..).unwrap_or_default()
    })
}

#[test]
fn bash_completes() {
    require!(have("bash"));
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), &["generate", "bash", "--output", "."]).quiet();
    for (line, expected, unexpected) in COMPLETIONS {
        let script = format!(
            "source ./megadir; line='{line}'; read -ra COMP_WORDS <<<\"$line\"; \
             [[ $line == *' ' ]] && COMP_WORDS+=(''); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             registered=$(complete -p megadir); registered=${{registered##*-F }}; \
             ${{registered%% *}} megadir \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        expect("bash", line, &shell("bash", directory.path(), &script), expected, unexpected);
    }
}

#[test]
fn fish_completes() {
    require!(have("fish"));
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), &["generate", "fish", "--output", "."]).quiet();
    for (line, expected, unexpected) in COMPLETIONS {
        let script =
            format!("source megadir.fish; complete --do-complete '{line}' | string split -f1 \\t; true");
        expect("fish", line, &shell("fish", directory.path(), &script), expected, unexpected);
    }
}

/// zsh completes only on a terminal: one is made by its own module.
#[test]
fn zsh_completes() {
    require!(have("zsh"));
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), &["generate", "zsh", "--output", "functions"]).quiet();
    for (line, expected, unexpected) in COMPLETIONS {
        let script = format!(
            "zmodload zsh/zpty; zpty shell 'zsh -f -i'; \
             zpty -w shell \"stty columns 400; PS1=; fpath=($PWD/functions \\$fpath); autoload -U compinit; compinit -u; \
             zstyle ':completion:*' list-packed no; LISTMAX=0; bindkey '^I' list-choices; print -r -- READY'NOW'\"; \
             zpty -r shell seen '*READYNOW*'; zpty -n -w shell '{line}'$'\\t'; sleep 0.2; \
             zpty -n -w shell $'\\C-u'\"print -r -- 'THE''END'\"$'\\n'; zpty -r shell seen '*THEEND*'; print -r -- \"$seen\"; \
             zpty -d shell"
        );
        expect("zsh", line, &shell("zsh", directory.path(), &script), expected, unexpected);
    }
}

#[test]
fn completions_of_powershell_name_the_commands() {
    let printed = text(&run(".".as_ref(), &["generate", "powershell"]).quiet());
    assert!(
        printed.contains("Register-ArgumentCompleter") && printed.contains("megadir;bench;run"),
        "{printed}"
    );
}
