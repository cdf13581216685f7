//! Links between pages: their files and headings exist, and the book's summary has every page of docs/.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Markdown files below a folder, relative to the repository.
pub(super) fn pages_below(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join(folder)).expect("readable") {
        let entry = entry.expect("an entry");
        let path = Path::new(folder).join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            found.extend(pages_below(path.to_str().expect("UTF-8")));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn all_pages() -> Vec<PathBuf> {
    let at_root =
        std::fs::read_dir(root()).expect("readable").map(|entry| entry.expect("an entry").file_name());
    let mut pages: Vec<PathBuf> = at_root
        .map(PathBuf::from)
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.extend(["docs", "records"].iter().flat_map(|folder| pages_below(folder)));
    pages
}

/// Targets of links and pictures outside fenced blocks and code.
pub(super) fn links(text: &str) -> Vec<String> {
    let outside = text.split("```").step_by(2).collect::<String>();
    let plain = outside.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let targets = plain.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).collect()
}

/// Anchor that a heading gets on GitHub and in the book.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn anchors(text: &str) -> BTreeSet<String> {
    let outside = text.split("```").step_by(2).collect::<String>();
    let headings = outside.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

/// Without `.` and `..`.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop(), "{} leaves the repository", path.display()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for page in all_pages() {
        let text = std::fs::read_to_string(root().join(&page)).expect("readable");
        for link in links(&text).iter().filter(|link| !link.contains("://")) {
            count += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                file => resolved(&page.parent().expect("a file").join(file)),
            };
            let exists = root().join(&target).exists();
            let has = || {
                std::fs::read_to_string(root().join(&target))
                    .is_ok_and(|text| anchors(&text).contains(heading))
            };
            if !exists || !heading.is_empty() && !has() {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
    assert!(count > 300, "{count} links found: does the test still see them?");
}

#[test]
fn the_summary_has_every_page_of_the_book_once() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).expect("readable");
    let mut named: Vec<PathBuf> =
        links(&summary).iter().map(|link| resolved(&Path::new("docs").join(link))).collect();
    named.sort();
    let pages = all_pages().into_iter().filter(|page| !page.ends_with("docs/SUMMARY.md"));
    let mut expected: Vec<PathBuf> = pages.filter(|page| page != Path::new("README.md")).collect();
    expected.sort();
    assert_eq!(named, expected);
}

#[test]
fn first_pages_are_short() {
    for (name, lines_max, words_max) in [("README.md", 70, 500), ("ARCHITECTURE.md", 120, 1300)] {
        let page = std::fs::read_to_string(root().join(name)).expect("readable");
        let (lines, words) = (page.lines().count(), page.split_whitespace().count());
        assert!(
            lines <= lines_max && words <= words_max,
            "{name} has {lines} lines and {words} words, at most {lines_max} and {words_max}: move details to docs/ or \
             to the header of a module"
        );
    }
}
