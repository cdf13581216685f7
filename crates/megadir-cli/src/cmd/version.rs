//! `megadir version`: how the program was built, and the system calls that it finds.

use serde::Serialize;

use crate::exit::CliError;
use crate::ui::output::{json_line, print};

/// Print version, revision, target, features and system calls
///
/// 'megadir --version' prints only the version; 'megadir --version --verbose' is the same as this command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print a JSON object
    ///
    /// Fields: v (format version, 1), version, commit, target, build, features, kernel_calls (name, purpose, missing: null or the reason).
    #[arg(long)]
    json: bool,
}

/// `None` if the build did not know, e.g. the commit outside a checkout.
// The fields are the JSON output, also in the one of `megadir doctor`. `kernel_calls` are looked up on this machine;
// all else is of the build.
#[derive(Serialize)]
pub(super) struct Version {
    version: &'static str,
    commit: Option<&'static str>,
    target: &'static str,
    build: Option<&'static str>,
    features: Vec<&'static str>,
    kernel_calls: Vec<Call>,
}

#[derive(Serialize)]
struct Call {
    name: &'static str,
    purpose: &'static str,
    missing: Option<String>,
}

#[derive(Serialize)]
struct Line {
    v: u8,
    #[serde(flatten)]
    version: Version,
}

pub(crate) fn run(args: &Args) -> Result<u8, CliError> {
    let version = Version::of_this_program();
    print(&if args.json { json_line(&Line { v: 1, version })? } else { version.text() })
}

pub(crate) fn text() -> String {
    Version::of_this_program().text()
}

impl Version {
    pub(super) fn of_this_program() -> Self {
        let features = [("cpp", cfg!(feature = "cpp")), ("parquet", cfg!(feature = "parquet"))];
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: option_env!("MEGADIR_COMMIT"),
            target: env!("MEGADIR_TARGET"),
            build: option_env!("MEGADIR_BUILD"),
            features: features.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name).collect(),
            kernel_calls: kernel_calls(),
        }
    }

    pub(super) fn text(&self) -> String {
        let features = if self.features.is_empty() { "none".to_owned() } else { self.features.join(", ") };
        let mut text = format!(
            "megadir {}\ncommit    {}\ntarget    {}\nbuild     {}\nfeatures  {features}\n",
            self.version,
            self.commit.unwrap_or("unknown"),
            self.target,
            self.build.unwrap_or("unknown"),
        );
        for call in &self.kernel_calls {
            let state =
                call.missing.as_ref().map_or("found".to_owned(), |reason| format!("missing: {reason}"));
            text.push_str(&format!("{:<15} {state} ({})\n", call.name, call.purpose));
        }
        text
    }
}

#[cfg(target_os = "linux")]
fn kernel_calls() -> Vec<Call> {
    let calls = megadir_bench::kernel_calls::KERNEL_CALLS.iter();
    calls
        .map(|call| Call {
            name: call.name,
            purpose: call.purpose,
            missing: call.probe().err().map(|error| crate::ui::message::reason(&error)),
        })
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn kernel_calls() -> Vec<Call> {
    Vec::new()
}
