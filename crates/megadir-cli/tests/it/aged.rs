//! `megadir bench run --aged`: directories that held more files once, compared with fresh ones.

use std::path::Path;

use megadir_testkit::mount::{BTRFS, EXT4, Mount, Recipe};

use crate::support::{megadir, output_of};

const FILES: u64 = 300;
const MORE: u64 = 12_000;

/// Runs look-ups on fresh and aged directories; returns the output and the record.
fn look_ups(on: &Recipe, directory: &Path) -> Result<(String, serde_json::Value), String> {
    let mount = Mount::make(on)?;
    let below = mount.path();
    let own = include_str!("../../../megadir-bench/studies/lookup.toml");
    // Keep rounds valid on a shared machine.
    let own = own.replacen("stolen_fraction_max = 0.02", "stolen_fraction_max = 0.999", 1);
    std::fs::write(directory.join("own.toml"), own).expect("writable");
    let (files, more) = (FILES.to_string(), MORE.to_string());
    let run = ["bench", "run", "own.toml", "--verbose", "--quick", "--rounds", "6", "--output", on.name];
    let mut command = megadir(directory, &run);
    command.args(["--entries", &files, "--aged", &more, "--dir"]).arg(&below);
    let output = command.output().expect("the program starts");
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(!out.contains("unequal"), "{out}");
    let lines = std::fs::read_to_string(directory.join(on.name)).expect("a record");
    let built = lines
        .lines()
        .find(|line| line.contains("\"line\":\"built\""))
        .expect("the line of built directories");
    let built = serde_json::from_str(built).expect("JSON");
    Ok((out.split_whitespace().collect::<Vec<_>>().join(" "), built))
}

#[test]
fn ext4_keeps_the_size_of_an_aged_directory_and_btrfs_gives_it_back() {
    let directory = tempfile::tempdir().expect("a directory");
    for on in [&EXT4, &BTRFS] {
        let (out, built) = megadir_testkit::require!(look_ups(on, directory.path()));
        let bytes = |set: usize, at: &str| built["sets"][set].pointer(at).and_then(serde_json::Value::as_u64);
        let (fresh, now) = (bytes(0, "/directory_bytes"), bytes(1, "/directory_bytes"));
        let full = bytes(1, "/aged/directory_bytes");
        assert_eq!((bytes(0, "/aged/files"), bytes(1, "/aged/files")), (None, Some(MORE)));
        assert_eq!(bytes(1, "/used/files"), Some(FILES));
        assert!(full > fresh, "{built}");
        let sentence = format!("a directory of {FILES} files that had held 12 300 was of ");
        assert!(out.contains(&sentence), "{out}");
        match on.name {
            "ext4" => {
                assert_eq!(now, full);
                assert!(out.contains("is larger than it need be"), "{out}");
            }
            _ => {
                assert!(now < full, "{built}");
                assert!(out.contains("it gave back what it had grown to"), "{out}");
            }
        }
        assert!(out.contains("How much slower are directories that have held more files?"), "{out}");
    }
}

#[test]
fn unsupported_aging_is_refused_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = output_of(directory.path(), &["bench", "run", "smallfile", "--aged", "10x"]);
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("study `smallfile` creates its files itself") && err.lines().count() == 1, "{err}");
}
