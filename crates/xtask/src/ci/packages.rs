//! Finds the tools of the other stages and the tests by their files, and installs missing ones on Debian.
//!
//! A tool is known by its file and not by its package: machines without Debian's packages may have it, too.

use crate::ci::stage::{Context, Report};
use crate::process;
use std::path::Path;
use std::process::Command;

struct Tool {
    /// Or an absolute path if no other file will do.
    file: &'static str,
    package: &'static str,
    parts: &'static str,
}

const fn tool(file: &'static str, package: &'static str, parts: &'static str) -> Tool {
    Tool { file, package, parts }
}

/// Tools of stages and tests. On Debian, `mount` has a package of its own that also contains `losetup`.
static TOOLS: &[Tool] = &[
    tool("mkfs.ext4", "e2fsprogs", "tests on ext2, ext3 and ext4"),
    tool("mkfs.xfs", "xfsprogs", "tests on XFS"),
    tool("mkfs.btrfs", "btrfs-progs", "tests on btrfs"),
    tool("ntfs-3g", "ntfs-3g", "tests on NTFS through FUSE"),
    tool("bindfs", "bindfs", "tests on a FUSE server that cannot rename without replacing"),
    tool("encfs", "encfs", "every command on encfs"),
    tool("fuse2fs", "fuse2fs", "every command on ext4 through FUSE"),
    tool("gocryptfs", "gocryptfs", "every command on gocryptfs"),
    tool("mergerfs", "mergerfs", "every command on mergerfs"),
    tool("sshfs", "sshfs", "every command on sshfs"),
    tool("/usr/lib/openssh/sftp-server", "openssh-sftp-server", "every command on sshfs"),
    tool("unionfs", "unionfs-fuse", "every command on unionfs-fuse"),
    tool("fuse-zip", "fuse-zip", "test of a mount whose root has the time of mounting"),
    tool("squashfuse", "squashfuse", "every command on squashfs through FUSE"),
    tool("mksquashfs", "squashfs-tools", "tests on squashfs"),
    tool("mkfs.erofs", "erofs-utils", "every command on erofs"),
    tool("blkid", "util-linux", "tests on devices that are erased"),
    tool("losetup", "mount", "tests on loop devices"),
    tool("unshare", "util-linux", "tests in a mount namespace"),
    tool("strace", "strace", "tests that count system calls"),
    tool("valgrind", "valgrind", "stage instructions"),
    tool("mpirun.openmpi", "openmpi-bin", "tests of ranks on Open MPI"),
    tool("mpirun.mpich", "mpich", "tests of ranks on MPICH"),
    tool("bfs", "bfs", "comparison with bfs"),
    tool("fdfind", "fd-find", "comparison with fd"),
    tool("g++", "g++", "stage fuzz, and tests of std::filesystem"),
    tool("go", "golang-go", "test of layouts as Go code"),
    tool("pip3", "python3-pip", "stage python, and the test of inventories with DuckDB"),
    tool("rsync", "rsync", "tests of recipes for copies and backups"),
    tool("bsdtar", "libarchive-tools", "packs read by another tar"),
    tool("sqlite3", "sqlite3", "study container"),
    tool("restic", "restic", "tests of recipes for backups"),
    tool("man", "man-db", "test of man pages"),
    tool("mandoc", "mandoc", "test of man pages"),
    tool("zsh", "zsh", "test of completions"),
    tool("fish", "fish", "test of completions"),
    tool("busybox", "busybox-static", "test of root directories"),
    tool("mmdebstrap", "mmdebstrap", "stage package: a new Debian"),
    tool("chromium", "chromium", "stage browser"),
    tool("chromedriver", "chromium-driver", "stage browser"),
    tool("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "fonts-dejavu-core", "stage browser"),
    tool("/usr/bin/rustc", "rustc-web", "stage windows"),
    tool("/usr/bin/clippy-driver", "rust-web-clippy", "stage windows"),
    tool("/usr/lib/rustlib/src/rust/library/std/Cargo.toml", "rust-web-src", "stage windows"),
    tool("x86_64-w64-mingw32-dlltool", "binutils-mingw-w64-x86-64", "stage windows"),
    // For the C code of Zstandard, which its crate always compiles.
    tool("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64-win32", "stages windows and wine"),
    tool("x86_64-w64-mingw32-g++", "g++-mingw-w64-x86-64-win32", "stage wine: std::filesystem of C++"),
    tool("/usr/lib/wine/wine64", "wine64", "stage wine"),
];

static TOOLS_OF_FULL: &[Tool] = &[
    tool("gcc", "gcc", "cost of measuring a command, compared with a loop in C"),
    tool("musl-gcc", "musl-tools", "stage package: the static program"),
    tool("hyperfine", "hyperfine", "agreement of `bench commands` with hyperfine"),
    tool("qemu-s390x-static", "qemu-user-static", "stage cross"),
    tool("s390x-linux-gnu-gcc", "gcc-s390x-linux-gnu", "stage cross"),
    tool("/usr/s390x-linux-gnu/include/stdio.h", "libc6-dev-s390x-cross", "stage cross"),
    tool("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu", "stage cross"),
    tool("/usr/aarch64-linux-gnu/include/stdio.h", "libc6-dev-arm64-cross", "stage cross"),
    tool("ip", "iproute2", "tests on network file systems"),
    tool("nsenter", "util-linux", "tests on network file systems"),
    tool("mfsmaster", "moosefs-master", "tests on MooseFS"),
    tool("mfschunkserver", "moosefs-chunkserver", "tests on MooseFS"),
    tool("mfsmount", "moosefs-client", "tests on MooseFS"),
    tool("glusterfsd", "glusterfs-server", "tests on GlusterFS"),
    tool("glusterfs", "glusterfs-client", "tests on GlusterFS"),
    tool("slurmctld", "slurm-wlm", "ranks of Slurm"),
    tool("munged", "munge", "ranks of Slurm"),
];

/// The command that installs every package that is missing; nothing if none is.
pub(crate) fn advice(full: bool) -> Option<String> {
    // Each package once, in the order of the alphabet.
    let tools = TOOLS.iter().chain(if full { TOOLS_OF_FULL } else { &[] });
    let mut packages: Vec<&str> =
        tools.filter(|tool| !is_present(tool.file)).map(|tool| tool.package).collect();
    packages.sort_unstable();
    packages.dedup();
    let list = packages.join(" ");
    (!packages.is_empty())
        .then(|| format!("to run more: sudo apt-get install --no-install-recommends {list}"))
}

pub(crate) fn run(context: &Context) -> Result<Report, String> {
    let tools: Vec<&Tool> = TOOLS.iter().chain(if context.full { TOOLS_OF_FULL } else { &[] }).collect();
    let missing = || -> Vec<&Tool> { tools.iter().copied().filter(|tool| !is_present(tool.file)).collect() };
    let mut lacking = missing();
    if lacking.is_empty() {
        return Ok(Report::line(format!("packages: all {} tools are present", tools.len())));
    }
    if rustix::process::geteuid().is_root() && process::find_tool("apt-get").is_some() {
        let packages: Vec<&str> = lacking.iter().map(|tool| tool.package).collect();
        install(&packages);
        lacking = missing();
    }
    let not_run =
        lacking.iter().map(|tool| format!("{}: no {} (package {})", tool.parts, tool.file, tool.package));
    Ok(Report { not_run: not_run.collect(), ..Report::default() })
}

/// `true` if a tool is present; `/usr/bin/rustc` must also be recent, unlike the distribution's default.
fn is_present(file: &str) -> bool {
    if super::windows::does_without(file) {
        return true;
    }
    if file.ends_with("/rustc") {
        return super::windows::debian_rustc_is_recent();
    }
    if Path::new(file).is_absolute() { Path::new(file).is_file() } else { process::find_tool(file).is_some() }
}

/// One command for all packages; if one of them does not exist in this release, the others are installed
/// one by one.
fn install(packages: &[&str]) {
    let tried =
        |command: &mut Command| process::run(command).map_err(|message| println!("{message}")).is_ok();
    tried(apt_get().arg("update"));
    let words = ["install", "--yes", "--no-install-recommends"];
    if !tried(apt_get().args(words).args(packages)) {
        for package in packages {
            tried(apt_get().args(words).arg(package));
        }
    }
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    // Another apt, e.g. of an automatic update, holds the lock for minutes.
    command.args(["-qq", "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Use-Pty=0"]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_listed_once() {
        let tools: Vec<&Tool> = TOOLS.iter().chain(TOOLS_OF_FULL).collect();
        for (index, tool) in tools.iter().enumerate() {
            assert!(tools[..index].iter().all(|other| other.file != tool.file), "{} twice", tool.file);
        }
    }

    #[test]
    fn a_program_is_present_if_its_file_is() {
        assert!(is_present("sh"));
        assert!(is_present("/bin/sh"));
        assert!(!is_present("no-such-tool"));
        assert!(!is_present("/bin/no-such-tool"));
    }
}
