//! The answer of `limits`: with and without privileges, by file system, on older kernels, in JSON.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use megadir_testkit::mount::{EXT4, EXT4_1K, EXT4_LINEAR, Mount, TMPFS, XFS, run as run_program};
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Kinds, Names};
use serde_json::Value;

use crate::mounts::{BINDFS, SSHFS, Shown};
use crate::support::{finish, have, program, run, run_as_nobody, scratch, unprivileged};

fn object(out: &[u8]) -> Value {
    serde_json::from_slice(out).unwrap()
}

fn flat(entries: u64) -> Flat {
    Flat { entries, names: Names::Longest, kinds: Kinds::Files, seed: 1 }
}

/// Lets all users reach a mount, which is in a directory that only its owner may search.
fn open_to_all(mount: &Mount) {
    let parent = mount.path().parent().unwrap().to_owned();
    std::fs::set_permissions(parent, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn limits_for_an_unprivileged_user_equal_limits_for_root() {
    let mount = require!(Mount::make(&EXT4_1K));
    open_to_all(&mount);
    flat(3000).build(&mount.path().join("d"));
    let scratch = scratch();
    let copy = require!(unprivileged(&scratch));
    let by_nobody = run_as_nobody(&copy, &mount.path(), &["limits", "--json", "d"]).quiet();
    let by_root = run(&mount.path(), &["limits", "--json", "d"]).quiet();
    let (mut by_nobody, mut by_root) = (object(&by_nobody), object(&by_root));
    // Only root gets the reserved blocks.
    let blocks = |answer: &mut Value| {
        let limits = answer["limits"].as_array_mut().unwrap();
        let at = limits.iter().position(|limit| limit["limit"] == "blocks").unwrap();
        limits.remove(at)["more"]["likely"].as_u64().unwrap()
    };
    assert!(blocks(&mut by_nobody) < blocks(&mut by_root));
    assert_eq!(by_nobody, by_root);
    assert_eq!(by_root["runs_out_first"], "directory-index");
    // Without read permission there is no evidence.
    std::fs::set_permissions(mount.path().join("d"), std::fs::Permissions::from_mode(0o700)).unwrap();
    run_as_nobody(&copy, &mount.path(), &["limits", "d"]).complains(3, &["'d'", "Permission denied"]);
}

/// Runs the program with every ioctl failing, as on a kernel that does not support them.
fn without_ioctl(directory: &Path, program: &[&str]) -> Value {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "inject=ioctl:error=ENOTTY", "-e", "trace=ioctl", "-o"]).arg(log.path());
    command.args(program).args(["limits", "--json", "d"]).current_dir(directory);
    let ran = finish(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    object(&ran.out)
}

#[test]
fn older_kernels_are_queried_by_other_calls() {
    require!(have("strace"));
    let mount = require!(Mount::make(&EXT4_1K));
    open_to_all(&mount);
    std::fs::create_dir(mount.path().join("d")).unwrap();
    let by_root = without_ioctl(&mount.path(), &[program().to_str().unwrap()]);
    let basis = &by_root["ext4"]["basis"];
    assert_eq!((&basis["known"], &basis["how"]), (&"read".into(), &"features from the superblock".into()));
    assert_eq!(by_root["ext4"]["indexed"], Value::Null);
    let scratch = scratch();
    let copy = require!(unprivileged(&scratch));
    let words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy.to_str().unwrap()];
    let by_nobody = without_ioctl(&mount.path(), &words);
    assert_eq!(by_nobody["ext4"]["basis"]["known"], "assumed");
    assert_eq!(by_nobody["ext4"]["large_dir"], false);
    assert_eq!(by_nobody["index"]["basis"]["known"], "assumed");
    assert_eq!(by_nobody["limits"][0]["basis"]["known"], "assumed");
}

#[test]
fn every_file_system_has_limits_or_is_reported_without_model() {
    let xfs = require!(Mount::make(&XFS));
    let tmpfs = require!(Mount::make(&TMPFS));
    let answer = |directory: &Path| object(&run(directory, &["limits", "--json", "."]).quiet());
    let of_xfs = answer(&xfs.path());
    assert_eq!(
        (&of_xfs["file_system"], &of_xfs["index"]["full_bytes"]),
        (&"xfs".into(), &(32_u64 << 30).into())
    );
    assert_eq!(answer(&tmpfs.path())["runs_out_first"], "blocks");
    let of_proc = answer(Path::new("/proc"));
    assert_eq!((&of_proc["model"], &of_proc["entries_until_full"]), (&Value::Null, &Value::Null));
    let text = String::from_utf8(run(Path::new("/"), &["limits", "/proc"]).quiet()).unwrap();
    assert!(text.starts_with("'/proc': no known limit on its entries (there is no model of "), "{text}");
}

