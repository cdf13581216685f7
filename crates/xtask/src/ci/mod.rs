//! `cargo xtask ci`: the list of stages, cheap ones first. To add one: a file here with a function `fn(&Context) -> Result<Report,
//! String>`, and a line in [`STAGES`]. Without a required tool a stage reports `not run`, a failure if `MEGADIR_REQUIRE_ALL=1`.

mod browser;
mod cross;
mod drive;
pub(crate) mod emulated;
mod fuzz;
mod instructions;
mod lints;
mod package;
mod packages;
mod python;
mod smoke;
mod suites;
mod windows;
mod wine;

use crate::process;
pub(crate) use drive::{Args, run};
use drive::{Context, Report, Stage};

const LOWEST_PRIORITY: i32 = 19;

/// Fuzzing, Wine and pip leave processors idle, and nothing after them measures time.
static STAGES: &[Stage] = &[
    stage("packages", "install missing tools (Debian, as root) or list them", packages::run),
    stage("tidy", "structure and style: `cargo xtask tidy`", lints::tidy),
    stage("format", "formatting by rustfmt", lints::format),
    stage("clippy", "clippy, warnings are errors", lints::clippy),
    stage("docs", "documentation, warnings are errors", lints::docs),
    stage("book", "the book of docs/ by mdBook, every link checked", lints::book),
    stage("windows", "clippy for the Windows target", windows::run),
    stage("test", "unit, integration and doc tests", run_test),
    Stage { aside: true, ..stage("wine", "Windows test suites under Wine", wine::run) },
    Stage { aside: true, ..stage("fuzz", "each fuzz target for 20 s", fuzz::run) },
    Stage {
        aside: true,
        ..stage("python", "the Python package: its wheel, pytest, mypy, pyright, examples", python::run)
    },
    stage("instructions", "instructions of the measurement loop, by callgrind", instructions::run),
    stage("package", "the files of a release, tried in a new Debian and in an empty root", package::run),
    stage("smoke", "every study at its quick size", smoke::run),
    stage(
        "browser",
        "the report of every study in headless Chromium: wide and narrow, light and dark, printed",
        browser::run,
    ),
    stage(
        "cross",
        "decoders, records and inventories on s390x and 64-bit Arm in QEMU: by name, or with --full",
        cross::run,
    ),
    stage(
        "emulated",
        "file systems that this kernel lacks, in QEMU; by name and with --full, more suites",
        emulated::run_stage,
    ),
];

const fn stage(name: &'static str, about: &'static str, run: drive::Run) -> Stage {
    Stage { name, about, aside: false, run }
}

/// The stage `test`.
fn run_test(context: &Context) -> Result<Report, String> {
    if context.full || context.named {
        return suites::run_test(context);
    }
    std::thread::scope(|scope| {
        scope.spawn(|| build_ahead(context));
        suites::run_test(context)
    })
}

/// Builds what later stages need while the tests wait for devices, timers and child processes. Those stages build again, which then takes
/// no time, and report what failed.
fn build_ahead(context: &Context) {
    // Of this thread and of what it starts. Without it the tests only take longer.
    let _ = rustix::process::nice(LOWEST_PRIORITY);
    let fuzz = fuzz::host().map(|host| fuzz::build_command(context, &host));
    let mut wine = wine::build_command(context);
    wine.arg("--no-run");
    for mut command in [wine, instructions::build_command(context)].into_iter().chain(fuzz) {
        drop(process::run_at_most(&mut command, fuzz::BUILD_LIMIT));
    }
}
