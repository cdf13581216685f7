//! Refused creates and their causes: each limit is recognised, for root and for other users.

use std::io;
use std::process::Command;

use megadir::Dir;
use megadir::limits::{Explanation, Limit, QuotaOf, Step, explain};
use megadir_testkit::mount::{self, Mount, Recipe};
use megadir_testkit::require;
use megadir_testkit::unprivileged::unprivileged;
use rustix::io::Errno;

use crate::image::{Image, Names, Shape};

/// Blocks of 1 KiB, full at about 21 000 names of 255 bytes.
const SMALL: Shape = Shape {
    block_bytes: 1024,
    metadata_csum: true,
    features: "",
    inodes: 30_000,
    directory_bytes: 16 << 20,
    seed: 1,
};
const LONG: Names = Names { lengths: &[255], seed: 1 };

/// Explains an error to root and to an unprivileged user, which must give the same answer.
#[track_caller]
fn explained(directory: &Dir, step: Step, error: Errno) -> Explanation {
    let error = io::Error::from(error);
    let by_root = explain(directory, step, &error).expect("an error that limits give");
    let by_nobody = unprivileged(|| explain(directory, step, &error)).expect("an error that limits give");
    // Only root may use blocks reserved for root.
    assert_eq!((by_root.limit, &by_root.cures), (by_nobody.limit, &by_nobody.cures));
    by_root
}

fn full(shape: &Shape) -> Result<(Image, u64, Explanation), String> {
    let image = shape.make()?;
    let (entries, error) = image.fill(&LONG, 0, |_| {});
    let explanation = explained(&image.directory, Step::Create, error);
    Ok((image, entries, explanation))
}

/// Runs the command of a cure as printed.
#[track_caller]
fn apply(explanation: &Explanation) {
    let command = explanation.cures.iter().find_map(|cure| cure.command.as_ref()).unwrap();
    mount::run(Command::new("sh").args(["-c", command])).unwrap();
}

#[test]
fn full_index_is_explained_and_another_name_fits_and_large_dir_cures_it() {
    let (image, entries, explanation) = require!(full(&SMALL));
    assert_eq!(explanation.limit, Limit::DirectoryIndex);
    assert!(explanation.to_string().contains("the directory's index is full"), "{explanation}");
    assert!(explanation.another_name_may_do);
    // The same name repeatedly, then others.
    let refused = |index: u64| image.create(LONG.write(index, &mut [0; 255]));
    for _ in 0..3 {
        assert_eq!(refused(entries), Err(Errno::NOSPC));
    }
    let others = (entries + 1..entries + 101).filter(|index| refused(*index).is_ok()).count();
    assert!(others > 90, "{others} of 100 other names were taken");
    apply(&explanation);
    assert!(image.limits().facts.directory_bytes > 9_000_000);
    let (more, error) = image.fill(&LONG, entries + 200, |_| {});
    // The inodes run out before the third level does.
    assert_eq!(
        (error, explained(&image.directory, Step::Create, error).limit),
        (Errno::NOSPC, Limit::Inodes)
    );
    assert!(more > 5_000, "{more}");
}

#[test]
fn exhausted_inodes_and_blocks_are_explained() {
    let (_image, entries, explanation) = require!(full(&Shape { inodes: 1000, ..SMALL }));
    assert!(explanation.limit == Limit::Inodes && entries > 900, "{explanation} after {entries}");
    let image = require!(Shape { inodes: 1000, directory_bytes: 0, ..SMALL }.make());
    let file = std::fs::File::create_new(image.path.join("filler")).unwrap();
    while io::Write::write(&mut &file, &[1; 65_536]).is_ok_and(|written| written > 0) {}
    let error = io::Write::write_all(&mut &file, &[1; 65_536]).unwrap_err();
    let explanation = explained(&image.directory, Step::Write, Errno::from_io_error(&error).unwrap());
    assert_eq!(explanation.limit, Limit::Blocks, "{explanation}");
    let (_, error) = image.fill(&LONG, 0, |_| {});
    assert_eq!(explained(&image.directory, Step::Create, error).limit, Limit::Blocks);
}

