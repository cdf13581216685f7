//! The initial memory disk of the emulated machine: a kernel's modules, programs that make file systems, the first process, and files of a run.
//!
//! ```text
//! Debian packages -> Tree -> modules kept, depmod -> archive (.cpio, once for each machine)
//! init, command, megadir, suites, newer C library -> own (.cpio, each run) -> appended: the kernel unpacks both
//! ```

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::debian::{Tree, loader};
use crate::files::{self, cannot, link, write};
use crate::process;

const INIT: &str = include_str!("init.sh");
/// Servers whose clients are the machine itself, by the names of the programs that start them.
const SERVERS: [(&str, &str); 2] =
    [("serve-nfs", include_str!("serve-nfs")), ("serve-smb", include_str!("serve-smb"))];

const PACKAGES: &[&str] = &[
    "linux-image-amd64",
    "btrfs-progs",
    "busybox-static",
    "coreutils",
    "dosfstools",
    "e2fsprogs",
    "exfatprogs",
    "f2fs-tools",
    "jfsutils",
    "kmod",
    "libgcc-s1",
    "mount",
    "nilfs-tools",
    "ntfs-3g",
    "reiserfsprogs",
    "strace",
    "util-linux",
    "xfsprogs",
];

/// For the matrix of docs/ground.md, which is written on this release's kernel only.
const GROUND_PACKAGES: &[&str] =
    &["gfs2-utils", "ksmbd-tools", "nfs-kernel-server", "ocfs2-tools", "udftools", "util-linux-extra"];
const GROUND_RELEASE: &str = "trixie";

/// Parts of module paths. All other modules, mostly drivers of hardware, are removed.
const MODULES: &[&str] = &[
    "/kernel/fs/",
    "/kernel/lib/",
    "/kernel/crypto/",
    "/kernel/net/",
    "/drivers/block/",
    // Of UDF.
    "/drivers/cdrom/",
    "/drivers/virtio/",
];

const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// They must all have one version.
const C_LIBRARY: &[&str] = &[
    "libc.so.6",
    "libdl.so.2",
    "libm.so.6",
    "libpthread.so.0",
    "libresolv.so.2",
    "librt.so.1",
    "libutil.so.1",
];

pub(super) struct Root {
    tree: Tree,
    release: String,
}

impl Root {
    pub(super) fn make(folder: &Path, debian: &str, tools: &Tree) -> Result<Self, String> {
        let more = if debian == GROUND_RELEASE { GROUND_PACKAGES } else { &[] };
        let tree = Tree::unpack(&folder.join(debian), debian, &[PACKAGES, more].concat())?;
        let modules = files::list(&tree.folder.join("usr/lib/modules"))?;
        let release =
            modules.first().and_then(|path| path.file_name()).ok_or("the package has no modules")?;
        let root = Self { release: release.to_string_lossy().into_owned(), tree };
        // Another list of packages is unpacked again, and the archive of the old one stays.
        let time = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
        if time(&root.archive()) < time(&root.tree.mark()) {
            root.prepare(tools)?;
        }
        Ok(root)
    }

    pub(super) fn kernel(&self) -> PathBuf {
        self.tree.folder.join("boot").join(format!("vmlinuz-{}", self.release))
    }

    /// An initial memory disk may be several archives, and later ones replace files of earlier ones. So
    /// only the small one is made for each run.
    pub(super) fn memory_disk(&self, own: &Path, to: &Path) -> Result<(), String> {
        self.take_c_library(own)?;
        files::copy(&self.archive(), to)?;
        let mut disk = File::options().append(true).open(to).map_err(cannot("open", to))?;
        let part = own.with_extension("cpio");
        self.pack(own, ".", &part)?;
        let bytes = std::fs::read(&part).map_err(cannot("read", &part))?;
        disk.write_all(&bytes).map_err(cannot("write", to))
    }

    fn archive(&self) -> PathBuf {
        self.tree.folder.with_extension("cpio")
    }

