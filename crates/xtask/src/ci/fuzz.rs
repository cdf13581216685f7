//! Fuzzes each target of `fuzz/` with the flags of `cargo fuzz build`, but a stable toolchain (`RUSTC_BOOTSTRAP=1`).
//! `libfuzzer-sys` needs a C++ compiler. Committed examples are in `fuzz/seeds/TARGET/`.
//!
//! ```text
//! seeds/TARGET (read only) + corpus/TARGET -> libFuzzer, address sanitizer -> Done, or an input in artifacts/TARGET
//! ```

use crate::ci::stage::{Context, Report};
use crate::{files, process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Coverage of branches and comparisons by the compiler, which guides libFuzzer, and the address sanitizer.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Zsanitizer=address";

/// By name, for a look; the long tier takes an hour for each target.
const SECONDS: u64 = 20;
const SECONDS_FULL: u64 = 3600;

const MANIFEST: &str = "fuzz/Cargo.toml";

const BUILD_LIMIT: Duration = Duration::from_secs(30 * 60);

pub(crate) fn run(context: &Context) -> Result<Report, String> {
    let manifest = context.root(MANIFEST);
    if !manifest.is_file() {
        return Err("no fuzz/Cargo.toml".into());
    }
    if process::find_tool("c++").is_none() {
        return Ok(Report::not_run("fuzz: no C++ compiler"));
    }
    if !has_address_sanitizer() {
        return Ok(Report::not_run("fuzz: the toolchain has no address sanitizer runtime"));
    }
    let binaries = build(context)?;
    let seconds = if context.full { SECONDS_FULL } else { SECONDS };
    let names = targets(&process::metadata(&manifest)?);
    let mut report = Report::default();
    // As many targets at once as processors; each fuzzes in one thread.
    for some in names.chunks(process::processors()) {
        for ended in fuzz_all(some, &binaries, &context.root("fuzz"), seconds) {
            match ended {
                Ok(line) => report.lines.push(line),
                Err(message) => report.failures.push(message),
            }
        }
    }
    Ok(report)
}

fn fuzz_all(names: &[String], binaries: &Path, folder: &Path, seconds: u64) -> Vec<Result<String, String>> {
    std::thread::scope(|scope| {
        let start = |name: &String| {
            let name = name.clone();
            scope.spawn(move || fuzz(&name, binaries, folder, seconds))
        };
        let threads: Vec<_> = names.iter().map(start).collect();
        let lost = |_| Err("a fuzz target's thread panicked".to_owned());
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(lost)).collect()
    })
}

/// Other toolchains may lack it; then nothing is fuzzed without it, since overflows of buffers would go
/// unseen.
fn has_address_sanitizer() -> bool {
    let folder = process::output(Command::new("rustc").args(["--print", "target-libdir"]));
    let Ok(entries) = std::fs::read_dir(folder.unwrap_or_default().trim()) else { return false };
    let mut names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.any(|name| name.ends_with("_rt.asan.a"))
}

fn build(context: &Context) -> Result<PathBuf, String> {
    let host = host()?;
    // Printed at its end, because other stages print at the same time.
    let mut command = build_command(context, &host);
    let (status, printed) = process::run_at_most(&mut command, BUILD_LIMIT)?;
    println!("{}", printed.trim_end());
    process::judge(&command, status)?;
    Ok(target(context).join(host).join("release"))
}

/// The target triple is passed even for the host: otherwise build scripts and macros would get the flags too.
fn build_command(context: &Context, host: &str) -> Command {
    let mut command = Command::new(process::cargo());
    command.args(["build", "--locked", "--release", "--bins", "--target", host]);
    command.args(["--config", "profile.release.debug-assertions=true", "--manifest-path"]);
    command.arg(context.root(MANIFEST)).env("CARGO_TARGET_DIR", target(context));
    command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", FLAGS);
    command
}

fn host() -> Result<String, String> {
    let host = process::output(Command::new("rustc").args(["--print", "host-tuple"]))?;
    Ok(host.trim().to_owned())
}

fn target(context: &Context) -> PathBuf {
    context.workspace.target.join("fuzz")
}

fn targets(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let targets = packages.flat_map(|package| package["targets"].as_array().into_iter().flatten());
    let binaries =
        targets.filter(|target| target["kind"].as_array().is_some_and(|kinds| kinds.contains(&"bin".into())));
    binaries.filter_map(|target| target["name"].as_str().map(str::to_owned)).collect()
}

fn fuzz(name: &str, binaries: &Path, folder: &Path, seconds: u64) -> Result<String, String> {
    let (corpus, artifacts) = (folder.join("corpus").join(name), folder.join("artifacts").join(name));
    for made in [&corpus, &artifacts] {
        files::create_folder(made)?;
    }
    let mut command = Command::new(binaries.join(name));
    // Memory is limited, because an input that makes a decoder allocate without bound is a finding.
    command.arg(format!("-max_total_time={seconds}")).arg("-rss_limit_mb=4096");
    command.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(&corpus);
    // The seeds are only read; new inputs go to the corpus.
    let seeds = folder.join("seeds").join(name);
    command.args(Some(seeds).filter(|seeds| seeds.is_dir()));
    let (status, printed) = process::run_at_most(&mut command, Duration::from_secs(seconds * 2 + 60))?;
    if status.success() {
        return Ok(format!("fuzz: {name}: {}", done(&printed).unwrap_or("ended early")));
    }
    // The end of the output has the stack and the name of the input.
    let tail: Vec<&str> = printed.lines().rev().take(60).collect();
    let tail: Vec<&str> = tail.into_iter().rev().collect();
    Err(format!("fuzz target {name} failed: {status}\n{}", tail.join("\n")))
}

fn done(printed: &str) -> Option<&str> {
    printed.lines().rev().find(|line| line.starts_with("Done "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_binaries() {
        let text = r#"{"packages": [{"targets": [
            {"name": "getdents", "kind": ["bin"]}, {"name": "fuzz", "kind": ["lib"]}, {"name": "record", "kind": ["bin"]}
        ]}]}"#;
        assert_eq!(targets(&serde_json::from_str(text).unwrap()), ["getdents", "record"]);
        assert!(targets(&Value::Null).is_empty());
    }

    #[test]
    fn the_closing_words_are_found() {
        assert_eq!(done("#9\tDONE\nDone 9 runs in 21 second(s)\n"), Some("Done 9 runs in 21 second(s)"));
        assert_eq!(done("#9"), None);
    }
}
