//! Figures with an interval on README.md, METHODOLOGY.md and docs/*.md: each is in a record, or in output that a test
//! compares.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use megadir_testkit::mount::{EXT4, HASH_SEED, Mount, Recipe};
use megadir_testkit::require;

use super::compared;
use super::links::{links, pages_below, resolved};
use crate::support::output_of;

/// Page whose tables of comparisons are held number by number.
const TABLES: &str = "docs/speed.md";

/// Further records of programs that were compared: [`compared`] writes no tables from them.
const RECORDS: [&str; 9] = [
    "records/2026-11-27-one-thread.md",
    "records/2026-11-25-ext4-device.md",
    "records/2026-11-27-threads.md",
    "records/2026-11-27-attributes.md",
    "records/2026-11-21-speed.md",
    "records/2026-11-21-attributes.md",
    "records/2026-11-21-remove.md",
    "records/2026-11-21-inventory.md",
    "records/2026-11-22-scan.md",
];

/// The file system of the first example in README.md: room for 10 million files.
const TEN_MILLION: Recipe = Recipe {
    name: "ext4 with 12 million inodes",
    mkfs: &["mkfs.ext4", "-q", "-F", "-N", "12000000", "-E", HASH_SEED, "-O", "^has_journal"],
    image_bytes: 64 << 30,
    ..EXT4
};

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(super) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("readable text")
}

/// Paths of the files with this extension in a directory and below it.
pub(super) fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("readable") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|is| is == extension) {
            found.push(path);
        }
    }
    found
}

/// Pages for users, by their path in the repository.
pub(super) fn pages() -> Vec<(String, String)> {
    let named = |name: &str| (name.to_owned(), read(&root().join(name)));
    // Pages of the reference are made from sources that are held themselves.
    let docs = pages_below("docs")
        .into_iter()
        .filter(|page| !page.starts_with("docs/reference"))
        .map(|page| named(&page.to_string_lossy()));
    ["README.md", "METHODOLOGY.md"].into_iter().map(named).chain(docs).collect()
}

/// Figures of the form `1.06 [0.97, 1.36]`, also with a unit: `4.53 M [3.85, 5.20]`. Spaces, units and signs of
/// multiplication are left out.
fn intervals(text: &str) -> BTreeSet<String> {
    let is_number = |text: &str| text.starts_with(|letter: char| letter.is_ascii_digit());
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices('[') {
        let Some((low, high)) =
            text[at + 1..].split_once(']').and_then(|(inside, _)| inside.split_once(", "))
        else {
            continue;
        };
        let bounds = [low, high].map(|bound| bound.replace([' ', '\u{a0}', '\u{202f}'], ""));
        if bounds.iter().any(|bound| bound.parse::<f64>().is_err()) {
            continue;
        }
        let before = text[..at].trim_end();
        let number_end = before.rfind(|letter: char| letter.is_ascii_digit()).map_or(0, |last| last + 1);
        let unit = &before[number_end..];
        // Only a unit may be between a number and its interval.
        if unit.chars().count() > 8 || unit.contains(['|', '.', ',', ';', '(', ']']) {
            continue;
        }
        let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
        let number_start = before[..number_end].rfind(|letter| !is_part(letter));
        let number = &before[number_start.map_or(0, |start| start + 1)..number_end];
        if is_number(number) {
            found.insert(format!("{number} [{}, {}]", bounds[0], bounds[1]));
        }
    }
    found
}

/// The first example of README.md, run on a file system with room for its files.
fn example() -> Result<String, String> {
    let mount = Mount::make(&TEN_MILLION)?;
    std::fs::create_dir(mount.path().join("files")).map_err(|error| error.to_string())?;
    let output = output_of(mount.path(), &["advise", "files", "--files", "10M", "--churn", "--time", "0s"]);
    assert!(output.status.success(), "{output:?}");
    Ok(String::from_utf8(output.stdout).expect("UTF-8"))
}

#[test]
fn every_interval_on_a_page_is_in_a_record_or_in_compared_output() {
    let mut held = BTreeSet::new();
    for path in files(&root().join("records"), "md") {
        held.extend(intervals(&read(&path)));
    }
    for path in files(&root().join("crates/megadir-cli/tests/golden"), "txt") {
        held.extend(intervals(&read(&path)));
    }
    let example = require!(example());
    held.extend(intervals(&example));
    let mut unheld = Vec::new();
    let mut count = 0;
    for (page, text) in pages() {
        let shown = intervals(&text);
        count += shown.len();
        unheld.extend(shown.difference(&held).map(|figure| format!("{page}: {figure}")));
    }
    assert!(unheld.is_empty(), "in no record and no compared output:\n{}", unheld.join("\n"));
    assert!(count > 30, "{count} figures found: does the test still see them?");
}

#[test]
fn every_interval_on_an_answer_page_is_in_a_linked_record() {
    let mut unheld = Vec::new();
    let mut count = 0;
    for page in pages_below("docs/answers") {
        let text = read(&root().join(&page));
        let folder = page.parent().expect("a file");
        let records = links(&text)
            .into_iter()
            .map(|link| resolved(&folder.join(link.split('#').next().unwrap_or_default())))
            .filter(|target| {
                target.starts_with("records") && target.extension().is_some_and(|is| is == "md")
            });
        let held: BTreeSet<String> =
            records.flat_map(|record| intervals(&read(&root().join(record)))).collect();
        let shown = intervals(&text);
        count += shown.len();
        unheld.extend(shown.difference(&held).map(|figure| format!("{}: {figure}", page.display())));
    }
    assert!(unheld.is_empty(), "in no record that the page links:\n{}", unheld.join("\n"));
    assert!(count > 40, "{count} figures found: does the test still see them?");
}

/// Numbers with a decimal point, e.g. `1.04`; not parts of versions with three numbers.
fn decimals(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
    words.map(|word| word.trim_end_matches('.')).filter(|word| word.matches('.').count() == 1)
}

#[test]
fn every_decimal_of_the_tables_of_speed_is_in_a_record() {
    let tables = compared::folders().map(|folder| format!("{folder}/README.md"));
    let records: Vec<String> =
        RECORDS.map(str::to_owned).into_iter().chain(tables).map(|name| read(&root().join(name))).collect();
    let held: BTreeSet<&str> = records.iter().flat_map(|text| decimals(text)).collect();
    let page = read(&root().join(TABLES));
    let unheld: Vec<&str> = decimals(&page).filter(|number| !held.contains(number)).collect();
    assert!(unheld.is_empty(), "{TABLES}: in no record: {unheld:?}");
}

#[test]
fn intervals_are_found_with_and_without_units() {
    let text = "takes 1.06 [0.97, 1.36], 4.53 M\n[3.85, 5.20], 2 986 [0, 6 450], 57 % [56, 57], | 481 ms [467, 489]; see [a, b](c) and x[1, 2]";
    let found: Vec<String> = intervals(text).into_iter().collect();
    assert_eq!(
        found,
        ["1.06 [0.97, 1.36]", "4.53 [3.85, 5.20]", "481 [467, 489]", "57 [56, 57]", "986 [0, 6450]"]
    );
}
