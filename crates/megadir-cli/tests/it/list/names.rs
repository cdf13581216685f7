//! Names of every kind in every format, decoded back to their bytes.

use std::path::Path;

use megadir_testkit::tree::{Flat, Kinds, Names as Scheme};
use serde_json::Value;

use crate::support::{Names, by_std, path, run, scratch, set, shell, split};

/// Bytes of a string member, or of the hex digits in the member with the suffix `_hex`.
#[track_caller]
fn bytes(line: &Value, key: &str) -> Vec<u8> {
    let hex_key = format!("{key}_hex");
    match (&line[key], &line[hex_key.as_str()]) {
        (Value::String(plain), Value::Null) => plain.as_bytes().to_vec(),
        (Value::Null, Value::String(hex)) => {
            assert!(hex.len() % 2 == 0 && !hex.bytes().any(|digit| digit.is_ascii_uppercase()), "{hex}");
            let pairs = hex.as_bytes().chunks(2);
            let bytes: Vec<u8> = pairs
                .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
                .collect();
            assert!(std::str::from_utf8(&bytes).is_err(), "hex only where it is needed: {hex}");
            bytes
        }
        other => panic!("either {key} or {hex_key}: {other:?}"),
    }
}

#[track_caller]
fn parse(line: &[u8]) -> Value {
    let line: Value = serde_json::from_slice(line).unwrap();
    assert_eq!(line["v"], 1);
    line
}

fn from_json(directory: &Path, options: &[&str]) -> Names {
    let options: Vec<&str> = ["list", "--json"].iter().chain(options).copied().collect();
    set(run(directory, &options).lines().iter().map(|line| bytes(&parse(line), "name")).collect())
}

#[test]
fn no_name_is_lost_or_changed_in_any_format() {
    let scratch = scratch();
    for (index, names) in Scheme::ALL.into_iter().enumerate() {
        let directory = scratch.path().join(index.to_string());
        Flat { entries: 1000, names, kinds: Kinds::Mixed, seed: 23 }.build(&directory);
        let expected = by_std(&directory);
        assert_eq!(set(split(&run(&directory, &["list", "-0"]).quiet(), 0)), expected, "{names:?}");
        assert_eq!(from_json(&directory, &[]), expected, "{names:?}");
        assert_eq!(from_json(&directory, &["--sort", "name"]), expected, "{names:?}");
        if expected.iter().all(|name| !name.contains(&b'\n')) {
            assert_eq!(set(run(&directory, &["list"]).lines()), expected, "{names:?}");
        }
        let last = |name: Vec<u8>| name.rsplit(|byte| *byte == b'/').next().unwrap().to_vec();
        let recursive = split(&run(&directory, &["list", "-r0"]).quiet(), 0);
        assert_eq!(set(recursive.into_iter().map(last).collect()), expected, "{names:?}");
    }
}

#[test]
fn json_lines_have_type_and_inode() {
    use std::os::unix::fs::MetadataExt;
    let scratch = scratch();
    let flat = Flat { entries: 100, names: Scheme::EveryByte, kinds: Kinds::Mixed, seed: 2 };
    let directory = scratch.path().join("d");
    flat.build(&directory);
    let mut kinds: std::collections::HashMap<Vec<u8>, &str> =
        (0..flat.entries).map(|index| (flat.name(index), flat.kind(index).name())).collect();
    for line in run(&directory, &["list", "--json"]).lines() {
        let line = parse(&line);
        let name = bytes(&line, "name");
        assert_eq!(line["type"].as_str(), kinds.remove(&name));
        let status = std::fs::symlink_metadata(directory.join(path(&name))).unwrap();
        assert_eq!(line["inode"].as_u64(), Some(status.ino()));
        assert_eq!(line.as_object().unwrap().len(), 4, "v, name, type, inode: {line}");
    }
    assert!(kinds.is_empty());
}

#[test]
fn json_has_the_directory_of_each_name() {
    let scratch = scratch();
    for name in [&b"plain"[..], b"bad\xff", b"new\nline"] {
        let directory = scratch.path().join(path(name));
        std::fs::create_dir_all(directory.join(path(b"\xfe"))).unwrap();
        std::fs::write(directory.join(path(b"\xfe")).join("file"), "").unwrap();
    }
    let paths = |output: Vec<Vec<u8>>| -> Names {
        set(output
            .iter()
            .map(|line| [bytes(&parse(line), "dir"), bytes(&parse(line), "name")].join(&b'/'))
            .collect())
    };
    let expected = split(&shell(scratch.path(), "find . -mindepth 1 -print0").quiet(), 0);
    assert_eq!(paths(run(scratch.path(), &["list", "-r", "--json"]).lines()), set(expected.clone()));
    assert_eq!(
        paths(run(scratch.path(), &["list", "-r", "--json", "--sort", "name"]).lines()),
        set(expected)
    );
    let several = paths(
        run(scratch.path(), &["list", "--json", "plain", "plain/"]).lines().into_iter().skip(1).collect(),
    );
    assert_eq!(several, set(vec![b"plain/\xfe".to_vec()]));
    let root = run(scratch.path(), &["list", "--json", "-n1", "/", "plain"]).lines();
    assert_eq!(bytes(&parse(&root[0]), "dir"), b"/");
}

#[test]
fn a_directory_may_be_called_anything() {
    let scratch = scratch();
    let mut arguments = vec!["list".into(), "--count".into(), "--json".into()];
    let names: [&[u8]; 5] = [b"\xff\xfe", b"a\nb", b"-c", b" ", b"\x1b[31mred"];
    for name in names {
        std::fs::create_dir(scratch.path().join(path(name))).unwrap();
        let path = path(&[b"./", name].concat());
        std::fs::write(scratch.path().join(&path).join("f"), "").unwrap();
        assert_eq!(run(scratch.path(), &["list".as_ref(), path.as_os_str()]).lines(), [b"f"]);
        arguments.push(path.into_os_string());
    }
    assert_eq!(run(scratch.path(), &["list", "--", "-c"]).lines(), [b"f"]);
    let counts = run(scratch.path(), &arguments).lines();
    for (line, name) in counts.iter().zip(names) {
        let line = parse(line);
        assert_eq!((bytes(&line, "dir"), line["count"].as_u64()), ([b"./", name].concat(), Some(1)));
    }
}

#[test]
fn off_a_terminal_nothing_is_escaped() {
    let scratch = scratch();
    let name = b"tab\there\x1b[2J\\\x7f\xc2\x9b\xff";
    std::fs::write(scratch.path().join(path(name)), "").unwrap();
    assert_eq!(run(scratch.path(), &["list"]).lines(), [name.to_vec()]);
    assert_eq!(run(scratch.path(), &["list", "-r"]).lines(), [[b"./".as_slice(), name].concat()]);
    assert!(run(scratch.path(), &["list", "--raw"]).lines()[0].ends_with(name));
}
