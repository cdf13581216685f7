//! Pages that `megadir bench run` writes next to its record, and `megadir bench report` on good and bad
//! records.

#[cfg(target_os = "linux")]
mod compared;
#[cfg(unix)]
mod fenced;
#[cfg(target_os = "linux")]
mod figures;
#[cfg(target_os = "linux")]
mod links;
#[cfg(target_os = "linux")]
mod picture;
#[cfg(target_os = "linux")]
mod reference;
#[cfg(target_os = "linux")]
mod stated;
#[cfg(target_os = "linux")]
mod units;

use std::io::Write;
use std::path::Path;
use std::process::Output;

use crate::support::{BRIEF_RUN, output_of};

#[track_caller]
fn assert_output(output: &Output, code: i32, words: &str) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    // Line breaks of a table depend on its width.
    let joined = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(words) || err.contains(words), "nothing about '{words}' in:\n{out}{err}");
    // Any error is one line.
    assert!(
        code == 0 || err.lines().filter(|line| line.contains("'") && line.contains(words)).count() <= 1,
        "{err}"
    );
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("readable")
}

#[test]
fn a_run_writes_a_reproducible_page_and_overwrites_no_foreign_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    assert_output(
        &output_of(at, &[&BRIEF_RUN[..], &["-o", "a.jsonl"]].concat()),
        0,
        "the HTML report is 'a.html'",
    );
    let page = read(at.join("a.html"));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n") && !page.contains("<script"));
    assert_eq!(
        String::from_utf8_lossy(&output_of(at, &["bench", "report", "a.jsonl", "-f", "html"]).stdout),
        page
    );
    // A file of another origin stays, and each record has its own page.
    std::fs::write(at.join("c.html"), "mine").expect("writable");
    assert_output(
        &output_of(at, &[&BRIEF_RUN[..], &["-o", "c.jsonl"]].concat()),
        0,
        "no HTML report was written, because 'c.html' is another file",
    );
    assert_eq!(read(at.join("c.html")), "mine");
    assert_output(&output_of(at, &[&BRIEF_RUN[..], &["-o", "b.jsonl"]].concat()), 0, "is 'b.html'");
    assert_eq!(read(at.join("a.html")), page);

    // A resumed run writes its own page again.
    let record = read(at.join("a.jsonl"));
    let lines: Vec<&str> = record.lines().collect();
    std::fs::write(at.join("a.jsonl"), lines[..lines.len() - 3].join("\n") + "\n").expect("writable");
    assert_output(&output_of(at, &["bench", "run", "--resume", "a.jsonl"]), 0, "is 'a.html'");
    assert_ne!(read(at.join("a.html")), page);
    let named = std::fs::read_dir(at).expect("readable").count();
    assert_eq!(named, 6, "three records, two pages, and the file of another origin");
}

#[test]
fn reports_go_to_files_that_are_new() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    assert_output(&output_of(at, &[&BRIEF_RUN[..], &["-o", "a.jsonl"]].concat()), 0, "a.jsonl");
    std::fs::create_dir(at.join("other")).expect("makeable");
    std::fs::copy(at.join("a.jsonl"), at.join("other/record.jsonl")).expect("copyable");
    let report = |arguments: &[&str]| output_of(at, &[&["bench", "report"][..], arguments].concat());
    assert_output(&report(&["a.jsonl", "-f", "svg", "-o", "a.svg"]), 0, "a.svg");
    assert!(read(at.join("a.svg")).starts_with("<svg xmlns="));
    assert_output(&report(&["a.jsonl", "-f", "svg", "-o", "a.svg"]), 3, "cannot write the report 'a.svg'");
    assert_output(&report(&["a.jsonl", "-f", "svg", "--chart", "forest:2"]), 0, "picture 2 of ");
    assert_output(&report(&["a.jsonl", "-f", "svg", "--chart", "forest:99"]), 3, "and no picture 99");
    assert_output(
        &report(&["a.jsonl", "-f", "svg", "--chart", "refusal"]),
        3,
        "has nothing that the chart 'refusal' shows",
    );
    assert_output(&report(&["a.jsonl", "-f", "svg", "--chart", "pie"]), 2, "expected one of shares, ");
    assert_output(&report(&["a.jsonl", "--chart", "forest"]), 2, "--chart needs --format svg");
    assert_output(
        &report(&["a.jsonl", "other/record.jsonl", "-f", "html"]),
        2,
        "name a directory with --output",
    );
    assert_output(
        &report(&["a.jsonl", "other/record.jsonl", "a.jsonl", "-f", "html", "-o", "pages"]),
        0,
        "pages/other.html",
    );
    let pages = ["a.html", "a-2.html", "other.html"].map(|name| read(at.join("pages").join(name)));
    assert!(pages[0] == pages[1] && pages[1] == pages[2] && pages[0].len() > 10_000);
}

