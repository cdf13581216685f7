//! `cargo xtask speed`: builds megadir, installs the programs it is compared with, and runs the study `peers`. A missing program is left out of
//! the study, with a note. `--published` makes the records and pages of the repository again.
//!
//! ```text
//! Args -> peers::install -> study `peers` by megadir -> target/speed/NAME.jsonl -> records/ -> pages
//!      -> peers::check (--check): programs with a newer version
//! ```

mod peers;

use crate::files;
use crate::process::{self, Workspace};
use std::path::{Path, PathBuf};
use std::process::Command;

/// For a try by hand; publications have their own.
const OPTIONS: &str = "--fs ext4,xfs,btrfs --cache warm,fs-cold";

/// Record of the repository, and the options of the run that it comes from.
struct Publication {
    folder: &'static str,
    options: &'static str,
    /// Default number of files and rounds, if not the study's.
    size: &'static str,
}

impl Publication {
    /// Name of the folder without its date.
    fn name(&self) -> &'static str {
        let date_and_name = self.folder.trim_start_matches("records/");
        date_and_name.splitn(4, '-').last().unwrap_or(date_and_name)
    }
}

/// Nine rounds suffice for intervals in groups of eight programs.
static PUBLICATIONS: &[Publication] = &[
    Publication { folder: "records/2026-11-24-peers", options: "--published", size: "" },
    Publication {
        folder: "records/2026-11-24-peers-uncached",
        options: "--group names,attributes,tree,usage,inventory --cache fs-cold",
        size: "--entries 100k --rounds 11",
    },
    Publication {
        folder: "records/2026-11-23-usage-tree",
        options: "--group usage --layout per-directory:100",
        size: "--entries 1M --rounds 9",
    },
    Publication {
        folder: "records/2026-11-23-usage-flat",
        options: "--group usage --layout flat",
        size: "--entries 1M --rounds 9",
    },
    Publication {
        folder: "records/2026-11-24-usage-tree-uncached",
        options: "--group usage --layout per-directory:100 --cache fs-cold",
        size: "--entries 1M --rounds 11",
    },
    Publication {
        folder: "records/2026-11-24-usage-flat-uncached",
        options: "--group usage --layout flat --cache fs-cold",
        size: "--entries 1M --rounds 11",
    },
];

/// With the words that the tests of this clone are built with already.
const PAGES: [&str; 11] = [
    "test",
    "--workspace",
    "--all-features",
    "--locked",
    "--profile",
    "ci",
    "--test",
    "it",
    "--",
    "--exact",
    PAGES_TEST,
];
const PAGES_TEST: &str = "pages::compared::comparisons_on_pages_equal_their_records";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Install nothing: measure with the programs that are present
    #[arg(long)]
    installed: bool,
    /// Make published records again, and the pages that show them; options replace the numbers of files and rounds
    ///
    /// Without names, all of them: peers, peers-uncached, usage-tree, usage-flat, usage-tree-uncached, usage-flat-uncached.
    #[arg(long, value_name = "NAME,...", num_args = 0..=1, require_equals = true, value_delimiter = ',', default_missing_value = "")]
    published: Option<Vec<String>>,
    /// Only print the programs that have a newer version than the compared one; fails if there are any
    #[arg(long, conflicts_with_all = ["installed", "published", "options"])]
    check: bool,
    /// Options of `megadir bench run peers` [default: --fs ext4,xfs,btrfs --cache warm,fs-cold]
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

/// Builds megadir as users have it, installs the other programs, and starts the study with both before the system's programs on `PATH`; for
/// publications it replaces the records and the pages that are made from them.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    let workspace = Workspace::find()?;
    let tools = workspace.target.join("tools");
    if args.check {
        return match peers::check(&tools)? {
            0 => Ok(()),
            newer => Err(format!("{newer} programs of the comparison have a newer version")),
        };
    }
    let chosen = args.published.as_deref().map(chosen).transpose()?;
    process::run(&mut workspace.cargo(&["build", "--release", "--locked", "--package", "megadir-cli"]))?;
    let folder = match args.installed {
        true => tools.join("peers/bin"),
        false => peers::install(&tools)?,
    };
    link_interpreter(&folder)?;
    let path = before_path(folder)?;
    let study = || {
        let mut study = Command::new(workspace.target.join("release/megadir"));
        study.args(["bench", "run", "peers"]).env("PATH", &path);
        study
    };
    let given = |otherwise: &str| match args.options.is_empty() {
        true => otherwise.split_whitespace().map(str::to_owned).collect(),
        false => args.options.clone(),
    };
    match chosen {
        Some(chosen) => publish(&workspace, &chosen, &study, &given),
        None => process::run(study().args(given(OPTIONS))),
    }
}

