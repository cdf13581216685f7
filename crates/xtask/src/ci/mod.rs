//! `cargo xtask ci`: the list of stages, cheap ones first. To add one: a file here with a function
//! `fn(&Context) -> Result<Report, String>`, and a line in [`STAGES`]. Without a required tool a stage reports
//! `not run`, a failure if `MEGADIR_REQUIRE_ALL=1`.

mod browser;
mod drive;
mod fuzz;
mod instructions;
mod lints;
mod packages;
mod smoke;
mod stage;
mod suites;
mod test;
mod windows;
mod wine;

pub(crate) use drive::{Args, run};
use stage::Stage;

/// All stages, in order.
static STAGES: &[Stage] = &[
    Stage {
        name: "packages",
        about: "install missing tools (Debian, as root) or list them",
        run: packages::run,
    },
    Stage { name: "tidy", about: "structure and style: `cargo xtask tidy`", run: lints::tidy },
    Stage { name: "format", about: "formatting by rustfmt", run: lints::format },
    Stage { name: "clippy", about: "clippy, warnings are errors", run: lints::clippy },
    Stage { name: "docs", about: "documentation, warnings are errors", run: lints::docs },
    Stage { name: "windows", about: "clippy for the Windows target", run: windows::run },
    Stage { name: "test", about: "unit, integration and doc tests", run: test::run },
    Stage {
        name: "instructions",
        about: "instructions of the measurement loop, by callgrind",
        run: instructions::run,
    },
    Stage { name: "smoke", about: "every study at its quick size", run: smoke::run },
    Stage {
        name: "browser",
        about: "the report of every study in headless Chromium: wide and narrow, light and dark, printed",
        run: browser::run,
    },
    Stage { name: "fuzz", about: "each fuzz target for 20 s", run: fuzz::run },
    Stage { name: "wine", about: "Windows test suites under Wine", run: wine::run },
];
