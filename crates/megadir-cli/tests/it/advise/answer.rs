//! The answer of `advise`: layout, path formula, crossovers, and warnings of a nearly full directory.

use std::path::Path;

use megadir_testkit::mount::{EXT4_1K, Mount, TMPFS};
use megadir_testkit::require;
use serde_json::Value;

use crate::support::run;

fn json(directory: &Path, arguments: &[&str]) -> Value {
    let out = run(directory, &[&["advise", "--time", "0s", "--json"], arguments].concat()).quiet();
    serde_json::from_slice(&out).unwrap()
}

fn text(directory: &Path, arguments: &[&str]) -> String {
    let out = run(directory, &[&["advise", "--time", "0s"], arguments].concat()).quiet();
    // Compare words; line breaks do not matter.
    String::from_utf8(out).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn advice_names_the_command_to_run() {
    let mount = require!(Mount::make(&EXT4_1K));
    let place = mount.path();
    let seen = text(&place, &["--files", "1M"]);
    for words in [
        "With room for them: 256 directories named after a hash (digest:2).",
        "In the name's SHA-256 (lower-case hex), the first 2 digits are a directory; the file keeps its whole name.",
        "abcdef is at be/abcdef.",
        "256, each with about 3 906 files",
        "they do not safely fit into one directory",
        "names of 32 bytes (assumed: --name-length, --like)",
        "until a create fails (directory index)",
        "below 120 k [102, 138] files: one directory",
        "they do not fit in any layout: inodes run out; 1.00 M files and directories are still to be created",
    ] {
        assert!(seen.contains(words), "nothing about {words:?} in {seen}");
    }
    let seen = json(&place, &["--files", "10k"]);
    assert_eq!((&seen["layout"]["name"], &seen["rule"]), (&"flat".into(), &"fits".into()), "{seen}");
    // Long names fill a directory with such blocks quickly.
    let seen = json(&place, &["--files", "20k", "--name-length", "255"]);
    assert_eq!((&seen["layout"]["name"], &seen["rule"]), (&"digest:1".into(), &"too-full".into()), "{seen}");
    assert!(std::fs::read_dir(&place).unwrap().all(|entry| entry.unwrap().file_name() == "lost+found"));
}

#[test]
fn a_pack_is_offered_for_many_small_files_that_are_only_read() {
    let mount = require!(Mount::make(&TMPFS));
    let place = mount.path();
    let small = ["--files", "200k", "--size", "1kB", "--pattern"];
    let with = |more: &[&'static str]| [&small[..], more].concat();
    for words in [with(&["read"]), with(&["walk"])] {
        assert_eq!(json(&place, &words)["suits_container"], true, "{words:?}");
        let seen = text(&place, &words);
        for words in [
            "If the files never change, and no program opens them by path, one pack",
            "`megadir pack create`",
        ] {
            assert!(seen.contains(words), "nothing about {words:?} in {seen}");
        }
    }
    let fewer = ["--files", "99k", "--size", "1kB", "--pattern", "read"];
    let larger = ["--files", "200k", "--size", "20kB", "--pattern", "read"];
    for words in
        [with(&["mixed"]), with(&["write"]), with(&["read", "--churn"]), fewer.to_vec(), larger.to_vec()]
    {
        assert_eq!(json(&place, &words)["suits_container"], false, "{words:?}");
        assert!(!text(&place, &words).contains("pack"), "{words:?}");
    }
}

#[test]
fn on_a_rotating_disk_few_directories_are_advised() {
    let mount = require!(Mount::make(&TMPFS));
    let files = ["--files", "1M", "--writers", "4", "--disk"];
    let rotating = json(&mount.path(), &[&files[..], &["rotating"]].concat());
    assert_eq!(
        (&rotating["rule"], &rotating["rotating"]),
        (&"rotating-disk".into(), &true.into()),
        "{rotating}"
    );
    assert_eq!(rotating["flat"], true, "{rotating}");
    let other = json(&mount.path(), &files[..4]);
    assert_eq!((&other["rule"], &other["rotating"]), (&"several-writers".into(), &false.into()), "{other}");
}

#[test]
fn names_that_are_digests_need_no_other() {
    let mount = require!(Mount::make(&EXT4_1K));
    let place = mount.path();
    for directory in ["digests", "numbered"] {
        std::fs::create_dir(place.join(directory)).unwrap();
    }
    for number in 0..300_u64 {
        // The high digits of a multiplicative hash.
        let digest = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        std::fs::write(place.join(format!("digests/{digest:016x}")), "").unwrap();
        std::fs::write(place.join(format!("numbered/image{number:08}.jpeg")), "").unwrap();
    }
    let of = |directory: &str| json(&place, &["--files", "1M", "--like", directory])["by_name"].clone();
    let by_name = of("digests");
    assert_eq!((&by_name["levels"], by_name["preset"].is_string()), (&1.into(), true), "{by_name}");
    assert!(of("numbered").is_null());
    assert!(json(&place, &["--files", "1M"])["by_name"].is_null());
}

#[test]
fn advice_without_a_number_counts_existing_files() {
    let mount = require!(Mount::make(&EXT4_1K));
    let place = mount.path();
    let full = place.join("full");
    std::fs::create_dir(&full).unwrap();
    for number in 0..3000 {
        std::fs::write(full.join(format!("{number:0>200}")), "").unwrap();
    }
    let seen = text(&place, &["full"]);
    for words in [
        "'full' (ext4), about ",
        " files: one directory (flat).",
        "more entries fit before creating one fails; the directory index runs out first.",
        "Most used is the limit of directory index:",
        "names of 200 bytes (as present)",
    ] {
        assert!(seen.contains(words), "nothing about {words:?} in {seen}");
    }
    let files = json(&place, &["full"])["files"].as_u64().unwrap();
    assert!((2000..=4000).contains(&files), "{files}");
}

#[test]
fn code_is_printed_alone_and_is_the_layouts() {
    use megadir_advise::code::{Language, snippet};
    let mount = require!(Mount::make(&EXT4_1K));
    for language in Language::ALL {
        let arguments = ["advise", "--files", "1M", "--time", "0s", "--code", language.word()];
        let code = String::from_utf8(run(&mount.path(), &arguments).quiet()).unwrap();
        assert_eq!(code, snippet(&"digest:2".parse().unwrap(), *language).unwrap(), "{language:?}");
        let named = ["advise", "--layout", "digest:2", "--code", language.word()];
        assert_eq!(String::from_utf8(run(&mount.path(), &named).quiet()).unwrap(), code, "{language:?}");
    }
}

#[test]
fn impossibility_is_the_first_line() {
    let mount = require!(Mount::make(&TMPFS));
    let seen = text(&mount.path(), &["--files", "10M", "--size", "1T"]);
    let (first, rest) = seen.split_once(". ").unwrap();
    assert!(first.contains("10.0 M files: they do not fit in any layout: "), "{first}");
    assert!(first.contains("there is room for 0"), "{first}");
    assert!(rest.starts_with("With room for them: one directory. "), "{rest}");
}

#[test]
fn figures_of_a_pack_are_those_of_the_record() {
    use megadir_advise::container::{FIGURES, RECORDS};
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = RECORDS.map(|record| std::fs::read_to_string(root.join(record).join("README.md")).unwrap());
    for (page, arm, figure) in [
        (&pages[0], "pack, all", FIGURES.all),
        (&pages[0], "pack, list", FIGURES.list),
        (&pages[1], "pack, guest-fs-cold", FIGURES.random),
    ] {
        let row = page.lines().find(|line| line.starts_with(&format!("| {arm} |"))).unwrap();
        let ratio = row.split(" | ").find_map(|cell| cell.split_once("x [")?.0.parse::<f64>().ok()).unwrap();
        assert!((ratio - figure).abs() < 0.005, "{arm}: {figure} is not the figure of {row}");
    }
}