/// Publications by their names; all without one.
fn chosen(names: &[String]) -> Result<Vec<&'static Publication>, String> {
    let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    if let Some(name) = names.iter().find(|name| PUBLICATIONS.iter().all(|of| of.name() != **name)) {
        let known: Vec<&str> = PUBLICATIONS.iter().map(Publication::name).collect();
        return Err(format!("--published={name}: no such record (known: {})", known.join(", ")));
    }
    Ok(PUBLICATIONS.iter().filter(|of| names.is_empty() || names.contains(&of.name())).collect())
}

fn publish(
    workspace: &Workspace,
    publications: &[&Publication],
    study: &dyn Fn() -> Command,
    size: &dyn Fn(&str) -> Vec<String>,
) -> Result<(), String> {
    let folder = workspace.target.join("speed");
    files::recreate_folder(&folder)?;
    let record = |publication: &Publication| folder.join(format!("{}.jsonl", publication.name()));
    for publication in publications {
        let mut run = study();
        run.args(["--fs", "ext4"]).args(publication.options.split(' ')).args(size(publication.size));
        // A seed of its own for all publications, and no names of this machine.
        run.args(["--seed", "1", "--share", "--output"]).arg(record(publication));
        process::run(run.current_dir(&folder))?;
    }
    // Copied when all runs are done, so that an interrupted publication changes nothing.
    for publication in publications {
        let published = workspace.root.join(publication.folder);
        files::copy(&record(publication), &published.join("record.jsonl"))?;
    }
    process::run(workspace.cargo(&PAGES).env("MEGADIR_BLESS", "1"))
}

/// The `python3` on `PATH` may be a script that searches for the interpreter each time.
fn link_interpreter(folder: &Path) -> Result<(), String> {
    let Some(python) = process::find_tool("python3") else { return Ok(()) };
    let printed = process::output(Command::new(python).args(["-c", "import sys; print(sys.executable)"]))?;
    let link = folder.join("python3");
    let made = std::fs::create_dir_all(folder).and_then(|()| match std::fs::remove_file(&link) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => std::os::unix::fs::symlink(printed.trim(), &link),
    });
    made.map_err(files::cannot("link", &link))
}

fn before_path(folder: PathBuf) -> Result<std::ffi::OsString, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).map_err(|error| format!("cannot extend PATH: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn options_after_two_dashes_are_the_studys() {
        let args = Cli::parse_from(["speed", "--installed", "--", "--quick", "--fs", "xfs"]).args;
        assert!(args.installed);
        assert_eq!(args.options, ["--quick", "--fs", "xfs"]);
    }

    #[test]
    fn published_records_are_the_ones_that_the_pages_show() {
        let pages = include_str!("../../../megadir-cli/tests/it/pages/compared.rs");
        for Publication { folder, .. } in PUBLICATIONS {
            assert!(pages.contains(&format!("\"{folder}\"")), "{folder}");
        }
        let test = PAGES_TEST.rsplit(':').next().unwrap();
        assert!(pages.contains(&format!("fn {test}()")), "{test}");
    }

    #[test]
    fn a_folder_comes_first_on_path() {
        let path = before_path(PathBuf::from("/tools/bin")).unwrap();
        assert_eq!(std::env::split_paths(&path).next(), Some(PathBuf::from("/tools/bin")));
    }

    #[test]
    fn publications_are_chosen_by_name_and_unknown_names_are_refused() {
        let names = |given: &str| -> Result<Vec<&str>, String> {
            let args = Cli::parse_from(["speed", given]).args;
            Ok(chosen(&args.published.unwrap())?.iter().map(|of| of.name()).collect())
        };
        assert_eq!(names("--published").unwrap().len(), PUBLICATIONS.len());
        assert_eq!(names("--published=peers,usage-flat").unwrap(), ["peers", "usage-flat"]);
        assert!(names("--published=peer").unwrap_err().contains("peers-uncached"));
    }
}