#[test]
fn failing_directories_do_not_stop_others() {
    let scratch = scratch();
    std::fs::create_dir(scratch.path().join("d")).unwrap();
    let ran = run(scratch.path(), &["limits", "missing", "d"]);
    ran.complains(1, &["'missing'"]);
    assert!(ran.out.starts_with(b"'d': "));
}

#[test]
fn source_of_name_lengths_is_stated() {
    let scratch = scratch();
    flat(20).build(&scratch.path().join("like"));
    std::fs::create_dir(scratch.path().join("d")).unwrap();
    let names = |arguments: &[&str]| {
        let all: Vec<&str> = ["limits", "--json"].iter().chain(arguments).copied().collect();
        let names = &object(&run(scratch.path(), &all).quiet())["name_bytes"];
        (names["mean"].as_f64().unwrap(), names["basis"]["known"].as_str().unwrap().to_owned())
    };
    assert_eq!(names(&["d"]), (32.0, "assumed".into()));
    assert_eq!(names(&["like"]), (255.0, "measured".into()));
    assert_eq!(names(&["--like", "like", "d"]), (255.0, "given".into()));
    assert_eq!(names(&["--name-length", "8:3,16:1", "like"]), (10.0, "given".into()));
}

#[test]
fn one_large_file_among_small_ones_is_seen_and_few_entries_give_bounds() {
    const LARGE_BYTES: u64 = 8 << 20;
    let mount = require!(Mount::make(&EXT4_1K));
    let answer = |name: &str| object(&run(&mount.path(), &["limits", "--json", name]).quiet());
    let number = |answer: &Value, of: &str, key: &str| answer[of][key].as_f64().unwrap();
    for small in [33, 40, 98] {
        let name = format!("d{small}");
        std::fs::create_dir(mount.path().join(&name)).unwrap();
        for index in 0..small {
            std::fs::write(mount.path().join(&name).join(index.to_string()), "").unwrap();
        }
        let large = std::fs::File::create(mount.path().join(&name).join("large")).unwrap();
        rustix::fs::fallocate(&large, rustix::fs::FallocateFlags::empty(), 0, LARGE_BYTES).unwrap();
        let found = answer(&name);
        let mean = LARGE_BYTES as f64 / f64::from(small + 1);
        let measured = number(&found, "content_bytes", "mean");
        assert!((measured / mean - 1.0).abs() < 0.1, "{small}: {measured} instead of {mean}");
        let free = mount_free_bytes(&mount.path());
        assert!(number(&found, "entries_until_full", "low") * mean <= free, "{small}: {found}");
        let text = String::from_utf8(run(&mount.path(), &["limits", &name]).quiet()).unwrap();
        assert!(text.contains("it is unknown how many more entries fit: at least "), "{text}");
        std::fs::remove_file(mount.path().join(&name).join("large")).unwrap();
    }
    std::fs::create_dir(mount.path().join("one")).unwrap();
    std::fs::write(mount.path().join("one/x"), "").unwrap();
    let large = std::fs::File::create(mount.path().join("typical")).unwrap();
    rustix::fs::fallocate(&large, rustix::fs::FallocateFlags::empty(), 0, LARGE_BYTES).unwrap();
    let single = answer("one");
    let (low, likely) =
        (number(&single, "entries_until_full", "low"), number(&single, "entries_until_full", "likely"));
    assert!(low < likely / 2.0, "{single}");
}

#[test]
fn sparse_files_count_allocated_blocks() {
    for recipe in [EXT4_1K, XFS, TMPFS] {
        let mount = require!(Mount::make(&recipe));
        let directory = mount.path().join("images");
        std::fs::create_dir(&directory).unwrap();
        let created = |name: u32| std::fs::File::create(directory.join(name.to_string())).unwrap();
        (0..40).for_each(|name| created(name).set_len(1 << 30).unwrap());
        let mean = || {
            let found = object(&run(&mount.path(), &["limits", "--json", "images"]).quiet());
            found["content_bytes"]["mean"].as_f64().unwrap()
        };
        assert!(mean() < 4096.0, "{}: {}", recipe.name, mean());
        // Written, perhaps not yet to the device.
        (0..40).for_each(|name| std::fs::write(directory.join(name.to_string()), [1; 20_000]).unwrap());
        assert!((20_000.0..70_000.0).contains(&mean()), "{}: {}", recipe.name, mean());
    }
}

fn mount_free_bytes(path: &Path) -> f64 {
    let free = rustix::fs::statvfs(path).unwrap();
    (free.f_bfree * free.f_frsize) as f64
}

