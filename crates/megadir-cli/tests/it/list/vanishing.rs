//! Directories that change, vanish or fail while they are read.
//!
//! A full pipe blocks the program in the middle of its work: by then it has read little more than fits the
//! pipe.

use std::io::{PipeReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};

use megadir_testkit::mount::{BTRFS, EXT4, Mount, XFS};
use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Maker};

use crate::support::{Ran, fill, have, megadir, named, scratch, set, shell, split};

/// A program blocked until its output is read.
struct Held {
    child: Child,
    reader: PipeReader,
    seen: Vec<u8>,
}

impl Held {
    /// Starts the program and reads the beginning of its output, which shows that it is running.
    fn start(directory: &Path, options: &[&str]) -> Self {
        let (mut reader, writer) = std::io::pipe().unwrap();
        rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
        let child = megadir(directory, options).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let mut seen = vec![0; 1024];
        reader.read_exact(&mut seen).unwrap();
        Self { child, reader, seen }
    }

    /// Reads the rest and waits for the end.
    fn finish(mut self) -> Ran {
        self.reader.read_to_end(&mut self.seen).unwrap();
        let output = self.child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        Ran { code: output.status.code(), signal: None, out: self.seen, err }
    }
}

/// Removes every other entry while a listing is blocked; the remaining ones must be listed exactly once.
fn change(directory: &Path, options: &[&str]) {
    let flat = Flat::plain(20_000);
    let path = directory.join("d");
    flat.build(&path);
    let options: Vec<&str> = ["list", "--buffer", "4k", "d"].iter().chain(options).copied().collect();
    let held = Held::start(directory, &options);
    let maker = Maker::open(&path);
    for index in (0..flat.entries).step_by(2) {
        maker.remove(&flat.name(index));
    }
    for index in 0..2000 {
        maker.make(format!("new{index}").as_bytes(), megadir::FileType::File);
    }
    let ran = held.finish();
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let mut times = std::collections::HashMap::new();
    for name in split(&ran.out, b'\n') {
        *times.entry(name).or_insert(0) += 1;
    }
    for index in (1..flat.entries).step_by(2) {
        assert_eq!(times.get(&flat.name(index)), Some(&1), "an untouched entry, {options:?}");
    }
}

#[test]
fn entries_that_vanish_are_no_error_and_the_others_are_all_there() {
    for recipe in [&EXT4, &XFS, &BTRFS] {
        let mount = require!(Mount::make(recipe));
        fill(&mount.path(), &["one/", "two/"]);
        change(&mount.path().join("one"), &["-j1"]);
        change(&mount.path().join("two"), &["-j2", "--backend", "split"]);
    }
}

#[test]
fn vanished_directory_is_reported_and_its_read_names_are_kept() {
    for recipe in [&EXT4, &XFS] {
        let mount = require!(Mount::make(recipe));
        Flat::plain(20_000).build(&mount.path().join("d"));
        let held = Held::start(&mount.path(), &["list", "-j1", "--buffer", "4k", "d"]);
        std::fs::remove_dir_all(mount.path().join("d")).unwrap();
        let ran = held.finish();
        // Some file systems report that the directory is gone, others that it has ended.
        if ran.code == Some(0) {
            assert_eq!(ran.err, "");
        } else {
            ran.complains(1, &["read 'd': No such file or directory"]);
        }
        let names = split(&ran.out, b'\n');
        assert!(names.len() >= 64 && names.len() < 20_000, "{}", names.len());
        assert_eq!(set(names.clone()).len(), names.len());
    }
}

#[test]
fn directories_of_a_tree_that_vanish_are_no_error() {
    let scratch = scratch();
    for index in 0..300 {
        fill(
            scratch.path(),
            &[&format!("t/{index}/below/"), &format!("t/{index}/below/{}", "x".repeat(100))],
        );
    }
    let held = Held::start(scratch.path(), &["list", "-r", "-j1", "t"]);
    std::fs::remove_dir_all(scratch.path().join("t")).unwrap();
    let ran = held.finish();
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn read_error_gives_exit_code_1_and_the_names_before_it() {
    require!(have("strace"));
    let scratch = scratch();
    Flat::plain(1000).build(&scratch.path().join("d"));
    fill(scratch.path(), &["e/", "e/x"]);
    let faulty = |call: u32, options: &str| {
        let inject = format!(
            "strace -f -qq -o /dev/null -e trace=getdents64 -e inject=getdents64:error=EIO:when={call}"
        );
        shell(scratch.path(), &format!("{inject} $M list -j1 --buffer 4k {options}"))
    };
    for options in ["d", "-r d", "--sort name d"] {
        let middle = faulty(3, options);
        middle.complains(1, &["read 'd': Input/output error"]);
        let names = split(&middle.out, b'\n').len();
        assert!((100..1000).contains(&names), "{options}: {names}");
        faulty(1, options).complains(3, &["read 'd': Input/output error"]);
    }
    // An incomplete count is not printed, and is not added to the next one.
    let count = faulty(3, "--count d e");
    count.complains(1, &["read 'd': Input/output error"]);
    assert_eq!(count.out, b"1\te\n");
    faulty(3, "--count d").complains(3, &["read 'd': Input/output error"]);
    let both = faulty(1, "d e");
    both.complains(1, &["read 'd': Input/output error"]);
    assert_eq!(set(split(&both.out, b'\n')), named(&["e/x"]));
}
