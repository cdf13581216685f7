//! Memory use does not grow with the directory, as measured by the kernel.
//!
//! The peak is read from `/proc/PID/status` while the program blocks on a full pipe. The pipe has minimum size
//! and is full before the program starts, so that the program blocks at its first write.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

use megadir_testkit::mount::{EXT4, Mount, Recipe, TMPFS};
use megadir_testkit::require;
use megadir_testkit::require::full;
use megadir_testkit::tree::{Flat, Kinds, Names};
use rustix::fs::{Mode, OFlags, mkdirat, openat};

use crate::support::megadir;

const PIPE_BYTES: usize = 4096;
/// Most memory of a listing, without the program's code, bytes.
const STREAMING: u64 = 8 << 20;
/// Most memory of a listing with attributes, without the program's code, bytes: for each entry in the buffers
/// of all threads.
const EXAMINING: u64 = 16 << 20;

/// Peak memory and output of a run.
struct Peak {
    bytes: u64,
    output_bytes: u64,
    lines: u64,
}

/// Peak memory of a process without the pages of its program, bytes; `None` if it has ended.
///
/// Those pages are the page cache of a file, and there are many of them in unoptimised builds.
fn high_water(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let bytes = |field: &str| -> Option<u64> {
        let line = status.lines().find(|line| line.starts_with(field))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
    };
    bytes("VmHWM:")?.checked_sub(bytes("RssFile:")?)
}

