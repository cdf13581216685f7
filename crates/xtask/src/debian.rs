//! Debian packages, downloaded and checked by apt and unpacked into a folder, without root. Their scripts are not run.
//!
//! ```text
//! Tree::unpack: apt-get (own configuration) -> *.deb -> dpkg-deb | tar -> folder -> .contents, written last
//! newest:       apt-get (own configuration) --print-uris -> versions
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{files, process};

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const MIRROR: &str = "http://deb.debian.org/debian";

/// With the package that has each, for the message.
const TOOLS: &[(&str, &str)] = &[("apt-get", "apt"), ("dpkg-deb", "dpkg"), ("tar", "tar")];

/// Beginnings of names of packages that come as dependencies and are not needed to boot or to run tests.
const UNUSED: &[&str] = &[
    "adduser",
    "base-files",
    "debconf",
    "dpkg_",
    "initramfs",
    "klibc",
    "libicu",
    "libklibc",
    "libpython",
    "perl",
    "python3",
    "systemd",
    "udev_",
];

const UNUSED_FOLDERS: &[&str] = &["doc", "info", "locale", "man"];

pub(crate) struct Tree {
    pub(crate) folder: PathBuf,
}

pub(crate) fn lacking() -> Option<String> {
    let tool = TOOLS.iter().find(|(tool, _)| process::find_tool(tool).is_none());
    let tool = tool.map(|(tool, package)| format!("no {tool} (package {package})"));
    tool.or_else(|| {
        (!Path::new(KEYRING).is_file()).then(|| format!("no {KEYRING} (package debian-archive-keyring)"))
    })
}

impl Tree {
    /// Does nothing if an earlier run did.
    /// A list of packages that changed is unpacked again as a whole, since files of a package that was
    /// removed from the list would stay.
    pub(crate) fn unpack(folder: &Path, release: &str, packages: &[&str]) -> Result<Self, String> {
        let contents = format!("{release}: {}", packages.join(" "));
        let tree = Self { folder: folder.to_owned() };
        if std::fs::read_to_string(tree.mark()).is_ok_and(|known| known == contents) {
            return Ok(tree);
        }
        println!("unpacking {} packages of Debian {release}, and their dependencies", packages.len());
        let downloads = folder.with_extension("apt");
        for old in [folder, &downloads] {
            files::remove_folder(old)?;
        }
        download(&downloads, release, packages)?;
        // Links as in releases since 2023, because older packages contain both /bin and /usr/bin.
        for name in ["bin", "sbin", "lib", "lib64"] {
            files::create_folder(&folder.join("usr").join(name))?;
            files::link(&format!("usr/{name}"), &folder.join(name))?;
        }
        for archive in files::list(&downloads.join("archives"))? {
            unpack_one(&archive, folder)?;
        }
        files::remove_folder(&downloads)?;
        files::write(&tree.mark(), contents)?;
        Ok(tree)
    }

    /// Has the names of the packages; written after all else.
    pub(crate) fn mark(&self) -> PathBuf {
        self.folder.join(".contents")
    }

    /// With the tree's libraries. Some programs act by the name they are called by.
    /// Programs of another release need the loader and the libraries of their tree.
    pub(crate) fn command(&self, program: &str, name: &str) -> Result<Command, String> {
        let libraries = self.folder.join("usr/lib/x86_64-linux-gnu");
        let mut command = Command::new(loader(&libraries)?);
        command.arg("--library-path").arg(&libraries).args(["--argv0", name]).arg(self.folder.join(program));
        Ok(command)
    }
}

/// Before Debian 12 its name contains the version.
pub(crate) fn loader(libraries: &Path) -> Result<PathBuf, String> {
    let is_loader = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("ld-linux") || name.starts_with("ld-2")
    };
    let found = files::list(libraries)?.iter().find(is_loader).cloned();
    found.ok_or_else(|| format!("no ld-linux-x86-64.so.2 in {}", libraries.display()))
}

fn download(folder: &Path, release: &str, packages: &[&str]) -> Result<(), String> {
    let apt = updated(folder, release)?;
    let words = ["--yes", "--no-install-recommends", "--download-only", "install"];
    process::output(apt().args(words).args(packages)).map(drop).map_err(unreachable)
}

