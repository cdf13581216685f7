//! Builds the wheel and tests it: alone in a bare environment, then together with libraries by pytest (with
//! the examples of docs), mypy and pyright.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ci::stage::{Context, PROFILE, Report};
use crate::process;
use crate::wheel::{self, Environment};

/// pyright brings node by `nodejs`, and itself from the registry npm.
const TOOLS: &[&str] = &[
    "pytest==9.2.0",
    "mypy==2.4.1",
    "pyright[nodejs]==1.1.414",
    "pyarrow==26.0.1",
    "typing_extensions>=4.12",
    "twine==7.0.0",
];

/// Engines of tasks, which take new versions of Python only. Their tests are skipped without them.
const ENGINES: &[&str] = &["distributed==2026.8.0", "ray==2.60.0"];

/// Libraries that take streams. Their tests are skipped without them.
const CONSUMERS: &[&str] = &["duckdb==2.0.1", "pandas==3.1.1", "polars==2.1.0", "tqdm==4.70.1"];

/// Libraries that search folders of images. `datasets` takes a dozen small packages.
const FOLDERS: &[&str] = &["fsspec==2026.9.0", "zarr==3.1.6", "datasets==5.2.0", "pillow==13.0.0"];

/// Only its functions without tensors are called: torch takes gigabytes.
const WITHOUT_TORCH: &[&str] = &["--no-deps", "torchvision==0.29.2"];

/// Alone, because it asks for an older pyarrow than the other libraries; 56 MB, so for the long tier.
const DAFT: &[&str] = &["--no-deps", "daft==0.7.26"];

/// For the notebook of docs/.
const NOTEBOOK_TOOLS: &[&str] = &["matplotlib==3.11.2"];

/// The oldest Python that the wheel supports, and one that is newer than Debian 12's. `--full` runs pytest
/// on them if they are installed.
const OTHER_VERSIONS: &[&str] = &["3.9", "3.13"];

/// The least that pytest needs, in versions for any Python.
const TOOLS_OF_OTHERS: &[&str] = &["pytest", "pyarrow"];

/// Run in a bare environment: the three readers must agree on the number of entries without any library.
const ALONE: &str = "import megadir, os
assert megadir.count() == len(os.listdir()) == len([entry.name for entry in megadir.scandir()])
assert sum(len(batch) for batch in megadir.list(columns=['name', 'size'])) == len(os.listdir())";

/// The tests need most of the unoptimised build too.
///
/// The bare environment comes first: the package must work without any library. Libraries are optional
/// groups, and one that cannot be installed here is a part that did not run. Types are checked last, in the
/// environment that has the libraries.
pub(crate) fn run(context: &Context) -> Result<Report, String> {
    for tool in ["python3", "pip3"] {
        if process::find_tool(tool).is_none() {
            return Ok(Report::not_run(format!("python: no {tool}")));
        }
    }
    process::run(&mut clippy(context))?;
    let profile = if context.full { "release" } else { PROFILE };
    let wheel = wheel::build(&context.workspace, profile, &context.program()?)?;
    let wheel = ["--no-index", "--no-deps", "--force-reinstall", &wheel.to_string_lossy()];
    let bare = Environment::bare(Path::new("python3"), context.scratch()?.join("python"))?;
    bare.install(&wheel)?;
    process::run(Command::new(bare.program("megadir")).arg("--version"))?;
    process::run(&mut python(context, &bare, &["-c", ALONE]))?;
    // Unpacking the libraries takes a minute, so they stay for the next run, in this and in other clones.
    let environment = Environment::at(context.workspace.tools().join("python-tests"))?;
    environment.install(TOOLS)?;
    // As the registry would: its metadata and its page.
    process::run(&mut python(context, &environment, &["-m", "twine", "check", "--strict", wheel[3]]))?;
    environment.install(&wheel)?;
    let mut report = Report::default();
    let libraries = [
        ("Ray and Dask", ENGINES),
        ("Polars, pandas, DuckDB and tqdm", CONSUMERS),
        ("fsspec, Zarr and datasets", FOLDERS),
        ("torchvision", WITHOUT_TORCH),
    ];
    for (tests, libraries) in libraries {
        if let Err(error) = environment.install(libraries) {
            report.not_run.push(format!("tests of {tests}: {error}"));
        }
    }
    if context.full {
        environment.install(NOTEBOOK_TOOLS)?;
        environment.install(DAFT)?;
    }
    let tests = context.root("crates/megadir-python/tests").to_string_lossy().into_owned();
    process::run(&mut pytest(context, &environment, &tests))?;
    for version in if context.full { OTHER_VERSIONS } else { &[] } {
        let Some(interpreter) = interpreter(version) else {
            report.lines.push(format!("pytest on Python {version}: not installed here"));
            continue;
        };
        let other = Environment::bare(&interpreter, context.scratch()?.join("python-other"))?;
        other.install(TOOLS_OF_OTHERS)?;
        other.install(&wheel)?;
        process::run(&mut pytest(context, &other, &tests))?;
        report.lines.push(format!("pytest on Python {version}: passed"));
    }
    let (cache, typed) = (context.scratch()?.join("mypy"), format!("{tests}/typed.py"));
    // The package with its stubs, and a file that uses it as a caller would.
    for checked in [["--package", "megadir"].as_slice(), &[&typed]] {
        let mypy = ["-m", "mypy", "--strict", "--cache-dir", &cache.to_string_lossy()];
        process::run(&mut python(context, &environment, &[&mypy, checked].concat()))?;
    }
    let (project, program) = (context.root("crates/megadir-python"), environment.program("python"));
    let (project, program) = (project.to_string_lossy(), program.to_string_lossy());
    let pyright = ["-m", "pyright", "--project", &project, "--pythonpath", &program];
    process::run(&mut python(context, &environment, &pyright))?;
    Ok(report)
}

fn pytest(context: &Context, environment: &Environment, tests: &str) -> Command {
    let mut pytest =
        python(context, environment, &["-m", "pytest", "--quiet", "-rs", "-p", "no:cacheprovider", tests]);
    if context.full {
        pytest.env("MEGADIR_FULL", "1");
    }
    pytest
}

/// Python of this version from PATH or from pyenv, whose own `python3.N` on PATH runs only versions that were chosen.
fn interpreter(version: &str) -> Option<PathBuf> {
    let on_path = PathBuf::from(format!("python{version}"));
    let runs = |program: &Path| {
        Command::new(program).arg("--version").output().is_ok_and(|ran| ran.status.success())
    };
    if runs(&on_path) {
        return Some(on_path);
    }
    let home = std::env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")))?;
    let installed = std::fs::read_dir(home.join("versions")).ok()?.flatten();
    let wanted = format!("{version}.");
    let mut found = installed.filter(|entry| entry.file_name().to_string_lossy().starts_with(&wanted));
    found.find_map(|entry| Some(entry.path().join("bin/python3")).filter(|program| runs(program)))
}

fn clippy(context: &Context) -> Command {
    let mut command = context.cargo(&["clippy", "--locked", "--profile", PROFILE, "--manifest-path"]);
    command.arg(context.root("crates/megadir-python/Cargo.toml")).args(["--", "-D", "warnings"]);
    // As maturin sets it; the target folder has most dependencies already.
    command.env("PYO3_BUILD_EXTENSION_MODULE", "1").env("CARGO_TARGET_DIR", &context.workspace.target);
    command
}

/// The folder has no source of the package.
fn python(context: &Context, environment: &Environment, words: &[&str]) -> Command {
    let mut command = Command::new(environment.program("python"));
    command.current_dir(context.root("docs")).args(words).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}