#[test]
fn bad_record_is_reported_with_the_readable_part() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    assert_output(&output_of(at, &[&BRIEF_RUN[..], &["-o", "good"]].concat()), 0, "good");
    let good = read(at.join("good"));
    let lines: Vec<&str> = good.lines().collect();
    let bad = lines.len() - 10;
    let write = |name: &str, text: &str| std::fs::write(at.join(name), text).expect("writable");
    write("cut", &good[..good.len() - 900]);
    write("mixed", &format!("{good}{good}"));
    write(
        "damaged",
        &[&lines[..bad - 1], &["{\"line\":\"sample\",\"epoch\":"], &lines[bad..]].concat().join("\n"),
    );
    write(
        "newer",
        &good.replacen("\"version\":3", "\"version\":99", 1).replacen("\"version\":4", "\"version\":99", 1),
    );
    write("dropped", &[&lines[..bad - 1], &lines[bad..]].concat().join("\n"));
    write("old", &without_checksums(&good));
    write("short", &without_checksums(&[&lines[..bad - 1], &lines[lines.len() - 1..]].concat().join("\n")));
    write("foreign", "name,value\n1,2\n");
    write("empty", "");
    let packed = gzipped(good.as_bytes());
    std::fs::write(at.join("packed.gz"), &packed).expect("writable");
    std::fs::write(at.join("torn.gz"), &packed[..packed.len() / 2]).expect("writable");
    std::fs::write(at.join("packed.zst"), [0x28, 0xb5, 0x2f, 0xfd, 0, 0]).expect("writable");
    let report = |name: &str| output_of(at, &["bench", "report", "--verbose", name]);
    assert_output(&report("cut"), 0, "is truncated in line");
    assert_output(
        &report("mixed"),
        1,
        &format!("line {} is damaged: a second header; only the", lines.len() + 1),
    );
    assert_output(&report("damaged"), 1, &format!("line {bad} is damaged"));
    assert_output(&report("damaged"), 1, "blocks before it are reported");
    assert_output(
        &report("dropped"),
        1,
        &format!("line {bad} is damaged: it was written as line {}", bad + 1),
    );
    assert_output(&report("dropped"), 1, "Do not use this record.");
    assert_output(&report("old"), 0, "has no checksums, so changes to it cannot be detected");
    assert_output(&report("short"), 0, "Do not use this record.");
    assert_output(&report("newer"), 3, "has format version 99");
    assert_output(&report("foreign"), 3, "'foreign': not a megadir record: its first line is not a header");
    assert_output(&report("empty"), 3, "'empty': not a megadir record: it is empty");
    let whole = report("packed.gz");
    assert_output(&whole, 0, "");
    assert_eq!(whole.stdout, report("good").stdout);
    assert_output(&report("torn.gz"), 3, "'torn.gz': ");
    assert_output(
        &report("packed.zst"),
        3,
        "'packed.zst': not a megadir record: it is compressed; decompress it with unzstd first",
    );
    assert_output(&report("none"), 3, "'none': ");
    // The part that was read is shown, with a warning.
    assert_output(&report("mixed"), 1, "The record is truncated in line");
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

/// A record as written by an older program: without checksums, so that it can be modified.
fn without_checksums(text: &str) -> String {
    let bare = |line: &str| format!("{}}}\n", line.rsplit_once(",\"number\":").expect("it has one").0);
    text.lines().map(bare).collect::<String>().replacen("\"version\":4", "\"version\":3", 1)
}

#[test]
fn comparison_of_two_runs_can_fail_on_slowdown() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    assert_output(&output_of(at, &[&BRIEF_RUN[..], &["-o", "old"]].concat()), 0, "old");
    assert_output(&output_of(at, &[&BRIEF_RUN[..], &["-o", "new"]].concat()), 0, "new");
    let compare = |arguments: &[&str]| output_of(at, &[&["bench", "compare"][..], arguments].concat());
    assert_output(&compare(&["old", "new"]), 0, "More (");
    assert_output(&compare(&["old", "new", "--verbose"]), 0, "geometric mean");
    assert_output(&compare(&["old", "new", "-f", "json"]), 0, "\"geometric_mean\"");
    // The same times in every arm but for some noise, which no load of this machine widens; then ten times as slow.
    let timed = |factor: usize| {
        let line = |(place, line): (usize, &str)| match line.split_once("\"elapsed_ns\":") {
            Some((before, after)) if line.contains("\"line\":\"sample\"") => {
                let rest = after.split_once(',').expect("more follows").1;
                format!("{before}\"elapsed_ns\":{},{rest}\n", factor * (1_000_000 + 7919 * place % 10_000))
            }
            _ => format!("{line}\n"),
        };
        without_checksums(&read(at.join("old"))).lines().enumerate().map(line).collect::<String>()
    };
    std::fs::write(at.join("fast"), timed(1)).expect("writable");
    std::fs::write(at.join("slow"), timed(10)).expect("writable");
    // Warnings in the records of a loaded machine are not tested here.
    let gate = ["--single-run", "--despite-warnings", "--fail-if"];
    let fails = |records: [&str; 2], condition| compare(&[&records[..], &gate, &[condition]].concat());
    assert_output(&fails(["fast", "slow"], "slower:3%"), 10, "slower than before: getdents");
    assert_output(&fails(["slow", "fast"], "slower"), 0, "faster");
    let quiet = |records: [&str; 2]| compare(&[&records[..], &gate, &["slower:3%", "--quiet"]].concat());
    let (passed, failed) = (quiet(["slow", "fast"]), quiet(["fast", "slow"]));
    assert!(passed.status.success() && passed.stdout.is_empty(), "{passed:?}");
    // Records as older programs wrote them have a note of their own.
    let lines = String::from_utf8_lossy(&passed.stderr).into_owned();
    assert!(lines.lines().all(|line| line.contains("has no checksums")), "{lines}");
    assert!(failed.stdout.is_empty(), "{failed:?}");
    assert_output(&failed, 10, "slower than before: getdents");
    assert_output(&compare(&["old", "new", "--quiet"]), 2, "--fail-if");
    let other =
        without_checksums(&read(at.join("old"))).replacen("\"kernel\":\"Linux", "\"kernel\":\"Other", 1);
    std::fs::write(at.join("other"), other).expect("writable");
    assert_output(&compare(&["old", "other"]), 3, "are not comparable (kernel: Linux");
    // The first screen has the gravest warnings only, of which a loaded machine may have many.
    assert_output(&compare(&["old", "other", "--across", "--verbose"]), 0, "Not the same kernel");
    assert_output(&compare(&["old", "new", "--fail-if", "faster"]), 2, "slower:3%");
}
