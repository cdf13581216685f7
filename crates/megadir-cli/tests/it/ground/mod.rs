//! Every command on every kind of file system that is available: each is exact, or is refused with nothing changed.
//!
//! With `MEGADIR_GROUND_LOG=FILE`, each test adds its row of the matrix docs/ground.md to the file (`cargo xtask ground`).

mod commands;
mod mounted;

use std::io::Write;
use std::time::{Duration, Instant};

use megadir_testkit::require;

use crate::support::{fill, run};
use commands::{Cell, cells};
use mounted::{Kind, Mounted};

/// For a removal that finds a removed file still open.
const AT_MOST: Duration = Duration::from_secs(2);

/// Tests `kind`, and adds its row to the log. A cell that differs fails the test.
fn check(kind: &Kind) {
    let mut mounted = match Mounted::make(kind) {
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

macro_rules! tests {
    ($($name:ident $kind:expr;)*) => {
        $(#[test] fn $name() { check(&$kind); })*
    };
}

tests! {
    on_ext2 mounted::EXT2;
    on_ext4 mounted::EXT4;
    on_ext4_without_index mounted::EXT4_LINEAR;
    on_ext4_with_casefold mounted::EXT4_CASEFOLD;
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
    on_minix mounted::MINIX;
    on_udf mounted::UDF;
    on_ocfs2 mounted::OCFS2;
    on_gfs2 mounted::GFS2;
    on_9p mounted::NINE_P;
    on_nfs mounted::NFS;
    on_nfs_of_vfat mounted::NFS_OF_FAT;
    on_smb mounted::SMB;
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

/// Removed files that are open: NFS clients give them another name, SMB servers go on listing them.
#[test]
fn on_nfs_and_smb_removed_files_that_are_open_are_named_within_two_seconds() {
    for (kind, name) in [(mounted::NFS, "'.nfs"), (mounted::SMB, "'f'")] {
        let mounted = match Mounted::make(&kind) {
            Ok(mounted) => mounted,
            Err(why) => {
                return require::unavailable("ground::on_nfs_and_smb_removed_files_that_are_open", &why);
            }
        };
        let at = mounted.path();
        fill(&at, &["d/sub/", "d/f", "d/sub/g"]);
        let open = std::fs::File::open(at.join("d/f")).expect("it was just made");
        for words in [&["d"][..], &["--contents", "d"]] {
            let began = Instant::now();
            let ran = run(&at, &[&["remove", "--yes"], words].concat());
            assert!(began.elapsed() < AT_MOST, "{}: {:?} {ran:?}", kind.name, began.elapsed());
            assert_eq!(ran.code, Some(1), "{}: {ran:?}", kind.name);
            assert!(ran.err.matches("still open by").count() == 1 && ran.err.contains(name), "{ran:?}");
        }
        drop(open);
        let ran = run(&at, &["remove", "--yes", "d"]);
        assert!(ran.code == Some(0) && !at.join("d").exists(), "{}: {ran:?}", kind.name);
    }
}

/// A client may keep attributes for a minute, but not of files that it writes itself.
#[test]
fn on_nfs_a_file_rewritten_here_at_the_same_size_is_modified_at_once() {
    let mounted = match Mounted::make(&mounted::NFS) {
        Ok(mounted) => mounted,
        Err(why) => return require::unavailable("ground::on_nfs_a_file_rewritten_here", &why),
    };
    let at = mounted.path();
    fill(&at, &["t/", "t/f"]);
    std::fs::write(at.join("t/f"), "before").expect("it can be written");
    std::thread::sleep(Duration::from_secs(5));
    let inventory = mounted.outside().join("i.parquet");
    let inventory = inventory.to_str().expect("it is UTF-8");
    run(&at, &["scan", "-q", "-o", inventory, "t"]).quiet();
    for text in ["after1", "after2"] {
        std::fs::write(at.join("t/f"), text).expect("it can be written");
        let ran = run(&at, &["changes", "--only=modified", inventory, "t"]);
        assert!(String::from_utf8_lossy(&ran.out).contains("t/f"), "{text}: {ran:?}");
        run(&at, &["changes", "--update", inventory, "t"]);
        std::thread::sleep(Duration::from_secs(5));
    }
}

/// A create searches all names of its directory there.
#[test]
fn where_directories_have_no_index_advice_spreads_from_a_thousand_files_on_and_limits_names_the_trap() {
    use mounted::{EXFAT, EXT2, EXT4_CASEFOLD, EXT4_LINEAR, MINIX, NILFS2, UDF, VFAT};
    for kind in [EXT2, EXT4_LINEAR, EXT4_CASEFOLD, VFAT, EXFAT, NILFS2, UDF, MINIX] {
        let mounted = match Mounted::make(&kind) {
            Err(why) if kind.is_rare => {
                let test = "ground::where_directories_have_no_index_advice_spreads";
                require::unavailable(&format!("{test}, {}", kind.name), &why);
                continue;
            }
            mounted => require!(mounted),
        };
        let at = mounted.path();
        fill(&at, &["d/"]);
        let json = |words: &[&str]| -> serde_json::Value {
            serde_json::from_slice(&run(&at, words).quiet()).expect("it is JSON")
        };
        for (files, layout, rule) in
            [("900", "flat", "fits"), ("2k", "digest:1", "no-index"), ("1M", "digest:2/1", "no-index")]
        {
            let advice = json(&["advise", "--json", "--time", "0s", "--files", files, "d"]);
            let found = (&advice["layout"]["name"], &advice["rule"]);
            assert_eq!(found, (&layout.into(), &rule.into()), "{}: {files}", kind.name);
        }
        let limits = json(&["limits", "--json", "d"]);
        let names: Vec<_> =
            limits["traps"].as_array().into_iter().flatten().map(|trap| &trap["trap"]).collect();
        assert!(names.contains(&&"linear".into()), "{}: {limits}", kind.name);
    }
}

/// 9p has the number of the host's file system in statfs(2), whose limits are not those of the server.
#[test]
fn where_a_server_has_the_directory_limits_offers_to_name_its_file_system() {
    for kind in [mounted::NINE_P, mounted::NFS, mounted::SMB] {
        let mounted = match Mounted::make(&kind) {
            Ok(mounted) => mounted,
            Err(why) => {
                let test = "ground::where_a_server_has_the_directory";
                return require::unavailable(test, &why);
            }
        };
        let at = mounted.path();
        fill(&at, &["d/"]);
        let text = String::from_utf8_lossy(&run(&at, &["limits", "d"]).quiet()).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        let words = words.join(" ");
        assert!(
            words.contains("name it, such as --as ext4") && !words.contains("directory index"),
            "{}: {text}",
            kind.name
        );
    }
}
