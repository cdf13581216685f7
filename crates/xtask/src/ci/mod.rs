//! `cargo xtask ci`: the list of stages. To add one: a file here with a function `fn(&Context) -> Result<Report, String>`, and a line in
//! [`STAGES`]. A stage ran, failed, or is deferred to the long tier by a row of [`deferred`]. A part that cannot run for want of a tool is
//! `not run`, which is a failure if `MEGADIR_REQUIRE_ALL=1`.
//!
//! ```text
//! packages, tidy, format, build --+-- lane Tests:  test -> instructions -> smoke -> browser
//!                                 +-- lane Checks: clippy -> docs -> windows -> book -> python -> package -> emulated -> wine -> cross -> fuzz
//! ```
//!
//! Tests wait for devices and timers and compilers do not, so the two lanes run side by side. All stages that need the program or the tests use
//! those of the stage build (`cargo test --workspace --all-features --profile ci`). It comes before the lanes because cargo lets one build at a
//! time into a folder, and the checks share build scripts, procedural macros and C code with it by their profile.

mod browser;
mod cross;
mod deferred;
mod drive;
pub(crate) mod emulated;
mod fuzz;
mod instructions;
mod lints;
mod long;
mod memory_disk;
mod package;
mod packages;
mod python;
mod smoke;
pub(crate) mod stage;
mod suites;
mod times;
mod windows;
mod wine;

pub(crate) use drive::{Args, run};
use stage::{Lane, Stage};

static STAGES: &[Stage] = &[
    first("packages", "install missing tools (Debian, as root) or list them", packages::run),
    first("tidy", "structure and style: `cargo xtask tidy`", lints::tidy),
    first("format", "formatting by rustfmt", lints::format),
    first("build", "programs and tests, for most of the other stages", suites::run_build),
    tests("test", "unit, integration and doc tests, with the seeds of the fuzz targets", suites::run_test),
    tests("instructions", "instructions of the measurement loop, by callgrind", instructions::run),
    tests("smoke", "every study at its quick size", smoke::run),
    tests("browser", "reports in headless Chromium: wide and narrow, light and dark, printed", browser::run),
    checks("clippy", "clippy, warnings are errors", lints::clippy),
    checks("docs", "documentation, warnings are errors", lints::docs),
    checks("windows", "clippy for the Windows target", windows::run),
    checks("book", "the book of docs/ by mdBook, every link checked", lints::book),
    checks("python", "the Python package: its wheel, pytest, mypy, pyright, examples", python::run),
    checks("package", "the files of a release, tried in a new Debian and in an empty root", package::run),
    checks("emulated", "file systems that this kernel lacks, in QEMU", emulated::run_stage),
    checks("wine", "Windows test suites under Wine", wine::run),
    checks("cross", "decoders, records and inventories on s390x and 64-bit Arm in QEMU", cross::run),
    checks("fuzz", "random inputs for each fuzz target", fuzz::run),
];

const fn first(name: &'static str, about: &'static str, run: stage::Run) -> Stage {
    Stage { name, about, lane: Lane::First, run }
}

const fn tests(name: &'static str, about: &'static str, run: stage::Run) -> Stage {
    Stage { name, about, lane: Lane::Tests, run }
}

const fn checks(name: &'static str, about: &'static str, run: stage::Run) -> Stage {
    Stage { name, about, lane: Lane::Checks, run }
}