#[test]
fn reserved_blocks_are_explained_to_users_and_not_to_root() {
    const KEPT: Recipe = Recipe {
        name: "ext4 with half of it for root",
        mkfs: &["mkfs.ext4", "-q", "-F", "-m", "50", "-O", "^has_journal"],
        image_bytes: 8 << 20,
        ..mount::EXT4
    };
    let made = require!(Mount::make(&KEPT));
    std::fs::write(made.path().join("filler"), vec![1; 4 << 20]).unwrap();
    let directory = Dir::open(made.path()).unwrap();
    let error = io::Error::from(Errno::NOSPC);
    let by_nobody = unprivileged(|| explain(&directory, Step::Create, &error)).unwrap();
    assert_eq!(by_nobody.limit, Limit::Blocks);
    assert!(by_nobody.evidence.contains("kept back"), "{by_nobody}");
    assert_eq!(explain(&directory, Step::Create, &error).unwrap().limit, Limit::Unknown);
}

#[test]
fn mount_option_is_explained_and_lifted_by_its_cure() {
    let image = require!(SMALL.make());
    let mut command = Command::new("mount");
    mount::run(command.args(["-o", "remount,max_dir_size_kb=500"]).arg(image.mount.path())).unwrap();
    let expected = image.limits_of("255");
    assert_eq!(expected.runs_out_first(), Some(Limit::MountOption));
    let (entries, error) = image.fill(&LONG, 0, |_| {});
    let explanation = explained(&image.directory, Step::Create, error);
    assert_eq!(explanation.limit, Limit::MountOption, "{explanation}");
    let predicted = expected.entries_until_full().unwrap();
    assert!(predicted.low <= entries && entries <= predicted.high, "{entries} {predicted:?}");
    apply(&explanation);
    let (more, _) = image.fill(&LONG, entries + 1, |_| {});
    assert!(more > 10_000, "{more}");
}

#[test]
fn too_many_directories_are_explained_and_dir_nlink_cures_it() {
    let shape = Shape { features: ",^dir_nlink", inodes: 65_200, directory_bytes: 80 << 20, ..SMALL };
    let image = require!(shape.make());
    let make = |index: u64| rustix::fs::mkdirat(&image.directory, format!("{index}"), rustix::fs::Mode::RWXU);
    make(0).unwrap();
    let limits = image.limits();
    assert_eq!((limits.runs_out_first(), limits.ceilings[0].more.likely), (Some(Limit::LinkCount), 64_997));
    let refused = (1..).find_map(|index| make(index).err().map(|error| (index, error)));
    assert_eq!(refused, Some((64_998, Errno::MLINK)));
    let explanation = explained(&image.directory, Step::MakeDirectory, Errno::MLINK);
    assert_eq!(explanation.limit, Limit::LinkCount, "{explanation}");
    apply(&explanation);
    make(64_998).unwrap();
}

#[test]
fn a_file_with_too_many_names_is_not_taken_for_a_full_directory() {
    let image = require!(SMALL.make());
    let explanation = explained(&image.directory, Step::Create, Errno::MLINK);
    assert!(explanation.evidence.contains("the file has the maximum number of names"), "{explanation}");
}

#[test]
fn subvolume_quota_is_reported() {
    let made = require!(Mount::make(&mount::BTRFS));
    let point = made.path();
    let btrfs = |words: &[&str]| mount::run(Command::new("btrfs").args(words).arg(&point));
    btrfs(&["quota", "enable"]).unwrap();
    btrfs(&["qgroup", "limit", "2M"]).unwrap();
    let directory = Dir::open(&point).unwrap();
    let error = (0..100).find_map(|index| {
        let written = std::fs::write(point.join(format!("{index}")), vec![1; 100_000]);
        rustix::fs::syncfs(&directory).unwrap();
        written.err()
    });
    let error = Errno::from_io_error(&error.expect("refused by the quota")).unwrap();
    assert_eq!(error, Errno::DQUOT);
    let explanation = explained(&directory, Step::Write, error);
    assert_eq!(explanation.limit, Limit::Quota(QuotaOf::Subvolume(5)), "{explanation}");
    assert!(explanation.cures[0].command.as_ref().unwrap().starts_with("btrfs qgroup limit none 0/5 "));
    apply(&explanation);
    std::fs::write(point.join("after"), vec![1; 100_000]).unwrap();
}

