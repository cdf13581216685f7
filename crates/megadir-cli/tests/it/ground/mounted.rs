//! Kinds of file systems, and one that is mounted.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use megadir_testkit::PATIENCE;
use megadir_testkit::mount::{run as run_tool, unmount};
use megadir_testkit::require::have;
use tempfile::TempDir;

use crate::remove::witness::scratch_in_memory;

/// How to make a file system. The lines are for the shell, in which `$D` is a folder in memory, `$S` a directory below it, `$I` an image
/// that does not exist yet, and `$P` the directory where the file system is to be mounted.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Package of its server; none for a driver of the kernel.
    package: Option<&'static str>,
    programs: &'static [&'static str],
    /// Makes the file system, of the files in `$S` if it is read-only.
    make: &'static str,
    mount: &'static str,
    pub(super) read_only: bool,
    /// Many kernels lack its driver; the emulated machine has it.
    pub(super) is_rare: bool,
    /// A client of a server in the kernel.
    is_client: bool,
}

const PLAIN: Kind = Kind {
    name: "",
    package: None,
    programs: &[],
    make: ":",
    mount: "",
    read_only: false,
    is_rare: false,
    is_client: false,
};
const ON_LOOP: Kind = Kind { mount: "mount -o loop,noatime $I $P", ..PLAIN };
/// The type is named: the kernel loads a driver of that name, where guessing only tries those that are loaded.
const fn rare(mount: &'static str) -> Kind {
    Kind { is_rare: true, mount, ..PLAIN }
}

pub(super) const EXT2: Kind = Kind {
    name: "ext2",
    programs: &["mke2fs"],
    make: "truncate -s 64M $I; mke2fs -q -F -t ext2 -O ^dir_index $I",
    mount: "mount -t ext2 -o loop,noatime $I $P",
    ..PLAIN
};
pub(super) const EXT4: Kind = Kind {
    name: "ext4",
    programs: &["mke2fs"],
    make: "truncate -s 256M $I; mke2fs -q -F -t ext4 $I",
    ..ON_LOOP
};
pub(super) const EXT4_LINEAR: Kind = Kind {
    name: "ext4 without dir_index",
    programs: &["mke2fs"],
    make: "truncate -s 256M $I; mke2fs -q -F -t ext4 -O ^dir_index $I",
    ..ON_LOOP
};
/// Case-insensitive from its root on.
pub(super) const EXT4_CASEFOLD: Kind = Kind {
    name: "ext4 with casefold",
    programs: &["mke2fs", "chattr"],
    make: "truncate -s 256M $I; mke2fs -q -F -t ext4 -O casefold $I",
    ..rare("mount -t ext4 -o loop,noatime $I $P; if rmdir $P/lost+found; then chattr +F $P; fi")
};
pub(super) const XFS: Kind =
    Kind { name: "xfs", programs: &["mkfs.xfs"], make: "truncate -s 512M $I; mkfs.xfs -q -f $I", ..ON_LOOP };
pub(super) const BTRFS: Kind = Kind {
    name: "btrfs",
    programs: &["mkfs.btrfs"],
    make: "truncate -s 512M $I; mkfs.btrfs -q -f $I",
    ..ON_LOOP
};
/// Not mounted again: its files would be gone.
pub(super) const TMPFS: Kind = Kind { name: "tmpfs", mount: "mount -t tmpfs -o size=256M tmpfs $P", ..PLAIN };
pub(super) const OVERLAY: Kind = Kind {
    name: "overlay on tmpfs",
    make: "mkdir $D/upper $D/work",
    mount: "mount -t overlay -o lowerdir=$S,upperdir=$D/upper,workdir=$D/work overlay $P",
    ..PLAIN
};
pub(super) const SQUASHFS: Kind = Kind {
    name: "squashfs",
    programs: &["mksquashfs"],
    make: "mksquashfs $S $I -quiet -no-progress",
    mount: "mount -t squashfs -o loop $I $P",
    read_only: true,
    ..PLAIN
};
pub(super) const EROFS: Kind = Kind {
    name: "erofs",
    programs: &["mkfs.erofs"],
    make: "mkfs.erofs --quiet $I $S || mkfs.erofs $I $S",
    mount: "mount -t erofs -o loop $I $P",
    read_only: true,
    ..PLAIN
};
pub(super) const F2FS: Kind = Kind {
    name: "f2fs",
    programs: &["mkfs.f2fs"],
    make: "truncate -s 128M $I; mkfs.f2fs -q -f $I",
    ..rare("mount -t f2fs -o loop,noatime $I $P")
};
pub(super) const JFS: Kind = Kind {
    name: "jfs",
    programs: &["mkfs.jfs"],
    make: "truncate -s 64M $I; mkfs.jfs -q $I",
    ..rare("mount -t jfs -o loop,noatime $I $P")
};
pub(super) const NILFS2: Kind = Kind {
    name: "nilfs2",
    programs: &["mkfs.nilfs2"],
    make: "truncate -s 144M $I; mkfs.nilfs2 -q -f $I",
    ..rare("mount -t nilfs2 -o loop,noatime $I $P")
};
pub(super) const NTFS3: Kind = Kind {
    name: "ntfs3",
    programs: &["mkntfs"],
    make: "truncate -s 64M $I; mkntfs -q -Q -F $I",
    ..rare("mount -i -t ntfs3 -o loop,noatime $I $P")
};
pub(super) const REISERFS: Kind = Kind {
    name: "reiserfs",
    programs: &["mkreiserfs"],
    make: "truncate -s 64M $I; mkreiserfs -q -f $I",
    ..rare("mount -t reiserfs -o loop,noatime $I $P")
};
pub(super) const EXFAT: Kind = Kind {
    name: "exfat",
    programs: &["mkfs.exfat"],
    make: "truncate -s 64M $I; mkfs.exfat $I",
    ..rare("mount -t exfat -o loop,noatime $I $P")
};
pub(super) const VFAT: Kind = Kind {
    name: "vfat",
    programs: &["mkfs.vfat"],
    make: "truncate -s 64M $I; mkfs.vfat $I",
    ..rare("mount -t vfat -o loop,noatime $I $P")
};

