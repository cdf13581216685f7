//! The programs that megadir is compared with: their versions, and how they are installed.
//!
//! ```text
//! crates.io   cargo install (optimised)            --+
//! Debian sid  unpacked; patchelf sets the loader   --+-> target/tools/peers/bin, first on PATH
//! ```
//!
//! A comparison is worth something with the versions that users get next. This system's own programs are some years old, so those that no
//! registry of Rust has come from Debian's newest release. They are not installed there: each is copied, and its loader and libraries are
//! set to those of the unpacked release, because a start by a script or by the loader's own options would cost a millisecond of the
//! program that is measured.

use crate::debian::{self, Tree};
use crate::files;
use crate::process::{self, Build, CratesIo};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs on crates.io, in their newest versions.
pub(super) static CRATES: &[CratesIo] = &[
    CratesIo { package: "fd-find", program: "fd", version: "10.5.0" },
    CratesIo { package: "rmz", program: "rmz", version: "3.2.1" },
    CratesIo { package: "eza", program: "eza", version: "0.23.5" },
    CratesIo { package: "du-dust", program: "dust", version: "1.2.7" },
    CratesIo { package: "dua-cli", program: "dua", version: "3.0.0" },
    CratesIo { package: "diskus", program: "diskus", version: "0.9.0" },
    CratesIo { package: "parallel-disk-usage", program: "pdu", version: "0.24.0" },
];

/// A package of [`RELEASE`] with the programs that the study calls.
pub(super) struct DebianPackage {
    package: &'static str,
    pub(super) programs: &'static [&'static str],
    /// Version of the published records, without Debian's revision. apt has only the newest.
    version: &'static str,
}

const RELEASE: &str = "sid";

pub(super) static DEBIAN: &[DebianPackage] = &[
    DebianPackage { package: "bfs", programs: &["bfs"], version: "4.1.4" },
    DebianPackage { package: "gdu", programs: &["gdu"], version: "5.36.1" },
    DebianPackage { package: "coreutils", programs: &["ls", "du", "rm", "wc"], version: "9.10" },
    DebianPackage { package: "findutils", programs: &["find"], version: "4.11.0" },
    DebianPackage { package: "rsync", programs: &["rsync"], version: "3.5.1" },
];

/// Installs all, and returns the folder of the programs. One that cannot be installed must not prevent the comparison of
/// the others: this system's is compared instead, if there is one, and the record has its version.
pub(super) fn install(tools: &Path) -> Result<PathBuf, String> {
    // Not with the tools of other tasks, which are built without optimisation.
    let root = tools.join("peers");
    for peer in CRATES {
        if let Err(why) = peer.install(&root, Build::Optimised, &[]) {
            eprintln!("xtask: {} is not installed: {why}", peer.program);
        }
    }
    let folder = root.join("bin");
    files::create_folder(&folder)?;
    match tree(&root) {
        Ok(tree) => {
            for (peer, program) in debian_programs() {
                if let Err(why) = install_patched(&tree, peer.version, program, &folder) {
                    eprintln!("xtask: {program} of Debian {RELEASE} is not installed: {why}");
                }
            }
        }
        Err(why) => eprintln!("xtask: programs of Debian {RELEASE} are not installed: {why}"),
    }
    Ok(folder)
}

fn debian_programs() -> impl Iterator<Item = (&'static DebianPackage, &'static str)> {
    DEBIAN.iter().flat_map(|peer| peer.programs.iter().map(move |program| (peer, *program)))
}

/// In a folder named by the versions: with others, all is unpacked again.
fn tree(root: &Path) -> Result<Tree, String> {
    if let Some(lacking) = debian::lacking() {
        return Err(lacking);
    }
    let mut packages: Vec<&str> = DEBIAN.iter().map(|peer| peer.package).collect();
    packages.push("patchelf");
    let versions: Vec<&str> = DEBIAN.iter().map(|peer| peer.version).collect();
    Tree::unpack(&root.join(format!("{RELEASE}-{}", versions.join("-"))), RELEASE, &packages)
}

