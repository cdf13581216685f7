//! The emulated machine: QEMU from Debian's package, with a disk for the results.
//!
//! ```text
//! vmlinuz, memory disk (programs, suites, command) -> QEMU -> console on standard output
//!              lab.img: file systems of tests      results.img: a tar archive without a file system, unpacked at the end
//! ```

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::debian::Tree;
use crate::{files, process};

/// Its QEMU runs every kernel.
const RELEASE: &str = "trixie";
const PACKAGES: &[&str] = &["qemu-system-x86", "kmod"];

/// Sizes of the machine. Both disks are sparse files.
const MEMORY: &str = "4096M";
const LAB_BYTES: u64 = 64 << 30;
const RESULTS_BYTES: u64 = 1 << 30;

/// The processor's counter is trusted as the clock, mitigations and random addresses are off, and a panic
/// ends the machine instead of waiting.
const WORDS: &str =
    "console=ttyS0 quiet loglevel=3 panic=-1 tsc=reliable mitigations=off norandmaps rdinit=/init";

pub(super) fn tools(folder: &Path) -> Result<Tree, String> {
    Tree::unpack(&folder.join("qemu"), RELEASE, PACKAGES)
}

/// QEMU, by KVM where it is available; `limit` is for the whole run, after which the machine is ended.
/// `memory_disk` holds the programs, and the results come back on a disk in `scratch`.
pub(super) struct Machine<'a> {
    pub(super) tools: &'a Tree,
    pub(super) kernel: PathBuf,
    pub(super) memory_disk: PathBuf,
    pub(super) scratch: &'a Path,
    pub(super) processors: u32,
    pub(super) limit: Duration,
}

impl Machine<'_> {
    /// Runs until the machine powers off, with its console on standard output, and unpacks the results into `to`.
    pub(super) fn run(&self, to: &Path) -> Result<(), String> {
        let lab = self.disk("lab.img", LAB_BYTES)?;
        let results = self.disk("results.img", RESULTS_BYTES)?;
        let shared = self.scratch.join("shared");
        files::recreate_folder(&shared)?;
        let mut qemu = self.qemu(&[&lab, &results])?;
        // For 9p, whose server is QEMU itself.
        let shared = format!("local,id=shared,path={},security_model=mapped-xattr", shared.display());
        qemu.args(["-fsdev", &shared, "-device", "virtio-9p-pci,fsdev=shared,mount_tag=shared"]);
        println!("starting the machine, {}", if has_kvm() { "by KVM" } else { "emulated, without KVM" });
        let mut child = process::start(qemu.stdin(Stdio::null()).stderr(Stdio::null()))?;
        let ended = process::wait_at_most(&mut child, &qemu, self.limit);
        let unpacked = ended.and_then(|status| match status.success() {
            true => process::output(Command::new("tar").arg("-xf").arg(&results).arg("-C").arg(to)).map(drop),
            false => Err(format!("QEMU failed: {status}")),
            // The disks are removed whatever happened; only their contents matter.
        });
        for disk in [&lab, &results] {
            std::fs::remove_file(disk).map_err(files::cannot("remove", disk))?;
        }
        unpacked
    }

    fn disk(&self, name: &str, bytes: u64) -> Result<PathBuf, String> {
        let path = self.scratch.join(name);
        let made = File::create(&path).and_then(|file| file.set_len(bytes));
        made.map(|()| path.clone()).map_err(files::cannot("create", &path))
    }

    fn qemu(&self, disks: &[&Path]) -> Result<Command, String> {
        let share = self.tools.folder.join("usr/share");
        let mut qemu = self.tools.command("usr/bin/qemu-system-x86_64", "qemu-system-x86_64")?;
        qemu.env("QEMU_MODULE_DIR", self.tools.folder.join("usr/lib/x86_64-linux-gnu/qemu"));
        qemu.arg("-L").arg(share.join("seabios")).arg("-L").arg(share.join("qemu"));
        // The emulated processor has everything that QEMU knows, but for page tables of five levels.
        let (accelerator, processor) = if has_kvm() { ("kvm", "host") } else { ("tcg", "max,-la57") };
        qemu.args(["-machine", "q35", "-accel", accelerator, "-cpu", processor, "-m", MEMORY]);
        qemu.args(["-smp", &self.processors.to_string()]);
        qemu.args(["-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot", "-append", WORDS]);
        qemu.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(&self.memory_disk);
        for disk in disks {
            // Names with a comma are written with two.
            let disk = disk.display().to_string().replace(',', ",,");
            qemu.arg("-drive").arg(format!("if=virtio,format=raw,cache=unsafe,file={disk}"));
        }
        Ok(qemu)
    }
}

/// The device alone is no proof: the processor must have the feature, too.
fn has_kvm() -> bool {
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let hardware = processor.split_whitespace().any(|word| word == "vmx" || word == "svm");
    hardware && File::options().read(true).write(true).open("/dev/kvm").is_ok()
}