    fn prepare(&self, tools: &Tree) -> Result<(), String> {
        let folder = &self.tree.folder;
        let busybox = folder.join("bin/busybox");
        for name in ["dev", "etc", "lab", "proc", "root", "sys", "tmp", "busybox"] {
            files::create_folder(&folder.join(name))?;
        }
        for name in process::output(Command::new(&busybox).arg("--list"))?.lines() {
            link("/bin/busybox", &folder.join("busybox").join(name))?;
        }
        link("busybox", &folder.join("bin/sh"))?;
        link("/proc/self/mounts", &folder.join("etc/mtab"))?;
        write(&folder.join("etc/passwd"), "root:x:0:0::/lab:/bin/sh\nuser:x:1000:1000::/lab:/bin/sh\n")?;
        write(&folder.join("etc/group"), "root:x:0:\nuser:x:1000:\n")?;
        let modules = folder.join("usr/lib/modules").join(&self.release);
        self.keep_modules(&modules.join("kernel"))?;
        let mut depmod = tools.command("usr/bin/kmod", "depmod")?;
        process::output(depmod.arg("-b").arg(folder).arg(&self.release))?;
        let part = folder.with_extension("part");
        self.pack(folder, "bin busybox dev etc lab lib lib64 proc root sbin sys tmp usr", &part)?;
        // Renamed when complete, so that an interrupted preparation is repeated.
        files::rename(&part, &self.archive())
    }

    /// Uncompressing modules is slow inside.
    fn keep_modules(&self, folder: &Path) -> Result<(), String> {
        for path in files::list(folder)? {
            if path.is_dir() {
                self.keep_modules(&path)?;
                continue;
            }
            let text = path.to_string_lossy();
            if !MODULES.iter().any(|kept| text.contains(kept)) {
                std::fs::remove_file(&path).map_err(cannot("remove", &path))?;
            } else if text.ends_with(".xz") {
                let busybox = self.tree.folder.join("bin/busybox");
                process::output(Command::new(busybox).arg("unxz").arg(&path))?;
            }
        }
        Ok(())
    }

    /// busybox of the tree, since the machine may have no cpio.
    fn pack(&self, folder: &Path, paths: &str, to: &Path) -> Result<(), String> {
        let file = File::create(to).map_err(cannot("create", to))?;
        let script = format!("\"$0\" find {paths} | \"$0\" cpio -o -H newc -R 0:0");
        let mut command = Command::new(self.tree.folder.join("bin/busybox"));
        command.args(["sh", "-c", &script]).arg(self.tree.folder.join("bin/busybox")).current_dir(folder);
        let child =
            command.stdin(std::process::Stdio::null()).stdout(file).stderr(std::process::Stdio::null());
        let status = child.status().map_err(|error| process::cannot("start", &command, &error))?;
        process::judge(&command, status)
    }

    /// For programs built here, if this machine's C library is newer.
    /// Programs that were linked here need at least this version; the tree's own programs run with any
    /// later one.
    fn take_c_library(&self, own: &Path) -> Result<(), String> {
        let here = Path::new("/").join(LIBRARIES);
        let (ours, theirs) =
            (c_library_version(&here)?, c_library_version(&self.tree.folder.join(LIBRARIES))?);
        if ours <= theirs {
            return Ok(());
        }
        let libraries = own.join(LIBRARIES);
        for name in C_LIBRARY {
            files::copy(&here.join(name), &libraries.join(name))?;
        }
        files::copy(&loader(&here)?, &own.join("usr/lib64/ld-linux-x86-64.so.2"))
    }
}

fn c_library_version(libraries: &Path) -> Result<(u32, u32), String> {
    let mut command = Command::new(loader(libraries)?);
    let printed = process::output(command.arg(libraries.join("libc.so.6")))?;
    version(&printed).ok_or_else(|| format!("{} does not state its version", libraries.display()))
}

fn version(printed: &str) -> Option<(u32, u32)> {
    let line = printed.lines().next()?.trim_end_matches('.');
    let (major, minor) = line.rsplit_once("version ")?.1.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

pub(super) fn write_scripts(own: &Path, command: &str) -> Result<(), String> {
    write(&own.join("command"), command)?;
    let servers = SERVERS.map(|(name, script)| (own.join("usr/sbin").join(name), script));
    files::create_folder(&own.join("usr/sbin"))?;
    for (program, script) in servers.iter().chain([&(own.join("init"), INIT)]) {
        write(program, script)?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(program, mode).map_err(cannot("change the mode of", program))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_c_library_are_numbers() {
        let printed = "GNU C Library (Debian GLIBC 2.31-13+deb11u13) stable release version 2.31.\nCopyright";
        assert_eq!(version(printed), Some((2, 31)));
        assert!(version(printed) < version("GNU C Library stable release version 2.100.\n"));
        assert_eq!(version("no number"), None);
    }
}
