//! A listing starts to print long before the directory has been read completely.

use std::path::Path;

use megadir_testkit::require;
use megadir_testkit::tree::Flat;

use crate::support::{fill, have, scratch, shell};

/// Traces a listing; returns the index of its first write, and the indices of its reads.
fn trace(directory: &Path, options: &str) -> (usize, Vec<usize>) {
    let line =
        format!("strace -f -qq -o trace -e trace=getdents64,write,writev $M list {options} | cat > out");
    assert_eq!(shell(directory, &line).quiet(), b"");
    let trace = std::fs::read_to_string(directory.join("trace")).unwrap();
    let calls: Vec<&str> = trace.lines().collect();
    let write = calls
        .iter()
        .position(|call| call.contains(" write(") || call.contains(" writev("))
        .expect("it writes");
    let reads = (0..calls.len()).filter(|index| calls[*index].contains("getdents64(")).collect();
    (write, reads)
}

#[test]
fn the_first_names_are_written_before_the_second_buffer_is_read() {
    require!(have("strace"));
    let scratch = scratch();
    Flat::plain(5000).build(&scratch.path().join("d"));
    for options in [
        "-j1 --buffer 4k d",
        "-j1 --buffer 4k --json d",
        "-j1 --buffer 4k -0 --raw d",
        "-j1 --buffer 4k --type f d",
        "-j1 --buffer 4k -r d",
    ] {
        let (write, reads) = trace(scratch.path(), options);
        assert!(reads.len() >= 3, "{options}: {} calls", reads.len());
        assert!(write < reads[1], "{options}: written at {write}, read at {reads:?}");
    }
    // These return the entries of several system calls at once.
    for options in ["--backend readdir d", "--backend std d"] {
        let (write, reads) = trace(scratch.path(), options);
        assert!(write < *reads.last().unwrap(), "{options}: written at {write}, read at {reads:?}");
    }
}

#[test]
fn a_tree_is_written_while_it_is_walked() {
    require!(have("strace"));
    let scratch = scratch();
    for index in 0..40 {
        fill(scratch.path(), &[&format!("t/{index}/"), &format!("t/{index}/f")]);
    }
    let (write, reads) = trace(scratch.path(), "-r -j1 t");
    assert!(write < reads[2], "written at {write}, read at {reads:?}");
    let (write, reads) = trace(scratch.path(), "-r -j2 t");
    assert!(write < *reads.last().unwrap(), "written at {write}, read at {reads:?}");
}

#[test]
fn a_limit_ends_the_reading() {
    require!(have("strace"));
    let scratch = scratch();
    Flat::plain(5000).build(&scratch.path().join("d"));
    let (_, all) = trace(scratch.path(), "-j1 --buffer 4k d");
    let (_, few) = trace(scratch.path(), "-j1 --buffer 4k -n 10 d");
    assert_eq!(few.len(), 1, "of {}", all.len());
}

#[test]
fn nothing_is_looked_at_but_the_directory() {
    require!(have("strace"));
    let scratch = scratch();
    Flat::plain(2000).build(&scratch.path().join("d"));
    let line = "strace -f -qq -o trace -e trace=%stat,%lstat,%fstat,statx,newfstatat $M list --json d > out";
    assert_eq!(shell(scratch.path(), line).quiet(), b"");
    let calls = std::fs::read_to_string(scratch.path().join("trace")).unwrap().lines().count();
    // The loader's own calls are fewer than the entries, however many folders it searches for libraries.
    assert!(calls < 500, "{calls} calls for attributes of 2000 entries");
}
