//! The Rust code, compiled without a warning and run.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use megadir_advise::code::Language;

use crate::cases;
use crate::program::{answers, output_of};

const DRIVER: &str = r#"
#![deny(warnings)]
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

fn answers(data: &[u8], start: usize, step: usize, path_for: impl Fn(&OsStr) -> Option<PathBuf>) {
    let mut out = Vec::new();
    let mut left = data;
    let mut at = 0;
    while let [high, low, after @ ..] = left {
        let (name, after) = after.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        left = after;
        at += 1;
        if at <= start || (at - 1 - start) % step != 0 {
            continue;
        }
        match path_for(OsStr::from_bytes(name)) {
            Some(path) => out.extend([b"+", path.into_os_string().into_vec().as_slice()].concat()),
            None => out.push(b'-'),
        }
        out.push(0);
    }
    std::io::stdout().write_all(&out).unwrap();
}

fn main() {
    let mut data = Vec::new();
    std::io::stdin().read_to_end(&mut data).unwrap();
"#;

#[test]
fn rust_gives_the_same_paths() {
    let place = tempfile::tempdir().unwrap();
    let (mut modules, mut calls) = (String::new(), String::new());
    for (at, case) in cases::ALL.iter().enumerate() {
        case.write(Language::Rust, "", &place.path().join(format!("layout{at}.rs")));
        writeln!(modules, "mod layout{at};").unwrap();
        let (start, step) = (case.checked[0], case.checked[1] - case.checked[0]);
        for (placer, _) in &case.depths {
            let depth = if case.grows() { format!(", {}", placer.depth()) } else { String::new() };
            writeln!(calls, "    answers(&data, {start}, {step}, |name| layout{at}::path_for(name{depth}));")
                .unwrap();
        }
        if case.grows() {
            writeln!(
                calls,
                "    for files in {:?} {{ print!(\"{{}}\\0\", layout{at}::depth_for(files)); }}",
                case.files()
            )
            .unwrap();
            writeln!(calls, "    std::io::stdout().flush().unwrap();").unwrap();
        }
    }
    let main = place.path().join("main.rs");
    fs::write(&main, format!("{DRIVER}{calls}}}\n{modules}")).unwrap();
    answers(&output_of(&mut Command::new(compile(&main))));
}

/// Compiles a program with the `sha2` crate that was built for the library.
pub(crate) fn compile(main: &Path) -> PathBuf {
    let built = env::current_exe().unwrap().parent().unwrap().to_owned();
    let is_sha2 = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("libsha2-") && name.ends_with(".rlib")
    };
    // There are several if other compilers or features were used too.
    let mut found: Vec<PathBuf> =
        fs::read_dir(&built).unwrap().map(|entry| entry.unwrap().path()).filter(is_sha2).collect();
    found.sort_by_key(|path| std::cmp::Reverse(path.metadata().unwrap().modified().unwrap()));
    let program = main.with_extension("");
    let mut reason = String::from("no library sha2");
    for sha2 in found {
        let mut command = Command::new(rustc());
        command
            .args(["--edition=2021", "--crate-name=printed", "-Cdebuginfo=0", "-o"])
            .arg(&program)
            .arg(main);
        command
            .arg(format!("-Ldependency={}", built.display()))
            .arg(format!("--extern=sha2={}", sha2.display()));
        let output = command.output().unwrap();
        if output.status.success() {
            return program;
        }
        reason = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    panic!("{}: {reason}", main.display());
}

/// Returns cargo's compiler.
fn rustc() -> PathBuf {
    let cargo = env::var_os("CARGO").map(PathBuf::from);
    let beside = cargo.and_then(|cargo| Some(cargo.parent()?.join("rustc"))).filter(|rustc| rustc.is_file());
    env::var_os("RUSTC").map(PathBuf::from).or(beside).unwrap_or_else(|| "rustc".into())
}