#[test]
fn a_stated_file_system_is_judged_as_a_real_one() {
    let real = require!(Mount::make(&super::refused::FULL_SOON));
    let elsewhere = scratch();
    let (here, there) = (real.path().join("d"), elsewhere.path().join("d"));
    for directory in [&here, &there] {
        std::fs::create_dir(directory).unwrap();
        (0..3000)
            .for_each(|name| drop(std::fs::File::create(directory.join(format!("{name:032}"))).unwrap()));
    }
    let judged = |at: &Path, more: &[&str]| -> Value {
        let ran = run(at, &[&["limits", "--json", "."], more].concat());
        serde_json::from_slice(&ran.quiet()).unwrap()
    };
    let seen = judged(&here, &[]);
    let stated = judged(&there, &["--as", "ext4:block=1k"]);
    assert_eq!(stated["capacity"]["likely"], seen["capacity"]["likely"]);
    assert_eq!(stated["index"]["full_bytes"], seen["index"]["full_bytes"]);
    let (used, real_used) =
        (stated["index"]["used"].as_f64().unwrap(), seen["index"]["used"].as_f64().unwrap());
    assert!((used / real_used - 1.0).abs() < 0.35, "{used} computed, {real_used} on disk");
    assert_eq!((&seen["seen_as"], &stated["file_system"]), (&Value::Null, &"ext4".into()));
    assert_eq!(stated["ext4"]["basis"]["how"], "as stated");
    let text = crate::support::text(&run(&there, &["limits", "--as", "ext4:block=1k,large_dir"]).quiet());
    assert!(
        text.contains("ext4, as stated (the client sees ") && text.contains("blocks of 1024 bytes"),
        "{text}"
    );
    assert!(!text.contains("tune2fs -O large_dir"), "{text}");
    let bad = run(&there, &["limits", "--as", "ext4:larg_dir"]);
    bad.complains(2, &["'larg_dir' of ext4", "did you mean 'large_dir'?"]);
}

#[test]
fn an_entry_larger_than_the_free_space_is_not_called_a_full_directory() {
    let mount = require!(Mount::make(&EXT4_1K));
    std::fs::create_dir(mount.path().join("d")).unwrap();
    let ran = run(&mount.path(), &["limits", "--size", "100T", "d"]).quiet();
    let first = String::from_utf8_lossy(&ran).lines().next().unwrap().to_owned();
    assert!(
        first.starts_with("'d': an entry of 100T does not fit; ") && first.ends_with(" is free."),
        "{first}"
    );
}

fn debugfs(image: &Path, command: &str) -> Result<(), String> {
    run_program(Command::new("debugfs").args(["-w", "-R", command]).arg(image))
}

/// Stands for 64 988 subdirectories: the number of links is written into the inode.
fn with_links(mount: &mut Mount, links: u64, features: &str) -> Result<(), String> {
    mount.remount(|image| {
        run_program(Command::new("tune2fs").args(["-O", features]).arg(image))?;
        debugfs(image, &format!("sif /d links_count {links}"))
    })
}

#[test]
fn a_directory_that_was_made_before_dir_index_has_its_link_limit() {
    require!(have("debugfs"));
    let mut mount = require!(Mount::make(&EXT4_LINEAR));
    std::fs::create_dir(mount.path().join("d")).unwrap();
    for index in 0..500 {
        std::fs::create_dir(mount.path().join(format!("d/{index}"))).unwrap();
    }
    require!(with_links(&mut mount, 64_990, "dir_index,dir_nlink"));
    let answer = object(&run(&mount.path(), &["limits", "--json", "d"]).quiet());
    assert_eq!(answer["runs_out_first"], "link-count", "{answer}");
    assert_eq!(answer["subdirectories_until_full"]["likely"], 10, "{answer}");
    let make = |index| std::fs::create_dir(mount.path().join(format!("d/x{index}")));
    assert_eq!((0..20).take_while(|index| make(*index).is_ok()).count(), 10);
    let text = String::from_utf8(run(&mount.path(), &["limits", "d"]).quiet()).unwrap();
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("'d' takes no more subdirectories: mkdir fails"), "{text}");
    assert!(first.ends_with("; files can still be created."), "{text}");
    std::fs::write(mount.path().join("d/file"), "").unwrap();
    assert!(text.contains("dir_nlink has no effect"), "{text}");
}