/// Under its name only when it has run and has the version that is to be compared.
fn install_patched(tree: &Tree, version: &str, program: &str, folder: &Path) -> Result<(), String> {
    let libraries = tree.folder.join("usr/lib/x86_64-linux-gnu");
    let (trial, installed) = (folder.join(format!(".{program}")), folder.join(program));
    // One of an earlier version, or half of one.
    for old in [&trial, &installed] {
        match std::fs::remove_file(old) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(files::cannot("remove", old)(error));
            }
            _ => {}
        }
    }
    files::copy(&tree.folder.join("usr/bin").join(program), &trial)?;
    let mut patch = tree.command("usr/bin/patchelf", "patchelf")?;
    // DT_RPATH, because libraries of libraries are not searched in DT_RUNPATH.
    patch.args(["--force-rpath", "--set-rpath"]).arg(&libraries);
    patch.arg("--set-interpreter").arg(debian::loader(&libraries)?).arg(&trial);
    process::output(&mut patch)?;
    // Fails here if a library is missing, and not in the study.
    let printed = process::output(Command::new(&trial).arg("--version"))?;
    if !has_version(&printed, version) {
        let found = printed.lines().next().unwrap_or_default();
        return Err(format!(
            "it is '{found}', and {version} is to be compared: set the version in speed/peers.rs"
        ));
    }
    std::fs::rename(&trial, &installed).map_err(files::cannot("rename", &trial))
}

/// `5.36.1` is in `Version: v5.36.1-1`, and not in `15.36.1` or `5.36.10`.
fn has_version(printed: &str, version: &str) -> bool {
    let is_number = |word: &str| {
        let rest = word.trim_start_matches('v').strip_prefix(version);
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit() || next == '.'))
    };
    printed.split_whitespace().any(is_number)
}

/// Prints every program whose newest version is not the one that is compared, and returns their number.
pub(super) fn check(tools: &Path) -> Result<usize, String> {
    let mut newer = 0;
    let mut compare = |name: &str, compared: &str, newest: &str| {
        if newest != compared {
            println!("{name}: {newest} (compared: {compared})");
            newer += 1;
        }
    };
    for peer in CRATES {
        let printed =
            process::output(Command::new(process::cargo()).args(["info", "--quiet", peer.package]))?;
        let newest =
            newest_of(&printed).ok_or_else(|| format!("`cargo info {}` prints no version", peer.package))?;
        compare(peer.package, peer.version, newest);
    }
    let packages: Vec<&str> = DEBIAN.iter().map(|peer| peer.package).collect();
    let folder = tools.join("peers/newest.apt");
    let newest = debian::newest(&folder, RELEASE, &packages);
    files::remove_folder(&folder)?;
    for (peer, newest) in DEBIAN.iter().zip(newest?) {
        compare(peer.package, peer.version, &newest);
    }
    Ok(newer)
}

/// From `version: 2.32.2 (latest 3.0.0)`: cargo shows first the newest one that declares to suit this compiler.
fn newest_of(info: &str) -> Option<&str> {
    let version = info.lines().find_map(|line| line.strip_prefix("version: "))?;
    let latest = version.split_once("(latest ").map(|(_, latest)| latest);
    latest.unwrap_or(version).split([' ', ')']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_that_is_installed_is_in_the_study() {
        let study = include_str!("../../../megadir-bench/studies/peers.toml");
        let programs = CRATES.iter().map(|peer| peer.program);
        for program in programs.chain(debian_programs().map(|(_, program)| program)) {
            let calls = [format!("\"{program} "), format!("'{program} "), format!("| {program} ")];
            assert!(calls.iter().any(|call| study.contains(call)), "{program}");
        }
    }

    #[test]
    fn only_the_compared_version_is_installed() {
        assert!(has_version("Version:\t 5.36.1-1\nBuilt", "5.36.1"));
        assert!(has_version("ls (GNU coreutils) 9.10\n", "9.10"));
        assert!(!has_version("ls (GNU coreutils) 9.101\n", "9.10"));
        assert!(!has_version("find (GNU findutils) 14.11.0\n", "4.11.0"));
    }

    #[test]
    fn the_latest_version_is_read_also_if_this_compiler_gets_an_older_one() {
        assert_eq!(newest_of("dua-cli\nversion: 2.32.2 (latest 3.0.0)\nlicense: MIT\n"), Some("3.0.0"));
        assert_eq!(newest_of("eza\nversion: 0.23.5\n"), Some("0.23.5"));
        assert_eq!(newest_of("eza\n"), None);
    }
}
