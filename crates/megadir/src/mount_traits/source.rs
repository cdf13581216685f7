//! Lasting name of a mount by its source in the mount table, for mounts without an id in statfs(2). One source has several spellings:
//! a device has names and links, a label or UUID stands for it (mount(8)), hosts and shares of SMB have no case, and a directory may
//! end in slashes.
//!
//! Another name of the same host, such as its address, is another source: only the user knows that it is the same.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::mounts::unescaped;

/// Links of udev to devices, by the identity of the file system on them.
const BY_UUID: &str = "/dev/disk/by-uuid";
/// Names of a device that mount(8) and mount(2) of some programs take.
const TAGS: [(&str, &str); 4] = [
    ("UUID=", BY_UUID),
    ("LABEL=", "/dev/disk/by-label"),
    ("PARTUUID=", "/dev/disk/by-partuuid"),
    ("PARTLABEL=", "/dev/disk/by-partlabel"),
];

/// Type and source, the source in one spelling.
pub(super) fn named(driver: &[u8], source: &[u8]) -> String {
    let (driver, source) = (String::from_utf8_lossy(driver), unescaped(source));
    let source = String::from_utf8_lossy(&source);
    let (driver, source) = match &*driver {
        "nfs" | "nfs4" => ("nfs", of_host(&source)),
        "cifs" | "smb3" => ("cifs", of_share(&source)),
        "fuse.sshfs" | "fuse.glusterfs" => (&*driver, of_host(&source)),
        other => (other, of_device(&source).unwrap_or_else(|| without_slashes(&source).to_owned())),
    };
    format!("{driver} {source}")
}

/// `host:/path`, `user@host:path` or `[address]:/path`.
fn of_host(source: &str) -> String {
    let from = source.find(']').unwrap_or(0);
    let Some(colon) = source[from..].find(':').map(|at| from + at) else {
        return without_slashes(source).to_owned();
    };
    let (host, path) = source.split_at(colon);
    let host = match host.rsplit_once('@') {
        Some((user, host)) => format!("{user}@{}", host.to_ascii_lowercase()),
        None => host.to_ascii_lowercase(),
    };
    // `host:/` is the root, not the home directory.
    let path = match without_slashes(&path[1..]) {
        "" if path.len() > 1 => "/",
        path => path,
    };
    format!("{host}:{path}")
}

/// `//Server/Share/directory`, also with backslashes. Names of servers and shares have no case; names of directories may have one.
fn of_share(source: &str) -> String {
    let source = source.replace('\\', "/");
    let source = without_slashes(&source);
    let end = source.match_indices('/').nth(3).map_or(source.len(), |(at, _)| at);
    let (share, directory) = source.split_at(end);
    format!("{}{directory}", share.to_lowercase())
}

fn without_slashes(source: &str) -> &str {
    match source.trim_end_matches('/') {
        "" => source,
        trimmed => trimmed,
    }
}

/// Name of a device that survives a restart: the UUID of its file system, the name of a volume, or the file of a loop device.
fn of_device(source: &str) -> Option<String> {
    let tagged = TAGS.iter().find_map(|(tag, links)| Some(Path::new(links).join(source.strip_prefix(tag)?)));
    let path = match tagged {
        Some(link) => link,
        None => source.starts_with('/').then(|| PathBuf::from(source))?,
    };
    let Some(number) = device_number(&path) else {
        // A UUID whose device is not there any more.
        return source.strip_prefix(TAGS[0].0).map(|uuid| format!("uuid {uuid}"));
    };
    let has_number = |link: &PathBuf| device_number(link) == Some(number);
    let links = std::fs::read_dir(BY_UUID).into_iter().flatten().filter_map(Result::ok);
    if let Some(link) = links.map(|link| link.path()).find(has_number) {
        return link.file_name().map(|uuid| format!("uuid {}", uuid.to_string_lossy()));
    }
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let attribute = |name: &str| {
        let text = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/{name}")).ok()?;
        Some(text.trim_end().to_owned()).filter(|text| !text.is_empty())
    };
    // One file can hold several file systems.
    let in_file = || {
        let file = attribute("loop/backing_file")?;
        Some(match attribute("loop/offset").filter(|offset| offset != "0") {
            Some(offset) => format!("{file} at {offset}"),
            None => file,
        })
    };
    let name = ["dm/uuid", "dm/name"].into_iter().find_map(attribute).or_else(in_file);
    name.or_else(|| Some(path.canonicalize().ok()?.to_string_lossy().into_owned()))
}

