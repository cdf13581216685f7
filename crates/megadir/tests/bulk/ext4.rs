//! Layouts of ext4 that `ext4-device` reads or refuses.

use std::fs;
use std::process::Command;

use megadir::{Dir, ErrorKind, stat_backend};
use megadir_testkit::mount::{EXT4, Mount, Recipe, run};
use megadir_testkit::require;

use crate::support::{SETTLED, assert_true, various};

/// Options of mkfs.ext4.
type Options = &'static [&'static str];

const READ: [(&str, Options); 9] = [
    ("1 KiB blocks", &["mkfs.ext4", "-q", "-F", "-b", "1024"]),
    ("32-bit descriptors", &["mkfs.ext4", "-q", "-F", "-O", "^64bit"]),
    ("inode tables in their groups", &["mkfs.ext4", "-q", "-F", "-O", "^flex_bg"]),
    ("few backups of the superblock", &["mkfs.ext4", "-q", "-F", "-O", "sparse_super2,^resize_inode"]),
    ("a seed of its own", &["mkfs.ext4", "-q", "-F", "-O", "metadata_csum_seed"]),
    ("large directories", &["mkfs.ext4", "-q", "-F", "-O", "large_dir,ea_inode"]),
    ("clusters and 1 KiB blocks", &["mkfs.ext4", "-q", "-F", "-b", "1024", "-O", "bigalloc", "-C", "16384"]),
    ("large inodes", &["mkfs.ext4", "-q", "-F", "-I", "1024", "-O", "encrypt"]),
    ("small inodes", &["mkfs.ext4", "-q", "-F", "-I", "128"]),
];

#[test]
fn attributes_are_exact_for_every_inode_layout() {
    let mut mounts = Vec::new();
    for (name, mkfs) in READ {
        let mount = require!(Mount::make(&Recipe { name, mkfs, image_bytes: 256 << 20, ..EXT4 }));
        let path = mount.path().join("various");
        various(&path, 3000);
        for index in (500..2500).filter(|index| index % 97 != 0) {
            fs::remove_file(path.join(format!("file{index:028}"))).unwrap();
        }
        // Large directories and long links, which have blocks, and files in another group.
        fs::create_dir(path.join("large")).unwrap();
        for entry in 0..2000 {
            fs::write(path.join(format!("large/{entry:0200}")), "x").unwrap();
        }
        mounts.push(mount);
    }
    std::thread::sleep(SETTLED * 2);
    let ext4_device = stat_backend("ext4-device").unwrap();
    for mount in mounts {
        for below in ["", "various", "various/large"] {
            assert_true(ext4_device, &mount.path().join(below));
        }
    }
}

const REFUSED: [(Options, &str, &str); 5] = [
    (&["mkfs.ext4", "-q", "-F", "-O", "^metadata_csum"], "", "no checksums of its inodes"),
    (&["mkfs.ext4", "-q", "-F", "-O", "meta_bg,^resize_inode"], "", "meta_bg"),
    (&["mkfs.ext3", "-q", "-F"], "", "no checksums of its inodes"),
    (&["mkfs.ext4", "-q", "-F"], "remount,nouid32", "nouid32"),
    (&["mkfs.ext4", "-q", "-F"], "remount,ro", ""),
];

#[test]
fn unsupported_options_are_refused_with_the_reason() {
    for (mkfs, remount, reason) in REFUSED {
        let mount = require!(Mount::make(&Recipe { mkfs, image_bytes: 256 << 20, ..EXT4 }));
        if !remount.is_empty() {
            run(Command::new("mount").args(["-o", remount]).arg(mount.path())).unwrap();
        }
        let probed = stat_backend("ext4-device").unwrap().probe(&Dir::open(mount.path()).unwrap());
        match reason {
            "" => probed.unwrap(),
            reason => {
                let error = probed.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Unavailable);
                assert!(error.reason().contains(reason), "{error}");
            }
        }
    }
}