#[test]
fn explains_btrfs_hash_collisions() {
    let made = require!(Mount::make(&mount::BTRFS));
    let directory = Dir::open(made.path()).unwrap();
    let mut name = [b'0'; 24];
    for index in 0..2000_u64 {
        let Some(colliding) = collide(index, &mut name) else { continue };
        let made = rustix::fs::mknodat(
            &directory,
            colliding,
            rustix::fs::FileType::RegularFile,
            rustix::fs::Mode::RUSR,
            0,
        );
        if let Err(error) = made {
            assert_eq!(error, Errno::OVERFLOW);
            let explanation = explained(&directory, Step::Create, error);
            assert_eq!(explanation.limit, Limit::NameCollision, "{explanation}");
            std::fs::write(directory.path().join("another"), "").unwrap();
            return;
        }
    }
    panic!("btrfs took all names of one hash");
}

/// Writes a name of 24 bytes with a constant crc32c; `None` if its last four bytes cannot be in a name.
fn collide(index: u64, name: &mut [u8; 24]) -> Option<&[u8]> {
    const WANTED: u32 = 0x1234_5678;
    name[..20].copy_from_slice(format!("{index:020}").as_bytes());
    // Four bytes can move a CRC register to any value: run it backwards from the wanted end.
    let tables: Vec<u32> =
        (0..256_u32).map(|byte| (0..8).fold(byte, |crc, _| (crc >> 1) ^ (0x82f6_3b78 * (crc & 1)))).collect();
    let forward = name[..20]
        .iter()
        .fold(!1_u32, |crc, byte| (crc >> 8) ^ tables[((crc ^ u32::from(*byte)) & 255) as usize]);
    let mut at = WANTED;
    let mut bytes = [0; 4];
    for _ in 0..4 {
        let entry = tables.iter().position(|table| table >> 24 == at >> 24).unwrap() as u32;
        at = ((at ^ tables[entry as usize]) << 8) | entry;
    }
    let difference = at ^ forward;
    bytes.copy_from_slice(&difference.to_le_bytes());
    name[20..].copy_from_slice(&bytes);
    let valid = bytes.iter().all(|byte| !matches!(byte, 0 | b'/'));
    valid.then_some(&name[..])
}

#[test]
fn errors_unrelated_to_limits_are_not_explained() {
    let directory = Dir::open("/tmp").unwrap();
    for error in [Errno::ACCESS, Errno::EXIST, Errno::ROFS, Errno::NAMETOOLONG] {
        assert!(explain(&directory, Step::Create, &io::Error::from(error)).is_none());
    }
    // An error without a number gives nothing to explain.
    assert!(explain(&directory, Step::Create, &io::Error::other("x")).is_none());
}

#[test]
fn exhausted_inodes_of_tmpfs_are_explained_and_the_cure_allows_more() {
    let made = require!(Mount::make(&mount::TMPFS));
    mount::run(Command::new("mount").args(["-o", "remount,nr_inodes=100"]).arg(made.path())).unwrap();
    let directory = Dir::open(made.path()).unwrap();
    let create = |index: u32| std::fs::File::create_new(made.path().join(index.to_string())).map(drop);
    let error = (0..200).find_map(|index| create(index).err()).unwrap();
    let explanation = explained(&directory, Step::Create, Errno::from_io_error(&error).unwrap());
    assert_eq!(explanation.limit, Limit::Inodes, "{explanation}");
    apply(&explanation);
    create(200).unwrap();
}