#[test]
fn directories_to_come_are_counted_against_the_links_of_an_empty_directory() {
    let mut mount = require!(Mount::make(&EXT4));
    std::fs::create_dir(mount.path().join("d")).unwrap();
    require!(with_links(&mut mount, 64_990, "^dir_nlink"));
    let of = |options: &[&str]| {
        object(&run(&mount.path(), &[&["limits", "--json", "d"], options].concat()).quiet())
    };
    let files = of(&[]);
    assert!(
        files["runs_out_first"] != "link-count" && files["entries_until_full"]["likely"] != 10,
        "{files}"
    );
    assert_eq!(files["subdirectories_until_full"]["likely"], 10);
    let directories = of(&["--directories"]);
    assert_eq!(
        (&directories["runs_out_first"], directories["entries_until_full"]["likely"].as_u64()),
        (&"link-count".into(), Some(10))
    );
    let text = String::from_utf8(run(&mount.path(), &["limits", "--directories", "d"]).quiet()).unwrap();
    assert!(
        text.starts_with(
            "'d': 10 more subdirectories fit before creating one fails; the link count runs out first.\n"
        ),
        "{text}"
    );
    assert!(text.contains("  subdirectories "), "{text}");
    run(&mount.path(), &["limits", "--directories", "--size", "0", "d"])
        .complains(2, &["--directories", "--size"]);
}

#[test]
fn read_only_mount_comes_first_and_triggers_every_warning() {
    let made = require!(Mount::make(&TMPFS));
    let at = made.path();
    std::fs::create_dir(at.join("d")).unwrap();
    std::fs::write(at.join("d/f"), "x").unwrap();
    run_program(Command::new("mount").args(["-o", "remount,ro"]).arg(&at)).unwrap();
    read_only(&at);
    run_program(Command::new("mount").args(["-o", "remount,rw"]).arg(&at)).unwrap();
    let text = String::from_utf8(run(&at, &["limits", "d"]).quiet()).unwrap();
    assert!(!text.contains("read-only"), "{text}");
    require!(have("mksquashfs"));
    let scratch = scratch();
    let point = scratch.path().join("m");
    std::fs::create_dir(&point).unwrap();
    let image = scratch.path().join("i");
    run_program(Command::new("mksquashfs").arg(&at).arg(&image).arg("-quiet").arg("-no-progress")).unwrap();
    require!(run_program(
        Command::new("mount").args(["-t", "squashfs", "-o", "loop"]).args([&image, &point])
    ));
    read_only(&point);
    megadir_testkit::mount::unmount(&point).unwrap();
}

fn read_only(at: &Path) {
    let text = String::from_utf8(run(at, &["limits", "d"]).quiet()).unwrap();
    assert!(text.starts_with("'d' is mounted read-only: nothing can be created.\n"), "{text}");
    assert!(!text.contains("run out") && !text.contains("grow the"), "{text}");
    let answer = object(&run(at, &["limits", "--json", "d"]).quiet());
    assert_eq!(answer["runs_out_first"], "read-only", "{answer}");
    run(at, &["limits", "--quiet", "--warn-at", "99%", "d"]).complains(10, &["'d'", "mounted read-only"]);
    let advice = run(at, &["advise", "--time", "0s", "--files", "1M", "d"]);
    let text = String::from_utf8(advice.out.clone()).unwrap();
    assert!(text.contains("mounted read-only, and nothing can be created"), "{advice:?}");
    assert!(!text.contains("do not fit in any layout"), "{text}");
}

const NTFS_3G: (&str, &str) = (
    "ntfs-3g",
    "truncate -s 64M image && mkntfs -q -Q -F image && device=$(losetup -f --show image) && \
     ntfs-3g \"$device\" here && losetup -d \"$device\"",
);
const FUSE2FS: (&str, &str) =
    ("fuse2fs", "truncate -s 64M image && mke2fs -q -F -t ext4 image && fuse2fs image here");

#[test]
fn servers_that_mount_a_device_or_an_image_have_the_model_of_its_file_system() {
    for (server, file_system) in [(NTFS_3G, "ntfs"), (FUSE2FS, "ext4")] {
        let shown = require!(Shown::mount(server, |_| {}));
        let answer = object(&run(shown.at(), &["limits", "--json", "here"]).quiet());
        assert_eq!(answer["file_system"], file_system, "{answer}");
        assert!(answer["model"].is_string(), "{answer}");
    }
}

#[test]
fn where_the_limit_is_a_servers_naming_its_file_system_is_offered() {
    for server in [SSHFS, BINDFS] {
        let shown = require!(Shown::mount(server, |below| std::fs::write(below.join("f"), "x").unwrap()));
        let text = crate::support::text(&run(shown.at(), &["limits", "here"]).quiet());
        assert!(text.contains("name it, such as --as ext4"), "{text}");
        assert!(!text.contains("is full"), "{text}");
    }
}