fn device_number(path: &Path) -> Option<u64> {
    let status = path.metadata().ok()?;
    status.file_type().is_block_device().then(|| status.rdev())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use megadir_testkit::require;

    use super::named;

    fn name(driver: &str, source: &str) -> String {
        named(driver.as_bytes(), source.as_bytes())
    }

    #[test]
    fn spellings_of_one_source_have_one_name() {
        for [(driver, source), (other_driver, other_source)] in [
            [("nfs4", "Server:/export/"), ("nfs", "server:/export")],
            [("nfs", "[FE80::1]:/export//"), ("nfs", "[fe80::1]:/export")],
            [("nfs", "server:/"), ("nfs4", "SERVER:/")],
            [("cifs", "//Server/Share/"), ("smb3", "//server/share")],
            [("cifs", r"\134\134SERVER\134share"), ("cifs", "//server/share")],
            [("cifs", r"\134\134SERVER\134share\134Dir"), ("cifs", "//server/Share/Dir/")],
            [("fuse.sshfs", "me@Host:/srv/me/"), ("fuse.sshfs", "me@host:/srv/me")],
            [("fuse.bindfs", "/srv/data/"), ("fuse.bindfs", "/srv/data")],
        ] {
            assert_eq!(name(driver, source), name(other_driver, other_source));
        }
    }

    #[test]
    fn other_sources_have_other_names() {
        for [(driver, source), (other_driver, other_source)] in [
            [("nfs", "server:/export"), ("nfs", "server:/Export")],
            [("nfs", "server:/a"), ("cifs", "server:/a")],
            [("cifs", "//server/share/a"), ("cifs", "//server/share/A")],
            [("fuse.sshfs", "me@host:"), ("fuse.sshfs", "me@host:/")],
            [("fuse.sshfs", "Me@host:/"), ("fuse.sshfs", "me@host:/")],
            // Names of remotes have case.
            [("fuse.rclone", "Remote:a"), ("fuse.rclone", "remote:a")],
            [("fuse.bindfs", "/"), ("fuse.bindfs", "")],
            [("fuseblk", "UUID=5E7C-0001"), ("fuseblk", "UUID=5E7C-0002")],
            [("fuseblk", "/dev/no-device"), ("fuseblk", "/dev/no-other-device")],
        ] {
            assert_ne!(name(driver, source), name(other_driver, other_source));
        }
    }

    /// A loop device, which the caller detaches, with options of losetup(8).
    fn attach(image: &Path, options: &[&str]) -> Result<String, String> {
        match Command::new("losetup").args(["--find", "--show"]).args(options).arg(image).output() {
            Ok(output) if output.status.success() => {
                Ok(String::from_utf8(output.stdout).unwrap().trim().to_owned())
            }
            other => Err(format!("no loop device: {other:?}")),
        }
    }

    fn detach(device: &str) {
        assert!(Command::new("losetup").args(["--detach", device]).status().unwrap().success());
    }

    #[test]
    fn a_device_has_one_name_whatever_link_leads_to_it() {
        let scratch = tempfile::tempdir().unwrap();
        let image = scratch.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(1 << 20).unwrap();
        let device = require!(attach(&image, &[]));
        let link = scratch.path().join("mapped");
        std::os::unix::fs::symlink(&device, &link).unwrap();
        let names = [device.as_str(), link.to_str().unwrap()].map(|source| name("fuseblk", source));
        detach(&device);
        assert_eq!(names[0], names[1]);
        assert!(names[0].ends_with(image.canonicalize().unwrap().to_str().unwrap()), "{}", names[0]);
    }

    #[test]
    fn parts_of_one_image_are_different_sources() {
        let scratch = tempfile::tempdir().unwrap();
        let image = scratch.path().join("image");
        std::fs::File::create(&image).unwrap().set_len(1 << 20).unwrap();
        let [first, second] = ["0", "524288"].map(|offset| attach(&image, &["--offset", offset]));
        let (first, second) = (require!(first), require!(second));
        let names = [&first, &second].map(|device| name("fuseblk", device));
        [first, second].iter().for_each(|device| detach(device));
        assert_ne!(names[0], names[1]);
    }
}