/// Waits until a process sleeps on the full pipe.
fn wait_for_sleep(process: u32) {
    let sleeps = || {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
            && std::fs::read_to_string(format!("/proc/{process}/wchan"))
                .is_ok_and(|at| at.contains("pipe") || at == "0")
    };
    let deadline = std::time::Instant::now() + megadir_testkit::PATIENCE;
    let mut times = 0;
    while times < 10 {
        assert!(std::time::Instant::now() < deadline, "the program does not come to rest");
        times = if sleeps() { times + 1 } else { 0 };
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

fn peak(directory: &Path, options: &[&str]) -> Peak {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    assert_eq!(rustix::pipe::fcntl_setpipe_size(&writer, PIPE_BYTES).unwrap(), PIPE_BYTES);
    writer.write_all(&[b'.'; PIPE_BYTES]).unwrap();
    let mut child = megadir(directory, options).stdout(writer).stderr(Stdio::null()).spawn().unwrap();
    wait_for_sleep(child.id());
    let mut peak = Peak { bytes: 0, output_bytes: 0, lines: 0 };
    let mut buffer = vec![0; PIPE_BYTES];
    loop {
        peak.bytes = peak.bytes.max(high_water(child.id()).unwrap_or(0));
        match reader.read(&mut buffer).unwrap() {
            0 => break,
            length => {
                peak.output_bytes += length as u64;
                peak.lines +=
                    buffer[..length].iter().map(|byte| u64::from(matches!(byte, b'\n' | 0))).sum::<u64>();
            }
        }
    }
    peak.output_bytes -= PIPE_BYTES as u64;
    assert_eq!(child.wait().unwrap().code(), Some(0), "{options:?}");
    assert!(peak.bytes > 1 << 20, "{options:?}: a peak of {} bytes was not seen", peak.bytes);
    peak
}

#[track_caller]
fn check(directory: &Path, options: &[&str], lines: u64, limit: u64) {
    let peak = peak(directory, options);
    assert_eq!(peak.lines, lines, "{options:?}");
    let kib = peak.bytes >> 10;
    assert!(
        peak.bytes <= limit,
        "{options:?}: {kib} KiB, {} allowed, {} bytes written",
        limit >> 10,
        peak.output_bytes
    );
}

#[test]
fn a_large_directory_takes_no_more_than_a_small_one() {
    let entries = if full() { 1_000_000 } else { 100_000 };
    let recipe = Recipe { mkfs: &["mkfs.ext4", "-q", "-F", "-N", "1100000"], ..EXT4 };
    let mount = require!(Mount::make(&recipe));
    Flat { entries, names: Names::Plain, kinds: Kinds::Files, seed: 9 }.build(&mount.path().join("d"));
    for options in [
        &["list", "d"][..],
        &["list", "-0", "d"],
        &["list", "--json", "d"],
        &["list", "--raw", "d"],
        &["list", "-j1", "d"],
        &["list", "-r", "d"],
        &["list", "--backend", "split", "-j", "2", "d"],
        &["list", "--backend", "std", "d"],
        &["list", "--backend", "readdir", "d"],
        &["list", "--type", "f", "--match", "*", "d"],
    ] {
        check(&mount.path(), options, entries, STREAMING);
    }
    for options in [
        &["list", "--count", "d"][..],
        &["list", "--count", "--type", "f", "-j", "2", "d"],
        &["list", "--estimate", "d"],
    ] {
        check(&mount.path(), options, 1, STREAMING);
    }
    for options in [
        &["list", "--summary", "--json", "d"][..],
        &["list", "--summary", "--json", "-j1", "-r", "d"],
        &["list", "--summary=directories", "--json", "-r", "d"],
        &["list", "--count", "--larger-than", "0", "d"],
    ] {
        check(&mount.path(), options, 1, EXAMINING);
    }
    for options in [&["list", "-l", "d"][..], &["list", "--json", "-l", "d"], &["list", "-l", "-r", "d"]] {
        check(&mount.path(), options, entries, EXAMINING);
    }
    check(&mount.path(), &["list", "--sort", "name", "d"], entries, STREAMING + 100 * entries);
    check(&mount.path(), &["list", "--sort", "inode", "d"], entries, STREAMING + 100 * entries);
    check(&mount.path(), &["list", "--sort", "name", "--json", "d"], entries, STREAMING + 100 * entries);
}

#[test]
fn a_wide_tree_takes_no_more_than_a_large_directory() {
    let mount = require!(Mount::make(&TMPFS));
    let top = mount.path().join("wide");
    // 20 000 directories in two levels, with a file in each of the lower ones.
    for upper in 0..20 {
        for lower in 0..999 {
            let path = top.join(format!("{upper}/{lower}"));
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("f"), "").unwrap();
        }
    }
    for threads in ["1", "2"] {
        check(&mount.path(), &["list", "-r", "-j", threads, "wide"], 20 + 20 * 999 * 2, STREAMING);
        check(&mount.path(), &["list", "-r", "-j", threads, "--json", "wide"], 20 + 20 * 999 * 2, STREAMING);
        check(&mount.path(), &["list", "-r", "-j", threads, "--count", "wide"], 1, STREAMING);
        let directories = ["list", "-r", "-j", threads, "--summary=directories", "--json", "wide"];
        check(&mount.path(), &directories, 1, STREAMING);
    }
}

#[test]
fn a_deep_tree_takes_its_depth_at_most() {
    let mount = require!(Mount::make(&TMPFS));
    let levels = 1000;
    for (top, names) in [("chain", &["a"][..]), ("comb", &["a", "b", "c"])] {
        let path = mount.path().join(top);
        std::fs::create_dir(&path).unwrap();
        let mut at = rustix::fs::open(&path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        for _ in 0..levels {
            for name in names {
                mkdirat(&at, *name, Mode::from_raw_mode(0o755)).unwrap();
            }
            let below = names[names.len() / 2];
            at = openat(&at, below, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        }
    }
    // Waiting directories of a comb fill the queue. After that, each unfinished level costs slightly more than
    // its path, which is as long as the level is deep.
    let comb = STREAMING + levels * (4 << 10);
    for threads in ["1", "2"] {
        check(&mount.path(), &["list", "-r", "-j", threads, "--count", "chain"], 1, STREAMING);
        check(&mount.path(), &["list", "-r", "-j", threads, "chain"], levels, STREAMING);
        check(&mount.path(), &["list", "-r", "-j", threads, "comb"], levels * 3, comb);
        let small = ["list", "-r", "-j", threads, "--buffer", "4KiB", "comb"];
        check(&mount.path(), &small, levels * 3, comb);
    }
}

#[test]
fn the_pages_state_the_limits_that_are_held_here() {
    let readme = include_str!("../../../../../README.md");
    let page = include_str!("../../../../../docs/list.md");
    let examining = format!("at most {} MiB of memory", EXAMINING >> 20);
    let both = format!(
        "at most {} MiB excluding the program's own code for a million entries ({} MiB with attributes)",
        STREAMING >> 20,
        EXAMINING >> 20
    );
    assert!(readme.contains(&examining) && page.contains(&both), "{examining}; {both}");
}
