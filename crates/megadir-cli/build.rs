//! Build information: commit, target, compiler, profile. Without git, the environment may set MEGADIR_COMMIT.

use std::process::Command;

fn main() {
    // Whatever changes in the workspace may change whether it differs from its commit.
    println!("cargo::rerun-if-changed=..");
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = printed("git", &["rev-parse", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    // The package may lie in a checkout of another repository.
    let here = printed("git", &["ls-files", "--error-unmatch", "build.rs"]).is_some();
    if let Some(commit) = printed("git", &["rev-parse", "--short=12", "HEAD"]).filter(|_| here) {
        let dirty = printed("git", &["status", "--porcelain", "--untracked-files=no"]).is_some();
        println!("cargo::rustc-env=MEGADIR_COMMIT={commit}{}", if dirty { "-dirty" } else { "" });
    }
    if let Ok(target) = std::env::var("TARGET") {
        println!("cargo::rustc-env=MEGADIR_TARGET={target}");
    }
    let compiler = std::env::var("RUSTC").ok().and_then(|rustc| printed(&rustc, &["--version"]));
    if let (Some(compiler), Ok(profile)) = (compiler, std::env::var("PROFILE")) {
        println!("cargo::rustc-env=MEGADIR_BUILD={compiler}, {profile}");
    }
}

fn printed(program: &str, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