pub(super) const MINIX: Kind = Kind {
    name: "minix",
    programs: &["mkfs.minix"],
    make: "truncate -s 16M $I; mkfs.minix -3 $I",
    ..rare("mount -t minix -o loop,noatime $I $P")
};
pub(super) const UDF: Kind = Kind {
    name: "udf",
    programs: &["mkudffs"],
    make: "truncate -s 64M $I; mkudffs --media-type=hd --blocksize=2048 $I",
    ..rare("mount -t udf -o loop,noatime $I $P")
};
pub(super) const OCFS2: Kind = Kind {
    name: "ocfs2",
    programs: &["mkfs.ocfs2"],
    make: "truncate -s 256M $I; mkfs.ocfs2 -q -F -M local -N 1 $I",
    ..rare("mount -i -t ocfs2 -o loop,noatime $I $P")
};
pub(super) const GFS2: Kind = Kind {
    name: "gfs2",
    programs: &["mkfs.gfs2"],
    make: "truncate -s 256M $I; mkfs.gfs2 -q -O -p lock_nolock -j 1 -J 8 $I",
    ..rare("mount -i -t gfs2 -o loop,noatime $I $P")
};

/// QEMU is its server, of an empty folder (`crates/xtask/src/ci/emulated/machine.rs`).
pub(super) const NINE_P: Kind = Kind {
    name: "9p (QEMU) of ext4",
    is_client: true,
    ..rare("mount -i -t 9p -o trans=virtio,version=9p2000.L,msize=262144 shared $P")
};
/// The program that starts the server is one of the emulated machine (`crates/xtask/src/ci/emulated`): on any other it would change what
/// the machine exports.
pub(super) const NFS: Kind = Kind {
    name: "nfs 4.2 of tmpfs",
    programs: &["serve-nfs"],
    make: "serve-nfs $S",
    is_client: true,
    ..rare("mount -i -t nfs4 -o vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1 127.0.0.1:/ $P")
};
pub(super) const NFS_OF_FAT: Kind = Kind {
    name: "nfs 4.2 of vfat",
    make: "truncate -s 64M $I; mkfs.vfat -F 32 $I; mount -t vfat -o loop,noatime $I $S; serve-nfs $S",
    ..NFS
};
pub(super) const SMB: Kind = Kind {
    name: "smb 3.1.1 (ksmbd)",
    programs: &["serve-smb"],
    make: "serve-smb $S",
    is_client: true,
    ..rare(
        "mount -i -t cifs -o ip=127.0.0.1,username=user,password=password,vers=3.1.1,uid=0,gid=0 //127.0.0.1/share $P",
    )
};

pub(super) const BINDFS: Kind =
    Kind { name: "bindfs", package: Some("bindfs"), programs: &["bindfs"], mount: "bindfs $S $P", ..PLAIN };
