//! Requests that `usage` makes of FUSE servers, whose debug output has a line for each, and its calls for attributes: their numbers decide
//! how long `usage` takes there, and depend on no load of the machine.

use std::path::Path;

use megadir_testkit::mount::{EXT4_UNTYPED, Mount};
use megadir_testkit::require;
use megadir_testkit::require::have;

use crate::mounts::Shown;
use crate::support::{finish, program, run};

/// Mounted by a server in the background that prints requests, without which `here` would be no mount point.
macro_rules! printing {
    ($tool:literal, $server:literal) => {
        (
            $tool,
            concat!(
                "rm -f log; ",
                $server,
                " >log 2>&1 & for i in $(seq 1000); do mountpoint -q here && exit; sleep 0.02; done; exit 1"
            ),
        )
    };
}

// Nothing expires, so that a slow machine makes the same requests.
const BINDFS: (&str, &str) =
    printing!("bindfs", "bindfs -d -o entry_timeout=3600,attr_timeout=3600 below here");
const UNIONFS: (&str, &str) =
    printing!("unionfs", "unionfs -d -o entry_timeout=3600,attr_timeout=3600 \"$PWD/below=RW\" here");
/// It prints what it requests of the SFTP server.
const SSHFS: (&str, &str) = printing!(
    "sshfs",
    "printf '#!/bin/sh\\nexec /usr/lib/openssh/sftp-server\\n' >pipe && chmod 755 pipe && \
     sshfs -d -o entry_timeout=3600,attr_timeout=3600,dcache_timeout=3600 -o ssh_command=\"$PWD/pipe\" host:\"$PWD/below\" here"
);

/// A tree of 80 directories with 16 files each, and one directory of 2000 files.
fn fill(at: &Path) {
    let directories = (0..80).map(|index| (format!("tree/{}/{index}", index / 10), 16));
    for (directory, files) in directories.chain([("flat".to_owned(), 2000)]) {
        let directory = at.join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        (0..files).for_each(|file| std::fs::write(directory.join(format!("file-{file:05}")), "x").unwrap());
    }
}

/// Requests that a caller waits for: closing is reported to the server at some later time.
fn requests(log: &Path) -> usize {
    let log = std::fs::read(log).unwrap();
    let log = String::from_utf8_lossy(&log);
    let operation = |line: &'_ str| -> Option<String> {
        let (_, after) = line.split_once("opcode: ").or_else(|| line.strip_prefix('[')?.split_once("] "))?;
        Some(after.split([' ', '(']).next()?.to_owned())
    };
    let is_waited_for = |operation: &String| {
        !["RELEASE", "RELEASEDIR", "FORGET", "BATCH_FORGET", "CLOSE"].contains(&operation.as_str())
    };
    log.lines().filter_map(operation).filter(is_waited_for).count()
}

#[test]
fn usage_makes_at_most_a_twentieth_more_requests_of_a_fuse_server_than_du() {
    for server in [BINDFS, UNIONFS, SSHFS] {
        let shown = require!(Shown::mount(server, fill));
        let log = shown.at().join("log");
        for directory in ["here/tree", "here/flat"] {
            let made_by = |work: &dyn Fn()| {
                shown.remount();
                let before = requests(&log);
                work();
                requests(&log) - before
            };
            let by_du = made_by(&|| {
                let mut du = std::process::Command::new("du");
                assert_eq!(finish(du.args(["-s", directory]).current_dir(shown.at())).code, Some(0));
            });
            for threads in ["1", "8", "32"] {
                let by_usage =
                    made_by(&|| drop(run(shown.at(), &["usage", "--threads", threads, directory]).quiet()));
                assert!(by_du > 15, "{}, {directory}: du made {by_du}", server.0);
                assert!(
                    by_usage * 20 <= by_du * 21,
                    "{}, {directory}, {threads} threads: {by_usage} requests, du made {by_du}",
                    server.0
                );
            }
        }
    }
}

/// As on sshfs, whose listings have no types either.
#[test]
fn usage_reads_attributes_once_where_directories_have_no_types() {
    require!(have("strace"));
    let mount = require!(Mount::make(&EXT4_UNTYPED));
    fill(&mount.path());
    for directory in ["tree", "flat"] {
        let calls = mount.path().join("calls");
        let mut strace = std::process::Command::new("strace");
        strace.args(["-f", "-qq", "-e", "trace=statx,newfstatat,fstatat64", "-o"]).arg(&calls).arg(program());
        assert_eq!(finish(strace.args(["usage", directory]).current_dir(mount.path())).code, Some(0));
        let calls = std::fs::read_to_string(&calls).unwrap();
        let of_files = calls.lines().filter(|line| line.contains("\"file-0")).count();
        let files = if directory == "flat" { 2000 } else { 80 * 16 };
        assert_eq!(of_files, files, "{directory}");
    }
}