/// Versions of packages in a release, without Debian's own revision.
pub(crate) fn newest(folder: &Path, release: &str, packages: &[&str]) -> Result<Vec<String>, String> {
    let apt = updated(folder, release)?;
    let printed =
        process::output(apt().args(["--print-uris", "download"]).args(packages)).map_err(unreachable)?;
    let version = |package: &&str| {
        let file = printed.split_whitespace().find_map(|word| word.strip_prefix(&format!("{package}_")));
        let version = file.and_then(|file| file.split(['-', '+', '_']).next()).map(str::to_owned);
        version.ok_or_else(|| format!("no version of {package} in Debian {release}"))
    };
    packages.iter().map(version).collect()
}

/// Calls of apt-get after an update of the lists in `folder`.
///
/// apt with a configuration of its own in a folder: neither this system's sources nor its state are read or
/// changed, no lock and no root are needed, and signatures are checked as usual. Without `Error-Mode=any`,
/// `update` succeeds although a mirror cannot be reached, and the failure would be reported as a missing
/// package.
fn updated(folder: &Path, release: &str) -> Result<impl Fn() -> Command, String> {
    for part in ["lists/partial", "archives/partial"] {
        files::create_folder(&folder.join(part))?;
    }
    let sources = folder.join("sources.list");
    let line = format!("deb [arch=amd64 signed-by={KEYRING}] {} {release} main\n", mirror());
    files::write(&sources, line)?;
    let options = [
        ("Dir::State::Lists", folder.join("lists")),
        ("Dir::State::status", "/dev/null".into()),
        ("Dir::Etc::SourceList", sources),
        ("Dir::Etc::SourceParts", "/dev/null".into()),
        ("Dir::Cache", folder.to_owned()),
        ("APT::Architecture", "amd64".into()),
        ("Debug::NoLocking", "1".into()),
    ];
    let apt = move || {
        let mut command = Command::new("apt-get");
        command.args(["-qq", "-o", "APT::Sandbox::User="]);
        for (name, value) in &options {
            command.arg("-o").arg(format!("{name}={}", value.display()));
        }
        command
    };
    process::output(apt().args(["-o", "APT::Update::Error-Mode=any", "update"])).map_err(unreachable)?;
    Ok(apt)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unreachable(message: String) -> String {
    let reason = message.lines().find(|line| line.starts_with("E: ")).or(message.lines().next());
    format!("no packages from {}: {}", mirror(), reason.unwrap_or_default())
}

/// This machine's mirror, if it is one of Debian.
fn mirror() -> String {
    let words = ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"];
    let printed = process::output(Command::new("apt-get").args(words)).unwrap_or_default();
    let own = printed.lines().map(|line| line.trim_end_matches('/')).find(|line| line.ends_with("/debian"));
    own.unwrap_or(MIRROR).to_owned()
}

fn unpack_one(archive: &Path, folder: &Path) -> Result<(), String> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    if !name.ends_with(".deb") || UNUSED.iter().any(|unused| name.starts_with(unused)) {
        return Ok(());
    }
    let mut unpacker = Command::new("dpkg-deb");
    unpacker.arg("--fsys-tarfile").arg(archive).stdout(std::process::Stdio::piped());
    let mut unpacker = process::start(&mut unpacker)?;
    let stream = unpacker.stdout.take().ok_or("dpkg-deb has no output")?;
    let mut tar = Command::new("tar");
    // Links of the tree stay links, although packages contain the folders.
    tar.args(["--extract", "--no-same-owner", "--keep-directory-symlink", "--directory"]).arg(folder);
    tar.args(UNUSED_FOLDERS.iter().map(|name| format!("--exclude=./usr/share/{name}")));
    // Both ends are waited for: tar may succeed on a stream that was cut.
    let status = tar.stdin(stream).status().map_err(|error| process::cannot("start", &tar, &error))?;
    let unpacked = unpacker.wait().is_ok_and(|status| status.success());
    match unpacked && status.success() {
        true => Ok(()),
        false => Err(format!("cannot unpack {name}")),
    }
}