pub(super) const ENCFS: Kind = Kind {
    name: "encfs",
    package: Some("encfs"),
    programs: &["encfs"],
    mount: "encfs --standard --extpass='echo secret' $S $P",
    ..PLAIN
};
pub(super) const FUSE2FS: Kind = Kind {
    name: "fuse2fs",
    package: Some("fuse2fs"),
    programs: &["fuse2fs", "mke2fs"],
    make: "truncate -s 64M $I; mke2fs -q -F -t ext4 $I",
    mount: "fuse2fs $I $P",
    ..PLAIN
};
pub(super) const GOCRYPTFS: Kind = Kind {
    name: "gocryptfs",
    package: Some("gocryptfs"),
    programs: &["gocryptfs"],
    make: "gocryptfs -q -init -scryptn 10 -extpass 'echo secret' $S",
    mount: "gocryptfs -q -extpass 'echo secret' $S $P",
    ..PLAIN
};
pub(super) const MERGERFS: Kind = Kind {
    name: "mergerfs",
    package: Some("mergerfs"),
    programs: &["mergerfs"],
    make: "mkdir $D/more",
    mount: "mergerfs $S:$D/more $P",
    ..PLAIN
};
pub(super) const NTFS_3G: Kind = Kind {
    name: "ntfs-3g",
    package: Some("ntfs-3g"),
    programs: &["ntfs-3g", "mkntfs"],
    make: "truncate -s 64M $I; mkntfs -q -Q -F $I",
    mount: "ntfs-3g $I $P",
    ..PLAIN
};
pub(super) const SQUASHFUSE: Kind = Kind {
    name: "squashfuse",
    package: Some("squashfuse"),
    programs: &["squashfuse", "mksquashfs"],
    mount: "squashfuse $I $P",
    ..SQUASHFS
};
pub(super) const SSHFS: Kind = Kind {
    name: "sshfs",
    package: Some("sshfs"),
    programs: &["sshfs", "/usr/lib/openssh/sftp-server"],
    // Without a network: the command that would connect starts the server itself.
    make: "printf '#!/bin/sh\\nexec /usr/lib/openssh/sftp-server\\n' >$D/connect; chmod +x $D/connect",
    mount: "sshfs -o ssh_command=$D/connect here:$S $P",
    ..PLAIN
};
pub(super) const UNIONFS: Kind = Kind {
    name: "unionfs-fuse",
    package: Some("unionfs-fuse"),
    programs: &["unionfs"],
    mount: "unionfs $S=RW $P",
    ..PLAIN
};

impl Kind {
    /// Version of the kernel, or of the server's package.
    pub(super) fn version(&self) -> String {
        let mut command = match self.package {
            Some(package) => {
                let mut query = Command::new("dpkg-query");
                query.args(["-W", "-f", "${Version}", package]);
                query
            }
            None => {
                let mut uname = Command::new("uname");
                uname.arg("-r");
                uname
            }
        };
        let printed = command.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let printed = printed.unwrap_or_default();
        let version = printed.trim().trim_start_matches("1:");
        match self.package {
            Some(_) => version.split(['-', '+', '~']).next().unwrap_or_default().to_owned(),
            None => format!("Linux {}", version.split('.').take(2).collect::<Vec<_>>().join(".")),
        }
    }
}

/// A file system that is mounted until this is dropped.
pub(super) struct Mounted {
    folder: TempDir,
    mount: &'static str,
    pub(super) read_only: bool,
    pub(super) has_server: bool,
    /// Its files are lost with the mount.
    pub(super) in_memory: bool,
    is_mounted: bool,
}

impl Mounted {
    /// A read-only one has what [`super::commands::fill`] makes.
    pub(super) fn make(kind: &Kind) -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err(format!("{} is mounted by root only", kind.name));
        }
        kind.programs.iter().try_for_each(|program| have(program))?;
        let folder = scratch_in_memory();
        let mut mounted = Self {
            folder,
            mount: kind.mount,
            read_only: kind.read_only,
            has_server: kind.package.is_some() || kind.is_client,
            in_memory: kind.name == TMPFS.name,
            is_mounted: false,
        };
        for name in ["source", "point"] {
            std::fs::create_dir(mounted.below(name)).unwrap();
        }
        if kind.read_only {
            super::commands::fill(&mounted.below("source"), mounted.has_server);
        }
        mounted.shell(kind.make)?;
        mounted.mount()?;
        Ok(mounted)
    }

    fn below(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Mount point.
    pub(super) fn path(&self) -> PathBuf {
        self.below("point")
    }

    /// A directory outside of it.
    pub(super) fn outside(&self) -> &Path {
        self.folder.path()
    }

    fn shell(&self, line: &str) -> Result<(), String> {
        let mut command = Command::new("sh");
        command.args(["-e", "-c", line]).current_dir(self.folder.path());
        command.env("D", self.folder.path()).env("S", self.below("source"));
        run_tool(command.env("I", self.below("image")).env("P", self.path()))
    }

    fn mount(&mut self) -> Result<(), String> {
        let device = |path: &Path| std::fs::metadata(path).map(|found| found.dev()).unwrap_or(0);
        let before = device(self.folder.path());
        self.shell(self.mount)?;
        // Servers that go to the background may mount after the command returned.
        let deadline = Instant::now() + PATIENCE;
        while device(&self.path()) == before {
            assert!(Instant::now() < deadline, "'{}' did not mount anything", self.mount);
            std::thread::sleep(Duration::from_millis(10));
        }
        self.is_mounted = true;
        Ok(())
    }

    pub(super) fn mount_again(&mut self) {
        unmount(&self.path()).unwrap();
        self.is_mounted = false;
        // The server may still write to its image.
        let deadline = Instant::now() + PATIENCE;
        while let Err(why) = self.mount() {
            assert!(Instant::now() < deadline, "{why}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.is_mounted
            && let Err(why) = unmount(&self.path())
            && !std::thread::panicking()
        {
            panic!("{why}");
        }
    }
}
