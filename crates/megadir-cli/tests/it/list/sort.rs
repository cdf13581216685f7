//! `--sort`: byte-identical with `LC_ALL=C sort`, for all names.

use std::path::Path;

use megadir_testkit::require;
use megadir_testkit::tree::{Flat, Kinds, Maker, Names};

use crate::support::{have, scratch, shell};

/// Asserts that sorting by name equals sorting the unsorted output.
fn check(directory: &Path, options: &str) {
    let expected = shell(directory, &format!("$M list -0 {options} | LC_ALL=C sort -z")).quiet();
    for threads in [1, 2, 5] {
        let found = shell(directory, &format!("$M list -0 --sort name -j {threads} {options}")).quiet();
        assert!(found == expected, "{options} with {threads} threads");
    }
}

#[test]
fn names_of_every_kind_sort_as_sort_does() {
    require!(have("sort"));
    let scratch = scratch();
    for (index, names) in Names::ALL.into_iter().enumerate() {
        let directory = scratch.path().join(index.to_string());
        Flat { entries: 1500, names, kinds: Kinds::Files, seed: 11 }.build(&directory);
        check(&directory, ".");
    }
    check(scratch.path(), "-r .");
    check(scratch.path(), "0 1 2 3");
    check(scratch.path(), "-r 4/ 5 ././6");
}

#[test]
fn names_with_common_prefixes_sort_as_sort_does() {
    require!(have("sort"));
    let scratch = scratch();
    let maker = Maker::open(scratch.path());
    // Prefixes of each other, with lengths around the eight bytes of a key, and with bytes just below and
    // above.
    for stem in ["", "a", "prefix-", "prefix-of-eight-and-more-"] {
        for length in 0..20 {
            for last in [&b""[..], b"\x01", b"z", b"\xff", b"\xc3\xa4", b"\xc3"] {
                let name = [stem.as_bytes(), &b"x".repeat(length), last].concat();
                if !name.is_empty()
                    && !std::fs::exists(scratch.path().join(crate::support::path(&name))).unwrap()
                {
                    maker.make(&name, megadir::FileType::File);
                }
            }
        }
    }
    check(scratch.path(), ".");
    check(scratch.path(), "-g 'prefix-of*'");
}

#[test]
fn paths_sort_by_their_bytes_not_directory_by_directory() {
    require!(have("sort"));
    let scratch = scratch();
    // '-' and '.' sort before '/', so "a-b" is between "a" and "a/x".
    crate::support::fill(scratch.path(), &["a/", "a/x", "a-b", "a.b/", "a.b/y", "a0", "a/0", "ab"]);
    check(scratch.path(), "-r .");
    let lines = shell(scratch.path(), "$M list -r --sort name .").lines();
    let lines: Vec<_> = lines.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    assert_eq!(lines, ["./a", "./a-b", "./a.b", "./a.b/y", "./a/0", "./a/x", "./a0", "./ab"]);
}

#[test]
fn sorting_by_inode_follows_the_inodes() {
    let scratch = scratch();
    Flat::plain(3000).build(&scratch.path().join("d"));
    let lines = shell(scratch.path(), "$M list --json --sort inode d").lines();
    let inode = |line: &Vec<u8>| {
        let line: serde_json::Value = serde_json::from_slice(line).unwrap();
        line["inode"].as_u64().unwrap()
    };
    assert_eq!(lines.len(), 3000);
    assert!(lines.windows(2).all(|pair| inode(&pair[0]) < inode(&pair[1])));
    let names = shell(scratch.path(), "$M list --sort inode d").lines();
    for (line, name) in lines.iter().zip(&names) {
        assert!(String::from_utf8_lossy(line).contains(&*String::from_utf8_lossy(name)));
    }
}

#[test]
fn unsorted_order_can_be_requested() {
    let scratch = scratch();
    Flat::plain(100).build(&scratch.path().join("d"));
    assert_eq!(
        shell(scratch.path(), "$M list --sort none d").lines(),
        shell(scratch.path(), "$M list d").lines()
    );
}
