//! Trees to pack, and everything about a tree that packing must keep.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Facts of an entry; times and attributes as text.
pub(crate) type Described = BTreeMap<Vec<u8>, String>;

pub(crate) fn name(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

fn set_attribute(path: &Path, name: &[u8], value: &[u8]) -> bool {
    rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty()).is_ok()
}

/// Creates a tree with every kind of entry that packs hold; returns `false` if the file system has no attributes of users.
pub(crate) fn hostile_tree(top: &Path) -> bool {
    fs::create_dir(top).unwrap();
    let deep = [&b"long-directory-name-".repeat(10)[..]; 4].join(&b'/');
    let directories: [&[u8]; 6] = [b"plain", b"with\nnewline", b"\xff\xfe", b"read-only", b"empty", &deep];
    for directory in directories {
        fs::create_dir_all(top.join(name(directory))).unwrap();
    }
    let names: [&[u8]; 9] = [
        b"a",
        b"plain/b = c % d",
        b"with\nnewline/x\ny",
        b"\xff\xfe/\x80\x01\x1b[0m",
        b"read-only/file",
        b"-rf",
        b"*",
        b"plain/back\\slash",
        b"plain/ends with space ",
    ];
    for (number, path) in names.into_iter().enumerate() {
        fs::write(top.join(name(path)), vec![number as u8; number * 300]).unwrap();
    }
    fs::write(top.join(name(&[b'n'; 255])), "longest name").unwrap();
    for accented in ["\u{fc}", "u\u{308}"] {
        fs::write(top.join(name(&deep)).join(accented), accented).unwrap();
    }
    fs::create_dir(top.join("read-only/below")).unwrap();
    fs::write(top.join(name(&deep)).join("end of a long path"), "deep").unwrap();
    for length in [98, 99, 100, 101] {
        fs::write(top.join("plain").join(name(&vec![b'p'; length])), "near the limit of a field").unwrap();
    }
    fs::write(top.join("large"), vec![b'l'; 2_500_001]).unwrap();
    let sparse = File::create(top.join("sparse")).unwrap();
    sparse.write_all_at(b"data", 2 << 20).unwrap();
    sparse.set_len(5 << 20).unwrap();
    for link in ["second", "plain/third"] {
        fs::hard_link(top.join("a"), top.join(link)).unwrap();
        fs::hard_link(top.join("large"), top.join(format!("{link}-large"))).unwrap();
    }
    symlink("nowhere", top.join("dangling")).unwrap();
    symlink("../plain", top.join("plain/up")).unwrap();
    symlink(name(&[b't'; 300]), top.join("long target")).unwrap();
    symlink(name(b"new\nline\xff"), top.join("odd target")).unwrap();
    let has_attributes = set_attribute(&top.join("a"), b"user.binary=%", b"\0=\n\xff")
        && set_attribute(&top.join("plain"), b"user.of-directory", b"")
        && set_attribute(&top.join("large"), b"user.long", &vec![b'v'; 3000]);
    let times = [
        ("a", 1_000_000_000_123_456_789i64),
        ("-rf", 1),
        ("*", -1_500_000_000),
        ("large", 1_700_000_000_000_000_000),
    ];
    for (file, ns) in times {
        set_modified(&top.join(file), ns);
    }
    let modes = [("a", 0o4755), ("*", 0o000), ("-rf", 0o1777), ("plain/b = c % d", 0o640)];
    for (file, mode) in modes {
        fs::set_permissions(top.join(file), Permissions::from_mode(mode)).unwrap();
    }
    for (directory, mode) in [("read-only", 0o555), ("empty", 0o2770), ("plain", 0o711)] {
        set_modified(&top.join(directory), 1_234_567_890_000_000_001);
        fs::set_permissions(top.join(directory), Permissions::from_mode(mode)).unwrap();
    }
    set_modified(top, 987_654_321_000_000_000);
    has_attributes
}

fn set_modified(path: &Path, ns: i64) {
    let of = Duration::from_nanos(ns.unsigned_abs());
    let time = if ns < 0 { SystemTime::UNIX_EPOCH - of } else { SystemTime::UNIX_EPOCH + of };
    File::open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
}

/// Everything about a tree but its inode numbers, and times that copying cannot keep.
pub(crate) fn described(top: &Path) -> Described {
    let (mut all, mut first) = (Described::new(), BTreeMap::new());
    let mut waiting = vec![PathBuf::new()];
    while let Some(path) = waiting.pop() {
        let at = top.join(&path);
        let status = fs::symlink_metadata(&at).unwrap();
        let kind = status.file_type();
        let mut contents = String::new();
        if kind.is_dir() {
            waiting.extend(fs::read_dir(&at).unwrap().map(|entry| path.join(entry.unwrap().file_name())));
        } else if kind.is_symlink() {
            contents = format!("{:?}", fs::read_link(&at).unwrap());
        } else if kind.is_file() {
            let bytes = fs::read(&at).unwrap();
            let sum =
                bytes.iter().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
            contents = format!("{} bytes, {sum:x}", bytes.len());
        }
        if kind.is_file() && status.nlink() > 1 {
            // The name that sorts first, whatever the order of the walk.
            let names: &mut Vec<PathBuf> = first.entry(status.ino()).or_default();
            names.push(path.clone());
        }
        let modified = i128::from(status.mtime()) * 1_000_000_000 + i128::from(status.mtime_nsec());
        let (mode, user, group) = (status.mode(), status.uid(), status.gid());
        let attributes = if kind.is_symlink() { Vec::new() } else { attributes(&at) };
        let line = format!("{mode:o} {user}:{group} {modified} {contents} {attributes:?}");
        all.insert(path.as_os_str().as_bytes().to_vec(), line);
    }
    for mut names in first.into_values() {
        names.sort();
        for name in &names {
            let line = all.get_mut(name.as_os_str().as_bytes()).unwrap();
            line.push_str(&format!(" links {names:?}"));
        }
    }
    all
}

fn attributes(path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut names = vec![0; 1 << 16];
    let Ok(length) = rustix::fs::listxattr(path, &mut names[..]) else { return Vec::new() };
    let names = names[..length].split(|byte| *byte == 0).filter(|name| name.starts_with(b"user."));
    let mut found: Vec<_> = names
        .map(|name| {
            let mut value = vec![0; 1 << 16];
            let length = rustix::fs::getxattr(path, name, &mut value[..]).unwrap();
            (name.to_vec(), value[..length].to_vec())
        })
        .collect();
    found.sort();
    found
}
