//! Makes the files of a release and tries them: in a new Debian, in an empty root, and the source without a network.

mod roots;

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::ci::stage::{Context, PROFILE, Report};
use crate::package::{Packages, Release, lacking_to_link};
use crate::{files, process};
use roots::{ROOT, Root, USER};

/// A command in a root directory, and the user who runs it. `about` completes "cannot ...".
struct Step {
    about: &'static str,
    user: u32,
    script: &'static str,
}

const fn step(about: &'static str, user: u32, script: &'static str) -> Step {
    Step { about, user, script }
}

/// A user's first commands. `make` comes first, and its files are older than a clock tick when they are scanned.
const WORK: &str = "cd $(mktemp -d); megadir make demo --entries 1000; sleep 0.1; [ $(megadir list demo | wc -l) = 1000 ]
    [ $(megadir list --long demo | grep -c $(id -u)) = 1000 ] || [ $(id -u) = 0 ]
    megadir scan demo -o demo.parquet; touch demo/new; [ \"$(megadir changes demo.parquet | grep -c '^added.*/new$')\" = 1 ]
    megadir remove --yes demo; [ ! -e demo ]";

const STEPS: &[Step] = &[
    step("install the package", ROOT, "dpkg --install /tmp/megadir.deb"),
    step("print the version", USER, "megadir --version; megadir version; megadir doctor"),
    step("work as root", ROOT, WORK),
    step("work as an ordinary user", USER, WORK),
    step(
        "read every man page",
        USER,
        "cd /usr/share/man/man1; n=0; for page in megadir*.1.gz; do n=$((n + 1)); MANWIDTH=80 man -l $page | grep -q NAME
            [ -z \"$(zcat $page | mandoc -T lint -W warning | grep -v 'missing date')\" ]; done; [ $n -gt 15 ]
            man megadir-list | grep -q -- --summary",
    ),
    step(
        "complete in bash",
        USER,
        "exec bash --norc -c '. /usr/share/bash-completion/bash_completion; _completion_loader megadir
            COMP_WORDS=(megadir li); COMP_CWORD=1; _megadir megadir li megadir; [[ \" ${COMPREPLY[*]} \" == *\" list \"* ]]'",
    ),
    step(
        "complete in zsh",
        USER,
        "exec zsh -f -c 'autoload -U compinit; compinit -u -D; [[ $_comps[megadir] == _megadir ]] && autoload +X _megadir'",
    ),
    step(
        "complete in fish",
        USER,
        "fish -c 'complete --do-complete \"megadir li\"' | grep -q '^list'",
    ),
    step("find licences and pages", USER, "cd /usr/share/doc/megadir; ls copyright LICENSE-APACHE README.md docs/install.md"),
    step("remove the package", ROOT, "dpkg --purge megadir; [ -z \"$(command -v megadir)\" ]"),
];

/// The same with the program alone: no shell, no `/proc`, no temporary folder.
const ALONE: &[&[&str]] = &[
    &["--version"],
    &["make", "/data/demo", "--entries", "1000"],
    &["list", "--count", "/data/demo"],
    &["scan", "/data/demo", "--output", "/data/demo.parquet"],
    &["changes", "/data/demo.parquet"],
    &["remove", "--yes", "/data/demo"],
];

/// In the short tier the Debian package alone, of the program that the tests were built with.
///
/// The short tier does not build the program again: it packs the one that the tests were built with, and so
/// tries the package's contents and scripts. Only the long tier makes everything as published.
pub(crate) fn run(context: &Context) -> Result<Report, String> {
    if let Some(why) = roots::lacking().or_else(|| lacking_to_link().filter(|_| context.full)) {
        return Ok(Report::not_run(format!("package: {why}")));
    }
    let release = Release::of(&context.workspace, if context.full { "release" } else { PROFILE })?;
    let scratch = context.scratch()?;
    let debian = match roots::debian(&context.workspace.tools()) {
        Ok(debian) => debian,
        Err(why) => return Ok(Report::not_run(format!("package: no new Debian: {}", first_line(&why)))),
    };
    if let Err(why) = release.install_tools(context.full) {
        return Ok(Report::not_run(format!("package: no tools: {}", first_line(&why))));
    }
    let mut tried = if context.full {
        let packages = release.make(true)?;
        let mut tried = vec![
            ("Debian package", try_deb(&debian, &scratch, &packages.deb)),
            ("static program", try_alone(&scratch, &packages.archive)),
            ("source", try_source(&scratch, &packages)),
        ];
        tried.extend(packages.components.iter().map(|list| ("components", try_components(list))));
        tried
    } else {
        let deb = release.make_deb(&context.program()?)?;
        vec![("Debian package", try_deb(&debian, &scratch, &deb))]
    };
    tried.push(("crates", try_crates(context)));
    let mut report = Report::default();
    for (part, tried) in tried {
        match tried {
            Ok(line) => report.lines.push(format!("package: {part}: {line}")),
            Err(why) => report.failures.push(format!("{part}: {why}")),
        }
    }
    Ok(report)
}

fn try_deb(debian: &Path, scratch: &Path, deb: &Path) -> Result<String, String> {
    let root = Root::unpack(debian, scratch)?;
    let before = root.files()?;
    root.take(deb, "tmp/megadir.deb")?;
    for Step { about, user, script } in STEPS {
        root.sh(*user, script).map_err(|why| format!("cannot {about}: {why}"))?;
    }
    let left = root.files()?;
    // Files that the system writes for any package are no rest of this one.
    let left: Vec<&String> = left.difference(&before).filter(|file| !roots::of_the_system(file)).collect();
    if !left.is_empty() {
        return Err(format!("removing it left {left:?}"));
    }
    Ok(format!("{} steps in a new Debian, nothing left, {}", STEPS.len(), size(deb)))
}

/// The packages of a registry, in their order. Only the long tier compiles each from what is in it.
fn try_crates(context: &Context) -> Result<String, String> {
    let mut command = context.cargo(&["package", "--workspace", "--offline", "--allow-dirty"]);
    // They are for this repository alone.
    command.args(["--exclude=xtask", "--exclude=megadir-testkit"]);
    if !context.full {
        command.arg("--no-verify");
    }
    let (_, printed) = process::outputs(&mut command)?;
    let packed = printed.lines().filter(|line| line.trim_start().starts_with("Packaged ")).count();
    let compiled = if context.full { ", each compiled alone" } else { "" };
    match packed {
        0 => Err(format!("`cargo package` packed nothing: {}", first_line(&printed))),
        _ => Ok(format!("{packed} packages{compiled}")),
    }
}

fn try_alone(scratch: &Path, archive: &Path) -> Result<String, String> {
    let folder = unpack(archive, scratch)?;
    let program = folder.path().join(stem(archive)).join("megadir");
    for user in [ROOT, USER] {
        // Compared as text: in an empty root there is no shell to compare it.
        let root = Root::empty(scratch)?;
        root.take(&program, "megadir")?;
        for words in ALONE {
            let printed = root.run(user, "/megadir", words)?;
            if words.contains(&"--count") && printed.trim() != "1000" {
                return Err(format!("`megadir {}` printed {printed:?}", words.join(" ")));
            }
        }
    }
    let (program, archive) = (size(&program), size(archive));
    Ok(format!("{} steps in an empty root as root and as a user, {program}, packed {archive}", ALONE.len()))
}

fn try_source(scratch: &Path, packages: &Packages) -> Result<String, String> {
    let folder = unpack(&packages.source, scratch)?;
    let tree = folder.path().join(stem(&packages.source));
    cargo_offline(&tree, folder.path(), &["build", "--package=megadir-cli"])?;
    // The version must come from the commit in the archive, as there is no git.
    let mut program = Command::new(folder.path().join("target/debug/megadir"));
    let version = process::output(program.arg("version"))?;
    if !version.contains(packages.commit.as_str()) {
        return Err(format!("the program built from it does not print its commit: {version}"));
    }
    Ok(format!("built without a network, {}", size(&packages.source)))
}

/// Without network and without cargo's own store of crates.
fn cargo_offline(tree: &Path, scratch: &Path, words: &[&str]) -> Result<String, String> {
    let mut command = Command::new(process::cargo());
    command.args(words).args(["--offline", "--locked"]).current_dir(tree);
    command.env("CARGO_HOME", scratch.join("cargo-home")).env("CARGO_TARGET_DIR", scratch.join("target"));
    process::output(&mut command)
}

/// Every component has a licence, and crates of all layers are among them.
fn try_components(list: &Path) -> Result<String, String> {
    let list: Value =
        serde_json::from_str(&files::read(list)?).map_err(|error| format!("it is not JSON: {error}"))?;
    let components: &[Value] = list["components"].as_array().map_or(&[], Vec::as_slice);
    // One crate of each layer: our own, a library of Rust, one with C code, one of the command line.
    for name in ["megadir-sys", "parquet", "zstd-sys", "clap"] {
        if !components.iter().any(|component| component["name"] == name) {
            return Err(format!("it lacks {name}"));
        }
    }
    let unlicensed = components.iter().find(|component| component["licenses"].as_array().is_none());
    match unlicensed {
        Some(component) => Err(format!("{} has no licence", component["name"])),
        None => Ok(format!("{} with licences", components.len())),
    }
}

fn unpack(archive: &Path, scratch: &Path) -> Result<TempDir, String> {
    let folder = files::temporary_folder(scratch)?;
    process::output(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(folder.path()))?;
    Ok(folder)
}

fn stem(archive: &Path) -> String {
    archive.file_name().unwrap_or_default().to_string_lossy().replace(".tar.gz", "")
}

fn size(file: &Path) -> String {
    let bytes = std::fs::metadata(file).map_or(0, |facts| facts.len());
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_is_installed_first_and_removed_last() {
        assert!(STEPS[0].script.contains("--install") && STEPS[STEPS.len() - 1].script.contains("--purge"));
        assert!(STEPS.iter().any(|step| step.user == ROOT) && STEPS.iter().any(|step| step.user == USER));
    }

    /// Text before the tests, and before what only documentation tests compile.
    fn shipped(text: &str) -> &str {
        let end = ["#[cfg(test)]", "#[cfg(all(test", "#[cfg(doctest)]"]
            .iter()
            .filter_map(|mark| text.find(mark))
            .min();
        &text[..end.unwrap_or(text.len())]
    }

    /// The short tier packs the crates without compiling them, so a file outside of its crate would be missed in the package.
    #[test]
    fn crates_include_files_of_their_own_only() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut seen = 0;
        for own in files::list(crates).unwrap() {
            let manifest = files::read(&own.join("Cargo.toml")).unwrap_or_default();
            if manifest.contains("publish = false") {
                continue;
            }
            let mut folders = vec![own.join("src")];
            while let Some(folder) = folders.pop() {
                for path in files::list(&folder).unwrap() {
                    if path.is_dir() {
                        folders.push(path);
                        continue;
                    }
                    let text = files::read(&path).unwrap_or_default();
                    if path.ends_with("tests.rs")
                        || path.extension().is_none_or(|extension| extension != "rs")
                    {
                        continue;
                    }
                    for included in shipped(&text).split("include_").skip(1) {
                        let Some(file) = included
                            .split('"')
                            .nth(1)
                            .filter(|_| included.starts_with("str!(") || included.starts_with("bytes!("))
                        else {
                            continue;
                        };
                        let full = std::fs::canonicalize(path.parent().unwrap().join(file)).unwrap();
                        assert!(
                            full.starts_with(std::fs::canonicalize(&own).unwrap()),
                            "{}: {file}",
                            path.display()
                        );
                        seen += 1;
                    }
                }
            }
        }
        assert!(seen > 10, "{seen}");
    }

    #[test]
    fn a_source_that_lacks_a_dependency_does_not_work_offline() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("a");
        std::fs::create_dir_all(tree.join("src")).unwrap();
        std::fs::write(tree.join("src/lib.rs"), "").unwrap();
        let manifest = "[package]\nname = \"a\"\nversion = \"1.0.0\"\nedition = \"2024\"\n";
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n";
        std::fs::write(tree.join("Cargo.lock"), lock).unwrap();
        let tried = |manifest: &str| {
            std::fs::write(tree.join("Cargo.toml"), manifest).unwrap();
            cargo_offline(&tree, folder.path(), &["metadata", "--format-version=1"])
        };
        assert!(tried(manifest).unwrap().contains("\"a\""));
        assert!(tried(&format!("{manifest}[dependencies]\nitoa = \"1\"\n")).is_err());
    }

    #[test]
    fn components_without_a_licence_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list.json");
        let tried = |last: &str| {
            let known = ["megadir-sys", "parquet", "zstd-sys"]
                .map(|name| format!(r#"{{"name": "{name}", "licenses": []}}"#));
            std::fs::write(&list, format!(r#"{{"components": [{}, {last}]}}"#, known.join(","))).unwrap();
            try_components(&list)
        };
        assert_eq!(tried(r#"{"name": "clap", "licenses": []}"#).unwrap(), "4 with licences");
        assert_eq!(tried(r#"{"name": "clap"}"#).unwrap_err(), "\"clap\" has no licence");
        assert_eq!(tried(r#"{"name": "other", "licenses": []}"#).unwrap_err(), "it lacks clap");
    }
}
