//! Root directories to try packages in: a new Debian, and an empty one. Processes have their own namespaces, so nothing stays mounted.
//!
//! ```text
//! mmdebstrap -> debian-RELEASE.tar (once for each machine) -> unpacked for each try
//! unshare --mount --pid -> chroot --userspec -> a step; its processes end with it
//! ```

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::{files, process};

/// An ordinary user needs no account.
pub(super) const ROOT: u32 = 0;
pub(super) const USER: u32 = 1000;

/// In addition to the essential packages: readers of manuals, and the shells that complete.
const PACKAGES: &str = "--include=man-db,mandoc,bash-completion,zsh,fish";
const MIRROR: &str = "http://deb.debian.org/debian";

/// A Debian takes a minute on an idle machine, a step a few seconds.
const DEBIAN_LIMIT: Duration = Duration::from_secs(600);
const STEP_LIMIT: Duration = Duration::from_secs(120);

/// Written by the system when any package is installed; beginnings of file names.
const OF_THE_SYSTEM: &[&str] = &["./tmp/", "./var/lib/dpkg/", "./var/log/", "./var/cache/man/"];

const FOR_DEBIAN: &[&str] = &["mmdebstrap", "dpkg", "unshare", "chroot"];

pub(super) fn lacking() -> Option<String> {
    lacking_of(FOR_DEBIAN)
}

fn lacking_of(tools: &[&str]) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("not root, which a root directory of its own needs".to_owned());
    }
    let tool = tools.iter().find(|tool| process::find_tool(tool).is_none());
    tool.map(|tool| format!("no {tool}"))
}

/// Archive of this machine's release, because the package needs its C library. Later runs reuse it.
pub(super) fn debian(folder: &Path) -> Result<PathBuf, String> {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let release = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let release = release.ok_or("/etc/os-release names no release")?;
    files::create_folder(folder)?;
    let archive = folder.join(format!("debian-{release}.tar"));
    if archive.is_file() {
        return Ok(archive);
    }
    let part = folder.join(format!("debian-{release}.part.tar"));
    let mut command = Command::new("mmdebstrap");
    // Nothing needs to survive a power failure, so dpkg does not sync.
    command.args(["--variant=essential", "--quiet", "--dpkgopt=force-unsafe-io", PACKAGES, release]);
    let (status, printed) = process::run_at_most(command.arg(&part).arg(MIRROR), DEBIAN_LIMIT)?;
    process::judge_printed(&command, status, &printed)?;
    files::rename(&part, &archive)?;
    Ok(archive)
}

/// `true` for files that the installation of any package changes.
pub(super) fn of_the_system(file: &str) -> bool {
    OF_THE_SYSTEM.iter().any(|start| file.starts_with(start))
}

pub(super) struct Root {
    folder: tempfile::TempDir,
}

impl Root {
    /// One folder that any user may write to; nothing else exists.
    pub(super) fn empty(scratch: &Path) -> Result<Self, String> {
        let root = Self::create(scratch)?;
        let mut command = Command::new("mkdir");
        process::output(command.arg("--mode=1777").arg(root.folder.path().join("data")))?;
        Ok(root)
    }

    pub(super) fn unpack(debian: &Path, scratch: &Path) -> Result<Self, String> {
        let root = Self::create(scratch)?;
        let mut tar = Command::new("tar");
        process::run(tar.arg("-xpf").arg(debian).args(["--numeric-owner", "-C"]).arg(root.folder.path()))?;
        Ok(root)
    }

    fn create(scratch: &Path) -> Result<Self, String> {
        let root = Self { folder: files::temporary_folder(scratch)? };
        process::output(Command::new("chmod").arg("755").arg(root.folder.path()))?;
        Ok(root)
    }

    pub(super) fn take(&self, file: &Path, to: &str) -> Result<(), String> {
        files::copy(file, &self.folder.path().join(to))
    }

    pub(super) fn run(&self, user: u32, program: &str, words: &[&str]) -> Result<String, String> {
        self.inside(user, None, program, words)
    }

    pub(super) fn sh(&self, user: u32, script: &str) -> Result<String, String> {
        let proc = self.folder.path().join("proc");
        self.inside(user, Some(&proc), "/bin/sh", &["-euc", script])
    }

    fn inside(
        &self,
        user: u32,
        proc: Option<&Path>,
        program: &str,
        words: &[&str],
    ) -> Result<String, String> {
        let mut command = Command::new("unshare");
        // Killed with its parent, so that a step that exceeds its limit leaves nothing.
        command.args(["--mount", "--pid", "--fork", "--kill-child"]);
        if let Some(proc) = proc {
            command.arg(format!("--mount-proc={}", proc.display()));
        }
        command.args(["chroot", &format!("--userspec={user}:{user}"), "--groups="]).arg(self.folder.path());
        command.arg(program).args(words);
        command.env_clear().env("HOME", "/tmp").env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("LC_ALL", "C.UTF-8").env("DEBIAN_FRONTEND", "noninteractive");
        let (status, printed) = process::run_at_most(&mut command, STEP_LIMIT)?;
        process::judge_printed(&command, status, printed.trim_end())?;
        Ok(printed)
    }

    /// Files of other mounts, such as /proc, are not the package's.
    pub(super) fn files(&self) -> Result<BTreeSet<String>, String> {
        let mut find = Command::new("find");
        let printed = process::output(find.args([".", "-xdev"]).current_dir(self.folder.path()))?;
        Ok(printed.lines().map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root_with_busybox() -> Option<(tempfile::TempDir, Root)> {
        let busybox =
            process::find_tool("busybox").filter(|_| lacking_of(&["unshare", "chroot"]).is_none())?;
        // Debian's package `busybox` has a program that needs libraries, which an empty root does not have.
        let libraries = process::output(Command::new("ldd").arg(&busybox));
        if libraries.is_ok_and(|text| text.contains("/ld-")) {
            return None;
        }
        let scratch = tempfile::tempdir().unwrap();
        let root = Root::empty(scratch.path()).unwrap();
        root.take(&busybox, "busybox").unwrap();
        Some((scratch, root))
    }

    #[test]
    fn root_contains_copied_programs_and_runs_them_as_a_user() {
        let Some((_scratch, root)) = root_with_busybox() else {
            return crate::ci::suites::note_not_run("xtask::a_root", "not root, or no static busybox");
        };
        assert_eq!(root.run(USER, "/busybox", &["id", "-u"]).unwrap(), "1000\n");
        assert_eq!(root.run(ROOT, "/busybox", &["ls", "/"]).unwrap(), "busybox\ndata\n");
        root.run(USER, "/busybox", &["touch", "/data/new"]).unwrap();
        let files = root.files().unwrap();
        assert!(files.contains("./data/new") && files.len() == 4, "{files:?}");
        let why = root.run(ROOT, "/busybox", &["cat", "/none"]).unwrap_err();
        assert!(why.contains("/none"), "{why}");
    }

    #[test]
    fn files_of_the_system_are_known_by_their_beginning() {
        assert!(of_the_system("./var/lib/dpkg/status-old"));
        assert!(!of_the_system("./usr/share/man/man1/megadir.1.gz"));
        assert!(!of_the_system("./var/lib/megadir"));
    }
}
