//! Every command on every kind of file system that can be had: each is exact, or is refused with nothing changed.
//!
//! With `MEGADIR_GROUND_LOG=FILE`, each test adds its row of the matrix docs/ground.md to the file (`cargo xtask ground`).

mod commands;
mod mounted;

use std::io::Write;

use megadir_testkit::require;

use crate::support::have;
use commands::{Cell, cells};
use mounted::{Kind, Mounted};

/// Tests `kind`, and adds its row to the log. A cell that differs fails the test.
fn check(kind: &Kind) {
    let mounted = have_all(kind).and_then(|()| Mounted::make(kind));
    let mut mounted = match mounted {
        Err(why) if kind.is_rare => return require::unavailable(&format!("ground::on_{}", kind.name), &why),
        mounted => require!(mounted),
    };
    let version = kind.version();
    let cells = cells(&mut mounted);
    let row: Vec<String> = [kind.name.to_owned(), version]
        .into_iter()
        .chain(cells.iter().map(|(_, cell)| cell.to_string()))
        .collect();
    if let Some(log) = std::env::var_os("MEGADIR_GROUND_LOG") {
        let mut log =
            std::fs::OpenOptions::new().append(true).create(true).open(log).expect("it can be written");
        // One write: lines of other tests come between lines only.
        log.write_all(format!("{}\n", row.join("\t")).as_bytes()).expect("it can be written");
    }
    for (command, cell) in &cells {
        assert!(!matches!(cell, Cell::Differs(_)), "{}, {command}: {cell}", kind.name);
    }
}

fn have_all(kind: &Kind) -> Result<(), String> {
    kind.programs.iter().try_for_each(|program| have(program))
}

macro_rules! tests {
    ($($name:ident $kind:expr;)*) => {
        $(#[test] fn $name() { check(&$kind); })*
    };
}

tests! {
    on_ext2 mounted::EXT2;
    on_ext4 mounted::EXT4;
    on_ext4_without_index mounted::EXT4_LINEAR;
    on_xfs mounted::XFS;
    on_btrfs mounted::BTRFS;
    on_tmpfs mounted::TMPFS;
    on_overlayfs mounted::OVERLAY;
    on_squashfs mounted::SQUASHFS;
    on_erofs mounted::EROFS;
    on_f2fs mounted::F2FS;
    on_jfs mounted::JFS;
    on_nilfs2 mounted::NILFS2;
    on_ntfs3 mounted::NTFS3;
    on_reiserfs mounted::REISERFS;
    on_exfat mounted::EXFAT;
    on_vfat mounted::VFAT;
    on_bindfs mounted::BINDFS;
    on_encfs mounted::ENCFS;
    on_fuse2fs mounted::FUSE2FS;
    on_gocryptfs mounted::GOCRYPTFS;
    on_mergerfs mounted::MERGERFS;
    on_ntfs_3g mounted::NTFS_3G;
    on_squashfuse mounted::SQUASHFUSE;
    on_sshfs mounted::SSHFS;
    on_unionfs mounted::UNIONFS;
}
